"""One HTTP connection within limits: for its silence, and for the part of a request that is parsed before a refusal.

uvicorn limits neither the time that a request may take to arrive nor the number of open connections, and parses all data of one
read before the application runs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sidecar.http.peer_rates import PeerRates

MAX_HEAD_BYTES = 16 * 1024
MAX_HEAD_LINES = 100
MAX_TARGET_BYTES = 8 * 1024
MAX_QUERY_FIELDS = 100
MAX_BODY_BYTES = 1 << 20  # of any request, including refused ones; the applications accept less
MAX_STRAY_PERCENTS = 100  # percent signs that encode nothing, which take ten times as long to decode
_FREE_PIECES, _BYTES_A_PIECE = 64, 512  # each piece of a body costs some microseconds, whatever its size
_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")

_HEAD_ENDS = (b"\r\n\r\n", b"\n\n", b"\n\r\n")


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one listener: requests per second and peer, open and new connections, and seconds of silence.

    A request beyond the rate is answered after `held_back_s`. `head_s` limits the arrival of a request's head; `idle_s` that of
    its body, the silence of a client that does not read, and the time between two requests. Waiting for the application's
    response is not limited.
    """

    requests_per_s: int = 20
    connections: int = 256
    connections_per_s: int = 100
    held_back_s: float = 1.0
    head_s: float = 10.0
    idle_s: float = 60.0


class _Awaited(Enum):
    """What the connection waits for: a part of a request, or the time of a delayed refusal."""

    NOTHING = "nothing"
    REFUSAL = "refusal"
    HEAD = "head"
    BODY = "body"


class BoundedConnection(h11.Connection):
    """h11's parser, which raises RemoteProtocolError for a request beyond the limits; `refusal` is the status and text to
    answer.
    """

    def __init__(self, admits: Callable[[], bool]) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self.refusal = (HTTPStatus.BAD_REQUEST, "This is not a readable HTTP request.")
        self._admits = admits
        self._is_admitted = False
        self._body_bytes = 0
        self._body_pieces = 0

    def next_event(self) -> Any:
        """Return the next event. Raises RemoteProtocolError."""
        if self.their_state is h11.IDLE and (received := self.trailing_data[0]):
            self._check_rate()
            self._check_head(received)
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._check_request(event)
        elif isinstance(event, h11.Data):
            self._check_body(event)
        return event

    def _check_rate(self) -> None:
        """Raise for a request beyond the peer's rate, before any part of it is parsed."""
        if not self._is_admitted and not self._admits():
            self._refuse(HTTPStatus.TOO_MANY_REQUESTS, "Send fewer requests per second.")
        self._is_admitted = True

    def _check_head(self, received: bytes) -> None:
        """Raise for a head that is too large, even if it arrived in a single read."""
        ends = [place for end in _HEAD_ENDS if (place := received.find(end, 0, MAX_HEAD_BYTES + 4)) >= 0]
        head = received[: min(ends)] if ends else received
        if len(head) > MAX_HEAD_BYTES or head.count(b"\n") > MAX_HEAD_LINES:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"Send at most {MAX_HEAD_LINES} headers of {MAX_HEAD_BYTES} bytes in total.",
            )

    def _check_request(self, request: h11.Request) -> None:
        self._is_admitted = False
        names = {name for name, _ in request.headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            self._refuse(HTTPStatus.BAD_REQUEST, "Send Content-Length or Transfer-Encoding, not both.")
        query = request.target.partition(b"?")[2]
        if len(request.target) > MAX_TARGET_BYTES or query.count(b"&") >= MAX_QUERY_FIELDS:
            self._refuse(
                HTTPStatus.REQUEST_URI_TOO_LONG,
                f"Send a URL of at most {MAX_TARGET_BYTES} bytes with at most {MAX_QUERY_FIELDS} query fields.",
            )
        if has_many_stray_percents(request.target):
            self._refuse(HTTPStatus.BAD_REQUEST, "Write a percent sign as %25.")
        self._body_bytes = self._body_pieces = 0

    def _check_body(self, piece: h11.Data) -> None:
        self._body_bytes += len(piece.data)
        self._body_pieces += 1
        most_pieces = _FREE_PIECES + self._body_bytes // _BYTES_A_PIECE
        if self._body_bytes > MAX_BODY_BYTES or self._body_pieces > most_pieces:
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"Send a body of at most {MAX_BODY_BYTES} bytes, in pieces of {_BYTES_A_PIECE} bytes or more.",
            )

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.refusal = (status, text)
        raise h11.RemoteProtocolError(text, error_status_hint=status)


def has_many_stray_percents(text: bytes) -> bool:
    """Return whether the text has more percent signs that encode nothing than a browser would send."""
    return text.count(b"%") > MAX_STRAY_PERCENTS and len(_STRAY_PERCENT.findall(text)) > MAX_STRAY_PERCENTS


class BoundedProtocol(H11Protocol):
    """uvicorn's connection, closed when the client is silent for too long or sends too much."""

    def __init__(self, *, limits: HttpLimits, rates: PeerRates, **options: Any) -> None:
        super().__init__(**options)
        self.conn: BoundedConnection = BoundedConnection(self._admits)
        self._limits = limits
        self._rates = rates
        self._awaited = _Awaited.NOTHING
        self._patience: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request."""
        super().connection_made(transport)
        self._await(_Awaited.HEAD)

    def data_received(self, data: bytes) -> None:
        """Parse the data, unless the connection is ending."""
        if not self.transport.is_closing() and self._awaited is not _Awaited.REFUSAL:
            super().data_received(data)
            self._await_next()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._await_next()

    def pause_writing(self) -> None:
        """Pause the response; a client that does not read for `idle_s` is disconnected."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._limits.idle_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue the response."""
        super().resume_writing()
        self._unread = _cancel(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._patience, self._unread = _cancel(self._patience), _cancel(self._unread)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is unreadable or beyond a limit with the parser's `refusal`, and end the connection.

        The refusal of a peer that exceeds its rate is delayed: an immediate next request would cost nearly as much as serving
        it.
        """
        status, text = self.conn.refusal
        if status is not HTTPStatus.TOO_MANY_REQUESTS:
            self._end(status, text)
            return
        self.transport.pause_reading()
        self._await(_Awaited.REFUSAL)

    def _admits(self) -> bool:
        return self._rates.admits(self.client[0] if self.client else "")

    def _await_next(self) -> None:
        """Start the timer for the client's next data. A timer that already runs for the same wait is kept."""
        if self._awaited is _Awaited.REFUSAL:
            return
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            self._await(_Awaited.BODY)
        elif state is h11.IDLE and self.conn.trailing_data[0]:
            self._await(_Awaited.HEAD)
        else:
            self._await(_Awaited.NOTHING)

    def _await(self, awaited: _Awaited) -> None:
        if awaited is self._awaited:
            return
        self._awaited, self._patience = awaited, _cancel(self._patience)
        limits = self._limits
        seconds = {_Awaited.HEAD: limits.head_s, _Awaited.BODY: limits.idle_s, _Awaited.REFUSAL: limits.held_back_s}
        if awaited in seconds and not self.transport.is_closing():
            self._patience = self.loop.call_later(seconds[awaited], self._give_up)

    def _give_up(self) -> None:
        if self._awaited is _Awaited.HEAD and not self.conn.trailing_data[0]:
            self.transport.close()  # there is no request to answer
            return
        if self._awaited is _Awaited.REFUSAL:
            self._end(*self.conn.refusal)
            return
        self._end(HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time.")

    def _end(self, status: HTTPStatus, text: str) -> None:
        """Send the answer if none has begun, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the rest of the application's response is discarded
            self.cycle.message_event.set()
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.abort()
            return
        body = text.encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
        if status is HTTPStatus.TOO_MANY_REQUESTS:
            headers.append(("retry-after", "1"))
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _cancel(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer, and return None, its new value."""
    if timer is not None:
        timer.cancel()
    return None
