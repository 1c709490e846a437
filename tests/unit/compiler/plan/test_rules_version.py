"""The rules that make items of memories have a version: whoever changes what they decide raises it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from compiler.plan import codec
from compiler.plan.batch import AggregationView, LeafBatch, MemoryEvidence, StaleView
from compiler.plan.contract import BatchMemory, CitedMemory, CreatePage, Item, Page, PlanDecision
from compiler.plan.judging import aggregation, finishing, leaf, parents, stale
from compiler.plan.names.merge import Matches
from compiler.plan.prompting import prompt
from compiler.plan.version import RULES
from compiler.planners import extractive
from sidecar.demo import corpus
from store.text.texts import text_hash

# What each version makes of the demo's journal: pages, hubs, what is left when every third memory is forgotten, what becomes
# of it when every third is written anew, and two prompts.
DIGESTS = {29: "cb0c0660ccbc84a1ac9b38f3269a7051fc3f7bb4dfe17255b9365983c07ed451"}
ANEW = BatchMemory(
    "", "On Friday Priya rowed to the island and back.", text_hash("anew"), datetime(2026, 6, 1, tzinfo=UTC)
)


def journal() -> tuple[BatchMemory, ...]:
    return tuple(
        BatchMemory(one.id, one.text, text_hash(one.text), one.occurred_at, one.document_id, one.metadata)
        for one in corpus.memories()[:90]
        if one.occurred_at is not None
    )


def finished(decision: PlanDecision) -> tuple[Item, ...]:
    bodies = {(draft.page, draft.section.slug): extractive.write_section(draft) for draft in decision.drafts}
    made = [item.page for item in decision.items if isinstance(item, CreatePage)]
    return finishing.finish(decision, bodies, {alias.key: page.key for page in made for alias in page.aliases})


def pages_of(items: tuple[Item, ...]) -> tuple[Page, ...]:
    return tuple(item.page for item in items if isinstance(item, CreatePage))


def aggregated(pages: tuple[Page, ...], memories: tuple[BatchMemory, ...]) -> tuple[Item, ...]:
    found = parents.merge_candidates(parents.from_memories(memories), parents.from_pages(pages))
    evidence = {
        one.memory_id: MemoryEvidence(CitedMemory(one.memory_id, one.text_hash), one.occurred_at) for one in memories
    }
    view = AggregationView(pages, found, (), evidence)
    proposal = extractive.plan_aggregation(view)
    return finished(aggregation.decide(view, proposal, Matches()))


def rebuilt(pages: tuple[Page, ...], left: Mapping[str, BatchMemory], *, gone: frozenset[str]) -> tuple[Item, ...]:
    changed = frozenset(one.memory_id for one in left.values() if one.text == ANEW.text)
    view = StaleView(pages, changed, gone, left)
    return stale.emptied(view, finished(stale.decide(view)))


def test_rules_decide_as_recorded_under_their_version() -> None:
    memories = journal()
    batch = LeafBatch(memories)
    items = finished(leaf.decide(batch, extractive.plan_leaf(batch), Matches()))
    pages = pages_of(items)
    hubs = aggregated(pages, memories)
    gone = frozenset(one.memory_id for one in memories[::3])
    standing, there = (*pages, *pages_of(hubs)), {one.memory_id: one for one in memories}
    forgotten = rebuilt(standing, {name: one for name, one in there.items() if name not in gone}, gone=gone)
    edited = rebuilt(standing, there | {name: replace(ANEW, memory_id=name) for name in gone}, gone=frozenset())
    assert min(map(len, (pages, pages_of(hubs), forgotten, edited))) > 1, "each pass has something to decide"
    questions = (prompt.leaf(LeafBatch(memories, pages[:20])), prompt.aggregation(AggregationView(pages[:20])))
    words = repr([(one.system, one.user, one.version, one.schema) for one in questions]).encode()
    digest = sha256(b"\n".join((words, *map(codec.dump_json, (items, hubs, forgotten, edited))))).hexdigest()
    assert DIGESTS.get(RULES) == digest, (
        "the rules decide otherwise than this version did: a log that it planned can't be replayed any more. "
        "Raise RULES in compiler/plan/version.py and note its digest here, or mend what changed by mistake; "
        "the same where the demo's journal changed."
    )
