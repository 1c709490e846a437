"""Decay jobs: what is compressed together, when, and what becomes of a job whose process dies."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from compiler.decay.runner import LEASE
from sidecar.rpc.memory import MemoryService
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.memories import Memories
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


@pytest.fixture
def service(pools: Pools, clock: Clock) -> MemoryService:
    return MemoryService(Memories(pools, now=clock))


async def candidates(service: MemoryService, *ids: str, document_id: str = "", days: int = 0) -> None:
    new = [
        pb.NewMemory(memory_id=one, text=f"It was {one}.", status=pb.MEMORY_STATUS_CANDIDATE, document_id=document_id)
        for one in ids
    ]
    for one in new:
        one.occurred_time.FromDatetime(NOW + timedelta(days=days))
    await service.retain(pb.RetainRequest(memories=new), an_agent())


async def schedule(service: MemoryService, *, age_days: int = 30, most_sources: int = 20) -> list[pb.DecayJob]:
    request = pb.ScheduleDecayRequest(age_days=age_days, most_sources=most_sources)
    return list((await service.schedule_decay(request, an_agent())).jobs)


async def run(service: MemoryService, job_id: str = "") -> pb.RunDecayResponse:
    return await service.run_decay(pb.RunDecayRequest(job_id=job_id), an_agent())


async def listed(service: MemoryService) -> list[pb.DecayJob]:
    return list((await service.list_decay_jobs(pb.ListDecayJobsRequest(), an_agent())).jobs)


async def test_aged_candidates_of_a_document_or_a_month_go_together(service: MemoryService) -> None:
    await candidates(service, "a", "b", document_id="d1")
    await candidates(service, "c", "d")
    await candidates(service, "alone", days=40)
    await candidates(service, "young", "youngest", days=99)
    answer = await service.explain_decay(pb.ExplainDecayRequest(), an_agent())
    assert [list(one.memory_ids) for one in answer.groups] == [["a", "b"], ["c", "d"]]
    assert all(one.saved_bytes == -1 for one in answer.groups)
    assert await listed(service) == []


async def test_scheduled_jobs_compress_their_frozen_sources_and_a_rerun_changes_nothing(
    service: MemoryService, database: str
) -> None:
    await candidates(service, "a", "b", "c")
    [job] = await schedule(service)
    assert (job.state, list(job.source_ids)) == ("pending", ["a", "b", "c"])
    assert await schedule(service) == []
    ran = (await run(service)).job
    assert (ran.job_id, ran.state, ran.failure) == (job.job_id, "completed", "")
    summary = (await service.get_memory(pb.GetMemoryRequest(memory_id=ran.result_id), an_agent())).memory
    assert summary.text == "It was a.\nIt was b.\nIt was c."
    assert not (await run(service)).HasField("job")
    assert (await run(service, job.job_id)).job == (await listed(service))[0]
    edges = await fetch(database, "SELECT DISTINCT job_id FROM memory_supersessions")
    assert [str(row[0]) for row in edges] == [job.job_id]
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(1,)]


async def test_summaries_are_not_compressed_again_by_a_policy(service: MemoryService) -> None:
    for at in range(4):
        await candidates(service, f"a{at}", f"b{at}")
    assert len(await schedule(service, most_sources=4)) == 2
    assert {(await run(service)).job.state for _ in range(2)} == {"completed"}
    assert await schedule(service) == []


async def test_job_whose_sources_changed_status_fails_with_the_reason(service: MemoryService) -> None:
    await candidates(service, "a", "b")
    await schedule(service)
    accepted = pb.SetMemoryStatusRequest(memory_id="b", status=pb.MEMORY_STATUS_ACCEPTED)
    await service.set_memory_status(accepted, an_agent())
    ran = (await run(service)).job
    assert (ran.state, ran.result_id) == ("failed", "")
    assert "'b' is accepted" in ran.failure


async def test_cancelled_job_never_runs_and_its_candidates_are_free_again(service: MemoryService) -> None:
    await candidates(service, "a", "b")
    [job] = await schedule(service)
    cancelled = await service.cancel_decay(pb.CancelDecayRequest(job_id=job.job_id), an_agent())
    assert cancelled.job.state == "cancelled"
    assert not (await run(service)).HasField("job")
    assert await service.cancel_decay(pb.CancelDecayRequest(job_id=job.job_id), an_agent()) == cancelled
    [second] = await schedule(service)
    await run(service)
    with pytest.raises(FailedPrecondition, match="completed"):
        await service.cancel_decay(pb.CancelDecayRequest(job_id=second.job_id), an_agent())


async def test_unknown_jobs_and_policies_out_of_bounds_are_refused(service: MemoryService) -> None:
    with pytest.raises(NotFound):
        await run(service, "6f1c2f6e-0000-4000-8000-000000000001")
    assert await refused_field(run(service, "x")) == "job_id"
    assert await refused_field(schedule(service, age_days=-1)) == "age_days"
    assert await refused_field(schedule(service, most_sources=1)) == "most_sources"


async def test_many_runners_at_once_compress_each_group_once(service: MemoryService, database: str) -> None:
    for at in range(5):
        await candidates(service, f"a{at}", f"b{at}", document_id=f"d{at}")
    await schedule(service)
    answers = await asyncio.gather(*(run(service) for _ in range(12)))
    assert len({one.job.job_id for one in answers if one.HasField("job")}) == 5
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(5,)]


async def test_job_of_a_process_that_died_is_claimed_when_its_lease_ends_and_the_old_holder_is_fenced(
    service: MemoryService, pools: Pools, clock: Clock, database: str
) -> None:
    await candidates(service, "a", "b")
    await schedule(service)
    async with scoped(pools.background, SCOPE) as connection:
        held = await decay_jobs.claim(connection, SCOPE, now=clock(), lease_until=clock() + LEASE)
    assert held is not None
    assert not (await run(service)).HasField("job")
    clock.now += LEASE
    assert (await run(service)).job.state == "completed"
    async with scoped(pools.background, SCOPE) as connection:
        assert not await decay_jobs.end(connection, SCOPE, held)
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(1,)]


async def test_forgotten_memory_leaves_every_waiting_job(service: MemoryService, database: str) -> None:
    await candidates(service, "a", "b", "c")
    await schedule(service)
    await service.delete_memory(pb.DeleteMemoryRequest(memory_id="b"), an_agent())
    assert await fetch(database, "SELECT source_ids FROM decay_jobs") == [(["a", "c"],)]
    assert (await run(service)).job.state == "completed"
