"""What turns and compiles spent, and a tenant's budgets for it. Prices and sums are in `sidecar.services.spending`.

Every method opens its own transaction. Where a method takes `of`, a Scope stands for one owner and an id for a whole tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument
from sidecar.services import spending
from sidecar.services.validation import check_count, read_id, read_int, read_name
from store.accounting import budgets, costs
from store.accounting.budgets import Alert, Budget
from store.accounting.costs import Filters, PassSpent, Spent, TurnAccount
from store.content import storage
from store.db.postgres import Pools, Transaction, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants

MAX_PERCENTS = 10
LEAST_USD, MAX_USD = 1e-9, 1e9
COVERS, PERIODS = ("tenant", "owner", "agent", "model"), ("day", "month")


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A budget as it is asked for: `percents` None keeps those it has, and none at all means the default ones."""

    name: str
    covers: str
    ref: str
    period: str
    limit_usd: float
    percents: Sequence[int] | None = None


class CostAccounts:
    """Accounts for tokens, money and bytes.

    `now` tells the time of a write, `quota_bytes` how much an owner may hold, 0 for any number.
    """

    def __init__(self, pools: Pools, *, now: Callable[[], datetime], quota_bytes: int = 0) -> None:
        self._pool = pools.background
        self._now = now
        self._quota_bytes = quota_bytes

    async def turns(
        self, scope: Scope, filters: Filters, *, limit: int, before: tuple[datetime, UUID] | None = None
    ) -> list[TurnAccount]:
        """Return up to `limit` accounts of the owner's turns, newest first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await costs.page(connection, scope, filters, limit=limit, before=before)

    async def spent(self, of: Scope | UUID, *, since: datetime, until: datetime, by: str = "") -> list[Spent]:
        """Return what turns spent in the span, by one of `costs.KEYS` and model; by model alone for an empty key."""
        async with self._reading(of) as connection:
            if isinstance(of, Scope):
                return await costs.of_owner(connection, of, since=since, until=until, by=by)
            return await costs.of_tenant(connection, of, since=since, until=until, by=by)

    async def compile_cost_usd(self, tenant_id: UUID, *, since: datetime, until: datetime) -> float:
        """Return what a tenant's compiles cost in the span."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            days = await costs.of_compiles(connection, tenant_id, since=since, until=until)
        return sum(day.cost_usd for day in days)

    async def passes(self, of: Scope | UUID, *, since: datetime, until: datetime) -> list[PassSpent]:
        """Return what compiling spent in the span, by pass and model."""
        async with self._reading(of) as connection:
            if isinstance(of, Scope):
                return await costs.passes_of_owner(connection, of, since=since, until=until)
            return await costs.passes_of_tenant(connection, of, since=since, until=until)

    async def storage(self, scope: Scope) -> tuple[int, int]:
        """Return how many bytes the owner's turns and memories hold, and the quota for them."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await storage.stored_bytes(connection, scope), self._quota_bytes

    async def put_budget(self, tenant_id: UUID, request: BudgetRequest) -> None:
        """Make a budget or change it. Raises InvalidArgument."""
        percents = _checked(request)
        now = self._now()
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            if percents is None:
                known = {one.name: one.percents for one in await budgets.every(connection, tenant_id)}
                percents = known.get(request.name)
            budget = Budget(
                name=request.name,
                covers=request.covers,
                ref=request.ref,
                period=request.period,
                limit_usd=request.limit_usd,
                percents=percents or spending.DEFAULT_PERCENTS,
            )
            await budgets.put(connection, tenant_id, budget, now=now)

    async def delete_budget(self, tenant_id: UUID, name: str) -> bool:
        """Remove a budget with its alerts; return whether there was one."""
        read_name("name", name)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            return await budgets.delete(connection, tenant_id, name)

    async def budgets(self, tenant_id: UUID, *, most_alerts: int) -> tuple[list[Budget], list[Alert]]:
        """Return the tenant's budgets and its newest alerts."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            known = await budgets.every(connection, tenant_id)
            return known, await budgets.alerts(connection, tenant_id, limit=most_alerts)

    def _reading(self, of: Scope | UUID) -> Transaction:
        if isinstance(of, Scope):
            return scoped(self._pool, of, read_only=True)
        return tenant_scoped(self._pool, of, read_only=True)


def _checked(request: BudgetRequest) -> tuple[int, ...] | None:
    """Return the request's percents, sorted, each once. Raises InvalidArgument for whatever is unusable."""
    if request.covers not in COVERS:
        raise InvalidArgument("budget.covers", "is not said", "send TENANT, OWNER, AGENT or MODEL")
    if request.period not in PERIODS:
        raise InvalidArgument("budget.period", "is not said", "send DAY or MONTH")
    if not LEAST_USD <= request.limit_usd <= MAX_USD:
        raise InvalidArgument("budget.limit_usd", f"is {request.limit_usd:g}", f"send {LEAST_USD:g} to {MAX_USD:g}")
    if request.covers == "tenant" and request.ref:
        raise InvalidArgument("budget.ref", "names something inside the tenant", "leave it empty")
    read_name("budget.name", request.name)
    if request.covers != "tenant":
        read_id("budget.ref", request.ref)
    if request.percents is None:
        return None
    check_count("budget.percents", request.percents, most=MAX_PERCENTS)
    return tuple(sorted({read_int("budget.percents", one, least=1, most=1_000) for one in request.percents}))
