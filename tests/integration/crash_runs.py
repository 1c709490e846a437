"""One kill and what comes of it: a worker dies at its nth step, another one goes on, and what both left is looked at."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from models.language import LanguageModel
from store.jobs import Job, JobStatus
from store.postgres import Pools
from store.scope import Scope
from tests.integration.compiling import Clock, all_jobs, fetch, wiki_of, worker_on
from tests.integration.crash_world import LAST, engine, prepare
from tests.stand_ins.model_server import ModelServer

ROOT = Path(__file__).parents[2]
STEPS = 200
DEADLINE_S = 300.0
# What a call cost is known only once its job has told it: these figures may miss the calls that were in flight.
_SPENT = ("calls", "tokens", "cost", "superseded")


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left: the wiki, what each job says it wrote, the questions asked and how often one was asked again."""

    died: bool
    wiki: dict[str, bytes]
    written: list[dict[str, Any]]
    kept_answers: int
    bought_again: int = 0
    in_flight: int = 0
    is_finished: bool = True
    questions: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def unlike(self, undisturbed: Left) -> tuple[str, ...]:
        """Return in what this differs from an undisturbed run; nothing when a crash did no harm."""
        found = [] if self.wiki == undisturbed.wiki else ["wiki"]
        found += [] if self.written == undisturbed.written else ["rows"]
        found += [] if self.is_finished else ["jobs"]
        found += [] if self.questions == undisturbed.questions else ["questions"]
        found += [] if self.kept_answers == undisturbed.kept_answers else ["answers"]
        return tuple(found + ([] if self.bought_again <= self.in_flight else ["bought twice"]))


@dataclass(frozen=True, slots=True)
class World:
    """Where runs happen: the database, the model's server, and its client."""

    pools: Pools
    dsn: str
    site: ModelServer
    model: LanguageModel


async def run(world: World, scope: Scope, *, killed_at: int) -> Left:
    """Prepare the scope, let a worker die at a step (0: none is started), finish, and return what is left."""
    await prepare(world.pools, scope, world.model)
    before = len(world.site.asks)
    stored = await _kept(world, scope)
    died = killed_at > 0 and await _die(world, scope, killed_at)
    in_flight = len(world.site.asks) - before - (await _kept(world, scope) - stored)
    await _finish(world, scope)
    asked = Counter((one.system, one.user) for one in world.site.asks[before:])
    jobs = await all_jobs(world.pools, scope=scope)
    return Left(
        died,
        await wiki_of(world.pools, scope=scope),
        [_rows(job) for job in jobs],
        await _kept(world, scope),
        asked.total() - len(asked),
        in_flight if died else 0,
        all(job.status is JobStatus.SUCCEEDED for job in jobs),
        frozenset(asked),
    )


async def steps(world: World, scope: Scope) -> int:
    """Return how many steps a worker takes that nobody kills."""
    await prepare(world.pools, scope, world.model)
    child = await _child(world, scope, sys.maxsize)
    told, _ = await child.communicate()
    assert child.returncode == 0
    return int(told)


def scope_of(number: int) -> Scope:
    """Return the scope of a run: its own tenant, and the owner of all of them."""
    return Scope(UUID(int=1000 + number), UUID(int=900))


async def _die(world: World, scope: Scope, after: int) -> bool:
    """Let a worker die at its nth step, and return whether it got there."""
    child = await _child(world, scope, after)
    await child.communicate()
    assert child.returncode in (0, -signal.SIGKILL)
    return child.returncode != 0


async def _child(world: World, scope: Scope, after: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.crashing", world.dsn, world.site.url),
        *(str(scope.tenant_id), str(scope.owner_id), str(after)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )


async def _finish(world: World, scope: Scope) -> None:
    """Do what is left. Postgres may need a moment to see that the dead worker's transaction is nobody's any more."""
    worker = worker_on(world.pools, engine(world.pools, world.model, Clock(LAST)))
    async with asyncio.timeout(DEADLINE_S):
        while not await worker.drain_scope(scope):
            pass


async def _kept(world: World, scope: Scope) -> int:
    (row,) = await fetch(world.dsn, "SELECT count(*) FROM model_answers WHERE tenant_id = $1", scope.tenant_id)
    return int(row["count"])


def _rows(job: Job) -> dict[str, Any]:
    return {name: value for name, value in job.metrics.items() if not any(word in name for word in _SPENT)}
