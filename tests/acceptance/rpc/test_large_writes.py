"""Requests as large as the contract allows: they succeed, are seen whole or not at all, and can be repeated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from models.tokens.encodings import count
from sidecar.ingest.chunking import chunk_reader
from sidecar.v1 import context_pb2, knowledge_pb2, memory_pb2
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.served.site import Site
from tests.support.store.notes import wait_until_active
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE_S = 500.0
WORDS = [f"{stem}{ending}" for stem in ("harbour", "ferry", "vault", "ledger", "quay") for ending in range(400)]


@dataclass(frozen=True, slots=True)
class Write:
    """A large write: its request, its method, the statement that carries it, and where its rows are counted."""

    request: Any
    method: str
    statement: str
    count: str


def text(number: int, chars: int) -> str:
    """Return a text of its own for each number."""
    words = (WORDS[(number * 7919 + place * 104_729) % len(WORDS)] for place in range(chars // 8))
    return f"{number} {' '.join(words)}"[:chars].ljust(chars, "x")


def memories(size: int) -> Write:
    new = [memory_pb2.NewMemory(memory_id=f"m{number}", text=text(number, 30_000)) for number in range(size)]
    counted = "SELECT count(*) FROM memories WHERE tenant_id = $1 AND owner_id = $2"
    return Write(memory_pb2.RetainRequest(memories=new), "Retain", "INSERT INTO memories (", counted)


def turns(size: int) -> Write:
    new = [
        context_pb2.NewTurn(client_turn_id=f"c{number}", role="user", text=text(number, 20_000))
        for number in range(size)
    ]
    request = context_pb2.AppendTurnsRequest(thread_id="t", turns=new)
    counted = "SELECT count(*) FROM turns WHERE tenant_id = $1 AND owner_id = $2"
    return Write(request, "AppendTurns", "INSERT INTO turns", counted)


KINDS = pytest.mark.parametrize("make", [memories, turns], ids=["memories", "turns"])


async def stored(site: Site, tenant: str, write: Write) -> int:
    """Return how many rows of the write are seen now."""
    scope = Scope(tenant_uuid(tenant), owner_uuid("mara"))
    async with scoped(site.app.pools.turn, scope, read_only=True) as connection:
        return int(await connection.fetchval(write.count, scope.tenant_id, scope.owner_id))


def in_o200k_base(texts: Sequence[str]) -> list[int]:
    return count(texts, "o200k_base")


def counts(answer: Any) -> int:
    return int(answer.created_count if isinstance(answer, memory_pb2.RetainResponse) else answer.appended_count)


@KINDS
async def test_large_write_is_visible_whole_or_not_at_all(
    shared_site: Site, tenant: str, make: Callable[[int], Write], is_soak: bool
) -> None:
    size = 1000 if is_soak else 100
    write = make(size)
    call = asyncio.ensure_future(getattr(shared_site.caller(tenant), write.method)(write.request, timeout=PATIENCE_S))
    seen = set()
    while not call.done():
        seen.add(await stored(shared_site, tenant, write))
    assert counts(await call) == size
    assert seen <= {0, size}
    assert await stored(shared_site, tenant, write) == size


@KINDS
async def test_cancelled_large_write_leaves_nothing_and_can_be_repeated(
    shared_site: Site, tenant: str, make: Callable[[int], Write]
) -> None:
    write, send = make(100), getattr(shared_site.caller(tenant), make(1).method)
    call = asyncio.ensure_future(send(write.request, timeout=PATIENCE_S))
    await wait_until_active(shared_site.settings.database_url, write.statement)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await wait_until_active(shared_site.settings.database_url, write.statement, count=0)
    assert await stored(shared_site, tenant, write) == 0
    assert counts(await send(write.request, timeout=PATIENCE_S)) == 100
    assert counts(await send(write.request, timeout=PATIENCE_S)) == 0


async def test_child_process_that_reads_a_large_document_ends_with_the_call(shared_site: Site, tenant: str) -> None:
    admin = shared_site.caller(tenant, admin=True)
    await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="guides"))
    content = "\n\n".join(f"## Part {number}\n\n{text(number, 30_000)}" for number in range(60)).encode()
    request = knowledge_pb2.IngestRequest(base="guides", path="large.md", content=content)
    call = asyncio.ensure_future(admin.Ingest(request, timeout=PATIENCE_S))
    await until(lambda: bool(readers()))
    call.cancel()
    await until(lambda: not readers())
    stored = (await admin.Ingest(request, timeout=PATIENCE_S)).document
    assert stored.chunk_count == len(chunk_reader.read("large.md", content, in_o200k_base).chunks)
    broken = knowledge_pb2.IngestRequest(base="guides", path="large.bin", content=content)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await admin.Ingest(broken, timeout=PATIENCE_S)
    assert "no reader for .bin files" in str(caught.value.details())


def readers() -> list[str]:
    """Return the command lines of this process' children that read documents."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    lines = [Path(f"/proc/{child}/cmdline") for child in children]
    return [
        told for line in lines if line.exists() and "sidecar.ingest.chunking.chunk_reader" in (told := line.read_text())
    ]
