"""`sidecar cost` and `sidecar budget`: spending, and limits on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.numbers import FiniteRange
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client import NewBudget
from sidecar.client.answers.cost import BudgetReport, CompileSpendingRow, SpendingReport

_KEYS = ("source", "day", "owner", "agent", "thread", "model")


@click.group()
def cost() -> None:
    """Show spending."""


@cost.command(short_help="Show spending.")
@click.option("--by", type=click.Choice(_KEYS), default="day", show_default=True, help="The key to group by.")
@click.option("--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="How many days back.")
@click.option("--whole-tenant", is_flag=True, help="All owners, with the compiles; needs an admin's token.")
@connected
def show(session: CommandSession, by: str, days: int, whole_tenant: bool) -> None:
    """Show tokens and cost of the last days, grouped by source, day, owner, agent, thread or model.

    \b
    Example:
      sidecar cost show --by source
      sidecar cost show --by agent --days 30 --whole-tenant --json
    """
    _check_owner(whole_tenant=whole_tenant)
    since = datetime.now(UTC) - timedelta(days=days)
    spending = partial(session.client.list_spending, whole_tenant=whole_tenant, since_time=since)
    answer = spending(by=by)
    if session.voice.is_json:
        session.voice.show(answer, lambda _: ())
        return
    # The rows by source have only our counts of the input, and those of another key may be cut: neither adds up to the total.
    turns_usd = sum(row.cost_usd for row in spending().rows)
    session.voice.show(answer, lambda found: _draw(found, by, turns_usd))


@cost.command(short_help="Show the spending of compiles.")
@click.option("--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="How many days (UTC) back.")
@click.option("--whole-tenant", is_flag=True, help="All owners; needs an admin's token.")
@connected
def compiles(session: CommandSession, days: int, whole_tenant: bool) -> None:
    """Show the spending of compiles, summaries and scans by pass and model. Cached answers cost nothing.

    \b
    Example:
      sidecar cost compiles
      sidecar cost compiles --days 30 --whole-tenant --json
    """
    _check_owner(whole_tenant=whole_tenant)
    since = datetime.now(UTC) - timedelta(days=days)
    rows = session.client.list_compile_spending(whole_tenant=whole_tenant, since_time=since)
    session.voice.show(list(rows), _draw_compiles)


def _check_owner(*, whole_tenant: bool) -> None:
    if whole_tenant and click.get_current_context().params.get("owner"):
        raise click.UsageError(
            "--owner and --whole-tenant exclude each other: name an owner, or use --whole-tenant for all."
        )


def _draw_compiles(rows: Sequence[CompileSpendingRow]) -> Iterator[Any]:
    yield drawing.rows(
        ("pass", "model", "calls", "input", "cached input", "output", "cost", "without a price"),
        (
            (
                row.in_pass, row.model_id, f"{row.call_count:,}", f"{row.input_tokens:,}", f"{row.cached_tokens:,}",
                f"{row.output_tokens:,}", f"${row.cost_usd:.4f}", f"{row.unpriced_tokens:,}",
            )
            for row in rows
        ),
        empty="No compile called a model in this time.",
    )  # fmt: skip
    yield f"compiles ${sum(row.cost_usd for row in rows):.4f}"


def _draw(answer: SpendingReport, by: str, turns_usd: float) -> Iterator[Any]:
    names = (by, "turns", "input", "output", "cost", "without a price")
    yield drawing.rows(
        names,
        (
            (
                row.key or "–", f"{row.turn_count:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}",
                f"${row.cost_usd:.4f}", f"{row.unpriced_tokens:,}",
            )
            for row in (sorted(answer.rows, key=lambda one: one.key, reverse=True) if by == "day" else answer.rows)
        ),
        empty="No turns in this time; start one with: sidecar assemble",
    )  # fmt: skip
    if by == "source":
        yield "The rows have our own counts of the input; the sum below has the reported counts, with the output."
    yield f"turns ${turns_usd:.4f}, compiles ${answer.compile_cost_usd:.4f}"


@click.group()
def budget() -> None:
    """Set spending limits and show their alerts; needs an admin's token."""


@budget.command(name="list", short_help="List budgets and alerts.")
@connected
def list_budgets(session: CommandSession) -> None:
    """List the tenant's budgets and its newest alerts.

    \b
    Example:
      sidecar budget list
    """
    session.voice.show(session.client.list_budgets(), _draw_budgets)


def _draw_budgets(answer: BudgetReport) -> Iterator[Any]:
    yield drawing.rows(
        ("name", "covers", "period", "limit", "alerts at"),
        (
            (
                one.name,
                f"{one.covers} {one.ref}",
                one.period,
                drawing.dollars(one.limit_usd),
                ", ".join(map(str, one.percents)),
            )
            for one in answer.budgets
        ),
        empty="No budgets yet; set one with: sidecar budget set",
    )
    for alert in answer.alerts:
        spent = f"${alert.spent_usd:,.4f} of {drawing.dollars(alert.limit_usd)}"
        yield f"{drawing.moment(alert.raise_time)} {alert.name}: {alert.percent} % is spent, {spent}"


@budget.command(name="set", short_help="Create or change a budget.")
@click.argument("name")
@click.option("--limit-usd", type=FiniteRange(min=0, min_open=True), required=True, help="The limit.")
@click.option("--period", type=click.Choice(["day", "month"]), default="month", show_default=True, help="In UTC.")
@click.option("--covers", type=click.Choice(["tenant", "owner", "agent", "model"]), default="tenant", show_default=True)
@click.option("--ref", default="", help="The owner, agent or model.")
@click.option(
    "--percent",
    "percents",
    type=click.IntRange(1, 1000),
    multiple=True,
    help="Alert at this percentage; repeatable.",
)
@connected
def put(session: CommandSession, percents: Sequence[int], **options: Any) -> None:
    """Create a budget, or change the one with this name.

    \b
    Example:
      sidecar budget set march --limit-usd 50 --percent 80 --percent 100
    """
    session.client.put_budget(budget=NewBudget(percents=tuple(percents), **options))
    session.voice.show({"name": options["name"], "set": True}, lambda answer: [f"budget {answer['name']} is set"])


@budget.command(short_help="Remove a budget.")
@click.argument("name")
@connected
def remove(session: CommandSession, name: str) -> None:
    """Remove a budget with its alerts.

    \b
    Example:
      sidecar budget remove march
    """
    was_there = session.client.delete_budget(name=name)
    session.voice.show(
        {"name": name, "was_there": was_there}, lambda answer: ["removed" if answer["was_there"] else "there was none"]
    )
