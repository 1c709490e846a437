"""The work of `sidecar embed`: computes the vectors of all stored texts with the embedder in use, partition by partition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from sidecar.runtime import database, embedders
from sidecar.runtime.settings import Settings
from sidecar.worker.embedding_jobs import Embedding, embedding_here
from store.content import embeddings
from store.content.embeddings import TextPartition
from store.db.postgres import Pool, open_pools
from store.scope import tenant_uuid

_LOOK_AGAIN_S = 0.3


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """The result: the numbers of texts that got vectors, and of visited places (threads, memories, wikis, bases).

    Without an embedder nothing is done, and `why_not` has the reason.
    """

    embedder: str
    text_count: int
    place_count: int
    why_not: str = ""


async def embed(settings: Settings, *, tenant: str, advance: Callable[[int], None]) -> EmbedReport:
    """Embed texts without a vector, of one tenant or of all; `advance` is called for each batch. Safe to interrupt and repeat.

    Raises SettingInvalid, EmbedderUnusable, a ModelsError of the embedder, and the errors of `store.db.migrate` and the pools.
    """
    async with database.opened(settings) as where:
        await database.check(where)
        pools = await open_pools(where.dsn, database.pools_config(settings))
        try:
            chosen = await embedders.choose(settings, pools.background)
            if chosen.numbered is None:
                return EmbedReport(settings.embedder, 0, 0, chosen.why_not)
            try:
                only = tenant_uuid(tenant) if tenant else None
                embedding = embedding_here(chosen.numbered, settings, pools.background, now=partial(datetime.now, UTC))
                assert embedding is not None, "there is an embedder"
                texts, places = await _embed_all(pools.background, embedding, only, advance)
                return EmbedReport(chosen.numbered.embedder.name, texts, places)
            finally:
                await chosen.close()
        finally:
            await pools.close()


async def _embed_all(
    pool: Pool, embedding: Embedding, tenant_id: UUID | None, advance: Callable[[int], None]
) -> tuple[int, int]:
    """Return the numbers of texts that got vectors and of visited places."""
    texts = places = 0
    async for partition in embeddings.every_partition(pool):
        if tenant_id is None or partition.tenant_id == tenant_id:
            places += 1
            texts += await _embed_partition(embedding, partition, advance)
    return texts, places


async def _embed_partition(embedding: Embedding, partition: TextPartition, advance: Callable[[int], None]) -> int:
    """Embed a partition and return the number of texts that got vectors here. Waits if another process is embedding it."""
    count = 0
    while True:
        done = await embedding.go(partition)
        if done is None:
            await asyncio.sleep(_LOOK_AGAIN_S)
            continue
        if done.count == 0:
            return count
        count += done.count
        advance(done.count)
