"""A hostile HTTP client cannot send more than is read, send endlessly, or keep others out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from sidecar.runtime.settings import Settings
from tests.support.served.site import Site, served
from tests.support.waiting import PATIENCE_S


@pytest.fixture
async def doors(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar with both its HTTP listeners, whose peers may send any number of requests."""
    told = replace(settings, http_listen="127.0.0.1:0", console_listen="127.0.0.1:0")
    async with served(told) as site:
        yield site


async def answered(address: str, request: bytes) -> tuple[int, str]:
    """Send bytes, and return the status and text of the first answer; the status is 0 where there is none."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(PATIENCE_S):
        try:
            with suppress(ConnectionError):
                writer.write(request)
                await writer.drain()
            with suppress(ConnectionError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length: ")[2].partition("\r")[0])
                return int(head.split()[1]), (await reader.readexactly(length)).decode()
            return 0, ""
        except asyncio.IncompleteReadError:
            return 0, ""
        finally:
            writer.close()


def posted(site: Site, body: bytes, *headers: str, path: str = "/login") -> bytes:
    address = site.app.console_address
    lines = (f"POST {path} HTTP/1.1", f"Host: {address}", f"Origin: http://{address}", *headers)
    return "\r\n".join((*lines, "", "")).encode() + body


def chunked(body: bytes, size: int) -> bytes:
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def test_chunked_body_with_a_content_length_is_refused(doors: Site) -> None:
    body = chunked(b"token=x", 8)
    headers = ("Transfer-Encoding: chunked", "Content-Length: 7")
    for one in (headers, headers[::-1]):
        assert (await answered(doors.app.console_address, posted(doors, body, *one)))[0] == 400
    path = "/webhooks/hindsight/00000000-0000-0000-0000-000000000001"
    assert (await answered(doors.app.http_address, posted(doors, body, *headers, path=path)))[0] == 400


async def test_form_is_counted_as_it_arrives(doors: Site) -> None:
    address = doors.app.console_address
    for body, status in (
        (b"token=" + b"x" * 16_000, 401),
        (b"token=" + b"x" * 17_000, 413),
        (urlencode({f"f{number}": "" for number in range(100)}).encode(), 401),
        (urlencode({f"f{number}": "" for number in range(101)}).encode(), 413),
        (b"token=" + b"%41" * 5_000, 401),
        (b"token=" + b"%" * 10_000, 413),
        (b"&a%=1" * 3_000, 413),
        (b"&a%=1" * 400_000, 413),
    ):
        whole = posted(doors, body, f"Content-Length: {len(body)}")
        assert (await answered(address, whole))[0] in {status, 0 if len(body) > 1_000_000 else status}, body[:20]
        pieces = posted(doors, chunked(body, 4_000), "Transfer-Encoding: chunked")
        assert (await answered(address, pieces))[0] in {status, 0 if len(body) > 1_000_000 else status}, body[:20]
    crumbs = posted(doors, chunked(b"token=" + b"x" * 2_000, 1), "Transfer-Encoding: chunked")
    assert (await answered(address, crumbs))[0] == 413


async def test_head_is_bounded_however_it_arrives(doors: Site) -> None:
    host = f"Host: {doors.app.console_address}"
    for lines, status in (
        (("GET /login HTTP/1.1", host, *(f"x{number}: y" for number in range(60))), 200),
        (("GET /login HTTP/1.1", host, *(f"x{number}: y" for number in range(200))), 431),
        (("GET /login HTTP/1.1", host, f"x: {'y' * 20_000}"), 431),
        (("GET /login HTTP/1.1", host, *(f"x{number}: {'y' * 2_000}" for number in range(100))), 431),
        ((f"GET /login?next={'a' * 8_000} HTTP/1.1", host), 200),
        ((f"GET /login?next={'a' * 9_000} HTTP/1.1", host), 414),
        ((f"GET /login?{'&a%=1' * 500} HTTP/1.1", host), 414),
        ((f"GET /login?next={'%' * 5_000} HTTP/1.1", host), 400),
        ((f"GET /login?next={'%' * 5_0}&a=%zz HTTP/1.1", host), 200),
    ):
        for address in (doors.app.console_address, doors.app.http_address):
            got, _ = await answered(address, "\r\n".join((*lines, "", "")).encode())
            assert got == (status if address == doors.app.console_address or status != 200 else 404), lines[:3]


async def test_peer_gets_429_after_twenty_requests_a_second(settings: Settings) -> None:
    per_s = Settings(settings.data_dir).http_peer_requests_per_s
    told = replace(settings, http_listen="127.0.0.1:0", console_listen="127.0.0.1:0", http_peer_requests_per_s=per_s)
    async with served(told) as site:
        request = posted(site, b"token=x", "Content-Length: 7")
        answers = await asyncio.gather(*(answered(site.app.console_address, request) for _ in range(100)))
        counts = Counter(status for status, _ in answers)
        assert set(counts) == {401, 429}
        assert (per_s, counts[401] >= per_s) == (20, True)
        request = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"
        answers = await asyncio.gather(*(answered(site.app.http_address, request) for _ in range(100)))
        assert {status for status, _ in answers} == {200, 429}
