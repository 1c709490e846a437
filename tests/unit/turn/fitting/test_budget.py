"""Who gets room: floors, tiers, ceilings, spill-over, the window of turns; and each refusal in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sidecar.turn.fitting.fitting import Fitted, fit
from sidecar.turn.fitting.pieces import BLOCKS, fence_lines, notice
from sidecar.turn.items import Decision, Fate, Form, HistorySummary, HistoryTurn, Item, Ref, Source
from tests.support.turn.turn_cases import (
    METER,
    a_fitting,
    a_profile,
    a_result,
    a_turn,
    an_item,
    count,
    fitted,
    kept_ids,
)

TAG = "000000"
NOTICE = count(notice(TAG))
NO_FLOORS = {source.value: {"floor_tokens": 0} for source in Source}


def fence_of(source: Source) -> int:
    block = next(block for block in BLOCKS if block.name == source.value)
    return sum(map(count, fence_lines(block, TAG)))


def cost(text: str) -> int:
    return count(f"[k1] {text}\n")


def text_of(number: int, words: int = 10) -> str:
    return " ".join(f"w{number}{chr(97 + place)}" for place in range(words))


def some(source: Source, *relevances: float, words: int = 10, start: int = 0) -> list[Item]:
    return [
        an_item(
            f"{source.value}{rank}",
            text_of(start + 100 * list(Source).index(source) + rank, words),
            source,
            relevance=told,
        )
        for rank, told in enumerate(relevances)
    ]


def fate(result: Fitted, item_id: str) -> Fate:
    return next(fate for fate in result.fates if fate.item.id == item_id)


def test_item_that_does_not_fit_is_skipped_and_the_next_is_tried() -> None:
    items = [
        an_item("large", text_of(1, 26), Source.KNOWLEDGE, relevance=0.9),
        an_item("small", text_of(2, 5), Source.KNOWLEDGE, relevance=0.2),
    ]
    pool = NOTICE + fence_of(Source.KNOWLEDGE) + cost(text_of(2, 5)) + 20
    result = fitted(*items, budget_tokens=pool)
    assert kept_ids(result) == ["small"]
    large = cost(text_of(1, 26)) + fence_of(Source.KNOWLEDGE)
    assert fate(result, "large").reason == (
        f"priority 2: it needs {large} tokens and {pool - NOTICE} were left in the pool"
    )


def test_item_that_fits_to_the_last_token_is_included() -> None:
    item = an_item("k", text_of(1, 30), Source.KNOWLEDGE)
    exact = NOTICE + fence_of(Source.KNOWLEDGE) + cost(item.text)
    assert kept_ids(fitted(item, budget_tokens=exact)) == ["k"]
    assert fitted(item, budget_tokens=exact).rendering.tokens == exact
    assert kept_ids(fitted(item, budget_tokens=exact - 1)) == []


def test_a_group_pays_for_its_header_once() -> None:
    items = [an_item(f"k{n}", text_of(n, 10), Source.KNOWLEDGE, header="A long title of a document") for n in range(3)]
    header = count("A long title of a document\n")
    exact = NOTICE + fence_of(Source.KNOWLEDGE) + header + 3 * cost(items[0].text)
    assert len(kept_ids(fitted(*items, budget_tokens=exact))) == 3
    assert len(kept_ids(fitted(*items, budget_tokens=exact - 1))) == 2


def test_knowledge_precedes_memory_whatever_the_relevance() -> None:
    items = [*some(Source.KNOWLEDGE, 0.3, 0.3, 0.3), *some(Source.MEMORY, 0.9)]
    pool = NOTICE + fence_of(Source.KNOWLEDGE) + 3 * cost(items[0].text) + 5
    result = fitted(*items, budget_tokens=pool, profile=a_profile(sources=NO_FLOORS))
    assert kept_ids(result) == ["knowledge0", "knowledge1", "knowledge2"]
    assert fate(result, "knowledge0").reason == "priority 2"


def test_floors_are_filled_before_any_source_gets_more() -> None:
    items = [*some(Source.KNOWLEDGE, *[0.9] * 10), *some(Source.MEMORY, 0.3, 0.3, 0.3)]
    result = fitted(*items, budget_tokens=300, profile=a_profile(sources={"memory": {"floor_tokens": 70}}))
    shares = {share.source: share for share in result.shares}
    assert fate(result, "memory0").reason == "floor of memory"
    assert 50 <= shares[Source.MEMORY].included_tokens <= 70
    assert shares[Source.KNOWLEDGE].included_tokens > 100


def test_ceiling_holds_whatever_room_is_left() -> None:
    items = some(Source.KNOWLEDGE, *[0.9] * 10)
    ceiling = fence_of(Source.KNOWLEDGE) + 3 * cost(items[0].text) + 1
    result = fitted(*items, profile=a_profile(sources={"knowledge": {"ceiling_tokens": ceiling}}))
    assert len(kept_ids(result)) == 3
    assert fate(result, "knowledge3").reason.endswith("and 1 to its source")
    assert next(share for share in result.shares if share.source is Source.KNOWLEDGE).included_tokens == ceiling - 1


def test_memories_enter_by_their_first_lines_and_grow_if_room_is_left() -> None:
    items = [an_item(f"m{n}", text_of(n, 30), lead=text_of(n, 30)[:30], relevance=0.9 - n / 10) for n in range(3)]
    wide = fitted(*items)
    assert [fate.form for fate in wide.fates] == [Form.FULL] * 3
    pool = NOTICE + fence_of(Source.MEMORY) + 3 * cost(items[0].lead) + cost(items[0].text)
    narrow = fitted(*items, budget_tokens=pool, profile=a_profile(sources=NO_FLOORS))
    assert [fate(narrow, f"m{n}").form for n in range(3)] == [Form.FULL, Form.LEAD, Form.LEAD]
    assert fate(narrow, "m1").decision is Decision.SHORTENED
    assert fate(narrow, "m1").reason.startswith("priority 3; for the rest it needs ")
    assert fate(narrow, "m1").text == items[1].lead


def test_knowledge_is_never_shortened() -> None:
    item = an_item("k", text_of(1, 40), Source.KNOWLEDGE, lead=text_of(1, 3))
    assert kept_ids(fitted(item, budget_tokens=NOTICE + fence_of(Source.KNOWLEDGE) + 20)) == []


def test_tier_gets_only_items_above_the_knee_and_the_rest_comes_last() -> None:
    items = [*some(Source.KNOWLEDGE, 0.9, 0.1, 0.1), *some(Source.MEMORY, 0.5), *some(Source.THREAD, 0.4)]
    fixed = NOTICE + sum(map(fence_of, (Source.KNOWLEDGE, Source.MEMORY, Source.THREAD)))
    profile = a_profile(relevance_knee=0.2, sources=NO_FLOORS)
    narrow = fitted(*items, budget_tokens=fixed + 3 * cost(items[0].text), profile=profile)
    assert set(kept_ids(narrow)) == {"knowledge0", "memory0", "thread0"}
    wide = fitted(*items, profile=profile)
    assert len(kept_ids(wide)) == 5
    assert fate(wide, "knowledge1").reason == "after the items above the relevance knee"
    literal = replace(profile, allocation=a_profile(allocation="seed_order").allocation)
    seeded = fitted(*items, budget_tokens=fixed + 3 * cost(items[0].text), profile=literal)
    assert {"knowledge0", "knowledge1", "knowledge2"} <= set(kept_ids(seeded))


def test_page_below_the_knee_waits_behind_its_memories() -> None:
    items = [*some(Source.WIKI, 0.19), *some(Source.THREAD, 0.01), *some(Source.MEMORY, 0.02)]
    fixed = NOTICE + sum(map(fence_of, (Source.MEMORY, Source.THREAD)))
    profile = a_profile(sources=NO_FLOORS)
    narrow = fitted(*items, budget_tokens=fixed + 2 * cost(items[0].text), profile=profile)
    assert set(kept_ids(narrow)) == {"thread0", "memory0"}
    assert "wiki0" in kept_ids(fitted(*items, profile=profile))
    above = [items[0]._replace(relevance=0.2), *items[1:]]
    assert "wiki0" in kept_ids(fitted(*above, budget_tokens=fixed + 2 * cost(items[0].text), profile=profile))


def test_page_below_the_knee_to_which_edges_led_waits_behind_nothing_less_relevant() -> None:
    items = [*some(Source.WIKI, 0.19), *some(Source.THREAD, 0.01), *some(Source.MEMORY, 0.02)]
    led_to = items[0]._replace(provenance=(*items[0].provenance, Ref("path", "p", "Ana → works_at → Helios")))
    fixed = NOTICE + sum(map(fence_of, (Source.MEMORY, Source.THREAD, Source.WIKI)))
    narrow = fitted(led_to, *items[1:], budget_tokens=fixed + cost(items[0].text), profile=a_profile(sources=NO_FLOORS))
    assert "wiki0" in kept_ids(narrow)


def test_page_grows_only_after_everything_else() -> None:
    page = an_item("p", text_of(1, 30), Source.WIKI, lead=text_of(1, 3), relevance=0.9)
    turn = some(Source.THREAD, 0.05)
    fixed = NOTICE + fence_of(Source.WIKI) + fence_of(Source.THREAD)
    pool = fixed + cost(page.lead) + cost(turn[0].text) + 5
    narrow = fitted(page, *turn, budget_tokens=pool, profile=a_profile(sources=NO_FLOORS))
    assert fate(narrow, "p").form is Form.LEAD
    assert fate(narrow, "thread0").form is Form.FULL
    assert fate(fitted(page, *turn), "p").form is Form.FULL


def test_lead_below_the_knee_grows_after_older_turns() -> None:
    memory = an_item("m", text_of(1, 30), lead=text_of(1, 3), relevance=0.1)
    turn = some(Source.THREAD, 0.9)
    fixed = NOTICE + fence_of(Source.MEMORY) + fence_of(Source.THREAD)
    pool = fixed + cost(memory.lead) + cost(turn[0].text) + 5
    narrow = fitted(memory, *turn, budget_tokens=pool, profile=a_profile(sources={"memory": {"floor_tokens": 1000}}))
    assert fate(narrow, "m").reason.startswith("floor of memory")
    assert fate(narrow, "m").form is Form.LEAD
    assert fate(narrow, "thread0").form is Form.FULL


def test_the_floor_of_the_wiki_is_a_small_part_of_a_narrow_pool() -> None:
    page, turns = some(Source.WIKI, 0.1, words=5), some(Source.THREAD, *[0.15] * 400, words=5, start=1000)
    floor = fence_of(Source.WIKI) + cost(page[0].text)
    assert floor < 64
    assert "wiki0" not in kept_ids(fitted(*page, *turns, budget_tokens=25 * floor - 1))
    wide = fitted(*page, *turns, budget_tokens=25 * (floor + 20))
    assert fate(wide, "wiki0").reason == "floor of wiki"
    asked_for = a_profile(sources={"wiki": {"floor_tokens": 64}})
    assert "wiki0" in kept_ids(fitted(*page, *turns, budget_tokens=500, profile=asked_for))


def test_wiki_floor_is_not_filled_with_irrelevant_pages() -> None:
    pages, turns = some(Source.WIKI, 0.005, words=5), some(Source.THREAD, *[0.15] * 400, words=5, start=1000)
    profile = a_profile(sources={"wiki": {"floor_tokens": 64}})
    assert "wiki0" not in kept_ids(fitted(*pages, *turns, budget_tokens=500, profile=profile))
    telling = [pages[0]._replace(relevance=0.01)]
    assert "wiki0" in kept_ids(fitted(*telling, *turns, budget_tokens=500, profile=profile))


def test_wiki_floor_holds_items_worth_their_tokens() -> None:
    pages, turns = some(Source.WIKI, 0.005, words=5), some(Source.THREAD, *[0.15] * 400, words=5, start=1000)
    profile = a_profile(spend="balanced", sources={"wiki": {"floor_tokens": 64}})
    assert fate(fitted(*pages, *turns, budget_tokens=500, profile=profile), "wiki0").reason == "floor of wiki"
    idle = [pages[0]._replace(relevance=0.0001)]
    assert fate(fitted(*idle, *turns, budget_tokens=500, profile=profile), "wiki0").decision is Decision.BELOW_WORTH


def test_wiki_floor_is_not_filled_with_a_page_because_the_far_better_one_is_too_long() -> None:
    best = an_item("best", text_of(9_000, 40), Source.WIKI, relevance=0.18)
    short, turns = some(Source.WIKI, 0.05, words=5), some(Source.THREAD, *[0.15] * 400, words=5, start=1000)
    profile = a_profile(sources={"wiki": {"floor_tokens": fence_of(Source.WIKI) + cost(short[0].text)}})
    assert not {"best", "wiki0"} & {*kept_ids(fitted(best, *short, *turns, budget_tokens=500, profile=profile))}
    near = [short[0]._replace(relevance=0.1)]
    assert "wiki0" in kept_ids(fitted(best, *near, *turns, budget_tokens=500, profile=profile))


def test_without_relevances_there_is_no_knee() -> None:
    items = [*some(Source.KNOWLEDGE, 0, 0), *some(Source.MEMORY, 0.9, 0.1)]
    assert fate(fitted(*items), "knowledge1").reason == "priority 2"


def test_pooled_allocation_is_by_relevance_alone_including_older_turns() -> None:
    items = [*some(Source.KNOWLEDGE, 0.9, 0.3), *some(Source.MEMORY, 0.8), *some(Source.THREAD, 0.7)]
    fixed = NOTICE + sum(map(fence_of, (Source.KNOWLEDGE, Source.MEMORY, Source.THREAD)))
    profile = a_profile(allocation="pooled", sources=NO_FLOORS)
    result = fitted(*items, budget_tokens=fixed + 3 * cost(items[0].text), profile=profile)
    assert set(kept_ids(result)) == {"knowledge0", "memory0", "thread0"}
    assert fate(result, "memory0").reason == "relevance"


def test_older_history_follows_grown_leads_with_evidence_before_summary() -> None:
    items = [an_item("m", text_of(1, 30), lead=text_of(1, 3), relevance=0.9), *some(Source.THREAD, 0.9)]
    fixed = NOTICE + fence_of(Source.MEMORY)
    profile = a_profile(sources=NO_FLOORS)
    summary = HistorySummary(text_of(9, 8), 3, ("turn:x",))
    asked = {"profile": profile, "summary": summary}
    narrow = fitted(*items, budget_tokens=fixed + cost(items[0].text) + 10, **asked)
    assert kept_ids(narrow) == ["m"]
    assert fate(narrow, "m").form is Form.FULL
    wide = fitted(*items, **asked)
    assert kept_ids(wide) == ["thread-summary", "m", "thread0"]
    assert fate(wide, "thread-summary").form is Form.SUMMARY
    assert [block.zone.value for block in wide.rendering.blocks] == ["stable", "volatile", "volatile", "volatile"]


def test_summary_gets_a_sixteenth_of_the_pool_and_none_of_a_small_one() -> None:
    lines = [f"user: {text_of(n, 20)}" for n in range(60)]
    summary = HistorySummary("\n".join(lines), 60, tuple(f"turn:old{n}" for n in range(60)))
    assert kept_ids(fitted(summary=summary, budget_tokens=1_999)) == []
    for pool in (2_000, 4_000, 8_000):
        result = fitted(summary=summary, budget_tokens=pool)
        held = fate(result, "thread-summary")
        assert 0 < held.tokens <= pool // 16
        count = held.item.text.count("\n") + 1
        assert held.item.text == "\n".join(lines[-count:])
        assert held.item.stands_for == tuple(f"turn:old{n}" for n in range(60 - count, 60))
    assert kept_ids(fitted(summary=summary, profile=a_profile(thread_summary=False))) == []


def talk(turns: int) -> tuple[HistoryTurn, ...]:
    return tuple(a_turn(n, "user" if n % 2 else "assistant", text_of(n, 6)) for n in range(1, turns + 1))


def window_of(result: Fitted) -> list[str]:
    return [message.turn_id for message in result.rendering.messages]


def test_recent_turns_are_capped_while_others_want_room() -> None:
    turns = talk(9)
    items = some(Source.KNOWLEDGE, *[0.9] * 40)
    profile = a_profile(history_tail_tokens=2 * turns[0].tokens + 1, sources=NO_FLOORS)
    result = fitted(*items, history=turns, budget_tokens=500, profile=profile)
    assert window_of(result) == ["turn:7", "turn:8", "turn:9"]
    literal = fitted(
        *items, history=turns, budget_tokens=500, profile=a_profile(allocation="seed_order", sources=NO_FLOORS)
    )
    assert len(window_of(literal)) == 9


def test_window_depends_on_the_thread_and_the_pool_and_not_on_recalled_items() -> None:
    assert len(window_of(fitted(history=talk(9)))) == 9
    assert window_of(fitted(history=talk(9), profile=a_profile(history_tail_tokens=0))) == ["turn:9"]
    assert len(window_of(fitted(history=talk(9), profile=a_profile(history_turns=4)))) == 4
    assert window_of(fitted(history=talk(9), profile=a_profile(history_turns=0))) == ["turn:9"]
    many = some(Source.KNOWLEDGE, *[0.9] * 40)
    for pool in (300, 700, 3_999, 4_000, 9_000):
        bare, full = fitted(history=talk(60), budget_tokens=pool), fitted(*many, history=talk(60), budget_tokens=pool)
        assert window_of(bare) == window_of(full)


def long_talk(count: int, tokens: int) -> tuple[HistoryTurn, ...]:
    """Return a thread of so many turns of so many tokens each, which know what was said before them."""
    turns = [a_turn(n, "user" if n % 2 else "assistant", f"turn {n}", tokens=tokens) for n in range(1, count + 1)]
    return tuple(replace(turn, tokens_before=place * tokens) for place, turn in enumerate(turns))


@pytest.mark.parametrize("pool", [4_000, 9_000, 20_000, 100_000])
def test_wide_window_begins_on_a_grid_of_the_threads_tokens(pool: int) -> None:
    profile = a_profile(history_turns=1_000)
    starts = []
    for said in range(1, 400, 2):
        result = fitted(history=long_talk(said, 50), budget_tokens=pool, profile=profile)
        begun = (int(window_of(result)[0].removeprefix("turn:")) - 1) * 50
        assert begun % 1_024 < 50
        assert (said - 1) * 50 - begun <= min(2_048, max(1_024, pool // 8))
        starts.append(begun)
    assert starts == sorted(starts)
    assert len(set(starts)) <= 1 + 400 * 50 // 1_024


def test_window_of_many_short_turns_moves_by_half_of_the_turns_that_it_may_hold() -> None:
    lengths, starts = [], []
    for said in range(1, 300, 2):
        read = long_talk(said, 10)[-50:]
        window = window_of(fitted(history=read, profile=a_profile(history_turns=50)))
        starts.append(window[0])
        lengths.append(len(window))
    assert max(lengths) <= 50
    assert min(lengths[26:]) >= 24
    assert len(set(starts)) <= 1 + 300 // 25 + 300 * 10 // 1_024


@pytest.mark.parametrize("first", [{"parts": (a_result("gone"),), "text": ""}, {"fault": "its text is unreadable"}])
def test_window_reaches_the_beginning_of_a_thread_whose_first_turn_cannot_be_sent(first: dict[str, Any]) -> None:
    beginning, *others = long_talk(8, 50)
    window = window_of(fitted(history=(replace(beginning, role="tool", **first), *others)))
    assert window == [turn.id for turn in others]


def test_narrow_window_is_not_aligned() -> None:
    starts = {window_of(fitted(history=long_talk(count, 10), budget_tokens=3_999))[0] for count in range(101, 301, 2)}
    assert len(starts) == 100


def test_window_of_a_thread_that_does_not_count_its_tokens_is_not_aligned() -> None:
    turns = tuple(replace(turn, tokens_before=0) for turn in long_talk(301, 50))
    assert len(window_of(fitted(history=turns))) == 1 + 1_250 // 50


def test_history_window_has_no_gaps_and_never_splits_a_unit() -> None:
    turns = list(talk(5))
    turns[2] = a_turn(3, "user", text_of(3, 200))
    result = fitted(history=tuple(turns), budget_tokens=150)
    assert window_of(result) == ["turn:5"] or window_of(result) == ["turn:4", "turn:5"]


def test_recent_turns_leave_room_for_floors() -> None:
    turns = talk(40)
    items = some(Source.MEMORY, 0.9, 0.9)
    profile = a_profile(allocation="seed_order", sources={"memory": {"floor_tokens": 100}})
    result = fitted(*items, history=turns, budget_tokens=400, profile=profile)
    assert len(kept_ids(result)) == 2
    assert 3 < len(window_of(result)) < 40


def test_recent_turns_get_the_tokens_that_floors_leave() -> None:
    items = some(Source.MEMORY, 0.9, words=5)
    profile = a_profile(allocation="seed_order", sources={**NO_FLOORS, "memory": {"floor_tokens": 400}})
    result = fitted(*items, history=talk(40), budget_tokens=400, profile=profile)
    assert kept_ids(result) == ["memory0"]
    assert len(window_of(result)) > 3


def test_in_seed_order_a_thread_that_comes_later_gets_what_its_tier_gets() -> None:
    turns = talk(9)
    items = some(Source.KNOWLEDGE, *[0.9] * 40)
    late = a_profile(allocation="seed_order", sources={**NO_FLOORS, "thread": {"priority": 4}})
    assert window_of(fitted(*items, history=turns, budget_tokens=500, profile=late)) == ["turn:9"]


def test_disabled_source_offers_nothing_and_a_disabled_thread_has_no_turns() -> None:
    profile = a_profile(sources={"memory": {"enabled": False}, "thread": {"enabled": False}})
    result = fitted(*some(Source.MEMORY, 0.9), history=talk(3), profile=profile)
    assert kept_ids(result) == []
    assert fate(result, "memory0").decision is Decision.BELOW_CUTOFF
    assert result.rendering.messages == ()
    assert result.rendering.tokens == NOTICE


@pytest.mark.parametrize("knob", ["top_k", "max_items"])
def test_count_limits_drop_the_end_of_the_order(knob: str) -> None:
    items = some(Source.KNOWLEDGE, 0.9, 0.8, 0.7)
    profile = a_profile(max_items=2) if knob == "max_items" else a_profile(sources={"knowledge": {"top_k": 2}})
    result = fitted(*items, profile=profile)
    assert kept_ids(result) == ["knowledge0", "knowledge1"]
    assert fate(result, "knowledge2").decision is Decision.BELOW_CUTOFF
    assert knob in fate(result, "knowledge2").reason


def test_exchange_that_had_to_be_cut_fills_the_whole_pool() -> None:
    arguments = {"type": "tool_call", "id": "a", "name": "write", "arguments": {"text": "x " * 1000}}
    turn = a_turn(1, "user", text_of(1, 10), arguments, a_result("a"))
    result = fitted(*some(Source.KNOWLEDGE, 0.9), history=(turn,), budget_tokens=200)
    assert result.is_exchange_cut
    assert kept_ids(result) == []
    assert result.turn_fates[0].decision is Decision.SHORTENED
    assert result.rendering.tokens == NOTICE + result.turn_fates[0].tokens < 100


def test_every_turn_has_a_decision_with_a_reason() -> None:
    result = fit(a_fitting(history=talk(9), profile=a_profile(history_turns=3)), METER)
    told = {fate.turn.id: (fate.decision, fate.reason) for fate in result.turn_fates}
    assert told["turn:9"] == (Decision.KEPT, "last exchange")
    assert told["turn:7"] == (Decision.KEPT, "recent turn")
    assert told["turn:1"] == (Decision.OVER_BUDGET, "the window of recent turns ends after it")
    assert len(told) == 9


def test_turn_of_the_history_that_was_found_by_search_counts_once() -> None:
    turns = [a_turn(place, "user" if place % 2 else "assistant", text_of(place)) for place in range(1, 7)]
    found = [an_item(turn.id, turn.text, Source.THREAD, relevance=0.9) for turn in turns]
    for budget_tokens in (10_000, 300, 160, 100):
        result = fit(a_fitting(*found, history=tuple(turns), budget_tokens=budget_tokens), METER)
        share = next(share for share in result.shares if share.source is Source.THREAD)
        assert (share.offered_count, share.included_count > 0) == (len(turns), True)
        assert share.offered_count == share.included_count + share.shortened_count + share.dropped_count
        assert share.offered_tokens < 2 * sum(turn.tokens for turn in turns)
