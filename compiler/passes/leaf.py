"""Plans one leaf batch: reads candidates, gets a proposal, judges it, writes sections, adds links.

Nothing is written to the wiki here. The same memories over the same wiki give the same items.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from compiler.plan import reporting
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import (
    BatchMemory,
    CreatePage,
    Draft,
    Item,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    Rejection,
    Ruling,
    WriteSection,
)
from compiler.plan.facts import related_memories, rewriting
from compiler.plan.judging import finishing, leaf, links, stale
from compiler.plan.judging.finishing import Bodies
from compiler.plan.names import merge
from compiler.plan.names.merge import Matches, Names
from compiler.plan.ontology import terms
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.vocabulary import Vocabulary
from compiler.planners import extractive
from compiler.planners.planner import Planner, Proposed, Rebuilder
from compiler.settings import WHOLE_SIGHT, CompileSettings
from compiler.state import families, views
from compiler.state.access import Access
from compiler.state.naming import named_by, naming_after
from compiler.state.substrates import MemorySubstrate
from compiler.state.views import Looking
from store.compile import ledger
from store.db.queries import Connection
from store.scope import Scope, is_brain
from store.text.texts import fold
from store.wiki.pages import page_uuid

MOST_UNLINKED = 2_000  # memories of earlier jobs in one plan of links


@dataclass(frozen=True, slots=True)
class LeafDeps:
    """Dependencies of planning besides a transaction. `known` is the ontology in force.

    With `quotes_outages`, pages are rebuilt without a model that does not answer.
    """

    planner: Planner
    substrate: MemorySubstrate
    settings: CompileSettings
    count_tokens: Callable[[str], int]
    gazetteer: Gazetteer = NO_PLACES
    known: Vocabulary | None = None
    quotes_outages: bool = False

    @property
    def is_extractive(self) -> bool:
        """Whether the extractive planner plans: it costs nothing, and is shown more of the wiki than a model."""
        return self.planner.name == extractive.NAME

    @property
    def is_shown_whole(self) -> bool:
        """Whether an aggregation is shown every changed page whole; the extractive planner decides the same either way."""
        return not (self.is_extractive and self.settings.sight.has_outlines)


@dataclass(frozen=True, slots=True)
class Planned:
    """The result of a pass: items, counters and rejections.

    `seen` are the ids of memories whose words the items may contain, `options` the inputs of the pass that a replay needs besides
    the memories.
    """

    items: tuple[Item, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    funnel: Mapping[str, int] = field(default_factory=dict)
    rejections: tuple[Rejection, ...] = ()
    seen: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Standing:
    """The present pages, the memories whose texts decide on sources, and the rulings on sentences that pages must not contain."""

    pages: tuple[Page, ...]
    memories: Mapping[str, BatchMemory]
    unsaid: Mapping[PageKey, tuple[Ruling, ...]]


async def plan_leaf(
    access: Access,
    deps: LeafDeps,
    memories: tuple[BatchMemory, ...],
    *,
    mention_ids: Sequence[UUID] = (),
    is_linking: bool = True,
    near: tuple[PageKey, ...] | None = None,
) -> Planned:
    """Return the plan for the memories. Raises the planner's errors.

    `near` are the pages that vector search found when the batch was first planned; None searches.
    """
    sight = WHOLE_SIGHT if deps.is_extractive else deps.settings.sight
    looking = Looking(sight, deps.count_tokens, near)
    batch = await _batch(access, deps, memories, looking, mention_ids)
    if not deps.is_extractive:
        batch = replace(batch, standing=await _standing_memories(access, deps, batch))
    proposed = await deps.planner.plan_leaf(batch)
    decision, pages = await _decided(access, deps, batch, proposed)
    decision, bodies = await _written(access, deps, decision, batch.memories, pages)
    standing = await _standing(access, deps, decision, bodies, pages)
    async with access.reading() as connection:
        items = await _finished(connection, access.scope, decision, bodies, standing)
        linked = await _linked(connection, access.scope, batch, items) if is_linking else PlanDecision()
    return Planned(
        (*items, *linked.items, *links.scoring(items, linked.items)),
        decision.counters,
        linked.counters,
        (*proposed.rejections, *decision.rejections),
        _seen(batch) | rewriting.sought(decision),
        {
            "mention_ids": [str(one) for one in mention_ids],
            "is_linking": is_linking,
            "near": [[key.type.value, key.slug] for key in batch.near],
        },
    )


async def plan_stale(access: Access, deps: LeafDeps, *, changed: frozenset[str], gone: frozenset[str]) -> Planned:
    """Return the plan that rebuilds the content that came from edited (`changed`) and forgotten (`gone`) memories.

    Its options name, by id, the pages and held names to judge again at the end of the job: those that lose a memory, and related
    ones.
    """
    async with access.reading() as connection:
        view = await views.stale_view(connection, access.scope, changed=changed, gone=gone, substrate=deps.substrate)
    is_quoting = deps.is_extractive
    decision = await asyncio.to_thread(stale.decide, view, is_quoting=is_quoting)
    rebuilder = Rebuilder(deps.planner, quotes_outages=deps.quotes_outages)
    decision, finished_items = await finished(access, replace(deps, planner=rebuilder), decision, view.pages)
    items = stale.emptied(view, finished_items)
    counters = {**decision.counters, "sections_quoted": rebuilder.quoted}
    options: dict[str, Any] = {
        "changed": sorted(changed),
        "gone": sorted(gone),
        "again": stale.reread(view, items, is_quoting=is_quoting),
    }
    if is_quoting:
        async with access.reading() as connection:
            page_ids, mention_ids = await families.related_to(connection, access.scope, view, deps.substrate)
        page_ids |= {
            page_uuid(access.scope, one.page.key.type.value, one.page.key.slug)
            for one in items
            if isinstance(one, CreatePage)
        }
        options["judged_pages"] = sorted(map(str, page_ids))
        options["judged_mentions"] = sorted(map(str, mention_ids))
    return Planned(items, counters, {}, decision.rejections, view.seen_memory_ids, options)


async def plan_links(access: Access, deps: LeafDeps, memories: tuple[BatchMemory, ...]) -> Planned | None:
    """Return the deterministic links of these memories, and of earlier ones whose hub was made since; None if there are none."""
    async with access.reading() as connection:
        unlinked = await ledger.unlinked(connection, access.scope, limit=MOST_UNLINKED)
    earlier = sorted(set(unlinked) - {memory.memory_id for memory in memories})
    more = await deps.substrate.fetch(access.scope, earlier) if earlier else {}
    memories = (*memories, *(more[one] for one in earlier if one in more))
    if not links.parent_titles(memories):
        return None
    async with access.reading() as connection:
        fed = await views.feeding(connection, access.scope, memories)
        titles = await views.topics_titled(connection, access.scope, memories)
        naming = await naming_after(connection, access.scope, memories)
    linked = await asyncio.to_thread(links.to_parents, memories, fed, titles, naming)
    return Planned(linked.items, {}, linked.counters, options={"links": True}) if linked.items else None


async def finished(
    access: Access, deps: LeafDeps, decision: PlanDecision, pages: Sequence[Page] = ()
) -> tuple[PlanDecision, tuple[Item, ...]]:
    """Return the decision after its texts are written, and its final items: names linked, bad links dropped.

    `pages` are the present pages that it changes.
    """
    decision, bodies = await _written(access, deps, decision, pages=pages)
    standing = await _standing(access, deps, decision, bodies, pages)
    async with access.reading() as connection:
        return decision, await _finished(connection, access.scope, decision, bodies, standing)


async def write_drafts(deps: LeafDeps, drafts: Sequence[Draft]) -> dict[tuple[PageKey, str], str]:
    """Return the drafts' texts by page and section. At most `writers_at_once` are written concurrently.

    After a failure no further draft is started, but those under way finish: they are paid for, and their answers are
    cached.
    """
    gate, failed = asyncio.Semaphore(deps.settings.costs.writers_at_once), asyncio.Event()

    async def write(draft: Draft) -> str:
        async with gate:
            if failed.is_set():
                return ""
            with ExitStack() as stack:
                stack.callback(failed.set)
                body = await deps.planner.write_section(draft)
                stack.pop_all()
                return body

    bodies = await asyncio.gather(*map(write, drafts), return_exceptions=True)
    written = {}
    for draft, body in zip(drafts, bodies, strict=True):
        if isinstance(body, BaseException):
            raise body
        written[draft.page, draft.section.slug] = body
    return written


async def _written(
    access: Access,
    deps: LeafDeps,
    decision: PlanDecision,
    shown: Sequence[BatchMemory] = (),
    pages: Sequence[Page] = (),
) -> tuple[PlanDecision, Bodies]:
    """Return the decision and its drafts' texts, both with the facts that a rewrite must keep from the previous texts."""
    if deps.known is not None:
        decision = replace(decision, drafts=tuple(_guided(draft, pages, deps.known) for draft in decision.drafts))
    bodies = await write_drafts(deps, decision.drafts)
    if not decision.drafts and not decision.proposed:
        return decision, bodies
    cited = sorted(rewriting.sought(decision))
    memories = await deps.substrate.fetch(access.scope, cited) if cited else {}
    return await asyncio.to_thread(rewriting.keep, decision, bodies, memories, shown)


def _guided(draft: Draft, pages: Sequence[Page], known: Vocabulary) -> Draft:
    """Return the draft with the ontology's guidance for its section."""
    page = next((one for one in pages if one.key == draft.page), None)
    return draft if page is None else replace(draft, asked=terms.asked_of(page, draft.section.slug, known))


async def _batch(
    access: Access, deps: LeafDeps, memories: tuple[BatchMemory, ...], looking: Looking, mention_ids: Sequence[UUID]
) -> LeafBatch:
    async with access.reading() as connection:
        batch = await views.leaf_batch(connection, access.scope, memories, looking, mention_ids=mention_ids)
        if mention_ids and deps.is_extractive:
            batch = replace(batch, mentions=await families.unshared(connection, access.scope, batch.mentions))
    known = deps.known if deps.known and deps.known.ontology.terms else None
    batch_ids = {memory.memory_id for memory in memories}
    seen = {sighting.source.memory_id for mention in batch.mentions for sighting in mention.sightings}
    opening = {source.memory_id for page in batch.pages if deps.is_extractive for source in page.summary_sources}
    wanted = sorted((seen | opening) - batch_ids)
    found = await deps.substrate.fetch(access.scope, wanted) if wanted else {}
    earlier = tuple(found[memory_id] for memory_id in sorted(found) if memory_id in seen)
    said_at = {one.memory_id: one.occurred_at for one in (*memories, *found.values()) if one.memory_id in opening}
    return replace(batch, earlier=earlier, known=known, said_at=said_at)


async def _standing_memories(access: Access, deps: LeafDeps, batch: LeafBatch) -> tuple[BatchMemory, ...]:
    """Return the memories cited by the shown pages that the batch's memories may end; none in a Brain or another service."""
    if deps.substrate.feed(access.scope).is_timed or is_brain(access.scope.owner_id):
        return ()
    sought = related_memories.sought(batch.pages, {memory.memory_id for memory in batch.memories})
    if not sought:
        return ()
    found = await deps.substrate.fetch(access.scope, sought)
    return await asyncio.to_thread(related_memories.akin, batch.memories, found.values())


async def _decided(
    access: Access, deps: LeafDeps, batch: LeafBatch, proposed: Proposed
) -> tuple[PlanDecision, tuple[Page, ...]]:
    """Return the decision, and the present pages that it may change."""
    names = await asyncio.to_thread(lambda: merge.names(proposed.proposal, gazetteer=deps.gazetteer))
    found = Matches()
    if names != Names():
        async with access.reading() as connection:
            found = await views.matches(connection, access.scope, names)
    decision = await asyncio.to_thread(lambda: leaf.decide(batch, proposed.proposal, found, gazetteer=deps.gazetteer))
    return decision, (*batch.pages, *found.pages)


async def _standing(
    access: Access, deps: LeafDeps, decision: PlanDecision, bodies: Bodies, pages: Sequence[Page]
) -> _Standing:
    """Return the inputs of finishing besides the decision."""
    cited = await asyncio.to_thread(finishing.sought, decision, bodies, pages)
    touched = {key for key, _ in finishing.written(decision.items)}
    async with access.reading() as connection:
        rules = await views.operator_rulings(connection, access.scope)
    unsaid = rules.unsaid_on(touched)
    cited |= {memory_id for rulings in unsaid.values() for one in rulings for memory_id in one.memory_ids}
    memories = await deps.substrate.fetch(access.scope, sorted(cited)) if cited else {}
    return _Standing(tuple(pages), memories, unsaid)


async def _finished(
    connection: Connection,
    scope: Scope,
    decision: PlanDecision,
    bodies: Bodies,
    standing: _Standing,
) -> tuple[Item, ...]:
    refs = await asyncio.to_thread(finishing.references, decision, bodies)
    known = await views.named_pages(connection, scope, refs.names)
    existing = await views.existing(connection, scope, refs.pages)
    finish = partial(finishing.finish, pages=standing.pages, memories=standing.memories)
    items = await asyncio.to_thread(finish, decision, bodies, known, existing)
    texts = {memory_id: memory.text for memory_id, memory in standing.memories.items()}
    return reporting.silenced(items, standing.unsaid, texts)


async def _linked(connection: Connection, scope: Scope, batch: LeafBatch, items: Sequence[Item]) -> PlanDecision:
    """Return the deterministic links, as of after the items, of the batch's memories and of earlier ones that the items cite.

    The pairs of an earlier memory are chosen again among all its pages; those not chosen any more are dropped.
    """
    writing = list(citing(items))
    cited = {memory_id for _, memory_ids in (*writing, *named_by(items)) for memory_id in memory_ids}
    before = {memory.memory_id: memory for memory in (*batch.standing, *batch.earlier)}
    earlier = tuple(before[memory_id] for memory_id in sorted(before) if memory_id in cited)
    memories = (*batch.memories, *earlier)
    fed = await views.feeding(connection, scope, memories)
    titles = await views.topics_titled(connection, scope, memories)
    for item in items:
        if isinstance(item, CreatePage) and item.page.key.type is PageType.TOPIC:
            titles.setdefault(fold(item.page.title), item.page.key)
    linked_ids = {memory.memory_id for memory in memories}
    for key, memory_ids in writing:
        for memory_id in linked_ids & memory_ids:
            fed.setdefault(memory_id, set()).add(key)
    standing = await views.links_of(connection, scope, [memory.memory_id for memory in earlier])
    naming = await naming_after(connection, scope, memories, items)
    return await asyncio.to_thread(links.emit, memories, fed, titles, standing, naming)


def citing(items: Iterable[Item]) -> Iterator[tuple[PageKey, set[str]]]:
    """Yield the entity pages that the items write, with the memories that their sections cite."""
    for item in items:
        if isinstance(item, CreatePage):
            sections, key = item.page.sections, item.page.key
        elif isinstance(item, WriteSection):
            sections, key = (item.section,), item.page
        else:
            continue
        if key.type is PageType.ENTITY:
            yield key, {source.memory_id for section in sections for source in section.sources}


def _seen(batch: LeafBatch) -> frozenset[str]:
    cited = (source.memory_id for page in batch.pages for source in page.cited())
    quoted = (one.source.memory_id for mention in batch.mentions for one in mention.sightings)
    own = (memory.memory_id for memory in (*batch.memories, *batch.earlier, *batch.standing))
    return frozenset((*cited, *quoted, *own))
