"""Embeds stored texts in the background, so that a text is found by meaning shortly after it was written.

Each place has its own background job, held by one process at a time, so no text is embedded twice. Nothing is lost if this
stops half-way: texts without a vector of the current embedder are found again by their place's mark, or, after a change of
embedder, by a scan of all places.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from models.errors import ModelsError
from sidecar.runtime.embedders import Numbered
from sidecar.runtime.settings import Settings
from store.compile import background
from store.compile.background import BackgroundJob
from store.content import embeddings
from store.content.embeddings import TextPartition
from store.db.postgres import DatabaseRole, Pool, scoped
from store.errors import StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

Result = TypeVar("Result")

KIND = "embedding"
AT_ONCE = 64
LEASE_S = 60.0
_AT_ONCE_BESIDE_OTHERS = 16
_PLACES = 32
_LOOK_EVERY_S = 0.3
_REST_S = 5.0
_LONGEST_REST_S = 300.0


@dataclass(frozen=True, slots=True)
class Embedded:
    """The result of one run on a place: the texts embedded, and whether the place is done."""

    count: int
    is_done: bool


async def embed_some(pool: Pool, embedder: Numbered, place: TextPartition, *, limit: int = AT_ONCE) -> Embedded:
    """Embed at most `limit` texts of the place; unmark the place if none is left.

    Raises a ModelsError of the embedder or a StoreError; vectors already written stay.
    """
    async with place.opened(pool) as connection:
        texts = await embeddings.pending(connection, place, embedder.embedder_no, limit=limit)
    if texts:
        vectors = await embedder.embedder.embed([text.text for text in texts])
        async with place.opened(pool) as connection:
            await embeddings.put(connection, place, embedder.embedder_no, texts, vectors.tolist())
    if len(texts) >= limit:
        return Embedded(len(texts), is_done=False)
    async with place.opened(pool) as connection:
        return Embedded(len(texts), is_done=await embeddings.unmark(connection, place))


async def mark_unfinished(pool: Pool, embedder: Numbered, *, now: Callable[[], datetime]) -> int:
    """Mark every place of all tenants with texts that lack a vector of this embedder; return the number of places."""
    marked = 0
    async for place in embeddings.every_place(pool):
        async with place.opened(pool) as connection:
            if await embeddings.pending(connection, place, embedder.embedder_no, limit=1):
                await embeddings.mark_again(connection, place, now=now())
                marked += 1
    return marked


def embedding_here(
    embedder: Numbered | None, settings: Settings, pool: Pool, *, now: Callable[[], datetime]
) -> Embedding | None:
    """Return this process's embedding job; None without an embedder."""
    if embedder is None:
        return None
    holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return Embedding(pool, embedder, holder=holder, now=now, lease_s=settings.worker_lease_s)


@dataclass(frozen=True, slots=True)
class _Rest:
    """How often a place failed in a row, and until when it is skipped."""

    failures: int
    until: datetime


class Embedding:
    """Embeds one place at a time, under a lease. `holder` identifies this process."""

    def __init__(
        self, pool: Pool, embedder: Numbered, *, holder: str, now: Callable[[], datetime], lease_s: float = LEASE_S
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._holder = holder
        self._now = now
        self._lease_s = lease_s
        self._rests: dict[tuple[Scope, str], _Rest] = {}

    async def keep(self) -> None:
        """First find texts left unembedded, then embed new ones until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(mark_unfinished(self._pool, self._embedder, now=self._now))
            tasks.create_task(self._follow())

    async def handle(self, scope: Scope, subject: str) -> None:
        """Run a job whose holder is gone; the place's mark keeps texts beyond one run."""
        await embed_some(self._pool, self._embedder, embeddings.place_of(scope, subject))

    async def go(self, place: TextPartition, *, limit: int = AT_ONCE) -> Embedded | None:
        """Embed some texts of a place, or return None if another process holds it. Raises what `embed_some` raises."""
        taking = asyncio.create_task(self._take(place))
        try:
            if await _whole(taking) is None:
                return None
            return await embed_some(self._pool, self._embedder, place, limit=limit)
        finally:
            # Also on cancellation: the next holder must not wait for the lease to expire.
            if not taking.cancelled() and taking.exception() is None and (job := taking.result()) is not None:
                await _whole(asyncio.create_task(self._drop(place, job)))

    async def _follow(self) -> None:
        while True:
            found = await embeddings.waiting(self._pool, limit=_PLACES + len(self._rests))
            places = [place for place in found if not self._is_resting(place)]
            limit = AT_ONCE if len(places) == 1 else _AT_ONCE_BESIDE_OTHERS
            done = [await self._tried(place, limit) for place in places]
            if not any(done):
                await asyncio.sleep(_REST_S if len(found) > _PLACES else _LOOK_EVERY_S)

    async def _tried(self, place: TextPartition, limit: int) -> Embedded | None:
        """Run on a place. A failing place is skipped for a growing time, so that it does not delay the others."""
        try:
            done = await self.go(place, limit=limit)
        except (ModelsError, StoreError) as error:
            log.warning("place_not_embedded", extra={"kind": place.kind.value, "error": type(error).__name__})
            self._put_off(place)
            return None
        self._rests.pop((place.scope, place.subject), None)
        return done

    def _is_resting(self, place: TextPartition) -> bool:
        rest = self._rests.get((place.scope, place.subject))
        return rest is not None and rest.until > self._now()

    def _put_off(self, place: TextPartition) -> None:
        before = self._rests.get((place.scope, place.subject))
        failures = before.failures + 1 if before else 1
        rest_s = min(_LONGEST_REST_S, _REST_S * 2.0 ** min(failures - 1, 10))
        self._rests[place.scope, place.subject] = _Rest(failures, self._now() + timedelta(seconds=rest_s))

    async def _take(self, place: TextPartition) -> BackgroundJob | None:
        async with scoped(self._pool, place.scope, role=DatabaseRole.WORKER) as connection:
            return await background.take(
                connection,
                place.scope,
                (KIND, place.subject),
                holder=self._holder,
                lease_s=self._lease_s,
                now=self._now(),
            )

    async def _drop(self, place: TextPartition, job: BackgroundJob) -> None:
        with suppress(StoreError):  # the lease will expire
            async with scoped(self._pool, place.scope, role=DatabaseRole.WORKER) as connection:
                await background.drop(connection, place.scope, job, holder=self._holder)


async def _whole(task: asyncio.Task[Result]) -> Result:
    """Await the task to its end even if cancelled, then raise the cancellation: a half-run transaction has an unknown outcome."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
