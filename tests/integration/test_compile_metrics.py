"""What a job says of itself: every figure is there from the start, and counts rows."""

from __future__ import annotations

import pytest

from compiler.settings import Caps
from store.postgres import Pools
from tests.integration.compiling import all_jobs, compiled, engine_on, fetch, journal, wish, write

KEYS = {
    "input_tokens", "output_tokens", "cost_usd", "aggregation_planner_calls", "deterministic_parents_derived",
    "parent_sections_updated", "sections_promoted", "links_written_deterministic", "links_written_co_mention",
    "duplicate_candidates_count", "alias_dedup_merged", "fuzzy_dedupe_merges", "deterministic_linking_flag_suppressed",
    "aggregation_input_tokens", "aggregation_output_tokens", "aggregation_error",
}  # fmt: skip


@pytest.mark.parametrize("count", [0, 20])
async def test_every_job_has_every_figure(pools: Pools, count: int) -> None:
    await write(pools, journal(count) or journal(1))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.metrics.keys() >= KEYS
    assert set(job.metrics["flags"]) == {
        "wiki_compile_enabled",
        "wiki_aggregation_pass_enabled",
        "wiki_deterministic_linking_enabled",
        "wiki_unread_pause_s",
    }


async def test_figures_count_rows(pools: Pools, database: str) -> None:
    await write(pools, journal(30))
    await wish(pools)
    await compiled(pools, engine_on(pools))
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


def test_the_caps_are_the_published_ones() -> None:
    assert Caps() == Caps(50, 500, 1000, 25, 100, 60)
