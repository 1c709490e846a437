"""Adds the tenant's Brain to a built-in source: queries the turn's owner and the Brain concurrently, in two transactions.

The owner's answer never waits long for the Brain's and never fails with it. The header of a Brain's item names its origin.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from uuid import UUID

from sidecar.context.ports import ContextSource, PinnedReader, SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.sources.composite import by_rank
from sidecar.turn.candidates import Candidates
from sidecar.turn.items import Item
from store.db.postgres import Pool, tenant_scoped
from store.errors import StoreError
from store.scope import Scope, brain_of
from store.tenancy import brain

log = logging.getLogger(__name__)

MARK = "Shared in the tenant"

_CACHE_S = 5.0
_GRACE_S = 300.0
_SHARE = 0.5


class BrainSwitch:
    """Tells whether turns of a tenant see its Brain: if it ever had a rule and is not switched off. Cached for 5 s."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._known: TtlCache[UUID, bool] = TtlCache(self._read, for_s=_CACHE_S, grace_s=_GRACE_S, clock=clock)

    async def is_on(self, tenant_id: UUID) -> bool:
        """Return whether turns of the tenant see its Brain. Raises a StoreError."""
        return await self._known.get(tenant_id)

    async def _read(self, tenant_id: UUID) -> bool:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            settings = await brain.settings(connection, tenant_id)
        return settings is not None and settings.is_shown


class WithBrain:
    """Queries a source for the owner and, if it is on, for the tenant's Brain."""

    def __init__(self, source: ContextSource, switch: BrainSwitch) -> None:
        self._source = source
        self._switch = switch

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the owner's answer with the Brain's items merged in; `failures` names the Brain if it did not answer.

        Raises the errors that the source raises for the owner. The Brain gets at most half of the deadline, counted from the
        start of the owner's query.
        """
        try:
            is_on = await self._switch.is_on(scope.tenant_id)
        except StoreError as error:
            return _with_failure(await self._source.find(query, scope, limits), error)
        if not is_on:
            return await self._source.find(query, scope, limits)
        clock = asyncio.get_running_loop().time
        began_s = clock()

        def begin() -> None:
            nonlocal began_s
            began_s = clock()
            limits.begin()

        shared = asyncio.create_task(self._shared(query, scope, limits))
        try:
            own = await self._source.find(query, scope, replace(limits, begin=begin))
            left_s = max(0.0, began_s + _SHARE * limits.deadline_s - clock())
            await asyncio.wait([shared], timeout=left_s)
        finally:
            shared.cancel()
            shared.add_done_callback(_retrieve_exception)
        if not shared.done() or shared.cancelled():
            return _with_failure(own, TimeoutError())
        problem = shared.exception()
        return _merged(own, shared.result(), limits.top_k) if problem is None else _with_failure(own, problem)

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        """Return the owner's pinned items; the Brain pins nothing."""
        return await self._source.pinned(scope) if isinstance(self._source, PinnedReader) else ()

    async def _shared(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        try:
            return await self._source.find(query, brain_of(scope.tenant_id), replace(limits, begin=lambda: None))
        except SourceSkipped:
            return SourceAnswer()


def _retrieve_exception(task: asyncio.Task[SourceAnswer]) -> None:
    """Retrieve the exception of a task that is no longer awaited; otherwise asyncio logs it when the task is deleted."""
    if not task.cancelled():
        task.exception()


def _with_failure(own: SourceAnswer, problem: BaseException) -> SourceAnswer:
    if not isinstance(problem, TimeoutError):
        log.warning("brain_failed", extra={"error": type(problem).__name__}, exc_info=problem)
    reason = "it took too long" if isinstance(problem, TimeoutError) else f"it failed with {type(problem).__name__}"
    return replace(own, failures=(*own.failures, f"brain: {reason}"))


def _merged(own: SourceAnswer, shared: SourceAnswer, top_k: int) -> SourceAnswer:
    """Return both answers merged by rank, with the owner's pinned items first."""
    theirs = [_marked(item) for item in shared.items if not item.is_pinned]
    pinned = [item for item in own.items if item.is_pinned]
    others = by_rank([[item for item in own.items if not item.is_pinned], theirs])
    items = tuple(item._replace(rank=rank) for rank, item in enumerate([*pinned, *others]))
    both = [one for one in (own.candidates, shared.candidates) if one is not None and one.ids]
    candidates = both[0] if len(both) == 1 else _joined(*both) if both else own.candidates
    return replace(own, items=items, candidates=candidates).first(top_k)


def _marked(item: Item) -> Item:
    return item._replace(header=f"{MARK}: {item.header}" if item.header else MARK)


def _joined(own: Candidates, shared: Candidates) -> Candidates:
    is_walked = bool(own.walked or shared.walked)
    return replace(
        own,
        ids=[*own.ids, *shared.ids],
        texts=[*own.texts, *shared.texts],
        evidence=own.evidence.beside(shared.evidence),
        days=[*own.days, *shared.days],
        trust=[*own.trust, *shared.trust],
        odds=[*own.odds, *shared.odds],
        marks=[*own.marks, *shared.marks],
        walked=[way for one in (own, shared) for way in one.walked or repeat(None, len(one.ids))] if is_walked else (),
    )
