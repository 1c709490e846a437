"""Budgets: limits on a tenant's spending per day or month, and the alerts raised when a share of one is reached."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of

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
    columns = {**asdict(budget), "percents": [str(percent) for percent in budget.percents]}
    await _sql.put_budget(connection, tenant_id=tenant_id, **columns, now=now)


async def delete(connection: Connection, tenant_id: UUID, name: str) -> bool:
    """Delete a budget with its alerts, and return whether it existed."""
    await _sql.delete_alerts(connection, tenant_id=tenant_id, name=name)
    return bool(await _sql.delete_budget(connection, tenant_id=tenant_id, name=name))


async def every(connection: Connection, tenant_id: UUID) -> list[Budget]:
    """Return a tenant's budgets in order of name, at most `MAX_BUDGETS`."""
    rows = await _sql.list_budgets(connection, tenant_id=tenant_id, limit=MAX_BUDGETS)
    return [value_of(Budget, row, percents=tuple(map(int, row["percents"]))) for row in rows]


async def raise_alert(connection: Connection, tenant_id: UUID, alert: Alert) -> bool:
    """Record an alert, and return whether it is new: each share of a budget raises one alert per period."""
    return bool(await _sql.raise_alert(connection, tenant_id=tenant_id, **asdict(alert)))


async def alerts(connection: Connection, tenant_id: UUID, *, limit: int) -> list[Alert]:
    """Return a tenant's newest alerts."""
    rows = await _sql.list_alerts(connection, tenant_id=tenant_id, limit=limit)
    return [value_of(Alert, row) for row in rows]


async def tenants(connection: Connection, *, limit: int) -> list[UUID]:
    """Return tenants that have a budget."""
    rows = await _sql.tenants_with_budgets(connection, limit=limit)
    return [row["tenant_id"] for row in rows]
