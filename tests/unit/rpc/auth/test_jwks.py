"""Keys behind a URL: asked for rarely, one at a time, never in the way of known keys, and kept when the URL fails."""

from __future__ import annotations

import asyncio
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sidecar.rpc.auth.jwks import MAX_AGE_S, MIN_INTERVAL_S, RemoteKeys, check_jwks_url
from sidecar.runtime.errors import KeysUnavailable, SettingInvalid
from tests.support.waiting import settle

URL = "https://issuer.example/jwks"


def key_set(*kids: str) -> bytes:
    public = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(Ed25519PrivateKey.generate().public_key()))
    return json.dumps({"keys": [{**public, "kid": kid} for kid in kids]}).encode()


class Endpoint:
    """What is published behind the URL; an answer is held back while the gate is shut."""

    def __init__(self, *kids: str) -> None:
        self.body = key_set(*kids)
        self.is_down = False
        self.asked = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.now_s = 1000.0

    async def fetch(self, url: str) -> bytes:
        assert url == URL
        self.asked += 1
        await self.gate.wait()
        if self.is_down:
            raise KeysUnavailable
        return self.body

    def source(self) -> RemoteKeys:
        return RemoteKeys(URL, monotonic_s=lambda: self.now_s, fetch=self.fetch)


async def test_first_lookup_fetches_and_the_next_ones_do_not() -> None:
    endpoint = Endpoint("a", "b")
    source = endpoint.source()
    assert await source.find("a") is not None
    assert await source.find("b") is not None
    assert endpoint.asked == 1


async def test_unknown_key_ids_cause_one_fetch_a_minute() -> None:
    endpoint = Endpoint("a")
    source = endpoint.source()
    await source.find("a")
    for _ in range(100):
        assert await source.find("made-up") is None
    assert endpoint.asked == 1
    endpoint.now_s += MIN_INTERVAL_S
    for _ in range(100):
        assert await source.find("made-up") is None
    assert endpoint.asked == 2


async def test_a_key_published_later_is_found_after_a_minute() -> None:
    endpoint = Endpoint("a")
    source = endpoint.source()
    await source.find("a")
    endpoint.body = key_set("a", "b")
    assert await source.find("b") is None
    endpoint.now_s += MIN_INTERVAL_S
    assert await source.find("b") is not None


async def test_concurrent_callers_share_one_fetch() -> None:
    endpoint = Endpoint("a")
    endpoint.gate.clear()
    source = endpoint.source()
    lookups = [asyncio.create_task(source.find("a")) for _ in range(50)]
    await settle()
    endpoint.gate.set()
    assert all(await asyncio.gather(*lookups))
    assert endpoint.asked == 1


async def test_hanging_fetch_is_not_joined_by_a_second_one() -> None:
    endpoint = Endpoint("a")
    endpoint.gate.clear()
    source = endpoint.source()
    first = asyncio.create_task(source.find("a"))
    await settle()
    endpoint.now_s += MIN_INTERVAL_S
    second = asyncio.create_task(source.find("a"))
    await settle()
    endpoint.gate.set()
    assert all(await asyncio.gather(first, second))
    assert endpoint.asked == 1


async def test_cancelled_caller_does_not_end_the_fetch_for_the_others() -> None:
    endpoint = Endpoint("a")
    endpoint.gate.clear()
    source = endpoint.source()
    first, second = (asyncio.create_task(source.find("a")) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    endpoint.gate.set()
    assert await second is not None
    assert first.cancelled()


@pytest.mark.parametrize("failure", [None, b"", b"<html>", b'{"keys": []}'])
async def test_failing_endpoint_keeps_the_last_good_keys(failure: bytes | None) -> None:
    endpoint = Endpoint("a")
    source = endpoint.source()
    await source.find("a")
    endpoint.is_down = failure is None
    endpoint.body = failure or b""
    endpoint.now_s += MIN_INTERVAL_S
    assert await source.find("unknown") is None
    assert endpoint.asked == 2
    assert await source.find("a") is not None


async def test_token_is_not_judged_before_any_keys_are_known() -> None:
    endpoint = Endpoint("a")
    endpoint.is_down = True
    source = endpoint.source()
    for _ in range(3):
        with pytest.raises(KeysUnavailable):
            await source.find("a")
    assert endpoint.asked == 1
    endpoint.is_down = False
    endpoint.now_s += MIN_INTERVAL_S
    assert await source.find("a") is not None


async def test_old_keys_are_refreshed_in_the_background() -> None:
    endpoint = Endpoint("old")
    source = endpoint.source()
    await source.find("old")
    endpoint.body = key_set("new")
    endpoint.now_s += MAX_AGE_S
    endpoint.gate.clear()
    assert await source.find("old") is not None
    endpoint.gate.set()
    await settle()
    assert endpoint.asked == 2
    assert await source.find("old") is None


async def test_stopping_ends_a_hanging_fetch() -> None:
    endpoint = Endpoint("a")
    endpoint.gate.clear()
    source = endpoint.source()
    lookup = asyncio.create_task(source.find("a"))
    await settle()
    await source.stop()
    with pytest.raises(asyncio.CancelledError):
        await lookup
    await source.stop()


@pytest.mark.parametrize("url", [URL, "https://issuer.example:8443/a/b?c=d", "https://127.0.0.1/jwks"])
def test_https_url_is_accepted_and_the_same_over_http_is_not(url: str) -> None:
    check_jwks_url(url)
    with pytest.raises(SettingInvalid, match="is not https"):
        check_jwks_url(url.replace("https", "http"))


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "[::1]:8080", "localhost"])
def test_http_url_is_accepted_on_loopback_only_if_allowed(host: str) -> None:
    check_jwks_url(f"http://{host}/jwks", is_http_allowed=True)
    with pytest.raises(SettingInvalid):
        check_jwks_url(f"http://{host}/jwks")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "issuer.example/jwks",
        "file:///etc/passwd",
        "ftp://issuer.example",
        "https://",
        "https://user:pass@issuer.example/jwks",
        "https://issuer.example/jwks#x",
        "https://[::1/jwks",
        "http://issuer.example/jwks",
        "http://localhost.issuer.example/jwks",
    ],
)
def test_any_other_url_is_refused_even_where_http_is_allowed(url: str) -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_JWKS_URL"):
        check_jwks_url(url, is_http_allowed=True)
