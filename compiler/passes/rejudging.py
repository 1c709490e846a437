"""Judges related names again after a job's batches. It calls no model."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from compiler.passes.leaf import LeafDeps, Planned, citing
from compiler.plan.contract import (
    BatchMemory,
    CreatePage,
    DeletePage,
    Item,
    PageKey,
    PageType,
    PlanDecision,
    RemoveSection,
    WriteSection,
)
from compiler.plan.judging import finishing, leaf, links, rejudging
from compiler.plan.judging.rejudging import MOST_MEMORIES, NameFamily
from compiler.plan.names.merge import Matches
from compiler.plan.names.ruled import Rulings
from compiler.planners import extractive
from compiler.state import families, surroundings, views
from compiler.state.access import Access
from compiler.state.naming import naming_after
from compiler.state.row_mapping import key_of
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import candidates


@dataclass(frozen=True, slots=True)
class NamesToJudge:
    """The ids of pages and held names to judge again: those that lost a memory, and related ones."""

    pages: Sequence[UUID] = ()
    mentions: Sequence[UUID] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> NamesToJudge:
        """Return those that the options of a batch name."""
        pages, mentions = (options.get(name, ()) for name in ("judged_pages", "judged_mentions"))
        return cls([UUID(one) for one in pages], [UUID(one) for one in mentions])


async def plan_rejudging(
    access: Access, deps: LeafDeps, memories: tuple[BatchMemory, ...], affected: NamesToJudge, *, is_linking: bool
) -> Planned | None:
    """Return the plan that gives related names the pages that one batch of all their memories gives; None without a change.

    Only names in `affected`, and the names and themes in `memories` with those related to them, are judged. Families of more than
    MOST_MEMORIES memories stay as they are.
    """
    names = await asyncio.to_thread(rejudging.names_in, memories)
    clues = await asyncio.to_thread(rejudging.clues_in, memories)
    async with access.reading() as connection:
        alone = await families.names_of(connection, access.scope, affected.pages, affected.mentions)
        found = await families.read(connection, access.scope, names, deps.substrate, clues, alone=alone | names)
        rules = await views.operator_rulings(connection, access.scope)
    judged = [one for one in found if len(one.memory_ids) <= MOST_MEMORIES and not _is_ruled(one, rules)]
    wanted = sorted({memory_id for one in judged for memory_id in one.memory_ids})
    if not wanted:
        return None
    texts = await deps.substrate.fetch(access.scope, wanted)
    judged = [rejudging.with_quoted(one, texts) for one in judged]
    judged = [one for one in judged if _is_worth(one, alone, texts)]
    decided = await asyncio.to_thread(lambda: [_decided(one, texts, deps) for one in judged])
    async with access.reading() as connection:
        items = await _changes(connection, access.scope, judged, decided, rules.pages)
        if not items:
            return None
        touched = {memory.memory_id: memory for memory in texts.values()}
        judged_keys = {page.key for family in judged for page in family.pages}
        linked = await _linked(connection, access.scope, touched, items, judged_keys) if is_linking else PlanDecision()
        lost_links = await _linked_from(connection, access.scope, items)
    counters = {"names_judged_anew": sum(isinstance(item, CreatePage | DeletePage) for item in items)}
    options = {"is_rejudging": True, "is_linking": is_linking}
    return Planned(
        (*items, *linked.items, *links.scoring(items, linked.items, lost_links)),
        counters,
        linked.counters,
        seen=frozenset(texts),
        options=options,
    )


def _is_worth(family: NameFamily, affected: Collection[str], memories: Mapping[str, BatchMemory]) -> bool:
    """Return whether judging the family again may change it.

    A single name without a page seldom changes, and its page is not written anew if it has more than quotations.
    """
    if len(family.names) > 1 or family.hubs or family.telling or not family.names.isdisjoint(affected):
        return True
    return (bool(family.pages) and len(family.quoted) == len(family.pages)) or rejudging.may_be_several(
        family, memories
    )


def _decided(family: NameFamily, memories: Mapping[str, BatchMemory], deps: LeafDeps) -> PlanDecision:
    batch = rejudging.batch_of(family, memories)
    proposal = extractive.plan_leaf(batch, gazetteer=deps.gazetteer, about=family.names)
    return leaf.decide(batch, proposal, Matches(), gazetteer=deps.gazetteer)


def _is_ruled(family: NameFamily, rules: Rulings) -> bool:
    """Return whether a ruling names a page or a name of the family, which then stays as it is."""
    return not rules.pages.isdisjoint(page.key for page in family.pages) or not family.names.isdisjoint(rules.names)


async def _changes(
    connection: Connection,
    scope: Scope,
    judged: Iterable[NameFamily],
    decided: Iterable[PlanDecision],
    ruled: frozenset[PageKey],
) -> tuple[Item, ...]:
    """Return the finished items of all families, with names linked and without links to folded pages.

    Pages that a ruling names (`ruled`) are not made.
    """
    items: list[Item] = []
    for family, decision in zip(judged, decided, strict=True):
        family_keys = {page.key for page in family.pages}
        made = {item.page.key for item in decision.items if isinstance(item, CreatePage)}
        taken = ruled | await views.existing(connection, scope, made - family_keys)
        found = rejudging.changes(family, decision, {}, taken)
        gone = [item.page for item in found if isinstance(item, DeletePage)]
        if gone:
            page_ids = await families.ids_of(connection, scope, gone)
            around = await surroundings.around(connection, scope, page_ids, [key.path for key in gone])
            stated = await surroundings.edges_by_hand(connection, scope, page_ids)
            found = rejudging.changes(family, decision, around, taken, stated)
        items.extend(found)
    whole = PlanDecision(tuple(items))
    refs = finishing.references(whole, {})
    known = await views.named_pages(connection, scope, refs.names)
    existing = await views.existing(connection, scope, refs.pages)
    return finishing.finish(whole, {}, known, existing)


async def _linked_from(connection: Connection, scope: Scope, items: Iterable[Item]) -> set[PageKey]:
    """Return the pages to which the deleted pages link."""
    page_ids = await families.ids_of(connection, scope, {item.page for item in items if isinstance(item, DeletePage)})
    found = await candidates.identities_of(connection, scope, await candidates.linked_from(connection, scope, page_ids))
    return set(map(key_of, found))


async def _linked(
    connection: Connection,
    scope: Scope,
    memories: Mapping[str, BatchMemory],
    items: tuple[Item, ...],
    judged: Collection[PageKey],
) -> PlanDecision:
    """Return the links of the memories after the items; those of a page that no longer cites a memory are dropped."""
    every = tuple(memories[one] for one in sorted(memories))
    found = await views.feeding(connection, scope, every)
    titles = await views.topics_titled(connection, scope, every)
    for item in items:
        if isinstance(item, CreatePage) and item.page.key.type is PageType.TOPIC:
            titles.setdefault(fold(item.page.title), item.page.key)
    standing = await views.links_of(connection, scope, sorted(memories))
    changed = {item.page for item in items if isinstance(item, DeletePage | RemoveSection | WriteSection)}
    fed = {memory_id: keys - (changed & set(judged)) for memory_id, keys in found.items()}
    for key, memory_ids in citing(items):
        for memory_id in memory_ids & memories.keys():
            fed.setdefault(memory_id, set()).add(key)
    gone = {item.page for item in items if isinstance(item, DeletePage)}
    remaining = [one for one in standing if one.source not in gone and one.target not in gone]
    naming = await naming_after(connection, scope, every, items, gone=gone)
    return await asyncio.to_thread(links.emit, every, fed, titles, remaining, naming)
