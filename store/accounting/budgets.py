"""Budgets: limits on a tenant's spending per day or month, and the alerts raised when a share of one is reached."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)
MAX_BUDGETS = 100


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in USD per day or month (UTC) for a tenant, or for the owner, agent or model in it that `ref` names.

    `percents` are the shares of the limit at which an alert is raised, each once per period.
    """

    name: str
    covers: str
    ref: str
    period: str
    limit_usd: float
    percents: tuple[int, ...] = (50, 80, 100)


@dataclass(frozen=True, slots=True)
class Alert:
    """A share of a budget that was reached in one period."""

    name: str
    period_start: datetime
    percent: int
    spent_usd: float
    limit_usd: float
    raised_at: datetime


async def put(connection: Connection, tenant_id: UUID, budget: Budget, *, now: datetime) -> None:
    """Create a budget, or update the one with its name."""
    await _sql.put_budget(
        connection,
        tenant_id=tenant_id,
        name=budget.name,
        covers=budget.covers,
        ref=budget.ref,
        period=budget.period,
        limit_usd=budget.limit_usd,
        percents=[str(percent) for percent in budget.percents],
        now=now,
    )


async def delete(connection: Connection, tenant_id: UUID, name: str) -> bool:
    """Delete a budget with its alerts, and return whether it existed."""
    await _sql.delete_alerts(connection, tenant_id=tenant_id, name=name)
    return bool(await _sql.delete_budget(connection, tenant_id=tenant_id, name=name))


async def every(connection: Connection, tenant_id: UUID) -> list[Budget]:
    """Return a tenant's budgets in order of name, at most `MAX_BUDGETS`."""
    rows = await _sql.list_budgets(connection, tenant_id=tenant_id, limit=MAX_BUDGETS)
    names = ("name", "covers", "ref", "period", "limit_usd")
    return [Budget(**{name: row[name] for name in names}, percents=tuple(map(int, row["percents"]))) for row in rows]


async def raise_alert(connection: Connection, tenant_id: UUID, alert: Alert) -> bool:
    """Record an alert, and return whether it is new: each share of a budget raises one alert per period."""
    return bool(
        await _sql.raise_alert(
            connection,
            tenant_id=tenant_id,
            name=alert.name,
            period_start=alert.period_start,
            percent=alert.percent,
            spent_usd=alert.spent_usd,
            limit_usd=alert.limit_usd,
            now=alert.raised_at,
        )
    )


async def alerts(connection: Connection, tenant_id: UUID, *, limit: int) -> list[Alert]:
    """Return a tenant's newest alerts."""
    rows = await _sql.list_alerts(connection, tenant_id=tenant_id, limit=limit)
    names = ("name", "period_start", "percent", "spent_usd", "limit_usd", "raised_at")
    return [Alert(**{name: row[name] for name in names}) for row in rows]


async def tenants(connection: Connection, *, limit: int) -> list[UUID]:
    """Return tenants that have a budget."""
    rows = await _sql.tenants_with_budgets(connection, limit=limit)
    return [row["tenant_id"] for row in rows]
