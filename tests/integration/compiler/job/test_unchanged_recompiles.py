"""Compiling or verifying unchanged memories writes no row, and capped plans give the same pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from compiler.operations import acts
from compiler.operations.replay import replay
from store.db.postgres import Pool, Pools, scoped
from store.wiki import browse
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    journal,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)

WRITTEN = (
    "wiki_pages",
    "wiki_page_sections",
    "wiki_page_aliases",
    "wiki_page_links",
    "wiki_link_evidence",
    "wiki_section_sources",
)
SOMETIMES = ("wiki_section_children", "wiki_unresolved_mentions", "wiki_mention_sightings")


async def row_versions(dsn: str) -> dict[str, list[Any]]:
    """Return every row version of the wiki's tables: a write, even of the same values, makes another."""
    versions = {
        table: await fetch(dsn, f"SELECT ctid::text, xmin::text FROM {table} ORDER BY 1")
        for table in (*WRITTEN, *SOMETIMES)
    }
    return {table: [tuple(row) for row in rows] for table, rows in versions.items()}


async def test_unchanged_corpus_is_verified_and_recompiled_without_a_write(pools: Pools, database: str) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    before = await row_versions(database)
    assert [table for table in WRITTEN if not before[table]] == []
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert found.is_identical
    assert await row_versions(database) == before
    clock = Clock(NOW + timedelta(hours=2))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock))
    assert (await all_jobs(pools))[-1].metrics["records_read"] == 0
    assert await row_versions(database) == before


class Interrupted:
    """A pool of whose transactions one waits until something else was done."""

    def __init__(self, pool: Pool, at: int, act: Callable[[], Awaitable[None]]) -> None:
        self._pool, self._left, self._act = pool, at, act

    async def acquire(self) -> object:
        self._left -= 1
        if not self._left:
            await self._act()
        return await self._pool.acquire()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


@pytest.mark.parametrize("at", [2, 3])
async def test_wiki_compiled_during_a_verify_is_verified_at_one_revision(pools: Pools, at: int) -> None:
    async def compile_more() -> None:
        await write(pools, journal(3, first=6))
        await wish(pools, now=NOW + timedelta(minutes=6))
        await compiled(pools, engine_on(pools, clock=Clock(NOW + timedelta(minutes=6))))

    await write_and_compile(pools, journal(6), engine_on(pools))
    found = await replay(engine_on(pools), cast("Pool", Interrupted(pools.background, at, compile_more)), SCOPE)
    assert found.differences == ()
    assert found.batches == (await replay(engine_on(pools), pools.background, SCOPE)).batches


async def test_capped_plan_replays_alike_if_aggregation_sees_few_pages(pools: Pools) -> None:
    settings = capped(max_new_pages_per_job=2, max_free_aggregation_pages=3)
    await write_and_compile(pools, journal(40), engine_on(pools, settings=settings))
    assert len(await all_jobs(pools)) >= 3, "the plan was cut"
    found = await replay(engine_on(pools, settings=settings), pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


async def test_capped_plan_superseded_by_an_operator_replays_as_far_as_it_was_applied(
    pools: Pools, database: str
) -> None:
    engine = engine_on(pools, settings=capped(max_new_pages_per_job=2))
    await write_and_request(pools, journal(30))
    assert await worker_on(pools, engine).work_once()
    (first, *_) = await fetch(database, "SELECT slug FROM wiki_pages ORDER BY slug")
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", first["slug"])
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The good place", now=NOW)
    await compiled(pools, engine)
    assert sum(job.metrics["plans_superseded"] for job in await all_jobs(pools)) == 1
    found = await replay(engine, pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)
