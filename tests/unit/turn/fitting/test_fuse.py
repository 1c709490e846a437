"""One order across sources: by relevance where all tell it, by fused ranks where one does not."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from sidecar.turn.candidates import Features
from sidecar.turn.fitting.fuse import is_calibrated, order, relevances
from sidecar.turn.fitting.offers import gather
from sidecar.turn.items import Item, Source, SourceReport, Status
from sidecar.turn.message.reading import Prospects
from tests.support.turn.turn_cases import a_profile, an_item

PROFILE = a_profile()


def ranked(source: Source, *relevances: float) -> list[Item]:
    return [
        an_item(f"{source.value}{rank}", "x", source, rank=rank, relevance=told) for rank, told in enumerate(relevances)
    ]


def ids(items: list[Item]) -> list[str]:
    return [item.id for item in items]


def test_calibrated_relevance_is_the_order_across_sources() -> None:
    items = [*ranked(Source.WIKI, 0.9, 0.2), *ranked(Source.MEMORY, 0.5, 0.4)]
    assert ids(order(items, PROFILE)) == ["wiki0", "memory0", "memory1", "wiki1"]
    assert is_calibrated(items, relevances(items))


def test_source_without_relevance_makes_ranks_decide() -> None:
    items = [*ranked(Source.MEMORY, 0.9, 0.8, 0.7), *ranked(Source.KNOWLEDGE, 0, 0)]
    assert not is_calibrated(items, relevances(items))
    assert ids(order(items, PROFILE)) == ["memory0", "knowledge0", "memory1", "knowledge1", "memory2"]


def test_judged_source_without_relevance_leaves_the_order_by_relevance() -> None:
    judged = [item._replace(features=Features(holds=0.0)) for item in ranked(Source.KNOWLEDGE, 0, 0)]
    items = [*judged, *ranked(Source.MEMORY, 0.9, 0.8)]
    assert is_calibrated(items, relevances(items))
    assert ids(order(items, PROFILE)) == ["memory0", "memory1", "knowledge0", "knowledge1"]


def test_item_found_by_two_sources_adds_up_its_ranks() -> None:
    twice = [
        an_item("both", "x", Source.WIKI, rank=1, relevance=0),
        an_item("both", "x", Source.TOOLS, rank=1, relevance=0),
    ]
    items = [*ranked(Source.MEMORY, 0, 0, 0), *twice]
    assert ids(order(items, PROFILE))[:2] == ["both", "both"]


def test_ties_go_by_rank_and_then_by_position() -> None:
    items = [*ranked(Source.WIKI, 0.5, 0.5), *ranked(Source.MEMORY, 0.5, 0.5), *ranked(Source.TOOLS, 0.9)]
    assert ids(order(items, PROFILE)) == ["tools0", "wiki0", "memory0", "wiki1", "memory1"]


def test_arrival_order_does_not_change_the_offers() -> None:
    items = [*ranked(Source.WIKI, 0.5, 0.5), *ranked(Source.MEMORY, 0.5, 0.1), *ranked(Source.TOOLS, 0.5)]
    items += [an_item("wiki0", "y", Source.WIKI, rank=0), an_item("wiki0", "x", Source.WIKI, rank=0, header="h")]
    reports = [
        SourceReport(source, Status.OK, tuple(item for item in items if item.source is source)) for source in Source
    ]
    expected = gather(reports, PROFILE, frozenset(), Prospects()).items
    for seed in range(5):
        rng = random.Random(seed)
        mixed = [replace(report, items=tuple(rng.sample(report.items, len(report.items)))) for report in reports]
        assert gather(rng.sample(mixed, len(mixed)), PROFILE, frozenset(), Prospects()).items == expected


def test_priority_breaks_ties_only_if_all_is_pooled() -> None:
    items = [*ranked(Source.MEMORY, 0.5), *ranked(Source.TOOLS, 0.5)]
    first = {"sources": {"tools": {"priority": 1}}}
    assert ids(order(items, a_profile(allocation="pooled", **first))) == ["tools0", "memory0"]
    assert ids(order(items, a_profile(**first))) == ["memory0", "tools0"]


def test_relevance_that_is_not_a_number_counts_as_none() -> None:
    items = ranked(Source.WIKI, math.nan, math.inf, -math.inf, -1, 2, 0.3)
    assert relevances(items) == [0, 0, 0, 0, 1, 0.3]


def test_empty_answers_fuse_to_nothing() -> None:
    assert order([], PROFILE) == []
    assert is_calibrated([], [])


def test_shorter_of_two_equally_relevant_items_comes_first() -> None:
    long = an_item("long", "word " * 60, Source.MEMORY, rank=0, relevance=0.5)
    short = an_item("short", "word " * 6, Source.MEMORY, rank=1, relevance=0.5)
    assert ids(order([long, short], PROFILE)) == ["short", "long"]


def test_relevance_outweighs_size() -> None:
    long = an_item("long", "word " * 60, Source.KNOWLEDGE, relevance=0.5)
    short = an_item("short", "word " * 6, Source.MEMORY, relevance=0.1)
    assert ids(order([short, long], PROFILE)) == ["long", "short"]


def test_item_of_a_kind_that_may_hold_no_answer_waits_behind_its_equals() -> None:
    passage = an_item("passage", "x", Source.KNOWLEDGE, relevance=0.1, features=Features(holds=0.2))
    turn = an_item("turn", "x", Source.THREAD, rank=1, relevance=0.05, features=Features(holds=0.9))
    assert ids(order([passage, turn], PROFILE)) == ["turn", "passage"]


def test_turn_replaced_by_a_more_relevant_memory_waits_behind_its_equals() -> None:
    fact = an_item("fact", "x", Source.MEMORY, relevance=0.9, stands_for=("told",))
    told = an_item("told", "x", Source.THREAD, rank=0, relevance=0.6)
    untold = an_item("untold", "x", Source.THREAD, rank=1, relevance=0.5)
    assert ids(order([fact, told, untold], PROFILE)) == ["fact", "untold", "told"]
    assert ids(order([fact._replace(relevance=0.05), told, untold], PROFILE)) == ["told", "untold", "fact"]


def test_pooled_turn_waits_only_for_a_memory_offered_before_it() -> None:
    pooled = a_profile(allocation="pooled")
    fact = an_item("fact", "x", Source.MEMORY, relevance=0.55, stands_for=("told",))
    told = an_item("told", "x", Source.THREAD, rank=0, relevance=0.6)
    untold = an_item("untold", "x", Source.THREAD, rank=1, relevance=0.5)
    assert ids(order([fact, told, untold], pooled)) == ["told", "fact", "untold"]
