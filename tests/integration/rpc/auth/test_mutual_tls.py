"""Client certificates as identity: accepted names, the resulting callers, and tokens beside a certificate."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from sidecar.cli.root import run
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from store.scope import owner_uuid, tenant_uuid
from tests.support.rpc.certificates import Authority, uri
from tests.support.rpc.echo_site import ANN, BOB, Site, build_server, call, new_site, refusal, scope_of

SERVER_AUTH = ExtendedKeyUsageOID.SERVER_AUTH


def raw_names(*names: tuple[int, bytes]) -> x509.ExtensionType:
    """Return a list of names as bytes, each after its tag: 0x82 is a host, 0x86 a URI."""
    body = b"".join(bytes([tag, len(name)]) + name for tag, name in names)
    return x509.UnrecognizedExtension(x509.OID_SUBJECT_ALTERNATIVE_NAME, bytes([0x30, len(body)]) + body)


@dataclass
class SecureSite:
    """A server that requires client certificates, and the way to reach it with some."""

    site: Site
    authority: Authority

    def channel(self, *names: x509.GeneralName, authority: Authority | None = None, **made: Any) -> Any:
        key, certificate = (authority or self.authority).issue(*names, **made)
        return self._channel(grpc.ssl_channel_credentials(self.authority.pem, key, certificate))

    def channel_without_certificate(self) -> Any:
        return self._channel(grpc.ssl_channel_credentials(self.authority.pem))

    def _channel(self, credentials: Any) -> Any:
        return grpc.aio.secure_channel(f"127.0.0.1:{self.site.port}", credentials)


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[SecureSite]:
    registered = {
        "uri:spiffe://corp/planner": ANN,
        "dns:Agent.Example": replace(ANN, owners=("dns-ann",)),
        "uri:spiffe://corp/admin": Grant("acme", role=Role.ADMIN),
        "uri:spiffe://corp/twin": ANN,
        "dns:twin.example": ANN,
    }
    made = new_site(IdentitySettings(tmp_path, certificates=registered, requires_client_certificates=True))
    server, authenticator = await build_server(made)
    authority = Authority()
    pair = authority.issue(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    credentials = grpc.ssl_server_credentials([pair], root_certificates=authority.pem, require_client_auth=True)
    made.port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    yield SecureSite(made, authority)
    await server.stop(None)
    await authenticator.stop()


async def test_registered_certificate_is_an_identity(secure: SecureSite) -> None:
    async with secure.channel(uri("spiffe://corp/planner")) as channel:
        assert await call(channel, "Say") == scope_of(ANN)
    async with secure.channel(x509.DNSName("AGENT.example")) as channel:
        assert await call(channel, "Say") == f"{tenant_uuid('acme')} {owner_uuid('dns-ann')}"
    async with secure.channel(uri("spiffe://corp/admin")) as channel:
        assert await call(channel, "Reset") == ""
        assert await call(channel, "Say", "anyone") == f"{tenant_uuid('acme')} {owner_uuid('anyone')}"


@pytest.mark.parametrize(
    "names",
    [
        [uri("spiffe://corp/stranger")],
        [uri("spiffe://corp/planner/deeper")],
        [x509.DNSName("spiffe://corp/planner")],
        [uri("spiffe://corp/planner"), uri("spiffe://corp/admin")],
        [uri("spiffe://corp/planner"), x509.DNSName("agent.example")],
        [uri("SPIFFE://corp/planner")],
        [uri("spiffe://corp/planner/")],
        [uri("agent.example")],
        [x509.DNSName("*.example")],
        [x509.DNSName("agent.example.")],
        [x509.DNSName(" agent.example")],
    ],
    ids=str,
)
async def test_certificate_without_a_single_caller_is_refused(
    secure: SecureSite, names: list[x509.GeneralName]
) -> None:
    async with secure.channel(*names) as channel:
        assert (await refusal(call(channel, "Say")))[:2] == ("UNAUTHENTICATED", "CERTIFICATE_UNKNOWN")


@pytest.mark.parametrize(
    "names",
    [
        [(0x86, b"spiffe://corp/planner\0.evil.example")],
        [(0x82, b"agent.example\0.evil.example")],
        [(0x86, b"spiffe://corp/planner\n")],
        [(0x82, "agent.e\u212aample".encode())],
        [(0x86, b"spiffe://corp/planner\0"), (0x82, b"agent.example\0")],
    ],
)
async def test_name_does_not_end_at_a_nul_in_a_certificate(secure: SecureSite, names: list[tuple[int, bytes]]) -> None:
    async with secure.channel(extra=raw_names(*names)) as channel:
        assert (await refusal(call(channel, "Say")))[0] == "UNAUTHENTICATED"
    assert secure.site.echo.calls == []


@pytest.mark.parametrize(
    "names",
    [
        [uri("spiffe://corp/twin"), x509.DNSName("twin.example")],
        [uri("spiffe://corp/planner"), x509.DNSName("twin.example")],
        [uri("spiffe://corp/planner"), uri("spiffe://corp/planner"), uri("spiffe://mesh/other")],
    ],
)
async def test_names_of_the_same_caller_are_one(secure: SecureSite, names: list[x509.GeneralName]) -> None:
    async with secure.channel(*names) as channel:
        assert await call(channel, "Say") == scope_of(ANN)


async def test_expired_certificate_is_refused_even_on_an_open_connection(secure: SecureSite) -> None:
    async with secure.channel(uri("spiffe://corp/planner")) as channel:
        assert await call(channel, "Say") == scope_of(ANN)
        secure.site.ahead_s = 2 * 3600.0
        assert (await refusal(call(channel, "Say")))[:2] == ("UNAUTHENTICATED", "CERTIFICATE_EXPIRED")
    assert len(secure.site.echo.calls) == 1


async def test_certificate_without_names_is_refused_whatever_its_common_name(secure: SecureSite) -> None:
    async with secure.channel() as channel:
        assert (await refusal(call(channel, "Say")))[:2] == ("UNAUTHENTICATED", "CREDENTIALS_MISSING")


@pytest.mark.parametrize("way", ["no certificate", "another authority", "expired", "to come", "a server's"])
async def test_connection_without_a_certificate_of_our_authority_is_refused(secure: SecureSite, way: str) -> None:
    channels: dict[str, Callable[[], Any]] = {
        "no certificate": secure.channel_without_certificate,
        "another authority": lambda: secure.channel(uri("spiffe://corp/planner"), authority=Authority()),
        "expired": lambda: secure.channel(uri("spiffe://corp/planner"), hours=(-3, -1)),
        "to come": lambda: secure.channel(uri("spiffe://corp/planner"), hours=(1, 3)),
        "a server's": lambda: secure.channel(uri("spiffe://corp/planner"), extra=x509.ExtendedKeyUsage([SERVER_AUTH])),
    }
    async with channels[way]() as channel:
        assert (await refusal(call(channel, "Say", timeout=30)))[0] == "UNAVAILABLE"
    assert secure.site.echo.calls == []


async def test_token_beside_a_certificate_decides_within_the_certificates_tenant(secure: SecureSite) -> None:
    other = Grant("acme", ("eve",), "planner")
    async with secure.channel(uri("spiffe://corp/planner")) as channel:
        assert await call(channel, "Say", metadata=secure.site.token(other)) == scope_of(other)
        foreign = await refusal(call(channel, "Say", metadata=secure.site.token(BOB)))
        assert foreign[:2] == ("UNAUTHENTICATED", "TOKEN_UNTRUSTED")
        broken = await refusal(call(channel, "Say", metadata=(("authorization", "Bearer x.y.z"),)))
        assert broken[:2] == ("UNAUTHENTICATED", "TOKEN_MALFORMED")
    async with secure.channel(uri("spiffe://mesh/whatever")) as channel:
        assert await call(channel, "Say", metadata=secure.site.token(BOB)) == scope_of(BOB)


@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", []), ("localhost", ["--tls-name", "127.0.0.1"])])
async def test_command_line_reaches_a_tls_only_sidecar(
    secure: SecureSite, tmp_path: Path, host: str, name: list[str]
) -> None:
    key, certificate = secure.authority.issue(uri("spiffe://corp/planner"))
    files = {"--tls-ca": secure.authority.pem, "--tls-cert": certificate, "--tls-key": key}
    options = list(name)
    for option, content in files.items():
        file = tmp_path / f"{option}.pem"
        file.write_bytes(content)
        options += [option, str(file)]
    asking = ["health", "--address", f"{host}:{secure.site.port}"]
    assert await asyncio.to_thread(run, [*asking, *options]) == 0
    assert await asyncio.to_thread(run, asking) == 4
    assert await asyncio.to_thread(run, [*asking, "--tls-cert", str(tmp_path / "--tls-cert.pem")]) == 2
