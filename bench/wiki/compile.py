"""The cost of compiling apart from the model: its share of a job's wall time, and memories per second without a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop

from bench import processor
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain
from bench.wiki import compiling
from compiler.job.compilation import BatchDeps, Engine
from compiler.job.worker import Worker, WorkerSettings
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import Draft, Page, PageType
from compiler.plan.proposal import PageUpdate, Proposal, ProposedName, ProposedPage, ProposedSection
from compiler.planners.planner import Proposed
from compiler.settings import Caps, CompileSettings
from compiler.state.access import Access
from compiler.state.substrates import PostgresSubstrate
from sidecar.runtime.gc_tuning import calm_collector
from store.compile import jobs, scopes
from store.compile.jobs import Job
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope

_CALL_S = 0.3
_PLENTY = 1_000_000


class Stub:
    """A planner with ready answers: a section line for each page that a memory is about. Each call takes `call_s`."""

    name = "stub"

    def __init__(self, about: Mapping[str, tuple[str, ...]], *, call_s: float = 0.0, writers: int = 8) -> None:
        self._about = about
        self._call_s = call_s
        self._writers = writers
        self._drafts = 0
        self.critical_s = 0.0

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return updates of shown pages, and new pages for names that are not shown."""
        self._close_round()
        self.critical_s += self._call_s
        await asyncio.sleep(self._call_s)
        known = {page.title: page for page in batch.pages}
        told: dict[str, list[str]] = {}
        for memory in batch.memories:
            for title in self._about[memory.memory_id]:
                told.setdefault(title, []).append(memory.memory_id)
        updates = tuple(_update(known[title], ids) for title, ids in told.items() if title in known)
        new = tuple(_new(title, ids) for title, ids in told.items() if title not in known)
        return Proposed(Proposal(updates=updates, new_pages=new))

    async def write_section(self, draft: Draft) -> str:
        """Return what was proposed."""
        self._drafts += 1
        await asyncio.sleep(self._call_s)
        return draft.section.body_md

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        """Return nothing to do."""
        self._close_round()
        self.critical_s += self._call_s
        await asyncio.sleep(self._call_s)
        return Proposed(Proposal())

    def _close_round(self) -> None:
        """Count the writers since the last plan as rounds of concurrent calls."""
        self.critical_s += -(-self._drafts // self._writers) * self._call_s
        self._drafts = 0

    async def probe(self) -> None:
        """Do nothing."""


def _update(page: Page, ids: list[str]) -> PageUpdate:
    body = f"{page.title} came up {len(ids)} times, last in {ids[-1]}."
    return PageUpdate(page.key, (ProposedSection("notes", "Notes", body, tuple(ids)),))


def _new(title: str, ids: list[str]) -> ProposedPage:
    sections = (ProposedSection("overview", "Overview", f"{title} turned up in {ids[0]}.", tuple(ids)),)
    return ProposedPage(
        PageType.ENTITY, title, f"{title}.", sections, (ProposedName(title, tuple(ids)),), memory_ids=tuple(ids)
    )


def run(*, scale: float) -> list[Figure]:
    """Return the figures; a scale of 1 compiles 5,000 memories over 100 and over 10,000 pages."""
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    count, large = max(200, round(5_000 * scale)), max(1_000, round(10_000 * min(1.0, scale * 4)))
    async with own_database() as (served, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        data_dir = served.data_dir.parent / "pg"
        try:
            small = await _rates(pools, data_dir, compiling.scope_of(1), pages=100, count=count)
            big = await _rates(pools, data_dir, compiling.scope_of(2), pages=large, count=count)
            wall_s, critical_s = await _overhead(pools, compiling.scope_of(3), count=min(count, 500))
        finally:
            await pools.close()
    return [
        at_most(
            "wall time ÷ critical path of the model's calls", wall_s / critical_s, 1.10, note=f"{_CALL_S:g} s a call"
        ),
        at_least("memories a second without the model, 100 pages", small.wall, 400, unit="/s"),
        at_least(f"the same at {large} pages", big.wall, 320, unit="/s"),
        plain("memories a second of processor time, 100 pages", small.processor, unit="/s", note=small.shares),
        plain(f"the same at {large} pages ÷ at 100", big.processor / small.processor, note=big.shares),
    ]


@dataclass(frozen=True, slots=True)
class Rates:
    """Memories per second: of wall time, and of processor time of worker and server together, with the share of each."""

    wall: float
    processor: float
    shares: str


async def _rates(pools: Pools, data_dir: Path, scope: Scope, *, pages: int, count: int) -> Rates:
    titles = compiling.names(pages)
    await compiling.fill(pools, scope, titles)
    async with scoped(pools.background, scope) as connection:
        await scopes.mark_aggregated(connection, scope)  # a wiki that stands was looked at as it grew
    entries, about = compiling.journal(titles, count)
    await compiling.retain(pools, scope, entries)
    calm_collector()  # as a worker's process does
    before = processor.spent(data_dir)
    took_s = await _compile(pools, scope, Stub(about))
    used = processor.spent(data_dir).since(before)
    shares = f"worker {used.own_s / count * 1e6:.0f} µs, server {used.server_s / count * 1e6:.0f} µs a memory"
    return Rates(count / took_s, count / used.both_s, shares)


async def _overhead(pools: Pools, scope: Scope, *, count: int) -> tuple[float, float]:
    titles = compiling.names(100)
    await compiling.fill(pools, scope, titles)
    entries, about = compiling.journal(titles, count)
    await compiling.retain(pools, scope, entries)
    stub = Stub(about, call_s=_CALL_S)
    return await _compile(pools, scope, stub), stub.critical_s


async def _compile(pools: Pools, scope: Scope, stub: Stub) -> float:
    """Return the duration of the scope's jobs, in seconds."""

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        return BatchDeps(stub)

    caps = Caps(max_records_per_job=_PLENTY, max_new_pages_per_job=_PLENTY, max_sections_rewritten_per_job=_PLENTY)
    settings = replace(CompileSettings(), caps=caps)
    engine = Engine(
        PostgresSubstrate(pools.background),
        planner_for,
        settings,
        lambda: compiling.NOW,
        lambda text: len(text) // 4 + 1,
    )
    worker = Worker(pools.background, engine, WorkerSettings("bench"))
    async with scoped(pools.background, scope) as connection:
        await jobs.enqueue(connection, scope, trigger="admin", now=compiling.NOW)
    began = time.perf_counter()
    await worker.drain_scope(scope)
    return time.perf_counter() - began
