"""Contract of Hindsight, real or stand-in: a module that runs these cases provides the fixture `server_url`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest

from compiler.state.substrates import TimedMemory
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.hindsight import Banks, Hindsight, NoBank
from sidecar.worker.hindsight_feed import HindsightMemories
from store.scope import Scope

PATIENCE = CallLimits(deadline_s=60.0)
BEGINNING = (datetime(2000, 1, 1, tzinfo=UTC), "")


@pytest.fixture
def owner() -> UUID:
    """An owner with a bank of its own."""
    return uuid4()


@pytest.fixture
async def hindsight(server_url: str) -> AsyncIterator[Hindsight]:
    """A client of the server."""
    one = Hindsight("memories", Banks(server_url, types=("world",)), PATIENCE)
    yield one
    await one.close()


async def retain(url: str, owner: UUID, *texts: str, document: str = "") -> None:
    items = [{"content": text, "context": "", **({"document_id": document} if document else {})} for text in texts]
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        answer = await client.post(f"/v1/default/banks/{owner}/memories", json={"items": items, "async": False})
    assert answer.status_code == 200, answer.text


def scope_of(owner: UUID) -> Scope:
    return Scope(UUID(int=1), owner)


def place_of(one: TimedMemory) -> tuple[datetime, str]:
    return (one.updated_at, one.memory.memory_id)


async def changes(
    hindsight: Hindsight, owner: UUID, after: tuple[datetime, str] = BEGINNING, limit: int = 1000
) -> list[TimedMemory]:
    until = datetime.now(UTC) + timedelta(minutes=1)
    return await HindsightMemories(hindsight).written(scope_of(owner), after, until=until, limit=limit)


async def test_retained_memory_is_recalled_by_its_owner_alone(
    server_url: str, hindsight: Hindsight, owner: UUID
) -> None:
    await retain(server_url, owner, "Calypso winters in the old dock.", "Bread is bought on Mondays.")
    other = uuid4()
    await retain(server_url, other, "Calypso is sold.")
    found = (await hindsight.recall(owner, "Where does Calypso winter?", now=datetime.now(UTC), limit=10)).found
    assert found[0].text == "Calypso winters in the old dock."
    assert "Calypso is sold." not in {one.text for one in found}
    assert found[0].kind == "world"
    assert found[0].at is not None


async def test_a_bank_without_memories_recalls_nothing(hindsight: Hindsight, owner: UUID) -> None:
    with pytest.raises(NoBank):
        await hindsight.recall(owner, "Where?", now=datetime.now(UTC), limit=10)
    assert await changes(hindsight, owner) == []


async def test_a_question_of_any_length_and_script_is_answered(
    server_url: str, hindsight: Hindsight, owner: UUID
) -> None:
    await retain(server_url, owner, "船は古い造船所で冬を越す。 Calypso")
    for question in ("Calypso " * 5000, "カリプソ Calypso" * 2000, "\0 Calypso", "?!", "", "Calypso \ud800"):
        await hindsight.recall(owner, question, now=datetime.now(UTC), limit=10)


async def test_changes_are_sorted_oldest_first_and_end(server_url: str, hindsight: Hindsight, owner: UUID) -> None:
    await retain(server_url, owner, "First the mast.", document="a")
    await retain(server_url, owner, "Then the keel.", document="b")
    found = await changes(hindsight, owner)
    assert [one.memory.text for one in found] == ["First the mast.", "Then the keel."]
    assert [one.memory.document_id for one in found] == ["a", "b"]
    assert await changes(hindsight, owner, place_of(found[-1])) == []
    assert [one.memory.text for one in await changes(hindsight, owner, place_of(found[0]))] == ["Then the keel."]


async def test_changes_read_in_small_pages_are_the_same(server_url: str, hindsight: Hindsight, owner: UUID) -> None:
    await retain(server_url, owner, *(f"Rope number {number} is new." for number in range(7)))
    whole = await changes(hindsight, owner)
    bites: list[TimedMemory] = []
    while bite := await changes(hindsight, owner, place_of(bites[-1]) if bites else BEGINNING, limit=3):
        bites += bite
    assert bites == whole
    assert len(whole) == 7


async def test_document_retained_again_keeps_its_memory_ids(server_url: str, hindsight: Hindsight, owner: UUID) -> None:
    await retain(server_url, owner, "The mast is oak.", document="log")
    (before,) = await changes(hindsight, owner)
    (recalled,) = (await hindsight.recall(owner, "mast oak", now=datetime.now(UTC), limit=5)).found
    await retain(server_url, owner, "The mast is oak.", document="log")
    (after,) = await changes(hindsight, owner)
    (again,) = (await hindsight.recall(owner, "mast oak", now=datetime.now(UTC), limit=5)).found
    assert before.memory.memory_id == after.memory.memory_id == recalled.memory_id == again.memory_id
    assert before.memory.text_hash == after.memory.text_hash


async def test_more_changes_than_a_page_at_one_instant_are_all_read(
    server_url: str, hindsight: Hindsight, owner: UUID
) -> None:
    await retain(server_url, owner, *(f"Plank number {number} is sound." for number in range(230)))
    found = await changes(hindsight, owner)
    assert len({one.memory.memory_id for one in found}) == 230


async def test_every_memory_can_be_listed_and_fetched(server_url: str, hindsight: Hindsight, owner: UUID) -> None:
    await retain(server_url, owner, "The mast is oak.", document="log")
    await retain(server_url, owner, "The keel is lead.", document="yard")
    memories = HindsightMemories(hindsight)
    listing = await memories.listing(scope_of(owner))
    fetched = await memories.fetch(scope_of(owner), [*listing.memories, "gone"])
    assert listing.is_complete
    assert {one.document_id for one in listing.memories.values()} == {"log", "yard"}
    assert {one.text for one in fetched.values()} == {"The mast is oak.", "The keel is lead."}
    assert fetched.keys() == listing.memories.keys()
