"""Threads in Postgres: appending once, the history window, search among older turns, pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from store.content import threads
from store.content.recalling import RecallQuery
from store.content.threads import Appended, HistoryWindow, NewTurn, StoredTurn, ThreadToOpen
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.store.notes import MOST_STATEMENT_CHARS, Noting

SCOPE = Scope(UUID(int=1), UUID(int=11))
OTHER_OWNER = Scope(UUID(int=1), UUID(int=12))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WIDE = HistoryWindow(tokens=1_000_000, turns=10_000)


@pytest.fixture(autouse=True)
async def tenant(pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)


def a_turn(number: int, *, role: str = "", tokens: int = 10, text: str = "") -> NewTurn:
    said = role or ("user" if number % 2 else "assistant")
    text = text or f"turn number {number}"
    return NewTurn(f"c{number}", said, text, NOW + timedelta(minutes=number), tokens, tokens + 1)


async def append(
    pools: Pools, *turns: NewTurn, thread_id: str = "t", title: str = "", scope: Scope = SCOPE
) -> Appended:
    async with scoped(pools.background, scope) as connection:
        return await threads.append(connection, scope, ThreadToOpen(thread_id, title, "key-1"), turns, now=NOW)


async def history(pools: Pools, window: HistoryWindow = WIDE, scope: Scope = SCOPE) -> list[StoredTurn]:
    async with scoped(pools.turn, scope, read_only=True) as connection:
        return await threads.history(connection, scope, "t", window)


def positions(turns: Sequence[StoredTurn]) -> list[int]:
    return [turn.position for turn in turns]


async def test_turns_are_returned_as_written(pools: Pools) -> None:
    parts = ({"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": [1, None, "é"]}},)
    said = NewTurn("c1", "assistant", "olá 東京", NOW, 7, 8, speaker="Mara", parts=parts)
    appended = await append(pools, said)
    (turn,) = await history(pools)
    assert appended == Appended((turn.turn_id,), 1, 1)
    assert (turn.text, turn.parts, turn.speaker, turn.said_at) == ("olá 東京", parts, "Mara", NOW)
    assert (turn.o200k_tokens, turn.cl100k_tokens) == (7, 8)


async def test_first_turn_to_send_has_no_tokens_before_it(pools: Pools) -> None:
    await append(pools, *map(a_turn, range(1, 5)))
    without_first = HistoryWindow(WIDE.tokens, WIDE.turns, "c1")
    assert [turn.tokens_before for turn in await history(pools)] == [0, 10, 20, 30]
    assert [turn.tokens_before for turn in await history(pools, without_first)] == [0, 20, 30]
    assert [turn.tokens_before for turn in await history(pools, HistoryWindow(WIDE.tokens, 2, "c1"))] == [20, 30]


async def test_appending_again_changes_nothing_and_returns_the_same_turns(pools: Pools) -> None:
    first = await append(pools, a_turn(1), a_turn(2))
    again = await append(pools, a_turn(1, text="other words"), a_turn(2), a_turn(3))
    assert again.turn_ids[:2] == first.turn_ids
    assert again.new_count == 1
    assert [turn.text for turn in await history(pools)] == ["turn number 1", "turn number 2", "turn number 3"]


async def test_repeated_client_turn_id_in_a_request_is_one_turn(pools: Pools) -> None:
    appended = await append(pools, a_turn(1, text="first"), a_turn(1, text="second"))
    assert appended.new_count == 1
    assert [turn.text for turn in await history(pools)] == ["first"]


async def test_concurrent_writers_leave_no_gap_and_no_duplicate(pools: Pools) -> None:
    batches = [[a_turn(10 * batch + place) for place in range(10)] for batch in range(8)]
    await asyncio.gather(*(append(pools, *batch) for batch in batches), *(append(pools, *batches[0]) for _ in range(4)))
    turns = await history(pools)
    assert positions(turns) == list(range(1, 81))
    assert len({turn.client_turn_id for turn in turns}) == 80


async def test_window_holds_the_newest_turns_within_its_tokens(pools: Pools) -> None:
    await append(pools, *(a_turn(number) for number in range(1, 101)))
    assert positions(await history(pools, HistoryWindow(tokens=55, turns=1000))) == list(range(96, 101))


async def test_window_holds_at_most_the_requested_turns(pools: Pools) -> None:
    await append(pools, *(a_turn(number) for number in range(1, 101)))
    assert positions(await history(pools, HistoryWindow(tokens=10_000, turns=7))) == list(range(94, 101))


async def test_last_exchange_is_included_in_any_window_of_a_thread(pools: Pools) -> None:
    tools = [a_turn(number, role="tool", tokens=500) for number in range(4, 30)]
    await append(pools, a_turn(1), a_turn(2), a_turn(3, role="user"), *tools)
    assert positions(await history(pools, HistoryWindow(tokens=1, turns=1))) == list(range(3, 30))


async def test_stored_current_message_is_excluded_and_starts_no_exchange(pools: Pools) -> None:
    await append(pools, a_turn(1), a_turn(2), a_turn(3))
    turns = await history(pools, HistoryWindow(tokens=1, turns=1, except_client_turn_id="c3"))
    assert positions(turns) == [1, 2]


async def test_unknown_thread_has_no_history(pools: Pools) -> None:
    assert await history(pools) == []


async def test_older_turns_are_found_by_their_words_in_their_thread_alone(pools: Pools) -> None:
    await append(pools, a_turn(1, text="The gate code is 4417."), a_turn(2, text="Noted."))
    await append(pools, a_turn(1, text="The gate code is 9999."), thread_id="other")
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        found = await threads.recall(connection, SCOPE, "t", RecallQuery(("gate", "code"), 10))
        nothing = await threads.recall(connection, SCOPE, "t", RecallQuery((), 10))
    assert [(turn.text, matched) for turn, matched in zip(found.texts, found.matched, strict=True)] == [
        ("The gate code is 4417.", 0b11),
        ("Noted.", 0),
    ]
    assert nothing.texts == ()


async def test_another_owner_sees_nothing(pools: Pools) -> None:
    await append(pools, a_turn(1, text="The gate code is 4417."))
    assert await history(pools, scope=OTHER_OWNER) == []
    async with scoped(pools.turn, OTHER_OWNER, read_only=True) as connection:
        assert await threads.list_threads(connection, OTHER_OWNER, limit=10) == []
        assert (await threads.recall(connection, OTHER_OWNER, "t", RecallQuery(("gate",), 10))).texts == ()


async def test_threads_are_ordered_by_newest_turn_and_pages_are_contiguous(pools: Pools) -> None:
    for number in (3, 1, 2):
        await append(pools, a_turn(number), thread_id=f"t{number}", title=f"Thread {number}")
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        first = await threads.list_threads(connection, SCOPE, limit=2)
        last = first[-1]
        rest = await threads.list_threads(connection, SCOPE, limit=2, before=(last.last_turn_at, last.thread_id))
    assert [head.thread_id for head in (*first, *rest)] == ["t3", "t2", "t1"]
    assert (first[0].title, first[0].turn_count, first[0].last_turn_at) == ("Thread 3", 1, NOW + timedelta(minutes=3))


async def test_turns_are_listed_oldest_first_page_by_page(pools: Pools) -> None:
    await append(pools, *(a_turn(number) for number in range(1, 8)))
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        first = await threads.list_turns(connection, SCOPE, "t", limit=5)
        rest = await threads.list_turns(connection, SCOPE, "t", limit=5, after=first[-1].position)
    assert positions([*first, *rest]) == list(range(1, 8))


async def test_thread_keeps_its_first_fence_key(pools: Pools) -> None:
    await append(pools, a_turn(1))
    async with scoped(pools.background, SCOPE) as connection:
        await threads.append(connection, SCOPE, ThreadToOpen("t", "", "key-2"), [a_turn(2)], now=NOW)
        assert await threads.fence_key_id(connection, SCOPE, "t") == "key-1"
        assert await threads.fence_key_id(connection, SCOPE, "unknown") is None


async def test_statements_of_a_large_append_are_bounded(pools: Pools) -> None:
    said = [a_turn(number, text=f"{number} " + "ferry " * 5_000) for number in range(100)]
    async with scoped(pools.background, SCOPE) as connection:
        noting = Noting(connection)
        appended = await threads.append(noting, SCOPE, ThreadToOpen("t", "", "key-1"), said, now=NOW)  # type: ignore[arg-type]
    assert appended.new_count == 100
    assert max(noting.chars) <= MOST_STATEMENT_CHARS
    assert positions(await history(pools)) == list(range(1, 101))
    assert await history(pools, HistoryWindow(tokens=35, turns=10)) == (await history(pools))[-3:]
