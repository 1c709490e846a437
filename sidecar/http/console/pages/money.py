"""Spending by source, thread, agent, model and day; budgets and their alerts; and the wiki's reads compared with its cost."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.http.console.turn_view import bar_of
from sidecar.services.costs import BudgetRequest, by_key, by_source
from sidecar.services.upkeep import MAX_TURNS_MEASURED
from store.accounting.costs import KEYS

_DAYS = (1, 7, 30, 90)
_ROWS = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about money."""
    return [
        route(desk, "/spending", show_spending),
        route(desk, "/spending/budgets", put_budget, methods=["POST"]),
        route(desk, "/spending/budgets/delete", delete_budget, methods=["POST"]),
        route(desk, "/reads", show_reads),
    ]


async def show_spending(visit: Visit) -> Response:
    """Show the spending of the owner's turns, or, for an admin, of the whole tenant."""
    now = visit.desk.clocks.now()
    days_text = visit.query.get("days", "")
    days = int(days_text) if days_text in {str(one) for one in _DAYS} else 7
    by = visit.query.get("by", "day")
    by = by if by in {*KEYS, "source"} else "day"
    is_whole = visit.is_admin and visit.query.get("of") == "tenant"
    tenant_id, since = visit.identity.tenant_id, now - timedelta(days=days)
    of, service = tenant_id if is_whole else visit.scope, visit.services.costs
    rows = await service.spent(of, since=since, until=now, by="" if by == "source" else by)
    every = by_key(rows)
    sums = by_source(rows) if by == "source" else every
    if by == "day":
        sums.sort(key=lambda one: one.key, reverse=True)
    known, alerts = await service.budgets(tenant_id, most_alerts=20) if visit.is_admin else ([], [])
    most_usd = max((one.cost_usd for one in sums[:_ROWS]), default=0.0)
    return await visit.page(
        "spending.html",
        sums=sums[:_ROWS],
        shares=[bar_of(one.key if by == "source" else "pool", one.cost_usd, most_usd) for one in sums[:_ROWS]],
        by=by,
        days=days,
        is_whole=is_whole,
        keys=["source", *KEYS],
        choices=_DAYS,
        budgets=known,
        alerts=alerts,
        passes=await service.passes(of, since=since, until=now),
        total_usd=sum(one.cost_usd for one in every),
        total_tokens=sum(one.input_tokens for one in every),
    )


async def put_budget(visit: Visit) -> Response:
    """Create or change a budget. The form has no percentages, so they are kept."""
    visit.require_admin()
    form, covers = visit.form, visit.form.get("covers", "")
    try:
        limit_usd = float(form.get("limit_usd", ""))
    except ValueError:
        limit_usd = 0.0
    ref = "" if covers == "tenant" else form.get("ref", "")
    budget = BudgetRequest(form.get("name", ""), covers, ref, form.get("period", ""), limit_usd)
    await visit.services.costs.put_budget(visit.identity.tenant_id, budget)
    return RedirectResponse("/spending", 303)


async def delete_budget(visit: Visit) -> Response:
    """Remove a budget."""
    visit.require_admin()
    await visit.services.costs.delete_budget(visit.identity.tenant_id, visit.form.get("name", ""))
    return RedirectResponse("/spending", 303)


async def show_reads(visit: Visit) -> Response:
    """Show the most read pages of the newest turns, and the most expensive pages that no turn read."""
    reads = await visit.services.upkeep.reads_against_cost(visit.scope)
    return await visit.page("reads.html", found=reads, reads=reads.reads, most_turns=MAX_TURNS_MEASURED)
