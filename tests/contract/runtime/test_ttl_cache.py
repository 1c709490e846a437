"""What is remembered is read once, kept for its time, read anew when it changed, and stands in while it cannot be read."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.runtime.ttl_cache import ReadPatience, TtlCache
from store.errors import DatabaseUnavailable, StoreError


class Reading:
    """A value that can be read when it is let, counted, and that changes with each read; a clock beside it."""

    def __init__(self) -> None:
        self.at_s = 0.0
        self.count = 0
        self.error: Exception | None = None
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.has_begun = asyncio.Event()

    def clock(self) -> float:
        return self.at_s

    async def __call__(self, key: str) -> str:
        self.count += 1
        number = self.count
        self.has_begun.set()
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return f"{key}{number}"


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
def known(reading: Reading) -> TtlCache[str, str]:
    return TtlCache(reading, for_s=5, grace_s=60, clock=reading.clock, capacity=3, patience=ReadPatience(0.01, 0.01))


async def test_value_is_read_once_per_ttl(reading: Reading, known: TtlCache[str, str]) -> None:
    assert [await known.get("a"), await known.get("a"), await known.get("b")] == ["a1", "a1", "b2"]
    reading.at_s = 4.9
    assert await known.get("a") == "a1"
    reading.at_s = 5.0
    assert await known.get("a") == "a3"


async def test_concurrent_readers_share_one_read(reading: Reading, known: TtlCache[str, str]) -> None:
    assert await asyncio.gather(*(known.get("a") for _ in range(5))) == ["a1"] * 5


async def test_cancelled_reader_takes_nothing_from_the_others(reading: Reading, known: TtlCache[str, str]) -> None:
    reading.may_end.clear()
    leaving, staying = asyncio.create_task(known.get("a")), asyncio.create_task(known.get("a"))
    await reading.has_begun.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    reading.may_end.set()
    assert await staying == "a1"


async def test_failed_read_is_not_cached(reading: Reading, known: TtlCache[str, str]) -> None:
    reading.error = DatabaseUnavailable()
    with pytest.raises(DatabaseUnavailable):
        await known.get("a")
    reading.error = None
    assert await known.get("a") == "a2"


async def test_earlier_value_is_served_within_its_grace_while_the_store_fails(
    reading: Reading, known: TtlCache[str, str]
) -> None:
    await known.get("a")
    reading.error = StoreError()
    reading.at_s = 59.9
    assert await known.get("a") == "a1"
    reading.at_s = 60.0
    with pytest.raises(StoreError):
        await known.get("a")


async def test_earlier_value_is_served_while_a_read_hangs(reading: Reading, known: TtlCache[str, str]) -> None:
    await known.get("a")
    reading.may_end.clear()
    reading.at_s = 6
    assert [await known.get("a"), await known.get("a")] == ["a1", "a1"]
    assert reading.count == 2, "the second reader joined the read under way"
    reading.may_end.set()
    assert await known.get("a") == "a2"


async def test_failure_outside_the_store_is_raised_at_once(reading: Reading, known: TtlCache[str, str]) -> None:
    await known.get("a")
    reading.at_s = 6
    reading.error = KeyError("a")
    with pytest.raises(KeyError):
        await known.get("a")


async def test_invalidated_value_is_read_again_and_others_are_kept(reading: Reading, known: TtlCache[str, str]) -> None:
    assert [await known.get("a"), await known.get("b")] == ["a1", "b2"]
    known.forget(lambda key: key == "a")
    assert [await known.get("a"), await known.get("b")] == ["a3", "b2"]


async def test_invalidated_value_is_still_served_while_it_cannot_be_read(
    reading: Reading, known: TtlCache[str, str]
) -> None:
    await known.get("a")
    known.forget(lambda _: True)
    reading.error = DatabaseUnavailable()
    assert await known.get("a") == "a1"
    reading.error = None
    assert await known.get("a") == "a3"


async def test_slow_read_is_waited_for_longer_after_an_invalidation(reading: Reading) -> None:
    known = TtlCache(reading, for_s=5, grace_s=60, clock=reading.clock, patience=ReadPatience(0.01, 60))
    await known.get("a")
    known.forget(lambda _: True)
    reading.may_end.clear()
    late = asyncio.create_task(known.get("a"))
    await asyncio.wait([late], timeout=0.05)
    assert not late.done()
    reading.may_end.set()
    assert await late == "a2"


async def test_read_in_progress_during_an_invalidation_is_not_cached(
    reading: Reading, known: TtlCache[str, str]
) -> None:
    reading.may_end.clear()
    early = asyncio.create_task(known.get("a"))
    await reading.has_begun.wait()
    known.forget(lambda _: True)
    late = asyncio.create_task(known.get("a"))
    reading.may_end.set()
    assert (await early, await late) == ("a1", "a2")
    assert await known.get("a") == "a2"


async def test_oldest_keys_are_evicted(reading: Reading, known: TtlCache[str, str]) -> None:
    for key in "abcd":
        await known.get(key)
    assert [await known.get("d"), await known.get("b"), await known.get("a")] == ["d4", "b2", "a5"]
