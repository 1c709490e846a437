"""The calibration of token counts, learned from the usage that callers report."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

from models.tokens.calibration import CalibrationSample
from sidecar.context.token_counting import TokenMeters
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, fetch, until_lock_wait
from tests.support.waiting import next_round

SCOPE = Scope(UUID(int=81), UUID(int=82))
SAMPLE = CalibrationSample(estimated_tokens=1000, reported_tokens=1100)


async def test_two_first_reports_at_once_are_both_learned(pools: Pools, database: str) -> None:
    meters = TokenMeters(pools.background, clock=lambda: 0.0)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)

    async def learn(waiting: Callable[[], Awaitable[None]]) -> None:
        async with scoped(pools.background, SCOPE) as connection:
            await meters.learn(connection, SCOPE, "claude-opus-4-5", SAMPLE, now=NOW)
            await waiting()

    others: list[asyncio.Task[None]] = []

    async def meanwhile() -> None:
        others.append(asyncio.create_task(learn(next_round)))
        await until_lock_wait(database)

    await learn(meanwhile)
    await others[0]
    assert await fetch(database, "SELECT report_count FROM owner_calibrations") == [(2,)]
