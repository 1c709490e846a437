"""A job's metrics. Every key exists from the start, so that a missing count is shown as 0. Counters only grow.

Two are state, not counters: `model_waits`, the claims in a row that ended because the model did not answer for a batch, and
`batch_halvings`, how often that made the batches smaller.

Only counts by an ontology's own terms and reasons (`edges_written_…`, `edges_held_…`, `pages_held_…`) begin with the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compiler.plan.contract import Rejection
from compiler.plan.edge_types import EDGE_TYPES

# Counts of rows written and of calls made; writes that failed do not count.
_COUNTS = (
    "records_read",
    "records_skipped",
    "records_filtered",
    "records_quarantined",
    "batches",
    "plans_superseded",
    "planner_calls",
    "section_writer_calls",
    "calls_remembered",
    "calls_without_price",
    "aggregation_planner_calls",
    "aggregation_failed",
    "pages_created",
    "pages_updated",
    "pages_written",
    "pages_emptied",
    "pages_typed",
    "pages_untyped",
    "pages_resurrected",
    "pages_archived",
    "pages_deleted",
    "sections_created",
    "sections_written",
    "sections_rewritten",
    "sections_removed",
    "sections_skipped",
    "sections_quoted",
    "sections_rebuilt",
    "sections_emptied",
    "sections_shaped",
    "citations_without_shared_content",
    "items_without_page",
    "names_judged_anew",
    "rulings_written",
    "lines_kept_as_past",
    "lines_kept_of_users",
    "claims_set_apart",
    "claims_uncited",
    "rewrites_of_number",
    "rewrites_of_date",
    "rewrites_of_name",
    "rewrites_of_negation",
    "rewrites_left_empty",
    "sources_released",
    "sources_written",
    "aliases_written",
    "mentions_held",
    "mention_sightings_written",
    "mentions_promoted",
    "mentions_removed",
    "mentions_ignored",
    "links_written",
    "link_causes_written",
    "edges_written",
    "edges_approved",
    "edges_put_back",
    "edges_waiting",
    "memories_ended",
    "links_removed",
    "links_written_planner",
    "links_written_deterministic",
    "links_written_co_mention",
    "links_written_rollup",
    "links_written_promotion",
    "links_written_manual",
    "links_without_page",
    "twins_in_plan",
    "alias_dedup_merged",
    "fuzzy_dedupe_merges",
    "duplicate_candidates_count",
    "deterministic_parents_derived",
    "hubs_created",
    "hubs_scored",
    "parent_sections_updated",
    "sections_promoted",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "aggregation_input_tokens",
    "aggregation_output_tokens",
)


def empty() -> dict[str, Any]:
    """Return the metrics of a job that has done nothing yet."""
    return {
        **dict.fromkeys(_COUNTS, 0),
        **{f"edges_written_{kind}": 0 for kind in EDGE_TYPES},
        "cost_usd": 0.0,
        "cost_by_pass": {},
        "cost_by_model": {},
        "rejections": {},
        "filtered": {},
        "quarantined": {},
        "funnel": {},
        "deterministic_linking_flag_suppressed": False,
        "aggregation_error": "",
        "aggregation_done": False,
        "links_done": False,
        "cap_hit": "",
        "model_waits": 0,
        "batch_halvings": 0,
        "planner": "",
        "planner_failed": "",
        "flags": {},
    }


def add(metrics: dict[str, Any], counters: Mapping[str, int]) -> None:
    """Add counters to the metrics."""
    for name, count in counters.items():
        metrics[name] = metrics.get(name, 0) + count


def add_under(metrics: dict[str, Any], heading: str, counters: Mapping[str, float]) -> None:
    """Add counters to the figures under a heading."""
    figures = metrics.setdefault(heading, {})
    for name, count in counters.items():
        figures[name] = figures.get(name, 0) + count


def add_rejections(metrics: dict[str, Any], rejections: Iterable[Rejection]) -> None:
    """Count rejections by their reasons."""
    for one in rejections:
        add_under(metrics, "rejections", {one.reason: 1})


def merged(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics with `more` added: numbers are summed, also under headings; texts and flags are replaced."""
    result = dict(before)
    for name, value in more.items():
        known = result.get(name)
        if isinstance(value, Mapping):
            result[name] = merged(known if isinstance(known, Mapping) else {}, value)
        elif isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(known, int | float):
            result[name] = value
        else:
            result[name] = known + value
    return result
