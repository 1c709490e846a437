"""What must hold of every fitting, whatever was asked and found. The campaign of 100,000: --hypothesis-profile=soak."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sidecar.errors import PoolTooSmall
from sidecar.turn import history
from sidecar.turn.fence import neutralise
from sidecar.turn.fitting import SUMMARY_ID, Fitted, Fitting, fit
from sidecar.turn.items import Decision, Form, Source, SourceReport
from sidecar.turn.profile import Profile, merge, parse_layer
from tests.unit.turn_cases import METER, a_fitting, a_profile, a_turn, an_item, fitted, grown, kept_ids, text_of

CASES = st.tuples(st.integers(0, 2**40), st.integers(1, 8))
CAMPAIGN = settings(max_examples=100_000 if settings().max_examples > 1000 else 40)


def shuffled(question: Fitting, seed: int) -> Fitting:
    rng = random.Random(seed)
    reports = [replace(report, items=tuple(rng.sample(report.items, len(report.items)))) for report in question.reports]
    turns = rng.sample(question.history, len(question.history))
    return replace(question, reports=tuple(rng.sample(reports, len(reports))), history=tuple(turns))


def with_priority(profile: Profile, source: Source, priority: int) -> Profile:
    return merge(parse_layer(profile.as_mapping()), parse_layer({"sources": {source.value: {"priority": priority}}}))


def share_of(result: Fitted, source: Source) -> int:
    return next(share.included_tokens for share in result.shares if share.source is source)


@CAMPAIGN
@given(CASES)
def test_the_rendered_tokens_never_exceed_the_pool_and_are_those_of_the_bytes(case: tuple[int, int]) -> None:
    result = fit(grown(*case), METER)
    rendering = result.rendering
    messages = sum(message.tokens for message in rendering.messages)
    assert rendering.tokens == METER.count([text_of(result)])[0] + messages <= result.pool.pool_tokens
    assert [block.tokens for block in rendering.blocks] == METER.count([block.text for block in rendering.blocks])
    notice = rendering.blocks[0].tokens if rendering.blocks else 0
    assert sum(share.included_tokens for share in result.shares) + notice == rendering.tokens


@given(CASES)
def test_the_same_inputs_give_the_same_bytes_whatever_order_sources_answered_in(case: tuple[int, int]) -> None:
    question = grown(*case)
    assert fit(shuffled(question, case[0]), METER).rendering == fit(question, METER).rendering


@given(CASES, st.sampled_from([1, 7, 40, 300, 2000]))
def test_where_two_budgets_first_decide_differently_the_larger_keeps_the_item(case: tuple[int, int], more: int) -> None:
    question = grown(*case)
    smaller = fit(question, METER).steps
    larger = fit(replace(question, window_tokens=question.window_tokens + more), METER).steps
    for small, large in zip(smaller, larger, strict=False):
        if small != large:
            assert (*small[:2], True) == large
            return
    assert len(smaller) == len(larger)


@given(CASES, st.sampled_from(Source), st.integers(1, 3))
def test_raising_a_source_s_priority_never_lowers_its_share(case: tuple[int, int], source: Source, to: int) -> None:
    question = grown(*case, with_kin=False)
    assume(to < question.profile.knobs(source).priority)
    raised = replace(question, profile=with_priority(question.profile, source, to))
    assert share_of(fit(raised, METER), source) >= share_of(fit(question, METER), source)


@given(CASES)
def test_floors_are_kept_by_every_source_whose_items_fit_them(case: tuple[int, int]) -> None:
    question = without_leads(grown(*case, with_kin=False))
    result = fit(question, METER)
    floors = sum(question.profile.knobs(source).floor_tokens for source in Source)
    assume(result.pool.pool_tokens >= history.read(question.history).exchange_tokens + floors + 40)
    wide = fit(replace(question, window_tokens=10**6), METER)
    by_floor = {told.item.id for told in wide.fates if told.reason.startswith("floor of ")}
    assert by_floor <= set(kept_ids(result))


def without_leads(question: Fitting) -> Fitting:
    bare = (
        replace(report, items=tuple(replace(item, lead="") for item in report.items)) for report in question.reports
    )
    return replace(question, reports=tuple(bare))


@given(CASES)
def test_every_offered_item_has_one_fate_with_a_reason_and_the_counts_add_up(case: tuple[int, int]) -> None:
    question = grown(*case)
    result = fit(question, METER)
    offered = [id(item) for report in question.reports for item in report.items]
    decided = [id(fate.item) for fate in result.fates if fate.item.id != SUMMARY_ID]
    assert sorted(offered) == sorted(decided)
    assert all(fate.reason for fate in result.fates)
    assert all(turn_fate.reason for turn_fate in result.turn_fates)
    for source_share in result.shares:
        absent = source_share.dropped_count
        assert source_share.offered_count == source_share.included_count + source_share.shortened_count + absent
    for fate in result.fates:
        is_in = fate.decision in {Decision.KEPT, Decision.SHORTENED}
        assert is_in == (fate.form is not None) == (fate.tokens > 0) == bool(fate.mark)
        assert (fate.form is Form.LEAD) == (fate.decision is Decision.SHORTENED)


@given(CASES)
def test_no_fact_is_lost_to_one_that_is_absent_and_none_is_said_twice(case: tuple[int, int]) -> None:
    question = grown(*case)
    result = fit(question, METER)
    kept = [fate for fate in result.fates if fate.form]
    whole = {message.turn_id for message in result.rendering.messages if not message.was_cut}
    present = {fate.item.id for fate in kept} | whole | question.seen_item_ids
    assert all(fate.into in present for fate in result.fates if fate.decision is Decision.DEDUPED_INTO)
    assert len({fate.item.id for fate in kept}) == len(kept)
    covered = {ref for fate in kept if fate.form is Form.FULL for ref in fate.item.stands_for if ref != fate.item.id}
    for fate in kept:
        is_turn = fate.item.source is Source.THREAD
        drawn_from = set(fate.item.stands_for) or ({fate.item.id} if is_turn else set())
        assert not drawn_from or not drawn_from <= whole
        assert is_turn or fate.item.id not in covered


@given(CASES)
def test_the_thread_is_sent_as_it_was_said(case: tuple[int, int]) -> None:
    question = grown(*case)
    result = fit(question, METER)
    thread = history.read(question.history) if question.profile.knobs(Source.THREAD).enabled else history.read(())
    said = [turn.id for unit in (*thread.older[::-1], *thread.exchange) for turn in unit.turns]
    sent = [message.turn_id for message in result.rendering.messages]
    assert sent == [turn_id for turn_id in said if turn_id in sent]
    assert result.is_exchange_cut or sent == said[len(said) - len(sent) :]
    assert not thread.exchange or thread.exchange[0].turns[0].id in sent
    waiting: list[str] = []
    for part in (part for message in result.rendering.messages for part in message.parts):
        if part["type"] == "tool_call":
            waiting.append(part["id"])
        else:
            waiting.remove(part["id"])
    assert not waiting


@given(CASES)
def test_nothing_inside_a_fence_reads_as_a_fence(case: tuple[int, int]) -> None:
    for block in fit(grown(*case), METER).rendering.blocks[1:]:
        first, *lines, last, end = block.text.split("\n")
        assert first.startswith("<context-000000 source=")
        assert (last, end) == ("</context-000000>", "")
        assert neutralise("\n".join(lines)) == "\n".join(lines)


@pytest.mark.parametrize(("allocation", "count"), [("priority", 10_000), ("seed_order", 500), ("pooled", 500)])
def test_every_allocation_takes_a_flood_of_items(allocation: str, count: int) -> None:
    items = [
        an_item(f"i{number}", f"fact {number} of a boat", list(Source)[number % 6], relevance=number % 10 / 10)
        for number in range(count)
    ]
    profile = a_profile(allocation=allocation, max_items=10_000)
    wide = replace(profile, sources=tuple(replace(knobs, top_k=10_000) for knobs in profile.sources))
    result = fitted(*items, profile=wide, budget_tokens=count // 2)
    assert len(result.fates) == count
    assert count // 3 < result.rendering.tokens <= count // 2


@pytest.mark.parametrize("window", [0, 1, 63])
def test_a_pool_too_small_is_refused_before_anything_is_fitted(window: int) -> None:
    with pytest.raises(PoolTooSmall):
        fit(a_fitting(an_item("m", "a fact"), budget_tokens=window), METER)


def test_nothing_at_all_is_fitted_to_nothing() -> None:
    empty = fit(Fitting(profile=a_profile(), window_tokens=64), METER)
    assert (empty.fates, empty.turn_fates, empty.rendering.tokens) == ((), (), 0)
    assert all(share.offered_count == 0 for share in empty.shares)


def test_a_late_answer_is_told_as_late() -> None:
    question = a_fitting(an_item("m", "a fact"))
    late = tuple(
        SourceReport(report.source, status=type(report.status).TIMEOUT, items=report.items)
        for report in question.reports
    )
    result = fit(replace(question, reports=late), METER)
    assert [fate.decision for fate in result.fates] == [Decision.LATE]
    assert kept_ids(result) == []


def test_a_huge_text_is_weighed_and_passed_over() -> None:
    result = fitted(an_item("huge", "x" * 500_000, Source.KNOWLEDGE), an_item("m", "a fact"))
    assert kept_ids(result) == ["m"]


def test_a_thread_of_five_thousand_turns_is_windowed() -> None:
    turns = tuple(a_turn(number, "user" if number % 2 else "assistant", f"turn {number}") for number in range(5000))
    result = fitted(history=turns, budget_tokens=2000, profile=a_profile(history_turns=10_000))
    assert 100 < len(result.rendering.messages) < 5000
    assert len(result.turn_fates) == 5000
