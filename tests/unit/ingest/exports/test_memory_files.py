"""Files of memories: every line accounted for, ids that make a second import change nothing."""

import io
import json
from datetime import UTC, datetime

import pytest

from sidecar.cli.content.memory_import import read_file
from sidecar.ingest.errors import NotMemories
from sidecar.ingest.exports.conversation import SkippedPiece
from sidecar.ingest.exports.journal import read_journal
from sidecar.ingest.exports.memories import ImportedMemory, read_memories


def read(*values: object) -> list[ImportedMemory | SkippedPiece]:
    return list(read_memories("memories.jsonl", "\n".join(json.dumps(value) for value in values).encode()))


def test_memory_with_every_field_is_read() -> None:
    place = {"name": "Flat", "city": "Lisbon"}
    value = {
        "id": "mem-1", "text": " Moved in today. ", "occurred_at": "2026-02-01T16:20:00Z", "created_at": 1769963000,
        "document_id": "journal-1", "tags": ["home"], "turn_ids": ["t1"], "metadata": {"mood": "glad"}, "place": place,
    }  # fmt: skip
    assert read(value) == [
        ImportedMemory(
            "mem-1",
            "Moved in today.",
            datetime(2026, 2, 1, 16, 20, tzinfo=UTC),
            datetime(2026, 2, 1, 16, 23, 20, tzinfo=UTC),
            "journal-1",
            ("home",),
            ("t1",),
            {"place": place, "mood": "glad"},
        )
    ]


def test_listed_memory_is_read_with_its_times_and_pin() -> None:
    listed: dict[str, object] = {
        "memory_id": "mem-1", "text": "one", "occurred_time": "2020-02-03T00:00:00Z", "create_time": "2020-03-01T00:00:00Z",
        "update_time": "2020-04-01T00:00:00Z", "valid_from_time": "2020-02-01T00:00:00Z", "valid_until_time": None,
        "valid_precision": "month", "until_precision": "instant", "pinned": True, "compressed": False,
        "source_episodes": [], "source_events": [], "metadata": {"mood": "glad"},
    }  # fmt: skip
    written = {
        "id": "mem-1", "text": "one", "occurred_at": "2020-02-03", "created_at": "2020-03-01", "valid_from": "2020-02-01",
        "valid_precision": "month", "pinned": True, "metadata": {"mood": "glad"},
    }  # fmt: skip
    assert read(listed) == read(written)
    without = [{"text": "one", "occurred_time": day} for day in ("2020-02-03", "2020-02-04")]
    assert len({one.id for one in read(*without) if isinstance(one, ImportedMemory)}) == 2


def test_lines_and_an_array_are_read_alike() -> None:
    values = [{"text": "one"}, {"content": "two", "id": 2}]
    assert list(read_memories("m.json", json.dumps(values, indent=1).encode())) == read(*values)


def test_memory_without_an_id_gets_the_same_id_at_any_position() -> None:
    one, two = {"text": "one"}, {"text": "two"}
    first, again = read(one, two), read(two, one)
    assert first == again[::-1]
    assert read(one) != read(one | {"occurred_at": "2026-02-01"})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"text": "  "}, 'it has no text; write it under "text"'),
        ({"text": ["a"]}, 'it has no text; write it under "text"'),
        ({"text": "x" * 100_001}, "its text has 100001 characters, the limit is 100000; split it"),
        ({"text": "x", "occurred_at": "soon"}, 'its occurred_at is not a time; write it as "2026-02-01T16:20:00Z"'),
        ({"text": "x", "occurred_time": "soon"}, 'its occurred_at is not a time; write it as "2026-02-01T16:20:00Z"'),
        ({"text": "x", "pinned": "yes"}, "its pinned is not true or false"),
        ({"text": "x", "tags": "home"}, 'its tags is not a list of texts; write ["one", "two"]'),
        ({"text": "x", "metadata": [1]}, "its metadata is not an object; write {…}"),
        ("x", 'it is not an object; write {"text": …}'),
        (
            {"role": "user", "content": "hi"},
            "it is part of a conversation, not a memory; import it with `sidecar thread import`",
        ),
    ],
)
def test_error_is_named_with_its_line_and_fix(value: object, reason: str) -> None:
    good = {"text": "good"}
    before, skipped, after = read(good, value, good | {"text": "after"})
    assert [one.text for one in (before, after) if isinstance(one, ImportedMemory)] == ["good", "after"]
    assert skipped == SkippedPiece("memories.jsonl", "line 2", reason)


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
        {"messages": [{"role": "user", "content": "hi"}]},
        {"mapping": {}},
        {"chat_messages": []},
    ],
)
def test_file_of_conversations_is_refused_with_a_hint(value: object) -> None:
    with pytest.raises(NotMemories, match=r"line 1 is part of a conversation.*`sidecar thread import`"):
        read(value, {"text": "good"})
    with pytest.raises(NotMemories, match="`sidecar thread import`"):
        list(read_journal("journal.jsonl", json.dumps(value).encode()))


def test_memory_with_a_role_of_its_own_is_a_memory() -> None:
    found = read({"text": "Kneads the dough.", "role": "user"}, {"content": "Bakes the bread.", "role": "baker"})
    assert [type(one) for one in found] == [ImportedMemory, ImportedMemory]


def test_last_of_the_memories_with_one_id_is_kept_and_the_earlier_reported() -> None:
    values = [{"id": "m1", "text": "one"}, {"id": "m2", "text": "two"}, {"id": "m1", "text": "three"}]
    data = "\n".join(json.dumps(value) for value in [*values, values[2]]).encode()
    memories, skipped = read_file("memories.jsonl", io.BytesIO(data))
    assert {one.id: one.text for one in memories} == {"m1": "three", "m2": "two"}
    assert [(one.position, one.is_lost) for one in skipped] == [("line 1", True), ("line 4", False)]
    assert "line 3 has the same id" in skipped[0].reason


def test_data_after_an_array_is_reported() -> None:
    """Two files joined into one would otherwise lose the second unnoticed."""
    data = (json.dumps([{"text": "one"}]) + "\n" + json.dumps([{"text": "two"}])).encode()
    first, skipped = read_memories("m.json", data)
    assert isinstance(first, ImportedMemory)
    assert isinstance(skipped, SkippedPiece)
    assert skipped.is_lost
    assert skipped.position == "after element 1, the last of the array"
    assert len(list(read_memories("m.json", b'[{"text": "one"}]\n \n'))) == 1
