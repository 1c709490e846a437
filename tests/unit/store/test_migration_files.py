"""Which migrations are applied is decided from the files, the ledger and what the server offers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from store.db.extensions import ExtensionRequirement, version_numbers
from store.db.migration_files import AppliedMigration, MigrationFile, plan, read_folder, statements_of
from store.errors import MigrationEdited, MigrationFileInvalid, MigrationMissing, MigrationOutOfOrder

THEN = datetime(2026, 5, 1, tzinfo=UTC)


def folder(path: Path, *texts: str | bytes) -> Path:
    for number, text in enumerate(texts, start=1):
        content = text if isinstance(text, bytes) else text.encode()
        (path / f"{number:04}_step.sql").write_bytes(content)
    return path


def applied(file: MigrationFile) -> AppliedMigration:
    return AppliedMigration(file.version, file.name, file.checksum, THEN)


def names(files: tuple[MigrationFile, ...]) -> list[int]:
    return [file.version for file in files]


def test_files_are_read_in_order_with_checksum_and_statements(tmp_path: Path) -> None:
    first, second = read_folder(folder(tmp_path, "SELECT 1; SELECT 2;", "SELECT 3"))
    assert (first.version, first.name, len(statements_of(first))) == (1, "0001_step", 2)
    assert first.is_transactional
    assert first.requirement is None
    assert len(first.checksum) == 64
    assert first.checksum != second.checksum


def test_header_of_a_file_says_how_it_is_applied(tmp_path: Path) -> None:
    (file,) = read_folder(folder(tmp_path, "-- requires: vector >= 0.8\n-- no-transaction\nSELECT 1;"))
    assert not file.is_transactional
    assert file.requirement == ExtensionRequirement("vector", (0, 8))


def test_a_directive_below_the_top_is_only_a_comment(tmp_path: Path) -> None:
    (file,) = read_folder(folder(tmp_path, "-- About this file.\n-- no-transaction\nSELECT 1;"))
    assert file.is_transactional


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no statements"),
        ("-- only a comment", "has no statements"),
        ("SELECT 1;\nSELECT 'open", "line 2"),
        (b"SELECT '\xff'", "utf-8"),
        ("SELECT 1;\n\nCOMMIT;", "line 3.*one transaction"),
        ("begin; SELECT 1;", "one transaction"),
        ("SELECT '\0'", "NUL"),
        ("COPY t (a) FROM STDIN;", "COPY FROM STDIN"),
    ],
)
def test_unusable_file_is_refused_by_name(tmp_path: Path, text: str | bytes, problem: str) -> None:
    with pytest.raises(MigrationFileInvalid, match=rf"(?s)0001_step\.sql.*{problem}"):
        list(map(statements_of, read_folder(folder(tmp_path, text))))


@pytest.mark.parametrize("name", ["1_step.sql", "0001-step.sql", "0001_Step.sql", "step.sql", "0001_.sql"])
def test_file_with_an_unexpected_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(MigrationFileInvalid, match=name):
        read_folder(tmp_path)


def test_gaps_in_the_numbers_are_allowed(tmp_path: Path) -> None:
    folder(tmp_path, "SELECT 1", "SELECT 2", "SELECT 3")
    (tmp_path / "0002_step.sql").unlink()
    assert [file.version for file in read_folder(tmp_path)] == [1, 3]


def test_two_files_with_one_number_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, "SELECT 1")
    (tmp_path / "0001_twin.sql").write_text("SELECT 1")
    with pytest.raises(MigrationFileInvalid, match=r"0001_twin\.sql: its number is already taken"):
        read_folder(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MigrationMissing, match="nowhere"):
        read_folder(tmp_path / "nowhere")


def test_pending_files_are_applied_in_order(tmp_path: Path) -> None:
    files = read_folder(folder(tmp_path, "SELECT 1", "SELECT 2", "SELECT 3"))
    assert names(plan(files, [], {}).pending) == [1, 2, 3]
    assert names(plan(files, [applied(files[0])], {}).pending) == [2, 3]
    assert plan(files, [applied(file) for file in files], {}).pending == ()


def test_edited_renamed_or_missing_file_is_refused(tmp_path: Path) -> None:
    (before,) = read_folder(folder(tmp_path, "SELECT 1"))
    (edited,) = read_folder(folder(tmp_path, "SELECT 1 "))
    with pytest.raises(MigrationEdited, match=r"0001_step\.sql, applied 2026-05-01"):
        plan([edited], [applied(before)], {})
    with pytest.raises(MigrationEdited, match=r"applied as 0001_other\.sql"):
        plan([before], [AppliedMigration(1, "0001_other", before.checksum, THEN)], {})
    with pytest.raises(MigrationMissing, match=r"0001_step\.sql"):
        plan([], [applied(before)], {})


def test_a_file_before_an_applied_one_is_refused(tmp_path: Path) -> None:
    first, second = read_folder(folder(tmp_path, "SELECT 1", "SELECT 2"))
    with pytest.raises(MigrationOutOfOrder, match=r"0001_step\.sql"):
        plan([first, second], [applied(second)], {})


def test_a_file_waits_for_its_extension_and_is_applied_later(tmp_path: Path) -> None:
    files = read_folder(folder(tmp_path, "SELECT 1", "-- requires: vector >= 0.8\nSELECT 2", "SELECT 3"))
    without = plan(files, [], {"vector": "0.7.4"})
    assert (names(without.pending), names(without.waiting)) == ([1, 3], [2])
    later = plan(files, [applied(files[0]), applied(files[2])], {"vector": "0.8.6"})
    assert (names(later.pending), names(later.waiting)) == ([2], [])


@pytest.mark.parametrize(
    ("text", "numbers"), [("0.8.6", (0, 8, 6)), ("1.6", (1, 6)), ("", ()), ("2.0beta1", (2, 0, 1))]
)
def test_versions_compare_as_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers
