"""What was spent: by source, thread, agent, model and day; budgets, and the alerts of those that were crossed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.http.console.turn_pages import bar_of
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.spending import by_key, by_source
from sidecar.services.validation import read_id as read_text_id
from sidecar.services.validation import read_name
from store.accounting import budgets, costs
from store.accounting.budgets import Budget
from store.accounting.costs import PassSpent, Spent
from store.db.postgres import scoped, tenant_scoped

_DAYS = (1, 7, 30, 90)
_ROWS = 100
_MAX_USD = 1e9


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about money."""
    return [
        route(desk, "/spending", show_spending),
        route(desk, "/spending/budgets", put_budget, methods=["POST"]),
        route(desk, "/spending/budgets/delete", delete_budget, methods=["POST"]),
    ]


async def show_spending(visit: Visit) -> Response:
    """Show what the owner's turns spent, or an admin's whole tenant's."""
    now = visit.desk.clocks.now()
    asked = visit.query.get("days", "")
    days = int(asked) if asked in {str(one) for one in _DAYS} else 7
    by = visit.query.get("by", "day")
    by = by if by in {*costs.KEYS, "source"} else "day"
    is_whole = visit.is_admin and visit.query.get("of") == "tenant"
    rows = await _spent(visit, "" if by == "source" else by, (now - timedelta(days=days), now), is_whole=is_whole)
    sums = by_source(rows) if by == "source" else by_key(rows)
    tenant_id, since = visit.identity.tenant_id, now - timedelta(days=days)
    known, alerts = [], []
    if visit.is_admin:
        async with tenant_scoped(visit.desk.pools.background, tenant_id, read_only=True) as connection:
            known = await budgets.every(connection, tenant_id)
            alerts = await budgets.alerts(connection, tenant_id, limit=20)
    most_usd = max((one.cost_usd for one in sums[:_ROWS]), default=0.0)
    return await visit.page(
        "spending.html",
        sums=sums[:_ROWS],
        shares=[bar_of(one.key if by == "source" else "pool", one.cost_usd, most_usd) for one in sums[:_ROWS]],
        by=by,
        days=days,
        is_whole=is_whole,
        keys=["source", *costs.KEYS],
        choices=_DAYS,
        budgets=known,
        alerts=alerts,
        passes=await _passes(visit, since, now, is_whole=is_whole),
        total_usd=sum(one.cost_usd for one in sums),
    )


async def _passes(visit: Visit, since: datetime, until: datetime, *, is_whole: bool) -> list[PassSpent]:
    pool, tenant_id = visit.desk.pools.background, visit.identity.tenant_id
    if is_whole:
        async with tenant_scoped(pool, tenant_id, read_only=True) as connection:
            return await costs.passes_of_tenant(connection, tenant_id, since=since, until=until)
    async with scoped(pool, visit.scope, read_only=True) as connection:
        return await costs.passes_of_owner(connection, visit.scope, since=since, until=until)


async def _spent(visit: Visit, by: str, span: tuple[datetime, datetime], *, is_whole: bool) -> list[Spent]:
    pool, (since, until) = visit.desk.pools.background, span
    if is_whole:
        tenant_id = visit.identity.tenant_id
        async with tenant_scoped(pool, tenant_id, read_only=True) as connection:
            return await costs.of_tenant(connection, tenant_id, since=since, until=until, by=by)
    scope = visit.scope
    async with scoped(pool, scope, read_only=True) as connection:
        return await costs.of_owner(connection, scope, since=since, until=until, by=by)


async def put_budget(visit: Visit) -> Response:
    """Make a budget or change it."""
    visit.require_admin()
    budget, tenant_id = read_budget(visit), visit.identity.tenant_id
    async with tenant_scoped(visit.desk.pools.background, tenant_id) as connection:
        known = {one.name: one for one in await budgets.every(connection, tenant_id)}
        if budget.name in known:  # the form does not ask when to tell
            budget = replace(budget, percents=known[budget.name].percents)
        await budgets.put(connection, tenant_id, budget, now=visit.desk.clocks.now())
    return RedirectResponse("/spending", 303)


async def delete_budget(visit: Visit) -> Response:
    """Remove a budget."""
    visit.require_admin()
    tenant_id = visit.identity.tenant_id
    async with tenant_scoped(visit.desk.pools.background, tenant_id) as connection:
        await budgets.delete(connection, tenant_id, read_name("name", visit.form.get("name", "")))
    return RedirectResponse("/spending", 303)


def read_budget(visit: Visit) -> Budget:
    """Return the budget of the form. Raises InvalidArgument."""
    form = visit.form
    covers, period = form.get("covers", ""), form.get("period", "")
    if covers not in {"tenant", "owner", "agent", "model"}:
        raise InvalidArgument("covers", "is unknown", "send tenant, owner, agent or model")
    if period not in {"day", "month"}:
        raise InvalidArgument("period", "is unknown", "send day or month")
    try:
        limit_usd = float(form.get("limit_usd", ""))
    except ValueError:
        limit_usd = 0.0
    if not 0 < limit_usd <= _MAX_USD:
        raise InvalidArgument("limit_usd", "is no amount above zero", "send US dollars")
    ref = form.get("ref", "")
    return Budget(
        name=read_name("name", form.get("name", "")),
        covers=covers,
        ref="" if covers == "tenant" else read_text_id("ref", ref),
        period=period,
        limit_usd=limit_usd,
    )
