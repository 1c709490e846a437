"""The call object that services receive, and the gRPC handlers of their methods.

A service method is an async function of (request, call), or an async generator for a streamed answer. The call has the
caller's identity, the deadline and the metadata. This module does not authorize.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidecar.rpc.auth.identity import Identity, require_admin, resolve_scope, resolve_tenant
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.rpc.transport.status import answer
from sidecar.runtime.errors import DeadlinePassed, IdentityMissing, ServiceIncomplete
from store.scope import Scope

LARGE_BYTES = 1 << 20
_CAMEL = re.compile(r"(?<!^)([A-Z])")
_SECRET_METADATA = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request's context: the verified identity, the deadline on `clock_s`, and the metadata.

    `metadata` contains no credentials. `stopping` is set when the process begins to stop: an endless stream must then end with
    Stopping. `is_large` means that the request has more than `LARGE_BYTES` bytes.
    """

    identity: Identity
    method: str
    deadline_at_s: float
    clock_s: Callable[[], float] = field(repr=False)
    metadata: Mapping[str, str | bytes] = field(default_factory=dict, repr=False)
    stopping: asyncio.Event = field(default_factory=asyncio.Event, repr=False, compare=False)
    is_large: bool = False

    @property
    def remaining_s(self) -> float:
        """Return the seconds left until the deadline, never below zero."""
        return max(0.0, self.deadline_at_s - self.clock_s())

    def tenant(self, request: Any) -> UUID:
        """Return the tenant that the request names, or the caller's. Raises the errors of `resolve_tenant`."""
        return resolve_tenant(self.identity, request.tenant_id)

    def scope(self, request: Any) -> Scope:
        """Return the scope that the request names, or the caller's. Raises the errors of `resolve_scope`."""
        return resolve_scope(self.identity, request.tenant_id, request.owner_id)

    def admin_tenant(self, request: Any) -> UUID:
        """Return the tenant of an admin's request. Raises AdminRequired for other callers."""
        require_admin(self.identity)
        return self.tenant(request)

    def admin_scope(self, request: Any) -> Scope:
        """Return the scope that an admin's request names. Raises AdminRequired for other callers."""
        require_admin(self.identity)
        return self.scope(request)


Behaviour = Callable[[Any, Call], Awaitable[Message]] | Callable[[Any, Call], AsyncGenerator[Message]]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """A method's admission control, and its default and maximum deadlines in seconds.

    A request of more than `LARGE_BYTES` must also be admitted by `large_admission`, if set.
    """

    admission: AdmissionControl
    default_deadline_s: float = 3.0
    max_deadline_s: float = 60.0
    large_admission: AdmissionControl | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A gRPC handler of one of our methods: one request, one answer or a stream. Only the interceptor can call the behaviour;
    direct calls by gRPC are refused."""

    request_type: type[Message]
    behaviour: Any
    options: MethodOptions
    request_streaming: bool = False
    response_streaming: bool = False
    request_deserializer: None = None
    response_serializer: None = None

    async def unary_unary(self, request: bytes, context: Any) -> bytes:
        """Refuse the call, because it bypassed the interceptor and its caller is unknown."""
        return await answer(context, self.request_type.DESCRIPTOR.full_name, _refuse())

    async def unary_stream(self, request: bytes, context: Any) -> AsyncGenerator[bytes]:
        """Refuse the call, as `unary_unary` does."""
        yield await self.unary_unary(request, context)


def behaviours_of(service: ServiceDescriptor, implementation: object) -> dict[str, Behaviour]:
    """Return the implementation's methods by their names in the contract; `get_page` is the method of `GetPage`."""
    named = {method.name: _CAMEL.sub(r"_\1", method.name).lower() for method in service.methods}
    return {name: getattr(implementation, own) for name, own in named.items() if hasattr(implementation, own)}


def service_handler(
    service: ServiceDescriptor,
    behaviours: Mapping[str, Behaviour],
    options: MethodOptions,
    *,
    apart: Mapping[str, MethodOptions] | None = None,
) -> grpc.GenericRpcHandler:
    """Return the handler of a service: each method of its descriptor with its behaviour and the options `options`.

    `apart` gives single methods their own options. Raises ServiceIncomplete if names do not match the descriptor.
    """
    own_options = apart or {}
    expected = {method.name for method in service.methods}
    odd = sorted(expected ^ behaviours.keys() | (own_options.keys() - expected))
    if odd:
        raise ServiceIncomplete(service.full_name, f"{', '.join(odd)} is missing on one side")
    return grpc.method_handlers_generic_handler(
        service.full_name,
        {
            method.name: Method(
                GetMessageClass(method.input_type),
                behaviours[method.name],
                own_options.get(method.name, options),
                response_streaming=method.server_streaming,
            )
            for method in service.methods
        },
    )


def deadline_s(context: Any, default_s: float, max_s: float) -> float:
    """Return the seconds that the call may take: the client's remaining time or the default, at most `max_s`.

    Raises DeadlinePassed if the client's deadline has passed.
    """
    remaining_s = context.time_remaining()
    if remaining_s is None:
        return min(default_s, max_s)
    if remaining_s <= 0:
        raise DeadlinePassed
    return float(min(remaining_s, max_s))


def public_metadata(metadata: Any) -> Mapping[str, str | bytes]:
    """Return the metadata without credentials; for a repeated key, the last value."""
    return MappingProxyType({key: value for key, value in metadata if key not in _SECRET_METADATA})


async def _refuse() -> bytes:
    raise IdentityMissing
