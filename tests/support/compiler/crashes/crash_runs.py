"""Crash runs: a worker dies at its nth step, another one continues, and the result of both is checked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from uuid import UUID

from models.language.language import LanguageModel
from store.compile.jobs import Job, JobStatus
from store.db.postgres import Pools
from store.scope import Scope
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import Clock, all_jobs, fetch, wiki_of, worker_on
from tests.support.compiler.crashes import children, crashing
from tests.support.compiler.crashes.crash_world import DOOMED, LAST, engine, prepare

STEPS = 200
DEADLINE_S = 300.0
# What a call cost is known only once its job has told it: these figures may miss the calls that were in flight.
_SPENT = ("calls", "tokens", "cost", "superseded")


@dataclass(frozen=True, slots=True)
class Other:
    """A counter of a job's (numbered from 1) with its value after a crash and the undisturbed one."""

    job: int
    counter: str
    value: object
    undisturbed: object


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left: the wiki, what each job says it wrote, the questions asked and how often one was asked again.

    `died_at` names the step that the worker died at, empty when it did not.
    """

    died_at: str
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

    def other_rows(self, undisturbed: Left) -> tuple[Other, ...]:
        """Return where a job tells of other rows than the undisturbed run's job does, job by job."""
        nothing: dict[str, Any] = {}
        jobs = enumerate(zip_longest(self.written, undisturbed.written, fillvalue=nothing), 1)
        pairs = [(number, _flat(one), _flat(other)) for number, (one, other) in jobs]
        return tuple(
            Other(number, name, one.get(name, 0), other.get(name, 0))
            for number, one, other in pairs
            for name in sorted(one.keys() | other.keys())
            if one.get(name, 0) != other.get(name, 0)
        )


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
    died_at = await die(world, scope, killed_at) if killed_at else ""
    saved = await _kept(world, scope) - stored
    await finish(world, scope)
    asks = world.site.asks[before:]
    # Counted only now: the server may read a request of the dead worker after its death.
    in_flight = sum(one.headers.get("authorization") == f"Bearer {DOOMED}" for one in asks) - saved
    asked = Counter((one.system, one.user) for one in asks)
    jobs = await all_jobs(world.pools, scope=scope)
    return Left(
        died_at,
        await wiki_of(world.pools, scope=scope),
        [_rows(job) for job in jobs],
        await _kept(world, scope),
        asked.total() - len(asked),
        in_flight if died_at else 0,
        all(job.status is JobStatus.SUCCEEDED for job in jobs),
        frozenset(asked),
    )


async def steps(world: World, scope: Scope) -> int:
    """Return how many steps an undisturbed worker takes."""
    await prepare(world.pools, scope, world.model)
    return (await children.run(crashing.work, *_place(world, scope))).steps


def scope_of(number: int) -> Scope:
    """Return the scope of a run: its own tenant, and the owner of all of them."""
    return Scope(UUID(int=1000 + number), UUID(int=900))


async def die(world: World, scope: Scope, after: int) -> str:
    """Let a worker die at its nth step, and return the step's name; empty when it did not get there."""
    return (await children.run(crashing.work, *_place(world, scope), killed_at=after)).place


def _place(world: World, scope: Scope) -> tuple[str, str, Scope]:
    return world.dsn, world.site.url, scope


async def finish(world: World, scope: Scope) -> None:
    """Do what is left. Postgres may need a moment to end the dead worker's transaction."""
    worker = worker_on(world.pools, engine(world.pools, world.model, Clock(LAST)))
    async with asyncio.timeout(DEADLINE_S):
        while not await worker.drain_scope(scope):
            pass


async def _kept(world: World, scope: Scope) -> int:
    (row,) = await fetch(world.dsn, "SELECT count(*) FROM model_answers WHERE tenant_id = $1", scope.tenant_id)
    return int(row["count"])


def _flat(figures: Mapping[str, Any], under: str = "") -> dict[str, Any]:
    """Return the figures with those under a heading by the name of both."""
    found: dict[str, Any] = {}
    for name, value in figures.items():
        found |= _flat(value, f"{under}{name}.") if isinstance(value, Mapping) else {f"{under}{name}": value}
    return found


def _rows(job: Job) -> dict[str, Any]:
    return {name: value for name, value in job.metrics.items() if not any(word in name for word in _SPENT)}
