"""Measures a turn's walk over typed edges in a wiki of 10,000 pages and 100,000 edges, and the reading of the pages reached."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime

from bench import corpus
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from sidecar.turn.message.paths import MessageWords, best_ways, walk_query
from store.content.recalling import RecallQuery
from store.db import queries
from store.db.postgres import PoolsConfig, direct, open_pools, scoped
from store.scope import Scope
from store.text.texts import query_words, signatures
from store.wiki import edge_walks, pages

_sql = queries.load(__file__)
_PAGES, _EDGES, _WALKS, _WARM = 10_000, 100_000, 400, 20
_LIMIT_MS = 10.0
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_MESSAGES = (
    "In which city is the company that Page {} works for?",
    "Where does the wife of the owner of Page {} work?",
    "Who wrote what Page {} owns?",
    "Which club is the author of Page {} a member of, and in what town?",
)


async def measured(scale: float) -> list[Figure]:
    """Return the figures of walks of up to three edges; a scale below 1 makes the graph smaller."""
    rng = random.Random(5)
    async with own_database() as (_, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        count, made = await fill(database.dsn, corpus.SCOPE, scale)
        walks_ms: list[float] = []
        passages_ms: list[float] = []
        reached = 0
        for place in range(_WARM + _WALKS):
            message = rng.choice(_MESSAGES).format(rng.randint(1, count))
            words = MessageWords(message)
            query = walk_query(words, (), now=_NOW)
            assert query is not None, "the message names a page"
            async with scoped(pools.turn, corpus.SCOPE, read_only=True) as connection:
                began = time.perf_counter()
                paths = best_ways(words, await edge_walks.walk_from_names(connection, corpus.SCOPE, query))
                walked = time.perf_counter()
                recall = RecallQuery(tuple(query_words(message)), 40)
                ends = [path.page_ids[-1] for path, _ in paths]
                found = await pages.passages_of(connection, corpus.SCOPE, ends, recall, each=2)
                read = time.perf_counter()
            if place >= _WARM:
                walks_ms.append(1000 * (walked - began))
                passages_ms.append(1000 * (read - walked))
                reached += len(found.texts)
        await pools.close()
    note = f"{count} pages, {made} edges, {reached / _WALKS:.1f} pages reached"
    return [
        at_most("walk of up to three edges, p95", quantile(walks_ms, 0.95), _LIMIT_MS, unit=" ms", note=note),
        plain("  the same walk, p50", quantile(walks_ms, 0.5), unit=" ms"),
        plain("  texts of the pages reached, p95", quantile(passages_ms, 0.95), unit=" ms"),
    ]


async def fill(dsn: str, scope: Scope, scale: float) -> tuple[int, int]:
    """Write `scale` times 10,000 pages and 100,000 typed edges for an owner; return how many there are of each."""
    count, edges = round(_PAGES * scale), round(_EDGES * scale)
    signature = signatures(["page"])[0].pack()
    async with direct(dsn) as connection:
        await _sql.pages(connection, **scope.key, now=_NOW, signature=signature, count=count)
        await _sql.edges(connection, **scope.key, now=_NOW, count=count, edges=edges)
        await _sql.analyse(connection)
        return count, await _sql.edge_count(connection)
