"""Calls AWS services through boto3: creates each client once, runs calls in dedicated threads, and translates failures.

A thread cannot be interrupted: an abandoned call keeps its thread until the socket times out. So each backend has its own
small thread pool, and a hanging backend does not block the others.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from http.client import HTTPException
from typing import Any, TypeVar

import boto3
import botocore.session
from botocore import exceptions as aws
from botocore.config import Config
from botocore.loaders import Loader, create_loader

from models.transport import threads as room
from models.transport.aws_bodies import BodyBounds, bound
from models.transport.refusals import retry_after_s
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

T = TypeVar("T")

THROTTLES = frozenset(
    {"ThrottlingException", "ThrottledException", "TooManyRequestsException", "Throttling", "SlowDown", "RequestLimitExceeded"}
)  # fmt: skip
_QUOTAS = frozenset({"ServiceQuotaExceededException"})
_DENIED_KEYS = frozenset(
    {
        "ExpiredTokenException",
        "ExpiredToken",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidAccessKeyId",
    }
    | {"InvalidSignatureException", "SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature"}
)
_DENIALS = _DENIED_KEYS | {"AccessDeniedException", "AccessDenied", "RequestTimeTooSkewed"}
_NO_CREDENTIALS = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.CredentialRetrievalError,
    aws.TokenRetrievalError,
    aws.SSOError,
    aws.UnauthorizedSSOTokenError,
)
_LEAST_SESSION_S = 30.0
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9._]{0,63}")
_CONNECT_S = 3.0
_UNREADABLE = (
    ArithmeticError,
    RecursionError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    HTTPException,
)  # raised by botocore's parsers for responses that are not the service's
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
    """A quota of the account is used up; have it raised. Retrying soon does not help."""

    is_retryable = False


@dataclass(frozen=True, slots=True)
class Where:
    """A service's region (empty for that of the default chain) and endpoint (empty for the standard endpoint)."""

    region: str = ""
    endpoint_url: str = ""


class Clients:
    """boto3 clients on one session, with credentials from the default chain; `clock` returns seconds.

    A session keeps the credentials that it found. When a service rejects them, later calls look them up again, at most every 30
    seconds, so that rotated credentials are found without a restart.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._session: Any = None
        self._began_s = 0.0
        self._lock = threading.Lock()
        self._clients: list[Client] = []

    def client(self, service: str, where: Where, *, read_timeout_s: float, connections: int) -> Client:
        """Return the client of a service, without connecting. Its retries are disabled, since callers have deadlines."""
        config = Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            connect_timeout=_CONNECT_S,
            read_timeout=read_timeout_s,
            max_pool_connections=connections,
            user_agent_extra="context-sidecar",
        )
        place = {"region_name": where.region or None, "endpoint_url": where.endpoint_url or None}
        client = Client(self, partial(_made, service, **place, config=config, body_s=read_timeout_s))
        self._clients.append(client)
        return client

    def region(self) -> str:
        """Return the region of the default chain; empty if there is none."""
        return boto3.Session(botocore_session=_inner_session()).region_name or ""

    def close(self) -> None:
        """Close every client's connections."""
        for client in self._clients:
            client.close()

    def on(self, last: Any, make: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return the session, and `make(session)` or None if the session is still `last`. Blocks up to 0.1 s."""
        with self._lock:
            if self._session is None:
                self._session, self._began_s = boto3.Session(botocore_session=_inner_session()), self._clock()
            return self._session, None if self._session is last else make(self._session)

    def refused(self, session: Any) -> None:
        """Record that a service rejected a session's credentials."""
        with self._lock:
            if session is self._session and self._clock() - self._began_s >= _LEAST_SESSION_S:
                self._session = None


class Client:
    """One service's client. It is created in the thread of the first call, since finding credentials may use the network."""

    def __init__(self, clients: Clients, make: Callable[[Any], Any]) -> None:
        self._clients = clients
        self._make = make
        self._made: tuple[Any, Any] = (None, None)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation (such as `retrieve`) once and return the response. Blocks; raises botocore's errors."""
        session, made = self._made
        current, anew = self._clients.on(session, self._make)
        if anew is not None:
            session, made = self._made = current, anew
        try:
            answer: dict[str, Any] = getattr(made, operation)(**parameters)
        except (*_NO_CREDENTIALS, aws.ClientError) as error:
            if not isinstance(error, aws.ClientError) or error.response.get("Error", {}).get("Code") in _DENIED_KEYS:
                self._clients.refused(session)
            raise
        return answer

    def close(self) -> None:
        """Close its connections."""
        if self._made[1] is not None:
            self._made[1].close()


def _made(service: str, session: Any, *, body_s: float, **options: Any) -> Any:
    """Return a client whose answers have `body_s` seconds from their headers to their last byte."""
    client = session.client(service, **options)
    bound(client, BodyBounds(MAX_ANSWER_BYTES, body_s))
    return client


def _inner_session() -> Any:
    inner = botocore.session.Session()
    inner.register_component("data_loader", _service_models())
    return inner


@cache
def _service_models() -> Loader:
    """Return the SDK's service models, shared because loading them takes 50 ms."""
    return create_loader()


class AwsCalls:
    """The thread pool of one backend's calls."""

    def __init__(self, backend: str, count: int) -> None:
        self.backend = backend
        self._room = room.BlockingCalls(count, failures=(aws.BotoCoreError, aws.ClientError, *_UNREADABLE))
        self._is_closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread and return its result. Raises a BackendError for botocore's errors."""
        if self._is_closed:
            raise BackendUnavailable(self.backend, "closed")
        try:
            return await self._room.run(work)
        except (aws.BotoCoreError, aws.ClientError) as error:
            raise translated(self.backend, error) from error
        except _UNREADABLE as error:
            raise AnswerUnreadable(self.backend, type(error).__name__) from error

    def close(self) -> None:
        """Stop accepting work, without waiting. A running call ends at its socket's timeout."""
        self._is_closed = True


def translated(backend: str, error: Exception) -> BackendError:
    """Translate a botocore error. The service's message is dropped: it may hold secrets."""
    if isinstance(error, aws.ClientError):
        return _answered(backend, error)
    name = type(error).__name__
    if isinstance(error, _NO_CREDENTIALS):
        return BackendDenied(backend, name)
    match error:
        case aws.ReadTimeoutError() | aws.ConnectTimeoutError():
            return BackendTimedOut(backend, name)
        case aws.ParamValidationError() | aws.NoRegionError() | aws.InvalidRegionError():
            return BackendMisused(backend, name)
        case aws.HTTPClientError() | aws.ConnectionError():
            return BackendUnavailable(backend, name)
        case _:
            return AnswerUnreadable(backend, name)


def _answered(backend: str, error: Any) -> BackendError:
    problem = error.response.get("Error", {})
    metadata = error.response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode", 500)
    code = str(problem.get("Code") or status)
    shown = code if _CODE.fullmatch(code) else str(status)
    after_s = retry_after_s(metadata.get("HTTPHeaders", {}))
    return _kind(status, code, str(problem.get("Message", "")))(backend, shown, retry_after_s=after_s)


def _kind(status: int, code: str, message: str) -> type[BackendError]:
    if code in _QUOTAS:
        return QuotaUsedUp
    if code in THROTTLES or status == 429 or "Rate exceeded" in message:
        return BackendThrottled
    if code in _DENIALS:
        return BackendDenied
    return _BY_STATUS.get(status, BackendUnavailable if status >= 500 else BackendMisused)
