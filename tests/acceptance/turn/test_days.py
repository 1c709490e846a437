"""Questions for a day: what stands on it is found, in the user's time zone, and the receipt shows the day."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import grpc
import pytest
import pytest_asyncio

from sidecar.context.assembler import Clocks
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import memory_pb2, profile_pb2
from tests.support.databases import database_clone
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import asking, assembled, explained

pytestmark = pytest.mark.asyncio(loop_scope="module")

WEDNESDAY = datetime(2026, 10, 14, 15, 0, tzinfo=UTC)
FILLER = [(f"2026-09-{1 + number % 28:02}T10:00", f"Errand {number} is to buy rope.") for number in range(120)]
TOLD = (
    ("2025-10-03T09:00", "The fence has a new gate."),
    ("2026-10-03T09:00", "We drove out to the lake with the old canoe."),
    ("2026-10-13T20:00", "I signed the contract with the bakery."),
    ("2026-10-13T20:01", "Congratulations on that!"),
    ("9999-12-31T23:00", "A turn of a clock that is wrong."),
)


class Now:
    """The time of the served sidecar."""

    def __init__(self) -> None:
        self.at = WEDNESDAY

    def __call__(self) -> datetime:
        return self.at


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="world")
async def _world(
    migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Site, Now, Caller]]:
    """A sidecar whose time the tests set, and an owner with a thread and three memories."""
    now = Now()
    async with database_clone(migrated_template) as dsn:
        settings = await ready(dsn, tmp_path_factory.mktemp("days"))
        async with served(settings, Clocks(now=now, steady_s=time.monotonic)) as site:
            caller = site.caller()
            await said(caller, "t", *FILLER, *TOLD)
            memories = (
                memory_pb2.NewMemory(memory_id="bakery", text="Mara starts at the bakery in November."),
                memory_pb2.NewMemory(memory_id="sister", text="Mara's sister Ida lives in Graz."),
            )
            memories[0].occurred_time.FromDatetime(at("2026-10-13T21:00"))
            memories[1].occurred_time.FromDatetime(at("2026-08-02T21:00"))
            await caller.Retain(memory_pb2.RetainRequest(memories=memories))
            yield site, now, caller


def at(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


async def said(caller: Caller, thread_id: str, *turns: tuple[str, str]) -> None:
    new = [pb.NewTurn(client_turn_id=str(place), role="user", text=text) for place, (_, text) in enumerate(turns)]
    for turn, (moment, _) in zip(new, turns, strict=True):
        turn.said_time.FromDatetime(at(moment))
    await caller.AppendTurns(pb.AppendTurnsRequest(thread_id=thread_id, turns=new))


async def found(caller: Caller, message: str, **fields: str) -> tuple[set[str], pb.Assembly]:
    """Return the recalled texts of a question with a short window, and its assembly."""
    request = asking(message, **{"thread_id": "t", **fields}, overrides=profile_pb2.Profile(history_turns=1))
    assembly = await assembled(caller, request)
    assert not assembly.degraded
    return {item.text.removeprefix("user: ") for item in assembly.items}, assembly


@pytest.mark.parametrize(
    ("message", "days", "texts"),
    [
        (
            "What did I say last Tuesday?",
            "2026-10-13",
            {TOLD[2][1], TOLD[3][1], "Mara starts at the bakery in November."},
        ),
        ("What happened yesterday?", "2026-10-13", {TOLD[2][1], TOLD[3][1], "Mara starts at the bakery in November."}),
        ("¿Qué dije ayer?", "2026-10-13", {TOLD[2][1], TOLD[3][1], "Mara starts at the bakery in November."}),
        ("昨日何を言った？", "2026-10-13", {TOLD[2][1], TOLD[3][1], "Mara starts at the bakery in November."}),
        ("Was war am 3. Oktober?", "10-03 of any year", {TOLD[0][1], TOLD[1][1]}),
        ("Was war am 3.10.2026?", "2026-10-03", {TOLD[1][1]}),
    ],
)
async def test_question_for_a_day_finds_the_texts_of_that_day(
    world: tuple[Site, Now, Caller], message: str, days: str, texts: set[str]
) -> None:
    _, _, caller = world
    recalled, assembly = await found(caller, message)
    assert texts <= recalled, assembly.reading
    best = sorted(assembly.items, key=lambda item: -item.score)[: len(texts)]
    assert {item.text.removeprefix("user: ") for item in best} == texts
    assert (list(assembly.reading.days), assembly.reading.days_searched) == ([days], True)
    receipt = await explained(caller, assembly.receipt_id)
    assert (list(receipt.reading.days), receipt.reading.days_searched) == ([days], True)


@pytest.mark.parametrize(
    "message",
    [
        "I was tired yesterday.",
        "Thanks, see you on Tuesday!",
        "What did I say today?",
        "What rope did I buy yesterday for the errand with the boat?",
    ],
)
async def test_message_that_asks_for_no_day_does_not_search_one(world: tuple[Site, Now, Caller], message: str) -> None:
    recalled, assembly = await found(world[2], message)
    assert not assembly.reading.days_searched
    assert TOLD[3][1] not in recalled


@pytest.mark.parametrize(
    ("zone", "now", "message", "said_at", "day"),
    [
        ("America/Los_Angeles", "2026-10-14T01:00", "What did I say yesterday?", "2026-10-13T04:00", "2026-10-12"),
        ("Pacific/Auckland", "2026-10-13T20:00", "What did I say yesterday?", "2026-10-12T12:00", "2026-10-13"),
        ("Europe/Berlin", "2026-10-26T09:00", "What did I say yesterday?", "2026-10-25T22:30", "2026-10-25"),
        ("Europe/Berlin", "2026-03-29T22:30", "What did I say yesterday?", "2026-03-28T23:30", "2026-03-29"),
        ("", "2026-10-14T01:00", "What did I say yesterday?", "2026-10-13T04:00", "2026-10-13"),
        # Midnight in UTC is that of a text with a day alone.
        ("America/Bogota", "2026-10-14T15:00", "What did I say yesterday?", "2026-10-13T00:00", "2026-10-13"),
        ("Asia/Tokyo", "2026-10-14T01:00", "What did I say yesterday?", "2026-10-13T00:00", "2026-10-13"),
    ],
)
async def test_days_are_those_of_the_users_time_zone(
    world: tuple[Site, Now, Caller], zone: str, now: str, message: str, said_at: str, day: str
) -> None:
    _, clock, caller = world
    thread_id = f"{zone} {now}"
    await said(caller, thread_id, (said_at, "The boiler leaks."), *FILLER[:4], ("2026-03-01T10:00", "Good night."))
    clock.at = at(now)
    try:
        recalled, assembly = await found(caller, message, thread_id=thread_id, time_zone=zone)
    finally:
        clock.at = WEDNESDAY
    assert list(assembly.reading.days) == [day]
    assert "The boiler leaks." in recalled
    assert f"Earlier in this thread, {day}" in str(assembly.system_blocks)


async def test_time_zone_that_is_not_known_is_refused(world: tuple[Site, Now, Caller]) -> None:
    for name in ("Mars/Olympus", "../etc/passwd", "America", "x" * 5000, "a\0b"):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await world[2].AssembleContext(asking("What was yesterday?", thread_id="t", time_zone=name))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT, name
        assert "time_zone" in refused.value.details()
