"""Measures wiki recall for an owner with 10,000 pages, among a million pages of others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import UUID

import uvloop

from bench import corpus, processor
from bench.databases import own_database, size_mb
from bench.figures import Figure, at_most, plain, quantile
from bench.texts import Writer
from bench.wiki.pagefill import DIMENSIONS, fill, vectors
from sidecar.runtime.gc_tuning import calm_collector
from store.content import embedders
from store.content.recalling import RecallQuery
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope
from store.text.texts import query_words
from store.wiki import pages

_OWNER_PAGES, _OWNERS = 10_000, 100
_QUESTIONS, _WARM_QUESTIONS = 200, 20


def run(*, scale: float) -> list[Figure]:
    """Return the figures of wiki recall; a scale of 1 is the full million, a tenth of it takes a minute or two."""
    owners, each = max(4, round(_OWNERS * scale)), max(500, round(_OWNER_PAGES * min(1.0, scale * 10)))
    few, many = uvloop.run(_measured(2, each)), uvloop.run(_measured(owners, each))
    return [
        *_figures("lexical", few.by_words, many.by_words, 10.0, f"{each} pages an owner"),
        *_figures("with vectors", few.with_vectors, many.with_vectors, 20.0, f"{each} pages an owner"),
        plain("pages in all", owners * each),
        plain("build time", many.built_s, unit=" s"),
        plain("disk", many.disk_mb, unit=" MB"),
    ]


@dataclass(frozen=True, slots=True)
class _Costs:
    """The milliseconds of each question, and the processor milliseconds of a question in the server and in this process."""

    took_ms: list[float]
    server_ms: float
    own_ms: float


@dataclass(frozen=True, slots=True)
class _Measured:
    """The costs of the questions, the time to build the wiki, and its size."""

    by_words: _Costs
    with_vectors: _Costs
    built_s: float
    disk_mb: float


def _figures(way: str, few: _Costs, many: _Costs, target_ms: float, note: str) -> list[Figure]:
    growth = median(many.took_ms) / median(few.took_ms)
    return [
        at_most(f"wiki recall, {way}, p95", quantile(many.took_ms, 0.95), target_ms, unit=" ms", note=note),
        plain(f"wiki recall, {way}, p50", median(many.took_ms), unit=" ms"),
        plain(f"wiki recall, {way}, the server's processor time a question", many.server_ms, unit=" ms"),
        plain(f"wiki recall, {way}, its caller's", many.own_ms, unit=" ms"),
        at_most(f"wiki recall, {way}, p50 ÷ with one other owner", growth, 1.5),
    ]


async def _measured(owners: int, each: int) -> _Measured:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        number = await embedders.number_of(pools.background, "seeded", DIMENSIONS)
        assert number is not None, "the embedded Postgres keeps vectors"
        began = time.monotonic()
        texts = await fill(database.dsn, corpus.SCOPE.tenant_id, owners=owners, each=each, embedder_no=number)
        built_s = time.monotonic() - began
        writer = Writer(99)
        questions = [tuple(query_words(writer.question_about(writer.pick(texts)))) for _ in range(_QUESTIONS)]
        queries = [
            RecallQuery(words, limit=20, embedder_no=number, vectors=(vector,))
            for words, vector in zip(questions, vectors(_QUESTIONS, seed=9), strict=True)
        ]
        calm_collector()  # as a served process does
        data_dir = settings.data_dir.parent
        by_words = await _costs(pools, data_dir, [RecallQuery(words, limit=20) for words in questions])
        with_vectors = await _costs(pools, data_dir, queries)
        await pools.close()
        return _Measured(by_words, with_vectors, built_s, size_mb(settings))


async def _costs(pools: Pools, data_dir: Path, queries: list[RecallQuery]) -> _Costs:
    for query in queries[:_WARM_QUESTIONS]:
        await _recalled_ms(pools, query)
    before = processor.spent(data_dir)
    took_ms = [await _recalled_ms(pools, query) for query in queries[_WARM_QUESTIONS:]]
    used = processor.spent(data_dir).since(before)
    return _Costs(took_ms, used.server_s * 1000 / len(took_ms), used.own_s * 1000 / len(took_ms))


async def _recalled_ms(pools: Pools, query: RecallQuery) -> float:
    scope = Scope(corpus.SCOPE.tenant_id, UUID(int=1))
    started = time.perf_counter()
    async with scoped(pools.turn, scope, read_only=True) as connection:
        await pages.recall(connection, scope, query)
    return (time.perf_counter() - started) * 1000
