"""Profile versions in Postgres: layers of a turn, writing against an expected version, history, rollback, notices."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import pytest

from store.db.postgres import Pools, PoolsConfig, open_pools, tenant_scoped
from store.errors import VersionConflict
from store.tenancy import templates, tenants
from store.tenancy.templates import Level, NewVersion, ProfileVersion
from tests.support.waiting import PATIENCE_S

TENANT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DEFAULT = Level("template", "default")


@pytest.fixture
async def tenant(pools: Pools) -> None:
    """The two tenants of these tests."""
    for tenant_id in (TENANT, OTHER):
        async with tenant_scoped(pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=NOW)


async def put(
    pools: Pools, level: Level, *, tenant_id: UUID = TENANT, expected: int = 0, **knobs: int
) -> ProfileVersion:
    async with tenant_scoped(pools.background, tenant_id) as connection:
        return await templates.put(connection, tenant_id, NewVersion(level, knobs, "ops", expected), now=NOW)


async def layers(pools: Pools, agent_id: str, space_id: str = "") -> templates.Layers:
    async with tenant_scoped(pools.turn, TENANT, read_only=True) as connection:
        return await templates.layers(connection, TENANT, agent_id=agent_id, space_id=space_id)


@pytest.mark.usefixtures("tenant")
async def test_turn_without_knobs_has_the_default_template_and_no_layer(pools: Pools) -> None:
    assert await layers(pools, "nobody", "nowhere") == templates.Layers("default", ())


@pytest.mark.usefixtures("tenant")
async def test_turn_has_the_newest_version_of_each_level_farthest_first(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.put_agent(connection, TENANT, "mara", template_id="travel", now=NOW)
    for level in (Level("space", "s"), Level("agent", "mara"), Level("template", "travel"), Level("tenant"), DEFAULT):
        for version in (1, 2):
            await put(pools, level, top_k=version)
    await put(pools, Level("agent", "travel"), top_k=9)
    await put(pools, Level("template", "travel"), tenant_id=OTHER, top_k=9)
    found = await layers(pools, "mara", "s")
    assert found.template_id == "travel"
    assert found.label == "tenant:@2 template:travel@2 agent:mara@2 space:s@2"
    assert [one.knobs for one in found.versions] == [{"top_k": 2}] * 4
    assert (await layers(pools, "mara")).label == "tenant:@2 template:travel@2 agent:mara@2"
    assert (await layers(pools, "someone")).label == "tenant:@2 template:default@2"


@pytest.mark.usefixtures("tenant")
async def test_knobs_are_returned_as_written(pools: Pools) -> None:
    knobs = {"sources": {"wiki": {"enabled": False, "top_k": 3}}, "relevance_knee": 0.25, "allocation": "pooled"}
    async with tenant_scoped(pools.background, TENANT) as connection:
        written = await templates.put(connection, TENANT, NewVersion(DEFAULT, knobs, "mara"), now=NOW)
        assert written == ProfileVersion(DEFAULT, 1, knobs, "mara", NOW)
        assert await templates.newest(connection, TENANT, DEFAULT) == written
        assert await templates.get(connection, TENANT, DEFAULT, 1) == written
        assert await templates.get(connection, TENANT, DEFAULT, 2) is None
        assert await templates.newest(connection, TENANT, Level("agent", "default")) is None


@pytest.mark.usefixtures("tenant")
async def test_write_is_refused_if_another_version_is_the_newest(pools: Pools) -> None:
    await put(pools, DEFAULT, a=1)
    await put(pools, DEFAULT, expected=1, a=2)
    for expected in (1, 3):
        with pytest.raises(VersionConflict) as caught:
            await put(pools, DEFAULT, expected=expected, a=3)
        assert caught.value.newest_version == 2
    with pytest.raises(VersionConflict) as caught:
        await put(pools, Level("agent", "new"), expected=1, a=3)
    assert caught.value.newest_version == 0
    assert (await put(pools, DEFAULT, a=4)).version == 3


@pytest.mark.usefixtures("tenant")
async def test_one_of_two_writers_that_saw_the_same_version_wins(database: str) -> None:
    pools = await open_pools(database, PoolsConfig(turn_connections=1, background_connections=16))
    try:
        await put(pools, DEFAULT, writer=0)
        attempts = (put(pools, DEFAULT, expected=1, writer=n) for n in range(1, 17))
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        unbound = await asyncio.gather(*(put(pools, DEFAULT, writer=n) for n in range(16)))
    finally:
        await pools.close()
    won = [one for one in outcomes if isinstance(one, ProfileVersion)]
    assert [one.version for one in won] == [2]
    assert sum(isinstance(one, VersionConflict) for one in outcomes) == 15
    assert sorted(one.version for one in unbound) == list(range(3, 19))


@pytest.mark.usefixtures("tenant")
async def test_history_is_paged_newest_first(pools: Pools) -> None:
    for n in range(5):
        await put(pools, DEFAULT, n=n)
    await put(pools, Level("template", "other"), n=9)
    async with tenant_scoped(pools.background, TENANT) as connection:
        first = await templates.history(connection, TENANT, DEFAULT, limit=3)
        rest = await templates.history(connection, TENANT, DEFAULT, limit=3, before=first[-1].version)
    assert [one.version for one in [*first, *rest]] == [5, 4, 3, 2, 1]
    assert [one.knobs["n"] for one in rest] == [1, 0]


@pytest.mark.usefixtures("tenant")
async def test_rollback_writes_the_earlier_knobs_as_a_new_version(pools: Pools) -> None:
    for n in range(3):
        await put(pools, DEFAULT, n=n)
    async with tenant_scoped(pools.background, TENANT) as connection:
        back = await templates.roll_back(connection, TENANT, DEFAULT, to_version=1, author="ops", now=NOW)
        assert back == ProfileVersion(DEFAULT, 4, {"n": 0}, "ops", NOW)
        assert await templates.newest(connection, TENANT, DEFAULT) == back
        assert await templates.roll_back(connection, TENANT, DEFAULT, to_version=9, author="ops", now=NOW) is None


@pytest.mark.usefixtures("tenant")
async def test_listeners_are_notified_of_a_write_after_its_commit(pools: Pools, database: str) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    listener = await asyncpg.connect(database)
    try:
        await listener.add_listener(templates.PROFILE_CHANGED, lambda *notice: heard.put_nowait(notice[3]))
        with pytest.raises(VersionConflict):
            await put(pools, DEFAULT, expected=7)
        async with tenant_scoped(pools.background, TENANT) as connection:
            await templates.put(connection, TENANT, NewVersion(DEFAULT, {}, "ops"), now=NOW)
            await listener.execute("SELECT 1")
            assert heard.empty()
        async with asyncio.timeout(PATIENCE_S):
            assert await heard.get() == str(TENANT)
        assert heard.empty()
    finally:
        await listener.close()


@pytest.mark.usefixtures("tenant")
async def test_tenant_neither_reads_nor_writes_the_knobs_of_another(pools: Pools) -> None:
    await put(pools, DEFAULT, tenant_id=OTHER, n=1)
    async with tenant_scoped(pools.background, TENANT) as connection:
        assert await templates.newest(connection, OTHER, DEFAULT) is None
        assert await templates.history(connection, OTHER, DEFAULT, limit=9) == []
        assert (await templates.layers(connection, OTHER, agent_id="a")).versions == ()
