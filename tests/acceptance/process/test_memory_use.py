"""After a flood, requests are released when their calls end, and freed memory returns to the system."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import grpc
import pytest

from sidecar.runtime import memory_trimming
from tests.support.served.command_line import migrated, outcome, serving
from tests.support.served.site import Site
from tests.support.waiting import PATIENCE_S, next_round, until, until_blocking

RETAIN = "/sidecar.v1.MemoryService/Retain"
REQUEST_BYTES = 4_000_000
CEILING_BYTES = 200_000_000


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cyclic collector and with every allocation counted."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.asyncio(loop_scope="module")
async def test_refused_request_is_freed_without_the_garbage_collector(shared_site: Site, tenant: str) -> None:
    request = b"\x0a" + bytes(REQUEST_BYTES)  # no message: its first field never ends
    metadata = (("authorization", f"Bearer {shared_site.token(tenant)}"),)
    retain = shared_site.channel.unary_unary(RETAIN)
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(8):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await retain(request, metadata=metadata, timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    after, _ = tracemalloc.get_traced_memory()
    assert after - before < 2 * REQUEST_BYTES


def test_memory_falls_below_its_ceiling_after_a_flood_of_large_requests(
    migrated_template: str, tmp_path: Path, is_soak: bool
) -> None:
    with migrated(migrated_template, tmp_path) as environment, serving(environment, tmp_path / "log") as served:
        minted = outcome(["token", "--tenant", "acme", "--owner", "mara"], environment).stdout.strip()
        before = resident_bytes(served.process.pid)
        flood(environment["SIDECAR_LISTEN"], minted, calls=200 if is_soak else 24)
        until_blocking(lambda: resident_bytes(served.process.pid) <= before + CEILING_BYTES, PATIENCE_S)


def flood(address: str, token: str, *, calls: int) -> None:
    """Send so many requests of 20 MB that are no message, eight at once; each is refused."""
    request = b"\x0a" + bytes(20_000_000)
    with grpc.insecure_channel(address) as channel, ThreadPoolExecutor(8) as callers:
        retain = channel.unary_unary(RETAIN)

        def send(_: int) -> grpc.StatusCode:
            metadata = (("authorization", f"Bearer {token}"),)
            with pytest.raises(grpc.RpcError) as caught:
                retain(request, metadata=metadata, timeout=PATIENCE_S)
            return cast("grpc.Call", caught.value).code()

        assert set(callers.map(send, range(calls))) == {grpc.StatusCode.INVALID_ARGUMENT}


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.asyncio(loop_scope="module")
async def test_process_returns_freed_memory_to_the_system() -> None:
    memory_trimming.trim()  # what earlier tests left free would be used again, and nothing would grow
    keeping = asyncio.create_task(memory_trimming.keep_trimmed(every_s=0.01, grown_bytes=1 << 26))
    await next_round()
    before = memory_trimming.resident_bytes()
    blocks = [bytes(100_000) + bytes([place % 256]) for place in range(4_000)]  # below what glibc maps by itself
    pins = [bytes(100) for _ in range(100_000)]
    assert memory_trimming.resident_bytes() - before > 350_000_000
    kept = blocks[-1]  # what lies below stays with glibc
    del blocks
    await until(lambda: memory_trimming.resident_bytes() - before <= 100_000_000)
    assert (len(kept), len(pins)) == (100_001, 100_000)
    keeping.cancel()
