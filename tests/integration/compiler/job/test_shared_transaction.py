"""Compiling without a model: the next batch is planned while one is written, upon what that one writes, in its transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import pytest

from compiler.job.compilation import BatchDeps, Engine
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory, CreatePage, Page, PageKey, PageType, Section
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings
from compiler.state import apply, views
from compiler.state.access import Access, PooledAccess, SharedAccess
from compiler.state.substrates import FeedPage, PostgresSubstrate
from compiler.state.views import Looking
from store.compile import scopes
from store.compile.jobs import Job
from store.content.memories import NewMemory
from store.db.postgres import DatabaseRole, Pools, scoped
from store.db.queries import Connection
from store.db.shared_transaction import shared
from store.errors import StoreError
from store.scope import Scope
from store.text.texts import text_hash
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    journal,
    wiki_of,
    wish,
    write,
)

FIVES = capped(record_page_size=5)
LATER_NAMES = [
    NewMemory(f"Someone said that {what} is best on visit {number}.", f"n{number:05}", NOW)
    for number, what in enumerate(("the octopus", "Velvet Taco", "the rain at Velvet Taco", "number 3 of Suerte") * 5)
]


class Dear:
    """The spending of a planner that costs something: its plans are stored, and made one after another."""

    def take(self) -> dict[str, Any]:
        """Return no figures: nothing was spent yet."""
        return {}


async def dirty_through(connection: Connection) -> int | None:
    row = await scopes.read(connection, SCOPE)
    return row.dirty_through if row else None


async def test_what_is_being_written_is_read_beside_it_and_nowhere_else(pools: Pools) -> None:
    await write(pools, journal(1))
    own = PooledAccess(pools.background, SCOPE)
    access = SharedAccess(own)
    async with access.writing() as connection:
        await scopes.mark_dirty(connection, SCOPE, through=77, now=NOW)
        async with access.reading() as beside, own.reading() as elsewhere:
            assert (await dirty_through(beside), await dirty_through(elsewhere)) == (77, None)
    async with access.reading() as behind, own.reading() as elsewhere:
        assert (await dirty_through(behind), await dirty_through(elsewhere)) == (77, 77)


async def test_a_transaction_ends_once_nobody_reads_beside_it(pools: Pools) -> None:
    access = SharedAccess(PooledAccess(pools.background, SCOPE))
    is_open = asyncio.Event()

    async def read() -> list[object]:
        async with access.reading() as connection:
            is_open.set()
            return [await connection.fetchval("SELECT txid_current()") for _ in range(10)]

    async with access.writing() as connection:
        own = await connection.fetchval("SELECT txid_current()")
        reading = asyncio.create_task(read())
        await is_open.wait()
    assert reading.done()
    assert reading.result() == [own] * 10


async def test_who_reads_behind_a_transaction_that_failed_reads_what_stands(pools: Pools) -> None:
    await write(pools, journal(1))
    access = SharedAccess(PooledAccess(pools.background, SCOPE))

    async def write_badly() -> None:
        async with access.writing() as connection:
            await scopes.mark_dirty(connection, SCOPE, through=77, now=NOW)
            await connection.fetchval("SELECT 1 / 0")

    with pytest.raises(StoreError):
        await write_badly()
    await access.texts_written()
    async with access.reading() as behind:
        assert await dirty_through(behind) is None


async def test_the_words_of_pages_are_waited_for(pools: Pools) -> None:
    access = SharedAccess(PooledAccess(pools.background, SCOPE))
    async with access.writing():
        waiting = asyncio.create_task(access.texts_written())
        await asyncio.sleep(0)
        assert not waiting.done()
        access.mark_texts_written()
        await waiting


async def test_pages_are_looked_for_by_words_once_these_are_written(pools: Pools) -> None:
    text = "kohlrabi dumplings again"
    memory = BatchMemory("m", text, text_hash(text), NOW)
    section = Section("overview", "Overview", "It serves smoked kohlrabi dumplings.")
    page = Page(PageKey(PageType.ENTITY, "suerte"), "Suerte", "A place.", sections=(section,))
    await write(pools, journal(1))
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER) as connection:

        async def told() -> None:
            await apply.apply_items(connection, SCOPE, [CreatePage(page)], now=NOW)

        looking = Looking(CompileSettings().sight, len, texts_written=told)
        batch = await views.leaf_batch(connection, SCOPE, (memory,), looking)
    assert [one.key for one in batch.pages] == [page.key]


async def test_two_tasks_use_one_connection_in_turn(pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        both = shared(connection)
        rows = await asyncio.gather(*(both.fetchval(f"SELECT {number}") for number in range(20)))
        await asyncio.gather(both.execute("SELECT 1"), both.fetch("SELECT 2"), both.fetchrow("SELECT 3"))
    assert rows == list(range(20))


def dear(pools: Pools) -> Engine:
    """Return an engine whose plans are made one after another."""

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        return BatchDeps(ExtractivePlanner(), Dear())

    return replace(engine_on(pools, settings=FIVES), planner_for=planner_for)


@pytest.mark.parametrize("entries", [journal(23), [*journal(9), *LATER_NAMES, *journal(8, first=60)]])
async def test_a_wiki_planned_ahead_is_the_one_planned_batch_by_batch(pools: Pools, entries: list[NewMemory]) -> None:
    ahead, apart = (Scope(UUID(int=tenant), SCOPE.owner_id) for tenant in (801, 802))
    for scope, engine in ((ahead, engine_on(pools, settings=FIVES)), (apart, dear(pools))):
        await write(pools, entries, scope=scope)
        await wish(pools, scope=scope)
        await compiled(pools, engine, scope=scope)
    assert await wiki_of(pools, scope=ahead) == await wiki_of(pools, scope=apart)
    figures = [[job.metrics for job in await all_jobs(pools, scope=scope)] for scope in (ahead, apart)]
    assert figures[0] == figures[1]


@dataclass
class Telling(ExtractivePlanner):
    """Tells what was called; `fails` at one of its calls."""

    told: list[str] = field(default_factory=list)
    fails: int = 0
    calls: int = 0

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        self.calls += 1
        self.told.append("called")
        if self.calls == self.fails:
            raise LookupError("for once")
        return await super().plan_leaf(batch)


def engine_telling(pools: Pools, planner: Telling, checkpoint: Callable[[str], None]) -> Engine:
    return replace(engine_on(pools, planner=planner, settings=FIVES), checkpoint=checkpoint)


async def test_each_batch_is_planned_once(pools: Pools) -> None:
    await write(pools, journal(23))
    await wish(pools)
    planner = Telling()
    await compiled(pools, engine_telling(pools, planner, planner.told.append))
    assert planner.calls == 5
    assert planner.told.count("planned") == 5
    places = [at for at, step in enumerate(planner.told) if step == "called"]
    frozen = [at for at, step in enumerate(planner.told) if step == "frozen"]
    assert all(place < begun for place, begun in zip(places[1:], frozen[1:], strict=True)), (
        "planned before it is its turn"
    )


async def test_a_plan_ahead_that_fails_is_made_again(pools: Pools) -> None:
    await write(pools, journal(12))
    await wish(pools)
    planner = Telling(fails=2)
    await compiled(pools, engine_telling(pools, planner, lambda step: None))
    (job,) = await all_jobs(pools)
    assert (planner.calls, job.metrics["batches"], job.metrics["records_read"], job.attempt) == (4, 4, 12, 1)


class Garbling(PostgresSubstrate):
    """The built-in memories, of which the second reading gives one an id that no database reads, once."""

    readings = 0

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        reading = await super().changed_after(scope, cursor, limit=limit)
        self.readings += 1
        if self.readings != 2:
            return reading
        first, *others = reading.memories
        return replace(reading, memories=(replace(first, memory_id="m\0"), *others))


async def test_a_read_beside_a_batch_that_fails_does_not_take_the_batch_along(pools: Pools) -> None:
    disturbed, alone = (Scope(UUID(int=tenant), SCOPE.owner_id) for tenant in (803, 804))
    substrate = Garbling(pools.background)
    for scope, engine in (
        (disturbed, engine_on(pools, settings=FIVES, substrate=substrate)),
        (alone, engine_on(pools, settings=FIVES)),
    ):
        await write(pools, journal(12), scope=scope)
        await wish(pools, scope=scope)
        await compiled(pools, engine, scope=scope)
    assert substrate.readings > 3
    assert await wiki_of(pools, scope=disturbed) == await wiki_of(pools, scope=alone)
    ((job,), (undisturbed,)) = [await all_jobs(pools, scope=scope) for scope in (disturbed, alone)]
    assert (job.attempt, job.metrics) == (undisturbed.attempt, undisturbed.metrics)


async def test_no_word_waits_to_be_put_into_the_search_index(pools: Pools, database: str) -> None:
    await write(pools, journal(12))
    await wish(pools)
    await compiled(pools, engine_on(pools, settings=FIVES))
    for index in ("wiki_pages_search", "wiki_page_sections_search"):
        (row,) = await fetch(database, f"SELECT gin_clean_pending_list('{index}') AS waiting")
        assert row["waiting"] == 0
        (row,) = await fetch(database, f"SELECT reloptions FROM pg_class WHERE relname = '{index}'")
        assert "fastupdate=on" in row["reloptions"]
