"""Walks over typed edges of a wiki: complete however they are paged, as a plain search finds them, and bounded."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from bench.graph import walking
from store.db.postgres import Pools, scoped
from store.errors import WalkTooLarge
from store.scope import Scope, owner_uuid, tenant_uuid
from store.tenancy import tenants
from store.wiki import edges
from store.wiki.edges import Direction, EdgePattern, GraphPath, WalkPart

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
NOW = datetime(2026, 3, 1, tzinfo=UTC)
BOTH = EdgePattern((), Direction.BOTH)

Found = list[tuple[UUID, ...]]


async def filled(pools: Pools, dsn: str, scale: float) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
    await walking.fill(dsn, SCOPE, scale)


async def all_edges(pools: Pools) -> list[tuple[UUID, UUID, UUID]]:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        rows = await connection.fetch(
            "SELECT link_id, from_page_id, to_page_id FROM wiki_page_links WHERE edge_type <> '' ORDER BY link_id"
        )
    return [tuple(row) for row in rows]


async def walked(pools: Pools, start: UUID | None, pattern: list[EdgePattern], first: WalkPart) -> Found:
    """Return the pages and edges of every path, read a part at a time."""
    found: list[GraphPath] = []
    part: WalkPart | None = first
    while part is not None:
        async with scoped(pools.background, SCOPE, read_only=True) as connection:
            walk = await edges.walk(connection, SCOPE, start, pattern, part=part)
        found += walk.paths
        after = walk.goes_on or (walk.places[-1] if len(walk.paths) == first.limit else None)
        part = replace(first, after=after) if after else None
    return [shape(path) for path in found]


def shape(path: GraphPath) -> tuple[UUID, ...]:
    return (*(page.page_id for page in path.pages), *(edge.link_id for edge in path.edges))


async def test_list_of_all_edges_is_complete_whatever_the_page_size(pools: Pools, database: str) -> None:
    await filled(pools, database, 0.02)
    there = sorted((source, target, link) for link, source, target in await all_edges(pools))
    assert len(there) > 1_500
    assert sorted(await walked(pools, None, [EdgePattern()], WalkPart(limit=31))) == there
    assert sorted(await walked(pools, None, [EdgePattern()], WalkPart(limit=1_000))) == there
    backwards = await walked(pools, None, [EdgePattern((), Direction.IN)], WalkPart(limit=300))
    assert sorted((target, source, link) for source, target, link in backwards) == there


async def test_paths_of_two_steps_are_all_found_in_one_order(pools: Pools, database: str) -> None:
    await filled(pools, database, 0.005)
    every = await all_edges(pools)
    expected = {
        (a, b, d, one, two) for one, a, b in every for two, c, d in every if b == c and a not in {b, d} and b != d
    }
    whole = await walked(pools, None, [EdgePattern(), EdgePattern()], WalkPart(limit=1_000))
    assert set(whole) == expected
    assert len(whole) == len(expected)
    assert await walked(pools, None, [EdgePattern(), EdgePattern()], WalkPart(limit=41)) == whole


async def test_shortest_paths_are_those_of_a_plain_search(pools: Pools, database: str) -> None:
    await filled(pools, database, 0.03)
    every, drawn = await all_edges(pools), random.Random(3)
    around: dict[UUID, set[UUID]] = {}
    for _, source, target in every:
        around.setdefault(source, set()).add(target)
        around.setdefault(target, set()).add(source)
    pages = sorted(around)
    lengths = set()
    for _ in range(30):
        start, end = drawn.sample(pages, 2)
        distance = distances(around, start)[end]
        async with scoped(pools.background, SCOPE, read_only=True) as connection:
            found = (await edges.shortest(connection, SCOPE, (start, end), BOTH)).paths
        assert {len(path.edges) for path in found} == {distance}
        assert len({shape(path) for path in found}) == len(found)
        for path in found:
            assert (path.pages[0].page_id, path.pages[-1].page_id) == (start, end)
            for edge, *pair in zip(path.edges, path.pages, path.pages[1:], strict=False):
                assert {edge.from_page_id, edge.to_page_id} == {page.page_id for page in pair}
        lengths.add(distance)
    assert len(lengths) > 1


async def test_shortest_paths_keep_the_direction_and_the_type_of_pages(pools: Pools, database: str) -> None:
    await filled(pools, database, 0.005)
    (link, source, target), *_ = await all_edges(pools)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        ahead = await edges.shortest(connection, SCOPE, (source, target), EdgePattern())
        back = await edges.shortest(connection, SCOPE, (target, source), EdgePattern((), Direction.IN))
        topics = await edges.shortest(connection, SCOPE, (source, target), EdgePattern((), Direction.BOTH, "topic"))
        itself = await edges.shortest(connection, SCOPE, (source, source), BOTH)
    assert link in {path.edges[0].link_id for path in ahead.paths}
    assert [shape(path)[1::-1] for path in back.paths] == [shape(path)[:2] for path in ahead.paths]
    assert not topics.paths
    assert not itself.paths


async def test_endless_walk_stops_and_continues_or_is_refused(pools: Pools, database: str) -> None:
    await filled(pools, database, 0.005)
    pattern = [EdgePattern(), EdgePattern()]
    whole = await walked(pools, None, pattern, WalkPart(limit=1_000))
    assert await walked(pools, None, pattern, WalkPart(limit=1_000, most_read=200)) == whole
    with pytest.raises(WalkTooLarge):
        await walked(pools, whole[0][0], [BOTH] * 4, WalkPart(limit=1_000, most_read=5))
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        with pytest.raises(WalkTooLarge):
            await edges.shortest(connection, SCOPE, (whole[0][0], whole[-1][0]), BOTH, most_read=5)


def distances(around: dict[UUID, set[UUID]], start: UUID) -> dict[UUID, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        page = waiting.popleft()
        for other in around[page]:
            if other not in found:
                found[other] = found[page] + 1
                waiting.append(other)
    return found
