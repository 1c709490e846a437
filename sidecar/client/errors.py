"""The errors of a call, and their conversion from failed gRPC calls.

SidecarCallError
├── CallRefused         no valid token, or no right to this
├── CallUnavailable     unreachable, overloaded or too slow: a retry may succeed
├── RequestUnusable     a field is invalid
└── TargetUnusable      not an address, or one to which a token must not be sent in plain text
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_status import rpc_status


class SidecarCallError(Exception):
    """A call failed; `code` is gRPC's, `reason` the service's, `field` the invalid field, if any."""

    def __init__(
        self, message: str, *, code: str, reason: str = "", field: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.field = field
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy or unpickle the error: pools of processes hand errors to another process."""
        return partial(type(self), code=self.code), (self.message,), self.__dict__


class CallRefused(SidecarCallError):
    """The service does not know this caller, or the caller may not do this; use another token."""


class CallUnavailable(SidecarCallError):
    """The service does not answer, does not answer in time, or is overloaded; try again."""


class RequestUnusable(SidecarCallError):
    """A field of the request cannot be used; the error names it."""


class TargetUnusable(SidecarCallError):
    """The address cannot be called; write HOST:PORT or unix:/path, and use TLS to leave this machine."""


_KINDS: dict[str, type[SidecarCallError]] = {
    "UNAUTHENTICATED": CallRefused,
    "PERMISSION_DENIED": CallRefused,
    "UNAVAILABLE": CallUnavailable,
    "DEADLINE_EXCEEDED": CallUnavailable,
    "RESOURCE_EXHAUSTED": CallUnavailable,
    "INVALID_ARGUMENT": RequestUnusable,
}
_KINDS_BY_REASON: dict[str, type[SidecarCallError]] = dict.fromkeys(
    ("OWNER_QUOTA_EXCEEDED", "TOO_MANY_MEMORIES"),
    SidecarCallError,  # a retry would not help
)


_TOO_LARGE = re.compile(r"(CLIENT|SERVER): (Sent|Received) message larger than max \(\d+ vs\. (\d+)\)")

# Signs in gRPC's text of a connection that failed although something listens at the address, and the text for users.
_NOT_CONNECTED = (
    (
        re.compile("Hostname Verification Check failed"),
        "The certificate of {target} is for another name; give that name with --tls-name.",
    ),
    (
        re.compile("WRONG_VERSION_NUMBER"),
        "{target} answers without TLS; leave out --tls-ca, or name another address.",
    ),
    (
        re.compile(r"handshake failed.*OPENSSL_internal:(\w+(?:: [a-z ]+)?)"),
        "TLS with {target} failed ({reason}); name the authority that signed its certificate with --tls-ca, or renew it.",
    ),
    (
        re.compile(r"http1\.x server"),
        "{target} speaks HTTP instead of gRPC; name an address of SIDECAR_LISTEN.",
    ),
    (
        re.compile("failed to connect.*Socket closed"),
        "{target} closes the connection; it may need TLS (--tls-ca) or a client certificate (--tls-cert), or be stopping.",
    ),
)


def client_closed() -> SidecarCallError:
    """Return the error of a call of a closed client, also of one that ran when it was closed."""
    return SidecarCallError("The client is closed; open another one.", code="CANCELLED")


def failure(error: Any, target: str) -> SidecarCallError:
    """Return the error of a failed call to that address, with its details and a text for users."""
    code = error.code().name
    kind = _KINDS.get(code, SidecarCallError)
    status = _status(error)
    if code == "RESOURCE_EXHAUSTED" and (large := _TOO_LARGE.search(error.details() or "")):
        return _too_large(large)
    if status is None:
        return kind(_without_details(code, error.details() or "", target), code=code)
    details: dict[str, Any] = {}
    for detail in status.details:
        details |= _facts(detail)
    kind = _KINDS_BY_REASON.get(details.get("reason", ""), kind)
    return kind(status.message, code=code, **details)


def _too_large(large: re.Match[str]) -> SidecarCallError:
    """Return the error of a request or an answer that gRPC refuses for its size: no retry would help."""
    side, way, limit_bytes = large.groups()
    limit = f"{int(limit_bytes) >> 20} MiB"
    if (side, way) in {("CLIENT", "Received"), ("SERVER", "Sent")}:
        return SidecarCallError(
            f"The answer is larger than {limit}; ask for less, such as a smaller page_size.", code="RESOURCE_EXHAUSTED"
        )
    return RequestUnusable(
        f"The request is larger than {limit}; send it in parts, such as fewer turns or memories at a time.",
        code="RESOURCE_EXHAUSTED",
    )


def _status(error: Any) -> Any:
    try:
        return rpc_status.from_call(error)
    except (ValueError, DecodeError):  # unknown or damaged details; the code is still valid
        return None


def _facts(detail: Any) -> dict[str, Any]:
    for kind, fact in ((ErrorInfo, _reason), (BadRequest, _field), (RetryInfo, _delay)):
        message = kind()
        if detail.Unpack(message):
            return fact(message)
    return {}


def _reason(info: Any) -> dict[str, Any]:
    return {"reason": info.reason}


def _field(bad_request: Any) -> dict[str, Any]:
    return {"field": bad_request.field_violations[0].field} if bad_request.field_violations else {}


def _delay(retry: Any) -> dict[str, Any]:
    return {"retry_after_s": retry.retry_delay.ToNanoseconds() / 1e9}


def _without_details(code: str, message: str, target: str) -> str:
    """Return the text for a failure reported by gRPC itself, whose own message names sockets instead of the fix."""
    if code == "UNAVAILABLE":
        for sign, text in _NOT_CONNECTED:
            if found := sign.search(message):
                return text.format(target=target, reason="".join(found.groups()))
        return f"No sidecar answers at {target}; start one with `sidecar serve`, or name its address."
    if code == "DEADLINE_EXCEEDED":
        return f"The sidecar at {target} did not answer in time; try again, or give the call a longer deadline."
    return message or f"The call failed with {code}."
