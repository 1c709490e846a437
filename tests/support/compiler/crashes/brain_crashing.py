"""A process that releases, forgets or withdraws in a Brain and kills itself at its nth query."""

from __future__ import annotations

from uuid import UUID

from store.db.postgres import Pool, PooledConnection, Pools, PoolsConfig, open_pools
from tests.support.compiler.brain_world import ADMIN, ANN, TENANT, BrainWorld
from tests.support.compiler.crashes.children import Steps


class DoomedPool(Pool):
    """A pool whose connections count their queries as steps."""

    __slots__ = ("_step",)

    def __init__(self, of: Pool, step: Steps) -> None:
        super().__init__(of._connections, (of._wait_s, of._acquire_deadline_s), is_spread=of.is_spread)
        self._step = step

    async def acquire(self) -> PooledConnection:
        connection = await super().acquire()
        connection.add_query_logger(self._count)
        return connection

    async def release(self, connection: PooledConnection) -> None:
        connection.remove_query_logger(self._count)
        await super().release(connection)

    async def _count(self, record: object) -> None:
        self._step("query")


async def act(step: Steps, dsn: str, name: str) -> None:
    """Release, forget or withdraw until the query is reached, or to the end."""
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    world = BrainWorld(Pools(pools.turn, DoomedPool(pools.background, step)))
    match name:
        case "release":
            await world.brain.compare(ANN)
        case "forget":
            await world.memories.forget(ANN, "m1")
        case _:
            rules: list[UUID] = [rule.rule_id for rule in (await world.brain.state(TENANT)).rules]
            await world.brain.withdraw_rule(TENANT, rules[-1], ADMIN)
