"""Turns a second: against empty calls on the same server, and against what Postgres alone does with the same queries.

Both sides of a ratio are measured in turns, round by round, so that whatever else the machine does hits both. Callers have
a process of their own. A turn counts when no source was missing from it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import median
from uuid import UUID

from bench import calling, corpus, pgbench, stand_ins
from bench.calling import Callers, Heard, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, plain
from bench.serving import Served, served
from sidecar.settings import Settings
from sidecar.turn.items import Source
from sidecar.turn.profile import DEFAULTS
from sidecar.turn.reading import read
from store import documents
from store.postgres import Pool, PoolsConfig, open_pools, tenant_scoped

_ITEMS = {Source.THREAD: 10, Source.KNOWLEDGE: 10, Source.MEMORY: 20, Source.WIKI: 10}
_TODAY = date(2026, 5, 1)
_ROUNDS = 5
_PATIENT = {"sources": {source.value: {"deadline_ms": 5_000} for source in _ITEMS}}
_EACH = {Source.THREAD: 250, Source.KNOWLEDGE: 60, Source.MEMORY: 80, Source.WIKI: 20}
"""How many texts each source asks for at most, by each way of searching."""
_QUESTIONS = 16
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
    """Return what was heard, and the server's processor seconds for each answer."""
    before_s = site.cpu_s()
    heard = await callers.call(load)
    return heard, (site.cpu_s() - before_s) / max(1, len(heard.answered_s))


async def stored(seconds: float, scale: float) -> list[Figure]:
    """Return turns a second with four local sources, over what Postgres alone does with the same queries."""
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background, _PATIENT)
        sizes = _CORPUS.scaled(scale)
        questions = await corpus.fill(pools.background, sizes, questions=_QUESTIONS)
        bases = await _assigned_bases(pools.turn)
        async with tenant_scoped(pools.background, corpus.SCOPE.tenant_id) as connection:
            await connection.execute("RESET ROLE; ANALYZE")  # what autovacuum does seconds after such a load
        await pools.close()
        with Callers() as callers, tempfile.TemporaryDirectory(prefix="context-sidecar-bench-") as folder:
            asked = [_asked(question, bases) for question in questions]
            scripts = pgbench.write_scripts(Path(folder), corpus.SCOPE, asked)
            async with served(settings) as site:
                requests = calling.turn_requests(questions, thread_id=corpus.THREAD)
                turn = Load(
                    site.address, calling.ASSEMBLE, requests, calling.metadata(settings), _TURN_WIDTH, seconds=seconds
                )
                await callers.call(replace(turn, seconds=3.0))
                rounds = []
                for _ in range(_ROUNDS):
                    alone = await pgbench.turns_per_s(
                        database.dsn, scripts, seconds=seconds, clients=4, data_dir=settings.data_dir.parent / "pg"
                    )
                    turns, cpu_s = await _with_cpu(site, callers, turn)
                    rounds.append((turns.complete_per_s / alone, turns.complete_per_s, alone, cpu_s))
    ratio, turns_per_s, alone_per_s, turn_cpu_s = (median(values) for values in zip(*rounds, strict=True))
    note = f"{sizes.turns} turns, {sizes.memories} memories, {sizes.chunks} chunks, {sizes.pages} pages"
    return [
        at_least("turns/s with four local sources ÷ Postgres alone", ratio, 0.7, note=note),
        plain("turns/s with four local sources", turns_per_s),
        plain("the same queries a second under pgbench", alone_per_s),
        plain("the server's processor time for such a turn", turn_cpu_s * 1000, unit=" ms"),
    ]


async def _assigned_bases(pool: Pool) -> tuple[UUID, ...]:
    async with tenant_scoped(pool, corpus.SCOPE.tenant_id, read_only=True) as connection:
        return await documents.assigned_bases(
            connection, corpus.SCOPE.tenant_id, template_id="default", agent_id=calling.AGENT
        )


def _asked(question: str, bases: Sequence[UUID]) -> pgbench.Asked:
    """Return the parameters that the sources ask a question's queries with, under the built-in profile."""
    tenant = {"tenant_id": str(corpus.SCOPE.tenant_id)}
    owner = tenant | {"owner_id": str(corpus.SCOPE.owner_id)}
    thread = owner | {"thread_id": corpus.THREAD}
    words = {"words": _braced(read(question, speakers=(), today=_TODAY).words), "embedder_no": "0", "vectors": "{}"}
    window = {"client_turn_id": "", "window_tokens": "120000", "window_turns": str(DEFAULTS.history_turns)}
    return {
        "history": thread | window,
        "thread_summary": thread,
        "recall_turns": thread | words | _limit(Source.THREAD),
        "assigned_bases": tenant | {"template_id": "default", "agent_id": calling.AGENT, "space_id": ""},
        "recall_chunks": tenant | {"base_ids": _braced(map(str, bases))} | words | _limit(Source.KNOWLEDGE),
        "recall_memories": owner | words | _limit(Source.MEMORY),
        "recall_wiki": owner | words | _limit(Source.WIKI),
    }


def _limit(source: Source) -> dict[str, str]:
    return {"limit": str(_EACH[source])}


def _braced(values: Iterable[str]) -> str:
    return "{" + ",".join(f'"{value}"' for value in values) + "}"
