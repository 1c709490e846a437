"""A job's metrics: every counter is there from the start, and counts rows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import compiler
from compiler.job import metrics
from compiler.job.compilation import Engine
from compiler.plan.contract import LinkOrigin
from compiler.plan.edge_types import EDGE_TYPES
from compiler.settings import Caps
from store.compile.ledger import MemoryOutcome
from store.db.postgres import Pools
from store.scope import Scope
from tests.support.compiler.city_places import places
from tests.support.compiler.compiling import (
    SCOPE,
    Clock,
    all_jobs,
    capped,
    engine_on,
    fetch,
    journal,
    wish,
    worker_on,
    write,
    write_and_compile,
)
from tests.support.compiler.crashes.crash_world import told

COMPILER = Path(compiler.__file__).parent
KEYS = {
    "input_tokens", "output_tokens", "cost_usd", "aggregation_planner_calls", "deterministic_parents_derived",
    "parent_sections_updated", "sections_promoted", "links_written_deterministic", "links_written_co_mention",
    "duplicate_candidates_count", "alias_dedup_merged", "fuzzy_dedupe_merges", "deterministic_linking_flag_suppressed",
    "aggregation_input_tokens", "aggregation_output_tokens", "aggregation_error",
}  # fmt: skip


@pytest.mark.parametrize("count", [0, 20])
async def test_every_job_has_every_metric(pools: Pools, count: int) -> None:
    await write_and_compile(pools, journal(count) or journal(1), engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.metrics.keys() >= KEYS
    assert job.metrics.keys() == metrics.empty().keys()
    assert set(job.metrics["flags"]) == {
        "wiki_compile_enabled",
        "wiki_aggregation_pass_enabled",
        "wiki_deterministic_linking_enabled",
        "wiki_unread_pause_s",
    }


async def test_metrics_count_rows(pools: Pools, database: str) -> None:
    await write_and_compile(pools, journal(30), engine_on(pools))
    (job,) = await all_jobs(pools)
    written = {
        "pages_created": "SELECT count(*) FROM wiki_pages",
        "links_written": "SELECT count(*) FROM wiki_page_links",
        "link_causes_written": "SELECT count(*) FROM wiki_link_evidence",
        "records_read": "SELECT count(*) FROM memories",
    }
    for name, statement in written.items():
        assert job.metrics[name] == (await fetch(database, statement))[0][0], name
    assert job.metrics["links_written"] == sum(
        count for name, count in job.metrics.items() if name.startswith("links_written_")
    )


async def test_every_job_counts_its_typed_edges_by_type(pools: Pools) -> None:
    await write_and_compile(pools, places(), engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.metrics["edges_written_located_in"] > 0
    assert job.metrics["edges_written"] == sum(
        count for name, count in job.metrics.items() if name.startswith("edges_written_")
    )


async def test_worker_that_dies_after_a_batch_has_no_metric_counted_twice(pools: Pools) -> None:
    """The last batch links what was read to the hubs of the one before: planned once more it would count again."""
    settings, applied = capped(record_page_size=30), list[str]()
    engine = engine_on(pools, settings=settings)
    undisturbed = await figures(pools, replace(engine, checkpoint=applied.append), Scope(UUID(int=710), SCOPE.owner_id))
    assert sum(one["funnel"]["after_hubs_deterministic_edges"] for one in undisturbed) > 0
    for nth in range(1, applied.count("applied") + 1):
        clock, scope, seen = Clock(), Scope(UUID(int=710 + nth), SCOPE.owner_id), list[str]()

        def dies(at: str, nth: int = nth, seen: list[str] = seen) -> None:
            seen.append(at)
            if at == "applied" and seen.count(at) == nth:
                raise asyncio.CancelledError

        engine = engine_on(pools, clock=clock, settings=settings)
        await figures(pools, replace(engine, checkpoint=dies), scope)
        assert seen.count("applied") == nth
        clock.move(minutes=2)  # its lease runs out
        await worker_on(pools, engine, holder="two").drain_scope(scope)
        assert [job.metrics for job in await all_jobs(pools, scope=scope)] == undisturbed, f"batch {nth}"


async def figures(pools: Pools, engine: Engine, scope: Scope) -> list[dict[str, Any]]:
    """Return the figures of every job of a wiki's first compile, as far as it gets."""
    await write(pools, told(56), scope=scope)
    await wish(pools, scope=scope)
    await worker_on(pools, engine).drain_scope(scope)
    return [dict(job.metrics) for job in await all_jobs(pools, scope=scope)]


def test_every_counter_is_incremented_somewhere() -> None:
    """A figure that nothing counts says that nothing ever happened."""
    code = "".join(one.read_text() for one in COMPILER.rglob("*.py") if one.name != "metrics.py")
    composed = {f"links_written_{one.value}" for one in LinkOrigin} | {f"records_{one.value}" for one in MemoryOutcome}
    composed |= {f"edges_written_{kind}" for kind in EDGE_TYPES}
    composed |= {f"aggregation_{one}_tokens" for one in ("input", "output")}
    counts = {name for name, value in metrics.empty().items() if isinstance(value, int)}
    assert len(counts) > 40
    assert not {name for name in counts - composed if f'"{name}"' not in code and f"{name}=" not in code}


def test_caps_are_the_documented_ones() -> None:
    assert Caps() == Caps(50, 500, 1000, 25, 100, 60)
