"""What is remembered of an endpoint: when its breaker opens and closes, what retries may add, when a hedge pays."""

from __future__ import annotations

import pytest

from models.transport.endpoint import Breaker, BreakerState, Latencies, Permit, RetryBudget


def admitted(breaker: Breaker, now_s: float) -> Permit:
    permit = breaker.admit(now_s)
    assert permit is not None
    return permit


def opened(now_s: float = 0.0) -> Breaker:
    """A breaker that opened at this time, for two seconds."""
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(admitted(breaker, now_s), now_s)
    assert breaker.state(now_s) is BreakerState.OPEN
    return breaker


def test_a_breaker_opens_when_half_of_enough_calls_failed() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker.failed(admitted(breaker, 0.0), 0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED
    breaker.failed(admitted(breaker, 0.0), 0.0)
    assert breaker.state(0.0) is BreakerState.OPEN
    assert breaker.admit(1.9) is None
    assert breaker.retry_after_s(0.5) == 1.5


def test_a_breaker_stays_closed_while_most_calls_are_answered() -> None:
    breaker = Breaker()
    for turn in range(100):
        permit = admitted(breaker, turn)
        (breaker.failed if turn % 3 == 0 else breaker.succeeded)(permit, turn)
    assert breaker.state(100.0) is BreakerState.CLOSED


def test_old_failures_do_not_open_a_breaker() -> None:
    breaker = Breaker()
    for turn in range(20):
        breaker.failed(admitted(breaker, turn * 8.0), turn * 8.0)
    assert breaker.state(160.0) is BreakerState.CLOSED


def test_half_open_breaker_admits_one_probe_at_a_time() -> None:
    breaker = opened()
    probe = admitted(breaker, 2.0)
    assert probe.is_probe
    assert breaker.admit(2.0) is None
    breaker.succeeded(probe, 2.1)
    assert breaker.state(2.1) is BreakerState.CLOSED
    assert not admitted(breaker, 2.1).is_probe


def test_a_failed_probe_keeps_the_breaker_open_twice_as_long_up_to_a_limit() -> None:
    breaker, now_s, waits = opened(), 0.0, []
    for _ in range(8):
        waits.append(breaker.retry_after_s(now_s))
        now_s += waits[-1]
        breaker.failed(admitted(breaker, now_s), now_s)
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    breaker.succeeded(admitted(breaker, now_s + 60.0), now_s + 60.0)
    for _ in range(5):
        breaker.failed(admitted(breaker, now_s + 61.0), now_s + 61.0)
    assert breaker.retry_after_s(now_s + 61.0) == 2.0


def test_slow_probe_keeps_the_breaker_open_no_longer_than_before() -> None:
    breaker, now_s, waits = opened(), 0.0, []
    for is_slow in (True, True, False, True):
        now_s += breaker.retry_after_s(now_s)
        breaker.failed(admitted(breaker, now_s), now_s, is_slow=is_slow)
        waits.append(breaker.retry_after_s(now_s))
    assert waits == [2.0, 2.0, 4.0, 4.0]


def test_closing_a_breaker_resets_its_pause_and_its_probe() -> None:
    breaker = opened()
    probe = admitted(breaker, 2.0)
    breaker.close()
    breaker.failed(probe, 2.1)
    assert breaker.state(2.1) is BreakerState.CLOSED


def test_a_released_probe_leaves_room_for_the_next() -> None:
    breaker = opened()
    breaker.released(admitted(breaker, 3.0))
    assert breaker.state(3.0) is BreakerState.HALF_OPEN
    assert admitted(breaker, 3.0).is_probe


def test_lost_probe_does_not_block_the_endpoint_for_ever() -> None:
    breaker = opened()
    lost = admitted(breaker, 2.0)
    assert breaker.admit(61.0) is None
    breaker.succeeded(admitted(breaker, 62.0), 62.1)
    breaker.failed(lost, 62.2)
    assert breaker.state(62.2) is BreakerState.CLOSED


def test_late_result_of_an_earlier_call_changes_nothing() -> None:
    breaker = Breaker()
    early = [admitted(breaker, 0.0) for _ in range(7)]
    for permit in early[:5]:
        breaker.failed(permit, 1.0)
    breaker.succeeded(early[5], 1.5)
    assert breaker.state(1.5) is BreakerState.OPEN
    breaker.succeeded(admitted(breaker, 3.0), 3.0)
    breaker.failed(early[6], 3.1)
    assert breaker.state(3.1) is BreakerState.CLOSED


def test_retries_spend_tokens_that_answers_refill() -> None:
    budget = RetryBudget()
    assert [budget.spend_on_retry() for _ in range(12)] == [True] * 10 + [False] * 2
    for _ in range(11):
        budget.answered()
    assert [budget.spend_on_retry(), budget.spend_on_retry()] == [True, False]


def test_a_hedge_needs_a_bucket_more_than_half_full() -> None:
    budget = RetryBudget()
    assert [budget.spend_on_hedge() for _ in range(7)] == [True] * 5 + [False] * 2
    assert budget.tokens == 5.0
    assert budget.spend_on_retry()


def test_hedge_delay_is_set_after_twenty_answers_and_follows_the_latest() -> None:
    latencies = Latencies()
    for milliseconds in range(1, 20):
        latencies.add(milliseconds / 1000)
    assert latencies.p95_s() is None
    latencies.add(0.020)
    assert latencies.p95_s() == pytest.approx(0.019)
    for _ in range(128):
        latencies.add(0.5)
    assert latencies.p95_s() == 0.5
