"""Looks up RPC methods by name and converts requests to messages. The client's only use of generated code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2

from sidecar.client.channel import Channels
from sidecar.client.checking import check_types
from sidecar.client.encoding import fields_of
from sidecar.client.errors import CallRefused, RequestUnusable
from sidecar.client.knobs import UnknownKnob, UnusableKnob
from sidecar.client.requests.request import Request
from sidecar.v1 import (
    admin_pb2,
    backends_pb2,
    brain_pb2,
    compile_pb2,
    context_pb2,
    cost_pb2,
    decay_pb2,
    knowledge_pb2,
    memory_pb2,
    ontology_pb2,
    profile_pb2,
    wiki_pb2,
)

METHODS: Mapping[str, MethodDescriptor] = {
    method.name: method
    for file in (
        context_pb2,
        memory_pb2,
        decay_pb2,
        knowledge_pb2,
        profile_pb2,
        admin_pb2,
        wiki_pb2,
        brain_pb2,
        compile_pb2,
        backends_pb2,
        cost_pb2,
        ontology_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
_TOKEN = re.compile(r"[!-~]+")
_LONGEST_CALL_S = 86_400
_CHECK_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].methods_by_name["Check"]


@dataclass(frozen=True, slots=True)
class Stance:
    """The tenant and owner of a client's calls (empty: the token's own), and the deadline of a call (None: its default).

    The deadline is at most a day.
    """

    tenant_id: str = ""
    owner_id: str = ""
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One gRPC call."""

    call: Any
    message: Message
    options: Mapping[str, Any]


def exchange(channel: Any, request: Request[Any], *, stance: Stance, token: str) -> Exchange:
    """Return the call of a request on that channel. Raises RequestUnusable, and CallRefused for a malformed token."""
    method = METHODS[type(request).__name__]
    options = {
        "timeout": request.deadline_s if stance.deadline_s is None else _checked_deadline(stance.deadline_s),
        "metadata": (("authorization", f"Bearer {_checked(token)}"),) if token != "" else (),
    }
    return Exchange(_call(channel, method), message_of(request, stance), options)


def _checked_deadline(deadline_s: float) -> float:
    """Return the deadline. Raises RequestUnusable for one that gRPC cannot represent: such a call would end at once."""
    if not isinstance(deadline_s, int | float) or not deadline_s <= _LONGEST_CALL_S:
        message = (
            f"deadline_s: is {deadline_s!r}; give at most {_LONGEST_CALL_S} seconds, or None for the call's default."
        )
        raise RequestUnusable(message, code="INVALID_ARGUMENT", field="deadline_s")
    return deadline_s


def check_token_source(token: object) -> None:
    """Raise CallRefused unless it is a text or a function, so that a missing variable is told where the client is made."""
    if not isinstance(token, str) and not callable(token):
        raise _no_token(token)


def _no_token(token: object) -> CallRefused:
    message = f"token: is of type {type(token).__name__}; pass a text, or a function that returns the current one."
    return CallRefused(message, code="UNAUTHENTICATED", field="token")


def _checked(token: str) -> str:
    if not isinstance(token, str):
        raise _no_token(token)
    if not _TOKEN.fullmatch(token):
        message = "token: contains a character that no token has, such as a space or a line break; pass only the token."
        raise CallRefused(message, code="UNAUTHENTICATED", field="token")
    return token


def health_check(channel: Any, *, deadline_s: float, waits: bool) -> Exchange:
    """Return the call that checks the server's health; with `waits`, it waits until there is a server."""
    options = {"timeout": deadline_s, "wait_for_ready": waits}
    return Exchange(_call(channel, _CHECK_HEALTH), health_pb2.HealthCheckRequest(), options)


def health_of(response: Any) -> str:
    """Return the status in a health check's response, such as SERVING."""
    name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(response.status)
    return name


def repeatable() -> Iterator[tuple[str, str]]:
    """Yield the (service, method) pairs that the contract declares idempotent."""
    for method in METHODS.values():
        if _is_repeatable(method):
            yield method.containing_service.full_name, method.name
    yield _CHECK_HEALTH.containing_service.full_name, _CHECK_HEALTH.name


def moves_on(channels: Channels, place: int, request: Request[Any], error: Any) -> bool:
    """Return whether a failed call is sent again on another channel: its process is gone, and the call may be repeated."""
    if error.code() is not grpc.StatusCode.UNAVAILABLE:
        return False
    has_other = channels.failed(place)
    return has_other and _is_repeatable(METHODS[type(request).__name__])


def _is_repeatable(method: MethodDescriptor) -> bool:
    return bool(method.GetOptions().idempotency_level != MethodOptions.IDEMPOTENCY_UNKNOWN)


def message_of(request: Request[Any], stance: Stance) -> Message:
    """Return the message of a request. Raises RequestUnusable naming the unusable field."""
    kind = GetMessageClass(METHODS[type(request).__name__].input_type)
    scope = {"tenant_id": stance.tenant_id, "owner_id": stance.owner_id}
    if getattr(request, "whole_tenant", False):
        del scope["owner_id"]  # a request for the whole tenant names no owner
    named = {name: scope[name] for name in scope.keys() & kind.DESCRIPTOR.fields_by_name.keys()}
    check_types(request, kind.DESCRIPTOR)
    try:
        fields = {**named, **fields_of(request, kind.DESCRIPTOR)}
    except (UnknownKnob, UnusableKnob) as error:
        raise RequestUnusable(str(error), code="INVALID_ARGUMENT", field=error.name) from error
    message = kind()
    for name, value in fields.items():
        try:
            _check_lists(kind.DESCRIPTOR.fields_by_name[name], value)
            message.MergeFrom(kind(**{name: value}))
        except (TypeError, ValueError, OverflowError) as error:
            raise RequestUnusable(
                f"{name}: cannot be sent ({_problem(error)}).", code="INVALID_ARGUMENT", field=name
            ) from error
    return message


def _call(channel: Any, method: MethodDescriptor) -> Any:
    opened = channel.unary_stream if method.server_streaming else channel.unary_unary
    return opened(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=GetMessageClass(method.input_type).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )


def _check_lists(field: Any, value: Any) -> None:
    """Raise TypeError for a text in place of a list of texts, at any depth, since it would be sent letter by letter."""
    if field.is_repeated and isinstance(value, str):
        raise TypeError("expected a list of texts, got one text")
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, Mapping) and field.message_type and field.message_type.file.package == "sidecar.v1":
            inner = field.message_type.fields_by_name
            for name in one.keys() & inner.keys():
                _check_lists(inner[name], one[name])


def _problem(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "it is not valid Unicode"
    return "it is not one of the values" if "enum label" in str(error) else str(error)
