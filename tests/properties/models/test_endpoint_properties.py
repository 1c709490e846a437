"""Generated and hostile input for what `tests/unit/models/test_endpoint.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.transport.endpoint import Breaker, BreakerPolicy, BreakerState, Permit, RetryBudget


@given(
    st.lists(st.tuples(st.sampled_from(["admit", "succeeded", "failed", "released"]), st.floats(0, 30)), max_size=200)
)
def test_open_breaker_admits_no_call_and_no_breaker_stays_open_for_ever(steps: list[tuple[str, float]]) -> None:
    breaker, now_s, held = Breaker(BreakerPolicy(least_calls=2)), 0.0, list[Permit]()
    for step, passed_s in steps:
        now_s += passed_s
        if step == "admit":
            permit = breaker.admit(now_s)
            held += [permit] if permit else []
            assert permit is None or breaker.state(now_s) is not BreakerState.OPEN
        elif held:
            permit = held.pop(0)
            breaker.released(permit) if step == "released" else getattr(breaker, step)(permit, now_s)
    assert breaker.admit(now_s + 120.0) is not None


@given(st.lists(st.sampled_from(["answered", "spend_on_retry", "spend_on_hedge"]), max_size=300))
def test_extra_attempts_stay_within_ten_plus_a_tenth_of_the_answers(steps: list[str]) -> None:
    budget = RetryBudget()
    extra = sum(bool(getattr(budget, step)()) for step in steps)
    assert extra <= 10 + 0.1 * steps.count("answered") + 1e-9
    assert 0 <= budget.tokens <= 10
