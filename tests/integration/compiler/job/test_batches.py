"""Batches of a job without a model: each is read, planned, stored and applied after the one before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import orjson
import pytest

from compiler.passes import forgetting
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import BatchMemory
from compiler.plan.version import RULES
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.state.substrates import Feed, FeedPage, MemoryListing, PostgresSubstrate
from store.compile import batches, scopes
from store.content import memories
from store.db.postgres import DatabaseRole, Pools, scoped
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
    write_and_compile,
    write_and_request,
)

FIVES = capped(record_page_size=5)


@dataclass
class Feeding:
    """The built-in memories; each reading is noted with the job's last step. `forgets` is forgotten once it was read."""

    pools: Pools
    forgets: str = ""
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
        reading = await self._memories.changed_after(scope, cursor, limit=limit)
        found = [one.memory_id for one in reading.memories]
        self.read.append((step, [one[-2:] for one in found]))
        if self.forgets in found:
            memory_id, self.forgets = self.forgets, ""
            async with scoped(self.pools.background, scope) as connection:
                await memories.forget_all(connection, scope, [memory_id])
                await forgetting.forget(connection, scope, [memory_id], now=NOW)
        return reading

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        return await self._memories.fetch(scope, memory_ids)

    async def listing(self, scope: Scope) -> MemoryListing:
        return await self._memories.listing(scope)


async def test_job_reads_no_more_than_its_cap_of_records(pools: Pools) -> None:
    await write_and_request(pools, journal(12))
    feeding = Feeding(pools)
    settings = capped(record_page_size=5, max_records_per_job=7)
    await compiled(pools, engine_on(pools, settings=settings, substrate=feeding))
    assert [found for _, found in feeding.read] == [
        ["00", "01", "02", "03", "04"],
        ["05", "06"],
        ["07", "08", "09", "10", "11"],
        [],
    ]


async def test_memory_forgotten_after_it_was_read_leaves_no_word(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(12))
    feeding = Feeding(pools, forgets="m00007")
    await compiled(pools, engine_on(pools, settings=FIVES, substrate=feeding))
    assert sum(job.metrics["plans_superseded"] for job in await all_jobs(pools)) == 1
    assert [found for _, found in feeding.read][1:3] == [["05", "06", "07", "08", "09"], ["05", "06", "08", "09", "10"]]
    rows = await fetch(database, "SELECT body_md FROM wiki_page_sections")
    assert any("visit 6" in row["body_md"] for row in rows)
    assert not any("visit 7" in row["body_md"] for row in rows)
    assert await fetch(database, "SELECT 1 FROM wiki_section_sources WHERE source_ref = 'm00007'") == []


@dataclass
class Noting(ExtractivePlanner):
    """Notes each call beside the job's steps."""

    told: list[str] = field(default_factory=list)

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        self.told.append("called")
        return await super().plan_leaf(batch)


async def test_batch_is_read_planned_stored_and_applied_before_the_next(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(12))
    planner = Noting()
    feeding = Feeding(pools, told=planner.told)
    engine = engine_on(pools, planner=planner, settings=FIVES, substrate=feeding)
    await compiled(pools, replace(engine, checkpoint=planner.told.append))
    one = ["frozen", "called", "planned", "stored", "opened", "written", "before_commit", "applied"]
    assert planner.told[: 3 * len(one)] == 3 * one
    assert [step for step, _ in feeding.read] == ["", "applied", "applied"]
    rows = await fetch(database, "SELECT * FROM compile_batches ORDER BY batch_seq")
    assert [row["batch_seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert {(row["status"], row["items"], tuple(row["seen_memory_ids"])) for row in rows} == {("applied", None, ())}
    assert rows[1]["memory_ids"] == [f"m{number:05}" for number in range(5, 10)]


async def test_stored_plan_without_model_is_applied_by_the_next_worker(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(5))
    planner, clock = Noting(), Clock()

    def dies(at: str) -> None:
        if at == "stored":
            raise asyncio.CancelledError

    engine = engine_on(pools, planner=planner, clock=clock)
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(SCOPE)
    (row,) = await fetch(database, "SELECT * FROM compile_batches")
    assert (row["status"], row["items_applied"], row["items"] is not None) == ("planned", 0, True)
    assert set(row["seen_memory_ids"]) >= set(row["memory_ids"]) == {f"m{number:05}" for number in range(5)}
    clock.move(minutes=2)
    assert await worker_on(pools, engine, holder="two").drain_scope(SCOPE)
    assert planner.told == ["called"]


async def test_rest_of_a_capped_plan_is_stored_with_the_memories_it_saw(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(12))
    assert await worker_on(pools, engine_on(pools, settings=capped(max_new_pages_per_job=2))).work_once()
    (row,) = await fetch(database, "SELECT * FROM compile_batches")
    assert (row["status"], row["items_applied"] > 0, row["items"] is not None) == ("planned", True, True)
    assert set(row["seen_memory_ids"]) >= set(row["memory_ids"]) == {f"m{number:05}" for number in range(12)}


async def test_capped_plan_logged_by_an_older_version_is_finished(pools: Pools, database: str) -> None:
    """The older version wrote the row at once, in the transaction that applied the first items, and with its own rules."""
    undisturbed = Scope(UUID(int=703), SCOPE.owner_id)
    for scope in (SCOPE, undisturbed):
        await write(pools, journal(12), scope=scope)
        await wish(pools, scope=scope)
    settings = capped(max_new_pages_per_job=2)
    await compiled(pools, engine_on(pools, settings=settings), scope=undisturbed)
    assert await worker_on(pools, engine_on(pools, settings=settings)).work_once()
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER) as connection:
        kept = await batches.planned(connection, SCOPE)
        assert kept is not None
        assert kept.items is not None
        assert 0 < kept.items_applied < len(kept.items)
        older = replace(kept, options={**kept.options, "rules": RULES - 1, "prompts": []})
        await batches.store(connection, SCOPE, older, orjson.dumps(kept.items), now=NOW)
    planner = Noting()
    await compiled(pools, engine_on(pools, settings=settings, planner=planner))
    assert planner.told == []
    assert await wiki_of(pools) == await wiki_of(pools, scope=undisturbed)
    rows = await fetch(database, "SELECT * FROM compile_batches WHERE tenant_id = $1", SCOPE.tenant_id)
    assert {(row["status"], row["items"]) for row in rows} == {("applied", None)}


@pytest.mark.parametrize(
    "place", ["planned", "stored", "opened", "written", "before_commit", "applied", "aggregation_planned"]
)
@pytest.mark.parametrize("times", [1, 2])
async def test_job_finished_after_a_crash_leaves_the_wiki_of_an_undisturbed_run(
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


async def test_search_index_has_no_pending_entries_after_a_job(pools: Pools, database: str) -> None:
    await write_and_compile(pools, journal(12), engine_on(pools, settings=FIVES))
    for index in ("wiki_pages_search", "wiki_page_sections_search"):
        (row,) = await fetch(database, f"SELECT gin_clean_pending_list('{index}') AS waiting")
        assert row["waiting"] == 0
        (row,) = await fetch(database, f"SELECT reloptions FROM pg_class WHERE relname = '{index}'")
        assert "fastupdate=on" in row["reloptions"]
