"""What must hold of every fitting, tried on generated questions, and the odd ones by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sidecar.runtime.errors import PoolTooSmall
from sidecar.turn.fitting.fitting import Fitting, fit
from sidecar.turn.items import Decision, Source, SourceReport
from tests.support.turn import turn_laws as laws
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, a_turn, an_item, fitted, grown, kept_ids

CASES = st.tuples(st.integers(0, 2**40), st.integers(1, 8))


@given(CASES)
def test_rendered_tokens_never_exceed_the_pool_and_match_the_bytes(case: tuple[int, int]) -> None:
    laws.check_tokens(fit(grown(*case), METER))


@given(CASES)
def test_answer_order_of_sources_does_not_change_the_bytes(case: tuple[int, int]) -> None:
    question = grown(*case)
    laws.check_order(question, fit(question, METER), seed=case[0])


@given(CASES, st.sampled_from([1, 7, 40, 300, 2000]))
def test_larger_budget_keeps_the_item_on_which_two_budgets_first_differ(case: tuple[int, int], more: int) -> None:
    question = grown(*case)
    laws.check_larger_budget(question, fit(question, METER), more)


@given(CASES, st.sampled_from(Source), st.integers(1, 3))
def test_raising_a_sources_priority_never_lowers_its_share(case: tuple[int, int], source: Source, to: int) -> None:
    question = grown(*case, with_kin=False)
    assume(to < question.profile.knobs(source).priority)
    laws.check_priority(question, source, to)


@given(CASES)
def test_floors_are_kept_for_every_source_whose_items_fit_them(case: tuple[int, int]) -> None:
    assume(laws.check_floors(grown(*case, with_kin=False)))


@given(CASES)
def test_every_offered_item_has_one_decision_and_the_counts_add_up(case: tuple[int, int]) -> None:
    question = grown(*case)
    laws.check_fates(question, fit(question, METER))


@given(CASES)
@example((5_238, 7))
@example((17_571, 4))
def test_no_fact_is_dropped_for_an_absent_one_and_none_is_said_twice(case: tuple[int, int]) -> None:
    question = grown(*case)
    laws.check_facts(question, fit(question, METER))


@given(CASES)
def test_thread_is_sent_unchanged(case: tuple[int, int]) -> None:
    question = grown(*case)
    laws.check_thread(question, fit(question, METER))


@given(CASES)
def test_no_text_inside_a_fence_reads_as_a_fence(case: tuple[int, int]) -> None:
    laws.check_fences(fit(grown(*case), METER))


@pytest.mark.parametrize(("allocation", "count"), [("priority", 10_000), ("seed_order", 500), ("pooled", 500)])
def test_every_allocation_handles_a_flood_of_items(allocation: str, count: int) -> None:
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
def test_too_small_a_pool_is_refused_before_anything_is_fitted(window: int) -> None:
    with pytest.raises(PoolTooSmall):
        fit(a_fitting(an_item("m", "a fact"), budget_tokens=window), METER)


def test_empty_input_is_fitted_to_nothing() -> None:
    empty = fit(Fitting(profile=a_profile(), window_tokens=64), METER)
    assert (empty.fates, empty.turn_fates, [block.source for block in empty.rendering.blocks]) == ((), (), [None])
    assert all(share.offered_count == 0 for share in empty.shares)


def test_late_answer_is_reported_as_late() -> None:
    question = a_fitting(an_item("m", "a fact"))
    late = tuple(
        SourceReport(report.source, status=type(report.status).TIMEOUT, items=report.items)
        for report in question.reports
    )
    result = fit(replace(question, reports=late), METER)
    assert [fate.decision for fate in result.fates] == [Decision.LATE]
    assert kept_ids(result) == []


def test_huge_text_is_counted_and_skipped() -> None:
    result = fitted(an_item("huge", "x" * 500_000, Source.KNOWLEDGE), an_item("m", "a fact"))
    assert kept_ids(result) == ["m"]


def test_a_thread_of_five_thousand_turns_is_windowed() -> None:
    turns = tuple(a_turn(number, "user" if number % 2 else "assistant", f"turn {number}") for number in range(5000))
    profile = a_profile(history_turns=10_000, allocation="seed_order")
    result = fitted(history=turns, budget_tokens=2000, profile=profile)
    assert 100 < len(result.rendering.messages) < 5000
    assert len(result.turn_fates) == 5000
