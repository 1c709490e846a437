"""Several places that one source stands for, asked side by side: the built-in one, and backends that a tenant has beside it.

One that fails does not hide the others; what they bring is merged by rank, since no score of one means anything to another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from sidecar.backends.errors import BackendError, BackendTimedOut, BackendUnavailable
from sidecar.sources import Answer, ContextSource, Limits, Query, Skipped
from sidecar.turn.items import Item
from store.errors import StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

_MERGING_S = 0.01
BUILT_IN = "built-in"


class Rulings(Protocol):
    """What the tenant's admins decided about its backends."""

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return the names of the backends that may not be asked now."""


@dataclass(frozen=True, slots=True)
class Place:
    """One backend as a source, under the name that switches and reports know it by."""

    name: str
    source: ContextSource


class SideBySide:
    """A source made of the built-in one (None where there is none) and each tenant's own places."""

    def __init__(
        self, built_in: ContextSource | None, places: Mapping[UUID, Sequence[Place]], rulings: Rulings
    ) -> None:
        self._built_in = built_in
        self._places = places
        self._rulings = rulings

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return what all bring, merged by rank, and a note for each that failed.

        Raises what the first of them raised when none brought anything, and Skipped when none had anything to ask.
        """
        places = self._places.get(scope.tenant_id, ())
        if not places:
            if self._built_in is None:
                raise Skipped("no backend is set up for this tenant")
            return await self._built_in.find(query, scope, limits)
        off = await self._rulings.switched_off(scope.tenant_id)
        asked = [Place(BUILT_IN, self._built_in)] if self._built_in else []
        asked += [place for place in places if place.name not in off]
        notes = [f"{place.name}: switched off" for place in places if place.name in off]
        if not asked:
            raise Skipped("; ".join(notes))
        return await _merged(asked, query, scope, limits, notes)


class Instead:
    """A source for which a tenant's first place stands instead of the built-in one: a record is never merged of two."""

    def __init__(self, built_in: ContextSource, places: Mapping[UUID, Sequence[Place]], rulings: Rulings) -> None:
        self._built_in = built_in
        self._places = places
        self._rulings = rulings

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return what the tenant's place brings, or the built-in one where there is none or it is switched off."""
        places = self._places.get(scope.tenant_id, ())
        off = await self._rulings.switched_off(scope.tenant_id) if places else frozenset()
        place = next((place for place in places if place.name not in off), None)
        if place is None:
            return await self._built_in.find(query, scope, limits)
        try:
            async with asyncio.timeout(max(0.0, limits.deadline_s - _MERGING_S)):
                return await place.source.find(query, scope, limits)
        except TimeoutError:
            raise BackendTimedOut(place.name) from None


async def _merged(asked: Sequence[Place], query: Query, scope: Scope, limits: Limits, notes: list[str]) -> Answer:
    tasks = [asyncio.create_task(place.source.find(query, scope, limits)) for place in asked]
    try:
        await asyncio.wait(tasks, timeout=max(0.0, limits.deadline_s - _MERGING_S))
    finally:
        for task in tasks:
            task.cancel()
    failures: list[BaseException] = []
    answers: list[Answer] = []
    for place, task in zip(asked, tasks, strict=True):
        problem = _problem(place, task)
        if problem is None:
            answers.append(task.result())
        elif not isinstance(problem, Skipped):
            failures.append(problem)
            notes.append(_note(place, problem))
    items = by_rank(answer.items for answer in answers)[: limits.top_k]
    if failures and not items:
        raise failures[0]
    if not answers:
        raise next(problem for task in tasks if (problem := task.exception()) is not None)
    return Answer(items, notes=(*notes, *(note for answer in answers for note in answer.notes)))


def by_rank(answers: Iterable[Sequence[Item]]) -> tuple[Item, ...]:
    """Return the items of several answers in turn, each answer's first before any second, ranked anew and each id once."""
    by_place = [(place, item) for place, items in enumerate(answers) for item in items]
    by_place.sort(key=lambda one: (one[1].rank, one[0], one[1].id))
    once: dict[str, Item] = {}
    for _, item in by_place:
        once.setdefault(item.id, item)
    return tuple(replace(item, rank=rank) for rank, item in enumerate(once.values()))


def _problem(place: Place, task: asyncio.Task[Answer]) -> BaseException | None:
    """Return what kept a place from answering; whatever a backend's place fails with is the backend's failure alone."""
    if not task.done() or task.cancelled():
        return TimeoutError() if place.name == BUILT_IN else BackendTimedOut(place.name)
    problem = task.exception()
    if problem is None or place.name == BUILT_IN or isinstance(problem, BackendError | Skipped | StoreError):
        return problem
    log.warning("place_failed", extra={"place": place.name, "error": type(problem).__name__}, exc_info=problem)
    return BackendUnavailable(place.name, type(problem).__name__)


def _note(place: Place, problem: BaseException) -> str:
    """Return what a receipt may hold of a failure: our own errors say themselves, others only their kind."""
    is_ours = isinstance(problem, BackendError | StoreError)
    return str(problem) if is_ours else f"{place.name}: it failed with {type(problem).__name__}"
