"""Measures recall from all four sources at once, without embedding: a large owner beside a million rows of other owners."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from uuid import UUID, uuid5

import numpy as np
import uvloop

from bench import corpus, processor
from bench.bulk import filling
from bench.databases import own_database, size_mb
from bench.figures import Figure, at_most, plain, quantile
from bench.texts import Writer
from sidecar.context.ports import ContextSource, Meaning, SourceLimits, SourceQuery
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.items import Source
from sidecar.turn.message.reading import read
from sidecar.turn.profile import DEFAULTS
from store.content import embedders
from store.content.recalling import literal
from store.db import queries
from store.db.postgres import PoolsConfig, open_pools
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import search_words, signatures

_sql = queries.load(__file__)
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_DIMENSIONS = 384
_OUTSIDE_ROWS = 1_000_000
_QUESTIONS, _WARM_QUESTIONS = 120, 20
_POOL_TOKENS = 8_000
_TABLES = (
    *("turns", "memories", "documents", "chunks", "wiki_pages", "wiki_page_sections"),
    *("turn_vectors", "memory_vectors", "chunk_vectors", "section_vectors", "page_vectors"),
)

_SCOPE = Scope(corpus.SCOPE.tenant_id, UUID(int=1))

Draft = tuple[int, str, str, str]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The number of an owner's rows of each kind."""

    turns: int = 5_000
    memories: int = 10_000
    chunks: int = 20_000
    pages: int = 10_000

    @property
    def rows(self) -> int:
        """The number of an owner's texts; a page has two, its summary and its section."""
        return self.turns + self.memories + self.chunks + 2 * self.pages


@dataclass(frozen=True, slots=True)
class _Costs:
    """The milliseconds of each question, and the processor milliseconds of a question in the server and in this process."""

    took_ms: list[float]
    server_ms: float
    own_ms: float


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` is the share of the million rows of other owners."""
    return uvloop.run(_measured(Sizes(), round(_OUTSIDE_ROWS * scale)))


async def _measured(sizes: Sizes, outside_rows: int) -> list[Figure]:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        number = await embedders.number_of(pools.background, "seeded", _DIMENSIONS)
        assert number is not None, "the embedded Postgres keeps vectors"
        sources: dict[Source, ContextSource] = {
            Source.THREAD: ThreadSource(pools.turn),
            Source.KNOWLEDGE: KnowledgeSource(pools.turn),
            Source.MEMORY: MemorySource(pools.turn),
            Source.WIKI: WikiSource(pools.turn),
        }
        drafts = drafted(sizes)
        queries = _questions([text for _, text, _, _ in drafts], number)
        calm_collector()  # as a served process does
        await fill(database.dsn, drafts, sizes, number, owners=range(1, 2))
        data_dir = settings.data_dir.parent
        alone = await _costs(sources, queries, data_dir)
        others = range(2, 2 + max(1, outside_rows // sizes.rows))
        began = time.monotonic()
        await fill(database.dsn, drafts, sizes, number, owners=others)
        built_s = time.monotonic() - began
        among = await _costs(sources, queries, data_dir)
        lexical = await _costs(sources, [_without_vectors(query) for query in queries], data_dir)
        by_source = {source: await _apart_ms(source, one, queries) for source, one in sources.items()}
        await pools.close()
        disk_mb = size_mb(settings)
    outside = len(others) * sizes.rows
    return [
        at_most(
            "four sources with vectors, p95",
            quantile(among.took_ms, 0.95),
            30.0,
            unit=" ms",
            note=f"{outside} rows outside",
        ),
        plain("four sources with vectors, p50", median(among.took_ms), unit=" ms"),
        plain("four sources by words alone, p95", quantile(lexical.took_ms, 0.95), unit=" ms"),
        plain("four sources by words alone, p50", median(lexical.took_ms), unit=" ms"),
        plain("with vectors, the server's processor time a question", among.server_ms, unit=" ms"),
        plain("with vectors, its caller's", among.own_ms, unit=" ms"),
        plain("by words alone, the server's processor time a question", lexical.server_ms, unit=" ms"),
        plain("by words alone, its caller's", lexical.own_ms, unit=" ms"),
        at_most("with the rows outside ÷ without them, p50", median(among.took_ms) / median(alone.took_ms), 1.3),
        *(plain(f"{source} alone, p50", median(took), unit=" ms") for source, took in by_source.items()),
        plain("rows in scope", sizes.rows),
        plain("time to write the rows outside", built_s, unit=" s"),
        plain("disk", disk_mb, unit=" MB"),
    ]


def drafted(sizes: Sizes) -> list[Draft]:
    """Return the texts that every owner gets, each with its words and a vector, from a seed."""
    count = max(asdict(sizes).values())
    texts = Writer(3).texts(count, 25)
    vectors = np.random.default_rng(1).normal(size=(count, _DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [(place, text, search_words(text), literal(vectors[place].tolist())) for place, text in enumerate(texts)]


async def fill(dsn: str, drafts: list[Draft], sizes: Sizes, number: int, *, owners: range) -> None:
    async with filling(dsn, _TABLES) as connection:
        await _sql.make_drafts(connection)
        await connection.copy_records_to_table("drafts", records=drafts, columns=["place", "text", "words", "numbers"])
        await _sql.derive_drafts(connection)
        for owner in owners:
            await _fill_owner(connection, sizes, number, owner)


async def _fill_owner(connection: Connection, sizes: Sizes, number: int, owner: int) -> None:
    tenant, name = {"tenant_id": corpus.SCOPE.tenant_id}, f"owner-{owner}"
    owned = tenant | {"owner_id": UUID(int=owner)}
    based = tenant | {"base_id": uuid5(corpus.SCOPE.tenant_id, name)}
    signed = {"signature": signatures(["text"])[0].pack()}
    embedder, stamped = {"embedder_no": number}, {"now": _NOW}
    turns, facts = {"turns": sizes.turns}, {"memories": sizes.memories}
    chunks, pages = {"chunks": sizes.chunks, "name": name}, {"pages": sizes.pages, "name": name}
    await _sql.put_base(connection, **owned, base_id=based["base_id"], name=name, **turns, **facts, **stamped)
    await _sql.assign(connection, **based, agent_id=name)
    await _sql.put_turns(connection, **owned, **turns, **signed, **stamped)
    await _sql.put_turn_vectors(connection, **owned, **turns, **embedder)
    await _sql.put_memories(connection, **owned, **facts, **signed, **stamped)
    await _sql.put_memory_vectors(connection, **owned, **facts, **embedder)
    await _sql.put_documents(connection, **based, **chunks, **stamped)
    await _sql.put_chunks(connection, **based, **chunks, **signed)
    await _sql.put_chunk_vectors(connection, **based, **chunks, **embedder)
    await _sql.put_pages(connection, **owned, **pages, **signed, **stamped)
    await _sql.put_sections(connection, **owned, **pages, **signed)
    await _sql.put_section_vectors(connection, **owned, **pages, **embedder)
    await _sql.put_page_vectors(connection, **owned, **pages, **embedder)


def _questions(texts: list[str], number: int) -> list[SourceQuery]:
    writer, numbers = Writer(99), np.random.default_rng(9)
    queries = []
    for _ in range(_QUESTIONS):
        message = writer.question_about(writer.pick(texts))
        vector = numbers.normal(size=_DIMENSIONS)
        reading = read(message, today=_NOW.date())
        meaning = Meaning(number, (literal((vector / np.linalg.norm(vector)).tolist()),) * len(reading.parts))
        queries.append(SourceQuery(message, reading.words, "thread", "owner-1", "", "", "", _NOW, reading, meaning))
    return queries


def _without_vectors(query: SourceQuery) -> SourceQuery:
    return SourceQuery(query.text, query.words, query.thread_id, query.agent_id, "", "", "", query.now, query.reading)


async def _costs(sources: dict[Source, ContextSource], queries: list[SourceQuery], data_dir: Path) -> _Costs:
    """Return the costs of queries to all sources at once, without those of the first, which warm up."""
    took_ms = []
    before = processor.spent(data_dir)
    for place, query in enumerate(queries):
        if place == _WARM_QUESTIONS:
            before = processor.spent(data_dir)
        began = time.perf_counter()
        await asyncio.gather(*(one.find(query, _SCOPE, _limits(source)) for source, one in sources.items()))
        took_ms.append((time.perf_counter() - began) * 1000)
    used, counted = processor.spent(data_dir).since(before), len(queries) - _WARM_QUESTIONS
    return _Costs(took_ms[_WARM_QUESTIONS:], used.server_s * 1000 / counted, used.own_s * 1000 / counted)


async def _apart_ms(source: Source, one: ContextSource, queries: list[SourceQuery]) -> list[float]:
    """Return the milliseconds of some questions to one source by itself."""
    took_ms = []
    for query in queries[:40]:
        began = time.perf_counter()
        await one.find(query, _SCOPE, _limits(source))
        took_ms.append((time.perf_counter() - began) * 1000)
    return took_ms


def _limits(source: Source) -> SourceLimits:
    return SourceLimits(DEFAULTS.knobs(source).top_k, 3, _POOL_TOKENS, 50)
