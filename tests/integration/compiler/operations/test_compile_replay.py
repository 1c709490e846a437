"""The log replayed aside gives the same wiki, at no cost, and leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compiler.job.compilation import BatchDeps
from compiler.operations import acts, lint, upkeep
from compiler.operations.replay import MEMORY_GONE, replay
from compiler.operations.upkeep import ResetMode
from compiler.state.access import Access
from store.compile.jobs import Job
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse
from tests.support.compiler.city_places import trip
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    again,
    capped,
    compiled_in_jobs,
    engine_on,
    fetch,
    journal,
    wiki_of,
    write,
    write_and_compile,
)


async def counts(dsn: str) -> dict[str, Any]:
    tables = ("wiki_pages", "wiki_page_sections", "compile_batches", "memory_ledger", "wiki_compile_cursors")
    return {table: (await fetch(dsn, f"SELECT count(*) FROM {table}"))[0][0] for table in tables}


async def grown(pools: Pools) -> None:
    """Compile in two jobs, with caps that split plans and an operator's act in between."""
    engine = engine_on(pools, settings=capped(record_page_size=10, max_new_pages_per_job=3))
    await write_and_compile(pools, journal(30), engine)
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", "suerte")
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The good place", now=NOW)
    await compiled_in_jobs(pools, [journal(10, first=30)], Clock())


async def test_replay_is_identical_and_costs_nothing(pools: Pools, database: str) -> None:
    await grown(pools)
    before, rows = await wiki_of(pools), await counts(database)
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.is_identical, found.differences, found.unreplayable) == (True, (), 0)
    assert found.batches >= 5
    assert found.pages == sum(name.startswith("page ") for name in before)
    assert await wiki_of(pools) == before
    assert await counts(database) == rows


async def test_name_that_the_lint_carries_to_a_compile_gets_its_page_in_a_replay_too(pools: Pools) -> None:
    """The name of a city that only metadata has is held beside its hub."""
    texts = [f"{name} House had a long line at door {at}." for name in ("Amber", "Birch", "Cedar") for at in range(2)]
    entries = [
        NewMemory(text, f"m{at}", NOW, metadata={"place": {"name": " ".join(text.split()[:2]), "city": "Tavira"}})
        for at, text in enumerate(texts)
    ]
    clock = Clock()
    assert "mention tavira open" in await compiled_in_jobs(pools, [entries], clock)
    await lint.handle(pools.background, clock, SCOPE, "")
    assert "mention tavira promoted" in await compiled_in_jobs(pools, [[]], clock)
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


async def test_replay_shows_changes_made_outside_the_log(pools: Pools, database: str) -> None:
    await grown(pools)
    await fetch(
        database, "UPDATE wiki_page_sections SET body_md = body_md || ' and more' WHERE section_slug = 'overview'"
    )
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert not found.is_identical
    assert found.differences[0].startswith("page /wiki/entity/")


async def test_batch_with_an_edited_memory_is_named_as_not_replayable(pools: Pools) -> None:
    await grown(pools)
    await write(pools, [NewMemory("Something else altogether was said here.", "m00003")])
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.unreplayable, found.unreplayable_from, found.reason) == (1, 1, MEMORY_GONE)
    assert not found.is_stopped
    assert found.differences
    await again(pools)
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.unreplayable, found.unreplayable_from, found.reason) == (1, 1, MEMORY_GONE)
    assert found.differences == (), "the wiki after the edit is the wiki of the memories as they are now"


async def test_wiki_that_other_rules_planned_says_so_until_it_is_rebuilt(pools: Pools, database: str) -> None:
    await grown(pools)
    changed = "UPDATE compile_batches SET options = options || '{\"rules\": 3}' WHERE kind = 'leaf' RETURNING 1"
    planned = len(await fetch(database, changed))
    async with scoped(pools.background, SCOPE) as connection:
        report = await lint.look(connection, SCOPE, now=NOW)
        assert report.counts["other_rules"] == planned > 0
        assert "sidecar wiki rebuild --full" in next(one.detail for one in report.findings if one.kind == "other_rules")
        await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=NOW)
    await again(pools)
    async with scoped(pools.background, SCOPE) as connection:
        assert "other_rules" not in (await lint.look(connection, SCOPE, now=NOW)).counts


LEFT = (
    "SELECT 1 FROM compile_batches WHERE kind = 'aggregation'"
    " AND (status = 'planned' AND items_applied > 0 OR options ? 'taken')"
)


@pytest.mark.parametrize("new_pages", [1, 3, 9])
async def test_hub_plan_interrupted_by_an_operator_replays_as_far_as_it_was_applied(
    pools: Pools, database: str, new_pages: int
) -> None:
    engine = engine_on(pools, settings=capped(max_new_pages_per_job=new_pages))
    acted: list[str] = []

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        if not acted and await fetch(database, LEFT):
            async with scoped(pools.background, SCOPE) as connection:
                first, *_ = await browse.pages_by_name(connection, SCOPE, page_type="entity", status="active", limit=9)
                await acts.archive_page(connection, SCOPE, first, now=NOW)
            acted.append(first.slug)
        return await engine.planner_for(access, job)

    await write_and_compile(pools, trip(), replace(engine, planner_for=planner_for))
    assert acted
    assert await fetch(database, LEFT)
    found = await replay(engine, pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)
