"""The embedders whose vectors this installation stores, each under a number."""

from __future__ import annotations

from store.db import queries
from store.db.postgres import Pool, installation

_sql = queries.load(__file__)


async def number_of(pool: Pool, model: str, dimensions: int) -> int | None:
    """Return the number of this embedder, assigned if new; None if the database cannot store vectors."""
    async with installation(pool) as connection:
        if not await _sql.has_vectors(connection):
            return None
        known = await _sql.find_embedder(connection, model=model, dimensions=dimensions)  # a standby takes no write
        return int(known or await _sql.put_embedder(connection, model=model, dimensions=dimensions))
