"""Decay jobs: groups, due times, and recovery from a dead process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from compiler.decay.runner import LEASE, WITHOUT_MODEL
from sidecar.rpc.decay import DecayService
from sidecar.rpc.memory import MemoryService
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import Decay
from sidecar.services.aging.episodes import Episodes
from sidecar.services.memories import Memories
from sidecar.v1 import decay_pb2 as decay_pb
from sidecar.v1 import memory_pb2 as pb
from store.compile import decay_jobs
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.support.compiler.compiling import Clock, fetch
from tests.support.rpc.service_calls import NOW, an_agent, refused_field

OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
LATER = NOW + timedelta(days=100)


@pytest.fixture
def clock() -> Clock:
    return Clock(LATER)


@dataclass(frozen=True)
class DecayWorld:
    """The memory service and the decay service on one clock."""

    memories: MemoryService
    decay: DecayService


@pytest.fixture
def world(pools: Pools, clock: Clock) -> DecayWorld:
    return world_on(pools, clock)


def world_on(pools: Pools, clock: Clock) -> DecayWorld:
    attestations = Attestations(pools.background, now=clock, keys={}, model_id="")
    episodes = Episodes(pools.background, now=clock, pause=timedelta(minutes=30))
    decay = DecayService(Decay(pools, now=clock, attestations=attestations), episodes, attestations)
    return DecayWorld(MemoryService(Memories(pools, now=clock)), decay)


async def candidates(world: DecayWorld, *ids: str, document_id: str = "", days: int = 0) -> None:
    new = [
        pb.NewMemory(memory_id=one, text=f"It was {one}.", status=pb.MEMORY_STATUS_CANDIDATE, document_id=document_id)
        for one in ids
    ]
    for one in new:
        one.occurred_time.FromDatetime(NOW + timedelta(days=days))
    await world.memories.retain(pb.RetainRequest(memories=new), an_agent())


async def schedule(world: DecayWorld, *, age_days: int = 30, most_sources: int = 20) -> list[decay_pb.DecayJob]:
    request = decay_pb.ScheduleDecayRequest(age_days=age_days, most_sources=most_sources, most_share=100)
    return list((await world.decay.schedule_decay(request, an_agent())).jobs)


async def run(world: DecayWorld, job_id: str = "") -> decay_pb.RunDecayResponse:
    return await world.decay.run_decay(decay_pb.RunDecayRequest(job_id=job_id), an_agent())


async def listed(world: DecayWorld) -> list[decay_pb.DecayJob]:
    return list((await world.decay.list_decay_jobs(decay_pb.ListDecayJobsRequest(), an_agent())).jobs)


async def test_aged_candidates_of_a_document_or_a_month_go_together(world: DecayWorld) -> None:
    await candidates(world, "a", "b", document_id="d1")
    await candidates(world, "c", "d")
    await candidates(world, "alone", days=40)
    await candidates(world, "young", "youngest", days=99)
    answer = await world.decay.explain_decay(decay_pb.ExplainDecayRequest(most_share=100), an_agent())
    assert [list(one.memory_ids) for one in answer.groups] == [["a", "b"], ["c", "d"]]
    assert all(one.saved_bytes == -1 for one in answer.groups)
    assert await listed(world) == []


async def test_scheduled_jobs_compress_their_frozen_sources_and_a_rerun_changes_nothing(
    world: DecayWorld, database: str
) -> None:
    await candidates(world, "a", "b", "c")
    [job] = await schedule(world)
    assert (job.state, list(job.source_ids)) == ("pending", ["a", "b", "c"])
    assert await schedule(world) == []
    ran = (await run(world)).job
    assert (ran.job_id, ran.state, ran.failure) == (job.job_id, "completed", "")
    summary = (await world.memories.get_memory(pb.GetMemoryRequest(memory_id=ran.result_id), an_agent())).memory
    assert summary.text == "It was a.\nIt was b.\nIt was c."
    assert not (await run(world)).HasField("job")
    assert (await run(world, job.job_id)).job == (await listed(world))[0]
    edges = await fetch(database, "SELECT DISTINCT job_id FROM memory_supersessions")
    assert [str(row[0]) for row in edges] == [job.job_id]
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(1,)]


async def test_summaries_are_not_compressed_again_by_a_policy(world: DecayWorld) -> None:
    for at in range(4):
        await candidates(world, f"a{at}", f"b{at}")
    assert len(await schedule(world, most_sources=4)) == 2
    assert {(await run(world)).job.state for _ in range(2)} == {"completed"}
    assert await schedule(world) == []


async def test_job_whose_sources_changed_status_fails_with_the_reason(world: DecayWorld) -> None:
    await candidates(world, "a", "b")
    await schedule(world)
    accepted = pb.SetMemoryStatusRequest(memory_id="b", status=pb.MEMORY_STATUS_ACCEPTED)
    await world.memories.set_memory_status(accepted, an_agent())
    ran = (await run(world)).job
    assert (ran.state, ran.result_id) == ("failed", "")
    assert "'b' is accepted" in ran.failure


async def test_cancelled_job_never_runs_and_its_candidates_are_free_again(world: DecayWorld) -> None:
    await candidates(world, "a", "b")
    [job] = await schedule(world)
    cancelled = await world.decay.cancel_decay(decay_pb.CancelDecayRequest(job_id=job.job_id), an_agent())
    assert cancelled.job.state == "cancelled"
    assert not (await run(world)).HasField("job")
    assert await world.decay.cancel_decay(decay_pb.CancelDecayRequest(job_id=job.job_id), an_agent()) == cancelled
    [second] = await schedule(world)
    await run(world)
    with pytest.raises(FailedPrecondition, match="completed"):
        await world.decay.cancel_decay(decay_pb.CancelDecayRequest(job_id=second.job_id), an_agent())


async def test_unknown_jobs_and_policies_out_of_bounds_are_refused(world: DecayWorld) -> None:
    with pytest.raises(NotFound):
        await run(world, "6f1c2f6e-0000-4000-8000-000000000001")
    assert await refused_field(run(world, "x")) == "job_id"
    assert await refused_field(schedule(world, age_days=-1)) == "age_days"
    assert await refused_field(schedule(world, most_sources=1)) == "most_sources"


async def test_many_runners_at_once_compress_each_group_once(world: DecayWorld, database: str) -> None:
    for at in range(5):
        await candidates(world, f"a{at}", f"b{at}", document_id=f"d{at}")
    await schedule(world)
    answers = await asyncio.gather(*(run(world) for _ in range(12)))
    assert len({one.job.job_id for one in answers if one.HasField("job")}) == 5
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(5,)]


async def test_job_of_dead_process_is_claimed_after_its_lease_and_fenced(
    world: DecayWorld, pools: Pools, clock: Clock, database: str
) -> None:
    await candidates(world, "a", "b")
    await schedule(world)
    async with scoped(pools.background, SCOPE) as connection:
        held = await decay_jobs.claim(connection, SCOPE, WITHOUT_MODEL, now=clock(), lease_until=clock() + LEASE)
    assert held is not None
    assert not (await run(world)).HasField("job")
    clock.now += LEASE
    assert (await run(world)).job.state == "completed"
    async with scoped(pools.background, SCOPE) as connection:
        assert not await decay_jobs.end(connection, SCOPE, held)
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(1,)]


async def test_forgotten_memory_leaves_every_waiting_job(world: DecayWorld, database: str) -> None:
    await candidates(world, "a", "b", "c")
    await schedule(world)
    await world.memories.delete_memory(pb.DeleteMemoryRequest(memory_id="b"), an_agent())
    assert await fetch(database, "SELECT source_ids FROM decay_jobs") == [(["a", "c"],)]
    assert (await run(world)).job.state == "completed"
