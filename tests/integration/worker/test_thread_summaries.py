"""The rolling summary of a thread is made in the background, in the turns' own words, and read by the next turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from compiler.decay.rolling import MAX_CHARS, rolled
from sidecar.services.threads import KEEP_TURNS, KIND, queue_summary
from sidecar.worker.thread_summaries import Summarizer
from store.compile import background
from store.content import threads
from store.content.summaries import OlderTurn
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import engine_on, worker_on

SCOPE = Scope(UUID(int=1), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def turn(number: int) -> NewTurn:
    role = "user" if number % 2 else "assistant"
    text = f"Turn {number} was about the old boat. The rest of it does not matter."
    return NewTurn(f"c{number}", role, text, said_at=NOW + timedelta(minutes=number), o200k_tokens=12, cl100k_tokens=12)


async def say(pools: Pools, first: int, count: int) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        opened = ThreadToOpen("t", "", "fence")
        turns = [turn(number) for number in range(first, first + count)]
        appended = await threads.append(connection, SCOPE, opened, turns, now=NOW)
        grown = (appended.turn_count - appended.new_count, appended.turn_count)
        await queue_summary(connection, SCOPE, "t", turn_counts=grown, now=NOW)


async def summarize(pools: Pools) -> threads.ThreadSummary | None:
    engine = engine_on(pools, clock=lambda: NOW)
    worker = worker_on(pools, engine)
    worker.handlers = {KIND: Summarizer(pools.background, now=lambda: NOW).summarize}
    await worker.drain_scope(SCOPE)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        return await threads.summary(connection, SCOPE, "t")


async def test_older_turns_become_a_line_each_and_the_newest_are_left_out(pools: Pools) -> None:
    await say(pools, 1, 50)
    found = await summarize(pools)
    assert found is not None
    assert found.through_position == 50 - KEEP_TURNS
    assert len(found.turn_ids) == 50 - KEEP_TURNS
    lines = found.text.splitlines()
    assert lines[0] == "user: Turn 1 was about the old boat."
    assert lines[-1] == f"assistant: Turn {50 - KEEP_TURNS} was about the old boat."


async def test_grown_thread_is_summarised_from_the_last_position(pools: Pools) -> None:
    await say(pools, 1, 50)
    await summarize(pools)
    await say(pools, 51, 30)
    found = await summarize(pools)
    assert found is not None
    assert found.through_position == 60
    assert len(set(found.turn_ids)) == 60
    assert found.text.count("Turn 30 ") == 1


async def test_short_thread_gets_no_summary(pools: Pools) -> None:
    await say(pools, 1, KEEP_TURNS)
    assert await summarize(pools) is None
    async with scoped(pools.background, SCOPE) as connection:
        assert await background.next_due(connection, SCOPE) is None


def said(number: int, text: str, role: str = "user") -> OlderTurn:
    return OlderTurn(UUID(int=number), number, role, "", text)


def test_summary_stays_within_its_bound_and_drops_the_least_informative_lines() -> None:
    small = [said(n, f"It was said once more that all of it {'x' * 100} was nice") for n in range(2, 200)]
    text, turn_ids = rolled("", (), [said(1, "Anna moved to Lisbon on 4 May 2021 with Bruno."), *small])
    assert len(text) <= MAX_CHARS
    assert text.startswith("user: Anna moved to Lisbon on 4 May 2021 with Bruno.")
    assert len(turn_ids) == len(text.splitlines())
    assert turn_ids[0] == str(UUID(int=1))


def test_summary_line_is_the_most_informative_sentence() -> None:
    turns = [
        said(1, "Sure! Sounds good to me. We fly to Porto on 12 June with TAP."),
        said(2, "Haha, sure!", "assistant"),
    ]
    assert rolled("", (), turns) == ("user: We fly to Porto on 12 June with TAP.", [str(UUID(int=1))])


def test_lines_of_unknown_turns_cover_no_turn() -> None:
    text, turn_ids = rolled("user: the boat was old", ("a", "b", "c"), [said(7, "Anna sold the boat in May 2020.")])
    assert (text.count("\n"), turn_ids) == (1, [str(UUID(int=7))])
