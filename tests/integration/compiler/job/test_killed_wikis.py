"""Workers killed at random moments, while memories that state typed edges are written, edited, superseded and forgotten."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from compiler.state.snapshot import differences
from store.db.postgres import Pools
from store.scope import Scope
from tests.support.compiler.crashes.killed_wikis import PAGE_SIZES, Campaign, drawn

SAMPLE, WHOLE = (9,), tuple(range(1, 41))
SAMPLE_FINISHED, WHOLE_FINISHED = (6,), tuple(range(1, 13))


def scope_of(seed: int, owner: int = 1) -> Scope:
    return Scope(UUID(int=700 + seed), UUID(int=owner))


async def test_wiki_of_killed_workers_equals_its_rebuild(pools: Pools, database: str, is_soak: bool) -> None:
    campaign, killed = Campaign(pools, database), 0
    for seed in WHOLE if is_soak else SAMPLE:
        plan = drawn(seed, rounds=4, most=24, kills=3)
        found = await campaign.run(scope_of(seed), plan, page_size=PAGE_SIZES[seed % len(PAGE_SIZES)])
        assert found.unlike == (), f"seed {seed}"
        assert found.quarantined == (), f"seed {seed}"
        assert sum(" deterministic:edge:" in name for name in found.rebuilt) > 30
        killed += found.killed
    assert killed >= (100 if is_soak else 2)


async def test_killed_workers_leave_the_wiki_of_undisturbed_ones_byte_for_byte(
    pools: Pools, database: str, is_soak: bool
) -> None:
    campaign, killed = Campaign(pools, database), 0
    for seed in WHOLE_FINISHED if is_soak else SAMPLE_FINISHED:
        plan = [replace(one, is_finished=True) for one in drawn(seed, rounds=4, most=16, kills=3)]
        size = PAGE_SIZES[seed % len(PAGE_SIZES)]
        one = await campaign.run(scope_of(seed), plan, page_size=size)
        other = await campaign.run(scope_of(seed, 2), plan, page_size=size, is_killed=False)
        assert differences(one.left, other.left) == (), f"seed {seed}"
        killed += one.killed
    assert killed >= (20 if is_soak else 1)
