"""What the service answers about tokens and money, in plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TurnCost:
    """One turn and what it spent; `cost_usd` is None where no price is known."""

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
    """What was spent under one key."""

    key: str
    turn_count: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_tokens: int


@dataclass(frozen=True, slots=True)
class SpendingTold:
    """What was spent, the dearest first, and what a whole tenant's compiles cost."""

    rows: tuple[SpendingRow, ...]
    compile_cost_usd: float


@dataclass(frozen=True, slots=True)
class CompileSpendingRow:
    """What one pass of the compile (leaf, section or aggregation) spent with one model; kept answers cost nothing."""

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
    """A share of a budget that was spent in one period."""

    name: str
    period_start_time: datetime
    percent: int
    spent_usd: float
    limit_usd: float
    raise_time: datetime


@dataclass(frozen=True, slots=True)
class CostBudget:
    """A limit in USD: `covers` is tenant, owner, agent or model, `period` day or month, `percents` when to tell."""

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
    """How many bytes an owner's turns and memories hold, and how many they may; 0 for any number."""

    stored_bytes: int
    quota_bytes: int
