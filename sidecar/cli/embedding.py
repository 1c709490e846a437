"""What `sidecar embed` does: gives every stored text a vector of the embedder in use, place after place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from sidecar import database, embedders
from sidecar.embedding import embed_some
from sidecar.recall import Numbered
from sidecar.settings import Settings
from store import embeddings
from store.postgres import Pool, open_pools
from store.scope import tenant_uuid


@dataclass(frozen=True, slots=True)
class Embedded:
    """What was done: texts that got vectors, and the places (threads, memories, wikis, bases) that were looked at.

    Without an embedder nothing was, and `why_not` says why.
    """

    embedder: str
    text_count: int
    place_count: int
    why_not: str = ""


async def embed(settings: Settings, *, tenant: str, advance: Callable[[int], None]) -> Embedded:
    """Embed what has no vector yet, of one tenant or of all; `advance` hears of each batch. Safe to break off and run again.

    Raises SettingInvalid, EmbedderUnusable, a ModelsError of the embedder, what `store.migrate` and the pools raise.
    """
    async with database.opened(settings) as where:
        await database.check(where)
        pools = await open_pools(where.dsn, database.pools_config(settings))
        try:
            chosen = await embedders.choose(settings, pools.background)
            if chosen.numbered is None:
                return Embedded(settings.embedder, 0, 0, chosen.why_not)
            try:
                only = tenant_uuid(tenant) if tenant else None
                return await _embed_all(pools.background, chosen.numbered, only, advance)
            finally:
                await chosen.close()
        finally:
            await pools.close()


async def _embed_all(
    pool: Pool, embedder: Numbered, tenant_id: UUID | None, advance: Callable[[int], None]
) -> Embedded:
    texts = places = 0
    async for place in embeddings.every_place(pool):
        if tenant_id is not None and place.tenant_id != tenant_id:
            continue
        places += 1
        while True:
            done = await embed_some(pool, embedder, place)
            texts += done.count
            advance(done.count)
            if done.count == 0:
                break
    return Embedded(embedder.embedder.name, texts, places)
