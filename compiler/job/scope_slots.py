"""The scopes that a worker has under way at once, and which of them wait for a server that does not answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from compiler.job.compilation import BatchDeps, Engine
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import Draft
from compiler.planners.planner import Planner, Proposed
from compiler.state.access import Access
from store.compile.jobs import Job
from store.compile.ready import Hint
from store.scope import Scope

T = TypeVar("T")


@dataclass(slots=True)
class ScopeSlot:
    """A scope under way. `moved_at` is when its compile last moved, on the loop's clock; None until it first does.

    `work` is the compile's task, `is_released` set once the worker gives the place up because nothing moves.
    """

    scope: Scope
    is_compile: bool
    began_at: float
    moved_at: float | None = None
    work: asyncio.Task[object] | None = None
    is_released: bool = False

    def move(self) -> bool:
        """Record that the compile moves, and return whether this is the first time."""
        is_first = self.moved_at is None
        self.moved_at = asyncio.get_running_loop().time()
        return is_first


@dataclass(slots=True)
class ScopeSlots:
    """At most `most` scopes at once. Compiles that wait for `stall_s` without an answer keep at most half of the places.

    A compile counts as waiting until its first answer, so that a server that hangs never gets more than half to begin with.
    """

    most: int
    stall_s: float
    taken: dict[Scope, ScopeSlot] = field(default_factory=dict)

    @property
    def half(self) -> int:
        """How many places may wait for servers."""
        return max(1, self.most // 2)

    @property
    def is_full(self) -> bool:
        """Whether every place is taken."""
        return len(self.taken) >= self.most

    def may_compile(self) -> bool:
        """Return whether one more compile may begin."""
        waiting = sum(one.is_compile and (one.moved_at is None or self._is_stalled(one)) for one in self.taken.values())
        return waiting < self.half

    def to_release(self) -> list[ScopeSlot]:
        """Return the compiles to hand back: the newest of those that have stalled, beyond half of the places."""
        stalled = [one for one in self.taken.values() if one.is_compile and self._is_stalled(one)]
        stalled.sort(key=lambda one: one.began_at)
        return [one for one in stalled[self.half :] if not one.is_released]

    def in_turn(self, hints: Iterable[Hint]) -> list[Hint]:
        """Return the hints of scopes that are not under way, tenants with the fewest places first."""
        held = Counter(scope.tenant_id for scope in self.taken)
        free = (hint for hint in hints if hint.scope not in self.taken)
        return sorted(free, key=lambda hint: held[hint.scope.tenant_id])

    def _is_stalled(self, place: ScopeSlot) -> bool:
        since = place.began_at if place.moved_at is None else place.moved_at
        return asyncio.get_running_loop().time() - since >= self.stall_s


def watched(engine: Engine, place: ScopeSlot, on_first: Callable[[], None]) -> Engine:
    """Return the engine, telling the place of every checkpoint and every answer of the planner; the first calls `on_first`."""

    def move() -> None:
        if place.move():
            on_first()

    def passed(at: str) -> None:
        if at != "frozen":  # reached before the model is asked
            move()
        engine.checkpoint(at)

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        deps = await engine.planner_for(access, job)
        return replace(deps, planner=_WatchedPlanner(deps.planner, move))

    return replace(engine, checkpoint=passed, planner_for=planner_for)


@dataclass(frozen=True, slots=True)
class _WatchedPlanner:
    """A planner that tells of each answer, and of each refusal."""

    planner: Planner
    move: Callable[[], None]

    @property
    def name(self) -> str:
        return self.planner.name

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        return await self._answered(self.planner.plan_leaf(batch))

    async def write_section(self, draft: Draft) -> str:
        return await self._answered(self.planner.write_section(draft))

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        return await self._answered(self.planner.plan_aggregation(view))

    async def probe(self) -> None:
        await self._answered(self.planner.probe())

    async def _answered(self, call: Awaitable[T]) -> T:
        answer = await call
        self.move()
        return answer
