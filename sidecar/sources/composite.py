"""Combines the built-in source and a tenant's backends into one source that queries them concurrently.

The failure of one backend does not hide the others. Results are merged by rank, since scores of different backends are not
comparable, or in the order of the tenant's reranking model, if it has one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from sidecar.backends.errors import AnswerUnreadable, BackendTimedOut, BackendUnavailable
from sidecar.context.answer_validation import Garbage, sound
from sidecar.context.ports import (
    BackendError,
    ContextSource,
    ConversationReader,
    PinnedReader,
    SourceAnswer,
    SourceLimits,
    SourceQuery,
    SourceSkipped,
)
from sidecar.turn.items import Item
from store.errors import StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

_MERGING_S = 0.01
BUILT_IN = "built-in"


class PolicyLookup(Protocol):
    """The switches by which a tenant's admins turn backends off."""

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return the names of the backends that are switched off."""


class Reranker(Protocol):
    """Orders texts by relevance to a query."""

    @property
    def name(self) -> str:
        """The name used in switches and reports."""

    @property
    def deadline_s(self) -> float:
        """Its time limit in seconds."""

    async def order(self, query: str, texts: Sequence[str]) -> tuple[int, ...]:
        """Return the indexes of the texts, best first. Raises a BackendError."""


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One backend as a source, with the name used in switches and reports."""

    name: str
    source: ContextSource


@dataclass(frozen=True, slots=True)
class _Targets:
    """The sources to query in one turn, and the reranker of the backends' results, if any."""

    places: Sequence[NamedSource]
    reranker: Reranker | None = None

    def time_for_places_s(self, limits: SourceLimits) -> float:
        """Return the seconds that the sources have: the deadline less the reranker's, but at least half of the deadline."""
        reserved_s = self.reranker.deadline_s if self.reranker else 0.0
        return max(0.0, limits.deadline_s / 2, limits.deadline_s - _MERGING_S - reserved_s)


@dataclass(slots=True)
class _Answered:
    """The results of one turn: answers and failures by source, and the sources that did not apply."""

    answers: list[tuple[NamedSource, SourceAnswer]] = field(default_factory=list)
    failures: list[tuple[NamedSource, BaseException]] = field(default_factory=list)
    skipped: list[SourceSkipped] = field(default_factory=list)


class SideBySide:
    """Combines the built-in source (None if there is none) with each tenant's own backends."""

    def __init__(
        self,
        built_in: ContextSource | None,
        places: Mapping[UUID, Sequence[NamedSource]],
        policy: PolicyLookup,
        rerankers: Mapping[UUID, Reranker] | None = None,
    ) -> None:
        self._built_in = built_in
        self._places = places
        self._policy = policy
        self._rerankers = rerankers or {}

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the merged results of all sources; `failures` names each source that failed.

        Raises the first failure if no source returned an item, and SourceSkipped if no source applied.
        """
        places = self._places.get(scope.tenant_id, ())
        if not places:
            if self._built_in is None:
                raise SourceSkipped("no backend is set up for this tenant")
            return await self._built_in.find(query, scope, limits)
        off = await self._policy.switched_off(scope.tenant_id)
        queried = [NamedSource(BUILT_IN, self._built_in)] if self._built_in else []
        queried += [place for place in places if place.name not in off]
        notes = [f"{place.name}: switched off" for place in places if place.name in off]
        if not queried:
            raise SourceSkipped("; ".join(notes))
        reranker = self._rerankers.get(scope.tenant_id)
        is_reranked = reranker is not None and reranker.name not in off
        return await _merged(_Targets(queried, reranker if is_reranked else None), query, scope, limits, notes)

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        """Return the pinned items of the built-in source; none if it has no pinned items."""
        return await self._built_in.pinned(scope) if isinstance(self._built_in, PinnedReader) else ()


class Instead:
    """Replaces the built-in source with a tenant's first backend, since a conversation is never merged from two stores."""

    def __init__(
        self, built_in: ContextSource, places: Mapping[UUID, Sequence[NamedSource]], policy: PolicyLookup
    ) -> None:
        self._built_in = built_in
        self._places = places
        self._policy = policy

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Query the tenant's backend, or the built-in source if there is none or it is switched off."""
        place = await self._place(scope)
        async with _in_time(place.name, limits):
            return await place.source.find(query, scope, limits)

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the recent turns from the same source; none if it stores no conversations."""
        place = await self._place(scope)
        if not isinstance(place.source, ConversationReader):
            return SourceAnswer()
        async with _in_time(place.name, limits):
            return await place.source.recent(query, scope, limits)

    async def _place(self, scope: Scope) -> NamedSource:
        places = self._places.get(scope.tenant_id, ())
        off = await self._policy.switched_off(scope.tenant_id) if places else frozenset()
        return next((place for place in places if place.name not in off), NamedSource(BUILT_IN, self._built_in))


@asynccontextmanager
async def _in_time(name: str, limits: SourceLimits) -> AsyncIterator[None]:
    """Raise BackendTimedOut if a backend takes too long. The built-in source is timed by the fan-out."""
    if name == BUILT_IN:
        yield
        return
    try:
        async with asyncio.timeout(max(0.0, limits.deadline_s - _MERGING_S)):
            yield
    except TimeoutError:
        raise BackendTimedOut(name) from None


async def _merged(
    targets: _Targets, query: SourceQuery, scope: Scope, limits: SourceLimits, notes: list[str]
) -> SourceAnswer:
    ends_s = asyncio.get_running_loop().time() + limits.deadline_s - _MERGING_S
    answered = await _query_all(targets, query, scope, limits)
    ours: list[Sequence[Item]] = [answer.items for place, answer in answered.answers if place.name == BUILT_IN]
    # The evidence for an id is the built-in item's, so a remote item with the same id is left out.
    our_ids = {item.id for items in ours for item in items}
    theirs: list[Sequence[Item]] = [
        [item for item in answer.items if item.id not in our_ids]
        for place, answer in answered.answers
        if place.name != BUILT_IN
    ]
    reranked: tuple[str, ...] = ()
    if targets.reranker and sum(map(len, theirs)) > 1:
        items, is_reranked = await _reranked(targets.reranker, query, by_rank(theirs), ends_s, notes)
        theirs, reranked = [items], tuple([item.id for item in items]) if is_reranked else ()
    items = _pinned_first(by_rank([*ours, *theirs]), limits.top_k)
    candidates = next((answer.candidates for _, answer in answered.answers if answer.candidates), None)
    failures = [_note(place, problem) for place, problem in answered.failures]
    if answered.failures and not items:
        first = answered.failures[0][1]
        raise first.beside(failures[1:]) if isinstance(first, BackendError) else first
    if not answered.answers:
        raise answered.skipped[0]
    notes += [note for _, answer in answered.answers for note in answer.notes]
    failures += [failure for _, answer in answered.answers for failure in answer.failures]
    candidates = candidates and candidates.only({item.id for item in items})
    return SourceAnswer(items, notes=tuple(notes), failures=tuple(failures), candidates=candidates, reranked=reranked)


def _pinned_first(items: Sequence[Item], top_k: int) -> tuple[Item, ...]:
    """Return the pinned items, then at most `top_k` others, ranked in this order."""
    pinned = [item for item in items if item.is_pinned]
    others = [item for item in items if not item.is_pinned]
    return tuple(item._replace(rank=rank) for rank, item in enumerate([*pinned, *others[:top_k]]))


async def _query_all(targets: _Targets, query: SourceQuery, scope: Scope, limits: SourceLimits) -> _Answered:
    """Query all sources and return their results within the time limit."""
    tasks = [asyncio.create_task(place.source.find(query, scope, limits)) for place in targets.places]
    try:
        await asyncio.wait(tasks, timeout=targets.time_for_places_s(limits))
    finally:
        for task in tasks:
            task.cancel()
    answered = _Answered()
    for place, task in zip(targets.places, tasks, strict=True):
        outcome = _outcome(place, task)
        if isinstance(outcome, SourceAnswer):
            answered.answers.append((place, outcome))
        elif isinstance(outcome, SourceSkipped):
            answered.skipped.append(outcome)
        else:
            answered.failures.append((place, outcome))
    return answered


async def _reranked(
    reranker: Reranker, query: SourceQuery, items: Sequence[Item], ends_s: float, notes: list[str]
) -> tuple[Sequence[Item], bool]:
    """Return the items in the reranker's order, and True.

    If the reranker fails or is too slow, add a note and return the items in the given order, and False.
    """
    try:
        async with asyncio.timeout_at(ends_s):
            places = await reranker.order(query.text, [item.text for item in items])
    except (BackendError, TimeoutError) as error:
        problem = error if isinstance(error, BackendError) else BackendTimedOut(reranker.name)
        notes.append(f"{problem}; merged by rank instead")
        return items, False
    return [items[place]._replace(rank=rank) for rank, place in enumerate(places)], True


def by_rank(answers: Iterable[Sequence[Item]]) -> tuple[Item, ...]:
    """Return the items of several answers interleaved by rank, re-ranked, without repeated ids."""
    by_place = [(place, item) for place, items in enumerate(answers) for item in items]
    by_place.sort(key=lambda pair: (pair[1].rank, pair[0], pair[1].id))
    by_id: dict[str, Item] = {}
    for _, item in by_place:
        by_id.setdefault(item.id, item)
    return tuple(item._replace(rank=rank) for rank, item in enumerate(by_id.values()))


def _outcome(place: NamedSource, task: asyncio.Task[SourceAnswer]) -> SourceAnswer | BaseException:
    """Return a source's answer, or why it has none. Of a backend's answer, only the results that a turn can use are returned."""
    if (problem := _problem(place, task)) is not None:
        return problem
    try:
        return task.result() if place.name == BUILT_IN else sound(place.name, task.result())
    except Garbage as fault:
        return AnswerUnreadable(place.name, str(fault))


def _problem(place: NamedSource, task: asyncio.Task[SourceAnswer]) -> BaseException | None:
    """Return why a source did not answer, or None. An unknown exception of a backend's source becomes a BackendError."""
    if not task.done() or task.cancelled():
        return TimeoutError() if place.name == BUILT_IN else BackendTimedOut(place.name)
    problem = task.exception()
    if problem is None or place.name == BUILT_IN or isinstance(problem, BackendError | SourceSkipped | StoreError):
        return problem
    log.warning("place_failed", extra={"place": place.name, "error": type(problem).__name__}, exc_info=problem)
    return BackendUnavailable(place.name, type(problem).__name__)


def _note(place: NamedSource, problem: BaseException) -> str:
    """Return a failure's text for the receipt: the messages of our own errors, only the type name of others."""
    is_ours = isinstance(problem, BackendError | StoreError)
    return str(problem) if is_ours else f"{place.name}: it failed with {type(problem).__name__}"
