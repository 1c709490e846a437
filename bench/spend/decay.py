"""Measures how many tokens decay takes out of recall's first tier, and how much evidence is lost: a corpus of two years, before
and after the shipped policy has run.

The observations of all LoCoMo conversations are the candidate memories of one owner, at their own dates (March 2022 to January
2024). The second corpus is made of the telling turns of REALTALK's conversations, which are moved to five months apart. Half of
the questions are the history: they are asked first, with default settings, and their receipts show the policy which memories are
read. The other half is measured: each is asked of memories alone, so that no other source can hold the evidence, of an owner
with decayed memories and of one with the same memories untouched. A compressed memory leaves the first tier: it ranks below its
summary.
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
_DAYS_BEFORE, _DAYS_APART = 90, 150  # all memories are older than the policy's 30 days, whenever the benchmark runs
_LEAST_WEIGHT = 3  # the same as for the turns of episodes
_LEAST_SAVED, _MOST_LOST = 0.40, 0.01


@dataclass(frozen=True, slots=True)
class _GoldQuestion:
    """A question, and the texts of the observations of each of its gold turns."""

    text: str
    gold: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class _Recalled:
    """The sums over contexts: gold turns found by budget, gold turns in all, tokens of memories, and of compressed memories."""

    found: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    wanted: int = 0
    tokens: int = 0
    second_tier_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Decayed:
    """A run: tokens of the corpus, and of its first tier after decay; the number of summaries; recall before and after decay."""

    corpus_tokens: int
    first_tier_tokens: int
    groups: int
    before: _Recalled
    after: _Recalled


def run(*, scale: float, data: Path) -> list[Figure]:
    """Return the figures; `scale` is the share of the questions asked."""
    return [one for name in SETS for one in figures(name, uvloop.run(_measured(name, scale, data)))]


def figures(name: str, decayed: Decayed) -> list[Figure]:
    """Return the figures of a run on one of `SETS`."""
    saved = 1 - decayed.first_tier_tokens / decayed.corpus_tokens
    figures = [
        plain(f"{name}: tokens of the corpus", decayed.corpus_tokens),
        plain(
            f"{name}: tokens of its first tier after decay",
            decayed.first_tier_tokens,
            note=f"{decayed.groups} summaries",
        ),
        at_least(f"{name}: taken out of recall's first tier", saved, _LEAST_SAVED),
    ]
    for budget in BUDGETS:
        before = decayed.before.found[budget] / decayed.before.wanted
        after = decayed.after.found[budget] / decayed.after.wanted
        figures.append(
            plain(f"{name}: evidence at {budget // 1000}k before", before, note=f"of {decayed.before.wanted}")
        )
        figures.append(plain(f"{name}: evidence at {budget // 1000}k after", after))
        figures.append(at_most(f"{name}: evidence lost at {budget // 1000}k", before - after, _MOST_LOST))
    second = decayed.after.second_tier_tokens / max(1, decayed.after.tokens)
    figures.append(plain(f"{name}: share of contexts' tokens that are compressed sources", second))
    return figures


async def _measured(name: str, scale: float, data: Path) -> Decayed:
    chats = [_with_facts(one, place) for place, one in enumerate(conversations(data, name))]
    facts = {f"{one.name}-{place}": fact for one in chats for place, fact in enumerate(one.facts)}
    questions = some([question for one in chats for question in _questions(one)], scale)
    history, measured = questions[::2], questions[1::2]
    sizes = dict(zip(facts, count([one.text for one in facts.values()], "o200k_base"), strict=True))
    async with served() as world:
        for owner in (DECAYED, UNTOUCHED):
            await world.put_memories(owner, [_candidate(name, fact) for name, fact in facts.items()])
        await world.until_made([DECAYED, UNTOUCHED])
        for question in history:
            await world.ask(QuestionToAsk(DECAYED, question.text, frozenset({"memory"}), None, thread="none"))
        await world.app.receipt_writer.wait_written()
        groups = await world.decay(DECAYED)
        compressed = {one for group in groups for one in group.memory_ids}
        before = await _ask(world, UNTOUCHED, measured, set(), sizes)
        after = await _ask(world, DECAYED, measured, compressed, sizes)
        summaries = await world.summaries(DECAYED)
    first_tier = sum(tokens for one, tokens in sizes.items() if one not in compressed)
    first_tier += sum(count(list(summaries), "o200k_base"))
    return Decayed(sum(sizes.values()), first_tier, len(groups), before, after)


def _with_facts(conversation: Conversation, place: int) -> Conversation:
    """Return the conversation; if it has no observations, with its telling turns instead, moved back by five months a place."""
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


def _questions(conversation: Conversation) -> Iterator[_GoldQuestion]:
    """Yield the questions whose gold turns all have observations, with the texts of these."""
    for one in conversation.questions:
        gold = [tuple(squash(fact.text) for fact in conversation.facts if turn in fact.turns) for turn in one.gold]
        if one.category != ADVERSARIAL and all(gold) and gold:
            yield _GoldQuestion(one.text, tuple(gold))


async def _ask(
    world: World, owner: str, questions: Sequence[_GoldQuestion], compressed: set[str], sizes: dict[str, int]
) -> _Recalled:
    """Ask the questions at every budget, and return the sums. `sizes` are tokens by memory id."""
    sums, gate = _Recalled(), asyncio.Semaphore(_AT_ONCE)

    async def one(question: _GoldQuestion) -> None:
        async with gate:
            for budget in BUDGETS:
                request = QuestionToAsk(
                    owner, question.text, frozenset({"memory"}), budget, thread="none", spend="full"
                )
                assembly = await world.ask(request)
                context = squash(context_of(assembly))
                sums.found[budget] += sum(any(text in context for text in gold) for gold in question.gold)
                kept = [item.id.removeprefix("memory:") for item in assembly.items if item.source == SOURCE_MEMORY]
                sums.tokens += sum(sizes.get(name, 0) for name in kept)
                sums.second_tier_tokens += sum(sizes.get(name, 0) for name in kept if name in compressed)
        sums.wanted += len(question.gold)

    async with asyncio.TaskGroup() as tasks:
        for question in questions:
            tasks.create_task(one(question))
    return sums
