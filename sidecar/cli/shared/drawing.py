"""Terminal output: tables, bars and texts from answers. Pure: values in, lines and rich tables out.

Bars are drawn with characters, not colours, so that they look the same in a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from sidecar.cli.shared.output import counted, printable
from sidecar.client.answers import (
    Assembly,
    AssemblyDiff,
    Budget,
    CandidateDecision,
    ForgottenElsewhere,
    MessageReading,
    Receipt,
    Replay,
    SourceReport,
)
from sidecar.client.shapes import Message, ToolCall

BAR_CELLS = 40
MAX_ID_CELLS = 28
_SHORT_CELLS = 16  # of a time
_NUMBERS = frozenset({"ms", "offered", "whole", "short", "dropped", "tokens", "score", "turns", "version"})
_WRAPPED = frozenset({"why", "text", "knobs", "title"})
# Never cut: other commands take their values.
_WHOLE = frozenset(
    {"attestation", "confirm", "copy", "episode", "hash", "id", "job", "memory", "mention", "page", "receipt", "thread"}
    | {"method", "object", "owner"}
)
_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of a whole, in tokens."""

    name: str
    tokens: int


def assembly(assembly: Assembly, *, max_lines: int | None = None) -> Iterator[Any]:
    """Yield the fitted context, a line per source, the budget as bars, and the receipt; texts are cut to `max_lines`."""
    yield from context(assembly, max_lines=max_lines)
    yield ""
    yield from sources(assembly.sources)
    yield from budget(assembly.budget, assembly.sources)
    yield from _notes(assembly)


def _notes(assembly: Assembly) -> Iterator[str]:
    if assembly.last_exchange_cut:
        yield "The last exchange was too long for the pool: its middle was cut."
    yield from _reading(assembly.reading)
    if assembly.nothing_found and not any(source.offered_count for source in assembly.sources):
        yield "Nothing was recalled: no source found anything."
    elif assembly.nothing_found:
        again = (
            f" Show the omitted items with: sidecar replay {assembly.receipt_id} --spend full"
            if assembly.receipt_id
            else ""
        )
        yield f"Nothing was recalled: no match is worth its tokens.{again}"
    if assembly.conversation_missing:
        yield "The conversation is missing: the thread's recent turns could not be read."
    if assembly.degraded:
        yield "Degraded: a source did not answer."
    if assembly.receipt_id:
        yield f"receipt {assembly.receipt_id}"


def _reading(reading: MessageReading | None) -> Iterator[str]:
    if reading is not None and reading.thread_words:
        words = ", ".join(reading.thread_words)
        yield f"Searched as a follow-up in its thread (weight {reading.leaning:.0%}), also with the thread's words: {words}"
    if reading is not None and reading.days_searched:
        yield f"Searched also for all that was said on {', '.join(reading.days)}"


def context(assembly: Assembly, *, max_lines: int | None = None) -> Iterator[str]:
    """Yield the context as sent to the model: the blocks, then the history."""
    for block in assembly.system_blocks:
        point = ", cache point" if block.is_cache_point else ""
        yield f"── {block.source or 'system'}, {block.zone}, {counted(block.tokens, 'token')}{point}"
        yield _cut(block.text, max_lines, first=1)  # the best items stand last
    if assembly.messages:
        yield f"── history, {counted(len(assembly.messages), 'message')}"
    shown = assembly.messages if max_lines is None else assembly.messages[-max_lines:]
    if len(shown) < len(assembly.messages):
        yield f"   … {counted(len(assembly.messages) - len(shown), 'earlier message')}"
    yield from (_cut(text, max_lines) for message in shown for text in message_parts(message))


def message_parts(message: Message) -> Iterator[str]:
    """Yield the parts of a message, each prefixed with its role."""
    if message.text:
        yield f"{message.role}: {message.text}"
    for part in message.parts:
        if isinstance(part, ToolCall):
            arguments = json.dumps(dict(part.arguments), ensure_ascii=False)
            yield f"{message.role}: calls {part.name} {arguments}"
        else:
            yield f"{message.role}: {part.content}"


def sources(reports: Sequence[SourceReport]) -> Iterator[Any]:
    """Yield a line for each source with its status and its share of the context, then the reasons."""
    table = _table("source", "status", "ms", "offered", "whole", "short", "dropped", "tokens")
    for report in reports:
        counts = (report.offered_count, report.included_count, report.shortened_count, report.dropped_count)
        table.add_row(
            report.source,
            report.status,
            f"{report.latency_ms:.1f}",
            *(_number(count) for count in counts),
            _number(report.included_tokens),
        )
    yield table
    yield from (f"{report.source}: {report.reason}" for report in reports if report.reason)


def budget(budget: Budget, reports: Sequence[SourceReport]) -> Iterator[str]:
    """Yield the window and then the pool as bars; each bar starts where the previous one ended, so together they fill it."""
    exactness = "exact" if budget.is_exact else "estimated"
    yield f"window {counted(budget.window_tokens, 'token')}, counted by {budget.tokenizer} ({exactness})"
    yield from bars(window_shares(budget), budget.window_tokens)
    yield f"pool {_number(budget.pool_tokens)}, used {_number(budget.used_tokens)}"
    yield from bars(pool_shares(budget, reports), budget.pool_tokens)


def window_shares(budget: Budget) -> list[BarPart]:
    """Return the parts of the window in order of computation; their tokens add up to the window."""
    spent = [
        BarPart("system", budget.system_tokens),
        BarPart("tools", budget.tool_tokens),
        BarPart("reserve", budget.response_reserve_tokens),
        BarPart("message", budget.message_tokens),
        BarPart("headroom", budget.headroom_tokens),
        BarPart("pool", budget.pool_tokens),
    ]
    return [*spent, BarPart("not requested", budget.window_tokens - sum(share.tokens for share in spent))]


def pool_shares(budget: Budget, reports: Sequence[SourceReport]) -> list[BarPart]:
    """Return the parts of the pool: each source, other text, and free tokens; they add up to the pool."""
    used = [BarPart(report.source, report.included_tokens) for report in reports]
    frame = BarPart("frame", budget.used_tokens - sum(share.tokens for share in used))
    return [*used, frame, BarPart("free", budget.pool_tokens - budget.used_tokens)]


def bars(parts: Sequence[BarPart], whole: int, *, cells: int = BAR_CELLS) -> Iterator[str]:
    """Yield a line for each part: name, tokens, share, and its bar within `cells` cells.

    A part narrower than a cell is shown as a sliver. Parts without tokens get no line.
    """
    name_cells = max((len(part.name) for part in parts), default=0)
    before = 0
    for part in parts:
        if part.tokens <= 0:
            continue
        start, end = (round(tokens * cells / max(whole, 1)) for tokens in (before, before + part.tokens))
        before += part.tokens
        start, end = min(start, cells - 1), min(end, cells)
        ink = "█" * (end - start) or "▏"
        share = f"{part.tokens / max(whole, 1):.1%}"
        yield f"  {part.name:<{name_cells}} {_number(part.tokens):>9} {share:>6}  {' ' * start}{ink}"


def receipt(receipt: Receipt, *, only: str = "") -> Iterator[Any]:
    """Yield a receipt: the request, the sources, and the decision on every candidate with its reason."""
    made = receipt.create_time.isoformat(timespec="seconds") if receipt.create_time else ""
    yield f"receipt {receipt.receipt_id}, {made}, {receipt.duration_ms:.1f} ms"
    yield f"model {receipt.model_id}, thread {receipt.thread_id or '(none)'}, profile {receipt.profile_version}"
    if receipt.message:
        yield f"message: {_cut(receipt.message, 3)}"
    yield from _reading(receipt.reading)
    yield ""
    yield from sources(receipt.sources)
    yield ""
    yield decisions([one for one in receipt.decisions if not only or one.source == only])
    if receipt.usage:
        counted = f"{_number(receipt.usage.input_tokens)} in, {_number(receipt.usage.output_tokens)} out"
        yield f"reported: {counted}, {_number(receipt.usage.cache_read_tokens)} from the cache"


def decisions(decisions: Iterable[CandidateDecision]) -> Table:
    """Return a table with a line for each candidate: the decision and its reason."""
    table = _table("source", "item", "decision", "tokens", "score", "why")
    for one in decisions:
        is_named = not one.into_item_id or one.into_item_id in one.reason
        reason = one.reason if is_named else f"{one.reason} ({one.into_item_id})"
        table.add_row(
            one.source,
            Text(short_ids(one.item_id)),
            one.decision,
            _number(one.tokens),
            f"{one.score:.3f}",
            Text(short_ids(reason)),
        )
    return table


def difference(diff: AssemblyDiff) -> Iterator[Any]:
    """Yield the differences between two assemblies; one line if there are none."""
    if not diff.changes and not diff.token_deltas and not diff.status_changes:
        yield "Nothing differs."
        return
    table = _table("source", "item", "before", "after", "why")
    for change in diff.changes:
        table.add_row(
            change.source,
            Text(short_ids(change.item_id)),
            change.before or "not offered",
            change.after or "not offered",
            Text(short_ids(change.reason)),
        )
    if diff.changes:
        yield table
    yield from (
        f"{source}: {delta:+,} {'token' if abs(delta) == 1 else 'tokens'}"
        for source, delta in sorted(diff.token_deltas.items())
    )
    yield from (f"{source}: {change}" for source, change in sorted(diff.status_changes.items()))
    if diff.first_changed_zone:
        yield f"The bytes differ from the {diff.first_changed_zone} zone on."
    if diff.note:
        yield f"This alone may explain the differences: {diff.note}."


def replay(replay: Replay) -> Iterator[Any]:
    """Yield the differences made by other knobs, and the new budget."""
    yield from difference(replay.diff)
    yield ""
    yield from budget(replay.assembly.budget, replay.assembly.sources)


def elsewhere(outcomes: Iterable[ForgottenElsewhere]) -> Iterator[str]:
    """Yield a line with the outcome of a forgetting at each remote memory service."""
    for one in outcomes:
        count = f" {one.count:,}" if one.count else ""
        yield f"{one.service} ({one.backend}): {one.state}{count}{'; ' if one.detail else ''}{one.detail}"


def dollars(usd: float) -> str:
    """Return an amount to the cent, or to four digits if it is no whole number of cents."""
    return f"${usd:,.2f}" if round(usd, 2) == usd else f"${usd:,.4f}"


def rows(names: Sequence[str], values: Iterable[Sequence[Any]], *, empty: str = "") -> Table | str:
    """Return a plain table of texts and numbers; without rows, return `empty`, which says how to get some.

    Ids, times and numbers are never cut. On a terminal that is too narrow for them, the lines run over.
    """
    table = _table(*names)
    cells = [[Text(printable(str(value))) for value in row] for row in values]
    for row in cells:
        table.add_row(*row)
    for column, name, *texts in zip(table.columns, names, *cells, strict=True):
        widest = max(Text(name).cell_len, *(text.cell_len for text in texts), 0)
        if name in _WHOLE:
            column.max_width = None
        if name in _WHOLE or widest <= _SHORT_CELLS or name in _WRAPPED:
            column.min_width = min(widest, _SHORT_CELLS) if name in _WRAPPED else widest
    return table if table.row_count or not empty else empty


def _table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in names:
        if name in _WRAPPED:
            table.add_column(name, overflow="fold")
        else:
            justify: Literal["right", "left"] = "right" if name in _NUMBERS else "left"
            table.add_column(name, justify=justify, no_wrap=True, max_width=MAX_ID_CELLS, overflow="ellipsis")
    return table


def _number(value: int) -> str:
    return f"{value:,}"


def short_ids(text: str) -> str:
    """Return the text with each UUID cut to its first eight digits, to fit tables; JSON output has the full UUIDs."""
    return _UUID.sub(r"\1…", printable(text))


def moment(instant: datetime | None) -> str:
    """Return the time in UTC to the minute; empty for None."""
    return f"{instant:%Y-%m-%d %H:%M}" if instant else ""


def _cut(text: str, lines: int | None, *, first: int | None = None) -> str:
    """Return `lines` lines of the text, the first ones or `first` of them and then the last ones, with a note for the others."""
    text_lines = text.rstrip("\n").split("\n")
    if lines is None or len(text_lines) <= lines + 1:
        return "\n".join(text_lines)
    left_out = len(text_lines) - lines
    start = lines if first is None else first
    note = f"   … {counted(left_out, 'more line')}"
    return "\n".join([*text_lines[:start], note, *text_lines[start + left_out :]])
