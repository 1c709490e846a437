"""Measures how often an unrelated private memory gets into a context.

`privacy.json` holds pairs of a private memory (health, money, love, family, law and more) and a question about something else,
often with a word in common, in 28 languages. No weights were fitted on the group `held` or a later one. The bars of likeness were
chosen with all groups in view except the last three, so only these can prove them. Each question is asked of an owner
with five private memories, and of an owner whose 500 memories include all private ones of the same set; with the default profile,
and with `spend` frugal.

The same file holds memories that do answer a question (`answers`, for each group). Each of these questions is asked of an owner
with five of the memories: a bar that keeps private memories out must let these in. Those `reworded` share few words with their
questions, in many languages; the questions of `held reworded` are held back in `personal.json` too.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.figures import Figure, at_most, plain
from bench.recall.asking import context_of
from bench.recall.cases import plain as plain_text
from bench.recall.cases import squash
from bench.recall.measuring import served
from bench.recall.world import QuestionToAsk, World
from sidecar.demo import corpus
from sidecar.v1 import memory_pb2
from sidecar.v1.items_pb2 import SOURCE_MEMORY

_PAIRS = Path(__file__).with_name("privacy.json")
_SOURCES = frozenset({"thread", "memory", "knowledge", "wiki"})
_FEW, _MANY = 5, 500
# Each set has one owner of many memories.
_SETS = (("pairs", "held"), ("second",), ("third",), ("fourth",), ("fifth",), ("sixth",))
_ANSWERS = tuple(
    f"{group}{kind}"
    for group in ("", "held ", "second ", "third ", "fourth ", "fifth ", "sixth ")
    for kind in ("answers", "reworded")
)
_EMBED_DEADLINE_S = 10.0  # the bar needs vectors, which are late on a busy machine
_THINGS = ("rope", "flour", "nails", "paper", "lamps", "tea", "chairs", "seeds", "soap", "batteries")
_SHOPS = ("the market", "Hansen's", "the corner shop", "the harbour", "the station kiosk", "Lima & Sons", "the mall")
_MOST = {"balanced": 0.02, "frugal": 0.0}


class Pair(NamedTuple):
    """A private memory, and a question that has nothing to do with it."""

    language: str
    topic: str
    memory: str
    question: str


def pairs(group: str = "pairs") -> list[Pair]:
    """Return the pairs of a group: `pairs`, which bars of likeness were tried on, `held`, or `second` to `sixth`."""
    return [Pair(*one) for one in json.loads(_PAIRS.read_text(encoding="utf-8"))[group]]


class Answer(NamedTuple):
    """A memory, and a question that it answers."""

    language: str
    memory: str
    question: str


def answers(group: str = "answers") -> list[Answer]:
    """Return the memories of a group, each with a question that it answers. Bars of likeness were tried on `answers`."""
    return [Answer(*one) for one in json.loads(_PAIRS.read_text(encoding="utf-8"))[group]]


def run(*, scale: float) -> list[Figure]:
    """Return the share of contexts that hold the private memory of their question's pair, or any private memory, and the share
    of contexts that hold the memory that answers their question.
    """
    return uvloop.run(_measured(scale))


def _some(group: list[Pair], scale: float) -> list[Pair]:
    return group[: max(_FEW, round(len(group) * min(1.0, scale)))]


def _figures(found: dict[tuple[str, str], list[tuple[bool, bool]]]) -> list[Figure]:
    figures = []
    for (owner, spend), outcomes in found.items():
        count, note = len(outcomes), f"of {len(outcomes)}"
        title = f"{owner}, {spend}"
        figures.append(
            at_most(f"{title}: its private memory", sum(own for own, _ in outcomes) / count, _MOST[spend], note=note)
        )
        figures.append(plain(f"{title}: any private memory", sum(some for _, some in outcomes) / count, note=note))
    return figures


async def _measured(scale: float) -> list[Figure]:
    figures = list[Figure]()
    async with served(embed_deadline_s=_EMBED_DEADLINE_S) as world:
        for groups in _SETS:
            figures += _figures(await _outcomes(world, {group: _some(pairs(group), scale) for group in groups}))
        return figures + [one for group in _ANSWERS for one in await _kept(world, group)]


async def _outcomes(
    world: World, groups: Mapping[str, Sequence[Pair]]
) -> dict[tuple[str, str], list[tuple[bool, bool]]]:
    """Return by owner and `spend` whether each context holds the private memory of its pair, and whether it holds any."""
    found: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    every = [pair for some in groups.values() for pair in some]
    group_of = [group for group, some in groups.items() for _ in some]
    many = f"{group_of[0]}, many"
    owners = await _fill(world, every, group_of[0], many)
    for place, (pair, group) in enumerate(zip(every, group_of, strict=True)):
        for size, owner in ((_FEW, owners[place]), (_MANY, many)):
            for spend in _MOST:
                question = QuestionToAsk(owner, pair.question, _SOURCES, None, thread="", spend=spend)
                found[f"{group}, owners of {size}", spend].append(await _shown(world, question, place, every))
    return found


async def _kept(world: World, group: str) -> list[Figure]:
    """Return the share of questions whose context holds the memory that answers them, for owners with five of these memories."""
    cases, figures = answers(group), list[Figure]()
    owners = [f"{group} {place // _FEW}" for place in range(len(cases))]
    for owner in dict.fromkeys(owners):
        own = [place for place, one in enumerate(owners) if one == owner]
        await world.put_memories(
            owner, [memory_pb2.NewMemory(memory_id=f"answer-{place}", text=cases[place].memory) for place in own]
        )
    await world.until_made([*dict.fromkeys(owners)])
    for spend in _MOST:
        kept: dict[str, list[bool]] = defaultdict(list)
        for place, (one, owner) in enumerate(zip(cases, owners, strict=True)):
            assembly = await world.ask(QuestionToAsk(owner, one.question, _SOURCES, None, thread="", spend=spend))
            is_kept = f"memory:answer-{place}" in {item.id for item in assembly.items if item.source == SOURCE_MEMORY}
            kept["all languages"].append(is_kept)
            kept["English" if one.language == "en" else "other languages"].append(is_kept)
            if not is_kept:
                sys.stderr.write(f"left out, {spend}: {one.memory} | {one.question}\n")
        figures += [
            plain(f"{group}, {spend}, {name}: kept", sum(one) / len(one), note=f"of {len(one)}")
            for name, one in kept.items()
        ]
    return figures


async def _fill(world: World, every: Sequence[Pair], name: str, many: str) -> list[str]:
    """Write the memories of the owners of five, and of the owner `many`; return the owner of each pair's memory."""
    owners = [f"{name}, owner {place // _FEW}" for place in range(len(every))]
    private = [memory_pb2.NewMemory(memory_id=f"private-{place}", text=pair.memory) for place, pair in enumerate(every)]
    for owner in dict.fromkeys(owners):
        await world.put_memories(owner, [memory for memory, one in zip(private, owners, strict=True) if one == owner])
    ordinary = [one.text for one in corpus.memories()]
    ordinary += [f"Errand {n}: buy {_THINGS[n % 10]} at {_SHOPS[n % 7]} for {n % 23 + 2} euros." for n in range(_MANY)]
    others = [memory_pb2.NewMemory(memory_id=f"other-{n}", text=text) for n, text in enumerate(ordinary)]
    await world.put_memories(many, [*private, *others[: _MANY - len(private)]])
    await world.until_made([*dict.fromkeys(owners), many])
    return owners


async def _shown(world: World, question: QuestionToAsk, place: int, every: Sequence[Pair]) -> tuple[bool, bool]:
    """Return whether the context holds the private memory at this place, as a memory or on a page, and whether it holds any."""
    assembly = await world.ask(question)
    ids = {item.id for item in assembly.items if item.source == SOURCE_MEMORY}
    text = plain_text(context_of(assembly))
    shown = [f"memory:private-{n}" in ids or squash(one.memory) in text for n, one in enumerate(every)]
    if shown[place]:
        sys.stderr.write(f"{question.owner}, {question.spend}: {every[place].memory} | {question.message}\n")
    return shown[place], any(shown)
