"""The rules that make items of memories have a version: whoever changes what they decide raises it."""

from __future__ import annotations

from hashlib import sha256

from compiler import extractive
from compiler.plan import aggregation, codec, finishing, leaf, parents, prompt, stale
from compiler.plan.batch import AggregationView, Evidence, LeafBatch, StaleView
from compiler.plan.contract import CreatePage, Decision, Item, Memory, Page, Source
from compiler.plan.merge import Matches
from compiler.plan.version import RULES
from sidecar.demo import corpus
from store.texts import text_hash

# What each version makes of the demo's journal: pages, hubs, what is left when every third memory is forgotten, and a prompt.
DIGESTS = {1: "13e23fda23ee06215a7321aead19900e24b1231d8c3d8829eab82ba6a8fc3bcc"}


def journal() -> tuple[Memory, ...]:
    return tuple(
        Memory(one.id, one.text, text_hash(one.text), one.occurred_at, one.document_id, one.metadata)
        for one in corpus.memories()[:90]
        if one.occurred_at is not None
    )


def finished(decision: Decision) -> tuple[Item, ...]:
    bodies = {(draft.page, draft.section.slug): extractive.write_section(draft) for draft in decision.drafts}
    made = [item.page for item in decision.items if isinstance(item, CreatePage)]
    return finishing.finish(decision, bodies, {alias.key: page.key for page in made for alias in page.aliases})


def pages_of(items: tuple[Item, ...]) -> tuple[Page, ...]:
    return tuple(item.page for item in items if isinstance(item, CreatePage))


def aggregated(pages: tuple[Page, ...], memories: tuple[Memory, ...]) -> tuple[Item, ...]:
    found = parents.merge_candidates(parents.from_memories(memories), parents.from_pages(pages))
    evidence = {one.memory_id: Evidence(Source(one.memory_id, one.text_hash), one.occurred_at) for one in memories}
    view = AggregationView(pages, found, (), evidence)
    proposal = extractive.plan_aggregation(view)
    return finished(aggregation.decide(view, proposal, Matches()))


def test_what_the_rules_decide_is_as_their_version_says() -> None:
    memories = journal()
    batch = LeafBatch(memories)
    items = finished(leaf.decide(batch, extractive.plan_leaf(batch), Matches()))
    pages = pages_of(items)
    hubs = aggregated(pages, memories)
    gone = frozenset(one.memory_id for one in memories[::3])
    left = {one.memory_id: one for one in memories if one.memory_id not in gone}
    view = StaleView((*pages, *pages_of(hubs)), frozenset(), gone, left)
    rebuilt = stale.emptied(view, finished(stale.decide(view)))
    assert min(len(pages), len(pages_of(hubs)), len(rebuilt)) > 1, "each pass has something to decide"
    asked = prompt.leaf(LeafBatch(memories, pages[:20]))
    words = repr((asked.system, asked.user, asked.version, asked.schema)).encode()
    digest = sha256(b"\n".join((words, *map(codec.dump_json, (items, hubs, rebuilt))))).hexdigest()
    assert DIGESTS.get(RULES) == digest, (
        "the rules decide otherwise than this version did: a log that it planned can't be replayed any more. "
        "Raise RULES in compiler/plan/version.py and note its digest here, or mend what changed by mistake; "
        "the same where the demo's journal changed."
    )
