"""Compiling without a model: the next memories are read while a batch is applied, and a plan is logged as it is applied."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from compiler.job.prefetch import Prefetch
from compiler.passes import forgetting
from compiler.plan import intake
from compiler.plan.contract import BatchMemory
from compiler.plan.names import lookup
from compiler.state.substrates import Feed, FeedPage, MemoryListing, PostgresSubstrate
from store.compile import scopes
from store.content import memories
from store.db.postgres import Pools, scoped
from store.errors import DatabaseBusy
from store.scope import Scope
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
)

FIVES = capped(record_page_size=5)


@dataclass
class Feeding:
    """The built-in memories, with what is read noted beside the step before it. `forgets` goes, once, right after it was read;
    the reading that begins after `fails` fails, once."""

    pools: Pools
    forgets: str = ""
    fails: str = ""
    told: list[str] = field(default_factory=list)
    read: list[tuple[str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._memories = PostgresSubstrate(self.pools.background)

    def feed(self, scope: Scope) -> Feed:
        return self._memories.feed(scope)

    def resume(self, scope: Scope, cursor: str) -> str:
        return self._memories.resume(scope, cursor)

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        step = self.told[-1] if self.told else ""
        if self.fails and cursor.endswith(self.fails):
            self.fails = ""
            raise DatabaseBusy("for once")
        reading = await self._memories.changed_after(scope, cursor, limit=limit)
        found = [one.memory_id for one in reading.memories]
        self.read.append((step, [one[-2:] for one in found]))
        if self.forgets in found:
            memory_id, self.forgets = self.forgets, ""
            async with scoped(self.pools.background, scope) as connection:
                await memories.forget(connection, scope, memory_id)
                await forgetting.forget(connection, scope, [memory_id], now=NOW)
        return reading

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        return await self._memories.fetch(scope, memory_ids)

    async def listing(self, scope: Scope) -> MemoryListing:
        return await self._memories.listing(scope)


async def test_the_next_memories_are_read_while_a_batch_is_applied(pools: Pools) -> None:
    await write(pools, journal(12))
    await wish(pools)
    feeding = Feeding(pools)
    engine = engine_on(pools, settings=FIVES, substrate=feeding)
    await compiled(pools, replace(engine, checkpoint=feeding.told.append))
    assert feeding.read == [
        ("", ["00", "01", "02", "03", "04"]),
        ("planned", ["05", "06", "07", "08", "09"]),
        ("planned", ["10", "11"]),
    ]


async def test_nothing_is_read_ahead_of_what_a_job_may_still_read(pools: Pools) -> None:
    await write(pools, journal(12))
    await wish(pools)
    feeding = Feeding(pools)
    settings = capped(record_page_size=5, max_records_per_job=7)
    await compiled(pools, engine_on(pools, settings=settings, substrate=feeding))
    assert [found for _, found in feeding.read] == [
        ["00", "01", "02", "03", "04"],
        ["05", "06"],
        ["07", "08", "09", "10", "11"],
        [],
    ]


async def test_a_reading_ahead_that_fails_is_read_again(pools: Pools) -> None:
    await write(pools, journal(12))
    await wish(pools)
    feeding = Feeding(pools, fails="5")
    await compiled(pools, engine_on(pools, settings=FIVES, substrate=feeding))
    assert not feeding.fails
    (job,) = await all_jobs(pools)
    assert (job.metrics["records_read"], job.attempt) == (12, 1)


async def test_a_memory_forgotten_after_it_was_read_ahead_leaves_no_word(pools: Pools, database: str) -> None:
    await write(pools, journal(12))
    await wish(pools)
    feeding = Feeding(pools, forgets="m00007")
    await compiled(pools, engine_on(pools, settings=FIVES, substrate=feeding))
    assert sum(job.metrics["plans_superseded"] for job in await all_jobs(pools)) == 1
    assert [found for _, found in feeding.read][1:3] == [["05", "06", "07", "08", "09"], ["05", "06", "08", "09", "10"]]
    rows = await fetch(database, "SELECT body_md FROM wiki_page_sections")
    assert any("visit 6" in row["body_md"] for row in rows)
    assert not any("visit 7" in row["body_md"] for row in rows)
    assert await fetch(database, "SELECT 1 FROM wiki_section_sources WHERE source_ref = 'm00007'") == []


async def test_what_was_looked_through_is_what_looking_now_finds(pools: Pools) -> None:
    await write(pools, journal(7))
    prefetch = Prefetch(PostgresSubstrate(pools.background), SCOPE)
    prefetch.begin("", limit=5)
    reading = await prefetch.reading("", limit=5)
    kept, dropped = prefetch.sift(reading.memories)
    assert (kept, dropped) == intake.sift(reading.memories)
    assert prefetch.names_in(kept) == lookup.names_in(kept)
    assert prefetch.names_in(kept[1:]) == lookup.names_in(kept[1:])
    assert prefetch.sift(reading.memories[1:])[0] == kept[1:]


async def test_what_was_begun_for_another_place_is_given_up(pools: Pools) -> None:
    await write(pools, journal(7))
    feeding = Feeding(pools)
    prefetch = Prefetch(feeding, SCOPE)
    prefetch.begin("", limit=5)
    assert len((await prefetch.reading("", limit=2)).memories) == 2
    prefetch.begin("", limit=5)
    await prefetch.stop()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert [found for _, found in feeding.read] == [["00", "01"]]


async def test_a_plan_that_nothing_was_paid_for_is_logged_as_it_is_applied(pools: Pools, database: str) -> None:
    await write(pools, journal(12))
    await wish(pools)
    told: list[str] = []
    await compiled(pools, replace(engine_on(pools, settings=FIVES), checkpoint=told.append))
    assert "stored" not in told
    rows = await fetch(database, "SELECT * FROM compile_batches ORDER BY batch_seq")
    assert [row["batch_seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert {(row["status"], row["items"], tuple(row["seen_memory_ids"])) for row in rows} == {("applied", None, ())}
    assert rows[1]["memory_ids"] == [f"m{number:05}" for number in range(5, 10)]


async def test_what_a_cap_leaves_of_it_is_stored_with_what_its_words_rest_on(pools: Pools, database: str) -> None:
    await write(pools, journal(12))
    await wish(pools)
    assert await worker_on(pools, engine_on(pools, settings=capped(max_new_pages_per_job=2))).work_once()
    (row,) = await fetch(database, "SELECT * FROM compile_batches")
    assert (row["status"], row["items_applied"] > 0, row["items"] is not None) == ("planned", True, True)
    assert set(row["seen_memory_ids"]) >= set(row["memory_ids"]) == {f"m{number:05}" for number in range(12)}


@pytest.mark.parametrize("place", ["planned", "opened", "written", "before_commit", "applied", "aggregation_planned"])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_worker_that_dies_without_a_model_leaves_the_wiki_of_an_undisturbed_run(
    pools: Pools, place: str, times: int
) -> None:
    undisturbed, disturbed = (Scope(UUID(int=tenant), SCOPE.owner_id) for tenant in (701, 702))
    settings = capped(record_page_size=5, max_new_pages_per_job=6)
    for scope in (undisturbed, disturbed):
        await write(pools, journal(12), scope=scope)
        await wish(pools, scope=scope)
    await compiled(pools, engine_on(pools, settings=settings), scope=undisturbed)
    left, clock = times, Clock()

    def dies(at: str) -> None:
        nonlocal left
        left -= at == place
        if at == place and left == 0:
            raise asyncio.CancelledError

    engine = engine_on(pools, clock=clock, settings=settings)
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(disturbed)
    assert left <= 0, f"{place} is never reached"
    clock.move(minutes=2)  # its lease runs out
    async with scoped(pools.background, disturbed) as connection:
        await scopes.lock_there(connection, disturbed)  # its transaction is rolled back behind it
    assert await worker_on(pools, engine, holder="two").drain_scope(disturbed)
    assert await wiki_of(pools, scope=disturbed) == await wiki_of(pools, scope=undisturbed)
    told = [
        [(job.metrics["records_read"], job.metrics["pages_created"]) for job in await all_jobs(pools, scope=scope)]
        for scope in (undisturbed, disturbed)
    ]
    assert told[0] == told[1]
