"""A real gRPC server, over TCP and a unix socket: which callers are admitted, and the errors of the others."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import grpc
import pytest
from google.rpc import error_details_pb2 as details
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.rpc.transport.call import MethodOptions, service_handler
from sidecar.rpc.transport.listen import check_listen_address, prepare_socket_directory
from sidecar.runtime.errors import ServiceIncomplete, SettingInvalid
from store.errors import DatabaseUnavailable
from store.scope import tenant_uuid
from tests.support.places import ROOT
from tests.support.rpc.echo_site import ANN, BOB, ECHO, METHODS, Site, build_server, call, new_site, refusal, scope_of


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = new_site(IdentitySettings(data_dir=tmp_path / "data"))
    server, authenticator = await build_server(made)
    made.port = server.add_insecure_port("127.0.0.1:0")
    listen = check_listen_address(f"unix:{tmp_path}/run/s.sock", is_tls=False)
    assert listen.socket_path is not None
    prepare_socket_directory(listen.socket_path.parent)
    server.add_insecure_port(listen.target)
    made.socket = listen.target
    await server.start()
    yield made
    await server.stop(None)
    await authenticator.stop()


@pytest.mark.parametrize("way", ["tcp", "unix"])
async def test_token_is_required_over_every_transport(site: Site, way: str) -> None:
    async with site.tcp if way == "tcp" else grpc.aio.insecure_channel(site.socket) as channel:
        assert await call(channel, "Say", metadata=site.token(), timeout=30) == scope_of(ANN)
        assert (await refusal(call(channel, "Say")))[:2] == ("UNAUTHENTICATED", "CREDENTIALS_MISSING")
    assert len(site.echo.calls) == 1


async def test_service_sees_the_call_and_never_the_credentials(site: Site) -> None:
    async with site.tcp as channel:
        await call(channel, "Say", metadata=(*site.token(), ("x-request", "7"), ("x-raw-bin", b"\x00\xff")), timeout=30)
    (seen,) = site.echo.calls
    assert seen.method == "/tests.Echo/Say"
    assert (seen.identity.agent_id, seen.identity.token_id) == ("planner", "t-1")
    assert seen.remaining_s == pytest.approx(30, abs=29)
    assert (seen.metadata["x-request"], seen.metadata["x-raw-bin"]) == ("7", b"\x00\xff")
    assert "authorization" not in seen.metadata


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("Bearer", "TOKEN_MALFORMED"),
        ("Basic YTpi", "TOKEN_MALFORMED"),
        ("Bearer x.y.z", "TOKEN_MALFORMED"),
        ("Bearer " + "x" * 7000, "TOKEN_MALFORMED"),
    ],
)
async def test_bad_authorization_is_refused_with_the_reason(site: Site, value: str, reason: str) -> None:
    async with site.tcp as channel:
        found = await refusal(call(channel, "Say", metadata=(("authorization", value),)))
    assert found[:2] == ("UNAUTHENTICATED", reason)


async def test_two_tokens_are_refused(site: Site) -> None:
    async with site.tcp as channel:
        found = await refusal(call(channel, "Say", metadata=(*site.token(ANN), *site.token(BOB))))
    assert found[:2] == ("UNAUTHENTICATED", "TOKEN_MALFORMED")


async def test_foreign_owner_is_refused_alike_whether_it_exists_or_not(site: Site) -> None:
    async with site.tcp as channel:
        await call(channel, "Say", metadata=site.token(Grant("acme", ("eve",), "planner")))
        answers = [await refusal(call(channel, "Say", text, metadata=site.token())) for text in ("eve", "nobody")]
    assert [answer[:2] for answer in answers] == [("PERMISSION_DENIED", "SCOPE_FORBIDDEN")] * 2
    assert answers[0][2] == answers[1][2]


async def test_only_an_admin_reaches_admin_methods(site: Site) -> None:
    async with site.tcp as channel:
        assert await call(channel, "Reset", metadata=site.token(Grant("acme", role=Role.ADMIN))) == ""
        found = await refusal(call(channel, "Reset", metadata=site.token()))
    assert found[:2] == ("PERMISSION_DENIED", "ADMIN_REQUIRED")


async def test_admin_without_an_owner_gets_the_field_to_set(site: Site) -> None:
    async with site.tcp as channel:
        code, _, status = await refusal(call(channel, "Say", metadata=site.token(Grant("acme", role=Role.ADMIN))))
    bad = details.BadRequest()
    status.details[1].Unpack(bad)
    assert code == "INVALID_ARGUMENT"
    assert bad.field_violations[0].field == "owner_id"


async def test_health_needs_no_token_and_reflection_does(site: Site) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    async with site.tcp as channel:
        checked = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert checked.status == health_pb2.HealthCheckResponse.SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = [answer async for answer in stub.ServerReflectionInfo(iter([request]), metadata=site.token())]
        assert [found.name for found in answers[0].list_services_response.service] == ["tests.Echo"]
        # Without a message: one could meet the end of the refused call, which gRPC calls INTERNAL.
        stranger = stub.ServerReflectionInfo(timeout=60)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stranger.read()
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_unauthenticated_bytes_are_not_parsed_and_a_callers_garbage_is_named(site: Site) -> None:
    async with site.tcp as channel:
        raw = channel.unary_unary("/tests.Echo/Say")
        assert (await refusal(raw(b"\xff\xff")))[0] == "UNAUTHENTICATED"
        for garbage in (b"\xff\xff", b"\x0a\x02\xff\xfe", b"\x0a\x7f"):
            code, _, status = await refusal(raw(garbage, metadata=site.token()))
            assert code == "INVALID_ARGUMENT"
            assert "StringValue" in status.message
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/tests.Echo/Nothing")(b"", metadata=site.token())
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_internal_defect_returns_an_id_and_no_text(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    async with site.tcp as channel:
        with caplog.at_level(logging.ERROR):
            code, reason, status = await refusal(call(channel, "Fail", metadata=site.token()))
    assert (code, reason) == ("INTERNAL", "INTERNAL")
    assert "hunter2" not in str(status)
    assert "RuntimeError" not in str(status)
    assert vars(caplog.records[0])["error_id"] in status.message


async def test_most_hostile_error_text_still_reaches_the_caller_as_its_status(site: Site) -> None:
    async with site.tcp as channel:
        code, reason, _ = await refusal(call(channel, "Fail", "hostile", metadata=site.token()))
    assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_ARGUMENT")


async def test_call_without_a_deadline_is_cancelled_at_the_default_one(site: Site) -> None:
    async with site.tcp as channel:
        code, reason, _ = await refusal(call(channel, "Hang", metadata=site.token()))
    assert (code, reason) == ("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED")
    assert site.echo.was_cancelled.is_set()
    assert site.admission.in_flight_count == 0


async def test_disconnected_caller_frees_its_slot(site: Site) -> None:
    async with site.tcp as channel:
        work = asyncio.create_task(call(channel, "Hang", metadata=site.token(), timeout=30))
        await site.echo.hanging.wait()
        assert site.admission.in_flight_count == 1
        work.cancel()
        await site.echo.was_cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await call(channel, "Say", metadata=site.token()) == scope_of(ANN)
    assert site.admission.in_flight_count == 0


async def test_overload_is_refused_at_once_with_a_delay_while_health_answers(site: Site) -> None:
    async with site.tcp as channel:
        hangs = [asyncio.create_task(call(channel, "Hang", metadata=site.token(), timeout=30)) for _ in range(3)]
        done, pending = await asyncio.wait(hangs, return_when=asyncio.FIRST_COMPLETED)
        code, reason, status = await refusal(next(iter(done)))
        checked = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        for work in pending:
            work.cancel()
        await asyncio.wait(pending)
    retry = details.RetryInfo()
    status.details[1].Unpack(retry)
    assert (code, reason, len(done)) == ("RESOURCE_EXHAUSTED", "OVERLOADED", 1)
    assert retry.retry_delay.ToMilliseconds() >= 50
    assert checked.status == health_pb2.HealthCheckResponse.SERVING


async def test_draining_server_refuses_new_calls_and_finishes_running_ones(site: Site) -> None:
    async with site.tcp as channel:
        inside = asyncio.create_task(call(channel, "Hang", metadata=site.token(), timeout=30))
        await site.echo.hanging.wait()
        site.interceptor.close()
        idle = asyncio.create_task(site.interceptor.wait_idle())
        found = await refusal(call(channel, "Say", metadata=site.token()))
        assert found[:2] == ("UNAVAILABLE", "STOPPING")
        assert not idle.done()
        inside.cancel()
        await idle
    assert site.echo.calls == []


async def test_two_hundred_concurrent_calls_keep_their_own_identity(site: Site) -> None:
    grants = [Grant(f"tenant-{n % 20}", (f"owner-{n}",), "planner") for n in range(40)]
    tokens = [site.token(grant) for grant in grants]
    async with site.tcp as channel:
        answers = await asyncio.gather(*(call(channel, "Say", metadata=tokens[n % 40], timeout=30) for n in range(200)))
    assert answers == [scope_of(grants[n % 40]) for n in range(200)]


async def test_tokens_of_one_tenant_are_revoked_without_touching_anothers(site: Site) -> None:
    async with site.tcp as channel:
        token = site.token()
        await call(channel, "Say", metadata=token)
        site.not_before[tenant_uuid("acme")] = datetime.now(UTC) + timedelta(seconds=1)
        assert (await refusal(call(channel, "Say", metadata=token)))[:2] == ("UNAUTHENTICATED", "TOKEN_REVOKED")
        assert await call(channel, "Say", metadata=site.token(BOB)) == scope_of(BOB)
        site.not_before[tenant_uuid("acme")] = datetime.now(UTC) - timedelta(minutes=1)
        assert await call(channel, "Say", metadata=token) == scope_of(ANN)


async def test_call_is_refused_if_revocation_cannot_be_checked(site: Site) -> None:
    site.not_before[tenant_uuid("acme")] = DatabaseUnavailable()
    async with site.tcp as channel:
        found = await refusal(call(channel, "Say", metadata=site.token()))
    assert found[:2] == ("UNAVAILABLE", "DATABASE_UNAVAILABLE")
    assert site.echo.calls == []


async def test_service_without_the_interceptor_serves_no_call() -> None:
    made = new_site(IdentitySettings(data_dir=Path("/nowhere")))
    behaviours = dict.fromkeys(METHODS, made.echo.say)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((service_handler(ECHO, behaviours, MethodOptions(made.admission)),))
    made.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with made.tcp as channel:
        found = await refusal(call(channel, "Say"))
    await server.stop(None)
    assert found[:2] == ("UNAUTHENTICATED", "CREDENTIALS_MISSING")


@pytest.mark.parametrize("names", [METHODS[1:], (*METHODS, "More")])
async def test_service_must_match_its_descriptor(names: Sequence[str]) -> None:
    made = new_site(IdentitySettings(data_dir=Path("/nowhere")))
    with pytest.raises(ServiceIncomplete, match=r"Say|More"):
        service_handler(ECHO, dict.fromkeys(names, made.echo.say), MethodOptions(made.admission))
    with pytest.raises(ServiceIncomplete, match="Typo"):
        service_handler(
            ECHO,
            dict.fromkeys(METHODS, made.echo.say),
            MethodOptions(made.admission),
            apart={"Typo": MethodOptions(made.admission)},
        )


def test_processes_that_make_the_dev_key_concurrently_sign_with_the_same_one(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from sidecar.rpc.auth.devkey import dev_key;"
        "print(dev_key(pathlib.Path(sys.argv[1])).public_key().public_bytes_raw().hex())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "data")]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(4)]
    assert len({maker.communicate()[0] for maker in makers}) == 1
    assert all(maker.returncode == 0 for maker in makers)


async def never(tenant_id: UUID) -> None:
    return None


@pytest.mark.parametrize(
    "changes",
    [
        {"certificates": {"uri:spiffe://corp/a": ANN}},
        {"certificates": {"spiffe://corp/a": ANN}, "requires_client_certificates": True},
        {"certificates": {"dns:*.example": ANN}, "requires_client_certificates": True},
        {"certificates": {"dns:a.example": Grant("acme")}, "requires_client_certificates": True},
        {"jwks_url": "https://issuer.example/jwks"},
        {"jwks_url": "http://127.0.0.1/jwks", "issuers": frozenset({"issuer"})},
        {"jwks_url": "https://a.example", "key_files": (Path("k.pem"),), "issuers": frozenset({"issuer"})},
    ],
    ids=["no-client-ca", "no-kind", "wildcard", "no-owner", "no-issuer", "http", "two-sources"],
)
def test_unusable_identity_settings_are_refused_at_start(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(SettingInvalid):
        Authenticator(IdentitySettings(data_dir=tmp_path, **changes), not_before=never)
    assert list(tmp_path.iterdir()) == []
