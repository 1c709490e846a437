"""Where a compile's bounds meet: wishes beyond the buckets, caps, rebuilds that no model writes, ceilings, sweeps, resets."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from compiler.errors import CostCeilingReached
from compiler.job.reconciliation import reconcile
from compiler.operations import upkeep
from compiler.operations.upkeep import ResetMode
from compiler.passes import forgetting
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import Draft
from compiler.plan.upkeep import ActRefused
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import Costs
from models.errors import ModelUnavailable, PromptTooLong
from models.language.remote import RemoteModel
from store.compile import answers
from store.compile.jobs import Enqueued, JobStatus
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Refuse, Throttle
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
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
from tests.support.compiler.model_engines import engine_with, script

START_ALL = "UPDATE wiki_compile_jobs SET status = 'succeeded', finished_at = now()"


async def test_request_is_queued_even_if_jobs_of_its_bucket_have_started(pools: Pools, database: str) -> None:
    """A scope that is compiled oftener than once in five minutes takes up bucket after bucket ahead of the clock."""
    await write(pools, journal(1))
    tickets = []
    for _ in range(104):
        tickets.append(await wish(pools))
        await fetch(database, START_ALL)
    assert {one.outcome for one in tickets} == {Enqueued.ENQUEUED}
    assert len({one.job_id for one in tickets}) == 104
    waiting = await wish(pools)
    again = await wish(pools)
    assert (again.outcome, again.job_id) == (Enqueued.DEDUPED, waiting.job_id)


class Mute(ExtractivePlanner):
    """A planner that cannot write a section, once it is told so."""

    trouble: Exception | None = None

    async def write_section(self, draft: Draft) -> str:
        if self.trouble is not None:
            raise self.trouble
        return await super().write_section(draft)


TOLD = NewMemory("Renee Castellano told Dale Whitaker that the vault opens with 4417.", "told", NOW)


@pytest.mark.parametrize("is_forgotten", [True, False], ids=["forgotten", "edited"])
@pytest.mark.parametrize(
    "trouble", [PromptTooLong(), CostCeilingReached(is_for_today=True)], ids=lambda one: type(one).__name__
)
async def test_withdrawn_words_leave_pages_even_if_no_model_rewrites_them(
    pools: Pools, trouble: Exception, *, is_forgotten: bool
) -> None:
    planner, clock = Mute(), Clock()
    engine = engine_on(pools, planner=planner, clock=clock)
    await write_and_compile(pools, [*journal(12), TOLD], engine)
    assert any(b"4417" in body for body in (await wiki_of(pools)).values())
    planner.trouble = trouble
    if is_forgotten:
        async with scoped(pools.background, SCOPE) as connection:
            await memories.forget_all(connection, SCOPE, ["told"])
            await forgetting.forget(connection, SCOPE, ["told"], now=NOW)
    else:
        await write(pools, [replace(TOLD, text="Renee Castellano told Dale Whitaker nothing.")])
    clock.move(minutes=6)
    await wish(pools, now=clock())
    await compiled(pools, engine)
    job = (await all_jobs(pools))[-1]
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 0)
    assert job.metrics["sections_quoted"] > 0
    after = await wiki_of(pools)
    assert not any(b"4417" in body for body in after.values())
    assert b"met again on visit" in after["page /wiki/entity/renee-castellano"], "what others said is still there"


@pytest.mark.parametrize("is_forgotten", [True, False], ids=["forgotten", "edited"])
async def test_withdrawn_words_leave_pages_that_a_sound_model_never_answers_for(
    pools: Pools, *, is_forgotten: bool
) -> None:
    planner, clock = Mute(), Clock()
    await write_and_compile(pools, [*journal(12), TOLD], engine_on(pools, planner=planner))
    planner.trouble = ModelUnavailable("500")
    if is_forgotten:
        await forget(pools, "told")
    else:
        await write(pools, [replace(TOLD, text="Renee Castellano told Dale Whitaker nothing.")])
    clock.move(minutes=6)
    await wish(pools, now=clock())
    worker = worker_on(pools, engine_on(pools, planner=planner, clock=clock))
    for _ in range(3):
        await worker.drain()
        assert (await all_jobs(pools))[-1].status is JobStatus.PENDING, "an outage is waited for"
        clock.move(minutes=2)
    await worker.drain()
    job = (await all_jobs(pools))[-1]
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 0)
    assert not any(b"4417" in body for body in (await wiki_of(pools)).values())


async def test_spending_of_another_owners_job_counts_before_the_next_call(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    """Two scopes of one tenant are compiled at a time: the day's ceiling is the tenant's."""
    await write_and_request(pools, journal(20))
    clock, costs = Clock(), Costs(per_tenant_day_usd=1.0, call_deadline_s=60.0)
    engine = engine_with(pools, model, costs=costs, clock=clock)

    async def planner_for(*given: Any) -> Any:
        made = await engine.planner_for(*given)
        async with scoped(pools.background, HOUSEMATE) as connection:
            await answers.spend(connection, HOUSEMATE, model_id="some", cost_usd=1.0, now=NOW)
        return made

    await worker_on(pools, replace(engine, planner_for=planner_for)).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, site.asks) == (JobStatus.PENDING, [])
    assert job.not_before == (NOW + timedelta(days=1)).replace(hour=0)


async def test_name_of_any_length_fits_a_plan(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    """What a model makes up at any length, and what no index takes as it is."""
    letters = random.Random(7)
    name, other, alias = ("".join(letters.choices("abcdefghijklmnop qrstuvwxyz0123456789", k=9_000)) for _ in range(3))

    def spoiled(plan: dict[str, Any]) -> dict[str, Any]:
        refs = plan["newPages"][0]["source_refs"]
        named = {**plan_answers.new_page(name, refs), "aliases": [alias]}
        named["sections"][0] |= {"slug": other, "heading": other}
        held = {"alias": other, "suggestedType": None, "context": alias, "source_ref": refs[0]}
        return {**plan, "newPages": [*plan["newPages"], named], "unresolvedMentions": [held]}

    site.by_request = script(spoiled)
    await write_and_compile(pools, journal(8), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["quarantined"]) == (JobStatus.SUCCEEDED, {})
    assert job.metrics["mentions_held"] == 1
    wiki = await wiki_of(pools)
    assert max(map(len, wiki)) < 500


class Swept(ExtractivePlanner):
    """Has the scope swept once, while it plans a batch or writes what has to be made again."""

    def __init__(self, pools: Pools) -> None:
        super().__init__()
        self.pools, self.is_armed = pools, False

    async def _sweep(self) -> None:
        if self.is_armed:
            self.is_armed = False
            assert (await reconcile(engine_on(self.pools), self.pools.background, SCOPE)).missed == 1

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        await self._sweep()
        return await super().plan_leaf(batch)

    async def write_section(self, draft: Draft) -> str:
        await self._sweep()
        return await super().write_section(draft)


@pytest.mark.parametrize("is_forgetting", [False, True], ids=["reading", "forgetting"])
async def test_memory_found_missing_by_a_sweep_during_a_job_is_read(
    pools: Pools, database: str, *, is_forgetting: bool
) -> None:
    """The sweep sets the cursor back under the job, which must not carry it forward over what was missed."""
    planner, clock = Swept(pools), Clock()
    engine = engine_on(pools, planner=planner, clock=clock)
    await write_and_compile(pools, [*journal(12), TOLD], engine)
    await fetch(database, "DELETE FROM memory_ledger WHERE memory_id = 'm00003'")
    if is_forgetting:
        async with scoped(pools.background, SCOPE) as connection:
            await memories.forget_all(connection, SCOPE, ["told"])
            await forgetting.forget(connection, SCOPE, ["told"], now=NOW)
    else:
        await write(pools, journal(3, first=12))
    planner.is_armed = True
    clock.move(minutes=6)
    await wish(pools, now=clock())
    for _ in range(3):
        await worker_on(pools, engine).drain_scope(SCOPE)
        clock.move(minutes=2)
    assert not planner.is_armed
    assert await fetch(database, "SELECT 1 FROM memory_ledger WHERE memory_id = 'm00003'")


async def test_memory_refused_by_a_content_filter_is_quarantined_and_the_rest_compiled(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    good, filtered = script(), Refuse(400, "content_filter", "The prompt was filtered.")
    site.by_request = lambda ask: filtered if "4417" in ask.user else good(ask)
    await write_and_compile(pools, [*journal(6), TOLD], engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["quarantined"]) == (JobStatus.SUCCEEDED, {"PromptRefused": 1})
    assert job.metrics["records_read"] == 7


async def test_job_writes_exactly_as_much_as_its_caps_allow(pools: Pools) -> None:
    tight = capped(max_new_pages_per_job=2, max_sections_rewritten_per_job=4)
    await write_and_compile(pools, journal(12), engine_on(pools, settings=tight))
    clock = Clock(NOW + timedelta(minutes=6))
    await write(pools, journal(12, first=12))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock, settings=tight))
    found = await all_jobs(pools)
    for cap, figure, most in (("new_pages", "pages_created", 2), ("sections", "sections_rewritten", 4)):
        cut = [job.metrics[figure] for job in found if job.metrics["cap_hit"] == cap]
        assert cut, f"the cap of {cap} was met"
        assert set(cut) == {most}
        assert max(job.metrics[figure] for job in found) == most


async def test_throttled_job_waits_as_long_as_the_provider_says(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = lambda ask: Throttle("900")
    await write_and_request(pools, journal(4))
    await worker_on(pools, engine_with(pools, model)).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == (JobStatus.PENDING, 0)
    assert (job.not_before - NOW).total_seconds() == 900


@pytest.mark.parametrize("mode", list(ResetMode))
async def test_reset_cancels_waiting_jobs_and_the_next_request_rebuilds_the_wiki(pools: Pools, mode: ResetMode) -> None:
    engine = engine_on(pools)
    await write_and_compile(pools, journal(6), engine)
    pages = {name for name in await wiki_of(pools) if name.startswith("page ")}
    later = NOW + timedelta(minutes=6)
    waiting = await wish(pools, now=later)
    async with scoped(pools.background, SCOPE) as connection:
        done = await upkeep.reset(connection, SCOPE, mode=mode, now=later)
    assert (done.pages, done.jobs, done.memories) == (len(pages), 1, 6)
    assert [job.status for job in await all_jobs(pools) if job.job_id == waiting.job_id] == [JobStatus.CANCELLED]
    assert not any(b'"is_active":true' in body for body in (await wiki_of(pools)).values())
    clock = Clock(later + timedelta(minutes=6))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock))
    assert {name for name in await wiki_of(pools) if name.startswith("page ")} == pages


async def test_reset_is_refused_while_a_job_runs(pools: Pools) -> None:
    await write_and_request(pools, journal(6))
    assert await worker_on(pools, engine_on(pools))._claim(SCOPE) is not None
    async with scoped(pools.background, SCOPE) as connection:
        with pytest.raises(ActRefused, match="is running"):
            await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=NOW)
