"""A process that releases, forgets or withdraws in a Brain and kills itself after its nth query.

python -m tests.support.compiler.crashes.brain_crashing DSN release|forget|withdraw N
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from uuid import UUID

from store.db.postgres import Pool, PooledConnection, Pools, PoolsConfig, open_pools
from tests.support.compiler.brain_world import ADMIN, ANN, TENANT, BrainWorld


class DoomedPool(Pool):
    """A pool whose connections count their queries, and end the process at one of them."""

    __slots__ = ("_of", "left")

    def __init__(self, of: Pool, left: int) -> None:
        self._of = of
        self.left = left

    async def acquire(self) -> PooledConnection:
        connection = await self._of.acquire()
        connection.add_query_logger(self._count)
        return connection

    async def release(self, connection: PooledConnection) -> None:
        connection.remove_query_logger(self._count)
        await self._of.release(connection)

    async def _count(self, record: object) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(dsn: str, act: str, after: int) -> None:
    """Act until the query is reached; one that reaches none exits as if nothing were, and says how many it made."""
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    doomed = DoomedPool(pools.background, after)
    world = BrainWorld(Pools(pools.turn, doomed))
    match act:
        case "release":
            await world.brain.compare(ANN)
        case "forget":
            await world.memories.forget(ANN, "m1")
        case _:
            rules: list[UUID] = [rule.rule_id for rule in (await world.brain.state(TENANT)).rules]
            await world.brain.withdraw_rule(TENANT, rules[-1], ADMIN)
    print(after - doomed.left)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
