"""AWS services through boto3: clients made once, calls in threads of their own, failures in our terms.

A thread cannot be interrupted: a call that is given up keeps its thread until the socket's own timeout, and no other takes its
place until then. So each backend has its own few threads, and one that hangs holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, TypeVar

import boto3
from botocore import exceptions as aws
from botocore.config import Config

from models import threads as room
from sidecar.backends.errors import (
    AnswerUnreadable,
    BackendDenied,
    BackendError,
    BackendMissing,
    BackendMisused,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)

T = TypeVar("T")

THROTTLES = frozenset(
    {"ThrottlingException", "ThrottledException", "TooManyRequestsException", "Throttling", "SlowDown", "RequestLimitExceeded"}
)  # fmt: skip
_QUOTAS = frozenset({"ServiceQuotaExceededException"})
_DENIALS = frozenset(
    {"AccessDeniedException", "AccessDenied", "ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException"}
    | {"InvalidSignatureException", "SignatureDoesNotMatch", "InvalidClientTokenId", "MissingAuthenticationToken"}
    | {"IncompleteSignature", "InvalidAccessKeyId", "RequestTimeTooSkewed"}
)
_CONNECT_S = 3.0
_UNREADABLE = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    HTTPException,
)  # botocore's parsers at JSON of no service
_BY_STATUS: Mapping[int, type[BackendError]] = {
    400: BackendMisused,
    401: BackendDenied,
    402: BackendThrottled,
    403: BackendDenied,
    404: BackendMissing,
    408: BackendTimedOut,
    409: BackendUnavailable,
    424: BackendUnavailable,
    429: BackendThrottled,
    504: BackendTimedOut,
}


class QuotaUsedUp(BackendThrottled):
    """A quota of the account is used up; have it raised. Asking again soon does not help."""

    is_retryable = False


@dataclass(frozen=True, slots=True)
class Where:
    """Where a service is asked: its region (empty for the default chain's) and an endpoint other than the usual one."""

    region: str = ""
    endpoint_url: str = ""


class Clients:
    """boto3's clients, one for each service and place, with credentials from the default chain."""

    def __init__(self) -> None:
        self._session: Any = None
        self._made: dict[object, Any] = {}

    def client(self, service: str, where: Where, *, read_timeout_s: float, connections: int) -> Any:
        """Return the client; its retries are off, since whoever asks has a deadline. Takes 0.1 s the first time."""
        key = (service, where, read_timeout_s, connections)
        if key not in self._made:
            self._session = self._session or boto3.Session()
            self._made[key] = self._session.client(
                service,
                region_name=where.region or None,
                endpoint_url=where.endpoint_url or None,
                config=Config(
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    connect_timeout=_CONNECT_S,
                    read_timeout=read_timeout_s,
                    max_pool_connections=connections,
                    user_agent_extra="context-sidecar",
                ),
            )
        return self._made[key]

    def close(self) -> None:
        """Close every client's connections."""
        for client in self._made.values():
            client.close()


class Threads:
    """Room for one backend's calls at once."""

    def __init__(self, backend: str, count: int) -> None:
        self.backend = backend
        self._room = room.Threads(count, failures=(aws.BotoCoreError, aws.ClientError, *_UNREADABLE))
        self._is_closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the blocking work returns. Raises a BackendError for whatever botocore raises."""
        if self._is_closed:
            raise BackendUnavailable(self.backend, "closed")
        try:
            return await self._room.run(work)
        except (aws.BotoCoreError, aws.ClientError) as error:
            raise translated(self.backend, error) from error
        except _UNREADABLE as error:
            raise AnswerUnreadable(self.backend, type(error).__name__) from error

    def close(self) -> None:
        """Take no more work; a call under way ends by its socket's timeout, and nobody waits for it."""
        self._is_closed = True


def translated(backend: str, error: Exception) -> BackendError:
    """Return what an error of botocore means to us. The service's message stays behind: it may hold anything."""
    if isinstance(error, aws.ClientError):
        return _answered(backend, error)
    name = type(error).__name__
    match error:
        case aws.ReadTimeoutError() | aws.ConnectTimeoutError():
            return BackendTimedOut(backend, name)
        case aws.NoCredentialsError() | aws.PartialCredentialsError() | aws.CredentialRetrievalError():
            return BackendDenied(backend, name)
        case aws.TokenRetrievalError() | aws.SSOError() | aws.UnauthorizedSSOTokenError():
            return BackendDenied(backend, name)
        case aws.ParamValidationError() | aws.NoRegionError() | aws.InvalidRegionError():
            return BackendMisused(backend, name)
        case aws.HTTPClientError() | aws.ConnectionError():
            return BackendUnavailable(backend, name)
        case _:
            return AnswerUnreadable(backend, name)


def _answered(backend: str, error: Any) -> BackendError:
    told = error.response.get("Error", {})
    metadata = error.response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode", 500)
    code = str(told.get("Code") or status)
    after_s = _seconds(metadata.get("HTTPHeaders", {}).get("retry-after", ""))
    return _kind(status, code, str(told.get("Message", "")))(backend, code[:100], retry_after_s=after_s)


def _kind(status: int, code: str, message: str) -> type[BackendError]:
    if code in _QUOTAS:
        return QuotaUsedUp
    if code in THROTTLES or status == 429 or "Rate exceeded" in message:
        return BackendThrottled
    if code in _DENIALS:
        return BackendDenied
    return _BY_STATUS.get(status, BackendUnavailable if status >= 500 else BackendMisused)


def _seconds(header: str) -> float | None:
    return float(header) if header.isdecimal() else None
