"""Commands for wiki maintenance: lint, reset, rebuild, verify, links, journal import, read statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.imports import drawn_refusals, resumable, sent_without_refused
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.paging import batches
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import drawing
from sidecar.cli.wiki.compiles import ended, exit_of, followed
from sidecar.client import JournalPlace, JournalRecord
from sidecar.client.answers.wiki import ImportEffect, ResetEffect, Verification
from sidecar.ingest.exports.conversation import SkippedPiece
from sidecar.ingest.exports.journal import ImportedPlace, ImportedRecord, read_journal
from sidecar.ingest.opening import opened_at

_BATCH_RECORDS = 500
_BATCH_CHARS = 4_000_000
_LEAD_CHARS = 100

_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_full = click.option("--full", is_flag=True, help="Delete pages and held names instead of archiving pages.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command(short_help="Check the wiki for problems.")
@_dry_run
@connected
def lint(session: CommandSession, dry_run: bool) -> None:
    """Check for broken links, sections without a source, shared names, stale and oversized pages, and queue a compile for held
    names that were seen often enough.

    \b
    Example:
      sidecar wiki lint --dry-run
    """
    session.voice.show(session.client.run_lint(dry_run=dry_run), drawing.lint)


@click.command(short_help="Reset the compile.")
@_full
@_yes
@_dry_run
@connected
def reset(session: CommandSession, full: bool, yes: bool, dry_run: bool) -> None:
    """Reset the compile; the next one reads every memory again. Refused while a job runs.

    \b
    Example:
      sidecar wiki reset --dry-run
      sidecar wiki reset --full --yes
    """
    effect = _reset(session, full=full, yes=yes, dry_run=dry_run)
    session.voice.show(effect, lambda one: _draw_reset(one, full=full, dry_run=dry_run))


def _reset(session: CommandSession, *, full: bool, yes: bool, dry_run: bool) -> ResetEffect:
    if not (yes or dry_run):
        session.voice.confirm(f"{'Delete' if full else 'Archive'} every page and compile all memories again?")
    return session.client.reset_cursor(mode="full" if full else "polite", dry_run=dry_run)


def _draw_reset(effect: ResetEffect, *, full: bool, dry_run: bool) -> Iterator[str]:
    verb = "deleted" if full else "archived"
    yield (
        f"{'would be ' if dry_run else ''}{verb}: {counted(effect.page_count, 'page')}, "
        f"{counted(effect.mention_count, 'held name')}; {counted(effect.job_count, 'job')} cancelled, "
        f"{counted(effect.memory_count, 'memory', 'memories')} to read again"
    )
    if not dry_run:
        yield "the next compile reads them: sidecar wiki compile"


@click.command(short_help="Reset, compile again, and follow the job.")
@_full
@_yes
@_dry_run
@connected
def rebuild(session: CommandSession, full: bool, yes: bool, dry_run: bool) -> int:
    """Reset the compile, compile every memory again, and follow the job to the end.

    \b
    Example:
      sidecar wiki rebuild --yes
    """
    effect = _reset(session, full=full, yes=yes, dry_run=dry_run)
    if dry_run:
        session.voice.show(effect, lambda one: _draw_reset(one, full=full, dry_run=True))
        return OK
    ticket = session.client.compile_now()
    return followed(session, ticket.job.job_id) if ticket.job is not None else FAILED


@click.command(short_help="Rebuild the wiki separately from its log, and compare.")
@connected
def verify(session: CommandSession) -> int:
    """Replay the logged batches into a separate wiki and compare every byte. Nothing is changed, and no model is called.

    A wiki that another version compiled cannot be verified until `sidecar wiki rebuild --full` has rebuilt it.

    \b
    Example:
      sidecar wiki verify
    """
    with session.voice.progress("rebuilding aside", None):
        result = session.client.verify_rebuild()
    session.voice.show(result, drawn_verification)
    return OK if result.is_identical else FAILED


def drawn_verification(found: Verification) -> Iterator[str]:
    """Yield the result of a comparison, or the remedy if none was possible."""
    if found.outdated_count:
        counts = f"{found.outdated_count:,} of {counted(found.batch_count, 'batch', 'batches')}"
        yield f"not replayable by this version: {counts} were planned by other rules"
        yield "nothing is wrong with the wiki; `sidecar wiki rebuild --full` makes one that can be verified"
        return
    if not found.is_identical and found.unreplayable_from and not found.differences:
        yield f"cannot be replayed from batch {found.unreplayable_from:,} on: {found.reason}"
        yield "nothing is wrong with the wiki; `sidecar wiki rebuild --full` makes one that can be verified"
        return
    is_partial = not found.is_identical and found.unreplayable_count > 0
    verdict = "identical" if found.is_identical else "not comparable" if is_partial else "different"
    yield f"{verdict}: {counted(found.batch_count, 'batch', 'batches')} replayed, {counted(found.page_count, 'page')} compared"
    if found.unreplayable_count:
        yield (
            f"{counted(found.unreplayable_count, 'batch', 'batches')} could not be replayed exactly, "
            f"the first of them batch {found.unreplayable_from:,}: {found.reason}"
        )
    if is_partial:
        yield "this alone may explain the differences; `sidecar wiki rebuild --full` makes a wiki that can be verified"
    yield from (f"  {one}" for one in found.differences)


@click.command(short_help="Write deterministic links that are missing.")
@_dry_run
@connected
def backfill(session: CommandSession, dry_run: bool) -> None:
    """Write missing links that follow from the memories' places, journals and shared mentions.

    \b
    Example:
      sidecar wiki backfill --dry-run
    """
    with session.voice.progress("reading memories", None):
        effect = session.client.backfill_links(dry_run=dry_run)
    session.voice.show(effect, lambda one: drawing.backfill(one, is_dry=dry_run))


@click.command(short_help="Remove one class of links.")
@click.argument("origin", type=click.Choice(["deterministic", "co_mention", "rollup", "planner", "manual"]))
@click.option("--context", "context_prefix", default="", help="Only evidence whose context begins with this.")
@_yes
@_dry_run
@connected
def rollback(session: CommandSession, origin: str, context_prefix: str, yes: bool, dry_run: bool) -> None:
    """Remove the evidence of one origin, and the links left without evidence.

    \b
    Example:
      sidecar wiki rollback deterministic --context deterministic:city: --dry-run
    """
    if not (yes or dry_run):
        session.voice.confirm(f"Remove every link that has only {origin} evidence?")
    effect = session.client.rollback_links(origin=origin, context_prefix=context_prefix, dry_run=dry_run)
    session.voice.show(effect, lambda one: drawing.rollback(one, is_dry=dry_run))


@click.command("import", short_help="Import a journal, and compile it.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--wait", is_flag=True, help="Follow the compile to the end.")
@connected
def import_journal(session: CommandSession, file: Path, wait: bool) -> int:
    """Import journal records from JSONL as memories and compile them; importing again changes nothing.

    The exit code is 1 if a part of the file was refused; the others are stored.

    \b
    Example:
      sidecar wiki import journal.jsonl --wait
      (a line: {"id": "j1", "text": "Ate here.", "occurred_at": "2026-02-01T16:20:00Z",
      "place": {"name": "Casa Lola", "city": "Austin", "alternate_names": ["Lola"]},
      "tags": ["food"], "journal_id": "trip"})
    """
    facts = imported(session, file)
    job_id = facts["job_id"]
    code = OK if facts["records"] and not facts["refused"] else FAILED
    if wait and job_id and session.voice.is_json:
        *_, last = ended(session, job_id)
        session.voice.document({**facts, "job": last})
        return exit_of(last) or code
    session.voice.show(facts, drawn_import)
    if not (facts["records"] or facts["skipped"]):
        session.voice.note(f"{file}: no records found; write one JSON object with a text per line.")
    return (followed(session, job_id) if wait and job_id else OK) or code


def imported(session: CommandSession, file: Path) -> dict[str, Any]:
    """Import the file's records and return the counts and the compile's id. Raises an IngestError, and Interrupted for Ctrl-C."""
    facts: dict[str, Any] = {"records": 0, "created": 0, "updated": 0, "unchanged": 0, "refused": 0, "skipped": []}
    facts["job_id"] = ""
    with resumable(session.voice, lambda: _stored(facts)):
        records, skipped = _read(file)
        facts |= {"records": len(records), "refused": sum(one.is_lost for one in skipped)}
        facts["skipped"] += map(str, skipped)
        parts = list(batches(records, lambda one: len(one.text), most=_BATCH_RECORDS, most_chars=_BATCH_CHARS))
        with session.voice.progress("records", len(records)) as step:
            for place, part in enumerate(parts, start=1):
                _send(session, part, facts, has_more=place < len(parts))
                step(len(part))
    return facts


def _send(session: CommandSession, part: Sequence[ImportedRecord], facts: dict[str, Any], *, has_more: bool) -> None:
    """Store a batch and count it; count the records that the service refuses as refused."""

    def refused(one: ImportedRecord, reason: str) -> None:
        facts["refused"] += 1
        facts["skipped"].append(f"the record {one.id} ({one.text[:_LEAD_CHARS]}): {reason}")

    def send(left: Sequence[ImportedRecord]) -> ImportEffect:
        return session.client.bootstrap_import(records=_sent(left), has_more=has_more)

    done, sent = sent_without_refused(part, send, refused)
    facts["records"] -= len(part) - sent
    if done is None and not has_more:  # the records before are compiled with the last call
        done = send(())
    if done is not None:
        facts["created"] += done.created_count
        facts["updated"] += done.updated_count
        facts["unchanged"] += done.unchanged_count
        facts["job_id"] = done.job.job_id if done.job is not None else facts["job_id"]


def _stored(facts: dict[str, Any]) -> str:
    """Return the number of stored records as text, empty for none."""
    stored = sum(facts[name] for name in ("created", "updated", "unchanged"))
    return f"{stored:,} of {counted(facts['records'], 'record')}" if stored else ""


def _read(file: Path) -> tuple[list[ImportedRecord], list[SkippedPiece]]:
    with opened_at(file) as stream:
        parts = list(read_journal(str(file), stream))
    records = {one.id: one for one in parts if isinstance(one, ImportedRecord)}  # of an id, the last one
    return list(records.values()), [one for one in parts if isinstance(one, SkippedPiece)]


def _sent_place(place: ImportedPlace | None) -> JournalPlace | None:
    if place is None:
        return None
    return JournalPlace(name=place.name, city=place.city, address=place.address, alternate_names=place.alternate_names)


def _sent(part: Sequence[ImportedRecord]) -> list[JournalRecord]:
    return [
        JournalRecord(
            record_id=one.id,
            text=one.text,
            occurred_time=one.occurred_at,
            place=_sent_place(one.place),
            tags=one.tags,
            journal_id=one.journal_id,
        )
        for one in part
    ]


def drawn_import(facts: dict[str, Any]) -> Iterator[str]:
    """Yield the result of the import, the first skipped records, and the command to follow the compile."""
    counts = ", ".join(f"{facts[name]:,} {name}" for name in ("created", "updated", "unchanged"))
    yield f"{counted(facts['records'], 'record')}: {counts}"
    yield from drawn_refusals(facts["skipped"], lost=facts["refused"])
    if facts["job_id"]:
        yield f"job {facts['job_id']}; follow it with: sidecar wiki watch {facts['job_id']}"


@click.command(short_help="Compare the wiki's use by turns with the cost of compiling.")
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far to look back.")
@connected
def reads(session: CommandSession, days: int) -> None:
    """Show how often assemblies contained wiki content and answers used it, with the cost of compiling.

    \b
    Example:
      sidecar wiki reads --days 7
    """
    since = datetime.now(UTC) - timedelta(days=days)
    session.voice.show(session.client.measure_reads(since_time=since), drawing.reads)


COMMANDS = (lint, reset, rebuild, verify, backfill, rollback, import_journal, reads)
