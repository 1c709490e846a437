"""Commands for a turn's context: assemble, explain, replay with other knobs, compare two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.times import DATED, DatedInstant
from sidecar.client import knobs
from sidecar.client.answers import Assembly


@click.command(short_help="Assemble one turn's context and show it.")
@click.argument("message")
@click.option("--model", "model_id", required=True, help="The model that will answer, such as gpt-4o.")
@click.option("--thread", "thread_id", default="", help="The thread whose history belongs to the turn.")
@click.option("--agent", "agent_id", default="", help="The agent whose knobs and bases apply.")
@click.option("--space", "space_id", default="", help="The space whose knobs and bases apply.")
@click.option(
    "--window", "context_window_tokens", type=click.IntRange(min=0), default=0, help="The window, for an unknown model."
)
@click.option("--system-tokens", "system", type=click.IntRange(min=0), help="Tokens of your system prompt.")
@click.option("--tool-tokens", "tools", type=click.IntRange(min=0), help="Tokens of your tool definitions.")
@click.option("--reserve", "response_reserve_tokens", type=click.IntRange(min=0), help="Tokens kept for the answer.")
@click.option("--budget", type=click.IntRange(min=0), help="An upper bound on the pool, in tokens.")
@click.option("--spend", help="How much to recall: frugal, balanced (default) or full.")
@click.option("--set", "assignments", multiple=True, metavar="KNOB=VALUE", help="A knob for this turn; repeatable.")
@click.option(
    "--as-of", type=DATED, help="Rank memories by their validity at this time (2026, 2026-03, …); default: now."
)
@click.option("--known-at", type=DATED, help="Recall only memories known at this time; default: now.")
@click.option("--time-zone", default="", help="The user's time zone, such as Europe/Berlin; default: UTC.")
@click.option("--context-only", is_flag=True, help="Show only the context.")
@connected
def assemble(
    session: CommandSession,
    *,
    context_only: bool,
    budget: int | None,
    spend: str | None,
    assignments: Sequence[str],
    as_of: DatedInstant | None,
    known_at: DatedInstant | None,
    **options: Any,
) -> None:
    """Assemble one turn's context and show it with the budget and a line per source.

    \b
    Example:
      sidecar assemble "When do I fly back?" --thread t1 --model gpt-4o
      sidecar assemble "When do I fly back?" --model gpt-4o --set knowledge.top_k=5 --json
    """
    if not options["message"].strip():
        raise click.BadParameter("it is empty; write the user's message.", param_hint="MESSAGE")
    overrides = _overrides(assignments, {"budget_tokens": budget, "spend": spend}) or None
    options |= {"as_of_time": as_of and as_of.moment, "known_at_time": known_at and known_at.moment}
    assembly = session.client.assemble_context(overrides=overrides, detail="decisions", **options)
    session.voice.show(assembly, drawing.context if context_only else drawing.assembly)
    if _is_thread_empty(options["thread_id"], assembly):
        session.voice.note(
            f"The thread {options['thread_id']!r} has no turns yet; list the threads with: sidecar thread list"
        )


def _is_thread_empty(thread_id: str, assembly: Assembly) -> bool:
    """Return whether a thread was named and searched, and has no turns."""
    return bool(thread_id) and any(one.source == "thread" and one.status == "EMPTY" for one in assembly.sources)


@click.command(short_help="Explain an assembly.")
@click.argument("receipt")
@click.option("--source", default="", help="Only this source's candidates.")
@connected
def explain(session: CommandSession, receipt: str, source: str) -> None:
    """Show a receipt: every candidate with its decision and the reason.

    \b
    Example:
      sidecar explain 0198c0de-… --source memory
    """
    found = session.client.explain_assembly(receipt_id=receipt)
    if source and source not in (names := [one.source for one in found.sources]):
        raise click.UsageError(f"--source: {source!r} is not a source of this turn; name one of {', '.join(names)}.")
    session.voice.show(found, lambda explained: drawing.receipt(explained, only=source))


@click.command(short_help="Fit a stored assembly again with other knobs.")
@click.argument("receipt")
@click.option("--budget", type=click.IntRange(min=0), help="Another bound on the pool, in tokens.")
@click.option("--top-k", multiple=True, metavar="SOURCE=N", help="Fewer items of a source; repeatable.")
@click.option(
    "--priority", multiple=True, metavar="SOURCE=N", help="Another priority of a source, 1 first; repeatable."
)
@click.option("--spend", help="frugal, balanced or full.")
@click.option("--allocation", help="priority, seed_order or pooled.")
@click.option("--set", "assignments", multiple=True, metavar="KNOB=VALUE", help="Any other knob; repeatable.")
@connected
def replay(session: CommandSession, receipt: str, assignments: Sequence[str], **options: Any) -> None:
    """Fit a stored assembly again with other knobs, and show the differences. No source is called.

    \b
    Example:
      sidecar replay 0198c0de-… --budget 2000 --top-k knowledge=5 --priority memory=1
    """
    of_sources = [*_of_sources("top_k", options["top_k"]), *_of_sources("priority", options["priority"])]
    plain = {"budget_tokens": options["budget"], "allocation": options["allocation"], "spend": options["spend"]}
    overrides = _overrides([*assignments, *of_sources], plain)
    session.voice.show(session.client.replay_assembly(receipt_id=receipt, overrides=overrides), drawing.replay)


@click.command(short_help="Compare two assemblies.")
@click.argument("before")
@click.argument("after")
@connected
def diff(session: CommandSession, before: str, after: str) -> None:
    """Show the differences between two stored assemblies.

    \b
    Example:
      sidecar diff 0198c0de-… 0198c0df-…
    """
    difference = session.client.diff_assemblies(before_receipt_id=before, after_receipt_id=after)
    session.voice.show(difference, drawing.difference)


def _overrides(assignments: Sequence[str], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs that the options set; a knob with an empty value is not overridden."""
    read = knobs.read_assignments(assignments)
    return {name: value for name, value in {**read, **plain}.items() if value is not None}


def _of_sources(knob: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        source, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--{knob.replace('_', '-')}: {text!r} is not SOURCE=N.")
        yield f"{source}.{knob}={value}"
