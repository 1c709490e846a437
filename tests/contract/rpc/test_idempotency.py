"""A request that is sent again gets the answer that was given, as long as it is the same request and was answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sidecar.rpc.transport.idempotency import RepeatedAnswers
from sidecar.runtime.errors import RequestIdReused
from tests.support.waiting import next_round


class Working:
    """Work that ends when it is told, and counts how often it began and was cancelled."""

    def __init__(self) -> None:
        self.began_count = 0
        self.cancelled_count = 0
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self) -> str:
        self.began_count += 1
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled_count += 1
            raise
        return f"answer {self.began_count}"


class ManualClock:
    """A clock whose hands are set."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def work() -> Working:
    return Working()


def saying(text: str) -> Callable[[], Awaitable[str]]:
    async def say() -> str:
        return text

    return say


async def failing() -> str:
    raise ConnectionResetError


async def both_under_way(
    work: Working, kept: RepeatedAnswers[object, str]
) -> tuple[asyncio.Task[str], asyncio.Task[str]]:
    one, other = (asyncio.create_task(kept.once("id", b"", work)) for _ in range(2))
    await work.has_begun.wait()
    return one, other


async def test_concurrent_callers_share_the_work(work: Working) -> None:
    one, other = await both_under_way(work, RepeatedAnswers(clock=ManualClock()))
    work.may_end.set()
    assert (await one, await other, work.began_count) == ("answer 1", "answer 1", 1)


async def test_cancelled_caller_takes_nothing_from_the_others(work: Working) -> None:
    leaving, staying = await both_under_way(work, RepeatedAnswers(clock=ManualClock()))
    leaving.cancel()
    await asyncio.wait([leaving])
    work.may_end.set()
    assert await staying == "answer 1"


async def test_work_is_cancelled_with_its_last_caller_and_can_be_requested_again(work: Working) -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    asked = await both_under_way(work, kept)
    for one in asked:
        one.cancel()
    again = asyncio.create_task(kept.once("id", b"", saying("anew")))
    await asyncio.wait(asked)
    assert await again == "anew"
    assert work.cancelled_count == 1


async def test_other_request_under_the_same_id_is_refused() -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    await kept.once("id", b"one", saying("one"))
    with pytest.raises(RequestIdReused):
        await kept.once("id", b"other", saying("other"))
    assert await kept.once("another id", b"other", saying("other")) == "other"


async def test_failure_is_shared_but_not_cached() -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    outcomes = await asyncio.gather(*(kept.once("id", b"", failing) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in outcomes] == [ConnectionResetError] * 2
    assert await kept.once("id", b"other", saying("well")) == "well"


async def test_answer_is_cached_for_ten_minutes() -> None:
    clock = ManualClock()
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=clock)
    await kept.once("id", b"", saying("first"))
    clock.at_s = 600.0
    assert await kept.once("id", b"", saying("second")) == "first"
    clock.at_s = 600.1
    assert await kept.once("id", b"other", saying("second")) == "second"
    assert await kept.once("id", b"other", saying("third")) == "second"


async def test_oldest_answers_are_evicted() -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock(), capacity=3)
    for number in range(4):
        await kept.once(number, b"", saying("first"))
    answers = [await kept.once(number, b"", saying("second")) for number in (3, 2, 0)]
    assert answers == ["first", "first", "second"]


async def test_large_answers_are_evicted_sooner() -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock(), size_of=len, capacity_bytes=10)
    for number in range(3):
        await kept.once(number, b"", saying("12345"))
    assert await kept.once(0, b"", saying("again")) == "again"
    assert await kept.once(2, b"", saying("again")) == "12345"
    assert await kept.once("huge", b"", saying("x" * 11)) == "x" * 11
    assert await kept.once("huge", b"", saying("again")) == "again", "what never fits is given once"


async def test_invalid_cached_answer_is_dropped_and_made_again() -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    ages: list[float] = []

    async def fallen(age_s: float) -> bool:
        ages.append(age_s)
        return False

    for text in ("first", "second"):
        assert await kept.once("id", b"", saying(text), stands=fallen) == text
    assert ages == [0.0], "what was made for the caller itself is not asked about"
    assert await kept.once("id", b"", saying("third")) == "second"


async def test_callers_that_waited_together_validate_the_answer_once(work: Working) -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    asked = 0

    async def still(_age_s: float) -> bool:
        nonlocal asked
        asked += 1
        await next_round()
        return True

    calls = [asyncio.create_task(kept.once("id", b"", work, stands=still)) for _ in range(8)]
    await work.has_begun.wait()
    work.may_end.set()
    assert set(await asyncio.gather(*calls)) == {"answer 1"}
    assert asked == 1


async def test_answer_forgotten_while_made_reaches_only_its_waiting_callers(work: Working) -> None:
    kept: RepeatedAnswers[object, str] = RepeatedAnswers(clock=ManualClock())
    waiting = await both_under_way(work, kept)
    kept.forget(lambda key: key == "id")
    assert await kept.once("id", b"", saying("anew")) == "anew"
    work.may_end.set()
    assert {await one for one in waiting} == {"answer 1"}
    assert await kept.once("id", b"", saying("later")) == "anew"
