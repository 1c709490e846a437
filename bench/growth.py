"""What grows with use: the bytes that a stored turn, a memory with its pages, and an assembled context leave in the database.

Conversations are written as they are installed, worker on; tables are measured with their indexes and large values.
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
    told = conversations(data)
    told = told[: max(1, round(len(told) * scale))]
    turns, facts = (
        sum(len(part) for part in parts) for parts in zip(*((one.turns, one.facts) for one in told), strict=True)
    )
    asked = _questions(told, _QUESTIONS)
    async with served() as world:
        empty = await _sizes(world)
        for one in told:
            await world.put_conversation(one)
        await world.until_made([one.name for one in told])
        await world.compile(told)
        stored = await _sizes(world)
        for question in asked:
            await world.ask(question)
        await world.app.receipt_writer.wait_written()
        answered = await _sizes(world)
    return [
        *_figures("a turn or memory", empty, stored, turns + facts, f"{turns} turns, {facts} memories"),
        *_figures("an assembled context", stored, answered, len(asked), f"{len(asked)} contexts"),
    ]


def _questions(told: Sequence[Conversation], count: int) -> list[QuestionToAsk]:
    """Return the conversations' questions in turns, with the default budget."""
    asked = [
        QuestionToAsk(one.name, each.text, _SOURCES, None, thread=THREAD) for one in told for each in one.questions
    ]
    return asked[:: max(1, len(asked) // count)][:count]


async def _sizes(world: World) -> dict[str, float]:
    async with installation(world.app.pools.background, read_only=True) as connection:
        return {row["relname"]: row["size"] for row in await connection.fetch(SIZES)}


def _figures(
    what: str, before: Mapping[str, float], after: Mapping[str, float], count: int, note: str
) -> Iterator[Figure]:
    grown = {table: (size - before[table]) / count for table, size in after.items()}
    yield plain(f"{what}: bytes in all", sum(grown.values()), note=note)
    for table, size in sorted(grown.items(), key=lambda one: -one[1]):
        if size >= _LEAST_BYTES:
            yield plain(f"{what}: {table}", size)
