"""Pinned memories stand first in every context, whatever else is found, said or asked."""

from __future__ import annotations

from dataclasses import replace

from sidecar.turn.fitting.fitting import Fitted, fit
from sidecar.turn.items import Decision, Fate, Form, Item, Source, Status, Zone
from tests.support.turn import turn_laws as laws
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, a_turn, an_item, fitted, kept_ids

PINNED = (
    an_item("memory:1", "Answer in Portuguese.", is_pinned=True, relevance=1.0),
    an_item("memory:2", "Anna must not eat nuts.", is_pinned=True, relevance=1.0, stands_for=("turn:1",)),
)
BETTER = an_item("w", "Anna must not eat nuts, and Anna reads.", Source.WIKI, stands_for=("memory:1", "memory:2"))


def fate(result: Fitted, item_id: str) -> Fate:
    return next(fate for fate in result.fates if fate.item.id == item_id)


def test_pinned_items_are_in_the_system_prompt_and_marked() -> None:
    result = fitted(*PINNED, an_item("k", "A rule", Source.KNOWLEDGE))
    notice, pinned, recalled = result.rendering.blocks
    assert [block.zone for block in (notice, pinned, recalled)] == [Zone.STABLE, Zone.STABLE, Zone.VOLATILE]
    assert pinned.text.splitlines() == [
        '<context-000000 source="pinned">',
        "[p1] Anna must not eat nuts.",
        "[p2] Answer in Portuguese.",
        "</context-000000>",
    ]
    assert [(fate(result, one.id).decision, fate(result, one.id).reason) for one in PINNED] == [
        (Decision.KEPT, "pinned")
    ] * 2


def test_pinned_block_is_the_same_whatever_is_recalled() -> None:
    bare, full = fitted(*PINNED), fitted(*PINNED, *[an_item(f"m{n}", f"fact {n}a of boats") for n in range(20)])
    assert full.rendering.blocks[:2] == bare.rendering.blocks


def test_no_page_turn_or_repeated_id_drops_a_pinned_item() -> None:
    turns = (a_turn(1, "user", "No nuts for Anna"), a_turn(2, "user", "Well?"))
    question = a_fitting(*PINNED, BETTER, history=turns, seen_item_ids=frozenset({"memory:1"}))
    result = fit(question, METER)
    assert {"memory:1", "memory:2"} <= set(kept_ids(result))
    laws.check_replay(question, result)
    laws.check_tokens(result)


def test_a_recalled_item_that_says_the_same_falls_to_the_pinned_one() -> None:
    result = fitted(*PINNED, an_item("k", "Answer in Portuguese.", Source.KNOWLEDGE))
    assert (fate(result, "k").decision, fate(result, "k").into) == (Decision.DEDUPED_INTO, "memory:1")


def test_pinned_items_count_to_no_floor_ceiling_or_number() -> None:
    knobs = {"memory": {"top_k": 1, "ceiling_tokens": 45, "floor_tokens": 40}}
    for allocation in ("priority", "pooled", "seed_order"):
        profile = a_profile(sources=knobs, allocation=allocation)
        result = fitted(*PINNED, an_item("m", "Anna paints boats.", relevance=0.9), profile=profile)
        assert set(kept_ids(result)) == {"memory:1", "memory:2", "m"}


def test_pinned_items_take_at_most_half_of_a_narrow_pool_and_come_before_the_last_exchange() -> None:
    long = tuple(an_item(f"p{n}", " ".join([f"rule{n}"] * 20), is_pinned=True) for n in range(4))
    turns = (a_turn(1, "user", "word " * 300),)
    result = fitted(*long, history=turns, budget_tokens=200)
    kept = [fate for fate in result.fates if fate.form is Form.FULL]
    assert 1 <= len(kept) < 4
    assert sum(block.tokens for block in result.rendering.blocks[1:]) <= 100
    assert result.is_exchange_cut
    assert result.rendering.tokens <= 200
    assert "pinned" in next(one.reason for one in result.fates if one.form is None)


def test_without_memory_in_the_profile_nothing_is_pinned() -> None:
    profile = a_profile(sources={"memory": {"enabled": False}})
    assert kept_ids(fitted(*PINNED, profile=profile)) == []


def as_pinned(item: Item) -> Item:
    return item._replace(is_pinned=True)


def test_an_unusable_pinned_item_falls_alone() -> None:
    result = fitted(*PINNED, as_pinned(an_item("bad", "odd", fault="it cannot be counted")))
    assert fate(result, "bad").decision is Decision.UNUSABLE
    assert set(kept_ids(result)) == {"memory:1", "memory:2"}


def test_pinned_items_of_a_source_that_timed_out_are_read_separately() -> None:
    question = a_fitting(*PINNED, an_item("late", "Anna paints boats.", relevance=0.9))
    late = tuple(replace(one, status=Status.TIMEOUT) for one in question.reports if one.source is Source.MEMORY)
    result = fit(replace(question, reports=late), METER)
    assert set(kept_ids(result)) == {"memory:1", "memory:2"}
    assert fate(result, "late").decision is Decision.LATE
