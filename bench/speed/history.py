"""The cost of reading a thread's newest turns, independent of the thread's length."""

from __future__ import annotations

import time
from statistics import median

import uvloop

from bench import corpus
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from bench.texts import Writer
from store.content import threads
from store.db.postgres import Pool, PoolsConfig, open_pools, scoped

_TURNS, _WORDS = 5_000, 150
_WINDOW = threads.HistoryWindow(tokens=8_000, turns=50)


def run(*, scale: float) -> list[Figure]:
    """Return the figures of the history window."""
    return uvloop.run(_measured(max(200, round(_TURNS * scale))))


async def _measured(turns: int) -> list[Figure]:
    texts = Writer(7).texts(turns, _WORDS)
    async with own_database() as (_, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        await corpus.put_thread(pools.background, "long", texts)
        await corpus.put_thread(pools.background, "short", texts[: turns // 10])
        tokens = await _thread_tokens(pools.turn)
        short, long = await _times_ms(pools.turn, "short"), await _times_ms(pools.turn, "long")
        await pools.close()
    return [
        at_most("history window, p95", quantile(long, 0.95), 10.0, unit=" ms", note=f"{turns} turns, {tokens} tokens"),
        plain("history window, p50", median(long), unit=" ms"),
        at_most(
            "long thread ÷ one of a tenth, p50", median(long) / median(short), 1.5, note="the window, not the thread"
        ),
    ]


async def _thread_tokens(pool: Pool) -> int:
    async with scoped(pool, corpus.SCOPE, read_only=True) as connection:
        turns = await threads.list_turns(connection, corpus.SCOPE, "long", limit=1_000_000)
    return sum(turn.o200k_tokens for turn in turns)


async def _times_ms(pool: Pool, thread_id: str) -> list[float]:
    took = []
    for _ in range(210):
        began = time.perf_counter()
        async with scoped(pool, corpus.SCOPE, read_only=True) as connection:
            await threads.history(connection, corpus.SCOPE, thread_id, _WINDOW)
        took.append((time.perf_counter() - began) * 1000)
    return took[10:]
