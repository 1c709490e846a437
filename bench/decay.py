"""What decay takes out of recall, and what evidence it costs: a corpus of two years, before and after the shipped policy ran.

The observations of all LoCoMo conversations are the candidate memories of one owner, at their own dates (March 2022 to January
2024). A second corpus are the telling turns of REALTALK's conversations, by other people, with five months between two of them.
Half of the questions are the history: they were asked before, as a turn is installed, and their receipts tell the policy what is
read. The other half measure: each is asked of memories alone, so that nothing else can hold the evidence, of an owner whose
memories decayed and of one whose did not. A compressed source is out of the first tier of recall: it stands below its summary.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import uvloop

from bench.figures import Figure, at_least, at_most, plain
from bench.recall.asking import context_of, some
from bench.recall.cases import ADVERSARIAL, SETS, Conversation, Fact, conversations, squash
from bench.recall.measuring import served
from bench.recall.world import QuestionToAsk, World
from models.tokens.encodings import count
from sidecar.v1 import memory_pb2
from sidecar.v1.items_pb2 import SOURCE_MEMORY
from store.text.texts import telling_weight

BUDGETS = (1_000, 2_000, 4_000)
DECAYED, UNTOUCHED = "two years", "two years untouched"
_AT_ONCE = 2
_DAYS_BEFORE, _DAYS_APART = 90, 150  # all are older than the policy's 30 days, whenever the bench runs
_LEAST_WEIGHT = 3  # as episodes take a turn
_LEAST_SAVED, _MOST_LOST = 0.40, 0.01


@dataclass(frozen=True, slots=True)
class _AskedFor:
    """A question, and the observations of each of its gold turns."""

    text: str
    gold: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class _Recalled:
    """What contexts held: evidence by budget, and tokens of the memories and of those that were compressed."""

    found: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    wanted: int = 0
    tokens: int = 0
    second_tier_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Decayed:
    """A run: tokens of the corpus and of its first tier after decay, and what contexts held before and after."""

    corpus_tokens: int
    left_tokens: int
    groups: int
    before: _Recalled
    after: _Recalled


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures; `scale` is the share of the questions asked."""
    return [one for name in SETS for one in figures(name, uvloop.run(_measured(name, scale, data)))]


def figures(name: str, told: Decayed) -> list[Figure]:
    """Return the figures of a run on one of `SETS`."""
    saved = 1 - told.left_tokens / told.corpus_tokens
    figures = [
        plain(f"{name}: tokens of the corpus", told.corpus_tokens),
        plain(f"{name}: tokens of its first tier after decay", told.left_tokens, note=f"{told.groups} summaries"),
        at_least(f"{name}: taken out of recall's first tier", saved, _LEAST_SAVED),
    ]
    for budget in BUDGETS:
        before = told.before.found[budget] / told.before.wanted
        after = told.after.found[budget] / told.after.wanted
        figures.append(plain(f"{name}: evidence at {budget // 1000}k before", before, note=f"of {told.before.wanted}"))
        figures.append(plain(f"{name}: evidence at {budget // 1000}k after", after))
        figures.append(at_most(f"{name}: evidence lost at {budget // 1000}k", before - after, _MOST_LOST))
    second = told.after.second_tier_tokens / max(1, told.after.tokens)
    figures.append(plain(f"{name}: share of contexts' tokens that are compressed sources", second))
    return figures


async def _measured(name: str, scale: float, data: Path) -> Decayed:
    told = [_remembered(one, place) for place, one in enumerate(conversations(data, name))]
    facts = {f"{one.name}-{place}": fact for one in told for place, fact in enumerate(one.facts)}
    asked = some([question for one in told for question in _questions(one)], scale)
    history, measured = asked[::2], asked[1::2]
    texts = dict(zip(facts, count([one.text for one in facts.values()], "o200k_base"), strict=True))
    async with served() as world:
        for owner in (DECAYED, UNTOUCHED):
            await world.put_memories(owner, [_candidate(name, fact) for name, fact in facts.items()])
        await world.until_made([DECAYED, UNTOUCHED])
        for question in history:
            await world.ask(QuestionToAsk(DECAYED, question.text, frozenset({"memory"}), None, thread="none"))
        await world.app.receipt_writer.wait_written()
        groups = await world.decay(DECAYED)
        compressed = {one for group in groups for one in group.memory_ids}
        before = await _ask(world, UNTOUCHED, measured, set(), texts)
        after = await _ask(world, DECAYED, measured, compressed, texts)
        made = await world.summaries(DECAYED)
    left = sum(tokens for one, tokens in texts.items() if one not in compressed)
    left += sum(count(list(made), "o200k_base"))
    return Decayed(sum(texts.values()), left, len(groups), before, after)


def _remembered(conversation: Conversation, place: int) -> Conversation:
    """Return a conversation with its observations; without any, with its telling turns, five months before the one before it."""
    if conversation.facts:
        return conversation
    earlier = timedelta(days=_DAYS_BEFORE + _DAYS_APART * place)
    facts = [
        Fact(f"{turn.speaker}: {turn.text}", turn.at - earlier, (number,))
        for number, turn in enumerate(conversation.turns)
        if telling_weight(turn.text) >= _LEAST_WEIGHT
    ]
    return replace(conversation, facts=tuple(facts))


def _candidate(name: str, fact: Fact) -> memory_pb2.NewMemory:
    new = memory_pb2.NewMemory(memory_id=name, text=fact.text, status=memory_pb2.MEMORY_STATUS_CANDIDATE)
    new.occurred_time.FromDatetime(fact.at)
    return new


def _questions(conversation: Conversation) -> Iterator[_AskedFor]:
    """Yield the questions that observations can answer, each with the texts that hold each of its gold turns."""
    for one in conversation.questions:
        gold = [tuple(squash(fact.text) for fact in conversation.facts if turn in fact.turns) for turn in one.gold]
        if one.category != ADVERSARIAL and all(gold) and gold:
            yield _AskedFor(one.text, tuple(gold))


async def _ask(
    world: World, owner: str, asked: Sequence[_AskedFor], compressed: set[str], texts: dict[str, int]
) -> _Recalled:
    told, gate = _Recalled(), asyncio.Semaphore(_AT_ONCE)

    async def one(question: _AskedFor) -> None:
        async with gate:
            for budget in BUDGETS:
                asking = QuestionToAsk(owner, question.text, frozenset({"memory"}), budget, thread="none", spend="full")
                assembly = await world.ask(asking)
                context = squash(context_of(assembly))
                told.found[budget] += sum(any(text in context for text in gold) for gold in question.gold)
                kept = [item.id.removeprefix("memory:") for item in assembly.items if item.source == SOURCE_MEMORY]
                told.tokens += sum(texts.get(name, 0) for name in kept)
                told.second_tier_tokens += sum(texts.get(name, 0) for name in kept if name in compressed)
        told.wanted += len(question.gold)

    async with asyncio.TaskGroup() as tasks:
        for question in asked:
            tasks.create_task(one(question))
    return told
