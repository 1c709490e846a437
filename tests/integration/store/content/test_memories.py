"""Memories in Postgres: writing with the change feed, pages, search, forgetting."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from store.content import memories, threads
from store.content.memories import NewMemory, Retained
from store.content.recalling import RecallQuery
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.errors import StoreError
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import query_words, signatures
from tests.support.compiler.compiling import fetch
from tests.support.store.notes import MOST_STATEMENT_CHARS, Noting

SCOPE = Scope(UUID(int=1), UUID(int=11))
OTHER_OWNER = Scope(UUID(int=1), UUID(int=12))
OTHER_TENANT = Scope(UUID(int=2), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
async def tenant(pools: Pools) -> None:
    """The two tenants of these tests."""
    for scope in (SCOPE, OTHER_TENANT):
        async with scoped(pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)


async def retain(pools: Pools, *new: NewMemory, scope: Scope = SCOPE, now: datetime = NOW) -> Retained:
    async with scoped(pools.background, scope) as connection:
        return await memories.retain(connection, scope, new, now=now)


async def feed(dsn: str, scope: Scope = SCOPE) -> tuple[int | None, list[tuple[str, int]]]:
    """Return the feed's last number, and each memory with its own, in order."""
    connection = await asyncpg.connect(dsn)
    try:
        last = await connection.fetchval("SELECT change_seq FROM memory_feeds WHERE owner_id = $1", scope.owner_id)
        rows = await connection.fetch(
            "SELECT memory_id, change_seq FROM memories WHERE owner_id = $1 ORDER BY change_seq", scope.owner_id
        )
    finally:
        await connection.close()
    return last, [tuple(row) for row in rows]


async def found(pools: Pools, question: str, scope: Scope = SCOPE) -> list[str]:
    async with scoped(pools.turn, scope, read_only=True) as connection:
        told = await memories.recall(connection, scope, RecallQuery(tuple(query_words(question)), 10))
    return [memory.memory_id for memory in told.texts]


@pytest.mark.usefixtures("tenant")
async def test_memory_is_returned_as_written(pools: Pools) -> None:
    metadata = {"place": {"city": "São Paulo", "at": [1, 2.5]}, "tags": ["ñ", "日本"], "none": None}
    turn_ids = ("b", "a", 'odd "{}\\,id')
    await retain(pools, NewMemory("Ate pão de queijo.", "m1", NOW - timedelta(days=3), "journal/7", metadata, turn_ids))
    async with scoped(pools.background, SCOPE) as connection:
        stored = await memories.get(connection, SCOPE, "m1")
        assert await memories.get(connection, SCOPE, "m2") is None
    assert stored == memories.Memory(
        "m1", "Ate pão de queijo.", NOW - timedelta(days=3), "journal/7", metadata, turn_ids, NOW, NOW
    )


@pytest.mark.usefixtures("tenant")
async def test_memory_drawn_from_tool_turns_alone_says_so(pools: Pools, database: str) -> None:
    said = [NewTurn(f"t{at}", role, f"Turn {at}.", NOW, 3, 3) for at, role in enumerate(("user", "tool", "assistant"))]
    async with scoped(pools.background, SCOPE) as connection:
        appended = await threads.append(connection, SCOPE, ThreadToOpen("thread", "", "key"), said, now=NOW)
    user, tool, assistant = map(str, appended.turn_ids)
    drawn = {"a": (tool,), "b": (tool.upper(), assistant), "c": (tool, user), "d": (assistant,), "e": ("odd", "t1")}
    batch = [NewMemory(f"Memory {name}.", name, turn_ids=turn_ids) for name, turn_ids in drawn.items()]
    batch.append(NewMemory("Memory f.", "f", metadata={"origin": "user"}, turn_ids=(tool,)))
    assert await retain(pools, *batch) == Retained(tuple("abcdef"), 6, 0)
    assert await retain(pools, *batch) == Retained(tuple("abcdef"), 0, 0)
    rows = await fetch(database, "SELECT memory_id, metadata ->> 'origin' FROM memories ORDER BY memory_id")
    assert dict(map(tuple, rows)) == {"a": "tool", "b": "tool", "c": None, "d": None, "e": None, "f": "user"}


@pytest.mark.usefixtures("tenant")
async def test_empty_retain_writes_nothing(pools: Pools, database: str) -> None:
    assert await retain(pools) == Retained((), 0, 0)
    assert await feed(database) == (None, [])


@pytest.mark.usefixtures("tenant")
async def test_repeated_batch_changes_nothing(pools: Pools, database: str) -> None:
    batch = (NewMemory("One.", "a", metadata={"k": [1]}, turn_ids=("t1", "t2")), NewMemory("Two.", "b"))
    assert await retain(pools, *batch) == Retained(("a", "b"), 2, 0)
    before = await feed(database)
    assert await retain(pools, *batch, now=LATER) == Retained(("a", "b"), 0, 0)
    assert await feed(database) == before == (2, [("a", 1), ("b", 2)])
    async with scoped(pools.background, SCOPE) as connection:
        stored = await memories.get(connection, SCOPE, "a")
    assert stored is not None
    assert stored.updated_at == NOW


EDITS: tuple[dict[str, Any], ...] = (
    {"text": "One!"},
    {"metadata": {"k": 2}},
    {"metadata": {}},
    {"document_id": "page 2"},
    {"turn_ids": ("t2", "t1")},
    {"turn_ids": ()},
    {"occurred_at": NOW - timedelta(days=1)},
)


@pytest.mark.usefixtures("tenant")
async def test_changed_content_is_an_edit_with_the_next_number(pools: Pools, database: str) -> None:
    first: dict[str, Any] = {"text": "One.", "metadata": {"k": 1}, "document_id": "page 1", "turn_ids": ("t1", "t2")}
    for place, edit in enumerate(EDITS):
        memory_id = f"m{place}"
        await retain(pools, NewMemory(memory_id=memory_id, **first), NewMemory("Two.", "b"))
        edited = NewMemory(memory_id=memory_id, **{**first, **edit})
        assert (await retain(pools, edited, NewMemory("Two.", "b"), now=LATER)).updated_count == 1
        last, rows = await feed(database)
        assert rows[-1] == (memory_id, last)
        async with scoped(pools.background, SCOPE) as connection:
            stored = await memories.get(connection, SCOPE, memory_id)
        assert stored is not None
        assert (stored.created_at, stored.updated_at) == (NOW, LATER)
        assert stored.occurred_at == edit.get("occurred_at", NOW)
        assert {name: getattr(stored, name) for name in edit} == edit
    assert (await feed(database))[0] == 2 * len(EDITS) + 1


@pytest.mark.usefixtures("tenant")
async def test_edited_memory_is_found_by_its_new_words_only(pools: Pools) -> None:
    await retain(pools, NewMemory("The boat is moored in Trieste.", "a"))
    await retain(pools, NewMemory("The boat was sold.", "a"))
    assert await found(pools, "Trieste") == []
    assert await found(pools, "what happened to the boat") == ["a"]


@pytest.mark.usefixtures("tenant")
async def test_memory_without_an_id_is_identified_by_its_text(pools: Pools, database: str) -> None:
    first = await retain(pools, NewMemory("Likes rain."), NewMemory("Likes snow."))
    again = await retain(pools, NewMemory("Likes snow."), NewMemory("Likes rain."), NewMemory("Likes rain."))
    assert again == Retained((first.memory_ids[1], first.memory_ids[0], first.memory_ids[0]), 0, 0)
    elsewhere = await retain(pools, NewMemory("Likes rain."), scope=OTHER_OWNER)
    assert elsewhere.memory_ids[0] not in first.memory_ids
    assert (await feed(database))[0] == 2


@pytest.mark.usefixtures("tenant")
async def test_later_of_two_memories_with_one_id_wins(pools: Pools, database: str) -> None:
    assert await retain(pools, NewMemory("Old.", "a"), NewMemory("New.", "a")) == Retained(("a", "a"), 1, 0)
    async with scoped(pools.background, SCOPE) as connection:
        stored = await memories.get(connection, SCOPE, "a")
    assert stored is not None
    assert stored.text == "New."
    assert await feed(database) == (1, [("a", 1)])


@pytest.mark.usefixtures("tenant")
async def test_failed_batch_leaves_no_gap_in_the_feed(pools: Pools, database: str) -> None:
    await retain(pools, NewMemory("One.", "a"))
    with pytest.raises(StoreError):
        await retain(pools, NewMemory("Two.", "b"), NewMemory("NUL \0 inside.", "c"))
    await retain(pools, NewMemory("Three.", "d"))
    assert await feed(database) == (2, [("a", 1), ("d", 2)])


@pytest.mark.usefixtures("tenant")
async def test_concurrent_batches_number_the_feed_without_gaps_in_commit_order(database: str) -> None:
    pools = await open_pools(database, PoolsConfig(turn_connections=1, background_connections=17))
    looks: list[set[int]] = [set()]
    is_done = asyncio.Event()

    async def write(writer: int) -> Retained:
        batch = [NewMemory(f"Writer {writer} notes {n}.", f"{writer}-{n}") for n in range(5)]
        return await retain(pools, *batch, NewMemory(f"Shared, as {writer} has it.", "shared"))

    async def look() -> None:
        while not is_done.is_set():
            async with scoped(pools.background, SCOPE) as connection:
                looks.append({row[0] for row in await connection.fetch("SELECT change_seq FROM memories")})

    looking = asyncio.create_task(look())
    try:
        retained = await asyncio.gather(*(write(writer) for writer in range(16)))
    finally:
        is_done.set()
        await looking
        await pools.close()
    assert sum(one.created_count for one in retained) == 16 * 5 + 1
    assert sum(one.updated_count for one in retained) == 15
    last, rows = await feed(database)
    own = {memory_id: number for memory_id, number in rows if memory_id != "shared"}
    assert last == 16 * 6
    assert all(own[f"{writer}-{n}"] == own[f"{writer}-0"] + n for writer in range(16) for n in range(5))
    assert {number % 6 for memory_id, number in own.items() if memory_id.endswith("-0")} == {1}
    for before, after in pairwise(looks):
        assert {number for number in after if number <= max(before, default=0)} <= before


@pytest.mark.usefixtures("tenant")
async def test_pages_hold_every_memory_once_newest_first(pools: Pools) -> None:
    at = [NOW - timedelta(days=n // 3) for n in range(20)]  # several share an instant
    await retain(pools, *(NewMemory(f"Memory {n}.", f"m{n:02}", at[n]) for n in range(20)))
    listed: list[memories.Memory] = []
    async with scoped(pools.background, SCOPE) as connection:
        page = await memories.page(connection, SCOPE, limit=7)
        while page:
            listed += page
            last = (page[-1].occurred_at, page[-1].memory_id)
            page = await memories.page(connection, SCOPE, limit=7, after=last)
    assert [one.memory_id for one in listed] == [f"m{n:02}" for n in range(20)]


@pytest.mark.usefixtures("tenant")
async def test_memory_at_the_end_of_time_is_listed(pools: Pools) -> None:
    await retain(pools, NewMemory("The end.", "z", datetime.max.replace(tzinfo=UTC)))
    await retain(pools, NewMemory("The beginning.", "a", datetime.min.replace(tzinfo=UTC)))
    async with scoped(pools.background, SCOPE) as connection:
        assert [one.memory_id for one in await memories.page(connection, SCOPE, limit=9)] == ["z", "a"]


@pytest.mark.usefixtures("tenant")
async def test_forgotten_memory_is_in_no_table(pools: Pools) -> None:
    await retain(pools, NewMemory("The safe opens with 4711.", "a"), NewMemory("Likes rain.", "b"))
    async with scoped(pools.background, OTHER_OWNER) as connection:
        assert not await memories.forget_all(connection, OTHER_OWNER, ["a"])
        assert not await memories.forget_all(connection, SCOPE, ["a"])
    async with scoped(pools.background, SCOPE) as connection:
        assert await memories.forget_all(connection, SCOPE, ["a"])
        assert not await memories.forget_all(connection, SCOPE, ["a"])
        assert await memories.get(connection, SCOPE, "a") is None
        assert [one.memory_id for one in await memories.page(connection, SCOPE, limit=9)] == ["b"]
    assert await found(pools, "4711 safe") == []


@pytest.mark.usefixtures("tenant")
async def test_best_match_comes_first_with_its_signature(pools: Pools) -> None:
    await retain(
        pools,
        NewMemory("Mara's dentist is in Kaunas.", "both"),
        NewMemory("The dentist called about the appointment.", "one"),
        NewMemory("Bought bread.", "none"),
    )
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        found = await memories.recall(connection, SCOPE, RecallQuery(("dentist", "kaunas"), 10))
    assert [memory.memory_id for memory in found.texts] == ["both", "one"]
    assert found.matched == (0b11, 0b01)
    assert found.texts[0].signature == signatures([found.texts[0].text])[0]


@pytest.mark.usefixtures("tenant")
async def test_memory_is_found_by_its_metadata(pools: Pools) -> None:
    await retain(
        pools, NewMemory("Grilled sardines.", "a", metadata={"place": {"city": "Lisboa", "tags": ["harbour"]}})
    )
    assert await found(pools, "Lisboa") == ["a"]
    assert await found(pools, "at the harbour") == ["a"]
    assert await found(pools, "city") == []


@pytest.mark.usefixtures("tenant")
async def test_unknown_words_do_not_hide_known_ones(pools: Pools) -> None:
    await retain(pools, NewMemory("The dentist is in Kaunas.", "a"), NewMemory("Bread.", "b"))
    unknown = " ".join(f"zq{n}x" for n in range(20))
    assert await found(pools, f"{unknown} dentist {unknown}") == ["a"]


@pytest.mark.usefixtures("tenant")
async def test_empty_query_finds_nothing(pools: Pools) -> None:
    async with scoped(pools.turn, SCOPE) as connection:
        assert (await memories.recall(connection, SCOPE, RecallQuery((), 10))).texts == ()


HOSTILE_QUESTIONS = ("'; DROP TABLE memories; --", "a & | ! ( ) :* <->", "\\ % _ ' \" ", "日本語 ☂ 🌧", "x" * 10_000)


@pytest.mark.usefixtures("tenant")
async def test_hostile_query_harms_nothing(pools: Pools) -> None:
    await retain(pools, NewMemory("Umbrella ☂ in 日本語, DROP by the table.", "a"))
    async with scoped(pools.turn, SCOPE) as connection:
        for question in HOSTILE_QUESTIONS:
            await memories.recall(connection, SCOPE, RecallQuery((*query_words(question), question), 10))
        assert await memories.get(connection, SCOPE, "a")


LONGEST = {
    "one letter": "x" * 100_000,
    "short words": " ".join(f"{n:x}" for n in range(20_000))[:100_000],
    "no spaces between words": "".join(chr(0x4E00 + code) for code in Random(1).choices(range(20_000), k=100_000)),
    "beyond the first plane": "".join(chr(0x20000 + code) for code in Random(1).choices(range(40_000), k=100_000)),
    "stemmed words": " ".join(f"{n:05}ing" for n in range(11_000)),
    "emoji": "😀" * 100_000,
    "accents": "á " * 50_000,
    "nothing to see": "\u200b",
}


@pytest.mark.usefixtures("tenant")
async def test_longest_memories_are_stored_whatever_their_content(pools: Pools) -> None:
    await retain(pools, *(NewMemory(text, name) for name, text in LONGEST.items()))
    async with scoped(pools.background, SCOPE) as connection:
        for name, text in LONGEST.items():
            stored = await memories.get(connection, SCOPE, name)
            assert stored is not None
            assert stored.text == text


@pytest.mark.usefixtures("tenant")
async def test_owners_and_tenants_see_only_their_own_memories(pools: Pools) -> None:
    for scope in (SCOPE, OTHER_OWNER, OTHER_TENANT):
        await retain(pools, NewMemory(f"The dentist of {scope.owner_id}.", "a"), scope=scope)
    for scope in (SCOPE, OTHER_OWNER, OTHER_TENANT):
        async with scoped(pools.turn, scope) as connection:
            listed = await memories.page(connection, scope, limit=9)
            for foreign in {SCOPE, OTHER_OWNER, OTHER_TENANT} - {scope}:
                assert await memories.page(connection, foreign, limit=9) == []
                assert await memories.get(connection, foreign, "a") is None
                assert (await memories.recall(connection, foreign, RecallQuery(("dentist",), 9))).texts == ()
        assert [one.text for one in listed] == [f"The dentist of {scope.owner_id}."]
        assert len(await found(pools, "dentist", scope)) == 1


async def test_statements_of_a_large_write_are_bounded(tenant: None, pools: Pools) -> None:
    new = [NewMemory(f"{number} " + "ferry " * 5_000, f"m{number}") for number in range(100)]
    async with scoped(pools.background, SCOPE) as connection:
        noting = Noting(connection)
        retained = await memories.retain(noting, SCOPE, new, now=NOW)  # type: ignore[arg-type]
    assert retained.created_count == 100
    assert max(noting.chars) <= MOST_STATEMENT_CHARS
    assert await retain(pools, *new[::-1]) == Retained(retained.memory_ids[::-1], 0, 0)
