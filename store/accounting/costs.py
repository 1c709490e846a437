"""Spending of turns and compiles: one narrow account row per turn, and sums over them. Turns are counted in tokens; prices are
applied elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from store.accounting.receipts import NewReceipt, ReportedUsage
from store.db import queries
from store.db.queries import Connection, utc_day, value_of
from store.scope import Scope

_sql = queries.load(__file__)

SOURCES = ("thread", "knowledge", "memory", "wiki", "workspace", "tools")
KEYS = ("day", "owner", "agent", "thread", "model")
_ANSWERED = frozenset({"OK", "EMPTY", "SKIPPED"})
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_LAST_ID = UUID(int=2**128 - 1)
_REPORTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class TurnAccount:
    """The tokens of one turn: the prompt's own, those of the frame around the context, and those of each source.

    `reported` holds the provider's counts if the caller reported them.
    """

    receipt_id: UUID
    agent_id: str
    thread_id: str
    model_id: str
    is_degraded: bool
    duration_ms: float
    failed_sources: tuple[str, ...]
    prompt_tokens: int
    frame_tokens: int
    source_tokens: Mapping[str, int]
    created_at: datetime
    reported: ReportedUsage | None = None

    @property
    def input_tokens(self) -> int:
        """The input tokens: the provider's count if reported, else ours."""
        if self.reported is not None:
            return self.reported.input_tokens
        return self.prompt_tokens + self.frame_tokens + sum(self.source_tokens.values())


@dataclass(frozen=True, slots=True)
class Filters:
    """Which turns to list; an empty text, zero or False disables a filter."""

    thread_id: str = ""
    agent_id: str = ""
    model_id: str = ""
    failed_source: str = ""
    degraded_only: bool = False
    least_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Sums over the turns of one model and key. `input_tokens` uses the provider's counts where they were reported."""

    key: str
    model_id: str
    turn_count: int
    prompt_tokens: int
    frame_tokens: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    source_tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompileSpent:
    """A tenant's compile cost on one day (UTC, as 2026-03-01) with one model."""

    day: str
    model_id: str
    cost_usd: float


@dataclass(frozen=True, slots=True)
class CompileCall:
    """A paid model call of a compile. `cost_usd` is None if the price is unknown."""

    in_pass: str
    model_id: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class PassSpent:
    """Spending of one compile pass (leaf, section or aggregation), or of summaries or scans, with one model."""

    in_pass: str
    model_id: str
    call_count: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    unpriced_tokens: int
    cost_usd: float


def account_of(receipt: NewReceipt) -> TurnAccount | None:
    """Return the account of a receipt about to be written; None if the receipt has no pool."""
    if "pool" not in receipt.details:
        return None
    pool, rows = receipt.details["pool"], receipt.details["sources"]
    tokens = {row["source"]: int(row.get("included_tokens", 0)) for row in rows}
    of_sources = {source: tokens.get(source, 0) for source in SOURCES}
    return TurnAccount(
        receipt_id=receipt.receipt_id,
        agent_id=receipt.agent_id,
        thread_id=receipt.thread_id,
        model_id=receipt.model_id,
        is_degraded=receipt.is_degraded,
        duration_ms=receipt.duration_ms,
        failed_sources=tuple(row["source"] for row in rows if row["status"] not in _ANSWERED or row.get("is_partial")),
        prompt_tokens=pool["system_tokens"] + pool["tool_tokens"] + pool["message_tokens"],
        frame_tokens=max(0, pool["used_tokens"] - sum(of_sources.values())),
        source_tokens=of_sources,
        created_at=receipt.created_at,
    )


async def add(connection: Connection, scope: Scope, receipts: Sequence[NewReceipt]) -> None:
    """Insert the accounts of one scope's receipts."""
    accounts = [account for receipt in receipts if (account := account_of(receipt)) is not None]
    if not accounts:
        return
    await _sql.add_accounts(
        connection,
        **scope.key,
        receipt_ids=[one.receipt_id for one in accounts],
        agent_ids=[one.agent_id for one in accounts],
        thread_ids=[one.thread_id for one in accounts],
        model_ids=[one.model_id for one in accounts],
        degraded=[one.is_degraded for one in accounts],
        durations_ms=[one.duration_ms for one in accounts],
        failed_sources=[" ".join(one.failed_sources) for one in accounts],
        prompt_tokens=[one.prompt_tokens for one in accounts],
        frame_tokens=[one.frame_tokens for one in accounts],
        created_at=[one.created_at for one in accounts],
        **{f"{source}_tokens": [one.source_tokens[source] for one in accounts] for source in SOURCES},
    )


async def report(connection: Connection, scope: Scope, receipt_id: UUID, usage: ReportedUsage) -> None:
    """Store the usage a caller reported for a turn; no effect if the turn has no account."""
    counts = {name: getattr(usage, name) for name in _REPORTED}
    await _sql.report_account(connection, **scope.key, receipt_id=receipt_id, **counts)


async def page(
    connection: Connection,
    scope: Scope,
    filters: Filters,
    *,
    limit: int,
    before: tuple[datetime, UUID] | None = None,
) -> list[TurnAccount]:
    """Return a page of the owner's turns that match the filters, newest first."""
    before_at, before_id = before or (_END_OF_TIME, _LAST_ID)
    rows = await _sql.list_accounts(
        connection,
        **scope.key,
        before=before_at,
        before_id=before_id,
        limit=limit,
        **asdict(filters),
    )
    return [_account(row) for row in rows]


async def of_receipts(connection: Connection, scope: Scope, receipt_ids: Sequence[UUID]) -> dict[UUID, TurnAccount]:
    """Return the accounts of these receipts, by id."""
    rows = await _sql.accounts_of(connection, **scope.key, receipt_ids=list(receipt_ids))
    return {row["receipt_id"]: _account(row) for row in rows}


async def of_owner(
    connection: Connection, scope: Scope, *, since: datetime, until: datetime, by: str = ""
) -> list[Spent]:
    """Return spending of an owner's turns in [`since`, `until`), grouped by model and one of `KEYS` (empty: model only)."""
    rows = await _sql.owner_spending(connection, **scope.key, since=since, until=until, by=by)
    return [_spent(row) for row in rows]


async def of_tenant(
    connection: Connection, tenant_id: UUID, *, since: datetime, until: datetime, by: str = ""
) -> list[Spent]:
    """Return spending of all the tenant's turns, grouped as in `of_owner`. For admins."""
    rows = await _sql.tenant_spending(connection, tenant_id=tenant_id, since=since, until=until, by=by)
    return [_spent(row) for row in rows]


async def of_compiles(
    connection: Connection, tenant_id: UUID, *, since: datetime, until: datetime
) -> list[CompileSpent]:
    """Return a tenant's compile cost by day and model, for the whole days (UTC) of `since` to `until`, both included."""
    rows = await _sql.compile_spending(connection, tenant_id=tenant_id, **_days(since, until))
    return [value_of(CompileSpent, row) for row in rows]


async def add_compile_call(connection: Connection, scope: Scope, call: CompileCall, *, now: datetime) -> None:
    """Add a call to the compile spending of the owner's wiki on the day (UTC) of `now`."""
    await _sql.add_compile_account(
        connection,
        **scope.key,
        day=utc_day(now),
        **{**asdict(call), "cost_usd": call.cost_usd or 0.0},
        unpriced_tokens=call.input_tokens + call.output_tokens if call.cost_usd is None else 0,
    )


async def passes_of_owner(connection: Connection, scope: Scope, *, since: datetime, until: datetime) -> list[PassSpent]:
    """Return compile spending of an owner's wiki by pass and model, highest first; whole days as in `of_compiles`."""
    days = _days(since, until)
    rows = await _sql.owner_compile_spending(connection, **scope.key, **days)
    return _passes(rows)


async def passes_of_tenant(
    connection: Connection, tenant_id: UUID, *, since: datetime, until: datetime
) -> list[PassSpent]:
    """Return compile spending of all the tenant's wikis, as `passes_of_owner`. For admins."""
    rows = await _sql.tenant_compile_spending(connection, tenant_id=tenant_id, **_days(since, until))
    return _passes(rows)


def _passes(rows: Sequence[Any]) -> list[PassSpent]:
    found = [value_of(PassSpent, row, in_pass=row["pass"]) for row in rows]
    return sorted(found, key=lambda one: (-one.cost_usd, -one.input_tokens, one.in_pass, one.model_id))


def _days(since: datetime, until: datetime) -> dict[str, str]:
    return {"since": utc_day(since), "until": f"{utc_day(until)}~"}


def _spent(row: Any) -> Spent:
    return value_of(Spent, row, source_tokens={source: int(row[f"{source}_tokens"]) for source in SOURCES})


def _account(row: Any) -> TurnAccount:
    reported = None
    if row["reported_input_tokens"] is not None:
        reported = ReportedUsage(**{name: row[f"reported_{name}"] for name in _REPORTED}, used_item_ids=())
    failed, tokens = tuple(row["failed_sources"]), {source: row[f"{source}_tokens"] for source in SOURCES}
    return value_of(TurnAccount, row, failed_sources=failed, source_tokens=tokens, reported=reported)
