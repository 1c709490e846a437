"""How memories reach the wiki: each once, edited and forgotten ones too, bad ones set aside, and never an emptied wiki."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from compiler.errors import ListingUnsafe
from compiler.job.reconciliation import reconcile
from compiler.operations import upkeep
from compiler.operations.replay import replay
from compiler.operations.upkeep import ResetMode
from compiler.plan.batch import LeafBatch
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings, Patience
from compiler.state.substrates import ListingRow, MemoryListing, PostgresSubstrate
from models.errors import Throttled
from store.compile import answers, ledger
from store.compile.jobs import JobOptions, JobStatus, Trigger
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.errors import DatabaseFull
from store.scope import Scope
from store.text.texts import text_hash
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    OtherListing,
    again,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    forget,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)

PAGE = "page /wiki/entity/renee-castellano"


async def outcomes(pools: Pools) -> dict[str, tuple[str, str]]:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        return {one.memory_id: (one.outcome, one.reason) for one in (await ledger.read_all(connection, SCOPE)).values()}


@pytest.mark.parametrize("is_edited", [False, True], ids=["forgotten", "edited"])
async def test_soft_reset_leaves_no_withdrawn_word_on_a_page(pools: Pools, database: str, is_edited: bool) -> None:
    told = [NewMemory(f"We saw Quentin Marsh beside a kumquat tree, visit {at}.", f"q{at}", NOW) for at in range(3)]
    words = "SELECT body_md AS words FROM wiki_page_sections UNION ALL SELECT summary FROM wiki_pages"
    await write_and_compile(pools, [*journal(6), *told], engine_on(pools))
    assert any("kumquat" in row["words"] for row in await fetch(database, words))
    if is_edited:
        await write(pools, [replace(one, text=f"Nothing of note was seen on day {one.memory_id}.") for one in told])
    else:
        await forget(pools, *(one.memory_id or "" for one in told))
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=ResetMode.POLITE, now=NOW)
    await again(pools)
    assert PAGE in await wiki_of(pools)
    assert not any("kumquat" in row["words"] for row in await fetch(database, words))


async def test_unchanged_corpus_read_again_changes_nothing(pools: Pools, database: str) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    before = await wiki_of(pools)
    pages = "SELECT xmin::text, page_id::text AS id FROM wiki_pages"
    state = f"{pages} UNION ALL SELECT xmin::text, section_id::text FROM wiki_page_sections ORDER BY 2"
    rows = await fetch(database, state)
    await fetch(database, "UPDATE wiki_compile_cursors SET cursor = ''")
    await fetch(database, "DELETE FROM memory_ledger")
    await again(pools)
    assert (await all_jobs(pools))[-1].metrics["records_read"] == 30
    assert await wiki_of(pools) == before
    assert await fetch(database, state) == rows


async def test_edited_memory_changes_exactly_the_sections_based_on_it(pools: Pools) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    before = await wiki_of(pools)
    old = journal(1)[0]
    await write(pools, [replace(old, text=old.text.replace("swam at eight", "played the accordion"))])
    await again(pools)
    after = await wiki_of(pools)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    fed = {name for name in before if name.startswith("page ") and b'"m00000"' in before[name]}
    assert {name for name in changed if name.startswith("page ")} == fed
    assert b"accordion" in after[PAGE]
    assert not any(b"number 0." in body and b"swam at eight that time, number 0." in body for body in after.values())


async def test_forgotten_memory_leaves_no_word_behind(pools: Pools, database: str) -> None:
    secret = NewMemory("Renee Castellano told Dale Whitaker that the vault opens with marzipan.", "secret", NOW)
    await write_and_compile(pools, [*journal(12), secret], engine_on(pools))
    assert any(b"marzipan" in body for body in (await wiki_of(pools)).values())
    await forget(pools, "secret")
    await again(pools)
    after = await wiki_of(pools)
    assert not any(b"marzipan" in body or b"secret" in body for body in after.values())
    assert not any("secret" in name for name in after)
    dumps = [
        await fetch(database, f"SELECT t::text AS row FROM {table} t") for table in ("compile_batches", "memory_ledger")
    ]
    assert not any("marzipan" in row["row"] for rows in dumps for row in rows)
    assert "secret" not in await outcomes(pools)


async def test_page_of_forgotten_memories_is_deleted_and_one_edited_away_is_archived(pools: Pools) -> None:
    await write_and_compile(
        pools,
        [NewMemory(f"Old Otto Kramer mended the roof of shed {n}.", f"o{n}", NOW) for n in range(3)],
        engine_on(pools),
    )
    name = next(one for one in await wiki_of(pools) if "kramer" in one)
    await write(pools, [NewMemory(f"Nothing of note was seen on day {n}.", f"o{n}", NOW) for n in range(3)])
    await again(pools)
    assert b'"is_active":false' in (await wiki_of(pools))[name]
    await write(pools, [NewMemory(f"Old Otto Kramer mended the roof of shed {n}.", f"o{n}", NOW) for n in range(3)])
    await again(pools, minutes=12)
    assert b'"is_active":true' in (await wiki_of(pools))[name]
    await forget(pools, "o0", "o1", "o2")
    await again(pools, minutes=18)
    assert not any("kramer" in one for one in await wiki_of(pools))


async def test_more_forgotten_memories_than_a_batch_holds_leave_no_page(pools: Pools) -> None:
    await write(
        pools, [NewMemory(f"Old Otto Kramer mended the roof of shed {n}.", f"o{n:03}", NOW) for n in range(230)]
    )
    await wish(pools)
    await compiled(pools, engine_on(pools))
    assert any("kramer" in one for one in await wiki_of(pools))
    await forget(pools, *(f"o{n:03}" for n in range(230)))
    await again(pools)
    assert await wiki_of(pools) == {}


async def test_forgetting_deletes_cached_answers_that_saw_the_memory(pools: Pools) -> None:
    await write(pools, journal(2))
    async with scoped(pools.background, SCOPE) as connection:
        for key, seen in ((b"one", ["m00000"]), (b"two", ["m00001"])):
            await answers.put(connection, SCOPE, key, answer=b"{}", memory_ids=seen, now=NOW)
    await forget(pools, "m00000")
    async with scoped(pools.background, SCOPE) as connection:
        assert await answers.get(connection, SCOPE, b"one") is None
        assert await answers.get(connection, SCOPE, b"two") == b"{}"


class Picky(ExtractivePlanner):
    """Can't read batches with one memory in them."""

    def __init__(self, bad: str) -> None:
        self.bad = bad

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        if any(memory.memory_id == self.bad for memory in batch.memories):
            raise ValueError("no plan can be made of this")
        return await super().plan_leaf(batch)


async def test_memory_that_breaks_a_batch_is_quarantined_and_the_rest_compiled(pools: Pools) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools, planner=Picky("m00017")))
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED
    assert job.metrics["quarantined"] == {"ValueError": 1}
    found = await outcomes(pools)
    assert found.pop("m00017") == ("quarantined", "ValueError")
    assert set(found.values()) == {("applied", "")}
    assert len(found) == 29


class Failing(ExtractivePlanner):
    """A planner that fails with this error until told otherwise."""

    is_failing = True

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        if self.is_failing:
            raise self.error
        return await super().plan_leaf(batch)


async def test_defect_that_every_memory_meets_fails_the_job_and_quarantines_none(pools: Pools) -> None:
    await write_and_request(pools, journal(30))
    planner, clock = Failing(ValueError("no plan can be made of anything")), Clock()
    engine = engine_on(pools, planner=planner, clock=clock)
    await worker_on(pools, engine).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["quarantined"]) == (JobStatus.PENDING, {})
    assert "no plan can be made of anything" in job.error
    assert await outcomes(pools) == {}
    planner.is_failing = False
    clock.move(hours=1)
    await compiled(pools, engine)
    assert set((await outcomes(pools)).values()) == {("applied", "")}


@pytest.mark.parametrize("error", [Throttled("later"), DatabaseFull("SQLSTATE 53100")])
async def test_throttling_and_outages_quarantine_nothing(pools: Pools, error: Exception) -> None:
    await write_and_request(pools, journal(10))
    planner, clock = Failing(error), Clock()
    engine = engine_on(pools, planner=planner, clock=clock)
    for _ in range(10):
        await worker_on(pools, engine).work_once()
        (job,) = await all_jobs(pools)
        assert (job.status, job.attempt) == (JobStatus.PENDING, 0)
        assert job.not_before > clock()
        clock.move(hours=1)
    planner.is_failing = False
    await compiled(pools, engine)
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"]) == (JobStatus.SUCCEEDED, 10)


class Fatal(ExtractivePlanner):
    """A planner over which the worker breaks off when it sees one memory, and keeps its lease as a dead one would."""

    def __init__(self, bad: str) -> None:
        self.bad = bad

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        if any(memory.memory_id == self.bad for memory in batch.memories):
            raise asyncio.CancelledError
        return await super().plan_leaf(batch)


async def test_memory_that_kills_workers_is_quarantined_in_the_end(pools: Pools) -> None:
    await write_and_request(pools, journal(6))
    clock = Clock()
    engine = engine_on(pools, planner=Fatal("m00004"), clock=clock, settings=capped(record_page_size=3))
    deaths = 0
    while not await worker_on(pools, engine).drain_scope(SCOPE):
        deaths += 1
        clock.move(minutes=2)  # its lease runs out
    (job,) = await all_jobs(pools)
    assert (job.status, deaths) == (JobStatus.SUCCEEDED, 5)
    found = await outcomes(pools)
    assert found.pop("m00004") == ("quarantined", "crashed_the_worker")
    assert set(found.values()) == {("applied", "")}


async def test_failing_job_waits_longer_each_time_and_is_given_up(pools: Pools) -> None:
    await write_and_request(pools, journal(6))
    clock, waits = Clock(), list[float]()
    worker = worker_on(pools, engine_on(pools, planner=Failing(OSError("no space left on device")), clock=clock))
    for _ in range(5):
        assert await worker.work_once()
        (job,) = await all_jobs(pools)
        waits.append((job.not_before - clock()).total_seconds())
        clock.now = max(clock(), job.not_before)
    assert (job.status, job.attempt, job.error) == (JobStatus.FAILED, 5, "OSError: no space left on device")
    assert waits[:4] == [30.0, 60.0, 120.0, 240.0]
    assert not await wiki_of(pools)


async def test_noise_is_skipped_and_counted(pools: Pools) -> None:
    await write_and_compile(pools, [*journal(5), NewMemory("!!!", "noise")], engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.metrics["records_filtered"] == 1
    assert sum(job.metrics["filtered"].values()) == 1
    assert (await outcomes(pools))["noise"][0] == "filtered"


async def test_sixteen_writers_and_four_workers_lose_and_duplicate_nothing(pools: Pools, database: str) -> None:
    clock = Clock()
    engine = engine_on(pools, clock=clock, settings=capped(record_page_size=10, max_records_per_job=40))
    workers = [worker_on(pools, engine, holder=f"w{n}", poll_s=0.05) for n in range(4)]
    running = [asyncio.create_task(worker.run()) for worker in workers]

    async def writer(number: int) -> None:
        for step in range(3):
            await write_and_request(pools, journal(2, first=(number * 3 + step) * 2))

    await asyncio.gather(*(writer(number) for number in range(16)))
    for worker in workers:
        worker.stop()
    await asyncio.gather(*running)
    await wish(pools, now=NOW + timedelta(hours=1))
    clock.move(hours=1)
    await compiled(pools, engine)
    found = await all_jobs(pools)
    assert sum(job.metrics["records_read"] for job in found if job.metrics) == 96
    assert set((await outcomes(pools)).values()) == {("applied", "")}
    assert len(await outcomes(pools)) == 96
    twice = "SELECT 1 FROM compile_batches, unnest(memory_ids) m WHERE kind = 'leaf' GROUP BY m HAVING count(*) > 1"
    assert await fetch(database, twice) == []


@pytest.mark.parametrize("is_complete", [True, False])
async def test_empty_listing_of_a_backend_archives_nothing(pools: Pools, *, is_complete: bool) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    before = await wiki_of(pools)
    substrate = OtherListing(pools.background)
    substrate.listed = MemoryListing({}, is_complete)
    engine = engine_on(pools, substrate=substrate)
    with pytest.raises(ListingUnsafe):
        await reconcile(engine, pools.background, SCOPE)
    await again(pools)
    assert await wiki_of(pools) == before


async def test_sweep_finds_deletions_that_sent_no_notice(pools: Pools, database: str) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    await fetch(database, "DELETE FROM memories WHERE memory_id = 'm00003'")
    swept = await reconcile(engine_on(pools), pools.background, SCOPE)
    assert (swept.gone, swept.renamed) == (1, 0)
    await again(pools)
    assert not any(b'"m00003"' in body for body in (await wiki_of(pools)).values())


async def test_memory_compiled_during_a_listing_is_not_taken_for_deleted(pools: Pools) -> None:
    later = Clock(NOW + timedelta(minutes=6))

    class Slow(PostgresSubstrate):
        async def listing(self, scope: Scope) -> MemoryListing:
            listing = await super().listing(scope)
            await write(pools, journal(6, first=12))
            await wish(pools, now=later())
            await compiled(pools, engine_on(pools, clock=later))
            return listing

    await write_and_compile(pools, journal(12), engine_on(pools))
    found = await reconcile(engine_on(pools, substrate=Slow(pools.background), clock=later), pools.background, SCOPE)
    assert (found.gone, found.missed) == (0, 0)


async def test_sweep_follows_a_memory_to_its_new_id(pools: Pools, database: str) -> None:
    entries = [replace(one, document_id=f"d{one.memory_id}") for one in journal(30)]
    await write_and_compile(pools, entries, engine_on(pools))
    before = await wiki_of(pools)
    async with scoped(pools.background, SCOPE) as connection:
        await answers.put(connection, SCOPE, b"asked", answer=b"{}", memory_ids=["m00003"], now=NOW)
    await fetch(database, "UPDATE memories SET memory_id = 'issued-again' WHERE memory_id = 'm00003'")
    swept = await reconcile(engine_on(pools), pools.background, SCOPE)
    assert (swept.gone, swept.renamed) == (0, 1)
    await again(pools)
    after = await wiki_of(pools)
    assert {name.replace("issued-again", "m00003") for name in after} == before.keys()
    assert all(after[name].replace(b"issued-again", b"m00003") == before[name] for name in before if name in after)
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0), "the log knows it under its new id too"
    await forget(pools, "issued-again")
    async with scoped(pools.background, SCOPE) as connection:
        assert await answers.get(connection, SCOPE, b"asked") is None, "the answer saw it under its old id"


async def test_operator_may_let_a_sweep_archive_most_pages(pools: Pools) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    substrate = OtherListing(pools.background)
    substrate.listed = MemoryListing({"m00000": ListingRow("", text_hash(journal(1)[0].text))}, is_complete=True)
    careful = replace(CompileSettings(), patience=Patience(largest_unconfirmed_archive_pages=2))
    engine = engine_on(pools, substrate=substrate, clock=Clock(NOW + timedelta(minutes=6)), settings=careful)
    with pytest.raises(ListingUnsafe):
        await reconcile(engine, pools.background, SCOPE)
    await wish(pools, trigger=Trigger.ADMIN, options=JobOptions(may_archive_many=True), now=engine.now())
    await compiled(pools, engine)
    assert {job.status for job in await all_jobs(pools)} == {JobStatus.SUCCEEDED}
    assert (await outcomes(pools)).keys() == {"m00000"}


async def test_operator_cannot_make_an_incomplete_listing_count_as_complete(pools: Pools) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    before = await wiki_of(pools)
    engine = engine_on(pools, substrate=OtherListing(pools.background), clock=Clock(NOW + timedelta(minutes=6)))
    await wish(pools, trigger=Trigger.ADMIN, options=JobOptions(may_archive_many=True), now=engine.now())
    await compiled(pools, engine)
    job = (await all_jobs(pools))[-1]
    assert (job.status, await wiki_of(pools)) == (JobStatus.FAILED, before)
    assert "incomplete" in job.error
