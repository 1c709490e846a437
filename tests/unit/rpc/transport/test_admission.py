"""Bounded admission under real concurrency: nobody starves, nobody waits too long, no place is ever lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

import pytest

from sidecar.rpc.transport.admission import MAX_RETRY_S, MIN_RETRY_S, AdmissionControl
from sidecar.runtime.errors import Overloaded, SettingInvalid
from tests.support.waiting import settle

A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)


class Alarm:
    """A call that the test's clock makes once it is wound past its time."""

    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when = when
        self.callback = callback
        self.is_off = False

    def cancel(self) -> None:
        self.is_off = True


class HandClock:
    """A clock that the test winds."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.alarms: list[Alarm] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when: float, callback: Callable[[], object], /) -> Alarm:
        self.alarms.append(Alarm(when, callback))
        return self.alarms[-1]

    def wind(self, by_s: float) -> None:
        self.now_s += by_s
        due = [alarm for alarm in self.alarms if alarm.when <= self.now_s and not alarm.is_off]
        self.alarms = [alarm for alarm in self.alarms if alarm.when > self.now_s and not alarm.is_off]
        for alarm in due:
            alarm.callback()


class Visit:
    """One call that holds its place until the test lets it go."""

    def __init__(self, admission: AdmissionControl, tenant_id: UUID, caller: str, log: list[str]) -> None:
        self.name = f"{'?ABC'[tenant_id.int]}.{caller}"
        self.is_inside = False
        self.may_leave = asyncio.Event()
        self.on_leaving: Callable[[], object] = bool
        self.task = asyncio.create_task(self._stay(admission, tenant_id, caller, log))

    async def _stay(self, admission: AdmissionControl, tenant_id: UUID, caller: str, log: list[str]) -> None:
        async with admission.slot(tenant_id, caller):
            self.is_inside = True
            log.append(self.name)
            try:
                await self.may_leave.wait()
            finally:
                self.is_inside = False
        self.on_leaving()

    @property
    def is_refused(self) -> bool:
        return self.task.done() and not self.task.cancelled() and isinstance(self.task.exception(), Overloaded)


class House:
    """Lanes with their clock, their visits, and the order in which those were let in."""

    def __init__(self, *, in_flight: int = 2, waiting: int = 10, wait_s: float = 1.0, per_tenant: int = 2) -> None:
        self.clock = HandClock()
        self.log: list[str] = []
        self.visits: list[Visit] = []
        self.admission = AdmissionControl(
            max_in_flight=in_flight,
            max_waiting=waiting,
            max_wait_s=wait_s,
            per_tenant_in_flight=per_tenant,
            clock=self.clock,
        )

    async def visit(self, tenant_id: UUID, caller: str = "x", *, count: int = 1) -> list[Visit]:
        arrived = [Visit(self.admission, tenant_id, caller, self.log) for _ in range(count)]
        self.visits += arrived
        await settle()
        return arrived

    async def let_go(self, visit: Visit) -> None:
        visit.may_leave.set()
        await settle()

    async def let_all_go(self) -> None:
        """Let everybody out, first in, first out, and see that nothing is left behind."""
        while inside := [visit for visit in self.visits if visit.is_inside]:
            await self.let_go(inside[0])
        assert all(visit.task.done() for visit in self.visits)
        for visit in self.visits:
            assert visit.task.cancelled() or isinstance(visit.task.exception(), Overloaded | ZeroDivisionError | None)
        assert (self.admission.in_flight_count, self.admission.waiting_count) == (0, 0)
        assert all(alarm.is_off for alarm in self.clock.alarms)


async def test_calls_enter_up_to_the_limit_and_the_next_one_waits() -> None:
    house = House()
    first, second, third = await house.visit(A, count=3)
    assert (first.is_inside, second.is_inside, third.is_inside) == (True, True, False)
    await house.let_go(first)
    assert third.is_inside
    await house.let_all_go()


async def test_tenant_never_holds_more_than_its_share_of_slots() -> None:
    house = House(in_flight=4, per_tenant=3)
    await house.visit(A, count=6)
    assert house.admission.in_flight_count == 3
    (other,) = await house.visit(B)
    assert other.is_inside
    await house.let_all_go()


async def test_burst_of_one_tenant_delays_another_by_one_call_only() -> None:
    house = House(in_flight=1, waiting=20)
    await house.visit(A, count=10)
    await house.visit(B, count=2)
    await house.let_all_go()
    assert house.log[:5] == ["A.x", "A.x", "B.x", "A.x", "B.x"]


async def test_burst_of_one_owner_does_not_delay_another_owner_of_its_tenant() -> None:
    house = House(in_flight=1, waiting=20)
    await house.visit(A, "ann", count=10)
    await house.visit(A, "bob", count=2)
    await house.visit(B, "cid", count=1)
    await house.let_all_go()
    assert house.log[:6] == ["A.ann", "A.ann", "B.cid", "A.bob", "A.ann", "A.bob"]


async def test_tenant_at_its_cap_does_not_block_those_behind_it() -> None:
    house = House(in_flight=2, per_tenant=1)
    first_a, _, b = (await house.visit(A, count=2)) + (await house.visit(B))
    (waiting_b,) = await house.visit(B)
    await house.let_go(b)
    assert waiting_b.is_inside
    assert house.admission.waiting_count == 1
    assert first_a.is_inside
    await house.let_all_go()


async def test_call_is_refused_at_once_if_the_queue_is_full() -> None:
    house = House(in_flight=1, waiting=1)
    _, _, late = await house.visit(A, count=3)
    assert late.is_refused
    refusal = late.task.exception()
    assert isinstance(refusal, Overloaded)
    assert MIN_RETRY_S <= refusal.retry_after_s <= MAX_RETRY_S
    await house.let_all_go()


async def test_without_a_queue_a_call_enters_or_is_refused() -> None:
    house = House(in_flight=1, waiting=0)
    inside, late = await house.visit(A, count=2)
    assert inside.is_inside
    assert late.is_refused
    await house.let_all_go()


async def test_full_queue_drops_the_longest_tenants_last_call_for_another_tenant() -> None:
    house = House(in_flight=1, waiting=4)
    burst = await house.visit(A, count=5)
    (other,) = await house.visit(B)
    assert not other.task.done()
    assert [visit.is_refused for visit in burst] == [False, False, False, False, True]
    await house.let_all_go()
    assert house.log.count("B.x") == 1


async def test_full_queue_drops_the_longest_owners_last_call_for_another_owner_of_its_tenant() -> None:
    house = House(in_flight=1, waiting=4)
    burst = await house.visit(A, "ann", count=5)
    (other,) = await house.visit(A, "bob")
    assert not other.task.done()
    assert burst[-1].is_refused
    await house.let_all_go()


@pytest.mark.parametrize("count", [2, 3])
async def test_full_queue_with_even_shares_drops_nothing(count: int) -> None:
    house = House(in_flight=1, waiting=count + 2)
    await house.visit(A, count=1 + count)
    await house.visit(B, count=2)
    (late,) = await house.visit(B)
    (later,) = await house.visit(A)
    assert late.is_refused
    assert later.is_refused
    await house.let_all_go()


async def test_no_call_waits_longer_than_the_maximum_wait() -> None:
    house = House(in_flight=1, wait_s=2.0)
    inside, waiting = await house.visit(A, count=2)
    house.clock.wind(1.9)
    await settle()
    assert not waiting.task.done()
    house.clock.wind(0.1)
    await settle()
    assert waiting.is_refused
    assert inside.is_inside
    await house.let_all_go()


async def test_admitted_call_is_not_dropped_when_its_wait_would_have_ended() -> None:
    house = House(in_flight=1, wait_s=2.0)
    first, second = await house.visit(A, count=2)
    await house.let_go(first)
    house.clock.wind(60.0)
    await settle()
    assert second.is_inside
    await house.let_all_go()


async def test_cancelled_waiter_frees_its_place_in_the_queue() -> None:
    house = House(in_flight=1, waiting=1)
    _, waiting = await house.visit(A, count=2)
    waiting.task.cancel()
    await settle()
    assert house.admission.waiting_count == 0
    (next_one,) = await house.visit(A)
    assert not next_one.task.done()
    await house.let_all_go()


async def test_slot_of_cancelled_waiter_goes_to_next() -> None:
    house = House(in_flight=1)
    first, second, third = await house.visit(A, count=3)
    first.on_leaving = second.task.cancel
    await house.let_go(first)
    assert second.task.cancelled()
    assert third.is_inside
    await house.let_all_go()


async def test_slot_is_not_given_to_a_waiter_that_was_just_cancelled() -> None:
    house = House(in_flight=1)
    first, second, third = await house.visit(A, count=3)
    second.task.cancel()
    first.task.cancel()
    await settle()
    assert third.is_inside
    await house.let_all_go()


async def test_failed_or_cancelled_work_releases_its_slot() -> None:
    house = House(in_flight=1)

    async def fail() -> None:
        async with house.admission.slot(A, "x"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    (visit,) = await house.visit(A)
    visit.task.cancel()
    await settle()
    assert house.admission.in_flight_count == 0


async def test_retry_delay_follows_the_pace_of_the_work_and_the_queue() -> None:
    house = House(in_flight=1, waiting=1)
    delays = []
    for hold_s in (0.0, 20.0):
        (visit,) = await house.visit(A)
        house.clock.wind(hold_s)
        await house.let_go(visit)
        *_, refused = await house.visit(A, count=3)
        refusal = refused.task.exception()
        assert isinstance(refusal, Overloaded)
        delays.append(refusal.retry_after_s)
        await house.let_all_go()
    assert delays == [MIN_RETRY_S, pytest.approx(4.0)]


async def test_event_loop_can_be_the_clock() -> None:
    loop = asyncio.get_running_loop()
    admission = AdmissionControl(max_in_flight=1, max_waiting=1, max_wait_s=0.0, per_tenant_in_flight=1, clock=loop)
    async with admission.slot(A, "x"):
        with pytest.raises(Overloaded):
            async with admission.slot(A, "x"):
                pytest.fail("there was no place")
    assert (admission.in_flight_count, admission.waiting_count) == (0, 0)


@pytest.mark.parametrize(("in_flight", "waiting", "wait_s", "per_tenant"), [(0, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1)])
def test_limits_that_admit_no_call_are_refused(in_flight: int, waiting: int, wait_s: float, per_tenant: int) -> None:
    with pytest.raises(SettingInvalid):
        House(in_flight=in_flight, waiting=waiting, wait_s=wait_s, per_tenant=per_tenant)


async def test_call_whose_wait_would_exceed_its_deadline_is_refused_at_once() -> None:
    house = House(in_flight=1, waiting=10, wait_s=60.0)
    pace_s = await paced(house)
    (inside,) = await house.visit(A)
    with pytest.raises(Overloaded):
        await house.admission.enter(A, "x", within_s=2.9 * pace_s)
    waiting = asyncio.create_task(house.admission.enter(A, "x", within_s=3.1 * pace_s))
    await settle()
    with pytest.raises(Overloaded):
        await house.admission.enter(A, "x", within_s=3.9 * pace_s)
    other = asyncio.create_task(house.admission.enter(B, "x", within_s=5.1 * pace_s))
    await settle()
    assert house.admission.waiting_count == 2
    await house.let_go(inside)
    (await waiting).leave()
    (await other).leave()
    await house.let_all_go()


async def test_call_that_reaches_its_deadline_in_the_queue_is_refused_then() -> None:
    house = House(in_flight=1, waiting=10, wait_s=60.0)
    pace_s = await paced(house)
    (inside,) = await house.visit(A)
    waiting = asyncio.create_task(house.admission.enter(A, "x", within_s=3.1 * pace_s))
    await settle()
    house.clock.wind(1.2 * pace_s)
    with pytest.raises(Overloaded):
        await waiting
    await house.let_go(inside)
    await house.let_all_go()


async def test_free_slot_refuses_no_call_and_leaving_twice_frees_one_slot() -> None:
    house = House(in_flight=1)
    await paced(house)
    slot = await house.admission.enter(A, "x", within_s=0.0)
    slot.leave()
    (inside,) = await house.visit(B)
    slot.leave()
    assert house.admission.in_flight_count == 1
    await house.let_go(inside)


async def paced(house: House) -> float:
    """Let one call hold a slot for ten seconds; return the average hold time after it, in which the newest counts a tenth."""
    (visit,) = await house.visit(A)
    house.clock.wind(10.0)
    await house.let_go(visit)
    return 1.0
