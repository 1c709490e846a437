"""Budgets count compiles: of the tenant, of an owner's wiki, of a model; an agent's has none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from sidecar.services.costs import BudgetWatch
from store.accounting import budgets, costs
from store.accounting.budgets import Budget
from store.accounting.costs import CompileCall
from store.compile import answers
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope, owner_uuid
from store.tenancy import tenants

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
TENANT = UUID(int=1)
SPENT = (("mara", "small", 2.0), ("mara", "large", 3.0), ("noor", "large", 4.0))


@pytest.fixture
async def spent(pools: Pools) -> Pools:
    """Pools on a database in which two owners' wikis were compiled by two models, and nobody took a turn."""
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
    for owner, model_id, cost_usd in SPENT:
        scope = Scope(TENANT, owner_uuid(owner))
        async with scoped(pools.background, scope) as connection:
            call = CompileCall("leaf", model_id, 10, 5, 0, cost_usd)
            await costs.add_compile_call(connection, scope, call, now=NOW)
            await answers.spend(connection, scope, model_id=model_id, cost_usd=cost_usd, now=NOW)
    return pools


@pytest.mark.parametrize(
    ("covers", "ref", "spent_usd"),
    [
        ("tenant", "", 9.0),
        ("owner", "mara", 5.0),
        ("owner", "noor", 4.0),
        ("owner", "nobody", 0.0),
        ("model", "large", 7.0),
        ("model", "small", 2.0),
        ("agent", "planner", 0.0),
    ],
)
@pytest.mark.parametrize("period", ["day", "month"])
async def test_budget_counts_the_cost_of_compiles(
    spent: Pools, covers: str, ref: str, spent_usd: float, period: str
) -> None:
    heard: list[int] = []
    async with tenant_scoped(spent.background, TENANT) as connection:
        for name, limit_usd in (("just", max(spent_usd, 0.5)), ("above", spent_usd + 0.5)):
            await budgets.put(connection, TENANT, Budget(name, covers, ref, period, limit_usd, (100,)), now=NOW)
    await BudgetWatch(spent.background, now=lambda: NOW, on_crossed=heard.append).look()
    async with tenant_scoped(spent.background, TENANT, read_only=True) as connection:
        alerts = await budgets.alerts(connection, TENANT, limit=9)
    assert [(one.name, one.spent_usd) for one in alerts] == ([("just", spent_usd)] if spent_usd else [])
    assert heard == ([100] if spent_usd else [])


@pytest.mark.parametrize(
    ("period", "begins"), [("day", datetime(2026, 2, 28, tzinfo=UTC)), ("month", datetime(2026, 2, 1, tzinfo=UTC))]
)
async def test_spending_after_the_last_check_of_a_period_raises_its_alert_in_the_next(
    pools: Pools, period: str, begins: datetime
) -> None:
    scope, clock = Scope(TENANT, owner_uuid("mara")), [datetime(2026, 2, 28, 23, 59, 40, tzinfo=UTC)]
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=clock[0])
        await budgets.put(connection, TENANT, Budget("all", "tenant", "", period, 5.0, (100,)), now=clock[0])
    heard: list[int] = []
    watch = BudgetWatch(pools.background, now=lambda: clock[0], on_crossed=heard.append)
    await watch.look()
    async with scoped(pools.background, scope) as connection:
        for late, cost_usd in ((10, 6.0), (40, 7.0)):
            at = clock[0] + timedelta(seconds=late)
            await answers.spend(connection, scope, model_id="m", cost_usd=cost_usd, now=at)
    clock[0] += timedelta(seconds=30)
    await watch.look()
    await watch.look()
    async with tenant_scoped(pools.background, TENANT, read_only=True) as connection:
        alerts = await budgets.alerts(connection, TENANT, limit=9)
    told = {one.period_start: one.spent_usd for one in alerts}
    assert told == {begins: 6.0, datetime(2026, 3, 1, tzinfo=UTC): 7.0}
    assert heard == [100, 100]


async def test_spend_counts_on_its_day_in_utc(pools: Pools) -> None:
    mara = Scope(TENANT, owner_uuid("mara"))
    tonight = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    async with scoped(pools.background, mara) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        await answers.spend(
            connection, mara, model_id="m", cost_usd=0.5, now=tonight.astimezone(timezone(timedelta(hours=2)))
        )
        assert await answers.spent(connection, mara, now=tonight) == 0.5
