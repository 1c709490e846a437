"""Measures the growth of the database: the bytes per stored turn or memory, with its pages, and per assembled context.

Conversations are written to a service with default settings and a worker; tables are measured with their indexes and TOAST.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from bench.figures import Figure, plain
from bench.recall.cases import Conversation, conversations
from bench.recall.measuring import served
from bench.recall.world import THREAD, QuestionToAsk, World
from store.db.postgres import installation

_SOURCES = frozenset({"thread", "knowledge", "memory", "wiki"})
_QUESTIONS = 200
_LEAST_BYTES = 20
SIZES = """
SELECT c.relname, pg_total_relation_size(c.oid)::float8 AS size FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
"""


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures; `scale` is the share of the conversations."""
    return uvloop.run(_measured(scale, data))


async def _measured(scale: float, data: Path) -> list[Figure]:
    chats = conversations(data)
    chats = chats[: max(1, round(len(chats) * scale))]
    turns, facts = (
        sum(len(part) for part in parts) for parts in zip(*((one.turns, one.facts) for one in chats), strict=True)
    )
    questions = _questions(chats, _QUESTIONS)
    async with served() as world:
        empty = await _sizes(world)
        for one in chats:
            await world.put_conversation(one)
        await world.until_made([one.name for one in chats])
        await world.compile(chats)
        stored = await _sizes(world)
        for question in questions:
            await world.ask(question)
        await world.app.receipt_writer.wait_written()
        answered = await _sizes(world)
    return [
        *_figures("a turn or memory", empty, stored, turns + facts, f"{turns} turns, {facts} memories"),
        *_figures("an assembled context", stored, answered, len(questions), f"{len(questions)} contexts"),
    ]


def _questions(chats: Sequence[Conversation], count: int) -> list[QuestionToAsk]:
    """Return so many of the conversations' questions, evenly spread, with the default budget."""
    every = [
        QuestionToAsk(one.name, each.text, _SOURCES, None, thread=THREAD) for one in chats for each in one.questions
    ]
    return every[:: max(1, len(every) // count)][:count]


async def _sizes(world: World) -> dict[str, float]:
    async with installation(world.app.pools.background, read_only=True) as connection:
        return {row["relname"]: row["size"] for row in await connection.fetch(SIZES)}


def _figures(
    title: str, before: Mapping[str, float], after: Mapping[str, float], count: int, note: str
) -> Iterator[Figure]:
    grown = {table: (size - before[table]) / count for table, size in after.items()}
    yield plain(f"{title}: bytes in all", sum(grown.values()), note=note)
    for table, size in sorted(grown.items(), key=lambda one: -one[1]):
        if size >= _LEAST_BYTES:
            yield plain(f"{title}: {table}", size)
