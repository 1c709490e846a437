"""Concurrent writes, edges, forgetting and compiles of one owner: none fails, and the results agree."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest

from compiler.decay.supersede import SupersessionCause
from models.language.remote import RemoteModel
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.memories import Memories
from store.content.memories import NewMemory
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier
from store.db.postgres import Pools
from tests.integration.compiler.planners.test_planned_ends import FOREST, HARBOUR, MOVED
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import NOW, SCOPE, Clock, all_jobs, fetch, wish, worker_on
from tests.support.compiler.model_engines import engine_with

IDS = [f"{kind}{number}" for number in range(6) for kind in ("forest", "harbour")]
ROUNDS = 25
USERS = SupersessionCause(SupersessionReason.CORRECTED, most_trusted=AuthorityTier.USER)
WRONG_ENDS = """
    SELECT o.memory_id, o.valid_until FROM memories o
    WHERE o.valid_until IS DISTINCT FROM (
        SELECT min(coalesce(n.valid_from, n.occurred_at)) FROM memory_supersessions s
        JOIN memories n ON n.tenant_id = s.tenant_id AND n.owner_id = s.owner_id AND n.memory_id = s.memory_id
        WHERE s.tenant_id = o.tenant_id AND s.owner_id = o.owner_id AND s.superseded_id = o.memory_id AND s.undone_at IS NULL)"""
STRAY_EDGES = """
    SELECT memory_id, superseded_id FROM memory_supersessions s
    WHERE 2 > (
        SELECT count(*) FROM memories m
        WHERE m.tenant_id = s.tenant_id AND m.owner_id = s.owner_id AND m.memory_id IN (s.memory_id, s.superseded_id))"""


class Crowd:
    """Callers of one owner who know nothing of each other; what a service refuses by name is no failure."""

    def __init__(self, pools: Pools, clock: Clock) -> None:
        self.service = Memories(pools, now=clock)
        self.ended = self.forgotten = 0

    async def write(self, dice: Random) -> None:
        for _ in range(ROUNDS):
            both = [self.made(memory_id, dice) for memory_id in dice.sample(IDS, 4)]
            await self.service.retain(SCOPE, both)

    def made(self, memory_id: str, dice: Random) -> NewMemory:
        text = FOREST if memory_id.startswith("forest") else HARBOUR
        return NewMemory(
            f"{text} Seen {dice.randint(1, 3)} times.", memory_id, NOW - timedelta(days=IDS.index(memory_id))
        )

    async def supersede(self, dice: Random) -> None:
        for _ in range(ROUNDS):
            newer, *older = sorted(dice.sample(IDS, 2), key=IDS.index)
            with suppress(FailedPrecondition, InvalidArgument, NotFound):
                await self.service.supersessions.supersede(SCOPE, older, newer, USERS)
                self.ended += 1

    async def forget(self, dice: Random) -> None:
        for _ in range(ROUNDS):
            with suppress(NotFound):
                await self.service.forget(SCOPE, dice.choice(IDS))
                self.forgotten += 1


async def test_nothing_fails_and_ends_follow_the_edges(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    site.by_request, clock = MOVED, Clock()
    crowd = Crowd(pools, clock)
    worker = worker_on(pools, engine_with(pools, model, clock=clock))
    await crowd.write(Random(0))

    async def compile_meanwhile() -> None:
        for _ in range(4):
            clock.move(minutes=10)
            await wish(pools, now=clock())
            await worker.drain_scope(SCOPE)

    with caplog.at_level(logging.WARNING):
        acts = (act(Random(seed)) for seed in (1, 2) for act in (crowd.write, crowd.supersede, crowd.forget))
        await asyncio.gather(*acts, compile_meanwhile())
        calm = [
            NewMemory(f"{text} As told at last.", f"{text[:4]} {at}", NOW - timedelta(days=at))
            for at, text in enumerate((FOREST, HARBOUR))
        ]
        await crowd.service.retain(SCOPE, calm)
        await compile_meanwhile()
    assert [record for record in caplog.records if record.getMessage() in {"compile_not_queued", "job_failed"}] == []
    jobs = await all_jobs(pools)
    assert {job.status for job in jobs} == {"succeeded"}
    assert await fetch(database, STRAY_EDGES) == []
    assert await fetch(database, WRONG_ENDS) == []
    assert min(crowd.ended, crowd.forgotten) > 0
    assert sum(job.metrics["memories_ended"] for job in jobs) > 0
