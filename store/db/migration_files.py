"""Reads migration files and decides which of them to apply. Reads a folder, never a database.

A file is `0001_name.sql`; files are applied in the order of their numbers, which may have gaps. Directives at its top say how
to apply it. `-- no-transaction`: each statement runs by itself and must be repeatable, because an interrupted file runs again
from its top. `-- requires: vector >= 0.8`, on one line: the file is skipped until the server can install that extension.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from store.db import statements
from store.db.extensions import ExtensionRequirement, version_numbers
from store.db.statements import Statement
from store.errors import MigrationEdited, MigrationFileInvalid, MigrationMissing, MigrationOutOfOrder

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+")
_DIRECTIVE = re.compile(r"--\s*(no-transaction|requires:\s*(?P<name>[a-z0-9_]+)(?:\s*>=\s*(?P<version>[0-9.]+))?)\s*")
_TRANSACTION_CONTROL = re.compile(
    r"(?i)(begin|start\s+transaction|commit|end|rollback|abort|savepoint|prepare\s+transaction)\b"
)
_COPY_IN = re.compile(r"(?i)copy\b.*\bfrom\s+stdin\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One file: its number, its name without `.sql`, the SHA-256 of its bytes in hexadecimal, and its text."""

    version: int
    name: str
    checksum: str
    text: str
    is_transactional: bool
    requirement: ExtensionRequirement | None


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """The ledger's row of one file."""

    version: int
    name: str
    checksum: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """The pending work: the files to apply, in order, and those that wait for an extension."""

    pending: tuple[MigrationFile, ...]
    waiting: tuple[MigrationFile, ...]


def read_folder(directory: Path) -> tuple[MigrationFile, ...]:
    """Return the folder's migrations in order; gaps in the numbers are allowed. Raises MigrationFileInvalid, MigrationMissing.

    The files' statements are not checked; `statements_of` does that.
    """
    try:
        found = sorted(path for path in directory.iterdir() if path.suffix == ".sql")
    except OSError as error:
        raise MigrationMissing(f"no folder {directory}") from error
    files = tuple(_read(path) for path in found)
    before = 0
    for file in files:
        if file.version <= before:
            raise MigrationFileInvalid(f"{file.name}.sql: its number is already taken, or is 0000")
        before = file.version
    return files


def statements_of(file: MigrationFile) -> tuple[Statement, ...]:
    """Return the file's statements in order. Raises MigrationFileInvalid."""
    try:
        found = statements.split(file.text)
    except ValueError as error:
        raise MigrationFileInvalid(f"{file.name}.sql: {error}") from error
    _check_statements(file.name, found, file.is_transactional)
    return found


def plan(files: Sequence[MigrationFile], ledger: Sequence[AppliedMigration], available: Mapping[str, str]) -> Plan:
    """Return the pending work on a server that can install the `available` extensions (name to version).

    Raises MigrationEdited, MigrationMissing, MigrationOutOfOrder; each names the file.
    """
    applied = {entry.version: entry for entry in ledger}
    _check_history(files, applied)
    pending = [file for file in files if file.version not in applied]
    newest = max(applied, default=0)
    for file in pending:
        if file.version < newest and file.requirement is None:
            raise MigrationOutOfOrder(f"{file.name}.sql, while {applied[newest].name} is applied")
    ready = [file for file in pending if file.requirement is None or file.requirement.is_met(available)]
    return Plan(tuple(ready), tuple(file for file in pending if file not in ready))


def _check_history(files: Sequence[MigrationFile], applied: Mapping[int, AppliedMigration]) -> None:
    by_version = {file.version: file for file in files}
    for version, entry in applied.items():
        file = by_version.get(version)
        if file is None:
            raise MigrationMissing(f"{entry.name}.sql, applied {entry.applied_at:%Y-%m-%d}")
        if file.name != entry.name:
            raise MigrationEdited(f"{file.name}.sql was applied as {entry.name}.sql")
        if file.checksum != entry.checksum:
            raise MigrationEdited(f"{file.name}.sql, applied {entry.applied_at:%Y-%m-%d}")


def _read(path: Path) -> MigrationFile:
    name = _NAME.fullmatch(path.stem)
    if name is None:
        raise MigrationFileInvalid(f"{path.name}: a name is 0001_what_it_does.sql")
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise MigrationFileInvalid(f"{path.name}: {error}") from error
    directives = _directives(text)
    is_transactional = not any(directive[1] == "no-transaction" for directive in directives)
    checksum = hashlib.sha256(content).hexdigest()
    return MigrationFile(int(name[1]), path.stem, checksum, text, is_transactional, _requirement(directives))


def _directives(text: str) -> list[re.Match[str]]:
    """Return the directives at the top of the file, up to the first line that is not one."""
    found: list[re.Match[str]] = []
    for line in text.splitlines():
        directive = _DIRECTIVE.fullmatch(line)
        if directive is None:
            break
        found.append(directive)
    return found


def _requirement(directives: Sequence[re.Match[str]]) -> ExtensionRequirement | None:
    for directive in directives:
        if directive["name"]:
            return ExtensionRequirement(directive["name"], version_numbers(directive["version"] or ""))
    return None


def _check_statements(name: str, found: Sequence[Statement], is_transactional: bool) -> None:
    if not found:
        raise MigrationFileInvalid(f"{name}.sql: it has no statements")
    for statement in found:
        where = f"{name}.sql, line {statement.line}"
        if "\x00" in statement.text:
            raise MigrationFileInvalid(f"{where}: a NUL character")
        if _COPY_IN.match(statement.text):
            raise MigrationFileInvalid(f"{where}: COPY FROM STDIN has no input here; use INSERT")
        if is_transactional and _TRANSACTION_CONTROL.match(statement.text):
            raise MigrationFileInvalid(f"{where}: the file runs in one transaction and may not end or begin one")
