"""Follow-up questions about a text, asked with the dialog so far as their thread. Each dialog's text is a document of one base.

An answer counts as found if its text is in the knowledge items of a context within the budget.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall.asking import context_of
from bench.recall.cases import squash
from bench.recall.tally import Found, Journal, Outcome, Tally
from bench.recall.world import QuestionToAsk, World
from models.tokens.encodings import count
from sidecar.v1 import context_pb2
from sidecar.v1.items_pb2 import SOURCE_KNOWLEDGE

FOLLOW_UPS = "followups"
VARIANTS = ("follow-ups", "follow-ups, half of each answer", "follow-ups, users' turns only")
"""The threads in which a follow-up is asked: the dialog so far, the same with half of each answer's words, without answers."""

OWNER = "reader"
_BUDGETS = (1_000, 2_000)
_SOURCES = frozenset({"thread", "knowledge"})
_LEAST_CHARS = 20  # a shorter answer may be in the base by chance
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as typed, the same rewritten by people to stand alone, and the words of the text that answer it."""

    typed: str
    rewritten: str
    answer: str


@dataclass(frozen=True, slots=True)
class Dialog:
    """A text, and the questions about it in order."""

    name: str
    title: str
    text: str
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up question: its dialog, and the position of its exchange there, which is at least 1."""

    dialog: Dialog
    place: int

    @property
    def exchange(self) -> Exchange:
        """The question and its answer."""
        return self.dialog.exchanges[self.place]

    def thread(self, variant: str) -> str:
        """Return the id of its thread in one of `VARIANTS`."""
        return f"{self.dialog.name}-{self.place}-{VARIANTS.index(variant)}"

    def turns(self, variant: str) -> list[context_pb2.NewTurn]:
        """Return the turns of the dialog before the question, in one of `VARIANTS`."""
        turns = []
        for place, exchange in enumerate(self.dialog.exchanges[: self.place]):
            turns.append(_turn(f"q{place}", "user", exchange.typed))
            answer = _halved(exchange.answer) if variant == VARIANTS[1] else exchange.answer
            if variant != VARIANTS[2] and answer:
                turns.append(_turn(f"a{place}", "assistant", answer))
        return turns


def dialogs(data: Path) -> list[Dialog]:
    """Return the dialogs of the data."""
    read = json.loads((data / FOLLOW_UPS / "dialogs.json").read_text(encoding="utf-8"))
    return [
        Dialog(
            one["id"],
            one["title"],
            one["text"],
            tuple(Exchange(turn["q"], turn["rewrite"], turn["a"]) for turn in one["turns"]),
        )
        for one in read
    ]


def questions(read_dialogs: Iterable[Dialog]) -> list[FollowUp]:
    """Return every follow-up whose answer is longer than 20 characters and does not repeat an earlier one."""
    follow_ups = []
    for dialog in read_dialogs:
        answers = [exchange.answer for exchange in dialog.exchanges]
        follow_ups += [
            FollowUp(dialog, place)
            for place, answer in enumerate(answers)
            if place and len(answer) > _LEAST_CHARS and answer not in answers[:place]
        ]
    return follow_ups


async def fill(
    world: World, read_dialogs: Iterable[Dialog], chosen: Sequence[FollowUp], variants: Sequence[str] = VARIANTS
) -> None:
    """Write every dialog's text, and for each of the chosen questions a thread in each of the variants; wait for the worker."""
    await put(world, read_dialogs, chosen, variants)
    await world.until_made([OWNER])


async def put(
    world: World, read_dialogs: Iterable[Dialog], chosen: Sequence[FollowUp], variants: Sequence[str] = VARIANTS
) -> None:
    """Write as `fill` does, without waiting for the worker."""
    await world.put_base({f"{one.name}.md": f"# {one.title}\n\n{one.text}\n".encode() for one in read_dialogs})
    for question in chosen:
        for variant in variants:
            await world.put_turns(OWNER, question.thread(variant), question.turns(variant))


async def ask(world: World, journal: Journal, tally: Tally, chosen: Sequence[FollowUp], *, spend: str) -> None:
    """Ask every follow-up as typed in each variant of its thread, and without a thread as typed and as rewritten.

    Its rewrite is also asked in its own thread and in that of another question.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(question: FollowUp, name: str, message: str, thread: str) -> None:
        key = (question.dialog.name, question.place, name)
        outcome = journal.get(*key)
        if outcome is None:
            async with gate:
                outcome = await _found(world, question, name, (message, thread, spend))
            journal.put(outcome, *key)
        tally.add(outcome)

    async with asyncio.TaskGroup() as tasks:
        for place, question in enumerate(chosen):
            typed, rewritten = question.exchange.typed, question.exchange.rewritten
            stranger = chosen[place - 1].thread(VARIANTS[0])
            for variant in VARIANTS:
                tasks.create_task(one(question, variant, typed, question.thread(variant)))
            tasks.create_task(one(question, "follow-ups without a thread", typed, ""))
            tasks.create_task(one(question, "rewritten, without a thread", rewritten, ""))
            tasks.create_task(one(question, "rewritten, in its thread", rewritten, question.thread(VARIANTS[0])))
            tasks.create_task(one(question, "rewritten, in a stranger's thread", rewritten, stranger))


async def _found(world: World, question: FollowUp, name: str, how: tuple[str, str, str]) -> Outcome:
    message, thread, spend = how
    found, over_budget = [], 0
    for budget in _BUDGETS:
        assembly = await world.ask(QuestionToAsk(OWNER, message, _SOURCES, budget, thread=thread, spend=spend))
        is_over = count([context_of(assembly)], "o200k_base")[0] > budget
        text = squash(" ".join(item.text for item in assembly.items if item.source == SOURCE_KNOWLEDGE))
        over_budget += is_over
        there = squash(question.exchange.answer) in text and not is_over
        found.append(Found(name, "found", budget, int(there), 1))
    return Outcome(tuple(found), len(_BUDGETS), over_budget)


def _turn(turn_id: str, role: str, text: str) -> context_pb2.NewTurn:
    return context_pb2.NewTurn(client_turn_id=turn_id, role=role, text=text)


def _halved(text: str) -> str:
    """Return half of the words of the text, drawn at random, in their order; the same ones every time."""
    words = text.split()
    kept = sorted(random.Random(text).sample(range(len(words)), len(words) // 2))
    return " ".join(words[place] for place in kept)
