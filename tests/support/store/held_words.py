"""Where words stand in a database: every column of every table."""

from __future__ import annotations

import asyncpg


async def holders(database: str, words: dict[str, str]) -> dict[str, list[str]]:
    """Return, for each word that some row holds, the tables and columns, bytes read as text."""
    connection = await asyncpg.connect(database)
    columns = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    found: dict[str, list[str]] = {}
    try:
        for table, column, kind in await connection.fetch(f"{columns} ORDER BY 1, 2"):
            text = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
            held = await connection.fetchval(f"SELECT string_agg(lower({text}), ' ') FROM {table}") or ""
            for entry, word in words.items():
                if word in held:
                    found.setdefault(entry, []).append(f"{table}.{column}")
        return found
    finally:
        await connection.close()
