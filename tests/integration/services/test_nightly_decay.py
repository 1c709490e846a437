"""Nightly decay: the policy's groups are scheduled once per owner and day."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from compiler.decay.policy import DecayPolicy
from compiler.decay.runner import DecayDeps, run_decay_job
from sidecar.services.aging.decay import KIND
from sidecar.services.aging.nightly import NIGHTLY_KIND, NightlyDecay
from store.content import memories
from store.content.memories import NewMemory
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, Clock, fetch

SCOPE = Scope(UUID(int=71), UUID(int=72))


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW + timedelta(days=100))


@pytest.fixture
def nightly(pools: Pools, clock: Clock) -> NightlyDecay:
    return NightlyDecay(pools.background, now=clock, policy=DecayPolicy(most_share=100))


async def retain(pools: Pools, *ids: str, days: int = 0) -> None:
    at = NOW + timedelta(days=days)
    new = [NewMemory(f"It was {one}.", one, at, status=MemoryStatus.CANDIDATE) for one in ids]
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=at)
        await memories.retain(connection, SCOPE, new, now=at)


async def queued(database: str) -> list[tuple[object, ...]]:
    return await fetch(
        database, "SELECT kind, count(*) FROM background_jobs WHERE status = 'pending' GROUP BY 1 ORDER BY 1"
    )


async def test_aged_candidates_are_scheduled_once_a_day(
    pools: Pools, nightly: NightlyDecay, clock: Clock, database: str
) -> None:
    await retain(pools, "a", "b")
    assert [await nightly.queue_due() for _ in range(2)] == [1, 1]
    assert await queued(database) == [(NIGHTLY_KIND, 1)]
    await asyncio.gather(*[nightly.schedule(SCOPE, "") for _ in range(4)])
    assert await fetch(database, "SELECT source_ids, state FROM decay_jobs") == [(["a", "b"], "pending")]
    assert (KIND, 1) in await queued(database)
    assert await nightly.queue_due() == 0
    await retain(pools, "c", "d", days=1)
    await nightly.schedule(SCOPE, "")
    assert await fetch(database, "SELECT count(*) FROM decay_jobs") == [(1,)]
    clock.move(days=1)
    assert await nightly.queue_due() == 1
    await nightly.schedule(SCOPE, "")
    assert await fetch(database, "SELECT source_ids FROM decay_jobs ORDER BY created_at") == [
        (["a", "b"],),
        (["c", "d"],),
    ]


async def test_night_of_a_clock_that_was_ahead_does_not_count_once_it_is_set_back(
    pools: Pools, nightly: NightlyDecay, clock: Clock, database: str
) -> None:
    await retain(pools, "a", "b")
    clock.move(days=365)
    await nightly.schedule(SCOPE, "")
    await retain(pools, "c", "d", days=1)
    clock.move(days=-365)
    assert await nightly.queue_due() == 1
    await nightly.schedule(SCOPE, "")
    assert await fetch(database, "SELECT source_ids FROM decay_jobs ORDER BY created_at DESC") == [
        (["a", "b"],),
        (["c", "d"],),
    ]
    assert await nightly.queue_due() == 0


async def test_compressed_or_young_memories_make_no_owner_due(
    pools: Pools, nightly: NightlyDecay, clock: Clock, database: str
) -> None:
    await retain(pools, "young", "younger", days=99)
    assert await nightly.queue_due() == 0
    await retain(pools, "a", "b")
    await nightly.schedule(SCOPE, "")
    job = await run_decay_job(DecayDeps(pools.background, clock, lambda: "summary"), SCOPE)
    assert job is not None
    assert job.result_id == "summary"
    clock.move(days=1)
    assert await nightly.queue_due() == 0
