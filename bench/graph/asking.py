"""Asks the questions of generated corpora through a service with default settings, with typed edges and without."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from bench.figures import Figure, at_least, at_most, plain
from bench.graph.corpus import GraphCorpus, GraphQuestion, corpora
from bench.recall.asking import is_over, some
from bench.recall.cases import Conversation
from bench.recall.measuring import served
from bench.recall.world import TENANT, QuestionToAsk, World
from sidecar.v1 import memory_pb2
from sidecar.v1.items_pb2 import SOURCE_WIKI
from store.compile import jobs
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki.edge_walks import MAX_HOPS

SEED = 2
BUDGET_TOKENS = 2_000
SOURCES = frozenset({"thread", "knowledge", "memory", "wiki"})
_EMBED_DEADLINE_S = 10.0
_AT_ONCE = 2
_WITH, _WITHOUT = "with types", "without types"


@dataclass(slots=True)
class GraphTally:
    """Questions asked and answered, by run and group; the questions missed with types; the contexts over their budget."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    wiki_tokens: Counter[str] = field(default_factory=Counter)
    missed: list[dict[str, object]] = field(default_factory=list)
    over: int = 0

    def add(self, run: str, question: GraphQuestion, *, is_there: bool) -> None:
        """Count a question, in all the groups that it belongs to."""
        half = "held back" if question.is_held_back else "open"
        hand = "by hand" if question.is_by_hand else "by pattern"
        groups = ("all", half, hand, f"{question.hops} hops", question.language)
        for group in ("written later",) if question.is_later else groups:
            self.asked[run, group] += 1
            self.found[run, group] += is_there

    def share(self, run: str, group: str = "all") -> float:
        """Return the share of a group's questions whose answer was found."""
        return self.found[run, group] / max(1, self.asked[run, group])


async def measured(scale: float) -> list[Figure]:
    """Return the figures of the questions."""
    every = corpora(SEED)
    tally = GraphTally()
    for run, hops in ((_WITH, MAX_HOPS), (_WITHOUT, 0)):
        async with served(embed_deadline_s=_EMBED_DEADLINE_S, graph_hops=hops) as world:
            await fill(world, every)
            await _ask(world, every, scale, run, tally)
    if tally.missed:
        print(json.dumps(tally.missed, ensure_ascii=False, indent=1), file=sys.stderr)
    return _figures(tally)


async def fill(world: World, every: Sequence[GraphCorpus]) -> None:
    """Write the corpora, and compile them."""
    for corpus in every:
        memories = [
            memory_pb2.NewMemory(memory_id=f"told-{place}", text=one.text, occurred_time=_timestamp(one.at))
            for place, one in enumerate(corpus.memories)
        ]
        await world.put_memories(corpus.owner, memories)
    owners = [Conversation(corpus.owner, (), (), ()) for corpus in every]
    await world.until_made([one.owner for one in every])
    count = await world.compile(owners)
    for corpus in every:
        scope = Scope(tenant_uuid(TENANT), owner_uuid(corpus.owner))
        while await _is_compiling(world, scope):
            await asyncio.sleep(0.5)  # only the database knows
            count = await world.compile(owners)
    print(f"{count} pages", file=sys.stderr)


async def _is_compiling(world: World, scope: Scope) -> bool:
    async with scoped(world.app.pools.background, scope, read_only=True) as connection:
        due = await jobs.next_due(connection, scope)
        return bool(await jobs.running(connection, scope)) or (due is not None and due <= datetime.now(UTC))


async def _ask(world: World, every: Sequence[GraphCorpus], scale: float, run: str, tally: GraphTally) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(corpus: GraphCorpus, question: GraphQuestion) -> None:
        async with gate:
            assembly = await world.ask(QuestionToAsk(corpus.owner, question.text, SOURCES, BUDGET_TOKENS))
        titles = {ref.label for item in assembly.items for ref in item.provenance if ref.kind == "page"}
        is_too_large = is_over(assembly, BUDGET_TOKENS)
        tally.over += is_too_large
        tally.wiki_tokens[run] += sum(item.tokens for item in assembly.items if item.source == SOURCE_WIKI)
        is_there = question.answer in titles and not is_too_large
        tally.add(run, question, is_there=is_there)
        if run == _WITH and not is_there:
            held = "(held back)" if question.is_held_back else question.text
            tally.missed.append({"question": held, "answer": question.answer, "pages": sorted(titles)[:8]})

    async with asyncio.TaskGroup() as tasks:
        for corpus in every:
            for question in some(corpus.questions, scale):
                tasks.create_task(one(corpus, question))


def _figures(tally: GraphTally) -> list[Figure]:
    whole, bare = tally.share(_WITH), tally.share(_WITHOUT)
    count = tally.asked[_WITH, "all"]
    figures = [
        at_least("page that answers in 2k tokens, with types", whole, 0.9, note=f"{count} questions"),
        at_most("the same without types", bare, 0.75),
    ]
    for group in ("open", "held back", "by hand", "by pattern", "2 hops", "3 hops", "en", "pt", "written later"):
        note = f"{tally.share(_WITHOUT, group):.3f} without types, {tally.asked[_WITH, group]} questions"
        figures.append(plain(f"  {group}", tally.share(_WITH, group), note=note))
    tokens = [tally.wiki_tokens[run] / max(1, count) for run in (_WITH, _WITHOUT)]
    figures.append(plain("tokens of pages a turn", tokens[0], note=f"{tokens[1]:.0f} without types"))
    return [*figures, plain("contexts over their budget", tally.over)]


def _timestamp(at: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(at)
    return timestamp
