"""Fetching keys over real HTTP on loopback: bounded in size and time, no redirects, no surprises."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.identity import IdentitySettings
from sidecar.rpc.auth.jwks import fetch
from sidecar.rpc.auth.keys import MAX_KEY_BYTES
from sidecar.runtime.errors import KeysUnavailable, KeyUnknown
from store.scope import tenant_uuid

KEY = Ed25519PrivateKey.generate()
NOW = 1_800_000_000
PATIENCE_S = 300.0
HEADERS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"


def key_set(kid: str) -> bytes:
    return json.dumps(
        {"keys": [{**json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(KEY.public_key())), "kid": kid}]}
    ).encode()


def whole(body: bytes) -> bytes:
    return HEADERS + b"content-length: %d\r\n\r\n" % len(body) + body


class Site:
    """A loopback HTTP server that answers every request with the same bytes, and keeps what it was sent."""

    def __init__(self, answer: bytes, *, is_held_open: bool) -> None:
        self.answer = answer
        self.is_held_open = is_held_open
        self.requests: list[bytes] = []
        self.url = ""
        self.under_way: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.under_way.add(asyncio.create_task(self.serve(reader, writer)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answer)
            await writer.drain()
            if self.is_held_open:
                await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def site(answer: bytes, *, is_held_open: bool = False) -> AsyncIterator[Site]:
    served = Site(answer, is_held_open=is_held_open)
    server = await asyncio.start_server(served.accept, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks"
    async with server:
        yield served
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*served.under_way)


async def test_key_set_is_fetched_without_credentials_or_compression() -> None:
    async with site(whole(key_set("a"))) as served:
        assert await fetch(served.url, timeout_s=PATIENCE_S) == key_set("a")
    request = served.requests[0].lower()
    assert b"accept-encoding: identity" in request
    assert b"authorization" not in request
    assert b"cookie" not in request


async def test_redirect_is_not_followed() -> None:
    async with site(whole(key_set("evil"))) as target:
        redirect = f"HTTP/1.1 302 Found\r\nlocation: {target.url}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        async with site(redirect.encode()) as served:
            with pytest.raises(KeysUnavailable, match="302"):
                await fetch(served.url, timeout_s=PATIENCE_S)
        assert target.requests == []


@pytest.mark.parametrize("status", [b"404 Not Found", b"500 Internal Server Error", b"204 No Content"])
async def test_only_status_200_counts(status: bytes) -> None:
    async with site(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n") as served:
        with pytest.raises(KeysUnavailable, match=status[:3].decode()):
            await fetch(served.url, timeout_s=PATIENCE_S)


async def test_too_large_an_answer_is_not_read_to_its_end() -> None:
    async with site(whole(b" " * (MAX_KEY_BYTES * 40))) as served:
        with pytest.raises(KeysUnavailable, match="larger"):
            await fetch(served.url, timeout_s=PATIENCE_S)


async def test_decompression_bomb_is_never_unpacked() -> None:
    packed = gzip.compress(b" " * 50_000_000)
    head = HEADERS + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with site(head + packed) as served:
        body = await fetch(served.url, timeout_s=PATIENCE_S)
    assert body == packed


@pytest.mark.parametrize("answer", [b"", HEADERS, HEADERS + b"content-length: 100\r\n\r\n{"], ids=["0", "head", "half"])
async def test_endless_answer_is_abandoned_in_time(answer: bytes) -> None:
    async with site(answer, is_held_open=True) as served:
        with pytest.raises(KeysUnavailable, match=r"within 0\.2 s"):
            await fetch(served.url, timeout_s=0.2)


@pytest.mark.parametrize("answer", [b"", b"\x00\xff" * 100, HEADERS + b"content-length: 9\r\n\r\n{"])
async def test_broken_answer_is_a_clear_failure(answer: bytes) -> None:
    async with site(answer) as served:
        with pytest.raises(KeysUnavailable):
            await fetch(served.url, timeout_s=PATIENCE_S)


async def test_unreachable_endpoint_is_a_clear_failure() -> None:
    async with site(b"") as served:
        pass
    with pytest.raises(KeysUnavailable, match="could not be reached"):
        await fetch(served.url, timeout_s=PATIENCE_S)


def signed(kid: str) -> str:
    claims = {"iss": "issuer", "aud": "context-sidecar", "iat": NOW, "exp": NOW + 600, "tenant": "acme", "owner": "ann"}
    return jwt.encode({**claims, "agent": "planner"}, KEY, algorithm="EdDSA", headers={"kid": kid})


@asynccontextmanager
async def authenticator(url: str, data_dir: Path, monotonic_s: Callable[[], float]) -> AsyncIterator[Authenticator]:
    async def never(tenant_id: UUID) -> None:
        return None

    settings = IdentitySettings(
        data_dir=data_dir,
        jwks_url=url,
        is_http_jwks_allowed=True,
        jwks_timeout_s=PATIENCE_S,
        issuers=frozenset({"issuer"}),
    )
    made = Authenticator(settings, not_before=never, now_s=lambda: NOW, monotonic_s=monotonic_s)
    yield made
    await made.stop()


async def test_rotated_key_is_trusted_after_a_minute_and_an_outage_changes_nothing(tmp_path: Path) -> None:
    now_s = [0.0]
    async with site(whole(key_set("one"))) as served, authenticator(served.url, tmp_path, lambda: now_s[0]) as door:
        one = (("authorization", f"Bearer {signed('one')}"),)
        two = (("authorization", f"Bearer {signed('two')}"),)
        assert (await door.authenticate(one, {})).tenant_id == tenant_uuid("acme")
        served.answer = b"HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        now_s[0] = 60.0
        with pytest.raises(KeyUnknown, match="with the service's SIDECAR_DATA_DIR"):
            await door.authenticate(two, {})
        assert await door.authenticate(one, {})
        served.answer = whole(key_set("two"))
        now_s[0] = 120.0
        assert await door.authenticate(two, {})
        with pytest.raises(KeyUnknown):
            await door.authenticate(one, {})
        assert len(served.requests) == 3
