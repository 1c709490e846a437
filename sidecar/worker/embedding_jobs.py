"""Embeds stored texts in the background, so that a text is found by meaning shortly after it was written.

Each partition has its own background job, held by one process at a time, so no text is embedded twice. Nothing is lost if this
stops half-way: texts without a vector of the current embedder are found again by their partition's mark, or, after a change of
embedder, by a scan of all partitions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from models.errors import ModelsError
from sidecar.runtime.child_process import lease_holder
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
    """The result of one run on a partition: the number of embedded texts, and whether the partition is done."""

    count: int
    is_done: bool


async def embed_some(pool: Pool, embedder: Numbered, partition: TextPartition, *, limit: int = AT_ONCE) -> Embedded:
    """Embed at most `limit` texts of the partition; unmark the partition if none is left.

    Raises a ModelsError of the embedder or a StoreError; vectors already written stay.
    """
    async with partition.opened(pool) as connection:
        texts = await embeddings.pending(connection, partition, embedder.embedder_no, limit=limit)
    if texts:
        vectors = await embedder.embedder.embed([text.text for text in texts])
        async with partition.opened(pool) as connection:
            await embeddings.put(connection, partition, embedder.embedder_no, texts, vectors.tolist())
    if len(texts) >= limit:
        return Embedded(len(texts), is_done=False)
    async with partition.opened(pool) as connection:
        return Embedded(len(texts), is_done=await embeddings.unmark(connection, partition))


async def mark_unfinished(pool: Pool, embedder: Numbered, *, now: Callable[[], datetime]) -> int:
    """Mark every partition of all tenants with texts that lack a vector of this embedder; return the number of partitions."""
    marked = 0
    async for partition in embeddings.every_partition(pool):
        async with partition.opened(pool) as connection:
            if await embeddings.pending(connection, partition, embedder.embedder_no, limit=1):
                await embeddings.mark_again(connection, partition, now=now())
                marked += 1
    return marked


def embedding_here(
    embedder: Numbered | None, settings: Settings, pool: Pool, *, now: Callable[[], datetime]
) -> Embedding | None:
    """Return this process's embedding job; None without an embedder."""
    if embedder is None:
        return None
    return Embedding(pool, embedder, holder=lease_holder(), now=now, lease_s=settings.worker_lease_s)


@dataclass(frozen=True, slots=True)
class _Rest:
    """The number of a partition's failures in a row, and the time until which it is skipped."""

    failures: int
    until: datetime


class Rests:
    """The partitions that are skipped for a while because they failed. One that is not tried long after is dropped."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._rests: dict[tuple[Scope, str], _Rest] = {}

    def __len__(self) -> int:
        return len(self._rests)

    def has(self, partition: TextPartition) -> bool:
        """Return whether the partition is to be skipped now."""
        rest = self._rests.get((partition.scope, partition.subject))
        return rest is not None and rest.until > self._now()

    def end(self, partition: TextPartition) -> None:
        """Drop the partition, which did not fail."""
        self._rests.pop((partition.scope, partition.subject), None)

    def begin(self, partition: TextPartition) -> None:
        """Skip the partition, which failed, for twice as long as the last time."""
        before = self._rests.get((partition.scope, partition.subject))
        failures = before.failures + 1 if before else 1
        rest_s = min(_LONGEST_REST_S, _REST_S * 2.0 ** min(failures - 1, 10))
        self._rests[partition.scope, partition.subject] = _Rest(failures, self._now() + timedelta(seconds=rest_s))

    def drop_old(self) -> None:
        """Drop the partitions that could have been tried long ago: they are done elsewhere, or forgotten."""
        oldest = self._now() - timedelta(seconds=_LONGEST_REST_S)
        self._rests = {key: rest for key, rest in self._rests.items() if rest.until > oldest}


class Embedding:
    """Embeds one partition at a time, under a lease. `holder` identifies this process."""

    def __init__(
        self, pool: Pool, embedder: Numbered, *, holder: str, now: Callable[[], datetime], lease_s: float = LEASE_S
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._holder = holder
        self._now = now
        self._lease_s = lease_s
        self._rests = Rests(now)

    async def keep(self) -> None:
        """Find texts that lack vectors, then embed new ones until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(mark_unfinished(self._pool, self._embedder, now=self._now))
            tasks.create_task(self._follow())

    async def handle(self, scope: Scope, subject: str) -> None:
        """Run a job whose holder is gone; the partition stays marked for the texts beyond one run."""
        await embed_some(self._pool, self._embedder, embeddings.partition_of(scope, subject))

    async def go(self, partition: TextPartition, *, limit: int = AT_ONCE) -> Embedded | None:
        """Embed some texts of a partition, or return None if another process has its lease. Raises the errors of `embed_some`."""
        taking = asyncio.create_task(self._take(partition))
        try:
            if await _whole(taking) is None:
                return None
            return await embed_some(self._pool, self._embedder, partition, limit=limit)
        finally:
            # Also on cancellation: the next holder must not wait for the lease to expire.
            if not taking.cancelled() and taking.exception() is None and (job := taking.result()) is not None:
                await _whole(asyncio.create_task(self._drop(partition, job)))

    async def _follow(self) -> None:
        while True:
            self._rests.drop_old()
            waiting = await embeddings.waiting(self._pool, limit=_PLACES + len(self._rests))
            partitions = [partition for partition in waiting if not self._rests.has(partition)]
            limit = AT_ONCE if len(partitions) == 1 else _AT_ONCE_BESIDE_OTHERS
            done = [await self._tried(partition, limit) for partition in partitions]
            if not any(done):
                await asyncio.sleep(_REST_S if len(waiting) > _PLACES else _LOOK_EVERY_S)

    async def _tried(self, partition: TextPartition, limit: int) -> Embedded | None:
        """Run on a partition. A failing partition is skipped for a growing time, so that it does not delay the others."""
        try:
            done = await self.go(partition, limit=limit)
        except (ModelsError, StoreError) as error:
            log.warning("place_not_embedded", extra={"kind": partition.kind.value, "error": type(error).__name__})
            self._rests.begin(partition)
            return None
        self._rests.end(partition)
        return done

    async def _take(self, partition: TextPartition) -> BackgroundJob | None:
        async with scoped(self._pool, partition.scope, role=DatabaseRole.WORKER) as connection:
            return await background.take(
                connection,
                partition.scope,
                (KIND, partition.subject),
                holder=self._holder,
                lease_s=self._lease_s,
                now=self._now(),
            )

    async def _drop(self, partition: TextPartition, job: BackgroundJob) -> None:
        with suppress(StoreError):  # the lease will expire
            async with scoped(self._pool, partition.scope, role=DatabaseRole.WORKER) as connection:
                await background.drop(connection, partition.scope, job, holder=self._holder)


async def _whole(task: asyncio.Task[Result]) -> Result:
    """Await the task to its end even if cancelled, then raise the cancellation, so that no transaction has an unknown outcome."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
