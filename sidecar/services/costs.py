"""The cost of turns and compiles: sums and prices, a tenant's budgets, and their alerts.

Every method opens its own transaction. Where a method takes `of`, a Scope stands for one owner and an id for a whole tenant.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from models.tokens.catalog import CATALOG, TokenSpending, cost_usd, known_cost
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_count, read_id, read_int, read_name
from store.accounting import budgets, costs
from store.accounting.budgets import Alert, Budget
from store.accounting.costs import Filters, PassSpent, Spent, TurnAccount
from store.content import storage
from store.db.postgres import Pool, Pools, Transaction, installation, scoped, tenant_scoped
from store.db.queries import Connection
from store.errors import PASSING
from store.scope import Scope, is_owner_id, owner_uuid
from store.tenancy import tenants

log = logging.getLogger(__name__)

MAX_PERCENTS = 10
LEAST_USD, MAX_USD = 1e-9, 1e9
COVERS, PERIODS = ("tenant", "owner", "agent", "model"), ("day", "month")
DEFAULT_PERCENTS = (50, 80, 100)
_LOOK_EVERY_S = 30.0
_MOST_TENANTS = 10_000


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A requested budget: `percents` None keeps the present ones, and an empty list means the defaults."""

    name: str
    covers: str
    ref: str
    period: str
    limit_usd: float
    percents: Sequence[int] | None = None


class CostAccounts:
    """Accounts for tokens, money and bytes.

    `now` returns the time of a write; `quota_bytes` limits an owner's bytes, 0 for no limit.
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

    async def turn(self, scope: Scope, receipt_id: UUID) -> TurnAccount | None:
        """Return the account of one turn; None if it has none."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return (await costs.of_receipts(connection, scope, [receipt_id])).get(receipt_id)

    async def spent(self, of: Scope | UUID, *, since: datetime, until: datetime, by: str = "") -> list[Spent]:
        """Return the turns' spending in the span, by one of `costs.KEYS` and model; only by model for an empty key."""
        async with self._reading(of) as connection:
            if isinstance(of, Scope):
                return await costs.of_owner(connection, of, since=since, until=until, by=by)
            return await costs.of_tenant(connection, of, since=since, until=until, by=by)

    async def compile_cost_usd(self, of: Scope | UUID, *, since: datetime, until: datetime) -> float:
        """Return the cost of the compiles of an owner's wiki, or of a tenant's, in the days (UTC) of the span."""
        if isinstance(of, Scope):
            return sum(one.cost_usd for one in await self.passes(of, since=since, until=until))
        async with tenant_scoped(self._pool, of, read_only=True) as connection:
            days = await costs.of_compiles(connection, of, since=since, until=until)
        return sum(day.cost_usd for day in days)

    async def passes(self, of: Scope | UUID, *, since: datetime, until: datetime) -> list[PassSpent]:
        """Return the spending of compiles in the span, by pass and model."""
        async with self._reading(of) as connection:
            if isinstance(of, Scope):
                return await costs.passes_of_owner(connection, of, since=since, until=until)
            return await costs.passes_of_tenant(connection, of, since=since, until=until)

    async def storage(self, scope: Scope) -> tuple[int, int]:
        """Return the bytes of the owner's turns and memories, and the quota."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await storage.stored_bytes(connection, scope), self._quota_bytes

    async def put_budget(self, tenant_id: UUID, request: BudgetRequest) -> None:
        """Create or change a budget. Raises InvalidArgument."""
        percents = _checked(request)
        now = self._now()
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            if percents is None:
                known = {one.name: one.percents for one in await budgets.every(connection, tenant_id)}
                percents = known.get(request.name)
            budget = Budget(**{**asdict(request), "percents": percents or DEFAULT_PERCENTS})
            await budgets.put(connection, tenant_id, budget, now=now)

    async def delete_budget(self, tenant_id: UUID, name: str) -> bool:
        """Delete a budget with its alerts; return whether it existed."""
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
    """Return the request's percents, sorted and distinct. Raises InvalidArgument for an unusable field."""
    if request.covers not in COVERS:
        raise InvalidArgument("budget.covers", "is missing", "send TENANT, OWNER, AGENT or MODEL")
    if request.period not in PERIODS:
        raise InvalidArgument("budget.period", "is missing", "send DAY or MONTH")
    if not LEAST_USD <= request.limit_usd <= MAX_USD:
        raise InvalidArgument("budget.limit_usd", f"is {request.limit_usd:g}", f"send {LEAST_USD:g} to {MAX_USD:g}")
    if request.covers == "tenant" and request.ref:
        raise InvalidArgument("budget.ref", "is set for a budget of the whole tenant", "leave it empty")
    read_name("budget.name", request.name)
    if request.covers != "tenant":
        read_id("budget.ref", request.ref)
    if request.covers == "owner" and not is_owner_id(request.ref):
        raise InvalidArgument("budget.ref", "is not a usable id", "name an owner")
    if request.percents is None:
        return None
    check_count("budget.percents", request.percents, most=MAX_PERCENTS)
    return tuple(sorted({read_int("budget.percents", one, least=1, most=1_000) for one in request.percents}))


@dataclass(slots=True)
class Sum:
    """The sums of one key. `unpriced_tokens` are the tokens of models without a known price."""

    key: str
    turn_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_tokens: int = 0
    source_tokens: dict[str, int] = field(default_factory=dict)


def account_cost(account: TurnAccount) -> float | None:
    """Return the known cost of a turn in USD: its output is included only if it was reported."""
    model, used = CATALOG.find(account.model_id), account.reported
    if model is None:
        return None
    if used is None:
        return cost_usd(model, TokenSpending(account.input_tokens))
    return cost_usd(
        model, TokenSpending(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
    )


def by_key(rows: Iterable[Spent]) -> list[Sum]:
    """Return the sums by key over all models, the highest cost first.

    A price may hold only for prompts up to a length, which a sum of turns does not have: the mean prompt of all the model's turns
    decides, so that every key has the same total.
    """
    every = list(rows)
    turns, tokens_in = Counter[str](), Counter[str]()
    for row in every:
        turns[row.model_id] += row.turn_count
        tokens_in[row.model_id] += row.input_tokens
    sums: dict[str, Sum] = {}
    for row in every:
        one = sums.setdefault(row.key, Sum(row.key))
        one.turn_count += row.turn_count
        one.input_tokens += row.input_tokens
        one.output_tokens += row.output_tokens
        counted = TokenSpending(row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
        mean_tokens = tokens_in[row.model_id] / max(1, turns[row.model_id])
        usd, unpriced_tokens = known_cost(CATALOG.find(row.model_id), counted, prompt_tokens=mean_tokens)
        one.cost_usd += usd
        one.unpriced_tokens += unpriced_tokens
        for source, tokens in row.source_tokens.items():
            one.source_tokens[source] = one.source_tokens.get(source, 0) + tokens
    return sorted(sums.values(), key=lambda one: (-one.cost_usd, -one.input_tokens, one.key))


def by_source(rows: Iterable[Spent]) -> list[Sum]:
    """Return the sums by source, with separate sums for the prompt and the frame; priced as input."""
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
    """Return the start of the day or month (UTC) of an instant."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day.replace(day=1) if period == "month" else day


def spans(period: str, looked_at: datetime, now: datetime) -> list[tuple[datetime, datetime]]:
    """Return the spans of spending to check: the last check's period if it has ended since, and the present one until now."""
    before, since = period_start(period, looked_at), period_start(period, now)
    if before >= since:
        return [(since, now)]
    end = period_start(period, before + timedelta(days=32 if period == "month" else 1))
    return [(before, end - timedelta(microseconds=1)), (since, now)]


def crossed(budget: Budget, spent_usd: float) -> list[int]:
    """Return the budget's thresholds, in percent, that the spending has reached."""
    return [percent for percent in budget.percents if spent_usd * 100 >= budget.limit_usd * percent]


class BudgetWatch:
    """Checks every budget periodically. A crossed threshold is stored, logged and counted once per period.

    The first check of a day also checks the day of the check before, so that spending up to midnight counts; and so for months.
    """

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], on_crossed: Callable[[int], None]) -> None:
        """Read through the pool. `on_crossed` is called with each crossed threshold, in percent."""
        self._pool = pool
        self._now = now
        self._on_crossed = on_crossed
        self._looked_at: datetime | None = None

    async def run(self) -> None:
        """Check every 30 seconds until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Check every tenant's budgets now. If a tenant's cannot be read, check the others', then raise the error."""
        now, failure = self._now(), None
        async with installation(self._pool) as connection:
            tenant_ids = await budgets.tenants(connection, limit=_MOST_TENANTS)
        for tenant_id in tenant_ids:
            try:
                await self._look_at(tenant_id, now)
            except PASSING as error:
                failure = error
        if failure is not None:
            raise failure
        self._looked_at = now

    async def _look_at(self, tenant_id: UUID, now: datetime) -> None:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            every = await budgets.every(connection, tenant_id)
        for budget in every:
            for since, until in spans(budget.period, self._looked_at or now, now):
                await self._check(tenant_id, budget, since, until)

    async def _check(self, tenant_id: UUID, budget: Budget, since: datetime, until: datetime) -> None:
        by_owner_usd = await self._compiled_for(tenant_id, budget, since, until) if budget.covers == "owner" else 0.0
        async with tenant_scoped(self._pool, tenant_id) as connection:
            spent_usd = by_owner_usd + await _spent_usd(connection, tenant_id, budget, (since, until))
            await self._tell(connection, tenant_id, (budget, since, spent_usd))

    async def _compiled_for(self, tenant_id: UUID, budget: Budget, since: datetime, until: datetime) -> float:
        """Return the compile cost of the wiki of the budget's owner, read in that owner's scope."""
        scope = Scope(tenant_id, owner_uuid(budget.ref))
        async with scoped(self._pool, scope, read_only=True) as connection:
            passes = await costs.passes_of_owner(connection, scope, since=since, until=until)
        return sum(one.cost_usd for one in passes)

    async def _tell(self, connection: Connection, tenant_id: UUID, found: tuple[Budget, datetime, float]) -> None:
        budget, since, spent_usd = found
        for percent in crossed(budget, spent_usd):
            alert = Alert(budget.name, since, percent, spent_usd, budget.limit_usd, self._now())
            if await budgets.raise_alert(connection, tenant_id, alert):
                facts = {"budget": budget.name, "percent": percent, "spent_usd": round(spent_usd, 4)}
                log.warning("budget_crossed", extra=facts | {"limit_usd": budget.limit_usd})
                self._on_crossed(percent)


async def _spent_usd(connection: Connection, tenant_id: UUID, budget: Budget, span: tuple[datetime, datetime]) -> float:
    """Return the turns' cost under the budget, with the compiles if it covers a tenant or a model: compiles have no agent."""
    since, until = span
    by = "" if budget.covers == "tenant" else budget.covers
    rows = await costs.of_tenant(connection, tenant_id, since=since, until=until, by=by)
    wanted = str(owner_uuid(budget.ref)) if budget.covers == "owner" else budget.ref
    spent_usd = sum(one.cost_usd for one in by_key(rows) if one.key == wanted)
    if budget.covers in ("tenant", "model"):
        compiles = await costs.of_compiles(connection, tenant_id, since=since, until=until)
        spent_usd += sum(one.cost_usd for one in compiles if budget.covers == "tenant" or one.model_id == budget.ref)
    return spent_usd
