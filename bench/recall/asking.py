"""Asks every question through the RPC in several scenarios, and scores the evidence in the contexts.

`verbatim` counts the gold turns whose text is in the context; `coverage` also those whose observation is there, as a memory or
word for word on a wiki page.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.recall.baselines import Baselines
from bench.recall.cases import ADVERSARIAL, Conversation, DocumentQuestion, Question, plain, squash
from bench.recall.tally import Found, Journal, Outcome, Tally
from bench.recall.world import QuestionToAsk, World
from models.tokens.encodings import count
from sidecar.v1 import context_pb2
from sidecar.v1.items_pb2 import SOURCE_MEMORY

BUDGETS = (1_000, 2_000, 4_000, 8_000)
_AT_ONCE = 2
_COMPARED = 0.2  # the share of the questions asked in scenarios that only serve as comparison

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scenario:
    """The sources that take part, the budget's allocation, and the share of the questions asked."""

    sources: frozenset[str]
    allocation: str = "priority"
    share: float = 1.0


def _of(*sources: str, allocation: str = "priority", share: float = 1.0) -> Scenario:
    return Scenario(frozenset(sources), allocation, share)


OF_CONVERSATIONS = {
    "turns": _of("thread"),
    "turns + facts": _of("thread", "memory"),
    "turns, documents compete": _of("thread", "knowledge"),
    "turns + facts, documents compete": _of("thread", "memory", "knowledge"),
    "turns, documents compete, pooled": _of("thread", "knowledge", allocation="pooled"),
    "turns + facts, pooled": _of("thread", "memory", allocation="pooled", share=_COMPARED),
    "turns, documents compete, seed_order": _of("thread", "knowledge", allocation="seed_order", share=_COMPARED),
}
WITH_WIKI = {
    "turns + wiki": _of("thread", "wiki"),
    "turns + facts + wiki": _of("thread", "memory", "wiki"),
}
OF_DOCUMENTS = {
    "documents alone": _of("knowledge"),
    "documents, turns compete": _of("thread", "knowledge"),
    "documents, turns + facts compete": _of("thread", "memory", "knowledge", share=_COMPARED),
    "documents, turns compete, pooled": _of("thread", "knowledge", allocation="pooled"),
    "documents, turns compete, seed_order": _of("thread", "knowledge", allocation="seed_order", share=_COMPARED),
}


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The options of every question: the knob `spend`, and each budget in tokens."""

    spend: str = "full"
    budgets: tuple[int, ...] = BUDGETS


class Asker:
    """Asks the questions of one run, except those whose outcome is in the journal."""

    def __init__(
        self, world: World, journal: Journal, tally: Tally, options: AskOptions, *, share: float, with_wiki: bool
    ) -> None:
        self._world = world
        self._journal = journal
        self._tally = tally
        self._options = options
        self._share = share
        self._of_conversations = OF_CONVERSATIONS | (WITH_WIKI if with_wiki else {})
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def conversation(self, conversation: Conversation) -> None:
        """Ask a conversation's questions in every scenario and budget."""
        async with asyncio.TaskGroup() as tasks:
            for name, scenario in self._of_conversations.items():
                if "memory" in scenario.sources and not conversation.facts:
                    continue
                for question in some(conversation.questions, self._share * scenario.share):
                    if question.category != ADVERSARIAL or name == "turns":
                        one = _ConversationQuestion(self._world, self._options, name, scenario, conversation, question)
                        tasks.create_task(self._once(one.ask, conversation.name, name, question.text, question.gold))

    async def documents(self, questions: Sequence[DocumentQuestion], beside: str) -> None:
        """Ask the corpora's questions in the unrelated conversation `beside`."""
        async with asyncio.TaskGroup() as tasks:
            for name, scenario in OF_DOCUMENTS.items():
                for question in some(questions, self._share * scenario.share):
                    one = _CorpusQuestion(self._world, self._options, name, scenario, beside, question)
                    tasks.create_task(self._once(one.ask, beside, name, question.corpus, question.text))

    async def baselines(self, conversation: Conversation, baselines: Baselines) -> None:
        """Score the baselines on the same questions."""
        await baselines.read()
        for question in some(conversation.questions, self._share):
            if question.category != ADVERSARIAL:
                ask = _BaselineQuestion(baselines, self._options, conversation, question).ask
                await self._once(ask, conversation.name, "baselines", question.text, question.gold)

    async def _once(self, ask: Callable[[], Awaitable[Outcome]], *key: object) -> None:
        outcome = self._journal.get(*key)
        if outcome is None:
            async with self._gate:
                outcome = await ask()
            self._journal.put(outcome, *key)
        self._tally.add(outcome)


@dataclass(frozen=True, slots=True)
class _ConversationQuestion:
    world: World
    options: AskOptions
    name: str
    scenario: Scenario
    conversation: Conversation
    question: Question

    async def ask(self) -> Outcome:
        """Return the outcome at every budget."""
        found: list[Found] = []
        misses: list[dict[str, object]] = []
        over_budget = 0
        for budget in self.options.budgets:
            assembly = await self.world.ask(_request(self, self.conversation.name, budget))
            is_too_large = is_over(assembly, budget)
            over_budget += is_too_large
            verbatim, covered = (set[int](), set[int]()) if is_too_large else self._evidence(assembly)
            found += self._found(budget, verbatim, covered)
            if (
                self.name == "turns"
                and self.question.category != ADVERSARIAL
                and len(verbatim) < len({*self.question.gold})
            ):
                misses.append(self._miss(budget, verbatim))
        return Outcome(tuple(found), len(self.options.budgets), over_budget, tuple(misses))

    def _evidence(self, assembly: context_pb2.Assembly) -> tuple[set[int], set[int]]:
        """Return the positions of the gold turns in the context verbatim, and of those in it verbatim or by an observation."""
        context = squash(context_of(assembly))
        gold = {*self.question.gold}
        verbatim = {place for place in gold if squash(self.conversation.turns[place].text) in context}
        covered = verbatim | (_kept(assembly, self.conversation) & gold)
        if "wiki" in self.scenario.sources:
            plain_text = plain(context)
            facts = (fact for fact in self.conversation.facts if gold.intersection(fact.turns))
            covered |= {turn for fact in facts if squash(fact.text) in plain_text for turn in fact.turns} & gold
        return verbatim, covered

    def _found(self, budget: int, verbatim: set[int], covered: set[int]) -> list[Found]:
        gold = self.question.gold
        is_adversarial = self.question.category == ADVERSARIAL
        title = f"{self.name}: adversarial" if is_adversarial else self.name
        results = [Found(title, "verbatim", budget, sum(place in verbatim for place in gold), len(gold))]
        if self.scenario.sources & {"memory", "wiki"}:
            results.append(Found(title, "coverage", budget, sum(place in covered for place in gold), len(gold)))
        if self.name == "turns" and not is_adversarial:
            title = f"turns: category {self.question.category}"
            results.append(Found(title, "verbatim", budget, len(verbatim), len({*gold})))
        return results

    def _miss(self, budget: int, verbatim: set[int]) -> dict[str, object]:
        missing = [self.conversation.turns[place].text for place in self.question.gold if place not in verbatim]
        return {
            "budget": budget,
            "question": self.question.text,
            "category": self.question.category,
            "gold": len(self.question.gold),
            "missing": missing,
        }


@dataclass(frozen=True, slots=True)
class _CorpusQuestion:
    world: World
    options: AskOptions
    name: str
    scenario: Scenario
    beside: str
    question: DocumentQuestion

    async def ask(self) -> Outcome:
        """Return the outcome at every budget."""
        found, over_budget = [], 0
        wanted = sum(map(len, self.question.sentences))
        for budget in self.options.budgets:
            assembly = await self.world.ask(_request(self, self.beside, budget))
            is_too_large = is_over(assembly, budget)
            over_budget += is_too_large
            context = "" if is_too_large else squash(context_of(assembly))
            there = sum(len(one) for one in self.question.sentences if one in context)
            found.append(Found(self.name, "verbatim", budget, there, wanted))
        return Outcome(tuple(found), len(self.options.budgets), over_budget)


@dataclass(frozen=True, slots=True)
class _BaselineQuestion:
    baselines: Baselines
    options: AskOptions
    conversation: Conversation
    question: Question

    async def ask(self) -> Outcome:
        """Return the outcome of every baseline at every budget."""
        gold = [squash(self.conversation.turns[place].text) for place in self.question.gold]
        found = []
        for name, order in (await self.baselines.orders(self.question.text)).items():
            for budget in self.options.budgets:
                context = squash(self.baselines.fill(order, budget))
                there = sum(text in context for text in gold)
                found.append(Found(f"baseline: {name}", "verbatim", budget, there, len(gold)))
        return Outcome(tuple(found))


def _request(one: _ConversationQuestion | _CorpusQuestion, owner: str, budget: int) -> QuestionToAsk:
    scenario = one.scenario
    return QuestionToAsk(
        owner, one.question.text, scenario.sources, budget, scenario.allocation, spend=one.options.spend
    )


def some(questions: Iterable[T], share: float) -> list[T]:
    """Return a share of the questions, the same ones every time."""
    every = list(questions)
    if share >= 1 or not every:
        return every
    return random.Random(7).sample(every, max(1, round(len(every) * share)))


def context_of(assembly: context_pb2.Assembly) -> str:
    """Return the whole text of the context, as it would be sent to a model."""
    blocks = [block.text for block in assembly.system_blocks]
    return "".join([*blocks, *(f"{message.role}: {message.text}\n" for message in assembly.messages)])


def is_over(assembly: context_pb2.Assembly, budget_tokens: int) -> bool:
    """Return whether the context is larger than its budget."""
    return count([context_of(assembly)], "o200k_base")[0] > budget_tokens


def _kept(assembly: context_pb2.Assembly, conversation: Conversation) -> set[int]:
    """Return the positions of the turns that the facts in the context were drawn from."""
    kept = [item.id.removeprefix("memory:fact-") for item in assembly.items if item.source == SOURCE_MEMORY]
    return {turn for place in kept for turn in conversation.facts[int(place)].turns}
