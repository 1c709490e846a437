"""Measures a purge of a large database: its duration, turns during it, and whether the files still hold the words.

Owners have turns, memories, documents and pages with vectors, and receipts. One word of an owner and a whole other owner are
forgotten by calls to a service; then the purge runs as `serve` runs it, while a third owner asks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import uvloop

from bench import corpus
from bench.calling import AGENT, TENANT
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from bench.serving import served
from bench.speed.recall_speed import Sizes, drafted, fill
from sidecar.client import AsyncSidecar, NewMemory, NewTurn, SidecarCallError, Stance
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.database import Database
from sidecar.runtime.settings import Settings
from store.content import embedders
from store.db import queries
from store.db.postgres import PoolsConfig, direct, open_pools
from store.db.purging import PurgeReport, purge

_sql = queries.load(__file__)
_SIZES = Sizes(turns=5_000, memories=5_000, chunks=1_000, pages=500)
_OWNERS, _RECEIPTS = 20, 10_000
_DIMENSIONS = 384
_WORD, _NAME = "qxzvkjwhbpq", "zkqjvxwpghd"  # in no other text
_SAYINGS, _CONTEXTS = 20, 10
_BOUND_S, _BEGINS_WITHIN_S = 600.0, 300.0
_PAUSE_S, _PATIENCE_S = 0.2, 300


@dataclass(slots=True)
class _Turns:
    """The turns that a caller asked for while the purge ran."""

    took_s: list[float] = field(default_factory=list)
    degraded: int = 0
    refused: int = 0


@dataclass(slots=True)
class _Took:
    """The measurements: seconds, and the number of files that hold the words."""

    word_s: float = 0.0
    owner_s: float = 0.0
    purge_s: float = 0.0
    held_before: int = 0
    held_after: int = 0


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` is the share of the owners and receipts."""
    return uvloop.run(_measured(max(3, round(_OWNERS * scale)), round(_RECEIPTS * scale)))


async def _measured(owners: int, receipts: int) -> list[Figure]:
    async with own_database() as (settings, database), AsyncExitStack() as stack:
        await _fill(database, owners)
        process = await stack.enter_async_context(served(replace(settings, purge_every_s=0.0)))
        wordy, named, asking = [await _client(stack, settings, process.address, number) for number in (1, 2, 3)]
        admin = await _client(stack, settings, process.address, 2, is_admin=True)
        for one, word in ((wordy, _WORD), (named, _NAME)):
            await _write_word(one, word)
        for number in range(_CONTEXTS):
            await _ask(asking, f"What is said of gate {number}?")
        files, took = settings.data_dir.parent / "pg", _Took()
        async with direct(database.direct_dsn) as connection:
            await _sql.repeat_receipts(connection, owner_id=UUID(int=3), times=max(1, receipts // _CONTEXTS))
            await _sql.write_out(connection)
            before = await _sql.sizes(connection)
            took.held_before = await asyncio.to_thread(_holding, files)
            began = time.monotonic()
            hits = (await wordy.forget(word=_WORD)).hits
            await wordy.forget(word=_WORD, confirmed_ids=[hit.confirm_id for hit in hits])
            took.word_s = time.monotonic() - began
            began = time.monotonic()
            await admin.forget_owner()
            took.owner_s = time.monotonic() - began
        turns, report = await _purged(asking, database, took)
        took.held_after = await asyncio.to_thread(_holding, files)
        async with direct(database.direct_dsn) as connection:
            after = await _sql.sizes(connection)
    assert not report.left, f"left: {report}"
    return [*_figures(took, turns, report), *_about(before, after, owners)]


async def _fill(database: Database, owners: int) -> None:
    pools = await open_pools(database.dsn, PoolsConfig())
    await corpus.put_tenant(pools.background)
    number = await embedders.number_of(pools.background, "seeded", _DIMENSIONS)
    await pools.close()
    assert number is not None, "the embedded Postgres keeps vectors"
    await fill(database.dsn, drafted(_SIZES), _SIZES, number, owners=range(1, owners + 1))


async def _client(
    stack: AsyncExitStack, settings: Settings, address: str, number: int, *, is_admin: bool = False
) -> AsyncSidecar:
    owner = str(UUID(int=number))
    grant = Grant(TENANT, role=Role.ADMIN) if is_admin else Grant(TENANT, (owner,), AGENT)
    token = mint(grant, identity_settings(settings), now_s=time.time(), token_id=uuid4().hex)
    client = await stack.enter_async_context(AsyncSidecar(address, token))
    return client.taking(Stance(owner_id=owner, deadline_s=_PATIENCE_S))


async def _ask(client: AsyncSidecar, message: str) -> bool:
    """Ask for a context, wait until its receipt is written, and return whether the turn is degraded."""
    assembly = await client.assemble_context(message=message, thread_id="said", model_id="gpt-4o")
    await client.explain_assembly(receipt_id=assembly.receipt_id)
    return assembly.degraded


async def _write_word(client: AsyncSidecar, word: str) -> None:
    """Write a word into memories and turns, and use it in contexts."""
    texts = [f"The word at gate {number} of the old harbour is {word}." for number in range(_SAYINGS)]
    await client.retain(memories=[NewMemory(text=text) for text in texts])
    turns = [NewTurn(client_turn_id=f"said-{at}", role="user", text=text) for at, text in enumerate(texts)]
    await client.append_turns(thread_id="said", turns=turns)
    for number in range(_CONTEXTS):
        await _ask(client, f"What is the word at gate {number}, {word}?")


async def _purged(client: AsyncSidecar, database: Database, took: _Took) -> tuple[_Turns, PurgeReport]:
    """Purge, and ask the service until the purge ends."""
    turns = _Turns()
    began = time.monotonic()
    purging = asyncio.create_task(purge(database.direct_dsn))
    while not purging.done():
        at = time.monotonic()
        try:
            assembly = await client.assemble_context(message="What is at the gate?", model_id="gpt-4o")
            turns.degraded += assembly.degraded
        except SidecarCallError:
            turns.refused += 1
        turns.took_s.append(time.monotonic() - at)
        await asyncio.wait({purging}, timeout=_PAUSE_S)
    took.purge_s = time.monotonic() - began
    return turns, await purging


def _holding(files: Path) -> int:
    """Return how many files below a directory hold one of the words, in any case."""
    words = (_WORD.encode(), _NAME.encode())
    count = 0
    for path in files.rglob("*"):
        try:
            content = path.read_bytes().lower() if path.is_file() else b""
        except FileNotFoundError:
            continue
        count += any(word in content for word in words)
    return count


def _figures(took: _Took, turns: _Turns, report: PurgeReport) -> Iterator[Figure]:
    yield plain("a word shown and forgotten", took.word_s, unit=" s")
    yield plain("an owner forgotten", took.owner_s, unit=" s")
    yield plain("files that hold the words before the purge", took.held_before)
    yield at_most("files that hold the words after it", took.held_after, 0)
    note = f"{len(report.tables)} tables; it begins within {_BEGINS_WITHIN_S:.0f} s"
    yield at_most("the purge", took.purge_s, _BOUND_S - _BEGINS_WITHIN_S, unit=" s", note=note)
    yield plain("turns asked meanwhile", len(turns.took_s), note=f"{turns.degraded} degraded, {turns.refused} refused")
    yield plain("the longest of them", max(turns.took_s), unit=" s")
    yield plain("their p50", quantile(turns.took_s, 0.5), unit=" s")


def _about(before: asyncpg.Record, after: asyncpg.Record, owners: int) -> Iterator[Figure]:
    texts = before["texts"]
    yield plain("turns and memories", texts, note=f"{owners} owners")
    yield plain("receipts", before["receipts"])
    yield plain("the database before", before["bytes"] / 1e6, unit=" MB")
    yield plain("the database after", after["bytes"] / 1e6, unit=" MB")
