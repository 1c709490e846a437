"""Gives stored texts their vectors, behind the writes: a text is found by meaning a moment after it was written.

A job of its own kind for each place, which one process has at a time, whoever else works: no text is embedded twice. Nothing
is lost when this stops half-way: what has no vector of the embedder in use is found again, by its place's mark or by a walk
through all places, which a change of embedder needs.
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
from store.content.embeddings import EmbeddingPlace
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
    """What one go at a place did: texts that got vectors, and whether the place is done."""

    count: int
    is_done: bool


async def embed_some(pool: Pool, embedder: Numbered, place: EmbeddingPlace, *, limit: int = AT_ONCE) -> Embedded:
    """Give at most `limit` texts of the place their vectors; one that has all is unmarked.

    Raises a ModelsError of the embedder, a StoreError; what was written stays.
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
    """Mark every place, of all tenants, that holds texts without a vector of this embedder; return how many there are."""
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
    """Return the job of embedding in this process's name; None without an embedder."""
    if embedder is None:
        return None
    holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return Embedding(pool, embedder, holder=holder, now=now, lease_s=settings.worker_lease_s)


@dataclass(frozen=True, slots=True)
class _Rest:
    """How often a place failed in a row, and until when it is left alone."""

    failures: int
    until: datetime


class Embedding:
    """The job of embedding: one place at a time, its own while the lease lasts. `holder` names this process among others."""

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
        """Embed what is written, for ever; first find what was left before."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(mark_unfinished(self._pool, self._embedder, now=self._now))
            tasks.create_task(self._follow())

    async def handle(self, scope: Scope, subject: str) -> None:
        """Do a job that its holder left behind; what is more than one go finds, the place's mark keeps."""
        await embed_some(self._pool, self._embedder, embeddings.place_of(scope, subject))

    async def go(self, place: EmbeddingPlace, *, limit: int = AT_ONCE) -> Embedded | None:
        """Embed some of a place, or return None where another is at it. Raises what `embed_some` raises."""
        taking = asyncio.create_task(self._take(place))
        try:
            if await _whole(taking) is None:
                return None
            return await embed_some(self._pool, self._embedder, place, limit=limit)
        finally:
            # Also when this is broken off: who starts next must not wait for the lease.
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

    async def _tried(self, place: EmbeddingPlace, limit: int) -> Embedded | None:
        """Go at a place. One that fails rests, the longer the more often it did: it must not hold up the others."""
        try:
            done = await self.go(place, limit=limit)
        except (ModelsError, StoreError) as error:
            log.warning("place_not_embedded", extra={"kind": place.kind.value, "error": type(error).__name__})
            self._put_off(place)
            return None
        self._rests.pop((place.scope, place.subject), None)
        return done

    def _is_resting(self, place: EmbeddingPlace) -> bool:
        rest = self._rests.get((place.scope, place.subject))
        return rest is not None and rest.until > self._now()

    def _put_off(self, place: EmbeddingPlace) -> None:
        before = self._rests.get((place.scope, place.subject))
        failures = before.failures + 1 if before else 1
        rest_s = min(_LONGEST_REST_S, _REST_S * 2.0 ** min(failures - 1, 10))
        self._rests[place.scope, place.subject] = _Rest(failures, self._now() + timedelta(seconds=rest_s))

    async def _take(self, place: EmbeddingPlace) -> BackgroundJob | None:
        async with scoped(self._pool, place.scope, role=DatabaseRole.WORKER) as connection:
            return await background.take(
                connection,
                place.scope,
                (KIND, place.subject),
                holder=self._holder,
                lease_s=self._lease_s,
                now=self._now(),
            )

    async def _drop(self, place: EmbeddingPlace, job: BackgroundJob) -> None:
        with suppress(StoreError):  # then the lease ends it
            async with scoped(self._pool, place.scope, role=DatabaseRole.WORKER) as connection:
                await background.drop(connection, place.scope, job, holder=self._holder)


async def _whole(task: asyncio.Task[Result]) -> Result:
    """Return what the task does. Who is cancelled meanwhile is so once it is done: half a transaction tells nobody what holds."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
