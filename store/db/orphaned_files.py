"""Empties files of the database that belong to no table.

If Postgres is killed while it rewrites a table, the unfinished copy stays in its directory for good, with the table's texts:
Postgres neither uses nor removes it. The files are emptied, not deleted: so none of the server's processes can miss one.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)
_MOST_TRIES = 30
_PAUSE_S = 1.0
_NUMBERED = re.compile(r"([0-9]+)(?:_[a-z]+)?(?:\.[0-9]+)?")


async def empty(connection: Connection, pgdata: Path) -> bool:
    """Empty the orphaned files of the connection's database, whose server has the directory `pgdata`.

    A file that appears to belong to no table may be that of a table which a transaction is creating. So this waits for all
    transactions in progress, half a minute at most. Returns False if they take longer; nothing is emptied then. Expects that
    no statement of the caller's is in a transaction, and a checkpoint since the server's last start.
    """
    folder = pgdata / str(await _sql.folder(connection))
    suspects = await _unowned(connection, folder)
    if suspects and not await _are_others_done(connection):
        return False
    orphans = suspects & await _unowned(connection, folder) if suspects else set()
    await asyncio.to_thread(_cut_to_nothing, orphans)
    return True


async def _unowned(connection: Connection, folder: Path) -> Set[Path]:
    """Return the files with content that belong to no table. The files are listed first: one may get its table meanwhile."""
    listed = await asyncio.to_thread(_listed, folder)
    owned = {row["file_number"] for row in await _sql.file_numbers(connection)}
    return {path for path, number in listed.items() if number not in owned}


async def _are_others_done(connection: Connection) -> bool:
    """Wait until the transactions that are now in progress have ended; return whether they have."""
    earlier = await _transactions(connection)
    for _ in range(_MOST_TRIES):
        if not earlier & await _transactions(connection):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False


async def _transactions(connection: Connection) -> Set[str]:
    return {row["name"] for row in await _sql.transactions(connection)}


def _listed(folder: Path) -> dict[Path, str]:
    """Return the non-empty files of tables and indexes with their numbers, without those of temporary tables."""
    named = ((path, _NUMBERED.fullmatch(path.name)) for path in folder.iterdir())
    return {path: name[1] for path, name in named if name and _has_content(path)}


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _cut_to_nothing(paths: Set[Path]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            os.truncate(path, 0)
