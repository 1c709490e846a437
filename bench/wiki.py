"""Wiki recall with 10,000 pages for an owner, among a million of others."""

from __future__ import annotations

import time
from statistics import median
from uuid import UUID

import uvloop

from bench import corpus
from bench.databases import own_database, size_mb
from bench.figures import Figure, at_most, plain, quantile
from bench.pagefill import fill
from bench.texts import Writer
from store import pages
from store.postgres import PoolsConfig, open_pools, scoped
from store.scope import Scope
from store.texts import query_words

_OWNER_PAGES, _OWNERS = 10_000, 100


def run(*, scale: float) -> list[Figure]:
    """Return the figures of wiki recall; a scale of 1 is the full million, a tenth of it takes a minute or two."""
    return uvloop.run(_measured(max(2, round(_OWNERS * scale)), max(500, round(_OWNER_PAGES * min(1.0, scale * 10)))))


async def _measured(owners: int, each: int) -> list[Figure]:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        began = time.monotonic()
        texts = await fill(database.dsn, corpus.SCOPE.tenant_id, owners=owners, each=each)
        built_s = time.monotonic() - began
        writer = Writer(99)
        questions = [writer.question_about(writer.pick(texts)) for _ in range(200)]
        scope = Scope(corpus.SCOPE.tenant_id, UUID(int=1))
        took = []
        for question in questions:
            words = query_words(question)
            started = time.perf_counter()
            async with scoped(pools.turn, scope, read_only=True) as connection:
                await pages.search(connection, scope, words, limit=20)
            took.append((time.perf_counter() - started) * 1000)
        await pools.close()
        disk_mb = size_mb(settings)
    return [
        at_most(
            "wiki recall, lexical, p95", quantile(took[20:], 0.95), 10.0, unit=" ms", note=f"{each} pages an owner"
        ),
        plain("wiki recall, lexical, p50", median(took[20:]), unit=" ms"),
        plain("pages in all", owners * each),
        plain("build time", built_s, unit=" s"),
        plain("disk", disk_mb, unit=" MB"),
    ]
