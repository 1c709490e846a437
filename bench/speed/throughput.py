"""Turns a second: against empty calls on the same server, against the same queries run by Postgres alone, and against
what the embedder does alone.

Both sides of a ratio are measured in turns, round by round, so that whatever else the machine does hits both. Callers have
a process of their own. A turn counts when no source was missing from it.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from uuid import UUID

import numpy as np

from bench import calling, corpus, stand_ins
from bench.calling import Callers, Heard, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, plain
from bench.serving import Served, served
from bench.speed import pgbench
from models.embedding.embedder import LocalEmbedder, Vectors
from models.embedding.minilm import MiniLM
from sidecar.context.ports import Meaning
from sidecar.runtime.embedders import Numbered
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Source
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.profile import DEFAULTS
from sidecar.worker.embedding_jobs import embed_some
from store.content import documents, embedders, embeddings
from store.content.recalling import literal
from store.db.postgres import Pool, Pools, PoolsConfig, open_pools, tenant_scoped

_ITEMS = {Source.THREAD: 10, Source.KNOWLEDGE: 10, Source.MEMORY: 20, Source.WIKI: 10}
_TODAY = date(2026, 5, 1)
_ROUNDS = 5
_PATIENT = {"sources": {source.value: {"deadline_ms": 5_000} for source in _ITEMS}}
_EACH = {Source.THREAD: 250, Source.KNOWLEDGE: 60, Source.MEMORY: 80, Source.WIKI: 20}
"""How many texts each source asks for at most, by each way of searching."""
_QUESTIONS = 16
_QUESTIONS_EMBEDDED = 2_000
_EMBEDDED_AT_ONCE = 500
_EMPTY_WIDTH, _TURN_WIDTH = 16, 4
_CORPUS = corpus.Sizes(turns=5_000, memories=10_000, chunks=10_000, pages=10_000)


async def stubbed(seconds: float) -> list[Figure]:
    """Return turns a second with sources that answer at once, over empty calls a second."""
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        await pools.close()
        with Callers() as callers:
            async with served(settings, stand_ins.sources(_ITEMS)) as site:
                rounds = await _stubbed_rounds(settings, site, callers, seconds)
    return [
        at_least(
            "turns/s with stubbed sources ÷ empty calls/s",
            median(one.ratio for one in rounds),
            1 / 8,
            note=f"{sum(_ITEMS.values())} candidates; empty call: a health check",
        ),
        plain("the same in the server's processor time", median(one.cpu_ratio for one in rounds)),
        plain("turns/s with stubbed sources", median(one.turns_per_s for one in rounds)),
        plain("processor time of such a turn", median(one.turn_cpu_s for one in rounds) * 1000, unit=" ms"),
    ]


@dataclass(frozen=True, slots=True)
class _Round:
    """One round of turns beside one of empty calls: both a second, and the server's processor seconds for each."""

    turns_per_s: float
    empties_per_s: float
    turn_cpu_s: float
    empty_cpu_s: float

    @property
    def ratio(self) -> float:
        return self.turns_per_s / self.empties_per_s

    @property
    def cpu_ratio(self) -> float:
        return self.empty_cpu_s / self.turn_cpu_s


async def _stubbed_rounds(settings: Settings, site: Served, callers: Callers, seconds: float) -> list[_Round]:
    turn = Load(site.address, calling.ASSEMBLE, calling.turn_requests(["what now?"]), calling.metadata(settings))
    empty = Load(site.address, calling.HEALTH, (calling.empty_request(),), width=_EMPTY_WIDTH, seconds=seconds / 2)
    await callers.call(replace(turn, seconds=1.0))
    rounds = []
    for _ in range(_ROUNDS):
        empties, empty_cpu_s = await _with_cpu(site, callers, empty)
        turns, turn_cpu_s = await _with_cpu(site, callers, replace(turn, width=_EMPTY_WIDTH, seconds=seconds))
        rounds.append(_Round(turns.complete_per_s, empties.per_s, turn_cpu_s, empty_cpu_s))
    return rounds


async def _with_cpu(site: Served, callers: Callers, load: Load) -> tuple[Heard, float]:
    """Return the results of the calls, and the server's processor seconds for each answer."""
    before_s = site.cpu_s()
    heard = await callers.call(load)
    return heard, (site.cpu_s() - before_s) / max(1, len(heard.answered_s))


async def stored(seconds: float, scale: float) -> list[Figure]:
    """Return the turns a second with four local sources, divided by those whose queries Postgres alone answers."""
    sizes = _CORPUS.scaled(scale)
    rounds = await _stored_rounds(seconds, sizes)
    ratio = median(one.turns_per_s / one.postgres_per_s for one in rounds)
    return [
        at_least("turns/s with four local sources ÷ Postgres alone", ratio, 0.7, note=_told(sizes)),
        plain("turns/s with four local sources", median(one.turns_per_s for one in rounds)),
        plain("the same queries a second under pgbench", median(one.postgres_per_s for one in rounds)),
        plain(
            "the server's processor time for such a turn", median(one.turn_cpu_s for one in rounds) * 1000, unit=" ms"
        ),
    ]


async def embedded(seconds: float, scale: float) -> list[Figure]:
    """Return turns a second with the built-in embedder, divided by the smaller rate of Postgres and the embedder alone."""
    sizes, embedder = _CORPUS.scaled(scale), LocalEmbedder(MiniLM(), capacity=1)
    rounds = await _stored_rounds(seconds, sizes, embedder)
    embedder.close()
    ratio = median(one.turns_per_s / min(one.postgres_per_s, one.embedded_per_s) for one in rounds)
    cpu_ms = median(one.turn_cpu_s for one in rounds) * 1000
    return [
        at_least("turns/s with the embedder ÷ the smaller of Postgres and it alone", ratio, 0.7, note=_told(sizes)),
        plain("turns/s with the embedder", median(one.turns_per_s for one in rounds)),
        plain("the same queries, with vectors, a second under pgbench", median(one.postgres_per_s for one in rounds)),
        plain("questions a second embedded alone", median(one.embedded_per_s for one in rounds)),
        plain("the server's processor time for such a turn, the embedding included", cpu_ms, unit=" ms"),
    ]


async def parts(seconds: float, scale: float) -> list[Figure]:
    """Return the server's processor milliseconds for each part of a turn: with sources that answer at once, and with four local
    ones by words.
    """
    sizes, figures = _CORPUS.scaled(scale), list[Figure]()
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        questions, _ = await _filled(pools, sizes, None)
        await pools.close()
        requests = calling.turn_requests(questions, thread_id=corpus.THREAD)
        with Callers() as callers:
            for turns, sources in (("stubbed", stand_ins.sources(_ITEMS)), ("stored", None)):
                async with served(settings, sources, times_parts=True) as site:
                    load = Load(site.address, calling.ASSEMBLE, requests, calling.metadata(settings), _TURN_WIDTH)
                    await callers.call(load)
                    figures += await _parts_ms(turns, site, callers, replace(load, seconds=seconds))
    return figures


async def _parts_ms(turns: str, site: Served, callers: Callers, load: Load) -> list[Figure]:
    site.parts_s()
    heard, cpu_s = await _with_cpu(site, callers, load)
    count = len(heard.answered_s)
    spent = {part: spent_s * 1000 / count for part, spent_s in site.parts_s().items()}
    spent["gRPC, the event loop, other threads"] = cpu_s * 1000 - sum(spent.values())
    by_part = sorted(spent.items(), key=lambda one: -one[1])
    return [
        plain(f"{turns}: the server's processor time for a turn", cpu_s * 1000, unit=" ms", note=f"{count} turns"),
        *(plain(f"{turns}: {part}", took_ms, unit=" ms") for part, took_ms in by_part),
    ]


def _told(sizes: corpus.Sizes) -> str:
    return f"{sizes.turns} turns, {sizes.memories} memories, {sizes.chunks} chunks, {sizes.pages} pages"


@dataclass(frozen=True, slots=True)
class _StoredRound:
    """One round: turns a second, and the turns a second that Postgres alone and the embedder alone, if any, could serve."""

    turns_per_s: float
    turn_cpu_s: float
    postgres_per_s: float
    embedded_per_s: float = math.inf


async def _stored_rounds(
    seconds: float, sizes: corpus.Sizes, embedder: LocalEmbedder | None = None
) -> list[_StoredRound]:
    async with own_database(embedder="minilm" if embedder else "none") as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        questions, parameters = await _filled(pools, sizes, embedder)
        await pools.close()
        with Callers() as callers, tempfile.TemporaryDirectory(prefix="context-sidecar-bench-") as folder:
            scripts = pgbench.write_scripts(Path(folder), corpus.SCOPE, parameters)
            alone = partial(pgbench.turns_per_s, database.dsn, scripts, data_dir=settings.data_dir.parent / "pg")
            async with served(settings) as site:
                proof = calling.metadata(settings)
                turn = Load(site.address, calling.ASSEMBLE, (), proof, _TURN_WIDTH, seconds=seconds)
                warming = calling.turn_requests(questions[:_QUESTIONS], thread_id=corpus.THREAD)
                await callers.call(replace(turn, requests=warming, seconds=3.0))
                rounds = []
                for number in range(_ROUNDS):
                    # With an embedder, new questions only: vectors are cached.
                    own = questions[number::_ROUNDS] if embedder else questions
                    requests = calling.turn_requests(own, thread_id=corpus.THREAD)
                    postgres_per_s = await alone(seconds=seconds, clients=_TURN_WIDTH)
                    embedded_per_s = await _embedded_per_s(embedder, own, seconds) if embedder else math.inf
                    turns, cpu_s = await _with_cpu(site, callers, replace(turn, requests=requests))
                    rounds.append(_StoredRound(turns.complete_per_s, cpu_s, postgres_per_s, embedded_per_s))
    return rounds


async def _filled(
    pools: Pools, sizes: corpus.Sizes, embedder: LocalEmbedder | None
) -> tuple[list[str], list[pgbench.QueryParameters]]:
    """Write the corpus, with vectors if there is an embedder; return questions about it, and the query parameters of some."""
    await corpus.put_tenant(pools.background, _PATIENT)
    count = _QUESTIONS_EMBEDDED if embedder else _QUESTIONS
    questions = await corpus.fill(pools.background, sizes, questions=count)
    number = await _put_vectors(pools.background, embedder) if embedder else 0
    async with tenant_scoped(pools.background, corpus.SCOPE.tenant_id) as connection:
        await connection.execute("RESET ROLE; ANALYZE")  # what autovacuum does seconds after such a load
    bases = await _assigned_bases(pools.turn)
    parameters = []
    for question in questions[:_QUESTIONS]:
        reading = read(question, speakers=(), today=_TODAY)
        vectors = await embedder.embed([part.text for part in reading.parts]) if embedder else ()
        meaning = Meaning(number, tuple(literal(vector.tolist()) for vector in vectors))
        parameters.append(_parameters(reading, bases, meaning))
    return questions, parameters


async def _put_vectors(pool: Pool, embedder: LocalEmbedder) -> int:
    """Give every text a random vector under the embedder's number, and return the number. Search time does not depend on them."""
    number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
    assert number is not None, "the embedded Postgres keeps vectors"
    random = Numbered(_Random(embedder.name, embedder.dimensions), number)
    while places := await embeddings.waiting(pool, limit=1):
        await embed_some(pool, random, places[0], limit=_EMBEDDED_AT_ONCE)
    return number


class _Random:
    """An embedder of random vectors, because the built-in one would take longer for a corpus than the benchmark."""

    question_prefix = ""

    def __init__(self, name: str, dimensions: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self._numbers = np.random.default_rng(7)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, of length 1."""
        made = self._numbers.normal(size=(len(texts), self.dimensions)).astype(np.float32)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


async def _embedded_per_s(embedder: LocalEmbedder, questions: Sequence[str], seconds: float) -> float:
    """Return the questions a second that the idle embedder reads, with as many at once as there are turns at once."""
    began, left = time.perf_counter(), cycle(questions)
    read_count = 0

    async def ask() -> None:
        nonlocal read_count
        while time.perf_counter() < began + seconds:
            await embedder.embed([next(left)])
            read_count += 1

    await asyncio.gather(*(ask() for _ in range(_TURN_WIDTH)))
    return read_count / (time.perf_counter() - began)


async def _assigned_bases(pool: Pool) -> tuple[UUID, ...]:
    async with tenant_scoped(pool, corpus.SCOPE.tenant_id, read_only=True) as connection:
        return await documents.assigned_bases(
            connection, corpus.SCOPE.tenant_id, template_id="default", agent_id=calling.AGENT
        )


def _parameters(reading: Reading, bases: Sequence[UUID], meaning: Meaning) -> pgbench.QueryParameters:
    """Return the parameters that the sources ask a question's queries with, under the built-in profile."""
    tenant = {"tenant_id": str(corpus.SCOPE.tenant_id)}
    owner = tenant | {"owner_id": str(corpus.SCOPE.owner_id)}
    thread = owner | {"thread_id": corpus.THREAD}
    means = {"embedder_no": str(meaning.embedder_no), "vectors": _braced(meaning.vectors)}
    words: dict[str, str | None] = {"words": _braced(reading.words), "weights": None, **means}
    window = {"client_turn_id": "", "window_tokens": "120000", "window_turns": str(DEFAULTS.history_turns)}
    return {
        "history": thread | window,
        "thread_summary": thread,
        "recall_turns": thread | words | _limit(Source.THREAD),
        "assigned_bases": tenant | {"template_id": "default", "agent_id": calling.AGENT, "space_id": ""},
        "recall_chunks": tenant | {"base_ids": _braced(map(str, bases))} | words | _limit(Source.KNOWLEDGE),
        "pinned_memories": owner,
        "recall_memories": owner | words | _limit(Source.MEMORY),
        "recall_wiki": owner | words | _limit(Source.WIKI),
    }


def _limit(source: Source) -> dict[str, str]:
    return {"limit": str(_EACH[source])}


def _braced(values: Iterable[str]) -> str:
    return "{" + ",".join(f'"{value}"' for value in values) + "}"
