"""A remote call under care: its attempts, its deadline, its breaker."""

from __future__ import annotations

import asyncio

import pytest

from models.errors import AttemptsFailed, BreakerOpen, CallTimedOut
from models.transport.endpoint import BreakerState, Endpoint
from models.transport.resilience import CallAnswer, Verdict
from tests.support.models.remote_calls import (
    BAD_REQUEST,
    BROKEN,
    BUSY,
    POLICY,
    READ,
    Refused,
    Remote,
    ask,
    known,
    now_s,
    pass_time,
    run,
)


def test_answer_comes_with_a_report_of_the_call() -> None:
    async def story() -> None:
        answer = await ask(Endpoint("kb"), Remote([(0.3, "found")]))
        report = answer.report
        assert answer.value == "found"
        assert (report.endpoint, report.attempts, report.hedges) == ("kb", 1, 0)
        assert report.elapsed_s == pytest.approx(0.3)
        assert report.breaker is BreakerState.CLOSED

    run(story())


def test_none_is_a_valid_answer() -> None:
    async def story() -> None:
        assert (await ask(Endpoint("kb"), Remote([(0.0, None)]))).value is None

    run(story())


def test_retryable_failure_is_retried_with_growing_waits() -> None:
    async def story() -> None:
        remote = Remote([(0.1, BUSY), (0.1, BUSY), (0.1, "found")])
        answer = await ask(Endpoint("kb"), remote)
        assert answer.report.attempts == 3
        assert remote.begun_at == pytest.approx([1000.0, 1000.15, 1000.35])

    run(story())


@pytest.mark.parametrize(("failure", "attempts"), [(BUSY, 3), (BROKEN, 1), (BAD_REQUEST, 1)])
def test_non_retryable_failure_is_raised_with_its_cause(failure: Refused, attempts: int) -> None:
    async def story() -> None:
        with pytest.raises(AttemptsFailed) as failed:
            await ask(Endpoint("kb"), Remote([(0.1, failure)]))
        assert failed.value.__cause__ is failure
        assert failed.value.report.attempts == attempts

    run(story())


def test_unnamed_error_passes_unchanged() -> None:
    async def story() -> None:
        endpoint = await known()
        for policy in (POLICY, READ):
            remote = Remote([(0.01, KeyError("items"))])
            with pytest.raises(KeyError):
                await ask(endpoint, remote, policy)
            with pytest.raises(TimeoutError, match="a socket's own"):
                await ask(endpoint, Remote([(0.01, TimeoutError("a socket's own"))]), policy)
            assert (len(remote.begun_at), remote.running) == (1, 0)

    run(story())


def test_requested_wait_is_kept_if_it_fits_the_deadline() -> None:
    async def story() -> None:
        asks = Refused(Verdict(is_retryable=True, is_outage=False, retry_after_s=1.5))
        remote = Remote([(0.1, asks), (0.1, "found")])
        await ask(Endpoint("kb"), remote)
        assert remote.begun_at == pytest.approx([1000.0, 1001.6])

    run(story())


def test_wait_beyond_the_deadline_is_not_begun() -> None:
    async def story() -> None:
        asks = Refused(Verdict(is_retryable=True, is_outage=False, retry_after_s=5.0))
        with pytest.raises(AttemptsFailed) as failed:
            await ask(Endpoint("kb"), Remote([(0.1, asks)]))
        assert failed.value.report.retry_after_s == 5.0
        assert failed.value.report.elapsed_s == pytest.approx(0.1)

    run(story())


def test_hung_endpoint_ends_at_the_deadline_and_is_cancelled() -> None:
    async def story() -> None:
        for policy in (POLICY, READ):
            endpoint, remote = await known(), Remote([(3600.0, "never")])
            with pytest.raises(CallTimedOut) as timed_out:
                await ask(endpoint, remote, policy)
            assert timed_out.value.report.elapsed_s == pytest.approx(2.0)
            assert remote.cancelled == len(remote.begun_at)
            assert remote.running == 0

    run(story())


@pytest.mark.parametrize("deadline_s", [0.0, -1.0, float("nan")])
def test_expired_deadline_makes_no_attempt(deadline_s: float) -> None:
    async def story() -> None:
        remote = Remote([(0.0, "found")])
        with pytest.raises(CallTimedOut):
            await ask(Endpoint("kb"), remote, deadline_s=deadline_s)
        assert remote.begun_at == []

    run(story())


def test_failing_endpoint_is_not_called_until_a_probe_succeeds() -> None:
    async def story() -> None:
        endpoint, down = Endpoint("kb"), Remote([(0.01, BROKEN)])
        for _ in range(5):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, down)
        with pytest.raises(BreakerOpen) as refused:
            await ask(endpoint, down)
        assert (refused.value.report.attempts, len(down.begun_at)) == (0, 5)
        assert refused.value.report.retry_after_s == pytest.approx(2.0)
        assert refused.value.report.breaker is BreakerState.OPEN
        await pass_time(2.0)
        both = await asyncio.gather(*[ask(endpoint, Remote([(0.1, "back")])) for _ in range(2)], return_exceptions=True)
        assert [type(outcome) for outcome in both] == [CallAnswer, BreakerOpen]
        assert (await ask(endpoint, Remote([(0.1, "back")]))).report.breaker is BreakerState.CLOSED

    run(story())


def test_refused_request_does_not_count_against_the_endpoint() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        for _ in range(20):
            with pytest.raises(AttemptsFailed) as failed:
                await ask(endpoint, Remote([(0.01, BAD_REQUEST)]))
            assert failed.value.report.breaker is BreakerState.CLOSED

    run(story())


@pytest.mark.parametrize(("deadline_s", "state"), [(0.05, BreakerState.CLOSED), (0.5, BreakerState.OPEN)])
def test_only_a_long_enough_wait_counts_against_the_endpoint(deadline_s: float, state: BreakerState) -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        for _ in range(5):
            with pytest.raises(CallTimedOut):
                await ask(endpoint, Remote([(60.0, "never")]), deadline_s=deadline_s)
        assert endpoint.breaker.state(now_s()) is state

    run(story())


def test_a_cancelled_probe_lets_the_next_caller_probe() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        for _ in range(5):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, Remote([(0.01, BROKEN)]))
        await pass_time(2.0)
        remote = Remote([(1.0, "slow")])
        probe = asyncio.create_task(ask(endpoint, remote))
        await pass_time(0.1)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        assert remote.cancelled == 1
        assert (await ask(endpoint, Remote([(0.1, "back")]))).value == "back"

    run(story())


def test_retries_stop_when_the_budget_is_spent() -> None:
    async def story() -> None:
        endpoint, remote = Endpoint("kb"), Remote([(0.01, Refused(Verdict(is_retryable=True, is_outage=False)))])
        for _ in range(50):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, remote)
        assert len(remote.begun_at) == 50 + 10

    run(story())


def test_a_cancelled_call_cancels_all_its_attempts() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(60.0, "never")])
        asking = asyncio.create_task(ask(endpoint, remote, READ, deadline_s=100.0))
        await pass_time(0.5)
        assert remote.running == 2
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (remote.cancelled, remote.running) == (2, 0)

    run(story())


def test_concurrent_calls_share_one_endpoint_state() -> None:
    async def story() -> None:
        endpoint, remote = Endpoint("kb"), Remote([(0.1, BUSY)])
        await asyncio.gather(*[ask(endpoint, remote) for _ in range(40)], return_exceptions=True)
        assert len(remote.begun_at) == 40
        assert endpoint.breaker.state(now_s()) is BreakerState.OPEN

    run(story())


def test_outer_deadline_passes_through() -> None:
    async def story() -> None:
        remote = Remote([(60.0, "never")])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ask(await known(0.01), remote, READ)
        assert remote.running == 0

    run(story())


def test_call_that_opens_the_breaker_raises_its_own_failure_at_once() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        for _ in range(4):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, Remote([(0.01, BROKEN)]))
        with pytest.raises(AttemptsFailed) as failed:
            await ask(endpoint, Remote([(0.1, BUSY)]))
        assert failed.value.__cause__ is BUSY
        assert failed.value.report.breaker is BreakerState.OPEN
        assert failed.value.report.elapsed_s == pytest.approx(0.1)
        assert endpoint.budget.tokens == 10.0

    run(story())


def test_answers_refill_the_retry_budget() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        await ask(endpoint, Remote([(0.01, BUSY), (0.01, "found")]))
        assert endpoint.budget.tokens == pytest.approx(9.1)

    run(story())
