"""Commands about threads: import existing conversations, list threads, show one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK, NotThere
from sidecar.cli.shared.imports import drawn_refusals, resumable, sent_without_refused
from sidecar.cli.shared.output import Step, counted
from sidecar.cli.shared.paging import batches, every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import Appended, Thread, Turn
from sidecar.client.imported import new_turn
from sidecar.client.shapes import Message
from sidecar.ingest.exports.conversation import Conversation, ImportedTurn, SkippedPiece
from sidecar.ingest.exports.conversations import opened_conversations

_LEAD_CHARS = 100


@click.group()
def thread() -> None:
    """Import, list and show threads."""


@dataclass(slots=True)
class Tally:
    """The progress of an import."""

    expected: int = 0
    threads: set[str] = field(default_factory=set)
    turns: int = 0
    new: int = 0
    skipped: list[SkippedPiece] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Return the number of skipped pieces with content."""
        return sum(one.is_lost for one in self.skipped)

    def stored(self) -> str:
        """Return the number of stored turns as text, empty for none."""
        return f"{self.turns:,} of {counted(self.expected, 'turn')}" if self.turns else ""

    def facts(self) -> dict[str, Any]:
        return {
            "threads": sorted(self.threads),
            "turns": self.turns,
            "new": self.new,
            "known": self.turns - self.new,
            "refused": self.refused,
            "skipped": [str(one) for one in self.skipped],
        }


@thread.command("import", short_help="Import conversations from a file.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--thread", "thread_id", default="", help="The thread to write to, for a file of one conversation.")
@click.option("--title", default="", help="A title for that thread.")
@connected
def import_file(session: CommandSession, file: Path, thread_id: str, title: str) -> int:
    """Import conversations: JSONL of OpenAI-style messages, `sidecar owner export`, or an export of ChatGPT, Claude or Slack.

    The format is recognized from the file. Importing it again writes only new turns, so an interrupted import can be
    repeated. The exit code is 1 if a part of the file was refused; the others are written.

    \b
    Example:
      sidecar thread import conversations.json
      sidecar thread import chat.jsonl --thread t1
      (a line: {"role": "user", "content": "Moved to Lisbon.", "timestamp": "2026-02-01T16:20:00Z"})
    """
    tally = imported(session, file, thread_id, title)
    session.voice.show(tally.facts(), _draw_tally)
    is_empty = not (tally.turns or tally.skipped)
    if is_empty:
        session.voice.note(f"{file}: no turns found; name JSONL of messages, or an export of ChatGPT, Claude or Slack.")
    return FAILED if is_empty or tally.refused else OK


def imported(session: CommandSession, file: Path, thread_id: str = "", title: str = "") -> Tally:
    """Import the file's conversations and return the counts. Raises an IngestError, and Interrupted for Ctrl-C."""
    tally = Tally()
    with resumable(session.voice, tally.stored), opened_conversations(file) as read:
        surveyed = _surveyed(read())
        if (thread_id or title) and len(surveyed) > 1:
            raise click.UsageError(f"{file} has {len(surveyed)} conversations; --thread and --title are for one.")
        tally.expected = sum(surveyed.values())
        with session.voice.progress("turns", tally.expected) as step:
            for found in read():
                if isinstance(found, SkippedPiece):
                    tally.skipped.append(found)
                else:
                    _send(session, found, thread_id or found.id, title=title or found.title, tally=tally, step=step)
    return tally


def _surveyed(pieces: Iterable[Conversation | SkippedPiece]) -> Counter[str]:
    """Return the number of turns in each conversation of the file."""
    surveyed = Counter[str]()
    for found in pieces:
        if not isinstance(found, SkippedPiece):
            surveyed[found.id] += len(found.turns)
    return surveyed


def _send(
    session: CommandSession, conversation: Conversation, thread_id: str, *, title: str, tally: Tally, step: Step
) -> None:
    """Write a conversation's turns in batches."""
    tally.threads.add(thread_id)

    def refused(turn: ImportedTurn, reason: str) -> None:
        tally.skipped.append(SkippedPiece(thread_id, f"turn {turn.client_turn_id} ({turn.text[:_LEAD_CHARS]})", reason))

    def send(left: Sequence[ImportedTurn]) -> Appended:
        turns = [new_turn(turn) for turn in left]
        return session.client.append_turns(thread_id=thread_id, turns=turns, title=title)

    for batch in batches(conversation.turns, _chars):
        done, sent = sent_without_refused(batch, send, refused)
        tally.turns += sent
        tally.new += 0 if done is None else done.appended_count
        step(len(batch))


def _chars(turn: ImportedTurn) -> int:
    return len(turn.text) + sum(len(str(part)) for part in turn.parts)


def _draw_tally(facts: dict[str, Any]) -> Iterator[str]:
    counts = f"{facts['new']:,} new, {facts['known']:,} known"
    yield f"{counted(facts['turns'], 'turn')} in {counted(len(facts['threads']), 'thread')}: {counts}"
    yield from drawn_refusals(facts["skipped"], lost=facts["refused"])


@thread.command("list", short_help="List threads, newest turn first.")
@limit_option
@connected
def list_threads(session: CommandSession, limit: int) -> None:
    """List the owner's threads, the one with the newest turn first.

    \b
    Example:
      sidecar thread list --limit 10
    """
    threads = list(every(session.client.list_threads, limit=limit))
    session.voice.show(threads, _draw_threads)


def _draw_threads(threads: list[Thread]) -> Iterator[Any]:
    yield drawing.rows(
        ("thread", "turns", "newest", "title"),
        ((one.thread_id, one.turn_count, drawing.moment(one.last_turn_time), one.title) for one in threads),
        empty="No threads yet; import some with: sidecar thread import",
    )


@thread.command("show", short_help="Show a thread's turns.")
@click.argument("thread_id", metavar="THREAD")
@limit_option
@connected
def show_thread(session: CommandSession, thread_id: str, limit: int) -> None:
    """Show a thread's turns in their original wording, oldest first.

    \b
    Example:
      sidecar thread show t1 --limit 0
    """
    turns = list(every(session.client.list_turns, limit=limit, thread_id=thread_id))
    if not turns:
        raise NotThere(f"This owner has no thread {thread_id!r} with turns; list the threads with: sidecar thread list")
    session.voice.show(turns, _draw_turns)


def _draw_turns(turns: list[Turn]) -> Iterator[str]:
    for turn in turns:
        yield f"── {turn.position} {drawing.moment(turn.said_time)}, {turn.client_turn_id}, {counted(turn.tokens, 'token')}"
        yield from drawing.message_parts(Message(turn.speaker or turn.role, turn.text, turn.parts))
