"""Links to hubs that an operator rolled back stay away until their memories are read again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from compiler.operations import acts, upkeep
from compiler.operations.replay import replay
from compiler.plan.contract import LinkOrigin
from store.compile import ledger
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse
from tests.support.compiler.compiling import NOW, SCOPE, Clock, compiled_in_jobs, engine_on

PLACES = ("Amber", "Birch", "Cedar")


def visits(time: str, *, city: str = "Tavira") -> list[NewMemory]:
    """Return a memory of each place."""
    return [
        NewMemory(
            f"{name} House in {city} had a long line {time}.",
            f"{name}-{time}".lower(),
            NOW - timedelta(hours=50 - number),
            metadata={"place": {"name": f"{name} House", "city": city}},
        )
        for number, name in enumerate(PLACES)
    ]


def to_hubs(wiki: Mapping[str, bytes]) -> set[str]:
    """Return the memories of the links to hubs."""
    return {name.split()[-1] for name in wiki if name.startswith("link ") and "deterministic:city:tavira" in name}


@pytest.mark.parametrize("prefix", ["deterministic:", "deterministic:city:"])
async def test_links_that_were_rolled_back_do_not_return_with_the_next_compile(pools: Pools, prefix: str) -> None:
    clock = Clock()
    before = await compiled_in_jobs(pools, [[*visits("once"), *visits("again")]], clock)
    assert len(to_hubs(before)) == 6
    for one in {prefix, "deterministic:"}:  # the typed edges are links of the same pages
        async with scoped(pools.background, SCOPE) as connection:
            await upkeep.rollback(connection, SCOPE, origin=LinkOrigin.DETERMINISTIC, prefix=one, now=clock())
    after = await compiled_in_jobs(pools, [visits("thrice")[:1]], clock)
    assert to_hubs(after) == {"amber-thrice"}
    assert (await replay(engine_on(pools), pools.background, SCOPE)).is_identical
    async with scoped(pools.background, SCOPE) as connection:
        assert (await upkeep.backfill(connection, SCOPE, now=clock())).deterministic


async def test_second_topic_with_the_name_of_a_city_leaves_no_memory_to_link(pools: Pools) -> None:
    clock = Clock()
    tagged = [
        NewMemory(f"The {name} kiln burnt well.", f"kiln-{name}", NOW, metadata={"tags": ["pottery"]})
        for name in PLACES
    ]
    await compiled_in_jobs(pools, [[*visits("once"), *visits("again"), *tagged]], clock)
    async with scoped(pools.background, SCOPE) as connection:
        pottery = await browse.page_by_key(connection, SCOPE, "topic", "pottery")
        assert pottery is not None
        await acts.add_alias(connection, SCOPE, pottery, "Tavira", now=clock())
        assert await ledger.unlinked(connection, SCOPE, limit=9) == []
