"""Plans the aggregation pass, which decides hubs, rollups and promotions over the recently changed pages.

It runs after a job's batches; its failure never fails the leaf work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compiler.passes.leaf import LeafDeps, Planned, finished
from compiler.plan.batch import AggregationView
from compiler.plan.contract import (
    BatchMemory,
    CitedMemory,
    CreatePage,
    DeletePage,
    Item,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    WriteSection,
)
from compiler.plan.judging import aggregation, departing, links
from compiler.plan.names import merge
from compiler.state import families, surroundings, views
from compiler.state.access import Access
from compiler.state.naming import naming_after
from compiler.state.views import Look
from store.text.texts import fold
from store.wiki.candidates import Place

MOST_CITED = 2_000


async def plan_aggregation(
    access: Access, deps: LeafDeps, memories: tuple[BatchMemory, ...], look: Look
) -> Planned | None:
    """Return the plan for the window of changed pages; None if there are none.

    If there are more pages, the option `reached` is set to the place at which to continue.
    """
    async with access.reading() as connection:
        tagged = await views.memories_of_tags(connection, access.scope, look)
    earlier = sorted(set(tagged) - {memory.memory_id for memory in memories})[:MOST_CITED]
    more = await deps.substrate.fetch(access.scope, earlier) if earlier else {}
    every = (*memories, *(more[one] for one in earlier if one in more))
    async with access.reading() as connection:
        view, reached = await views.aggregation_view(connection, access.scope, every, look)
    if view is None:
        return None
    proposed = await deps.planner.plan_aggregation(aggregation.whole(view))
    names = await asyncio.to_thread(lambda: merge.names(proposed.proposal, gazetteer=deps.gazetteer))
    async with access.reading() as connection:
        found = await views.matches(connection, access.scope, names)
    decision = await asyncio.to_thread(
        lambda: aggregation.decide(view, proposed.proposal, found, gazetteer=deps.gazetteer)
    )
    decision, items = await finished(access, deps, await _without_hubs(access, decision))
    counters = {**decision.counters, "deterministic_parents_derived": len(view.candidates)}
    linked = await _hub_links(access, deps, items, (*view.pages, *view.others)) if look.is_linking else PlanDecision()
    rejections = (*proposed.rejections, *decision.rejections)
    options = _options(look, reached)
    return Planned((*items, *linked.items), counters, linked.counters, rejections, _seen(view), options)


async def pass_over(access: Access, look: Look, reason: str) -> Planned:
    """Return a plan that leaves the window's pages unchanged; they are aggregated when they next change."""
    async with access.reading() as connection:
        _, reached = await views.window(connection, access.scope, look)
    return Planned(counters={"aggregation_failed": 1}, options={**_options(look, reached), "failed": reason})


def _options(look: Look, reached: Place | None) -> dict[str, Any]:
    options: dict[str, Any] = {"is_linking": look.is_linking, "most": look.most}
    return options if reached is None else {**options, "reached": list(reached)}


def _seen(view: AggregationView) -> frozenset[str]:
    return frozenset(source.memory_id for page in (*view.pages, *view.others) for source in page.cited())


async def _without_hubs(access: Access, decision: PlanDecision) -> PlanDecision:
    """Return the decision with what leads to the hubs that it deletes removed; a hub that an edge by hand has stays."""
    gone = sorted({item.page for item in decision.items if isinstance(item, DeletePage)})
    if not gone:
        return decision
    async with access.reading() as connection:
        page_ids = await families.ids_of(connection, access.scope, gone)
        around = await surroundings.around(connection, access.scope, page_ids, [key.path for key in gone])
        stated = await surroundings.edges_by_hand(connection, access.scope, page_ids)
    return replace(decision, items=departing.end_lists(decision.items, around, stated))


async def _hub_links(access: Access, deps: LeafDeps, items: Sequence[Item], shown: tuple[Page, ...]) -> PlanDecision:
    """Return links to the hubs of the items, by the memories that their new children cite and that are unchanged since."""
    standing = {page.key: page for page in shown}
    joined = [(hub, children) for item in items for hub, children in _joining(item, standing)]
    children = {child for _, some in joined for child in some}
    sections = [section for page in shown if page.key in children for section in page.sections]
    cited = {source for section in sections for source in section.sources}
    if not cited:
        return PlanDecision()
    wanted = sorted({source.memory_id for source in cited})[:MOST_CITED]
    texts = await deps.substrate.fetch(access.scope, wanted)
    memories = tuple(texts[id_] for id_ in sorted(texts) if CitedMemory(id_, texts[id_].text_hash) in cited)
    async with access.reading() as connection:
        fed = await views.feeding(connection, access.scope, memories)
        naming = await naming_after(connection, access.scope, memories, items)
    return links.to_parents(memories, fed, {fold(hub.title): hub.key for hub, _ in joined}, naming)


def _joining(item: Item, standing: Mapping[PageKey, Page]) -> Iterator[tuple[Page, set[PageKey]]]:
    """Yield the hub that an item creates or extends, with its new children."""
    if isinstance(item, CreatePage):
        hub, sections = item.page, item.page.sections
        before: set[PageKey] = set()
    elif isinstance(item, WriteSection) and item.page in standing:
        hub, sections = standing[item.page], (item.section,)
        before = {child for section in hub.sections for child in section.children}
    else:
        return
    added = {child for section in sections for child in section.children} - before
    if added and hub.key.type is PageType.TOPIC:
        yield hub, added
