"""Memories to be read again although no feed lists them: the page with their name was deleted, or an operator retries them."""

from __future__ import annotations

from compiler.job.run import Run
from compiler.state.substrates import FeedPage
from store.compile import ledger


async def reading(run: Run, position: str, *, limit: int) -> FeedPage | None:
    """Return at most `limit` of them as they are now, without moving the feed position; None if none is left."""
    access, substrate = run.access, run.deps.substrate
    while True:
        async with access.reading() as connection:
            owed = await ledger.reread_queue(connection, access.scope, limit=limit)
        if not owed:
            return None
        there = await substrate.fetch(access.scope, owed)
        async with access.writing() as connection:
            missing = [memory_id for memory_id in owed if memory_id not in there]
            await ledger.write_off(connection, access.scope, missing, now=run.now())
        if there:
            memories = tuple(there[memory_id] for memory_id in owed if memory_id in there)
            return FeedPage(memories, position, run.row.read_through, is_drained=False)
