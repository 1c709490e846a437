"""Imports memories from a file; those of an owner's export get the ids that their turns have here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from sidecar.cli.shared.imports import drawn_refusals, resumable, sent_without_refused
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.paging import batches, every
from sidecar.cli.shared.session import CommandSession
from sidecar.client import Sidecar
from sidecar.client.answers import Retained
from sidecar.client.imported import new_memory
from sidecar.ingest.exports.conversation import SkippedPiece
from sidecar.ingest.exports.memories import ImportedMemory, read_memories
from sidecar.ingest.exports.owner_export import places_of_turns
from sidecar.ingest.opening import opened_at

_LEAD_CHARS = 100
_FIRST = datetime.min.replace(tzinfo=UTC)


def imported(session: CommandSession, file: Path) -> dict[str, Any]:
    """Import the file's memories and return the counts. Raises an IngestError, and Interrupted for Ctrl-C."""
    facts: dict[str, Any] = {"memories": 0, "created": 0, "updated": 0, "known": 0, "refused": 0, "skipped": []}
    with resumable(session.voice, lambda: _stored(facts)):
        with opened_at(file) as stream:
            memories, skipped = read_file(str(file), stream)
            memories = _with_turns_here(session.client, str(file), stream, memories)
        facts |= {"memories": len(memories), "refused": sum(one.is_lost for one in skipped)}
        facts["skipped"] += map(str, skipped)
        with session.voice.progress("memories", len(memories)) as step:
            for batch in batches(memories, _chars):
                _send(session, batch, facts)
                step(len(batch))
    return facts


def drawn_facts(facts: dict[str, Any]) -> Iterator[str]:
    """Yield the counts of an import, and the first skipped pieces."""
    counts = ", ".join(f"{facts[name]:,} {name}" for name in ("created", "updated", "known"))
    yield f"{counted(facts['memories'], 'memory', 'memories')}: {counts}"
    yield from drawn_refusals(facts["skipped"], lost=facts["refused"])


def read_file(name: str, stream: BinaryIO) -> tuple[list[ImportedMemory], list[SkippedPiece]]:
    """Return the memories, those of an export in the order in which they were written, and the skipped parts.

    Of memories with the same id, the last is kept. Raises an IngestError.
    """
    parts = list(read_memories(name, stream))
    memories = {one.id: one for one in parts if isinstance(one, ImportedMemory)}
    ordered = sorted(memories.values(), key=lambda one: (one.is_exported and one.created_at) or _FIRST)
    return ordered, [one for one in parts if isinstance(one, SkippedPiece)]


def _with_turns_here(
    client: Sidecar, name: str, stream: BinaryIO, memories: list[ImportedMemory]
) -> list[ImportedMemory]:
    """Return the memories with the ids that their turns have at this owner; a turn that is not here keeps its id.

    A turn's id depends on its owner. Without the present ones, forgetting a thread would leave the memories drawn from it.
    """
    wanted = {turn_id for one in memories if one.is_exported for turn_id in one.turn_ids}
    places = places_of_turns(name, stream, wanted) if wanted else {}
    ids = {place: turn_id for turn_id, place in places.items()}
    here = {}
    for thread_id in dict.fromkeys(thread_id for thread_id, _ in ids):
        for turn in every(client.list_turns, limit=0, thread_id=thread_id):
            if turn_id := ids.get((thread_id, turn.client_turn_id)):
                here[turn_id] = turn.turn_id
    return [replace(one, turn_ids=tuple(here.get(turn_id, turn_id) for turn_id in one.turn_ids)) for one in memories]


def _send(session: CommandSession, batch: Sequence[ImportedMemory], facts: dict[str, Any]) -> None:
    """Store a batch and count it; count the memories that the service refuses as refused."""

    def refused(one: ImportedMemory, reason: str) -> None:
        facts["refused"] += 1
        facts["skipped"].append(f"the memory {one.id} ({one.text[:_LEAD_CHARS]}): {reason}")

    def send(left: Sequence[ImportedMemory]) -> Retained:
        return session.client.retain(memories=[new_memory(one) for one in left])

    done, sent = sent_without_refused(batch, send, refused)
    facts["memories"] -= len(batch) - sent
    if done is not None:
        facts["created"] += done.created_count
        facts["updated"] += done.updated_count
        facts["known"] += sent - done.created_count - done.updated_count


def _stored(facts: dict[str, Any]) -> str:
    """Return the number of stored memories as text, empty for none."""
    stored = sum(facts[name] for name in ("created", "updated", "known"))
    return f"{stored:,} of {counted(facts['memories'], 'memory', 'memories')}" if stored else ""


def _chars(one: ImportedMemory) -> int:
    return len(one.text) + len(str(one.metadata))
