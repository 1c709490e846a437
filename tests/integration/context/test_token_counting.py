"""The calibration of token counts, learned from the usage that callers report."""

from __future__ import annotations

import asyncio
from uuid import UUID

from models.tokens.calibration import CalibrationSample
from sidecar.context.token_counting import TokenMeters
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, fetch

SCOPE = Scope(UUID(int=81), UUID(int=82))
SAMPLE = CalibrationSample(estimated_tokens=1000, reported_tokens=1100)


async def test_two_first_reports_at_once_are_both_learned(pools: Pools, database: str) -> None:
    meters = TokenMeters(pools.background, clock=lambda: 0.0)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)

    async def learn() -> None:
        async with scoped(pools.background, SCOPE) as connection:
            await meters.learn(connection, SCOPE, "claude-opus-4-5", SAMPLE, now=NOW)
            await asyncio.sleep(0.2)

    async with asyncio.timeout(30):
        await asyncio.gather(learn(), learn(), learn())
    assert await fetch(database, "SELECT report_count FROM owner_calibrations") == [(3,)]
