"""Words that are found before they are forgotten, on a database whose locale knows only ASCII letters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from unicodedata import normalize
from uuid import UUID, uuid4

import asyncpg
import pytest

from store.content import memories
from store.content.memories import NewMemory
from store.db.migrate import migrate
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants, traces
from tests.support.compiler.compiling import NOW
from tests.support.databases import named
from tests.support.places import ROOT

SCOPE = Scope(UUID(int=1), UUID(int=2))


@pytest.fixture
async def plain(postgres_server: str) -> AsyncIterator[Pools]:
    """Pools on a database with the locale C, as `initdb --no-locale` makes them."""
    name, admin = f"plain_{uuid4().hex}", await asyncpg.connect(postgres_server)
    await admin.execute(f"CREATE DATABASE {name} LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
    dsn = named(postgres_server, name)
    await migrate(dsn, ROOT / "migrations")
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    yield pools
    await pools.close()
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def test_word_is_found_in_any_case_in_a_locale_without_its_letters(plain: Pools) -> None:
    texts = ("Надежда поёт.", "НАДЕЖДА пишет.", "JOSÉ wrote.", normalize("NFD", "josé called."))
    async with tenant_scoped(plain.background, SCOPE.tenant_id) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
    async with scoped(plain.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory(text, f"m{at}") for at, text in enumerate(texts)], now=NOW)
        for word, found in (("надежда", {"m0", "m1"}), ("José", {"m2", "m3"})):
            assert {one.id for one in await traces.hits(connection, SCOPE, word, limit=10)} == found
            assert set(await traces.rows_holding(connection, SCOPE, word)) == {"memories"}
