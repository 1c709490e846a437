"""Commands about memories: import from a file, list, show, pin, accept, reject, supersede, restore, explain, compress, forget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sidecar.cli.content.memory_import import drawn_facts, imported
from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.times import DATED, DatedInstant, written
from sidecar.client.answers import Memory, MemoryBelief, MemoryHistory, SupersessionEffect
from sidecar.client.encoding import NewMemory

_LEAD_CHARS = 100


@click.group()
def memory() -> None:
    """Import, list, show, pin, accept, reject, supersede, explain, compress and forget memories."""


@memory.command("import", short_help="Import memories from a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@connected
def import_file(session: CommandSession, file: Path) -> int:
    """Import memories from JSONL or a JSON array of objects with a text; importing again changes nothing.

    The outputs of `sidecar memory list --json` and `sidecar owner export` are such files; of an export, import the threads
    first, so that the memories refer to their turns. The exit code is 1 if a part of the file was refused; the others are
    stored.

    \b
    Example:
      sidecar memory import memories.jsonl
      (a line: {"text": "Moved to Lisbon.", "occurred_at": "2026-02-01T16:20:00Z", "tags": ["home"]})
    """
    facts = imported(session, file)
    session.voice.show(facts, drawn_facts)
    is_empty = not (facts["memories"] or facts["skipped"])
    if is_empty:
        session.voice.note(f"{file}: no memories found; write one JSON object with a text per line.")
    return FAILED if is_empty or facts["refused"] else OK


@memory.command("list", short_help="List memories, newest first.")
@limit_option
@click.option("--pinned", "is_pinned_only", is_flag=True, help="Only pinned memories.")
@click.option("--as-of", type=DATED, help="Only memories that held at this time (2026, 2026-03, 2026-03-03, …).")
@click.option("--known-at", type=DATED, help="Only memories known at this time, in their newest text.")
@connected
def list_memories(
    session: CommandSession,
    limit: int,
    is_pinned_only: bool,
    as_of: DatedInstant | None,
    known_at: DatedInstant | None,
) -> None:
    """List the owner's memories, newest first.

    \b
    Example:
      sidecar memory list --limit 10
      sidecar memory list --as-of 2025-06 --known-at 2025-12-31
    """
    moments: dict[str, Any] = {"as_of_time": as_of and as_of.moment, "known_at_time": known_at and known_at.moment}
    memories = list(every(session.client.list_memories, limit=limit, pinned_only=is_pinned_only, **moments))
    session.voice.show(memories, _draw_memories)


def _draw_memories(memories: list[Memory]) -> Iterator[Any]:
    yield drawing.rows(
        ("memory", "when", "", "text"),
        ((one.memory_id, _day(one), _pin(one), one.text[:_LEAD_CHARS]) for one in memories),
        empty="No memories yet; import some with: sidecar memory import",
    )


def _day(one: Memory) -> str:
    return f"{one.occurred_time:%Y-%m-%d}" if one.occurred_time else ""


def _pin(one: Memory) -> str:
    return "pinned" if one.pinned else ""


@memory.command("get", short_help="Show one memory.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def get_memory(session: CommandSession, memory_id: str) -> None:
    """Show one memory in full.

    \b
    Example:
      sidecar memory get mem-0001
    """
    session.voice.show(session.client.get_memory(memory_id=memory_id), _draw_memory)


def _draw_memory(one: Memory) -> Iterator[str]:
    pinned = ", pinned" if one.pinned else ""
    yield f"── {one.memory_id}, {_day(one)}, document {one.document_id or '(none)'}{pinned}"
    yield f"{one.memory_type}, {one.status}, confidence {one.confidence:.2g}, authority {one.authority}"
    if held := _validity(one):
        yield held
    if one.compressed:
        yield "in a summary"
    yield one.text
    for name, value in sorted(one.metadata.items()):
        yield f"{name}: {json.dumps(value, ensure_ascii=False)}"


def _validity(one: Memory) -> str:
    """Return the time in which the memory holds; empty if unlimited."""
    bounds = (("from", one.valid_from_time, one.valid_precision), ("until", one.valid_until_time, one.until_precision))
    return " ".join(f"{word} {written(moment, precision)}" for word, moment, precision in bounds if moment)


_rule_option = click.option("--rule", default="", help="The reason or rule; it is recorded.")


@memory.command("accept", short_help="Accept a candidate.")
@click.argument("memory_id", metavar="MEMORY")
@_rule_option
@connected
def accept_memory(session: CommandSession, memory_id: str, rule: str) -> None:
    """Accept a memory: it is recalled as confirmed, and compiled. Its confidence and authority do not change.

    \b
    Example:
      sidecar memory accept mem-0001 --rule "said twice"
    """
    session.voice.show(
        session.client.set_memory_status(memory_id=memory_id, status="accepted", rule=rule), _draw_memory
    )


@memory.command("reject", short_help="Reject a memory.")
@click.argument("memory_id", metavar="MEMORY")
@_rule_option
@connected
def reject_memory(session: CommandSession, memory_id: str, rule: str) -> None:
    """Reject a memory: it is listed, but neither recalled nor compiled. Accepting it undoes that.

    \b
    Example:
      sidecar memory reject mem-0001 --rule "the user says it is wrong"
    """
    session.voice.show(
        session.client.set_memory_status(memory_id=memory_id, status="rejected", rule=rule), _draw_memory
    )


@memory.command("history", short_help="Show the history of a memory's status.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def show_history(session: CommandSession, memory_id: str) -> None:
    """Show a memory, the changes of its status, the summaries that contain it, and the memories that it summarizes.

    \b
    Example:
      sidecar memory history mem-0001
    """
    session.voice.show(session.client.get_memory_history(memory_id=memory_id), _draw_history)


def _draw_history(history: MemoryHistory) -> Iterator[Any]:
    if history.memory is not None:
        yield from _draw_memory(history.memory)
    yield drawing.rows(
        ("when", "from", "to", "by", "rule"),
        (
            (f"{one.change_time:%Y-%m-%d %H:%M}", one.old_status, one.new_status, one.changed_by, one.rule)
            for one in history.changes
        ),
        empty="Its status never changed.",
    )
    for one in history.supersessions:
        undone = f", undone {one.undo_time:%Y-%m-%d}" if one.undo_time else ""
        yield f"{one.memory_id} superseded {one.superseded_id}: {one.reason}{undone}"


@memory.command("supersede", short_help="Replace memories by a newer one.")
@click.argument("superseded_ids", metavar="MEMORY...", nargs=-1, required=True)
@click.option("--by", "memory_id", default="", metavar="MEMORY", help="The newer memory, if it exists.")
@click.option("--text", default="", help="The newer memory's text, to write it.")
@click.option(
    "--from", "valid_from", type=DATED, help="The time from which the new text holds (2026-03-03); default: now."
)
@click.option("--reason", type=click.Choice(["corrected", "contradicted"]), default="corrected", show_default=True)
@click.option("--evidence", default="", help="The evidence; it is recorded.")
@connected
def supersede_memories(
    session: CommandSession,
    *,
    superseded_ids: tuple[str, ...],
    memory_id: str,
    text: str,
    valid_from: DatedInstant | None,
    reason: str,
    evidence: str,
) -> None:
    """Replace memories by a newer one: they stay, and hold until it begins.

    \b
    Example:
      sidecar memory supersede mem-0001 --text "Lives in Porto." --from 2026-03-03
      sidecar memory supersede mem-0001 --by mem-0002 --reason contradicted
    """
    if bool(memory_id) == bool(text) or (valid_from and not text):
        raise click.UsageError("Give --by MEMORY, or --text TEXT with or without --from.")
    began, precision = valid_from or (None, "")
    effect = session.client.supersede(
        superseded_ids=superseded_ids,
        memory_id=memory_id,
        edit=NewMemory(text=text, valid_from_time=began, valid_precision=precision) if text else None,
        reason=reason,
        evidence=evidence,
    )
    session.voice.show(effect, _draw_supersession)


def _draw_supersession(effect: SupersessionEffect) -> Iterator[str]:
    for one in (effect.memory, *effect.superseded):
        if one is not None:
            yield from _draw_memory(one)


@memory.command("restore", short_help="Undo the supersession of a memory.")
@click.argument("memory_id", metavar="MEMORY")
@click.option("--by", "superseding_id", default="", metavar="MEMORY", help="Only the supersession by this memory.")
@connected
def restore_memory(session: CommandSession, memory_id: str, superseding_id: str) -> None:
    """Undo the supersession of a memory: it is current again.

    \b
    Example:
      sidecar memory restore mem-0001
    """
    session.voice.show(session.client.restore_memory(memory_id=memory_id, superseding_id=superseding_id), _draw_memory)


@memory.command("why", short_help="Show the evidence for a memory.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def explain_memory(session: CommandSession, memory_id: str) -> None:
    """Show the chain of memories that a memory rests on, down to the turns.

    \b
    Example:
      sidecar memory why mem-0001
    """
    session.voice.show(session.client.explain_memory(memory_id=memory_id), _draw_belief)


def _draw_belief(belief: MemoryBelief) -> Iterator[str]:
    if belief.memory is not None:
        yield from _draw_memory(belief.memory)
    memories_by_id = {one.memory_id: one for one in belief.memories}
    for edge in belief.chain:
        how = "rests on" if edge.reason == "compressed" else f"{edge.reason}:"
        yield (f"{edge.memory_id} {how} {edge.superseded_id}" + (f" ({edge.evidence})" if edge.evidence else ""))
        if one := memories_by_id.pop(edge.superseded_id, None):
            yield from (f"    {line}" for line in _draw_memory(one))
    for turn in belief.turns:
        when = f"{turn.said_time:%Y-%m-%d %H:%M}" if turn.said_time else ""
        yield f"{', '.join(turn.memory_ids)} from {turn.thread_id} turn {turn.position}, {turn.role}, {when}"
        yield f"    {turn.text[:_LEAD_CHARS]}"
    if not belief.chain and not belief.turns:
        yield "It was written directly: it rests on no turns and no other memories."


@memory.command("compress", short_help="Compress candidates into one summary.")
@click.argument("memory_ids", metavar="MEMORY...", nargs=-1, required=True)
@connected
def compress_memories(session: CommandSession, memory_ids: tuple[str, ...]) -> None:
    """Compress candidates into one summary, which is itself a candidate. The sources stay, with half of their odds.

    \b
    Example:
      sidecar memory compress mem-0001 mem-0002 mem-0003
    """
    session.voice.show(session.client.compress_memories(memory_ids=memory_ids), _draw_memory)


@memory.command("pin", short_help="Pin one memory.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def pin_memory(session: CommandSession, memory_id: str) -> None:
    """Pin one memory: it is in every context of its owner. Pinned memories take at most 300 tokens together.

    \b
    Example:
      sidecar memory pin mem-0001
    """
    session.voice.show(session.client.update_memory(memory_id=memory_id, pinned=True), _draw_memory)


@memory.command("unpin", short_help="Unpin one memory.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def unpin_memory(session: CommandSession, memory_id: str) -> None:
    """Unpin one memory: it is recalled only when it is relevant.

    \b
    Example:
      sidecar memory unpin mem-0001
    """
    session.voice.show(session.client.update_memory(memory_id=memory_id, pinned=False), _draw_memory)


@memory.command("forget", short_help="Forget one memory.")
@click.argument("memory_id", metavar="MEMORY")
@connected
def forget_memory(session: CommandSession, memory_id: str) -> None:
    """Forget one memory: its text is deleted when this returns.

    \b
    Example:
      sidecar memory forget mem-0001
    """
    done = session.client.forget(memory_id=memory_id)
    forgotten = memory_id if done.memory_ids or done.elsewhere else ""
    session.voice.show({"forgotten": forgotten}, lambda facts: [f"forgotten: {facts['forgotten'] or 'nothing'}"])
