"""Wikis for tests of the compile: memories written and compiled by real workers on the test's own database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from compiler.job.compilation import BatchDeps, Engine
from compiler.job.worker import Worker, WorkerSettings
from compiler.passes import forgetting
from compiler.planners.planner import ExtractivePlanner, Planner
from compiler.settings import Caps, CompileSettings
from compiler.state.access import Access
from compiler.state.snapshot import snapshot
from compiler.state.substrates import MemoryListing, MemorySubstrate, PostgresSubstrate
from store.compile import jobs
from store.compile.jobs import Job, JobOptions, Ticket, Trigger
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import DatabaseRole, Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.databases import is_cluster
from tests.support.waiting import until

SCOPE = Scope(UUID(int=1), UUID(int=11))
HOUSEMATE = Scope(UUID(int=1), UUID(int=12))
STRANGER = Scope(UUID(int=2), UUID(int=21))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMES = ("Renee Castellano", "Dale Whitaker", "Priya Raman", "Franklin Barbecue", "Barton Springs", "Suerte")
DEEDS = ("swam at eight", "paid 54 dollars", "waited for two hours", "ordered the octopus", "laughed about the rain")


@dataclass(slots=True)
class Clock:
    """A clock that tests move."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def move(self, **delta: float) -> None:
        self.now += timedelta(**delta)


def journal(count: int, *, first: int = 0) -> list[NewMemory]:
    """Return memories about a few people and places, each unlike the others and dated an hour apart."""
    return [_entry(number) for number in range(first, first + count)]


def _entry(number: int) -> NewMemory:
    one, other = NAMES[number % len(NAMES)], NAMES[(number * 5 + 1) % len(NAMES)]
    return NewMemory(
        text=f"{one} and {other} met again on visit {number}. {one} {DEEDS[number % len(DEEDS)]} that time, number {number}.",
        memory_id=f"m{number:05}",
        occurred_at=NOW - timedelta(hours=1000 - number),
        metadata={"place": {"city": "Austin", "name": f"{one}"}} if number % 3 == 0 else {},
    )


def engine_on(
    pools: Pools,
    *,
    clock: Callable[[], datetime] | None = None,
    planner: Planner | None = None,
    settings: CompileSettings | None = None,
    substrate: MemorySubstrate | None = None,
) -> Engine:
    """Return an engine on the built-in memories, extractive unless told otherwise."""
    chosen = planner or ExtractivePlanner()

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        return BatchDeps(chosen)

    return Engine(
        substrate or PostgresSubstrate(pools.background),
        planner_for,
        settings or CompileSettings(),
        clock or Clock(),
        lambda text: len(text) // 4 + 1,
    )


def worker_on(pools: Pools, engine: Engine, *, holder: str = "one", **settings: Any) -> Worker:
    return Worker(pools.background, engine, WorkerSettings(holder, **settings))


def capped(**caps: int) -> CompileSettings:
    """Return settings with these caps."""
    return CompileSettings(caps=replace(Caps(), **caps))


async def write(pools: Pools, entries: Sequence[NewMemory], *, scope: Scope = SCOPE, now: datetime = NOW) -> None:
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
        await memories.retain(connection, scope, entries, now=now)


async def wish(
    pools: Pools,
    *,
    scope: Scope = SCOPE,
    trigger: str = Trigger.MEMORY_RETAIN,
    options: JobOptions | None = None,
    now: datetime = NOW,
) -> Ticket:
    async with scoped(pools.background, scope) as connection:
        return await jobs.enqueue(connection, scope, trigger=trigger, options=options, now=now)


async def write_and_request(pools: Pools, entries: Sequence[NewMemory]) -> None:
    """Write memories and request their compile."""
    await write(pools, entries)
    await wish(pools)


async def write_and_compile(pools: Pools, entries: Sequence[NewMemory], engine: Engine) -> None:
    """Write memories and do every job of them."""
    await write_and_request(pools, entries)
    await compiled(pools, engine)


async def compiled(pools: Pools, engine: Engine, *, scope: Scope = SCOPE) -> None:
    """Do every job of the scope, continuations too."""
    assert await worker_on(pools, engine).drain_scope(scope)


async def compiled_in_jobs(
    pools: Pools, parts: Iterable[Sequence[NewMemory]], clock: Clock, *, scope: Scope = SCOPE, size: int | None = None
) -> dict[str, bytes]:
    """Compile each part of the memories in a job of its own, six minutes apart, and return the wiki.

    `size` is the most memories of a batch.
    """
    engine = engine_on(pools, settings=None if size is None else capped(record_page_size=size), clock=clock)
    for part in parts:
        await write(pools, part, scope=scope)
        clock.move(minutes=6)
        await wish(pools, now=clock(), scope=scope)
        await compiled(pools, engine, scope=scope)
    return await wiki_of(pools, scope=scope)


def shared_out(entries: Sequence[NewMemory], jobs: int) -> list[Sequence[NewMemory]]:
    """Return the memories in order, in at most as many parts of one size."""
    share = -(-len(entries) // min(jobs, len(entries)))
    return [entries[start : start + share] for start in range(0, len(entries), share)]


class OtherListing(PostgresSubstrate):
    """The built-in memories with another listing."""

    listed = MemoryListing()

    async def listing(self, scope: Scope) -> MemoryListing:
        return self.listed


async def forget(pools: Pools, *memory_ids: str) -> None:
    """Forget memories as the memory service does, but for the compile that it wishes for."""
    async with scoped(pools.background, SCOPE) as connection:
        for memory_id in memory_ids:
            await memories.forget_all(connection, SCOPE, [memory_id])
        await forgetting.forget(connection, SCOPE, memory_ids, now=NOW)


async def again(pools: Pools, *, minutes: int = 6, planner: Planner | None = None) -> None:
    """Compile what changed, in a later bucket."""
    clock = Clock(NOW + timedelta(minutes=minutes))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock, planner=planner))


async def all_jobs(pools: Pools, *, scope: Scope = SCOPE) -> list[Job]:
    """Return the scope's jobs, oldest first."""
    async with scoped(pools.background, scope, read_only=True) as connection:
        found = await jobs.page(connection, scope, limit=1000)
    return sorted(found, key=lambda job: (job.created_at, job.hops))


async def wiki_of(pools: Pools, *, scope: Scope = SCOPE) -> dict[str, bytes]:
    async with scoped(pools.background, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
        return await snapshot(connection, scope)


async def until_lock_wait(dsn: str) -> None:
    """Return once a transaction of the database waits for a lock, on any server of a cluster."""
    sessions = "citus_stat_activity" if is_cluster() else "pg_stat_activity"
    waits = f"SELECT FROM {sessions} WHERE datname = current_database() AND wait_event_type = 'Lock'"
    await until(lambda: fetch(dsn, waits))


async def fetch(dsn: str, statement: str, *arguments: Any) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(statement, *arguments))
    finally:
        await connection.close()
