"""Our own talks, whose next message leans on the talk; a memory of the person answers it, or nothing that is stored does.

`leaning_talks.json` holds people with 50 or 60 memories and 14 talks each; half of the people are fitted on, half are held back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall.world import World
from sidecar.v1 import context_pb2, memory_pb2

FILE = Path(__file__).with_name("leaning_talks.json")
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Talk:
    """A talk so far, as roles and texts, and the next message with its answers.

    `answers` are positions in the person's memories; `answered_in` is "memory", "thread" or "nowhere".
    """

    thread: tuple[tuple[str, str], ...]
    message: str
    answers: tuple[int, ...]
    answered_in: str


@dataclass(frozen=True, slots=True)
class Person:
    """An owner with memories and talks. The thread of the talk at position N has the id `talk-N`."""

    name: str
    language: str
    memories: tuple[str, ...]
    talks: tuple[Talk, ...]

    def memory_id(self, place: int) -> str:
        """Return the id of the memory at a position."""
        return f"{self.name}-{place}"


def people(half: str) -> list[Person]:
    """Return the people of a half, `fitted` or `held`."""
    read = json.loads(FILE.read_text(encoding="utf-8"))[half]
    return [
        Person(one["name"], one["language"], tuple(one["memories"]), tuple(map(_talk, one["talks"]))) for one in read
    ]


async def fill(world: World, everyone: Sequence[Person]) -> None:
    """Write the people's memories and talks, and wait until the worker has made the vectors."""
    for person in everyone:
        memories = [
            memory_pb2.NewMemory(memory_id=person.memory_id(place), text=text)
            for place, text in enumerate(person.memories)
        ]
        await world.put_memories(person.name, memories)
        for number, talk in enumerate(person.talks):
            turns = [
                context_pb2.NewTurn(client_turn_id=f"{person.name}-{number}-{place}", role=role, text=text)
                for place, (role, text) in enumerate(talk.thread)
            ]
            await world.put_turns(person.name, f"talk-{number}", turns)
    await world.until_made([person.name for person in everyone])


def _talk(read: dict) -> Talk:  # type: ignore[type-arg]  # plain JSON
    thread = tuple((role, text) for role, text in read["thread"])
    return Talk(thread, read["message"], tuple(read["answers"]), read["answered_in"])
