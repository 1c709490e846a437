"""Gives stored texts their vectors, behind the writes: a text is found by meaning a moment after it was written.

Nothing is lost when this stops half-way: what has no vector of the embedder in use is found again, by its place's mark or by a
walk through all places, which a change of embedder needs. Several processes may do this at once; they do some work twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from models.errors import ModelsError
from sidecar.recall import Numbered
from store import embeddings
from store.embeddings import Place
from store.errors import StoreError
from store.postgres import Pool

log = logging.getLogger(__name__)

AT_ONCE = 64
_AT_ONCE_BESIDE_OTHERS = 16
_PLACES = 32
_LOOK_EVERY_S = 0.3
_REST_S = 5.0


@dataclass(frozen=True, slots=True)
class Embedded:
    """What one go at a place did: texts that got vectors, and whether the place is done."""

    count: int
    is_done: bool


async def embed_some(pool: Pool, embedder: Numbered, place: Place, *, limit: int = AT_ONCE) -> Embedded:
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


async def keep_embedded(pool: Pool, embedder: Numbered, *, now: Callable[[], datetime]) -> None:
    """Embed what is written, for ever; first find what was left before."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(mark_unfinished(pool, embedder, now=now))
        tasks.create_task(_follow(pool, embedder))


async def _follow(pool: Pool, embedder: Numbered) -> None:
    while True:
        places = await embeddings.waiting(pool, limit=_PLACES)
        failed = [place for place in places if not await _is_embedded(pool, embedder, place, len(places))]
        if failed and len(failed) == len(places):
            await asyncio.sleep(_REST_S)
        elif not places:
            await asyncio.sleep(_LOOK_EVERY_S)


async def _is_embedded(pool: Pool, embedder: Numbered, place: Place, places: int) -> bool:
    """Return whether a go at the place went well; one that fails must not hold up the others."""
    try:
        await embed_some(pool, embedder, place, limit=AT_ONCE if places == 1 else _AT_ONCE_BESIDE_OTHERS)
    except (ModelsError, StoreError) as error:
        log.warning("place_not_embedded", extra={"kind": place.kind.value, "error": type(error).__name__})
        return False
    return True
