"""What turns cost: tokens of accounts times the prices of their models; and the watch over budgets for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from models.tokens.catalog import CATALOG, TokenSpending, cost_usd
from store.accounting import budgets, costs
from store.accounting.budgets import Alert, Budget
from store.accounting.costs import Spent, TurnAccount
from store.db.postgres import Pool, installation, scoped, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope, owner_uuid

log = logging.getLogger(__name__)

DEFAULT_PERCENTS = (50, 80, 100)
_LOOK_EVERY_S = 30.0
_MOST_TENANTS = 10_000


@dataclass(slots=True)
class Sum:
    """What is added up under one key. `unpriced_tokens` are those of models without a known price."""

    key: str
    turn_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_tokens: int = 0
    source_tokens: dict[str, int] = field(default_factory=dict)


def account_cost(account: TurnAccount) -> float | None:
    """Return what a turn cost in USD, as far as it is known: its output only where it was reported."""
    model, used = CATALOG.find(account.model_id), account.reported
    if model is None:
        return None
    if used is None:
        return cost_usd(model, TokenSpending(account.input_tokens))
    return cost_usd(
        model, TokenSpending(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    )


def spent_cost(spent: Spent) -> float | None:
    """Return what turns of one model cost in USD; None without a known price."""
    model = CATALOG.find(spent.model_id)
    if model is None:
        return None
    counted = (spent.input_tokens, spent.output_tokens, spent.cache_read_tokens, spent.cache_write_tokens)
    if model.price is None or model.price.up_to_tokens is None:
        return cost_usd(model, TokenSpending(*counted))
    # The price holds for prompts up to a length, and a sum of many turns is no long prompt: the mean turn is priced.
    turns = max(1, spent.turn_count)
    of_a_turn = cost_usd(model, TokenSpending(*(tokens // turns for tokens in counted)))
    return None if of_a_turn is None else of_a_turn * turns


def by_key(rows: Iterable[Spent]) -> list[Sum]:
    """Return the sums by key over all models, the dearest first."""
    sums: dict[str, Sum] = {}
    for row in rows:
        one = sums.setdefault(row.key, Sum(row.key))
        one.turn_count += row.turn_count
        one.input_tokens += row.input_tokens
        one.output_tokens += row.output_tokens
        cost = spent_cost(row)
        one.cost_usd += cost or 0.0
        one.unpriced_tokens += row.input_tokens + row.output_tokens if cost is None else 0
        for source, tokens in row.source_tokens.items():
            one.source_tokens[source] = one.source_tokens.get(source, 0) + tokens
    return sorted(sums.values(), key=lambda one: (-one.cost_usd, -one.input_tokens, one.key))


def by_source(rows: Iterable[Spent]) -> list[Sum]:
    """Return the sums by source, with the prompt's own and the frame's; priced as input."""
    sums: dict[str, Sum] = {}
    for row in rows:
        model = CATALOG.find(row.model_id)
        usd = model.price.input_usd if model and model.price and model.price.input_usd else None
        parts = {**row.source_tokens, "prompt": row.prompt_tokens, "frame": row.frame_tokens}
        for name, tokens in parts.items():
            one = sums.setdefault(name, Sum(name))
            one.turn_count += row.turn_count
            one.input_tokens += tokens
            one.cost_usd += tokens * (usd or 0.0) / 1e6
            one.unpriced_tokens += tokens if usd is None else 0
    return sorted(sums.values(), key=lambda one: (-one.cost_usd, -one.input_tokens, one.key))


def period_start(period: str, now: datetime) -> datetime:
    """Return when the day or the month (UTC) of an instant began."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day.replace(day=1) if period == "month" else day


def crossed(budget: Budget, spent_usd: float) -> list[int]:
    """Return the shares of a budget, in percent, that were spent."""
    return [percent for percent in budget.percents if spent_usd * 100 >= budget.limit_usd * percent]


class BudgetWatch:
    """Looks at every budget again and again: a share that was crossed is noted, logged and told, once in a period."""

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], told: Callable[[int], None]) -> None:
        """Look through the pool. `told` hears each share that was crossed, in percent."""
        self._pool = pool
        self._now = now
        self._told = told

    async def run(self) -> None:
        """Look once in half a minute, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Look at every tenant's budgets now."""
        async with installation(self._pool) as connection:
            tenants = await budgets.tenants(connection, limit=_MOST_TENANTS)
        for tenant_id in tenants:
            async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
                every = await budgets.every(connection, tenant_id)
            for budget in every:
                await self._check(tenant_id, budget)

    async def _check(self, tenant_id: UUID, budget: Budget) -> None:
        now = self._now()
        since = period_start(budget.period, now)
        by_owner_usd = await self._compiled_for(tenant_id, budget, since, now) if budget.covers == "owner" else 0.0
        async with tenant_scoped(self._pool, tenant_id) as connection:
            spent_usd = by_owner_usd + await _spent_usd(connection, tenant_id, budget, (since, now))
            await self._tell(connection, tenant_id, (budget, since, spent_usd))

    async def _compiled_for(self, tenant_id: UUID, budget: Budget, since: datetime, now: datetime) -> float:
        """Return what compiling the wiki of the budget's owner cost: an owner's row is read in the owner's name."""
        scope = Scope(tenant_id, owner_uuid(budget.ref))
        async with scoped(self._pool, scope, read_only=True) as connection:
            passes = await costs.passes_of_owner(connection, scope, since=since, until=now)
        return sum(one.cost_usd for one in passes)

    async def _tell(self, connection: Connection, tenant_id: UUID, found: tuple[Budget, datetime, float]) -> None:
        budget, since, spent_usd = found
        for percent in crossed(budget, spent_usd):
            alert = Alert(budget.name, since, percent, spent_usd, budget.limit_usd, self._now())
            if await budgets.raise_alert(connection, tenant_id, alert):
                facts = {"budget": budget.name, "percent": percent, "spent_usd": round(spent_usd, 4)}
                log.warning("budget_crossed", extra=facts | {"limit_usd": budget.limit_usd})
                self._told(percent)


async def _spent_usd(connection: Connection, tenant_id: UUID, budget: Budget, span: tuple[datetime, datetime]) -> float:
    """Return what turns cost of what the budget covers, with the compiles of a tenant or a model: those have no agent."""
    since, until = span
    by = "" if budget.covers == "tenant" else budget.covers
    rows = await costs.of_tenant(connection, tenant_id, since=since, until=until, by=by)
    wanted = str(owner_uuid(budget.ref)) if budget.covers == "owner" else budget.ref
    spent_usd = sum(one.cost_usd for one in by_key(rows) if one.key == wanted)
    if budget.covers in ("tenant", "model"):
        compiles = await costs.of_compiles(connection, tenant_id, since=since, until=until)
        spent_usd += sum(one.cost_usd for one in compiles if budget.covers == "tenant" or one.model_id == budget.ref)
    return spent_usd
