"""Previews of a scope's next batch."""

from __future__ import annotations

import pytest

from compiler.operations.preview import preview
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import LinkOrigin, WriteLink
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.state.access import PooledAccess
from store.db.postgres import Pools
from tests.support.compiler.compiling import SCOPE, engine_on, fetch, journal, write
from tests.support.compiler.ontologies import WORLD, put_in_force


class Watching(ExtractivePlanner):
    """A planner that keeps the batch it was shown."""

    shown: LeafBatch | None = None

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        self.shown = batch
        return await super().plan_leaf(batch)


@pytest.mark.parametrize("is_linking", [True, False])
async def test_preview_plans_under_the_ontology_and_the_flags_in_force(
    pools: Pools, database: str, is_linking: bool
) -> None:
    await put_in_force(pools, WORLD)
    await write(pools, journal(6))
    await fetch(database, "UPDATE tenants SET wiki_deterministic_linking_enabled = $1", is_linking)
    planner = Watching()
    found = await preview(engine_on(pools, planner=planner), PooledAccess(pools.background, SCOPE))
    assert planner.shown is not None
    assert planner.shown.known is not None
    assert planner.shown.known.version == 1
    written = {item.origin for item in found.items if isinstance(item, WriteLink)}
    assert (LinkOrigin.DETERMINISTIC in written or LinkOrigin.CO_MENTION in written) == is_linking
