"""Files that a killed rewrite of a table leaves in the server's directory are emptied by the next purge."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import asyncpg

from store.db import orphaned_files
from store.db.migrate import migrate
from store.db.purging import purge
from store.embedded.server import EmbeddedPostgres
from tests.support.places import ROOT
from tests.support.store.server_use import cluster_fixture, data_dir_fixture
from tests.support.waiting import until

FIXTURES = (cluster_fixture, data_dir_fixture)  # found by pytest in the names of this module
WORD = b"zyzzyva"


def holding(pgdata: Path) -> list[Path]:
    """Return the tables' files that hold the word."""
    paths = [path for path in (pgdata / "base").rglob("*") if path.is_file()]
    return [path for path in paths if WORD in path.read_bytes()]


async def is_answering(dsn: str) -> bool:
    try:
        await (await asyncpg.connect(dsn)).close()
    except (asyncpg.PostgresError, OSError):
        return False
    return True


async def is_disconnected(connection: asyncpg.Connection) -> bool:
    """Return whether the server ended the connection, as it does to each when one backend was killed."""
    try:
        await connection.execute("SELECT 1")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return True
    return False


async def test_copy_of_a_table_left_by_a_killed_rewrite_is_emptied_by_the_next_purge(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        await migrate(postgres.dsn, ROOT / "migrations")
        rewriting, other = await asyncpg.connect(postgres.dsn), await asyncpg.connect(postgres.dsn)
        await rewriting.execute("BEGIN; CREATE TABLE copied AS SELECT 'zyzzyva'::text AS text")
        await other.execute("CHECKPOINT")
        os.kill(await rewriting.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
        await until(lambda: is_disconnected(other))
        rewriting.terminate()
        other.terminate()
        await until(lambda: is_answering(postgres.dsn))
        assert holding(postgres.pgdata), "Postgres leaves the copy"
        report = await purge(postgres.dsn, is_forced=True, pgdata=postgres.pgdata)
        assert not report.busy
        assert not holding(postgres.pgdata)


async def test_table_that_a_transaction_is_creating_keeps_its_rows(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        creating, other = await asyncpg.connect(postgres.dsn), await asyncpg.connect(postgres.dsn)
        await creating.execute("BEGIN; CREATE TABLE made AS SELECT 'zyzzyva'::text AS text")
        await other.execute("CHECKPOINT")
        emptying = asyncio.create_task(orphaned_files.empty(other, postgres.pgdata))
        ended, _ = await asyncio.wait({emptying}, timeout=2)
        assert not ended
        await creating.execute("COMMIT")
        assert await emptying
        assert await creating.fetchval("SELECT text FROM made") == "zyzzyva"
        await creating.close()
        await other.close()
