"""Commands that forget: a memory, a document's memories, a thread, a time range, an owner, or the content with a word."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from sidecar.cli.content import owner as owners
from sidecar.cli.shared import drawing
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.times import INSTANT
from sidecar.client.answers import Forgotten

_dry_run_option = click.option("--dry-run", "is_dry_run", is_flag=True, help="Show the effects; change nothing.")
_yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def forget() -> None:
    """Forget a memory, a document's memories, a thread, a time range, an owner, or the content with a word.

    Pages and summaries are rebuilt without it, and receipts lose its texts. It is removed from the database's files within ten
    minutes.
    """


@forget.command("memory", short_help="Forget one memory.")
@click.argument("memory_id", metavar="MEMORY")
@_dry_run_option
@connected
def forget_memory(session: CommandSession, memory_id: str, is_dry_run: bool) -> None:
    """Forget one memory, and everything derived from it.

    \b
    Example:
      sidecar forget memory mem-0001 --dry-run
    """
    _forget(session, f"the memory {memory_id}", is_confirmed=True, is_dry_run=is_dry_run, memory_id=memory_id)


@forget.command("document", short_help="Forget a document's memories.")
@click.argument("document_id", metavar="DOCUMENT")
@_dry_run_option
@_yes_option
@connected
def forget_document(session: CommandSession, document_id: str, is_dry_run: bool, yes: bool) -> None:
    """Forget the memories that belong to a document, such as a journal page or a session.

    \b
    Example:
      sidecar forget document journal-2026-03 --dry-run
    """
    _forget(
        session,
        f"the memories of the document {document_id}",
        is_confirmed=yes,
        is_dry_run=is_dry_run,
        document_id=document_id,
    )


@forget.command("thread", short_help="Forget a thread.")
@click.argument("thread_id", metavar="THREAD")
@_dry_run_option
@_yes_option
@connected
def forget_thread(session: CommandSession, thread_id: str, is_dry_run: bool, yes: bool) -> None:
    """Forget a thread with its turns, its receipts, and the memories drawn from its turns.

    \b
    Example:
      sidecar forget thread t1 --dry-run
    """
    _forget(session, f"the thread {thread_id}", is_confirmed=yes, is_dry_run=is_dry_run, thread_id=thread_id)


@forget.command("range", short_help="Forget a time range.")
@click.argument("since", type=INSTANT)
@click.argument("until", type=INSTANT)
@_dry_run_option
@_yes_option
@connected
def forget_range(session: CommandSession, since: datetime, until: datetime, is_dry_run: bool, yes: bool) -> None:
    """Forget the memories, turns and receipts from SINCE up to UNTIL (excluded), in UTC, and memories drawn from such turns.

    \b
    Example:
      sidecar forget range 2026-03-01 2026-03-04 --dry-run
    """
    span = {"since_time": since, "until_time": until}
    _forget(
        session,
        f"everything from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}",
        is_confirmed=yes,
        is_dry_run=is_dry_run,
        **span,
    )


@forget.command("word", short_help="Show the content with a word, and forget the confirmed hits.")
@click.argument("word")
@click.option("--confirm", "confirmed_ids", multiple=True, metavar="KIND:ID", help="A hit to forget; repeatable.")
@_dry_run_option
@connected
def forget_word(session: CommandSession, word: str, confirmed_ids: tuple[str, ...], is_dry_run: bool) -> None:
    """Show every memory, turn, thread title, receipt and page that contains WORD, and forget the hits named by --confirm.

    If WORD is -, it is read from standard input, so that it is in no process list and no shell history.

    \b
    Example:
      sidecar forget word "Otto"
      sidecar forget word "Otto" --confirm memory:mem-0001 --confirm turn:5b6…
    """
    text = sys.stdin.readline().strip() if word == "-" else word
    if not text:
        raise click.UsageError("WORD is empty.")
    done = session.client.forget(word=text, confirmed_ids=confirmed_ids, dry_run=is_dry_run)
    session.voice.show(done, _draw)


@forget.command("owner", short_help="Delete all data of an owner.")
@_dry_run_option
@_yes_option
@connected
def forget_owner(session: CommandSession, is_dry_run: bool, yes: bool) -> None:
    """Delete all data of --owner, like `sidecar owner forget`; needs an admin's token.

    \b
    Example:
      sidecar forget owner --owner mara --dry-run
    """
    owners.forget_everything(session, yes=yes, is_dry_run=is_dry_run)


def _forget(session: CommandSession, label: str, /, *, is_confirmed: bool, is_dry_run: bool, **target: Any) -> None:
    for name, value in target.items():
        if not value:
            raise click.UsageError(f"{name.partition('_')[0].upper()} is empty.")
    if not is_confirmed and not is_dry_run:
        effects = session.client.forget(**target, dry_run=True)
        session.voice.confirm(f"Forget {label}: {_counts(effects)}? This cannot be undone.")
    session.voice.show(session.client.forget(**target, dry_run=is_dry_run), _draw)


def _counts(done: Forgotten) -> str:
    counts = {
        ("memory", "memories"): done.memory_ids,
        ("turn", "turns"): done.turn_ids,
        ("thread", "threads"): done.thread_ids,
        ("receipt", "receipts"): done.receipt_ids,
        ("page", "pages"): done.page_ids,
    }
    parts = (counted(len(ids), *names) for names, ids in counts.items() if ids)
    return ", ".join(parts) or "nothing"


def _draw(done: Forgotten) -> Iterator[Any]:
    if done.hits and done.is_dry_run and not done.row_counts:
        yield drawing.rows(("confirm", "text"), ((one.confirm_id, one.excerpt) for one in done.hits))
        yield "forget hits with --confirm KIND:ID"
        return
    yield f"{'would forget' if done.is_dry_run else 'forgotten'}: {_counts(done)}"
    if done.summary_ids:
        yield f"summaries rebuilt: {', '.join(done.summary_ids)}"
    if done.row_counts:
        yield drawing.rows(
            ("table", "rows changed"), ((table, f"{count:,}") for table, count in sorted(done.row_counts.items()))
        )
    yield from drawing.elsewhere(done.elsewhere)
    for table, count in sorted(done.rows_left.items()):
        yield f"{counted(count, 'row')} of {table} still {'holds' if count == 1 else 'hold'} the word"
