"""A turn's own cost: fitting 500 candidates, and turns a second against empty calls and against Postgres alone."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from uuid import uuid5

import uvloop

from bench import calling, corpus, pgbench, stand_ins
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.serving import served
from models.tokens import meter_for, warm
from sidecar.settings import Settings
from sidecar.turn import receipt
from sidecar.turn.fitting import Fitting, Spent, fit
from sidecar.turn.items import Item, Source, SourceReport, Status
from sidecar.turn.profile import merge, parse_layer
from store.postgres import PoolsConfig, open_pools
from store.texts import query_words

_MANY = {Source.THREAD: 100, Source.KNOWLEDGE: 150, Source.MEMORY: 150, Source.WIKI: 100}
_USUAL = {Source.THREAD: 10, Source.KNOWLEDGE: 10, Source.MEMORY: 20, Source.WIKI: 10}
_ASKED_AT_ONCE = 16
_QUESTIONS = 24


def run(*, scale: float) -> list[Figure]:
    """Return the figures of a turn."""
    return [*_fitting(max(20, round(200 * scale))), *uvloop.run(_serving(max(1.0, 4.0 * scale), scale))]


def _fitting(rounds: int) -> list[Figure]:
    """Return what fitting 500 candidates into a window of 128,000 tokens costs, with and without stored signatures."""
    warm()
    signed, receipts = _fit_ms(lambda number: _question(signed_seed=1, number=number), rounds)
    fresh, _ = _fit_ms(lambda number: _question(signed_seed=None, number=number), max(10, rounds // 4))
    return [
        at_most("own time of a turn, p50", median(signed), 5.0, unit=" ms", note="500 candidates, stored signatures"),
        at_most("own time of a turn, p95", quantile(signed, 0.95), 15.0, unit=" ms"),
        at_most("own time of a turn, texts never seen, p50", median(fresh), 20.0, unit=" ms", note="500 new texts"),
        plain("its receipt, behind the answer, p50", median(receipts), unit=" ms"),
    ]


def _question(*, signed_seed: int | None, number: int) -> Fitting:
    reports = tuple(
        SourceReport(source, Status.OK, _items(source, count, signed_seed, number)) for source, count in _MANY.items()
    )
    knobs = {"sources": {source.value: {"top_k": 1000} for source in _MANY}}
    return Fitting(merge(parse_layer(knobs)), 128_000, Spent(600, 400, 2048, 50), reports)


def _items(source: Source, count: int, signed_seed: int | None, number: int) -> tuple[Item, ...]:
    if signed_seed is not None:
        return stand_ins.answer(source, count, seed=signed_seed).items
    return stand_ins.answer(source, count, seed=1000 + number, is_signed=False).items


def _fit_ms(question: Callable[[int], Fitting], rounds: int) -> tuple[list[float], list[float]]:
    """Return what each fitting took, and what writing its receipt took, which happens behind the answer."""
    meter = meter_for("gpt-4o")
    asked = receipt.Asked("what now?", {}, "bench")
    fits, receipts = [], []
    for number in range(rounds):
        given = question(number)
        began = time.perf_counter()
        fitted = fit(given, meter)
        ended = time.perf_counter()
        receipt.write(asked, given, fitted)
        fits.append((ended - began) * 1000)
        receipts.append((time.perf_counter() - ended) * 1000)
    return fits[2:], receipts[2:]


async def _serving(seconds: float, scale: float) -> list[Figure]:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        questions = await corpus.fill(pools.background, corpus.Sizes().scaled(scale), questions=_QUESTIONS)
        await pools.close()
        with Callers(2) as callers:
            stubbed = await _stubbed(settings, callers, seconds)
            stored = await _stored(settings, database.dsn, callers, questions, seconds)
    return [*stubbed, *stored]


async def _stubbed(settings: Settings, callers: Callers, seconds: float) -> list[Figure]:
    """Return turns a second with instant sources, over empty calls a second on the same server, in turns."""
    settings = replace(settings, max_in_flight=256, max_in_flight_per_tenant=256)
    async with served(settings, stand_ins.sources(_USUAL)) as site:
        turn = Load(site.address, calling.ASSEMBLE, calling.turn_requests(["what now?"]), calling.metadata(settings))
        empty = Load(site.address, calling.HEALTH, (calling.empty_request(),))
        await callers.call(replace(turn, seconds=1.0, width=4))
        ratios, rates = [], []
        for _ in range(3):
            turns = await callers.call(replace(turn, seconds=seconds, width=_ASKED_AT_ONCE))
            empties = await callers.call(replace(empty, seconds=seconds / 2, width=_ASKED_AT_ONCE))
            ratios.append(turns.per_s / empties.per_s)
            rates.append(turns.per_s)
    return [
        at_least("turns/s with stubbed sources ÷ empty calls/s", median(ratios), 1 / 8, note="50 items, 4 sources"),
        plain("turns/s with stubbed sources", median(rates)),
    ]


async def _stored(
    settings: Settings, dsn: str, callers: Callers, questions: Sequence[str], seconds: float
) -> list[Figure]:
    """Return turns a second with four local sources, over what Postgres alone does with the same queries, in turns."""
    settings = replace(settings, max_in_flight=256, max_in_flight_per_tenant=256)
    data_dir = settings.data_dir.parent / "pg"
    requests = calling.turn_requests(questions, thread_id=corpus.THREAD)
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="context-sidecar-bench-")
    scripts = pgbench.write_scripts(Path(folder), corpus.SCOPE, [_asked(question) for question in questions])
    async with served(settings) as site:
        turn = Load(site.address, calling.ASSEMBLE, requests, calling.metadata(settings), width=_ASKED_AT_ONCE)
        await callers.call(replace(turn, seconds=2.0))
        ratios, rates = [], []
        for _ in range(3):
            alone = await pgbench.turns_per_s(dsn, scripts, seconds=seconds, clients=4, data_dir=data_dir)
            turns = await callers.call(replace(turn, seconds=seconds))
            ratios.append(turns.per_s / alone)
            rates.append(turns.per_s)
    return [
        at_least("turns/s with four local sources ÷ Postgres alone", median(ratios), 0.7, note="pgbench, same queries"),
        plain("turns/s with four local sources", median(rates)),
    ]


def _asked(question: str) -> pgbench.Asked:
    """Return the parameters that the sources ask a question's queries with."""
    owner = {"tenant_id": str(corpus.SCOPE.tenant_id), "owner_id": str(corpus.SCOPE.owner_id)}
    thread = owner | {"thread_id": corpus.THREAD}
    words = "{" + ",".join(f'"{word}"' for word in query_words(question)) + "}"
    agent = {"template_id": "default", "agent_id": calling.AGENT, "space_id": ""}
    return {
        "history": thread | {"client_turn_id": "", "window_tokens": "125000", "window_turns": "50"},
        "thread_summary": thread,
        "search_turns": thread | {"words": words, "limit": "100"},
        "assigned_bases": {"tenant_id": owner["tenant_id"]} | agent,
        "search_chunks": {"tenant_id": owner["tenant_id"], "base_ids": _base_ids(), "words": words, "limit": "40"},
        "search_memories": owner | {"words": words, "limit": "100"},
        "search_wiki": owner | {"words": words, "limit": "20"},
    }


def _base_ids() -> str:
    return "{" + str(uuid5(corpus.SCOPE.tenant_id, "base\nbench")) + "}"
