"""Calls JSON services over HTTP, with bounded answers and translated failures. A service's error text is never passed on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import orjson

from models.transport.refusals import retry_after_s, why_unreadable
from sidecar.backends.errors import (
    MAX_ANSWER_BYTES,
    AnswerUnreadable,
    BackendDenied,
    BackendMissing,
    BackendMisused,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.context.ports import BackendError

_CONNECT_S = 3.0
_BY_STATUS: Mapping[int, type[BackendError]] = {
    400: BackendMisused,
    401: BackendDenied,
    402: BackendThrottled,
    403: BackendDenied,
    404: BackendMissing,
    408: BackendTimedOut,
    422: BackendMisused,
    429: BackendThrottled,
    504: BackendTimedOut,
}


@dataclass(frozen=True, slots=True)
class Got:
    """A response: its JSON, and its headers by lower-case name."""

    body: Any
    headers: Mapping[str, str]

    def server_time(self) -> datetime | None:
        """Return the server's time from the Date header, to the second, or None."""
        try:
            return parsedate_to_datetime(self.headers.get("date", "")).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def client(base_url: str, *, connections: int) -> httpx.AsyncClient:
    """Return a client of one service. It follows no redirects, so that a secret reaches only the configured host.

    It asks for uncompressed answers: a small compressed one can fill the memory.
    """
    return httpx.AsyncClient(
        base_url=base_url,
        headers={"accept-encoding": "identity"},
        timeout=httpx.Timeout(None, connect=_CONNECT_S),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        trust_env=False,
    )


@dataclass(frozen=True, slots=True)
class Refusals:
    """Errors that a service distinguishes only by text. Maps a status and a lower-case phrase to our error class."""

    known: Mapping[tuple[int, bytes], type[BackendError]]

    def kind(self, status: int, body: bytes) -> type[BackendError] | None:
        """Return the error class for a known phrase, or None if only the status matters."""
        text = body[:2000].lower()
        return next((kind for (code, phrase), kind in self.known.items() if code == status and phrase in text), None)


async def get(
    backend: str,
    service: httpx.AsyncClient,
    request: httpx.Request,
    refusals: Refusals,
    *,
    most_bytes: int = MAX_ANSWER_BYTES,
) -> Got:
    """Send the request and return the response, of at most `most_bytes`. Raises a BackendError."""
    try:
        response = await service.send(request, stream=True)
        try:
            body = await _body(backend, response, most_bytes)
        finally:
            await response.aclose()
    except httpx.TimeoutException as error:
        raise BackendTimedOut(backend, type(error).__name__) from None
    except httpx.HTTPError as error:
        # The error's text may hold the URL with secrets in it, so only its type is passed on.
        raise BackendUnavailable(backend, type(error).__name__) from None
    if response.status_code >= 300:
        raise _refused(backend, response, refusals.kind(response.status_code, body))
    try:
        return Got(_parsed(body), dict(response.headers))
    except (ValueError, RecursionError) as error:
        raise AnswerUnreadable(backend, why_unreadable(response.headers, "JSON")) from error


def _parsed(body: bytes) -> Any:
    """Parse the JSON. Lone surrogates, which orjson rejects, are replaced, so that they do not cost the whole answer."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode(errors="replace"))


async def _body(backend: str, response: httpx.Response, most_bytes: int) -> bytes:
    chunks = bytearray()
    async for chunk in response.aiter_raw():
        chunks += chunk
        if len(chunks) > most_bytes:
            raise AnswerUnreadable(backend, f"more than {most_bytes >> 20} MB")
    return bytes(chunks)


def _refused(backend: str, response: httpx.Response, problem: type[BackendError] | None) -> BackendError:
    status = response.status_code
    after_s = retry_after_s(response.headers)
    usual = BackendThrottled if status == 503 and after_s is not None else _BY_STATUS.get(status)
    kind = problem or usual or (BackendUnavailable if status >= 499 else BackendMisused)
    return kind(backend, str(status), retry_after_s=after_s)
