"""The service's answers about tokens and cost, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The spending of one turn; `cost_usd` is None if the price is unknown."""

    receipt_id: str
    create_time: datetime
    agent_id: str
    thread_id: str
    model_id: str
    degraded: bool
    duration_ms: float
    failed_sources: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    source_tokens: Mapping[str, int]
    is_reported: bool
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """The spending of one key."""

    key: str
    turn_count: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_tokens: int


@dataclass(frozen=True, slots=True)
class SpendingTold:
    """Spending by key, highest first, and the compile cost of the whole tenant."""

    rows: tuple[SpendingRow, ...]
    compile_cost_usd: float


@dataclass(frozen=True, slots=True)
class CompileSpendingRow:
    """Spending of one compile pass (leaf, section or aggregation) with one model; cached answers cost nothing."""

    in_pass: str
    model_id: str
    call_count: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float
    unpriced_tokens: int


@dataclass(frozen=True, slots=True)
class CostAlert:
    """A share of a budget that was reached in one period."""

    name: str
    period_start_time: datetime
    percent: int
    spent_usd: float
    limit_usd: float
    raise_time: datetime


@dataclass(frozen=True, slots=True)
class CostBudget:
    """A limit in USD: `covers` is tenant, owner, agent or model, `period` day or month, `percents` the alert thresholds."""

    name: str
    covers: str
    ref: str
    period: str
    limit_usd: float
    percents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BudgetsTold:
    """A tenant's budgets and its newest alerts."""

    budgets: tuple[CostBudget, ...]
    alerts: tuple[CostAlert, ...]


@dataclass(frozen=True, slots=True)
class Storage:
    """The size of an owner's turns and memories in bytes, and the quota; 0 means no quota."""

    stored_bytes: int
    quota_bytes: int
