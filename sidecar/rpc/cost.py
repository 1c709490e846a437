"""The cost service: the spending of turns and compiles, and a tenant's budgets.

Converts between messages and values; the use cases are in `sidecar.services.costs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sidecar.rpc.auth.identity import Identity, require_admin, resolve_agent
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import names_of, read_time, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.costs import BudgetRequest, CostAccounts, account_cost, by_key, by_source
from sidecar.services.validation import read_id
from sidecar.v1 import cost_pb2 as pb
from store.accounting.budgets import Alert, Budget
from store.accounting.costs import Filters, Spent, TurnAccount
from store.scope import Scope

SERVICE = pb.DESCRIPTOR.services_by_name["CostService"]
MAX_ROWS, MAX_ALERTS = 1_000, 100
MAX_MS = 1e9

_KEYS, _COVERS, _PERIODS = names_of(pb.SpendingKey), names_of(pb.BudgetCover), names_of(pb.BudgetPeriod)
_FIRST, _WEEK = datetime.min.replace(tzinfo=UTC), timedelta(days=7)


class CostService:
    """Accounts for tokens, money and bytes; `now` returns the time."""

    def __init__(self, costs: CostAccounts, *, now: Callable[[], datetime]) -> None:
        self._costs = costs
        self._now = now

    async def list_turn_costs(self, request: pb.ListTurnCostsRequest, call: Call) -> pb.ListTurnCostsResponse:
        """Return a page of the owner's turns, newest first; an agent sees only its own, else this raises ScopeForbidden."""
        scope = call.scope(request)
        filters = _filters(request, call.identity)
        arguments = (scope, repr(filters))
        listing = ListCall("ListTurnCosts", arguments, (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._costs.turns(scope, filters, limit=page.limit, **page.starting("before"))
        written, token = listing.cut(rows, page, lambda row: (row.created_at, row.receipt_id), _turn)
        return pb.ListTurnCostsResponse(turns=written, next_page_token=token)

    async def list_spending(self, request: pb.ListSpendingRequest, call: Call) -> pb.ListSpendingResponse:
        """Return spending by one key: of an owner, or of an admin's whole tenant."""
        since, until = self._span(request)
        of, key = _spender(request, call), _KEYS.get(request.by, "")
        rows = await self._costs.spent(of, since=since, until=until, by="" if key == "source" else key)
        compiles_usd = await self._costs.compile_cost_usd(of, since=since, until=until)
        return pb.ListSpendingResponse(rows=_rows(rows, key), compile_cost_usd=compiles_usd)

    async def list_compile_spending(
        self, request: pb.ListCompileSpendingRequest, call: Call
    ) -> pb.ListCompileSpendingResponse:
        """Return compile spending by pass and model: of an owner's wiki, or of an admin's whole tenant."""
        since, until = self._span(request)
        rows = await self._costs.passes(_spender(request, call), since=since, until=until)
        return pb.ListCompileSpendingResponse(rows=[pb.CompileSpendingRow(**asdict(row)) for row in rows[:MAX_ROWS]])

    async def put_budget(self, request: pb.PutBudgetRequest, call: Call) -> pb.PutBudgetResponse:
        """Create or change a budget."""
        require_admin(call.identity)
        budget = request.budget
        wanted = BudgetRequest(
            budget.name,
            _COVERS.get(budget.covers, ""),
            budget.ref,
            _PERIODS.get(budget.period, ""),
            budget.limit_usd,
            tuple(budget.percents),
        )
        await self._costs.put_budget(call.tenant(request), wanted)
        return pb.PutBudgetResponse()

    async def delete_budget(self, request: pb.DeleteBudgetRequest, call: Call) -> pb.DeleteBudgetResponse:
        """Delete a budget with its alerts."""
        tenant_id = call.admin_tenant(request)
        return pb.DeleteBudgetResponse(was_there=await self._costs.delete_budget(tenant_id, request.name))

    async def list_budgets(self, request: pb.ListBudgetsRequest, call: Call) -> pb.ListBudgetsResponse:
        """Return the tenant's budgets and newest alerts."""
        tenant_id = call.admin_tenant(request)
        known, alerts = await self._costs.budgets(tenant_id, most_alerts=MAX_ALERTS)
        return pb.ListBudgetsResponse(
            budgets=[_write_budget(one) for one in known], alerts=[_alert(one) for one in alerts]
        )

    async def get_storage(self, request: pb.GetStorageRequest, call: Call) -> pb.GetStorageResponse:
        """Return the bytes of an owner's turns and memories, and the quota."""
        scope = call.scope(request)
        held, quota_bytes = await self._costs.storage(scope)
        return pb.GetStorageResponse(stored_bytes=held, quota_bytes=quota_bytes)

    def _span(self, request: pb.ListSpendingRequest | pb.ListCompileSpendingRequest) -> tuple[datetime, datetime]:
        until = read_time("until_time", request.until_time) if request.HasField("until_time") else self._now()
        if not request.HasField("since_time"):
            return max(until, _FIRST + _WEEK) - _WEEK, until
        since = read_time("since_time", request.since_time)
        if since >= until:
            raise InvalidArgument("since_time", "is not before until_time", "send an earlier instant")
        return since, until


def _filters(request: pb.ListTurnCostsRequest, identity: Identity) -> Filters:
    agent_id = read_id("agent_id", request.agent_id, is_optional=True)
    if not 0 <= request.least_ms <= MAX_MS:
        raise InvalidArgument("least_ms", "is not a valid duration", f"send 0 to {MAX_MS:g}")
    return Filters(
        thread_id=read_id("thread_id", request.thread_id, is_optional=True),
        agent_id=agent_id if identity.reach is None else resolve_agent(identity, agent_id),
        model_id=read_id("model_id", request.model_id, is_optional=True),
        failed_source=read_id("failed_source", request.failed_source, is_optional=True),
        degraded_only=request.degraded_only,
        least_ms=request.least_ms,
    )


def _turn(row: TurnAccount) -> pb.TurnCost:
    return pb.TurnCost(
        receipt_id=str(row.receipt_id),
        create_time=write_time(row.created_at),
        agent_id=row.agent_id,
        thread_id=row.thread_id,
        model_id=row.model_id,
        degraded=row.is_degraded,
        duration_ms=row.duration_ms,
        failed_sources=row.failed_sources,
        input_tokens=row.input_tokens,
        output_tokens=row.reported.output_tokens if row.reported else 0,
        source_tokens=row.source_tokens,
        is_reported=row.reported is not None,
        cost_usd=account_cost(row),
    )


def _rows(rows: list[Spent], key: str) -> list[pb.SpendingRow]:
    sums = by_source(rows) if key == "source" else by_key(rows)
    names = pb.SpendingRow.DESCRIPTOR.fields_by_name
    return [pb.SpendingRow(**{name: getattr(one, name) for name in names}) for one in sums[:MAX_ROWS]]


def _spender(request: pb.ListSpendingRequest | pb.ListCompileSpendingRequest, call: Call) -> Scope | UUID:
    """Return the owner's scope, or the tenant's id for the spending of the whole tenant. Raises InvalidArgument for both."""
    if not request.whole_tenant:
        return call.scope(request)
    require_admin(call.identity)
    if request.owner_id:
        raise InvalidArgument(
            "whole_tenant", "is set together with owner_id", "send whole_tenant or owner_id, not both"
        )
    return call.tenant(request)


def _write_budget(budget: Budget) -> pb.CostBudget:
    return pb.CostBudget(
        name=budget.name,
        covers=pb.BudgetCover.Value(f"BUDGET_COVER_{budget.covers.upper()}"),
        ref=budget.ref,
        period=pb.BudgetPeriod.Value(f"BUDGET_PERIOD_{budget.period.upper()}"),
        limit_usd=budget.limit_usd,
        percents=budget.percents,
    )


def _alert(alert: Alert) -> pb.CostAlert:
    return pb.CostAlert(
        name=alert.name,
        period_start_time=write_time(alert.period_start),
        percent=alert.percent,
        spent_usd=alert.spent_usd,
        limit_usd=alert.limit_usd,
        raise_time=write_time(alert.raised_at),
    )
