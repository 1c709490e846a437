"""Pages that no aggregation can be planned of: they are passed, at one call each, and replayed as they were."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from compiler.job.compilation import Engine
from compiler.operations.replay import ANSWER_MISSING, replay
from compiler.settings import Caps
from models.language.remote import RemoteModel
from store.compile.jobs import JobStatus
from store.content.memories import NewMemory
from store.db.postgres import Pools
from tests.stand_ins.model_script import Ask, Behaviour, Cut, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.city_places import AUSTIN, TORONTO, about_places, hub, places
from tests.support.compiler.compiling import (
    SCOPE,
    Clock,
    all_jobs,
    compiled,
    fetch,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)
from tests.support.compiler.model_engines import engine_with

NO_USE = Cut('{"newPages": [')
LOOKS = "SELECT options ->> 'failed' AS failed FROM compile_batches WHERE kind = 'aggregation' ORDER BY batch_seq"


def narrow(engine: Engine, *, most: int) -> Engine:
    """Return an engine whose aggregations see so many changed pages each."""
    return replace(engine, settings=replace(engine.settings, caps=replace(Caps(), max_aggregation_pages=most)))


def aggregations(site: ModelServer) -> list[str]:  # not the fixture
    """Return what the model was asked to aggregate."""
    return [ask.user for ask in site.asks if ask.schema_name == "aggregation_plan"]


async def test_each_unplannable_window_is_asked_about_once(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = lambda ask: NO_USE if ask.schema_name == "aggregation_plan" else about_places(ask)
    clock = Clock()
    engine = narrow(engine_with(pools, model, clock=clock), most=2)
    await write_and_compile(pools, places(), engine)
    asked = aggregations(site)
    assert len(asked) == len(set(asked)) == len((*AUSTIN, *TORONTO)) / 2
    found = await all_jobs(pools)
    assert {(job.status, job.metrics["aggregation_error"]) for job in found} == {
        (JobStatus.SUCCEEDED, "OutputTruncated")
    }
    assert sum(job.metrics["aggregation_failed"] for job in found) == len(asked)
    for _ in range(3):
        clock.move(minutes=6)
        await wish(pools, now=clock())
        await compiled(pools, engine)
    assert aggregations(site) == asked, "nothing changed since"
    again = NewMemory("Suerte in Austin was loud.", "loud", clock(), metadata={"place": {"name": "Suerte"}})
    await write(pools, [again], now=clock())
    await wish(pools, now=clock())
    await compiled(pools, engine)
    assert len(aggregations(site)) == len(asked) + 1
    assert {row["failed"] for row in await fetch(database, LOOKS)} == {"OutputTruncated"}
    questions = len(site.asks)
    again_aside = await replay(engine, pools.background, SCOPE)
    assert (again_aside.differences, again_aside.unreplayable) == ((), 0)
    assert len(site.asks) == questions, "a replay does not ask what came to nothing"


async def test_pages_after_an_unplannable_window_get_their_hub(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    def answer(ask: Ask) -> Behaviour:
        if ask.schema_name != "aggregation_plan":
            return about_places(ask)
        return NO_USE if ask.user == aggregations(site)[0] else Say(hub(ask, AUSTIN))

    site.by_request = answer
    engine = narrow(engine_with(pools, model), most=3)
    await write_and_compile(pools, places(), engine)
    found = await all_jobs(pools)
    assert [job.metrics["aggregation_failed"] for job in found] == [1, 0]
    assert [job.metrics["cap_hit"] for job in found] == ["aggregation_pages", ""]
    assert "page /wiki/topic/austin" in await wiki_of(pools)
    questions = [(ask.system, ask.user) for ask in site.asks]
    assert len(questions) == len(set(questions))
    again = await replay(engine, pools.background, SCOPE)
    assert (again.differences, again.unreplayable) == ((), 0)


async def test_worker_that_dies_after_a_failed_aggregation_does_not_pay_twice(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = lambda ask: NO_USE if ask.schema_name == "aggregation_plan" else about_places(ask)
    clock, passed = Clock(), list[str]()

    def dies(at: str) -> None:
        passed.append(at)
        if passed[-2:] == ["aggregation_planned", "stored"]:
            raise asyncio.CancelledError

    engine = engine_with(pools, model, clock=clock)
    await write_and_request(pools, places())
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(SCOPE)
    assert passed[-1] == "stored"
    clock.move(minutes=2)  # its lease runs out
    assert await worker_on(pools, engine, holder="two").drain_scope(SCOPE)
    (job,) = await all_jobs(pools)
    assert (job.metrics["aggregation_failed"], job.metrics["aggregation_error"]) == (1, "OutputTruncated")
    assert len(aggregations(site)) == 1
    assert [row["failed"] for row in await fetch(database, LOOKS)][:1] == ["OutputTruncated"]


WAITING = (
    "UPDATE wiki_page_sections SET aggregation = jsonb_set(aggregation, '{promotion_status}', '\"candidate\"')"
    " WHERE aggregation IS NOT NULL RETURNING 1"
)


async def test_failed_promotion_is_not_asked_again_until_something_changes(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = about_places
    clock = Clock()
    engine = engine_with(pools, model, clock=clock)
    await write_and_compile(pools, places(), engine)
    assert await fetch(database, WAITING)
    site.by_request = lambda ask: NO_USE if ask.schema_name == "aggregation_plan" else about_places(ask)
    for _ in range(3):
        clock.move(minutes=6)
        await wish(pools, now=clock())
        await compiled(pools, engine)
    assert len(aggregations(site)) == 2
    assert sum(job.metrics["aggregation_failed"] for job in await all_jobs(pools)) == 1


async def test_replay_asks_no_model_and_ends_at_a_forgotten_answer(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = about_places
    engine = engine_with(pools, model)
    await write_and_compile(pools, places(), engine)
    before, asked = await wiki_of(pools), len(site.asks)
    await fetch(database, "DELETE FROM model_answers")
    found = await replay(engine, pools.background, SCOPE)
    assert (found.is_identical, found.is_stopped, found.differences) == (False, True, ())
    ((first,),) = await fetch(database, "SELECT min(batch_seq) FROM compile_batches WHERE kind = 'leaf'")
    assert (found.unreplayable_from, found.unreplayable, found.reason) == (first, 1, ANSWER_MISSING)
    assert len(site.asks) == asked
    assert await wiki_of(pools) == before
    other = "jsonb_build_object('prompts', jsonb_build_array('leaf-0'))"
    await fetch(database, f"UPDATE compile_batches SET options = options || {other}")
    assert (await replay(engine, pools.background, SCOPE)).reason == "it was planned with other prompts"
