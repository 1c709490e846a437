"""Measures what agents find in their own notes, with the default profile.

`notes.json` holds stores of a hundred notes, as agents of different kinds keep them, written by people who did not know how notes
are recalled. No weights were fitted on them. The bars of `sensitivity` and the subjects of its training notes were chosen with
all stores in view but the last three; with these, only how lenience depends on the question. Each has direct questions and tasks
with the notes that they need, questions and tasks that no note bears on (half with a word of one), and small talk.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import uvloop

from bench.figures import Figure, at_least, at_most, plain
from bench.recall.asking import context_of
from bench.recall.cases import plain as plain_text
from bench.recall.cases import squash
from bench.recall.measuring import served
from bench.recall.world import QuestionToAsk, World
from sidecar.v1 import memory_pb2
from sidecar.v1.items_pb2 import SOURCE_MEMORY

_STORES = Path(__file__).with_name("notes.json")
_SOURCES = frozenset({"thread", "memory", "knowledge", "wiki"})
_EMBED_DEADLINE_S = 10.0  # notes are judged by vectors, which are late on a busy machine
_SPENDS = ("balanced", "frugal", "full")
_NEEDING, _NOT_NEEDING = ("questions", "tasks"), ("unrelated", "small talk")
_MOST_NOTHING, _LEAST_HELD = 0.01, 0.85
_UNSEEN = ("hospital data", "landlord", "novelist")


def run(*, scale: float) -> list[Figure]:
    """Return the share of the wanted notes that contexts hold, the share of questions left with none, and how often and how many
    tokens are recalled where no note is wanted, for each `spend`.
    """
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    stores: dict[str, Any] = json.loads(_STORES.read_text(encoding="utf-8"))
    names = list(stores)[: max(1, round(len(stores) * min(1.0, scale)))]
    found: dict[tuple[str, str, str], list[tuple[float, int]]] = defaultdict(list)
    async with served(embed_deadline_s=_EMBED_DEADLINE_S) as world:
        for name in names:
            notes = stores[name]["notes"].items()
            await world.put_memories(name, [memory_pb2.NewMemory(memory_id=key, text=text) for key, text in notes])
        await world.until_made(names)
        for name in names:
            for spend in _SPENDS:
                for kind in (*_NEEDING, *_NOT_NEEDING):
                    for asked in stores[name][kind]:
                        message, *wanted = asked if kind in _NEEDING else [asked]
                        question = QuestionToAsk(name, message, _SOURCES, None, thread="", spend=spend)
                        group = "unseen" if name in _UNSEEN else "in view"
                        found[group, spend, kind].append(await _asked(world, question, stores[name]["notes"], wanted))
    return [figure for key, outcomes in found.items() for figure in _figures(*key, outcomes)]


async def _asked(world: World, question: QuestionToAsk, notes: dict[str, str], wanted: list[str]) -> tuple[float, int]:
    """Return the share of the wanted notes that the context holds, as memories or on pages, and its recalled tokens."""
    assembly = await world.ask(question)
    ids = {item.id for item in assembly.items if item.source == SOURCE_MEMORY}
    text = plain_text(context_of(assembly))
    held = [key for key in wanted if f"memory:{key}" in ids or squash(notes[key]) in text]
    if wanted and not held:
        sys.stderr.write(f"left with nothing, {question.spend}, {question.owner}: {question.message}\n")
    return len(held) / max(1, len(wanted)), sum(item.tokens for item in assembly.items)


def _figures(group: str, spend: str, kind: str, outcomes: list[tuple[float, int]]) -> list[Figure]:
    count, note, title = len(outcomes), f"of {len(outcomes)}", f"stores {group}, {spend}: {kind}"
    tokens = plain(f"{title}: tokens recalled", sum(tokens for _, tokens in outcomes) / count)
    if kind in _NEEDING:
        nothing = sum(not share for share, _ in outcomes) / count
        is_bounded = (spend, kind) == ("balanced", "questions")
        left = f"{title}: left with none of the wanted notes"
        return [
            plain(f"{title}: wanted notes found", sum(share for share, _ in outcomes) / count, note=note),
            at_most(left, nothing, _MOST_NOTHING, note=note) if is_bounded else plain(left, nothing, note=note),
            tokens,
        ]
    silent = sum(not tokens for _, tokens in outcomes) / count
    is_bounded = (spend, kind) == ("balanced", "small talk")
    held = f"{title}: nothing recalled"
    return [at_least(held, silent, _LEAST_HELD, note=note) if is_bounded else plain(held, silent, note=note), tokens]
