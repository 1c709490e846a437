"""Asking a slow read a second time: when, and what becomes of the loser."""

from __future__ import annotations

import pytest

from models.errors import AttemptsFailed, CallTimedOut
from models.transport.endpoint import BreakerState, Endpoint
from tests.support.models.remote_calls import BROKEN, POLICY, READ, Remote, ask, known, now_s, pass_time, run


def test_slow_read_is_hedged_and_the_loser_is_cancelled() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(1.9, "slow"), (0.1, "fast")])
        answer = await ask(endpoint, remote, READ)
        assert (answer.value, answer.report.attempts, answer.report.hedges) == ("fast", 2, 1)
        assert answer.report.elapsed_s == pytest.approx(0.2)
        assert (remote.cancelled, remote.running) == (1, 0)

    run(story())


def test_first_attempt_may_still_win() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(0.15, "first"), (0.1, "second")])
        answer = await ask(endpoint, remote, READ)
        assert (answer.value, remote.cancelled) == ("first", 1)

    run(story())


def test_failing_hedge_does_not_end_the_first_attempt() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(0.5, "slow"), (0.1, BROKEN)])
        assert (await ask(endpoint, remote, READ)).value == "slow"

    run(story())


def test_only_repeatable_reads_are_hedged() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(1.0, "slow")])
        assert (await ask(endpoint, remote, POLICY)).report.attempts == 1

    run(story())


def test_endpoint_without_history_is_not_hedged() -> None:
    async def story() -> None:
        assert (await ask(Endpoint("new"), Remote([(1.0, "slow")]), READ)).report.attempts == 1

    run(story())


def test_hedges_stop_at_half_the_budget_and_leave_the_rest_to_retries() -> None:
    async def story() -> None:
        endpoint = await known(0.1)
        hedges = 0
        for _ in range(20):
            with pytest.raises(CallTimedOut) as timed_out:
                await ask(endpoint, Remote([(60.0, "never")]), READ, deadline_s=0.19)
            hedges += timed_out.value.report.hedges
        assert hedges == 5
        assert endpoint.budget.tokens == 5.0

    run(story())


def test_probe_is_not_hedged() -> None:
    async def story() -> None:
        endpoint = await known(0.1)
        for _ in range(20):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, Remote([(0.01, BROKEN)]))
            if endpoint.breaker.state(now_s()) is BreakerState.OPEN:
                break
        await pass_time(2.0)
        assert (await ask(endpoint, Remote([(1.0, "slow")]), READ)).report.attempts == 1
        assert endpoint.budget.tokens == 10.0

    run(story())
