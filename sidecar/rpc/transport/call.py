"""One call as a service sees it, and how a service's methods are put behind the door.

A service is plain async functions of (request, call), or async generators where the answer is a stream; who is calling,
how long they may take and what was sent beside the message is in the call. Nothing here decides who may do what.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidecar.rpc.auth.identity import Identity
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.rpc.transport.status import answer
from sidecar.runtime.errors import DeadlinePassed, IdentityMissing, ServiceIncomplete

LARGE_BYTES = 1 << 20
_SECRET_METADATA = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class Call:
    """What stands around one request: the verified identity, the deadline on `clock_s`, and the metadata sent with it.

    Credentials are left out of `metadata`. `stopping` is set when the process begins to end: a stream that would go on
    then ends with Stopping. `is_large` says that the request has more than `LARGE_BYTES`.
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


Behaviour = Callable[[Any, Call], Awaitable[Message]] | Callable[[Any, Call], AsyncGenerator[Message]]


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """On what terms a method is served: its lanes, and the seconds a call gets by default and at most.

    A request of more than `LARGE_BYTES` needs a place in the lanes for large ones too, where there are such.
    """

    lanes: AdmissionControl
    default_deadline_s: float = 3.0
    max_deadline_s: float = 60.0
    large_lanes: AdmissionControl | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A method of ours as gRPC's handler: one request, one answer or a stream of them. Only the door can call it, gRPC
    alone gets a refusal."""

    request_type: type[Message]
    behaviour: Any
    terms: MethodOptions
    request_streaming: bool = False
    response_streaming: bool = False
    request_deserializer: None = None
    response_serializer: None = None

    async def unary_unary(self, request: bytes, context: Any) -> bytes:
        """Refuse the call: it did not come through the door, so nobody knows whose it is."""
        return await answer(context, self.request_type.DESCRIPTOR.full_name, _refuse())

    async def unary_stream(self, request: bytes, context: Any) -> AsyncGenerator[bytes]:
        """Refuse the call, as `unary_unary` does."""
        yield await self.unary_unary(request, context)


def service_handler(
    service: ServiceDescriptor,
    behaviours: Mapping[str, Behaviour],
    terms: MethodOptions,
    *,
    apart: Mapping[str, MethodOptions] | None = None,
) -> grpc.GenericRpcHandler:
    """Return the handler of a service: each method of its descriptor with its behaviour, on `terms`.

    `apart` gives single methods terms of their own. Raises ServiceIncomplete when names do not match the descriptor.
    """
    own_terms = apart or {}
    expected = {method.name for method in service.methods}
    odd = sorted(expected ^ behaviours.keys() | (own_terms.keys() - expected))
    if odd:
        raise ServiceIncomplete(service.full_name, f"{', '.join(odd)} stands on one side only")
    return grpc.method_handlers_generic_handler(
        service.full_name,
        {
            method.name: Method(
                GetMessageClass(method.input_type),
                behaviours[method.name],
                own_terms.get(method.name, terms),
                response_streaming=method.server_streaming,
            )
            for method in service.methods
        },
    )


def deadline_s(context: Any, default_s: float, max_s: float) -> float:
    """Return the seconds this call may take: the client's remaining time or the default, never above `max_s`.

    Raises DeadlinePassed when the client's time is over already.
    """
    remaining_s = context.time_remaining()
    if remaining_s is None:
        return min(default_s, max_s)
    if remaining_s <= 0:
        raise DeadlinePassed
    return float(min(remaining_s, max_s))


def public_metadata(metadata: Any) -> Mapping[str, str | bytes]:
    """Return the metadata without credentials; of a key sent twice, the last."""
    return MappingProxyType({key: value for key, value in metadata if key not in _SECRET_METADATA})


async def _refuse() -> bytes:
    raise IdentityMissing
