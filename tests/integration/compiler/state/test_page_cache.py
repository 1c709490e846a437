"""Pages that a job has at hand are the pages that stand, whatever its batches, its aggregation or an operator did."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from compiler.operations import acts
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import PageKey
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.state import page_cache
from store.db.postgres import DatabaseRole, Pools, scoped
from store.wiki import browse, candidates
from tests.support.compiler.compiling import NOW, SCOPE, Clock, capped, compiled, engine_on, journal, wish, write


@dataclass
class Comparing(ExtractivePlanner):
    """Compares each page that it is shown with the page as it stands."""

    pools: Pools | None = None
    compared: int = 0
    unlike: list[PageKey] = field(default_factory=list)

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        """Return what the extractive planner does, once everything was compared."""
        assert self.pools is not None
        async with scoped(self.pools.background, SCOPE, role=DatabaseRole.WORKER) as connection:
            standing = await page_cache.load(connection, SCOPE, await candidates.all_ids(connection, SCOPE))
        self.compared += len(batch.pages)
        self.unlike += [page.key for page in batch.pages if standing.pages[page.key] != page]
        return await super().plan_leaf(batch)


async def test_what_is_at_hand_is_what_stands(pools: Pools) -> None:
    planner = Comparing(pools=pools)
    settings = capped(record_page_size=4, max_new_pages_per_job=3, max_sections_rewritten_per_job=20)
    await write(pools, journal(40))
    await wish(pools)
    await compiled(pools, engine_on(pools, planner=planner, settings=settings))
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", "suerte")
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The good place", now=NOW)
    edited = journal(2)
    await write(pools, [*journal(20, first=40), *(type(one)(f"{one.text} Twice.", one.memory_id) for one in edited)])
    clock = Clock(NOW + timedelta(minutes=6))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, planner=planner, settings=settings, clock=clock))
    assert planner.compared > 50
    assert planner.unlike == []


async def test_an_operators_act_between_two_batches_is_seen(pools: Pools) -> None:
    """The plan made upon the pages at hand is refused, and the next one reads them again."""

    @dataclass
    class Interrupted(Comparing):
        acted: bool = False

        async def plan_leaf(self, batch: LeafBatch) -> Proposed:
            if batch.pages and not self.acted:
                self.acted = True
                async with scoped(pools.background, SCOPE) as connection:
                    row = await browse.page_by_key(connection, SCOPE, "entity", batch.pages[0].key.slug)
                    assert row is not None
                    await acts.add_alias(connection, SCOPE, row, "Another name", now=NOW)
                return await ExtractivePlanner.plan_leaf(self, batch)
            return await super().plan_leaf(batch)

    planner = Interrupted(pools=pools)
    await write(pools, journal(30))
    await wish(pools)
    await compiled(pools, engine_on(pools, planner=planner, settings=capped(record_page_size=5)))
    assert planner.acted
    assert planner.compared > 5
    assert planner.unlike == []
