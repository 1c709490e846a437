"""How long a client may be silent, how many may be connected, and how many requests a peer may send."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sidecar.http.connection import HttpLimits
from sidecar.http.listening import served
from sidecar.http.peer_rates import PeerRates, peer_of
from tests.support.waiting import next_round

PATIENCE_S = 120
QUICK = HttpLimits(requests_per_s=0, connections=8, head_s=0.2, idle_s=0.3)
PATIENT = replace(QUICK, head_s=PATIENCE_S, idle_s=PATIENCE_S)
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener of the test's own; `connect` opens a connection and sends the bytes."""

    connect: Callable[[bytes], Awaitable[Client]]


@asynccontextmanager
async def listening(application: ASGIApp, limits: HttpLimits) -> AsyncIterator[Listener]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    writers: list[asyncio.StreamWriter] = []
    async with served(application, listener, limits) as address:
        host, _, port = address.rpartition(":")

        async def connect(data: bytes) -> Client:
            reader, writer = await asyncio.open_connection(host, int(port))
            writers.append(writer)
            writer.write(data)
            return reader, writer

        try:
            async with asyncio.timeout(PATIENCE_S):
                yield Listener(connect)
        finally:
            for writer in writers:
                writer.close()


async def everything(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the server closes."""
    with suppress(ConnectionError):
        return await reader.read()
    return b""


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    await PlainTextResponse(body)(scope, receive, send)


def test_limits_match_the_documents() -> None:
    assert HttpLimits() == HttpLimits(
        requests_per_s=20, connections=256, connections_per_s=100, held_back_s=1, head_s=10, idle_s=60
    )


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"G", b"HTTP/1.1 408"),
        (b"POST / HTTP/1.1\r\nhost: x\r\n", b"HTTP/1.1 408"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf", b"HTTP/1.1 408"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf", b"HTTP/1.1 408"),
        (GET, b"HTTP/1.1 200"),
    ],
    ids=["nothing", "a byte", "half a head", "half a body", "half a chunked body", "a request and then nothing"],
)
async def test_connection_of_silent_client_ends(sent: bytes, answer: bytes) -> None:
    async with listening(echo, QUICK) as listener:
        reader, _ = await listener.connect(sent)
        assert (await everything(reader))[:12] == answer


async def test_second_request_gets_its_own_time_on_a_kept_connection() -> None:
    async with listening(echo, replace(PATIENT, head_s=0.2)) as listener:
        reader, writer = await listener.connect(GET)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET / HT")
        assert (await everything(reader))[:12] == b"HTTP/1.1 408"


async def test_slow_response_does_not_count_as_silence() -> None:
    go_on = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"begun"
            await go_on.wait()
            yield b"done"

        await StreamingResponse(pieces(), headers={"connection": "close"})(scope, receive, send)

    async with listening(slow, QUICK) as listener:
        reader, _ = await listener.connect(GET)
        silent, _ = await listener.connect(b"")
        await everything(silent)  # by now the stream has been open for as long as silence may last
        go_on.set()
        assert b"done" in await everything(reader)


async def test_client_that_does_not_read_is_cut_off() -> None:
    ended = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 65_536
                await next_round()

        try:
            await StreamingResponse(pieces())(scope, receive, send)
        finally:
            ended.set()

    async with listening(endless, QUICK) as listener:
        reader, writer = await listener.connect(GET)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport reads as well
        await ended.wait()
        assert not reader.at_eof()


async def test_connections_beyond_the_limit_are_refused_until_one_ends() -> None:
    async with listening(echo, PATIENT) as listener:
        held = [await listener.connect(b"GET / HT") for _ in range(PATIENT.connections)]
        reader, _ = await listener.connect(GET)
        assert (await everything(reader)).startswith(b"HTTP/1.1 503 ")
        held[0][1].close()
        answer = b""
        while not answer.startswith(b"HTTP/1.1 200"):
            reader, _ = await listener.connect(GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
            answer = await everything(reader)


async def test_refused_body_is_read_up_to_a_limit() -> None:
    async with listening(PlainTextResponse("no", 413), PATIENT) as listener:
        reader, writer = await listener.connect(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9999999999\r\n\r\n")
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 413 ")
        is_cut = False
        while not is_cut:
            writer.write(b"x" * 65_536)
            try:
                await writer.drain()
            except ConnectionError:
                is_cut = True


def test_peer_above_its_rate_is_refused_until_time_passes() -> None:
    now = 100.0
    rates = PeerRates(20, clock=lambda: now)

    def asked(host: str, times: int) -> list[bool]:
        return [rates.admits(host) for _ in range(times)]

    assert asked("192.0.2.1", 22) == [True] * 20 + [False] * 2
    assert asked("192.0.2.2", 1) == [True]
    now += 0.5
    assert asked("192.0.2.1", 12) == [True] * 10 + [False] * 2
    now += 60
    assert asked("192.0.2.1", 21) == [True] * 20 + [False]
    assert all(asked(f"198.51.{number // 250}.{number % 250}", 1) == [True] for number in range(5_000))
    assert asked("192.0.2.1", 20) == [True] * 20, "so many others made it forgotten"


async def test_requests_above_the_rate_are_refused_unread_even_if_pipelined() -> None:
    served_paths = list[str]()

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        served_paths.append(scope["path"])
        await PlainTextResponse("ok")(scope, receive, send)

    async with listening(noting, replace(PATIENT, requests_per_s=3, held_back_s=0.1)) as listener:
        reader, _ = await listener.connect(GET * 20)
        answers = await everything(reader)
        assert (answers.count(b"HTTP/1.1 200"), answers.count(b"HTTP/1.1 429")) == (len(served_paths), 1)
        assert b"retry-after: 1" in answers
        assert 3 <= len(served_paths) < 20


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:5::6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_peer_is_an_address_or_a_network_of_ipv6(host: str, peer: str) -> None:
    assert peer_of(host) == peer
