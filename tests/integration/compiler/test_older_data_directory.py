"""A database of an older version, migrated: pages, recall and the replay of its log are the bytes that they were.

The older schema is made of the migrations up to its number, and its rows as that version wrote them: the columns that it had.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from shutil import copy
from typing import Any

import asyncpg
import pytest

from compiler.operations.replay import replay
from sidecar.context.ports import SourceLimits, SourceQuery
from sidecar.sources.memory import MemorySource
from store.content import derived, memories
from store.content.memories import NewMemory
from store.db.migrate import migrate
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from tests.support.compiler.compiling import NOW, SCOPE, engine_on, fetch, forget, journal, wiki_of, write_and_compile
from tests.support.places import ROOT

LAST = 34  # before memories had tiers, validity, summaries and episodes, and links had types
QUERY = SourceQuery("Casa Lola in Austin", ("casa", "lola", "austin"), "", "planner", "default", "", "", NOW)
HASHES = "SELECT memory_id, text_hash, change_seq FROM memories ORDER BY 1"
SECTIONS = """
SELECT p.slug, s.heading, s.body_md FROM wiki_page_sections s JOIN wiki_pages p USING (tenant_id, page_id) ORDER BY 1, 2
"""
COLUMNS = """
SELECT c.relname AS "table", array_agg(a.attname ORDER BY a.attnum) AS columns FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL($1) GROUP BY 1 ORDER BY 1
"""


@pytest.fixture
async def older(empty_database: str, tmp_path: Path) -> str:
    """A database with the schema of the older version."""
    for file in sorted((ROOT / "migrations").glob("*.sql")):
        if int(file.name[:4]) <= LAST:
            copy(file, tmp_path)
    await migrate(empty_database, tmp_path)
    return empty_database


async def move(source: str, target: str) -> None:
    """Copy every row into the older schema, of each only the columns that it has there."""
    read, write = await asyncpg.connect(source), await asyncpg.connect(target)
    await write.execute("SET session_replication_role = replica")
    ledger = [
        row["relname"] for row in await write.fetch("SELECT relname FROM pg_class WHERE relname LIKE '%migrations%'")
    ]
    for row in await write.fetch(COLUMNS, ledger):
        table, columns = row["table"], list(row["columns"])
        await write.execute(f"TRUNCATE {table} CASCADE")
    for row in await write.fetch(COLUMNS, ledger):
        table, columns = row["table"], list(row["columns"])
        held = BytesIO()
        names = ", ".join(f'"{name}"' for name in columns)
        await read.copy_from_query(f"SELECT {names} FROM {table}", output=held, format="binary")
        held.seek(0)
        await write.copy_to_table(table, source=held, columns=columns, format="binary")
    await read.close()
    await write.close()


async def recalled(pools: Pools) -> list[Any]:
    """Return what recall tells of each memory, and what the list says."""
    answer = await MemorySource(pools.turn).find(QUERY, SCOPE, SourceLimits(top_k=20, lead_lines=1))
    assert answer.candidates is not None
    items = [(one.id, one.text, one.header, one.relevance, one.rank, one.provenance) for one in answer.items]
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        listed = await memories.page(connection, SCOPE, limit=1000)
    return [items, list(answer.candidates.trust), list(answer.candidates.odds), listed]


async def test_migrated_database_keeps_pages_recall_and_replay_byte_for_byte(
    pools: Pools, database: str, older: str
) -> None:
    engine = engine_on(pools)
    await write_and_compile(pools, [*journal(30), NewMemory("Casa Lola closes on Mondays.", "gone", NOW)], engine)
    await forget(pools, "gone")
    await write_and_compile(pools, journal(6, first=40), engine)
    before, told = await wiki_of(pools), await recalled(pools)
    await move(database, older)
    written = [tuple(row) for row in await fetch(older, SECTIONS)]
    hashes = [tuple(row) for row in await fetch(older, HASHES)]
    assert written
    with pytest.raises(asyncpg.UndefinedColumnError):
        await fetch(older, "SELECT status FROM memories")
    await migrate(older, ROOT / "migrations")
    assert [tuple(row) for row in await fetch(older, SECTIONS)] == written
    assert [tuple(row) for row in await fetch(older, HASHES)] == hashes
    migrated = await open_pools(older, PoolsConfig(turn_connections=1, background_connections=2))
    try:
        assert await wiki_of(migrated) == before
        assert await recalled(migrated) == told
        assert await derived.mark_some(migrated.background) > 0
        assert await recalled(migrated) == told
        found = await replay(engine_on(migrated), migrated.background, SCOPE)
        assert found.is_identical
        await write_and_compile(migrated, journal(3, first=60), engine_on(migrated))
        assert (await replay(engine_on(migrated), migrated.background, SCOPE)).is_identical
    finally:
        await migrated.close()
