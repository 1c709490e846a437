"""What every memory substrate keeps to: the built-in one, and the safe feed over a service that only knows times of write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from compiler.plan.contract import BatchMemory
from compiler.state.substrates import (
    ListingRow,
    MemoryListing,
    MemorySubstrate,
    PostgresSubstrate,
    TimedMemory,
    TimedSubstrate,
    content_hash,
    kept_instant,
)
from store.compile import ledger
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import text_hash

SCOPE = Scope(UUID(int=1), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass(slots=True)
class Shelf:
    """A memory service that orders by time of write; a test may write with an instant of the past."""

    now: datetime = NOW
    written_at: dict[str, datetime] = field(default_factory=dict)
    kept: dict[str, BatchMemory] = field(default_factory=dict)

    def put(self, memory_id: str, text: str, *, at: datetime | None = None) -> None:
        self.kept[memory_id] = BatchMemory(memory_id, text, text_hash(text), NOW)
        self.written_at[memory_id] = at or self.now

    async def written(
        self, scope: Scope, after: tuple[datetime, str], *, until: datetime, limit: int
    ) -> list[TimedMemory]:
        found = sorted((at, one) for one, at in self.written_at.items() if after < (at, one) and at <= until)
        return [TimedMemory(self.kept[one], at) for at, one in found[:limit]]

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        return {one: self.kept[one] for one in memory_ids if one in self.kept}

    async def listing(self, scope: Scope) -> MemoryListing:
        listed = {one: ListingRow(memory.document_id, memory.text_hash) for one, memory in self.kept.items()}
        return MemoryListing(listed, is_complete=True)


@dataclass(frozen=True, slots=True)
class Case:
    """A substrate under test, and how to write to the service behind it."""

    substrate: MemorySubstrate
    write: Callable[[str, str], Awaitable[None]]


@pytest.fixture(params=["built-in", "timed"])
async def case(request: pytest.FixtureRequest, pools: Pools) -> Case:
    """Each substrate in turn."""
    if request.param == "timed":
        shelf = Shelf()

        async def put(memory_id: str, text: str) -> None:
            shelf.put(memory_id, text)
            shelf.now += timedelta(seconds=1)

        return Case(TimedSubstrate(shelf, now=lambda: shelf.now + timedelta(minutes=5)), put)

    async def retain(memory_id: str, text: str) -> None:
        async with scoped(pools.background, SCOPE) as connection:
            await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
            await memories.retain(connection, SCOPE, [NewMemory(text, memory_id, NOW)], now=NOW)

    return Case(PostgresSubstrate(pools.background), retain)


async def test_everything_written_is_read_once_and_in_order(case: Case) -> None:
    for number in range(7):
        await case.write(f"m{number}", f"Text {number}.")
    read, cursor, is_drained = [], "", False
    while not is_drained:
        reading = await case.substrate.changed_after(SCOPE, cursor, limit=3)
        read += [memory.memory_id for memory in reading.memories]
        assert reading.cursor >= cursor
        cursor, is_drained = reading.cursor, reading.is_drained
    assert read == [f"m{number}" for number in range(7)]
    assert (await case.substrate.changed_after(SCOPE, cursor, limit=3)).memories == ()


async def test_edited_memory_is_fed_again_after_the_cursor(case: Case) -> None:
    await case.write("m0", "Before.")
    await case.write("m1", "Other.")
    cursor = (await case.substrate.changed_after(SCOPE, "", limit=9)).cursor
    await case.write("m0", "After.")
    (memory,) = (await case.substrate.changed_after(SCOPE, cursor, limit=9)).memories
    assert (memory.memory_id, memory.text, memory.text_hash) == ("m0", "After.", text_hash("After."))


async def test_read_position_reaches_the_end_only_when_drained(case: Case) -> None:
    for number in range(4):
        await case.write(f"m{number}", f"Text {number}.")
    part = await case.substrate.changed_after(SCOPE, "", limit=2)
    whole = await case.substrate.changed_after(SCOPE, part.cursor, limit=9)
    assert (part.is_drained, whole.is_drained) == (False, True)
    assert part.read_through < whole.read_through


async def test_memories_are_fetched_by_id_at_their_current_version(case: Case) -> None:
    await case.write("m0", "Before.")
    await case.write("m0", "After.")
    found = await case.substrate.fetch(SCOPE, ["m0", "nobody"])
    assert {memory_id: memory.text for memory_id, memory in found.items()} == {"m0": "After."}
    assert await case.substrate.fetch(SCOPE, []) == {}


async def test_listing_is_complete_and_names_every_memory(case: Case) -> None:
    await case.write("m0", "Zero.")
    await case.write("m1", "One.")
    listing = await case.substrate.listing(SCOPE)
    assert listing.is_complete
    assert {memory_id: one.text_hash for memory_id, one in listing.memories.items()} == {
        "m0": text_hash("Zero."),
        "m1": text_hash("One."),
    }


async def test_another_owners_memories_are_never_read(case: Case) -> None:
    await case.write("m0", "Mine.")
    other = Scope(SCOPE.tenant_id, UUID(int=12))
    if isinstance(case.substrate, PostgresSubstrate):
        assert (await case.substrate.changed_after(other, "", limit=9)).memories == ()
        assert await case.substrate.fetch(other, ["m0"]) == {}
        assert (await case.substrate.listing(other)).memories == {}


async def test_timed_feed_waits_for_late_commits_and_looks_back_for_later_ones() -> None:
    shelf = Shelf()
    substrate = TimedSubstrate(shelf, now=lambda: shelf.now, lag_s=30, overlap_s=300)
    shelf.put("early", "Early.", at=NOW - timedelta(seconds=60))
    shelf.put("young", "Young.", at=NOW - timedelta(seconds=10))
    first = await substrate.changed_after(SCOPE, "", limit=9)
    assert [memory.memory_id for memory in first.memories] == ["early"]
    shelf.put("late", "Committed late.", at=NOW - timedelta(seconds=100))
    shelf.now += timedelta(seconds=60)
    again = await substrate.changed_after(SCOPE, substrate.resume(SCOPE, first.cursor), limit=9)
    assert [memory.memory_id for memory in again.memories] == ["late", "early", "young"]


async def test_instants_keep_their_microseconds() -> None:
    shelf = Shelf()
    substrate = TimedSubstrate(shelf, now=lambda: NOW + timedelta(minutes=1))
    shelf.put("a", "A.", at=NOW + timedelta(microseconds=689_019))
    cursor = (await substrate.changed_after(SCOPE, "", limit=9)).cursor
    assert (await substrate.changed_after(SCOPE, cursor, limit=9)).memories == ()
    shelf.put("b", "B.", at=NOW + timedelta(microseconds=689_020))
    (memory,) = (await substrate.changed_after(SCOPE, cursor, limit=9)).memories
    assert memory.memory_id == "b"


@pytest.mark.parametrize(
    ("moment", "year"),
    [
        (datetime.min.replace(tzinfo=UTC), 1),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=5))), 1),
        (datetime.max.replace(tzinfo=UTC), 9999),
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))), 9999),
        (NOW, 2026),
    ],
)
async def test_services_instant_survives_the_database(pools: Pools, moment: datetime, year: int) -> None:
    kept = kept_instant(moment)
    assert (kept.year, kept.tzinfo) == (year, UTC)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await ledger.write(connection, SCOPE, [ledger.LedgerEntry("m", "", b"", b"", kept)], now=NOW)
        assert (await ledger.read(connection, SCOPE, ["m"]))["m"].occurred_at == kept


def test_content_hash_covers_every_field_that_is_read() -> None:
    one = BatchMemory("m", "Text.", text_hash("Text."), NOW, "d", {"a": {"b": 1, "c": [2]}})
    same = BatchMemory("other", "Text.", text_hash("Text."), NOW, "d", {"a": {"c": [2], "b": 1}})
    assert content_hash(one) == content_hash(same)
    for changed in (
        BatchMemory("m", "Text!", text_hash("Text!"), NOW, "d", one.metadata),
        BatchMemory("m", "Text.", one.text_hash, NOW + timedelta(microseconds=1), "d", one.metadata),
        BatchMemory("m", "Text.", one.text_hash, NOW, "e", one.metadata),
        BatchMemory("m", "Text.", one.text_hash, NOW, "d", {"a": {"b": 2, "c": [2]}}),
    ):
        assert content_hash(changed) != content_hash(one)
