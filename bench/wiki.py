"""Wiki recall with 10,000 pages for an owner, among a million of others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from uuid import UUID

import uvloop

from bench import corpus
from bench.databases import own_database, size_mb
from bench.figures import Figure, at_most, plain, quantile
from bench.pagefill import fill
from bench.texts import Writer
from sidecar.app import calm_collector
from store import pages
from store.postgres import Pools, PoolsConfig, open_pools, scoped
from store.recalling import Wanted
from store.scope import Scope
from store.texts import query_words

_OWNER_PAGES, _OWNERS = 10_000, 100
_QUESTIONS, _WARM_QUESTIONS = 180, 20


def run(*, scale: float) -> list[Figure]:
    """Return the figures of wiki recall; a scale of 1 is the full million, a tenth of it takes a minute or two."""
    owners, each = max(4, round(_OWNERS * scale)), max(500, round(_OWNER_PAGES * min(1.0, scale * 10)))
    few, many = uvloop.run(_measured(2, each)), uvloop.run(_measured(owners, each))
    return [
        at_most(
            "wiki recall, lexical, p95", quantile(many.took_ms, 0.95), 10.0, unit=" ms", note=f"{each} pages an owner"
        ),
        plain("wiki recall, lexical, p50", median(many.took_ms), unit=" ms"),
        at_most("the same p50 ÷ with one other owner", median(many.took_ms) / median(few.took_ms), 1.5),
        plain("pages in all", owners * each),
        plain("build time", many.built_s, unit=" s"),
        plain("disk", many.disk_mb, unit=" MB"),
    ]


@dataclass(frozen=True, slots=True)
class _Measured:
    """What each question took, and what building the wiki did."""

    took_ms: list[float]
    built_s: float
    disk_mb: float


async def _measured(owners: int, each: int) -> _Measured:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        began = time.monotonic()
        texts = await fill(database.dsn, corpus.SCOPE.tenant_id, owners=owners, each=each)
        built_s = time.monotonic() - began
        writer = Writer(99)
        questions = [writer.question_about(writer.pick(texts)) for _ in range(_WARM_QUESTIONS + _QUESTIONS)]
        calm_collector()  # as a served process does
        took_ms = [await _recalled_ms(pools, question) for question in questions]
        await pools.close()
        return _Measured(took_ms[_WARM_QUESTIONS:], built_s, size_mb(settings))


async def _recalled_ms(pools: Pools, question: str) -> float:
    scope = Scope(corpus.SCOPE.tenant_id, UUID(int=1))
    wanted = Wanted(tuple(query_words(question)), limit=20)
    started = time.perf_counter()
    async with scoped(pools.turn, scope, read_only=True) as connection:
        await pages.recall(connection, scope, wanted)
    return (time.perf_counter() - started) * 1000
