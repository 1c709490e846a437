"""The client of a sidecar: `Sidecar` blocks, `AsyncSidecar` awaits; one method for each of the contract's, by keyword.

    with Sidecar("127.0.0.1:7433", token) as sidecar:
        assembly = sidecar.assemble_context(message=message, model_id="gpt-4o", thread_id="t1")
        answer = openai.chat.completions.create(model="gpt-4o", **assembly.to_openai(message))

What a method takes and answers stands in `requests` and `answers`; nobody needs the contract's messages. Calls that may
be repeated are, while the service is unavailable, by gRPC itself. Everything that fails is a SidecarCallError:

    SidecarCallError
    ├── CallRefused         no valid token, or no right to this
    ├── CallUnavailable     unreachable, overloaded or too slow: worth trying again
    ├── RequestUnusable     a field cannot be used as it is
    └── TargetUnusable      no address, or one that a token must not be sent to in plain text
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status

from sidecar import requests
from sidecar.encoding import fields_of
from sidecar.requests import Request
from sidecar.v1 import admin_pb2, context_pb2, knowledge_pb2, memory_pb2, profile_pb2

MAX_MESSAGE_BYTES = 48 * 1024 * 1024
KEEPALIVE_MS = 30_000

A = TypeVar("A")
P = ParamSpec("P")
Token = str | Callable[[], str]
AsyncToken = str | Callable[[], str | Awaitable[str]]


class SidecarCallError(Exception):
    """A call to the sidecar failed; `code` is gRPC's, `reason` the service's, `field` the one that is at fault."""

    def __init__(
        self, message: str, *, code: str, reason: str = "", field: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.field = field
        self.retry_after_s = retry_after_s


class CallRefused(SidecarCallError):
    """The service does not know this caller, or the caller may not do this; use another token."""


class CallUnavailable(SidecarCallError):
    """The service does not answer, not in time, or has too much to do; try again."""


class RequestUnusable(SidecarCallError):
    """A field of the request cannot be used; the error names it."""


class TargetUnusable(SidecarCallError):
    """The address cannot be called; write HOST:PORT or unix:/path, and give `tls` for anything but this machine."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How to trust the server and, with a certificate of one's own, to be known: PEM. Empty trusts the system's roots."""

    root_certificates: bytes | None = None
    private_key: bytes | None = None
    certificate_chain: bytes | None = None

    def __repr__(self) -> str:
        """Return nothing of the key."""
        return "Tls()"


@dataclass(frozen=True, slots=True)
class Stance:
    """For whom a client calls, empty meaning the token's own, and how long a call may take, None meaning its default."""

    tenant_id: str = ""
    owner_id: str = ""
    deadline_s: float | None = None


def _blocking(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Sidecar, P], A]:
    @functools.wraps(kind, updated=())
    def call(client: Sidecar, /, *args: P.args, **fields: P.kwargs) -> A:
        return client.send(kind(*args, **fields))

    return _as_method(call, kind)


def _waiting(kind: Callable[P, Request[A]]) -> Callable[Concatenate[AsyncSidecar, P], Coroutine[Any, Any, A]]:
    @functools.wraps(kind, updated=())
    async def call(client: AsyncSidecar, /, *args: P.args, **fields: P.kwargs) -> A:
        return await client.send(kind(*args, **fields))

    return _as_method(call, kind)


def _as_method(call: Any, kind: Any) -> Any:
    """Return the function with the fields of the request as its signature, for people who ask for help."""
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    call.__signature__ = inspect.Signature([client, *inspect.signature(kind).parameters.values()])
    return call


class Sidecar:
    """A blocking client; threads may share it. `token` is a token, or a function that returns the one to use now."""

    def __init__(self, target: str, token: Token, *, tls: Tls | None = None, stance: Stance | None = None) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        check_target(target, is_tls=tls is not None)
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = _opened(grpc, target, tls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel; calls under way end with an error."""
        self._channel.close()

    def taking(self, stance: Stance) -> Sidecar:
        """Return a client on the same channel that calls for somebody else, or with another deadline."""
        sibling = object.__new__(Sidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    def send(self, request: Request[A]) -> A:
        """Return the answer to any request of `requests`. Raises a SidecarCallError."""
        message = _message(request, self._stance)
        token = self._token if isinstance(self._token, str) else self._token()
        method = _METHODS[type(request).__name__]
        try:
            response = _callable(self._channel, method)(
                message, timeout=_deadline_s(request, self._stance), metadata=_metadata(token)
            )
        except grpc.RpcError as error:
            raise _failure(error, self._target) from error
        answer: A = request.reads(response)
        return answer

    def health(self, *, deadline_s: float = 3.0) -> str:
        """Return SERVING or NOT_SERVING; needs no token. Raises CallUnavailable."""
        check = _health(self._channel)
        try:
            response = check(health_pb2.HealthCheckRequest(), timeout=deadline_s)
        except grpc.RpcError as error:
            raise _failure(error, self._target) from error
        return _health_name(response)

    assemble_context = _blocking(requests.AssembleContext)
    report_usage = _blocking(requests.ReportUsage)
    append_turns = _blocking(requests.AppendTurns)
    explain_assembly = _blocking(requests.ExplainAssembly)
    replay_assembly = _blocking(requests.ReplayAssembly)
    diff_assemblies = _blocking(requests.DiffAssemblies)
    list_assemblies = _blocking(requests.ListAssemblies)
    list_threads = _blocking(requests.ListThreads)
    list_turns = _blocking(requests.ListTurns)
    notify_retained = _blocking(requests.NotifyRetained)
    retain = _blocking(requests.Retain)
    list_memories = _blocking(requests.ListMemories)
    get_memory = _blocking(requests.GetMemory)
    delete_memory = _blocking(requests.DeleteMemory)
    create_base = _blocking(requests.CreateBase)
    list_bases = _blocking(requests.ListBases)
    ingest = _blocking(requests.Ingest)
    list_documents = _blocking(requests.ListDocuments)
    delete_document = _blocking(requests.DeleteDocument)
    assign_base = _blocking(requests.AssignBase)
    unassign_base = _blocking(requests.UnassignBase)
    get_profile = _blocking(requests.GetProfile)
    set_profile = _blocking(requests.SetProfile)
    list_profile_versions = _blocking(requests.ListProfileVersions)
    rollback_profile = _blocking(requests.RollbackProfile)
    put_agent = _blocking(requests.PutAgent)
    put_space = _blocking(requests.PutSpace)
    put_workspace = _blocking(requests.PutWorkspace)
    get_tenant = _blocking(requests.GetTenant)
    revoke_tokens = _blocking(requests.RevokeTokens)


class AsyncSidecar:
    """A waiting client, for one event loop: make it where that runs. `token` may also be a function to be awaited."""

    def __init__(self, target: str, token: AsyncToken, *, tls: Tls | None = None, stance: Stance | None = None) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        check_target(target, is_tls=tls is not None)
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = _opened(grpc.aio, target, tls)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel; calls under way end with an error."""
        await self._channel.close()

    def taking(self, stance: Stance) -> AsyncSidecar:
        """Return a client on the same channel that calls for somebody else, or with another deadline."""
        sibling = object.__new__(AsyncSidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    async def send(self, request: Request[A]) -> A:
        """Return the answer to any request of `requests`. Raises a SidecarCallError."""
        message = _message(request, self._stance)
        token = self._token if isinstance(self._token, str) else self._token()
        metadata = _metadata(token if isinstance(token, str) else await token)
        method = _METHODS[type(request).__name__]
        try:
            response = await _callable(self._channel, method)(
                message, timeout=_deadline_s(request, self._stance), metadata=metadata
            )
        except grpc.RpcError as error:
            raise _failure(error, self._target) from error
        answer: A = request.reads(response)
        return answer

    async def health(self, *, deadline_s: float = 3.0) -> str:
        """Return SERVING or NOT_SERVING; needs no token. Raises CallUnavailable."""
        check = _health(self._channel)
        try:
            response = await check(health_pb2.HealthCheckRequest(), timeout=deadline_s)
        except grpc.RpcError as error:
            raise _failure(error, self._target) from error
        return _health_name(response)

    assemble_context = _waiting(requests.AssembleContext)
    report_usage = _waiting(requests.ReportUsage)
    append_turns = _waiting(requests.AppendTurns)
    explain_assembly = _waiting(requests.ExplainAssembly)
    replay_assembly = _waiting(requests.ReplayAssembly)
    diff_assemblies = _waiting(requests.DiffAssemblies)
    list_assemblies = _waiting(requests.ListAssemblies)
    list_threads = _waiting(requests.ListThreads)
    list_turns = _waiting(requests.ListTurns)
    notify_retained = _waiting(requests.NotifyRetained)
    retain = _waiting(requests.Retain)
    list_memories = _waiting(requests.ListMemories)
    get_memory = _waiting(requests.GetMemory)
    delete_memory = _waiting(requests.DeleteMemory)
    create_base = _waiting(requests.CreateBase)
    list_bases = _waiting(requests.ListBases)
    ingest = _waiting(requests.Ingest)
    list_documents = _waiting(requests.ListDocuments)
    delete_document = _waiting(requests.DeleteDocument)
    assign_base = _waiting(requests.AssignBase)
    unassign_base = _waiting(requests.UnassignBase)
    get_profile = _waiting(requests.GetProfile)
    set_profile = _waiting(requests.SetProfile)
    list_profile_versions = _waiting(requests.ListProfileVersions)
    rollback_profile = _waiting(requests.RollbackProfile)
    put_agent = _waiting(requests.PutAgent)
    put_space = _waiting(requests.PutSpace)
    put_workspace = _waiting(requests.PutWorkspace)
    get_tenant = _waiting(requests.GetTenant)
    revoke_tokens = _waiting(requests.RevokeTokens)
