"""The same bytes of pages and summaries under other collations of the database, hash seeds, time zones and locales."""

from __future__ import annotations

import asyncio
import os
import sys
from uuid import uuid4

import asyncpg

from store.db.migrate import migrate
from tests.support.databases import named
from tests.support.places import ROOT

# The embedded Postgres is built without ICU and has no other locales of the system's: these are all that it knows.
COLLATIONS = (
    "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST' LOCALE 'C'",
    "LOCALE_PROVIDER libc LOCALE 'C'",
    "LOCALE_PROVIDER libc LOCALE 'C.UTF-8'",
)
ELSEWHERE = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Auckland", "LC_ALL": "C", "PGTZ": "America/Lima"},
    {"PYTHONHASHSEED": "99", "TZ": "America/Lima", "LC_ALL": "C.UTF-8", "PGTZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "POSIX"},
)


async def made(dsn: str, settings: dict[str, str]) -> bytes:
    """Return what the program makes of an empty database, in a process of these settings."""
    program = [sys.executable, "-m", "tests.support.compiler.decayed_wiki", dsn]
    environment = {**os.environ, **settings}
    process = await asyncio.create_subprocess_exec(*program, env=environment, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output


async def test_output_does_not_depend_on_collation_seed_zone_or_locale(
    database: str, postgres_server: str, is_soak: bool
) -> None:
    found = {await made(database, {"PYTHONHASHSEED": "0", "TZ": "UTC"})}
    assert b"summary-1" in next(iter(found))
    admin = await asyncpg.connect(postgres_server)
    every = list(zip(COLLATIONS, ELSEWHERE, strict=True))
    for collation, settings in every if is_soak else every[:2]:
        name = f"test_{uuid4().hex}"
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {collation}")
        dsn = named(postgres_server, name)
        await migrate(dsn, ROOT / "migrations")
        found.add(await made(dsn, settings))
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()
    assert len(found) == 1
