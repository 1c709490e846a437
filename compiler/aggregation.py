"""The aggregation pass planned: recently changed pages looked at together, hubs, rollups and promotions decided.

A pass of its own, once a job; what fails here never fails the leaf work.
"""

from __future__ import annotations

import asyncio

from compiler import views
from compiler.access import Access
from compiler.leaf import Planned, Workshop, finished
from compiler.plan import aggregation, merge
from compiler.plan.contract import Memory
from store.candidates import Place


async def plan_aggregation(
    access: Access, workshop: Workshop, memories: tuple[Memory, ...], *, since: Place
) -> Planned | None:
    """Return what to do with the pages that changed after a place; None when there is nothing to look at.

    The option `reached` says where to go on when there are more of them.
    """
    async with access.reading() as connection:
        view, reached = await views.aggregation_view(
            connection,
            access.scope,
            since=since,
            memories=memories,
            most=workshop.settings.caps.max_aggregation_pages,
        )
    if view is None:
        return None
    proposed = await workshop.planner.plan_aggregation(view)
    names = await asyncio.to_thread(lambda: merge.names(proposed.proposal, gazetteer=workshop.gazetteer))
    async with access.reading() as connection:
        found = await views.matches(connection, access.scope, names)
    decision = await asyncio.to_thread(
        lambda: aggregation.decide(view, proposed.proposal, found, gazetteer=workshop.gazetteer)
    )
    items = await finished(access, workshop, decision)
    counters = {**decision.counters, "deterministic_parents_derived": len(view.candidates)}
    seen = {source.memory_id for page in (*view.pages, *view.others) for source in views.cited_on(page)}
    options = {} if reached is None else {"reached": list(reached)}
    return Planned(items, counters, {}, (*proposed.rejections, *decision.rejections), lambda: seen, options)
