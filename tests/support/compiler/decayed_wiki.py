"""Fills a database, compiles and decays it, and prints the bytes of what came out: a program, for processes of other settings."""

from __future__ import annotations

import asyncio
import locale
import sys
from datetime import timedelta
from itertools import count

from compiler.decay.policy import DecayPolicy
from compiler.decay.runner import DecayDeps, run_decay_job
from sidecar.services.aging.nightly import NightlyDecay
from store.content import memories
from store.content.memories import NewMemory
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from tests.support.compiler.compiling import NOW, SCOPE, Clock, compiled, engine_on, journal, wiki_of, wish, write

NAMES = ("b", "B", "ä", "a", "é", "_", "10", "9", "İ", "ß", "Ünal", "z")


async def decayed(pools: Pools) -> bytes:
    """Return the wiki's pages and the summaries of a corpus whose ids and names sort apart under other collations."""
    candidates = [
        NewMemory(
            f"{name.title()} told story {at} of {name}.",
            f"{name}{at}",
            NOW,
            status=MemoryStatus.CANDIDATE,
            document_id=name,
        )
        for name in NAMES
        for at in range(4)
    ]
    accepted = [
        NewMemory(f"{name.title()} Berg sang in Österreich on night {at}.", f"{name}-{at}", NOW)
        for name in NAMES
        for at in range(3)
    ]
    await write(pools, [*journal(20), *accepted, *candidates])
    await wish(pools)
    await compiled(pools, engine_on(pools))
    clock, ids = Clock(NOW + timedelta(days=60)), count()
    await NightlyDecay(pools.background, now=clock, policy=DecayPolicy(most_sources=3)).schedule(SCOPE, "")
    async with scoped(pools.background, SCOPE) as connection:
        rows = await connection.fetch('SELECT job_id, source_ids FROM decay_jobs ORDER BY source_ids[1] COLLATE "C"')
    for row in rows:
        await run_decay_job(DecayDeps(pools.background, clock, lambda: f"summary-{next(ids)}"), SCOPE, row["job_id"])
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        made = [one for one in await memories.page(connection, SCOPE, limit=1000) if one.memory_type == "summary"]
    told = [(one.memory_id, one.text, one.source_events, one.domains, one.authority) for one in made]
    pages = sorted((await wiki_of(pools)).items())
    return repr((sorted(told), [list(row["source_ids"]) for row in rows], pages)).encode()


async def main(dsn: str) -> None:
    """Print the bytes."""
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    sys.stdout.buffer.write(await decayed(pools))
    await pools.close()


if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    asyncio.run(main(sys.argv[1]))
