"""One backend as it is asked, on a clock that jumps: its concurrency, rate, deadline, retries, hedges and breaker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from models.transport.endpoint import BreakerState
from sidecar.backends.backend_caller import BackendCaller, CallLimits
from sidecar.backends.errors import (
    BackendBusy,
    BackendDenied,
    BackendResting,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.context.ports import BackendError
from tests.support.models.remote_calls import now_s, pass_time, run

FAILING = BackendUnavailable("kb", "500")


@dataclass
class Remote:
    """A service whose calls take and bring what the script says, in order; the last line repeats."""

    script: list[tuple[float, object]]
    begun_at: list[float] = field(default_factory=list)
    most_at_once: int = 0
    running: int = 0

    async def __call__(self) -> object:
        """Answer as the script says."""
        takes_s, brings = self.script[min(len(self.begun_at), len(self.script) - 1)]
        self.begun_at.append(now_s())
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await pass_time(takes_s)
        finally:
            self.running -= 1
        if isinstance(brings, BaseException):
            raise brings
        return brings


async def failed(asking: BackendCaller, attempt: Callable[[], Awaitable[object]]) -> BackendError:
    """Return what the call fails with."""
    with pytest.raises(BackendError) as caught:
        await asking.ask(attempt)
    return caught.value


async def known(bounds: CallLimits) -> BackendCaller:
    """A backend that has answered twenty times in a tenth of a second."""
    asking = BackendCaller("kb", bounds)
    for _ in range(20):
        await asking.ask(Remote([(0.1, "ok")]))
    return asking


def test_concurrent_calls_are_limited_and_others_wait() -> None:
    async def story() -> None:
        asking, remote = (
            BackendCaller("kb", CallLimits(deadline_s=10.0, concurrency=3, may_hedge=False)),
            Remote([(1.0, "ok")]),
        )
        began_s = now_s()
        assert await asyncio.gather(*(asking.ask(remote) for _ in range(9))) == ["ok"] * 9
        assert remote.most_at_once == 3
        assert now_s() - began_s == pytest.approx(3.0)

    run(story())


def test_full_backend_delays_no_other_backend() -> None:
    async def story() -> None:
        one, other = (BackendCaller(name, CallLimits(deadline_s=10.0, concurrency=1)) for name in ("one", "other"))
        hung = asyncio.create_task(one.ask(Remote([(9.0, "late")])))
        await pass_time(0.1)
        assert await other.ask(Remote([(0.0, "ok")])) == "ok"
        hung.cancel()

    run(story())


def test_call_waiting_for_a_slot_ends_at_its_deadline_and_frees_it() -> None:
    async def story() -> None:
        asking = BackendCaller("kb", CallLimits(deadline_s=2.0, concurrency=1, may_hedge=False))
        slow = [asyncio.create_task(asking.ask(Remote([(5.0, "late")]))) for _ in range(2)]
        results = await asyncio.gather(*slow, return_exceptions=True)
        assert [type(one) for one in results] == [BackendTimedOut, BackendTimedOut]
        assert await asking.ask(Remote([(0.1, "ok")])) == "ok"

    run(story())


def test_calls_keep_the_rate_and_late_ones_are_shed_at_once() -> None:
    async def story() -> None:
        asking, remote = (
            BackendCaller("kb", CallLimits(deadline_s=2.0, rate_per_s=2.0, may_hedge=False)),
            Remote([(0.0, "ok")]),
        )
        began_s = now_s()
        results = await asyncio.gather(*(asking.ask(remote) for _ in range(9)), return_exceptions=True)
        assert [at_s - began_s for at_s in remote.begun_at] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.5])
        assert [type(one) for one in results[5:]] == [BackendBusy] * 4
        await pass_time(2.0)
        again_s = now_s()
        assert await asking.ask(remote) == "ok"
        assert now_s() == pytest.approx(again_s), "what was shed is not held against those who come later"

    run(story())


def test_read_slower_than_19_of_20_is_hedged_and_the_faster_answer_wins() -> None:
    async def story() -> None:
        asking = await known(CallLimits(deadline_s=5.0))
        remote, began_s = Remote([(3.0, "first"), (0.2, "second")]), now_s()
        assert await asking.ask(remote) == "second"
        assert now_s() - began_s == pytest.approx(0.3)
        assert remote.running == 0

    run(story())


@pytest.mark.parametrize(("bounds", "may_hedge"), [(CallLimits(5.0, may_hedge=False), True), (CallLimits(5.0), False)])
def test_read_that_must_not_be_repeated_is_not_hedged(bounds: CallLimits, may_hedge: bool) -> None:
    async def story() -> None:
        asking, remote = await known(bounds), Remote([(3.0, "first")])
        assert await asking.ask(remote, may_hedge=may_hedge) == "first"
        assert len(remote.begun_at) == 1

    run(story())


def test_retries_of_all_calls_share_one_budget() -> None:
    async def story() -> None:
        asking, remote = (
            BackendCaller("kb", CallLimits(deadline_s=5.0)),
            Remote([(0.01, BackendThrottled("kb", "429"))]),
        )
        for _ in range(30):
            await failed(asking, remote)
        assert len(remote.begun_at) == 30 + 10

    run(story())


def test_requested_retry_delay_is_kept_and_too_long_a_one_is_not_begun() -> None:
    async def story() -> None:
        asks = Remote([(0.1, BackendThrottled("kb", "429", retry_after_s=1.5)), (0.1, "ok")])
        assert await BackendCaller("kb", CallLimits(deadline_s=5.0)).ask(asks) == "ok"
        assert asks.begun_at[1] - asks.begun_at[0] == pytest.approx(1.6)
        too_long, began_s = Remote([(0.1, BackendThrottled("kb", "429", retry_after_s=9.0))]), now_s()
        assert (await failed(BackendCaller("kb", CallLimits(deadline_s=5.0)), too_long)).retry_after_s == 9.0
        assert now_s() - began_s == pytest.approx(0.1)

    run(story())


def test_failing_backend_is_probed_one_call_at_a_time_until_it_recovers() -> None:
    async def story() -> None:
        asking = BackendCaller("kb", CallLimits(deadline_s=5.0))
        while asking.endpoint.breaker.state(now_s()) is BreakerState.CLOSED:
            await failed(asking, Remote([(0.01, FAILING)]))
        unasked = Remote([(0.0, "ok")])
        assert isinstance(await failed(asking, unasked), BackendResting)
        assert unasked.begun_at == []
        await pass_time(2.0)
        results = await asyncio.gather(*(asking.ask(Remote([(0.1, "ok")])) for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in results] == [str, BackendResting, BackendResting]
        assert await asking.ask(Remote([(0.1, "ok")])) == "ok"

    run(story())


def test_client_errors_never_open_the_breaker() -> None:
    async def story() -> None:
        asking = BackendCaller("kb", CallLimits(deadline_s=5.0))
        for _ in range(20):
            assert isinstance(await failed(asking, Remote([(0.01, BackendDenied("kb", "403"))])), BackendDenied)
        assert asking.endpoint.breaker.state(now_s()) is BreakerState.CLOSED

    run(story())


def test_failed_dependency_is_retried_once() -> None:
    async def story() -> None:
        remote = Remote([(0.01, BackendUnavailable("kb", "DependencyFailedException"))])
        await failed(BackendCaller("kb", CallLimits(deadline_s=5.0)), remote)
        assert len(remote.begun_at) == 2

    run(story())
