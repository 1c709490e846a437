"""Where words stand in a database: every column of every table."""

from __future__ import annotations

import asyncpg

_COLUMNS = """SELECT table_name, array_agg(column_name::text), array_agg(data_type::text) FROM (
    SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2
) GROUP BY 1 ORDER BY 1"""


async def holders(database: str, words: dict[str, str]) -> dict[str, list[str]]:
    """Return, for each word that some row holds, in any case, the tables and columns, bytes read as text."""
    connection = await asyncpg.connect(database)
    sought = {entry: word.lower() for entry, word in words.items()}
    found: dict[str, list[str]] = {}
    try:
        for table, columns, kinds in await connection.fetch(_COLUMNS):
            texts = [
                f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
                for column, kind in zip(columns, kinds, strict=True)
            ]
            every = ", ".join(f"string_agg(lower({text}), ' ')" for text in texts)
            held = await connection.fetchrow(f"SELECT {every} FROM {table}")
            for column, texts_of_rows in zip(columns, held or (), strict=True):
                for entry, word in sought.items():
                    if word in (texts_of_rows or ""):
                        found.setdefault(entry, []).append(f"{table}.{column}")
        return found
    finally:
        await connection.close()
