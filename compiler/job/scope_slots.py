"""The scopes that a worker works on at once, limiting how many may wait for a server that does not answer."""

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
    """A scope that a worker works on. `moved_at` is the time of the compile's last progress on the loop's clock; None before any.

    `work` is the compile's task; `is_released` is set once the worker gives up the slot because of a stall.
    """

    scope: Scope
    is_compile: bool
    began_at: float
    moved_at: float | None = None
    work: asyncio.Task[object] | None = None
    is_released: bool = False

    def move(self) -> bool:
        """Record progress of the compile, and return whether it is the first."""
        is_first = self.moved_at is None
        self.moved_at = asyncio.get_running_loop().time()
        return is_first


@dataclass(slots=True)
class ScopeSlots:
    """At most `most` scopes at once. Compiles that made no progress for `stall_s` keep at most half of the slots.

    A compile counts as waiting until its first answer, so that a server that hangs never takes more than half of the slots.
    """

    most: int
    stall_s: float
    taken: dict[Scope, ScopeSlot] = field(default_factory=dict)

    @property
    def half(self) -> int:
        """The number of slots that may wait for servers."""
        return max(1, self.most // 2)

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken."""
        return len(self.taken) >= self.most

    def may_compile(self) -> bool:
        """Return whether one more compile may begin."""
        waiting = sum(one.is_compile and (one.moved_at is None or self._is_stalled(one)) for one in self.taken.values())
        return waiting < self.half

    def to_release(self) -> list[ScopeSlot]:
        """Return the compiles to hand back: the newest of the stalled ones, beyond half of the slots."""
        stalled = [one for one in self.taken.values() if one.is_compile and self._is_stalled(one)]
        stalled.sort(key=lambda one: one.began_at)
        return [one for one in stalled[self.half :] if not one.is_released]

    def in_turn(self, hints: Iterable[Hint]) -> list[Hint]:
        """Return the hints of scopes without a slot, tenants with the fewest slots first."""
        held = Counter(scope.tenant_id for scope in self.taken)
        free = (hint for hint in hints if hint.scope not in self.taken)
        return sorted(free, key=lambda hint: held[hint.scope.tenant_id])

    def _is_stalled(self, slot: ScopeSlot) -> bool:
        since = slot.began_at if slot.moved_at is None else slot.moved_at
        return asyncio.get_running_loop().time() - since >= self.stall_s


def watched(engine: Engine, slot: ScopeSlot, on_first: Callable[[], None]) -> Engine:
    """Return the engine, made to record checkpoints and planner's answers as progress of the slot; the first calls `on_first`."""

    def move() -> None:
        if slot.move():
            on_first()

    def passed(at: str) -> None:
        if at != "frozen":  # passed before the model is called
            move()
        engine.checkpoint(at)

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        deps = await engine.planner_for(access, job)
        return replace(deps, planner=_WatchedPlanner(deps.planner, move))

    return replace(engine, checkpoint=passed, planner_for=planner_for)


@dataclass(frozen=True, slots=True)
class _WatchedPlanner:
    """A planner that reports progress after each answer."""

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
