"""A remote call under care, on a clock that jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from models.errors import AttemptsFailed, BreakerOpen, CallTimedOut
from models.resilience import Answer, BreakerState, CallPolicy, Endpoint, Verdict, call


class Refused(Exception):
    """An endpoint's failure that the policy names."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__("refused")
        self.verdict = verdict


BUSY = Refused(Verdict(is_retryable=True))
BROKEN = Refused(Verdict(is_retryable=False))
BAD_REQUEST = Refused(Verdict(is_retryable=False, is_outage=False))
POLICY = CallPolicy(failures=(Refused,), judge=lambda error: getattr(error, "verdict"))  # noqa: B009 - judge takes any
READ = CallPolicy(failures=(Refused,), judge=POLICY.judge, may_hedge=True)


class JumpingSelector(selectors.DefaultSelector):
    """Says at once that nothing happened, and lets the clock jump by the time it was asked to wait."""

    now_s = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now, or pass the time."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing is scheduled: this would wait for ever"
            self.now_s += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on the selector's clock."""

    def __init__(self) -> None:
        self.jumping = JumpingSelector()
        super().__init__(self.jumping)

    def time(self) -> float:
        """Return the selector's time."""
        return self.jumping.now_s


def run(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(story)


def now_s() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Remote:
    """An endpoint whose attempts take and bring what the script says, in order; the last line repeats."""

    script: list[tuple[float, object]]
    begun_at: list[float] = field(default_factory=list)
    cancelled: int = 0
    running: int = 0

    async def __call__(self, remaining_s: float) -> object:
        """Answer as the script says."""
        assert remaining_s > 0
        takes_s, brings = self.script[min(len(self.begun_at), len(self.script) - 1)]
        self.begun_at.append(now_s())
        self.running += 1
        try:
            await asyncio.sleep(takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if isinstance(brings, BaseException):
            raise brings
        return brings


async def ask(
    endpoint: Endpoint,
    remote: Callable[[float], Awaitable[object]],
    policy: CallPolicy = POLICY,
    deadline_s: float = 2.0,
) -> Answer[object]:
    return await call(endpoint, remote, policy, deadline_s=deadline_s, jitter=lambda: 1.0)


async def known(latency_s: float = 0.1) -> Endpoint:
    """An endpoint that has answered twenty times in this time."""
    endpoint = Endpoint("known")
    for _ in range(20):
        await ask(endpoint, Remote([(latency_s, "ok")]))
    return endpoint


def test_an_answer_comes_with_how_the_call_went() -> None:
    async def story() -> None:
        answer = await ask(Endpoint("kb"), Remote([(0.3, "found")]))
        report = answer.report
        assert answer.value == "found"
        assert (report.endpoint, report.attempts, report.hedges) == ("kb", 1, 0)
        assert report.elapsed_s == pytest.approx(0.3)
        assert report.breaker is BreakerState.CLOSED

    run(story())


def test_an_answer_of_none_is_an_answer() -> None:
    async def story() -> None:
        assert (await ask(Endpoint("kb"), Remote([(0.0, None)]))).value is None

    run(story())


def test_a_retryable_failure_is_tried_again_with_growing_waits() -> None:
    async def story() -> None:
        remote = Remote([(0.1, BUSY), (0.1, BUSY), (0.1, "found")])
        answer = await ask(Endpoint("kb"), remote)
        assert answer.report.attempts == 3
        assert remote.begun_at == pytest.approx([1000.0, 1000.15, 1000.35])

    run(story())


@pytest.mark.parametrize(("failure", "attempts"), [(BUSY, 3), (BROKEN, 1), (BAD_REQUEST, 1)])
def test_what_may_not_or_need_not_be_tried_again_fails_with_its_cause(failure: Refused, attempts: int) -> None:
    async def story() -> None:
        with pytest.raises(AttemptsFailed) as failed:
            await ask(Endpoint("kb"), Remote([(0.1, failure)]))
        assert failed.value.__cause__ is failure
        assert failed.value.report.attempts == attempts

    run(story())


def test_an_error_that_the_policy_does_not_name_passes_untouched() -> None:
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


def test_a_wait_that_the_endpoint_asks_for_is_kept_when_it_fits_the_deadline() -> None:
    async def story() -> None:
        asks = Refused(Verdict(is_retryable=True, is_outage=False, retry_after_s=1.5))
        remote = Remote([(0.1, asks), (0.1, "found")])
        await ask(Endpoint("kb"), remote)
        assert remote.begun_at == pytest.approx([1000.0, 1001.6])

    run(story())


def test_a_wait_that_does_not_fit_the_deadline_is_not_begun() -> None:
    async def story() -> None:
        asks = Refused(Verdict(is_retryable=True, is_outage=False, retry_after_s=5.0))
        with pytest.raises(AttemptsFailed) as failed:
            await ask(Endpoint("kb"), Remote([(0.1, asks)]))
        assert failed.value.report.retry_after_s == 5.0
        assert failed.value.report.elapsed_s == pytest.approx(0.1)

    run(story())


def test_a_hung_endpoint_ends_at_the_deadline_and_is_cancelled() -> None:
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
def test_no_time_is_no_attempt(deadline_s: float) -> None:
    async def story() -> None:
        remote = Remote([(0.0, "found")])
        with pytest.raises(CallTimedOut):
            await ask(Endpoint("kb"), remote, deadline_s=deadline_s)
        assert remote.begun_at == []

    run(story())


def test_a_failing_endpoint_is_left_alone_until_a_probe_finds_it_back() -> None:
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
        await asyncio.sleep(2.0)
        both = await asyncio.gather(*[ask(endpoint, Remote([(0.1, "back")])) for _ in range(2)], return_exceptions=True)
        assert [type(outcome) for outcome in both] == [Answer, BreakerOpen]
        assert (await ask(endpoint, Remote([(0.1, "back")]))).report.breaker is BreakerState.CLOSED

    run(story())


def test_a_refused_request_is_not_held_against_the_endpoint() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        for _ in range(20):
            with pytest.raises(AttemptsFailed) as failed:
                await ask(endpoint, Remote([(0.01, BAD_REQUEST)]))
            assert failed.value.report.breaker is BreakerState.CLOSED

    run(story())


@pytest.mark.parametrize(("deadline_s", "state"), [(0.05, BreakerState.CLOSED), (0.5, BreakerState.OPEN)])
def test_only_a_fair_wait_is_held_against_the_endpoint(deadline_s: float, state: BreakerState) -> None:
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
        await asyncio.sleep(2.0)
        remote = Remote([(1.0, "slow")])
        probe = asyncio.create_task(ask(endpoint, remote))
        await asyncio.sleep(0.1)
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


def test_a_slow_read_is_asked_twice_and_the_loser_is_cancelled() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(1.9, "slow"), (0.1, "fast")])
        answer = await ask(endpoint, remote, READ)
        assert (answer.value, answer.report.attempts, answer.report.hedges) == ("fast", 2, 1)
        assert answer.report.elapsed_s == pytest.approx(0.2)
        assert (remote.cancelled, remote.running) == (1, 0)

    run(story())


def test_the_first_attempt_may_still_win() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(0.15, "first"), (0.1, "second")])
        answer = await ask(endpoint, remote, READ)
        assert (answer.value, remote.cancelled) == ("first", 1)

    run(story())


def test_a_hedge_that_fails_does_not_end_the_attempt_beside_it() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(0.5, "slow"), (0.1, BROKEN)])
        assert (await ask(endpoint, remote, READ)).value == "slow"

    run(story())


def test_only_reads_that_may_be_repeated_are_hedged() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(1.0, "slow")])
        assert (await ask(endpoint, remote, POLICY)).report.attempts == 1

    run(story())


def test_an_endpoint_too_new_to_have_habits_is_not_hedged() -> None:
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


def test_a_cancelled_call_cancels_all_its_attempts() -> None:
    async def story() -> None:
        endpoint, remote = await known(0.1), Remote([(60.0, "never")])
        asking = asyncio.create_task(ask(endpoint, remote, READ, deadline_s=100.0))
        await asyncio.sleep(0.5)
        assert remote.running == 2
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (remote.cancelled, remote.running) == (2, 0)

    run(story())


def test_calls_side_by_side_share_one_memory() -> None:
    async def story() -> None:
        endpoint, remote = Endpoint("kb"), Remote([(0.1, BUSY)])
        await asyncio.gather(*[ask(endpoint, remote) for _ in range(40)], return_exceptions=True)
        assert len(remote.begun_at) == 40
        assert endpoint.breaker.state(now_s()) is BreakerState.OPEN

    run(story())


def test_an_outer_deadline_passes_through() -> None:
    async def story() -> None:
        remote = Remote([(60.0, "never")])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ask(await known(0.01), remote, READ)
        assert remote.running == 0

    run(story())


def test_a_call_that_opens_the_breaker_ends_with_its_own_failure_and_waits_for_nothing() -> None:
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


def test_a_probe_is_not_hedged() -> None:
    async def story() -> None:
        endpoint = await known(0.1)
        for _ in range(20):
            with pytest.raises(AttemptsFailed):
                await ask(endpoint, Remote([(0.01, BROKEN)]))
            if endpoint.breaker.state(now_s()) is BreakerState.OPEN:
                break
        await asyncio.sleep(2.0)
        assert (await ask(endpoint, Remote([(1.0, "slow")]), READ)).report.attempts == 1
        assert endpoint.budget.tokens == 10.0

    run(story())


def test_answers_fill_the_retry_budget_again() -> None:
    async def story() -> None:
        endpoint = Endpoint("kb")
        await ask(endpoint, Remote([(0.01, BUSY), (0.01, "found")]))
        assert endpoint.budget.tokens == pytest.approx(9.1)

    run(story())
