"""Requests about tokens and cost: one frozen class per RPC, as in `requests`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sidecar.client.answers import Page
from sidecar.client.answers.cost import BudgetsTold, CompileSpendingRow, SpendingTold, Storage, TurnCost
from sidecar.client.decoding import Inner, Listed, Nothing, Whole
from sidecar.client.encoding import SPENDING_KEY, NewBudget
from sidecar.client.requests.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTurnCosts(Request[Page[TurnCost]]):
    """List the owner's turns with what they spent, newest first."""

    reads = Listed("turns")
    thread_id: str = ""
    agent_id: str = ""
    model_id: str = ""
    failed_source: str = ""
    degraded_only: bool = False
    least_ms: float = 0.0
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSpending(Request[SpendingTold]):
    """Return what was spent, by source, day, owner, agent, thread or model; without a key all in one."""

    reads = Whole(SpendingTold)
    deadline_s = 30.0
    by: str = field(default="", metadata=SPENDING_KEY)
    whole_tenant: bool = False
    since_time: datetime | None = None
    until_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCompileSpending(Request[tuple[CompileSpendingRow, ...]]):
    """Return what compiling spent by pass and model, the dearest first; whole days (UTC)."""

    reads = Inner("rows")
    deadline_s = 30.0
    whole_tenant: bool = False
    since_time: datetime | None = None
    until_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBudget(Request[None]):
    """Make a budget, or change the one of its name."""

    reads = Nothing()
    budget: NewBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBudget(Request[bool]):
    """Remove a budget with its alerts; the answer is whether there was one."""

    reads = Inner("was_there")
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBudgets(Request[BudgetsTold]):
    """List the tenant's budgets and its newest alerts."""

    reads = Whole(BudgetsTold)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetStorage(Request[Storage]):
    """Return how many bytes the owner's turns and memories hold, and the quota."""

    reads = Whole(Storage)
