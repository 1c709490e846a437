"""Knobs: what each may be, how layers merge, what is refused and how."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sidecar.turn.items import Source
from sidecar.turn.profile import DEFAULTS, Allocation, InvalidKnob, merge, parse_layer
from sidecar.turn.ranking.worth import Spend
from tests.support.turn.turn_cases import a_profile


def test_built_in_profile_has_the_default_priorities() -> None:
    profile = merge()
    assert profile == DEFAULTS
    priorities = {source.value: profile.knobs(source).priority for source in Source}
    assert priorities == {"thread": 1, "knowledge": 2, "workspace": 2, "tools": 2, "memory": 3, "wiki": 3}
    assert profile.knobs(Source.TOOLS).deadline_ms == 2500
    assert profile.knobs(Source.WIKI).deadline_ms == 250
    assert [source for source in Source if profile.knobs(source).required] == [Source.THREAD]


def test_later_layer_overrides_knob_by_knob_also_inside_a_source() -> None:
    template = parse_layer({"history_turns": 5, "sources": {"memory": {"top_k": 7, "priority": 2}}})
    space = parse_layer({"sources": {"memory": {"top_k": 9}, "wiki": {"enabled": False}}})
    profile = merge(template, space)
    assert profile.history_turns == 5
    assert profile.knobs(Source.MEMORY) == replace(DEFAULTS.knobs(Source.MEMORY), top_k=9, priority=2)
    assert not profile.knobs(Source.WIKI).enabled
    assert profile.knobs(Source.KNOWLEDGE) == DEFAULTS.knobs(Source.KNOWLEDGE)


def test_inherited_floor_is_reduced_to_a_ceiling_of_another_layer() -> None:
    profile = merge(parse_layer({"sources": {"wiki": {"ceiling_tokens": 10}}}))
    assert profile.knobs(Source.WIKI).floor_tokens == 10


def test_floor_set_by_a_layer_is_bounded_only_by_its_own_share() -> None:
    assert DEFAULTS.knobs(Source.WIKI).floor_share < 1
    whole = merge(parse_layer({"sources": {"wiki": {"floor_tokens": 300}}}))
    assert whole.knobs(Source.WIKI).floor_share == 1
    tenant = parse_layer({"sources": {"wiki": {"floor_tokens": 300, "floor_share": 0.1}}})
    assert merge(tenant).knobs(Source.WIKI).floor_share == 0.1
    assert merge(tenant, parse_layer({"sources": {"wiki": {"top_k": 3}}})).knobs(Source.WIKI).floor_share == 0.1
    assert merge(parse_layer(merge(tenant).as_mapping())) == merge(tenant)


def test_null_removes_a_ceiling_and_a_budget() -> None:
    first = parse_layer({"budget_tokens": 100, "sources": {"wiki": {"ceiling_tokens": 500}}})
    second = parse_layer({"budget_tokens": None, "sources": {"wiki": {"ceiling_tokens": None}}})
    assert merge(first, second) == replace(DEFAULTS, budget_tokens=None)


@pytest.mark.parametrize(
    ("knobs", "field", "fix"),
    [
        ({"histroy_turns": 3}, "histroy_turns", "history_turns"),
        ({"sources": {"memroy": {}}}, "sources.memroy", "memory"),
        ({"sources": {"memory": {"topk": 3}}}, "sources.memory.topk", "top_k"),
        ({"sources": {"memory": 3}}, "sources.memory", "object"),
        ({"sources": [1]}, "sources", "object"),
        ([], "profile", "object"),
        ({"history_turns": True}, "history_turns", "whole number from 0 to 10000"),
        ({"history_turns": 3.0}, "history_turns", "whole number"),
        ({"history_turns": "3"}, "history_turns", "whole number"),
        ({"history_turns": None}, "history_turns", "whole number"),
        ({"history_tail_tokens": -1}, "history_tail_tokens", "from 0"),
        ({"budget_tokens": 10**9}, "budget_tokens", "or null"),
        ({"relevance_knee": 1.5}, "relevance_knee", "0 to 1"),
        ({"relevance_knee": float("nan")}, "relevance_knee", "0 to 1"),
        ({"relevance_knee": False}, "relevance_knee", "0 to 1"),
        ({"allocation": "fair"}, "allocation", "priority, seed_order, pooled"),
        ({"allocation": 1}, "allocation", "priority"),
        ({"sources": {"wiki": {"enabled": 1}}}, "sources.wiki.enabled", "true or false"),
        ({"sources": {"wiki": {"priority": 0}}}, "sources.wiki.priority", "from 1 to 9"),
        ({"sources": {"wiki": {"deadline_ms": 0}}}, "sources.wiki.deadline_ms", "from 1"),
        (
            {"sources": {"wiki": {"floor_tokens": 9, "ceiling_tokens": 8}}},
            "sources.wiki.floor_tokens",
            "lower the floor",
        ),
    ],
)
def test_meaningless_knob_is_refused_by_name_with_a_fix(knobs: Any, field: str, fix: str) -> None:
    with pytest.raises(InvalidKnob) as refused:
        parse_layer(knobs)
    assert refused.value.field == field
    assert fix in refused.value.fix
    assert field in str(refused.value)


def test_every_knob_has_an_effect_on_the_profile() -> None:
    profile = a_profile(
        spend="frugal",
        allocation="pooled",
        history_turns=1,
        history_tail_tokens=2,
        relevance_knee=0,
        lead_lines=4,
        response_reserve_tokens=5,
        system_prompt_tokens=6,
        tool_tokens=7,
        budget_tokens=8,
        max_items=9,
        thread_summary=True,
    )
    assert profile == replace(
        DEFAULTS,
        spend=Spend.FRUGAL,
        allocation=Allocation.POOLED,
        history_turns=1,
        history_tail_tokens=2,
        relevance_knee=0.0,
        lead_lines=4,
        response_reserve_tokens=5,
        system_prompt_tokens=6,
        tool_tokens=7,
        budget_tokens=8,
        max_items=9,
        thread_summary=True,
    )
