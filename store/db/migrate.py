"""Applies the migrations: plain SQL, forward only, one process at a time, each file once and completely.

A file and its row in the ledger are written in one transaction, so a process killed at any moment leaves both or
neither. Needs a direct connection to Postgres, not a pooler in transaction mode, because it takes a session lock.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import asyncpg

from store.db import queries
from store.db.migration_files import AppliedMigration, MigrationFile, Plan, plan, read_folder, statements_of
from store.db.postgres import direct
from store.db.server_checks import available_extensions, check_server
from store.db.statements import Statement
from store.errors import (
    DRIVER_ERRORS,
    DatabaseUnavailable,
    LedgerForeign,
    LedgerUnreadable,
    MigrationFailed,
    MigrationLocked,
    RightsLost,
    from_driver,
)

log = logging.getLogger(__name__)
_sql = queries.load(__file__)

_LOCK_DEADLINE_S = 600.0
_LOCK_POLL_S = 0.05

_Direct: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A migration that is skipped until the server has this extension available."""

    name: str
    extension: str


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The migrations that were applied, or in a dry run would be: file names, in order."""

    applied: tuple[str, ...]
    skipped: tuple[Waiting, ...]
    is_dry_run: bool


@dataclass(frozen=True, slots=True)
class MigrationState:
    """The state of one file: when it was applied (None: not yet) and the missing extension it waits for (empty: none)."""

    name: str
    applied_at: datetime | None
    waits_for: str


async def migrate(dsn: str, directory: Path, *, dry_run: bool = False) -> MigrationReport:
    """Apply the pending migrations and report them. If another process is migrating, wait for it first.

    A dry run reads and checks, but writes nothing. Raises subclasses of MigrationError, ServerUnsuitable,
    DatabaseUnavailable, DatabaseRefused.
    """
    files = read_folder(directory)
    async with _session(dsn) as connection:
        if dry_run:
            todo = await _plan(connection, files)
            _read_statements(todo)
            return _report(todo, is_dry_run=True)
        await take_lock(connection)
        await _renew_session(connection)
        await _sql.create_ledger(connection)
        todo = await _plan(connection, files)
        for file, statements in _read_statements(todo):
            await _apply(connection, file, statements)
        return _report(todo, is_dry_run=False)


async def status(dsn: str, directory: Path) -> tuple[MigrationState, ...]:
    """Return the state of every file, in order. Raises the errors of a dry run, except those of a file's statements."""
    files = read_folder(directory)
    async with _session(dsn) as connection:
        ledger = {entry.version: entry.applied_at for entry in await _read_ledger(connection)}
        waiting = (await _plan(connection, files)).waiting
    return tuple(
        MigrationState(file.name, ledger.get(file.version), _extension(file) if file in waiting else "")
        for file in files
    )


@asynccontextmanager
async def _session(dsn: str) -> AsyncIterator[_Direct]:
    async with direct(dsn) as connection:
        try:
            await check_server(connection)
            yield connection
        except DRIVER_ERRORS as error:
            raise from_driver(error) from error


async def take_lock(connection: _Direct) -> None:
    """Wait for the lock of schema changes; it is held until the session ends. Raises MigrationLocked."""
    give_up_at = time.monotonic() + _LOCK_DEADLINE_S
    while not await _sql.try_migration_lock(connection):
        if time.monotonic() >= give_up_at:
            raise MigrationLocked(f"{_LOCK_DEADLINE_S:g} s")
        await asyncio.sleep(_LOCK_POLL_S)


async def _plan(connection: _Direct, files: Sequence[MigrationFile]) -> Plan:
    wanted = [file.requirement.extension for file in files if file.requirement]
    return plan(files, await _read_ledger(connection), await available_extensions(connection, wanted))


async def _read_ledger(connection: _Direct) -> list[AppliedMigration]:
    if not await _sql.has_ledger(connection):
        return []
    if await _sql.are_rights_lost(connection):
        raise RightsLost
    try:
        rows = await _sql.read_ledger(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        raise LedgerUnreadable from error
    except asyncpg.UndefinedColumnError as error:
        raise LedgerForeign from error
    return [AppliedMigration(row["version"], row["name"], row["checksum"], row["applied_at"]) for row in rows]


def _read_statements(todo: Plan) -> list[tuple[MigrationFile, tuple[Statement, ...]]]:
    """Return each pending file with its statements, all of them checked before the first one is applied."""
    return [(file, statements_of(file)) for file in todo.pending]


async def _apply(connection: _Direct, file: MigrationFile, statements: Sequence[Statement]) -> None:
    began_at = time.monotonic()
    if file.is_transactional:
        async with connection.transaction():
            await _run(connection, file, statements)
    else:
        await _run(connection, file, statements)
    log.info("migration_applied", extra={"migration": file.name, "seconds": round(time.monotonic() - began_at, 3)})


async def _run(connection: _Direct, file: MigrationFile, statements: Sequence[Statement]) -> None:
    await _sql.let_search_own(connection)
    for statement in statements:
        await _execute(connection, file, statement)
    await _renew_session(connection)
    await _sql.end_search_owning(connection)
    await _sql.record_migration(connection, version=file.version, name=file.name, checksum=file.checksum)


async def _renew_session(connection: _Direct) -> None:
    await _sql.renew_session(connection)
    await _sql.ignore_timeouts(connection)


async def _execute(connection: _Direct, file: MigrationFile, statement: Statement) -> None:
    try:
        await connection.execute(statement.text)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if isinstance(from_driver(error), DatabaseUnavailable):
            raise
        # The server's message concerns only our schema, and the migration's author needs it.
        raise MigrationFailed(f"{file.name}.sql, line {statement.line}: {error}") from error


def _report(todo: Plan, *, is_dry_run: bool) -> MigrationReport:
    skipped = tuple(Waiting(file.name, _extension(file)) for file in todo.waiting)
    return MigrationReport(tuple(file.name for file in todo.pending), skipped, is_dry_run)


def _extension(file: MigrationFile) -> str:
    return file.requirement.extension if file.requirement else ""
