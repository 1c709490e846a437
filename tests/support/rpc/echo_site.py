"""A small service behind the real interceptor, for tests that call it over different transports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2 as details
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_status import rpc_status

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, require_admin, resolve_scope
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.rpc.transport.call import Call, MethodOptions, service_handler
from sidecar.rpc.transport.interceptor import CallInterceptor
from sidecar.runtime.errors import InvalidArgument
from store.scope import owner_uuid, tenant_uuid

ANN = Grant("acme", ("ann",), "planner")
BOB = Grant("globex", ("bob",), "planner")
METHODS = ("Say", "Hang", "Fail", "Reset")


def echo_service() -> Any:
    """Return a small service of this test's own, described at run time."""
    file = descriptor_pb2.FileDescriptorProto(name="tests/echo.proto", package="tests", syntax="proto3")
    file.dependency.append("google/protobuf/wrappers.proto")
    service = file.service.add(name="Echo")
    for name in METHODS:
        text = ".google.protobuf.StringValue"
        service.method.add(name=name, input_type=text, output_type=text)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindServiceByName("tests.Echo")


ECHO = echo_service()


@dataclass
class Echo:
    """What the service does, and what it saw."""

    calls: list[Call] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    was_cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def say(self, request: StringValue, call: Call) -> Message:
        """Answer whose call it is: tenant, owner, request."""
        self.calls.append(call)
        scope = resolve_scope(call.identity, "", request.value)
        return StringValue(value=f"{scope.tenant_id} {scope.owner_id}")

    async def hang(self, request: StringValue, call: Call) -> Message:
        self.hanging.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.was_cancelled.set()
        raise AssertionError("no handler answers")

    async def fail(self, request: StringValue, call: Call) -> Message:
        if request.value == "hostile":
            raise InvalidArgument("𝔘" * 600, "𝔘" * 600, "\ud800" * 600)
        raise RuntimeError("hunter2")

    async def reset(self, request: StringValue, call: Call) -> Message:
        require_admin(call.identity)
        return StringValue()


@dataclass
class Site:
    """One running server, the ways to reach it, and its knobs."""

    echo: Echo
    admission: AdmissionControl
    settings: IdentitySettings
    not_before: dict[UUID, datetime | Exception]
    interceptor: CallInterceptor = field(init=False)
    port: int = 0
    socket: str = ""
    ahead_s: float = 0.0

    def token(self, grant: Grant = ANN) -> Sequence[tuple[str, str]]:
        token = mint(grant, self.settings, now_s=time.time(), token_id="t-1")
        return (("authorization", f"Bearer {token}"),)

    @property
    def tcp(self) -> Any:
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}")


def new_site(settings: IdentitySettings) -> Site:
    admission = AdmissionControl(
        max_in_flight=8, max_waiting=1, max_wait_s=30.0, per_tenant_in_flight=1, clock=asyncio.get_running_loop()
    )
    return Site(Echo(), admission, settings, {})


async def build_server(made: Site) -> tuple[Any, Authenticator]:
    async def not_before(tenant_id: UUID) -> datetime | None:
        moment = made.not_before.get(tenant_id)
        if isinstance(moment, Exception):
            raise moment
        return moment

    authenticator = Authenticator(made.settings, not_before=not_before, now_s=lambda: time.time() + made.ahead_s)
    made.interceptor = CallInterceptor(authenticator)
    server = grpc.aio.server(interceptors=[made.interceptor])
    echo = made.echo
    behaviours = {"Say": echo.say, "Hang": echo.hang, "Fail": echo.fail, "Reset": echo.reset}
    open_lanes = AdmissionControl(
        max_in_flight=64, max_waiting=64, max_wait_s=30.0, per_tenant_in_flight=64, clock=asyncio.get_running_loop()
    )
    apart = {"Hang": MethodOptions(made.admission, default_deadline_s=0.2, max_deadline_s=30.0)}
    server.add_generic_rpc_handlers((service_handler(ECHO, behaviours, MethodOptions(open_lanes), apart=apart),))
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection(["tests.Echo"], server)
    return server, authenticator


async def call(channel: Any, method: str, text: str = "", **options: Any) -> str:
    """Return what the service answers; `options` are gRPC's (metadata, timeout)."""
    stub = channel.unary_unary(
        f"/tests.Echo/{method}",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=StringValue.FromString,
    )
    response: StringValue = await stub(StringValue(value=text), **options)
    return response.value


async def refusal(work: Awaitable[object]) -> tuple[str, str, Any]:
    """Return code, reason and status of a call that fails."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await work
    status = rpc_status.from_call(caught.value)
    if status is None:
        return caught.value.code().name, "", caught.value
    info = details.ErrorInfo()
    status.details[0].Unpack(info)
    return caught.value.code().name, info.reason, status


def scope_of(grant: Grant) -> str:
    return f"{tenant_uuid(grant.tenant)} {owner_uuid(grant.owners[0])}"
