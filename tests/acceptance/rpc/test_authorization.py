"""Rights from the token to the row: owners, admins, revocation, and calls without a token."""

from __future__ import annotations

import ipaddress
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from cryptography import x509
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from sidecar.client import AsyncSidecar, CallUnavailable, Tls
from sidecar.process.app import running
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant
from sidecar.rpc.server import identity_settings
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, knowledge_pb2, memory_pb2, profile_pb2
from sidecar.v1 import context_pb2 as pb
from tests.support.rpc.certificates import Authority, uri
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import BOAT, asking, assembled, explained, fill, refusal

DENIED = grpc.StatusCode.PERMISSION_DENIED


def caller_with(site: Site, grant: Grant, *, issued_in_s: float = 0.0) -> Caller:
    token = mint(grant, identity_settings(site.settings), now_s=time.time() + issued_in_s, token_id=uuid4().hex)
    return Caller(site.channel, (("authorization", f"Bearer {token}"),))


async def test_agent_acts_for_its_own_owners_only(site: Site) -> None:
    await fill(site, owner="noor")
    twofold = caller_with(site, Grant("acme", ("mara", "noor"), "assistant"))
    for owner, has_boat in (("noor", True), ("mara", False)):
        answer = await assembled(twofold, asking(owner_id=owner))
        assert (BOAT in str(answer.system_blocks)) is has_boat
    code, _, named = await refusal(twofold.AssembleContext(asking()))
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, "owner_id")
    for fields in ({"owner_id": "eve"}, {"owner_id": "mara", "tenant_id": "evil"}, {"agent_id": "other"}):
        code, reason, _ = await refusal(twofold.AssembleContext(asking(**{"owner_id": "mara"} | fields)))
        assert (code, reason) == (DENIED, "SCOPE_FORBIDDEN")


async def test_refusal_for_another_agent_speaks_of_agents(site: Site) -> None:
    agent = caller_with(site, Grant("acme", ("mara",), "assistant"))
    with pytest.raises(grpc.aio.AioRpcError, match="named tenant, owner or agent; leave the fields empty"):
        await agent.AssembleContext(asking(agent_id="other"))


async def test_admin_names_the_owner_and_acts_for_any_of_its_tenant(site: Site) -> None:
    await fill(site)
    admin = site.caller(admin=True)
    code, _, named = await refusal(admin.AssembleContext(asking()))
    assert (code, named) == (grpc.StatusCode.INVALID_ARGUMENT, "owner_id")
    assert BOAT in str((await assembled(admin, asking(owner_id="mara"))).system_blocks)
    code, reason, _ = await refusal(admin.AssembleContext(asking(owner_id="mara", tenant_id="other")))
    assert (code, reason) == (DENIED, "SCOPE_FORBIDDEN")


async def test_only_an_admin_changes_the_tenants_configuration(site: Site) -> None:
    agent = site.caller()
    template, knob = knowledge_pb2.ASSIGNEE_LEVEL_TEMPLATE, profile_pb2.PROFILE_LEVEL_TENANT
    for call in (
        agent.CreateBase(knowledge_pb2.CreateBaseRequest(name="b")),
        agent.Ingest(knowledge_pb2.IngestRequest(base="b", path="a.md", content=b"x")),
        agent.AssignBase(knowledge_pb2.AssignBaseRequest(base="b", level=template, ref="default")),
        agent.SetProfile(profile_pb2.SetProfileRequest(level=knob)),
        agent.PutAgent(admin_pb2.PutAgentRequest(agent_id="assistant")),
        agent.RevokeTokens(admin_pb2.RevokeTokensRequest()),
        agent.GetTenant(admin_pb2.GetTenantRequest()),
    ):
        code, reason, _ = await refusal(call)
        assert (code, reason) == (DENIED, "ADMIN_REQUIRED")


async def test_revoked_tokens_are_refused_from_the_next_call(site: Site) -> None:
    agent, elsewhere = site.caller(), site.caller("other")
    await agent.ListMemories(memory_pb2.ListMemoriesRequest())
    await site.caller(admin=True).RevokeTokens(admin_pb2.RevokeTokensRequest())
    code, reason, _ = await refusal(agent.ListMemories(memory_pb2.ListMemoriesRequest()))
    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
    await elsewhere.ListMemories(memory_pb2.ListMemoriesRequest())
    newer = caller_with(site, Grant("acme", ("mara",), "assistant"), issued_in_s=2)
    await newer.ListMemories(memory_pb2.ListMemoriesRequest())


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "TOKEN_MALFORMED"),
        ("Bearer ", "TOKEN_MALFORMED"),
        ("Basic bWFyYTp4", "TOKEN_MALFORMED"),
        ("Bearer a.b.c", "TOKEN_MALFORMED"),
        ("Bearer " + "x" * 7000, "TOKEN_MALFORMED"),
        ("Bearer eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJ0ZW5hbnQiOiJhY21lIn0.", "TOKEN_UNTRUSTED"),
    ],
)
async def test_foreign_token_is_refused(site: Site, token: str, reason: str) -> None:
    nobody = Caller(site.channel, (("authorization", token),))
    code, given, _ = await refusal(nobody.AssembleContext(asking()))
    assert (code, given) == (grpc.StatusCode.UNAUTHENTICATED, reason)


async def test_expired_token_is_refused(site: Site) -> None:
    late = caller_with(site, Grant("acme", ("mara",), "assistant"), issued_in_s=-3700)
    code, reason, _ = await refusal(late.ListThreads(pb.ListThreadsRequest()))
    assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")


async def test_private_socket_grants_no_identity(settings: Settings, tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'private' / 's.sock'}"
    async with served(replace(settings, listen=(address,))) as site:
        assert (tmp_path / "private").stat().st_mode & 0o777 == 0o700
        code, reason, _ = await refusal(Caller(site.channel, ()).AssembleContext(asking()))
        assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "CREDENTIALS_MISSING")
        assert (await assembled(site.caller())).receipt_id


async def test_caller_with_a_certificate_is_served_from_its_tenants_first_call(
    settings: Settings, tmp_path: Path
) -> None:
    authority = Authority()
    files: dict[str, Any] = {}
    key, certificate = authority.issue(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    names = b'{"uri:spiffe://new/agent": {"tenant": "new", "owners": ["mara"], "agent": "assistant", "spaces": ["hr"]}}'
    texts = {"tls_cert": certificate, "tls_key": key, "tls_client_ca": authority.pem, "client_names": names}
    for name, text in texts.items():
        files[name] = tmp_path / name
        files[name].write_bytes(text)
    own = grpc.ssl_channel_credentials(authority.pem, *authority.issue(uri("spiffe://new/agent")))
    async with (
        running(replace(settings, **files)) as app,
        grpc.aio.secure_channel(app.addresses[0], own) as channel,
    ):
        caller = Caller(channel, ())
        receipt_id = (await assembled(caller, asking(space_id="hr"))).receipt_id
        assert (await explained(caller, receipt_id)).agent_id == "assistant"
        code, reason, _ = await refusal(caller.AssembleContext(asking(space_id="ops")))
        assert (code, reason) == (DENIED, "SPACE_FORBIDDEN")


async def test_renewed_certificate_and_authority_are_used_by_new_connections(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    authorities = old, new = Authority(), Authority()
    files: dict[str, Any] = {name: tmp_path / name for name in ("tls_cert", "tls_key", "tls_client_ca", "client_names")}
    files["client_names"].write_bytes(b'{"uri:spiffe://a/agent": {"tenant": "a", "owners": ["mara"], "agent": "b"}}')

    def write(authority: Authority, **made: Any) -> None:
        key, certificate = authority.issue(x509.IPAddress(ipaddress.ip_address("127.0.0.1")), **made)
        for name, text in (("tls_cert", certificate), ("tls_client_ca", authority.pem), ("tls_key", key)):
            files[name].write_bytes(text)

    async def is_answered(address: str, authority: Authority) -> bool:
        own = grpc.ssl_channel_credentials(authority.pem, *authority.issue(uri("spiffe://a/agent")))
        async with grpc.aio.secure_channel(address, own) as channel:
            call: Any = Caller(channel, ()).ListThreads(pb.ListThreadsRequest())
            return await call.code() is grpc.StatusCode.OK

    write(old)
    async with running(replace(settings, **files)) as app:
        address = app.addresses[0]
        assert [await is_answered(address, one) for one in authorities] == [True, False]
        write(new)
        assert [await is_answered(address, one) for one in authorities] == [False, True]
        files["tls_cert"].write_bytes(old.issue()[1])
        assert [await is_answered(address, one) for one in authorities] == [False, True]
        files["tls_key"].unlink()
        assert [await is_answered(address, one) for one in authorities] == [False, True]
        write(old, hours=(-2, -1))
        assert [await is_answered(address, one) for one in authorities] == [False, False]
    told = [record.msg for record in caplog.records if record.msg.startswith("tls_")]
    assert told == ["tls_files_read", "tls_files_kept", "tls_files_kept", "tls_files_read", "tls_certificate_not_valid"]


async def test_failed_connection_is_reported_with_its_cause(settings: Settings, tmp_path: Path) -> None:
    authority, stranger = Authority(), Authority()
    key, certificate = authority.issue(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    files: dict[str, Any] = {name: tmp_path / name for name in ("tls_cert", "tls_key", "tls_client_ca")}
    for path, text in zip(files.values(), (certificate, key, authority.pem), strict=True):
        path.write_bytes(text)

    async def told(address: str, tls: Tls | None) -> str:
        async with AsyncSidecar(address, "a.b.c", tls=tls) as sidecar:
            with pytest.raises(CallUnavailable) as error:
                await sidecar.list_threads()
        return str(error.value)

    own = Tls(authority.pem, *authority.issue(uri("spiffe://a/agent")))
    async with running(replace(settings, **files)) as app:
        address = app.addresses[0]
        assert "TLS with" in await told(address, replace(own, root_certificates=stranger.pem))
        assert "--tls-name" in await told(address, replace(own, server_name="other.example"))
        for lacking in (None, Tls(authority.pem)):
            assert "--tls-ca" in await told(address, lacking)
    async with running(replace(settings, console_listen="127.0.0.1:0")) as app:
        assert "without TLS" in await told(app.addresses[0], own)
        assert "HTTP instead of gRPC" in await told(app.console_address, None)


async def test_client_ca_without_a_server_certificate_is_refused(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(Authority().pem)
    with pytest.raises(SettingInvalid, match="SIDECAR_TLS_CLIENT_CA"):
        async with running(replace(settings, tls_client_ca=tmp_path / "ca.pem")):
            pass


@pytest.mark.parametrize(
    ("spoiled", "setting"),
    [("tls_cert", "SIDECAR_TLS_CERT"), ("tls_key", "SIDECAR_TLS_CERT"), ("tls_client_ca", "SIDECAR_TLS_CLIENT_CA")],
)
async def test_unusable_file_of_tls_is_not_taken_for_a_port_in_use(
    settings: Settings, tmp_path: Path, spoiled: str, setting: str
) -> None:
    authority = Authority()
    key, certificate = authority.issue()
    texts = {"tls_cert": certificate, "tls_key": key, "tls_client_ca": authority.pem} | {spoiled: b"no PEM\n"}
    files: dict[str, Any] = {name: tmp_path / name for name in texts}
    for name, text in texts.items():
        files[name].write_bytes(text)
    with pytest.raises(SettingInvalid, match=setting):
        async with running(replace(settings, **files)):
            pass


@pytest.mark.parametrize("production", [False, True])
async def test_health_needs_no_token_and_reflection_is_off_in_production(settings: Settings, production: bool) -> None:
    async with served(replace(settings, production=production)) as site:
        health = health_pb2_grpc.HealthStub(site.channel)
        for service in ("", "sidecar.v1.ContextService"):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert await _reflected(site, ()) is (
            grpc.StatusCode.UNIMPLEMENTED if production else grpc.StatusCode.UNAUTHENTICATED
        )
        bearer = (("authorization", f"Bearer {site.token()}"),)
        assert await _reflected(site, bearer) is (grpc.StatusCode.UNIMPLEMENTED if production else grpc.StatusCode.OK)


async def _reflected(site: Site, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
    # Sent whole: a stream of requests that the server ends first may fail in the client's own library as INTERNAL.
    ask = site.channel.unary_stream(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    call = ask(reflection_pb2.ServerReflectionRequest(list_services=""), metadata=metadata)
    try:
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
