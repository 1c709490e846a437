"""Journal files: records with their places, and a line for what had to be left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sidecar.ingest.exports.conversation import SkippedPiece
from sidecar.ingest.exports.journal import ImportedPlace, ImportedRecord, read_journal

PLACE = {"name": "Casa Lola", "city": "Austin", "address": "1 Main St", "alternate_names": ["Lola", " ", "東京"]}


def read(*lines: object) -> list[ImportedRecord | SkippedPiece]:
    return list(read_journal("j.jsonl", "\n".join(json.dumps(line) for line in lines).encode()))


def test_record_is_read_as_it_was_written() -> None:
    (record,) = read(
        {
            "id": "j1",
            "text": " Ate here. ",
            "occurred_at": "2026-02-01",
            "place": PLACE,
            "tags": ["food"],
            "journal_id": 7,
        }
    )
    assert record == ImportedRecord(
        "j1",
        "Ate here.",
        datetime(2026, 2, 1, tzinfo=UTC),
        ImportedPlace("Casa Lola", "Austin", "1 Main St", ("Lola", "東京")),
        ("food",),
        "7",
    )


def test_record_may_have_the_names_of_the_api() -> None:
    api = read({"record_id": "j1", "text": "Ate here.", "occurred_time": "2026-02-01T16:20:00Z"})
    assert api == read({"id": "j1", "text": "Ate here.", "occurred_at": "2026-02-01T16:20:00Z"})
    (refused,) = read({"text": "Ate here.", "occurred_time": "soon"})
    assert isinstance(refused, SkippedPiece)


def test_record_without_an_id_gets_the_same_id_every_time() -> None:
    first, second = read({"text": "a"}, {"text": "b"})
    (again,) = read({"text": "a"})
    assert isinstance(first, ImportedRecord)
    assert isinstance(second, ImportedRecord)
    assert first == again
    assert first.id != second.id


def test_unusable_record_is_left_out_with_its_reason() -> None:
    bad: tuple[object, ...] = (
        {}, {"text": " "}, {"text": 7}, {"text": "x", "place": "Lisbon"}, {"text": "x", "place": {"city": "L"}},
        {"text": "x", "tags": "food"}, {"text": "x", "tags": [1]}, {"text": "x", "occurred_at": "soon"},
        {"text": "x" * 100_001}, {"text": "x", "place": {"name": "n" * 801}},
        {"text": "x", "place": {"name": "n", "alternate_names": ["a"] * 101}},
    )  # fmt: skip
    *left_out, good = read(*bad, {"text": "good"})
    assert isinstance(good, ImportedRecord)
    assert len(left_out) == len(bad)
    assert all(isinstance(one, SkippedPiece) and one.reason for one in left_out)


def test_earlier_of_two_records_with_one_id_is_reported() -> None:
    values = [{"id": "r1", "text": "one"}, {"id": "r1", "text": "two"}, {"id": "r1", "text": "two"}]
    found = list(read_journal("journal.jsonl", "\n".join(map(json.dumps, values)).encode()))
    assert [one.text for one in found if isinstance(one, ImportedRecord)] == ["one", "two"]
    skipped = [one for one in found if isinstance(one, SkippedPiece)]
    assert [(one.position, one.is_lost) for one in skipped] == [("line 1", True), ("line 3", False)]
