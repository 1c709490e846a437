"""A flood of HTTP requests from its own process: the most expensive forms, new connections, incomplete requests."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import uvloop

_WIDTH = 128  # of each kind, which is more together than a listener takes
_FIELDS = "&".join(f"f{number}={'%41' * 51}" for number in range(100)).encode()
_PIECES = b"&a%=1" * 20


def posts(address: str) -> tuple[bytes, ...]:
    """Return the most expensive posts to the console's sign-in that are still read completely."""
    origin = f"Host: {address}\r\nOrigin: http://{address}\r\n"
    cookies = f"Cookie: {'a=;' * 4_000}\r\n"
    lengths = (f"POST /login HTTP/1.1\r\n{origin}{cookies}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in (
        _FIELDS, b"token=" + b"%41" * 5_400, _PIECES,
    ))  # fmt: skip
    pieces = b"".join(b"%x\r\n%b\r\n" % (250, b"a" * 250) for _ in range(64)) + b"0\r\n\r\n"
    chunked = f"POST /login HTTP/1.1\r\n{origin}Transfer-Encoding: chunked\r\n\r\n".encode() + pieces
    query = f"GET /login?{'&a%=1' * 97}&b={'%41' * 2_300} HTTP/1.1\r\n{origin}\r\n".encode()
    return (*lengths, chunked, query)


async def flood(address: str, seconds: float) -> Counter[str]:
    """Return how many answers of each status a flood of so many seconds got, and how many connections got none."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, _flood, address, seconds)


def _flood(address: str, seconds: float) -> Counter[str]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_flooding(address, time.perf_counter() + seconds))


async def _flooding(address: str, ends: float) -> Counter[str]:
    heard: Counter[str] = Counter()
    requests = posts(address)
    acts: tuple[Callable[[int], Awaitable[None]], ...] = (
        lambda place: _asking(address, requests[place % len(requests)], ends, heard, keeps=True),
        lambda place: _asking(address, requests[place % len(requests)], ends, heard, keeps=False),
        lambda _: _half(address, requests[0][:200], ends),
    )
    await asyncio.gather(*(act(place) for place in range(_WIDTH) for act in acts))
    return heard


async def _asking(address: str, request: bytes, ends: float, heard: Counter[str], *, keeps: bool) -> None:
    """Send a request again as soon as it is answered: on one connection, or on a new one each time."""
    while time.perf_counter() < ends:
        try:
            reader, writer = await _opened(address)
        except (OSError, TimeoutError):
            heard["no connection"] += 1
            continue
        try:
            heard[await answer(reader, writer, request)] += 1
            while keeps and time.perf_counter() < ends:
                heard[await answer(reader, writer, request)] += 1
        except (OSError, EOFError, TimeoutError):
            heard["no answer"] += 1
        finally:
            writer.close()


async def _half(address: str, request: bytes, ends: float) -> None:
    """Send the start of a request, and hold the connection until the server closes it."""
    while time.perf_counter() < ends:
        with suppress(OSError, TimeoutError):
            reader, writer = await _opened(address)
            writer.write(request)
            async with asyncio.timeout(max(0.01, ends - time.perf_counter())):
                await reader.read()
            writer.close()


async def _opened(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(5):
        return await asyncio.open_connection(host, int(port))


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> str:
    """Send a request and return the status of its answer, which is read whole."""
    async with asyncio.timeout(10):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = head.partition("content-length: ")[2].partition("\r")[0]
        await reader.readexactly(int(length or 0))
    return head.split(" ")[1]
