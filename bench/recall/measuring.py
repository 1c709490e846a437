"""The measured run: the data into a sidecar, weights trained without what they are tested on, every question through the RPC."""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import grpc

from bench.databases import own_database
from bench.recall import samples
from bench.recall.baselines import Baselines
from bench.recall.cases import (
    ADVERSARIAL,
    CORPORA,
    Conversation,
    DocumentQuestion,
    Question,
    conversations,
    document_questions,
    squash,
)
from bench.recall.samples import Gatherer
from bench.recall.training import Sample, train, write
from bench.recall.world import Asked, World
from models.embedding import LocalEmbedder
from models.encodings import count
from models.minilm import MiniLM
from sidecar.app import running
from sidecar.recall import Numbered, Recall
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.turn import rank
from sidecar.turn.items import Source
from sidecar.turn.weights import BY_VECTORS, Weights
from sidecar.v1 import context_pb2
from sidecar.v1.items_pb2 import SOURCE_MEMORY
from store import embedders
from store.postgres import Pools

PROVENANCE = """Data: LoCoMo (snap-research/LoCoMo as corrected by dial481/locomo-audit, CC BY-NC 4.0: measured, never shipped),
five conversations of ten, question categories 1 to 4; and the chunking_evaluation questions (MIT) over three of five corpora.
Candidates, evidence and features are those of the product's own sources (`python -m bench recall --write-weights`). Pools: turns
alone; with observations as facts; with chunks; all three; and pools that hold no answer, so that a low relevance means what it
says. Ridge 100 on standardised features. Embedder: all-MiniLM-L6-v2-int8. Date: {}. Recency is not among the features: in this
data the newest turns are never asked for, and the recency guard stands elsewhere."""
BUDGETS = (1_000, 2_000, 4_000, 8_000)
OF_CONVERSATIONS = {
    "turns": ({"thread"}, "priority"),
    "turns + facts": ({"thread", "memory"}, "priority"),
    "turns, documents compete": ({"thread", "knowledge"}, "priority"),
    "turns + facts, documents compete": ({"thread", "memory", "knowledge"}, "priority"),
    "turns, documents compete, pooled": ({"thread", "knowledge"}, "pooled"),
    "turns + facts, pooled": ({"thread", "memory"}, "pooled"),
    "turns, documents compete, seed_order": ({"thread", "knowledge"}, "seed_order"),
}
OF_DOCUMENTS = {
    "documents alone": ({"knowledge"}, "priority"),
    "documents, turns compete": ({"thread", "knowledge"}, "priority"),
    "documents, turns + facts compete": ({"thread", "memory", "knowledge"}, "priority"),
    "documents, turns compete, pooled": ({"thread", "knowledge"}, "pooled"),
    "documents, turns compete, seed_order": ({"thread", "knowledge"}, "seed_order"),
}


@dataclass(slots=True)
class Tally:
    """Found and wanted, added up, by name and budget; contexts over budget, and milliseconds of the turns."""

    found: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    over_budget: int = 0
    took_ms: list[float] = field(default_factory=list)
    misses: list[dict[str, object]] = field(default_factory=list)

    def add(self, name: str, column: str, budget: int, *, found: int, wanted: int) -> None:
        """Count one question."""
        sums = self.found[name, column, budget]
        sums[0] += found
        sums[1] += wanted

    def share(self, name: str, column: str, budget: int) -> float:
        """Return what was found of what was wanted."""
        found, wanted = self.found[name, column, budget]
        return found / max(1, wanted)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: where the data are, how many folds (0: the shipped weights), and what share of the questions."""

    data: Path
    folds: int = 0
    share: float = 1.0
    scenarios: frozenset[str] = frozenset()
    save: Path | None = None
    write: Path | None = None


class Measuring:
    """One run over one world."""

    def __init__(self, world: World, plan: Plan, tally: Tally) -> None:
        self._world, self._plan, self._tally = world, plan, tally

    async def conversation(self, conversation: Conversation) -> None:
        """Ask a conversation's questions in every scenario and budget."""
        for question in _some(conversation.questions, self._plan.share):
            for name, (sources, allocation) in OF_CONVERSATIONS.items():
                if question.category == ADVERSARIAL and name != "turns":
                    continue
                if self._plan.scenarios and name not in self._plan.scenarios:
                    continue
                for budget in BUDGETS:
                    asked = Asked(conversation.name, question.text, frozenset(sources), budget, allocation)
                    await self._one(name, asked, conversation, question)

    async def documents(self, questions: Iterable[DocumentQuestion], beside: str) -> None:
        """Ask the corpora's questions in a conversation that has nothing to do with them."""
        for question in questions:
            for name, (sources, allocation) in OF_DOCUMENTS.items():
                if self._plan.scenarios and name not in self._plan.scenarios:
                    continue
                for budget in BUDGETS:
                    asked = Asked(beside, question.text, frozenset(sources), budget, allocation)
                    context = squash(_context(await self._assembled(asked)))
                    found = sum(len(one) for one in question.sentences if one in context)
                    wanted = sum(map(len, question.sentences))
                    self._tally.add(name, "verbatim", budget, found=found, wanted=wanted)

    async def baselines(self, conversation: Conversation, baselines: Baselines) -> None:
        """Score the baselines on the same questions."""
        await baselines.read()
        for question in _some(conversation.questions, self._plan.share):
            if question.category == ADVERSARIAL:
                continue
            gold = [squash(conversation.turns[place].text) for place in question.gold]
            for name, order in (await baselines.orders(question.text)).items():
                for budget in BUDGETS:
                    context = squash(baselines.fill(order, budget))
                    found = sum(text in context for text in gold)
                    self._tally.add(f"baseline: {name}", "verbatim", budget, found=found, wanted=len(gold))

    async def _one(self, name: str, asked: Asked, conversation: Conversation, question: Question) -> None:
        assembly = await self._assembled(asked)
        context = squash(_context(assembly))
        said = {place for place in question.gold if squash(conversation.turns[place].text) in context}
        covered = said | (_cited(assembly, conversation) & {*question.gold})
        title = f"{name}: adversarial" if question.category == ADVERSARIAL else name
        wanted, budget = len(question.gold), asked.budget_tokens
        places = [place for place in question.gold if place in said]
        self._tally.add(title, "verbatim", budget, found=len(places), wanted=wanted)
        if "facts" in name:
            places = [place for place in question.gold if place in covered]
            self._tally.add(title, "coverage", budget, found=len(places), wanted=wanted)
        if name == "turns" and question.category != ADVERSARIAL:
            self._tally.add(
                f"turns: category {question.category}",
                "verbatim",
                budget,
                found=len(said),
                wanted=len({*question.gold}),
            )
            if len(said) < len({*question.gold}):
                self._miss(asked, assembly, conversation, question, said)

    def _miss(
        self,
        asked: Asked,
        assembly: context_pb2.Assembly,
        conversation: Conversation,
        question: Question,
        said: set[int],
    ) -> None:
        scores = {f"{one.item_id}": one.score for one in assembly.decisions}
        ids = {one.text: one.id for one in assembly.items}
        self._tally.misses.append(
            {
                "budget": asked.budget_tokens,
                "question": question.text,
                "category": question.category,
                "missing": [conversation.turns[place].text for place in question.gold if place not in said],
                "kept": list(ids)[:8],
                "decisions": len(scores),
            }
        )

    async def _assembled(self, asked: Asked) -> context_pb2.Assembly:
        began = time.perf_counter()
        assembly = await self._world.ask(asked)
        self._tally.took_ms.append((time.perf_counter() - began) * 1000)
        if count([_context(assembly)], "o200k_base")[0] > asked.budget_tokens:
            self._tally.over_budget += 1
        return assembly


async def measure(plan: Plan) -> Tally:
    """Return what was found."""
    tally = Tally()
    told = conversations(plan.data)
    asked = document_questions(plan.data)
    async with _filled(told, plan.data) as (world, pools):
        folds = _folds(told, plan.folds)
        trained = await _trained(plan, pools, told, asked, folds)
        measuring = Measuring(world, plan, tally)
        embedder = LocalEmbedder(MiniLM())
        for number, fold in enumerate(folds):
            vars(rank)["BY_VECTORS"] = trained[number]  # the weights under test, in the process that serves
            corpora = _corpora_of(number, len(folds))
            for conversation in fold:
                if not plan.scenarios:
                    await measuring.baselines(conversation, Baselines(conversation, pools.turn, embedder))
                await measuring.conversation(conversation)
            await measuring.documents(_some([one for one in asked if one.corpus in corpora], plan.share), fold[0].name)
        embedder.close()
    if plan.save:
        plan.save.write_text(json.dumps(tally.misses, ensure_ascii=False, indent=1), encoding="utf-8")
    return tally


@asynccontextmanager
async def _filled(told: Sequence[Conversation], data: Path) -> AsyncIterator[tuple[World, Pools]]:
    async with own_database(embedder="minilm") as (settings, _), running(settings) as app:
        options = [("grpc.max_receive_message_length", -1)]
        async with grpc.aio.insecure_channel(app.addresses[0], options) as channel:
            world = World(app, settings, channel)
            await world.fill(told, data)
            yield world, app.pools


def _corpora_of(number: int, folds: int) -> set[str]:
    """Return the corpora that a fold holds back and is asked about."""
    return {name for place, name in enumerate(CORPORA) if place % folds == number}


def _folds(told: Sequence[Conversation], count_of: int) -> list[list[Conversation]]:
    return [list(told[number :: count_of or 1]) for number in range(count_of or 1)]


async def _trained(
    plan: Plan,
    pools: Pools,
    told: Sequence[Conversation],
    asked: Sequence[DocumentQuestion],
    folds: Sequence[Sequence[Conversation]],
) -> list[Weights]:
    """Return, for each fold, the weights trained without its conversations and corpora; the shipped ones without folds."""
    if not plan.folds and not plan.write:
        return [BY_VECTORS]
    gathered = await gather(pools, told, asked)
    if plan.write:
        write(plan.write, train(gathered), train(gathered, is_blind=True), provenance=PROVENANCE.format(date.today()))  # noqa: DTZ011
    if not plan.folds:
        return [BY_VECTORS]
    held_back = [
        frozenset({one.name for one in fold} | _corpora_of(number, len(folds))) for number, fold in enumerate(folds)
    ]
    return [train(gathered, held_back=held) for held in held_back]


async def gather(pools: Pools, told: Sequence[Conversation], asked: Sequence[DocumentQuestion]) -> list[Sample]:
    """Return the training samples of all questions, brought by the product's sources."""
    embedder = LocalEmbedder(MiniLM())
    number = await embedders.number_of(pools.background, embedder.name, embedder.dimensions)
    assert number is not None, "the database keeps vectors"
    gatherer = Gatherer(
        Recall(pools.turn, Numbered(embedder, number), deadline_s=60.0, clock=time.monotonic),
        {
            Source.THREAD: ThreadSource(pools.turn),
            Source.MEMORY: MemorySource(pools.turn),
            Source.KNOWLEDGE: KnowledgeSource(pools.turn),
        },
    )
    gathered = [sample for one in told for sample in await samples.of_conversation(gatherer, one)]
    gathered += await samples.of_documents(gatherer, asked, told)
    embedder.close()
    return gathered


def _some(questions: Sequence[Question] | Sequence[DocumentQuestion], share: float) -> list:  # type: ignore[type-arg]
    """Return a share of the questions, the same ones every time."""
    if share >= 1 or not questions:
        return list(questions)
    return random.Random(7).sample(list(questions), max(1, round(len(questions) * share)))


def _context(assembly: context_pb2.Assembly) -> str:
    blocks = [block.text for block in assembly.system_blocks]
    return "".join([*blocks, *(f"{message.role}: {message.text}\n" for message in assembly.messages)])


def _cited(assembly: context_pb2.Assembly, conversation: Conversation) -> set[int]:
    """Return the places of the turns that the kept facts were drawn from."""
    kept = [item.id.removeprefix("memory:fact-") for item in assembly.items if item.source == SOURCE_MEMORY]
    return {turn for place in kept for turn in conversation.facts[int(place)].turns}
