"""Lines of an owner's export: each reader takes its own kinds, as they are, and broken ones are told."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sidecar.ingest.errors import NewerExport, NotMemories
from sidecar.ingest.exports.conversation import Conversation, SkippedPiece
from sidecar.ingest.exports.conversations import read_conversations
from sidecar.ingest.exports.journal import read_journal
from sidecar.ingest.exports.memories import ImportedMemory, read_memories
from sidecar.ingest.exports.owner_export import places_of_turns

OWNER: dict[str, Any] = {"sidecar": "owner", "version": 1}
THREAD: dict[str, Any] = {"sidecar": "thread", "thread_id": " t/1 ", "title": "Ferries"}
TURN: dict[str, Any] = {
    "sidecar": "turn", "thread_id": " t/1 ", "turn_id": "u1", "client_turn_id": " a ", "role": "user", "text": " Hello. ",
    "parts": [], "said_time": "2026-03-01T09:00:00Z", "speaker": "Åsa",
}  # fmt: skip
MEMORY: dict[str, Any] = {
    "sidecar": "memory", "memory_id": " m ", "text": " Likes tea.\n", "document_id": " d ", "metadata": {"sidecar": "turn"},
    "status_changes": [{"rule": "said twice"}], "supersessions": [], "turn_ids": ["u1"],
}  # fmt: skip
END: dict[str, Any] = {"sidecar": "end"}


def lines(*values: object) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def memories(*values: object) -> list[ImportedMemory | SkippedPiece]:
    return list(read_memories("x.jsonl", lines(*values)))


def conversations(*values: object) -> list[Conversation | SkippedPiece]:
    return list(read_conversations("x.jsonl", lines(*values)))


def test_each_reader_reads_its_own_lines_of_a_whole_export() -> None:
    whole = (OWNER, THREAD, TURN, MEMORY, {"sidecar": "page", "title": "Tea", "text": "Tea."}, END)
    (memory,) = memories(*whole)
    assert isinstance(memory, ImportedMemory)
    assert (memory.id, memory.text, memory.document_id) == (" m ", " Likes tea.\n", " d ")
    assert (memory.metadata, memory.is_exported) == ({"sidecar": "turn"}, True)
    (thread,) = conversations(*whole)
    assert isinstance(thread, Conversation)
    assert (thread.id, thread.title) == (" t/1 ", "Ferries")
    (turn,) = thread.turns
    assert (turn.client_turn_id, turn.text, turn.speaker) == (" a ", " Hello. ", "Åsa")
    assert turn.said_at == datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize("version", [2, "2", 1.5, None])
def test_export_of_a_newer_version_is_refused_before_anything_is_read(version: object) -> None:
    newer = OWNER | {"version": version}
    for read in (memories, conversations):
        with pytest.raises(NewerExport, match=f"version {version}.*Update this sidecar"):
            read(newer, MEMORY, THREAD, TURN, END)
    assert len(memories({"sidecar": "owner"}, MEMORY, END)) == 1


def test_export_is_no_journal() -> None:
    with pytest.raises(NotMemories):
        list(read_journal("x.jsonl", lines(TURN)))


def test_a_part_of_an_export_is_read_too() -> None:
    assert len(memories(MEMORY)) == 1
    assert memories(TURN) == []
    assert [type(one) for one in conversations(TURN)] == [Conversation]
    assert conversations(MEMORY) == []


def test_turns_of_two_threads_are_told_apart_and_titles_are_not_mixed_up() -> None:
    other = {**TURN, "thread_id": "t2"}
    found = conversations(THREAD, TURN, other, {**TURN, "client_turn_id": "b"})
    assert [(one.id, one.title) for one in found if isinstance(one, Conversation)] == [
        (" t/1 ", "Ferries"),
        ("t2", ""),
        (" t/1 ", "Ferries"),
    ]


def test_messages_before_the_lines_of_an_export_are_kept() -> None:
    before, own = conversations({"role": "user", "content": "Ahoy."}, OWNER, THREAD, TURN, END)
    assert isinstance(before, Conversation)
    assert isinstance(own, Conversation)
    assert [[turn.text for turn in one.turns] for one in (before, own)] == [["Ahoy."], [" Hello. "]]


@pytest.mark.parametrize(
    "broken",
    [
        {"role": "owner"},
        {"role": ["user"]},
        {"parts": "x"},
        {"parts": [{"type": ["tool_call"]}]},
        {"parts": [{"type": "tool_call", "id": "c", "name": "n", "arguments": "{}"}]},
        {"client_turn_id": ""},
        {"thread_id": 7},
        {"text": None},
        {"sidecar": "note"},
    ],
)
def test_broken_line_is_skipped_and_the_others_are_read(broken: dict[str, Any]) -> None:
    found = conversations(THREAD, {**TURN, "client_turn_id": "b"}, {**TURN, **broken}, TURN)
    assert [one.is_lost for one in found if isinstance(one, SkippedPiece)] == [True]
    assert [len(one.turns) for one in found if isinstance(one, Conversation)] == [2]


def test_export_without_its_end_is_reported_and_one_without_such_lines_is_valid() -> None:
    *_, cut = memories(OWNER, MEMORY)
    assert isinstance(cut, SkippedPiece)
    assert (cut.is_lost, "cut off" in cut.reason) == (True, True)
    (none,) = memories(OWNER, TURN, END)
    assert isinstance(none, SkippedPiece)
    assert not none.is_lost


def test_end_set_by_a_newer_memory_keeps_its_day() -> None:
    """A memory of a year that a newer one ended on a day: with the year's precision the end would come before the beginning."""
    ended = {
        **MEMORY, "valid_from_time": "2026-01-01T00:00:00Z", "valid_precision": "year",
        "valid_until_time": "2026-05-07T00:00:00Z", "until_precision": "day",
    }  # fmt: skip
    for one in (ended, {name: value for name, value in ended.items() if name != "sidecar"}):
        (memory,) = memories(one)
        assert isinstance(memory, ImportedMemory)
        assert (memory.valid_precision, memory.valid_until) == ("day", datetime(2026, 5, 7, tzinfo=UTC))
    (never,) = memories({**ended, "valid_until_time": "2025-05-07T00:00:00Z"})
    assert isinstance(never, ImportedMemory)
    assert (never.valid_from, never.valid_until) == (None, datetime(2025, 5, 7, tzinfo=UTC))


def test_places_of_turns_are_found_by_their_ids() -> None:
    file = io.BytesIO(
        lines(OWNER, THREAD, TURN, {**TURN, "turn_id": "u2"}, {"sidecar": "turn", "turn_id": ["u1"]}, "nonsense")
    )
    assert places_of_turns("x.jsonl", file, {"u1"}) == {"u1": (" t/1 ", " a ")}
