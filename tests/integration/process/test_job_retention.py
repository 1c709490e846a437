"""Rows of background work are kept for a number of days, unless a compile, an operator or a running job needs them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg

from compiler.operations import acts
from compiler.operations.replay import EARLIER_PRUNED, replay
from sidecar.process.retention import prune
from sidecar.runtime.settings import Settings
from store.accounting.retention import KeptSince
from store.db.bounds import BOUNDED, PRUNED
from store.db.placements import DISTRIBUTED, LOCAL
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.wiki import browse
from tests.support.compiler.compiling import (
    HOUSEMATE,
    SCOPE,
    Clock,
    compiled,
    engine_on,
    fetch,
    journal,
    wiki_of,
    wish,
    write,
)
from tests.support.store.schema_rows import insert_of, tenant_tables

NEVER = KeptSince(None, None, None, None)
OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"

_PROGRAM = """
import asyncio, os, signal, sys
from datetime import datetime
from sidecar.process import retention
from store.accounting import retention as rows
from store.accounting.retention import KeptSince
from store.db.postgres import PoolsConfig, open_pools

async def main(dsn, before, pieces):
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=1))
    left, real = [int(pieces)], rows.delete_old
    async def delete_old(connection, scope, since):
        pruned = await real(connection, scope, since)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return pruned
    rows.delete_old = delete_old
    before = datetime.fromisoformat(before)
    await retention.prune(pools.background, KeptSince(before, before, before, before))

asyncio.run(main(*sys.argv[1:]))
"""


async def grown(pools: Pools, *, days: int, scope: Scope = SCOPE) -> datetime:
    """Compile memories on so many days, one after the other, with an operator's act on the first; return the last day."""
    clock = Clock()
    engine = engine_on(pools, clock=clock)
    for day in range(days):
        await write(pools, journal(6, first=day * 6), scope=scope)
        await wish(pools, scope=scope, now=clock())
        await compiled(pools, engine, scope=scope)
        if not day:
            async with scoped(pools.background, scope) as connection:
                page, *_ = await browse.pages_by_name(connection, scope, page_type="entity", status="active", limit=1)
                await acts.add_alias(connection, scope, page, "The good place", now=clock())
        clock.move(minutes=24 * 60)
    return clock() - timedelta(days=1)


async def log_of(database: str) -> list[tuple[int, str, datetime]]:
    rows = await fetch(database, "SELECT batch_seq, kind, planned_at FROM compile_batches ORDER BY 1")
    return [tuple(row) for row in rows]


async def test_old_batches_are_deleted_except_those_that_are_still_needed(pools: Pools, database: str) -> None:
    last = await grown(pools, days=4)
    before, wiki = await log_of(database), await wiki_of(pools)
    cut = last - timedelta(hours=12)
    covered = max(seq for seq, kind, at in before if kind == "aggregation" and at < cut)
    assert await prune(pools.background, replace(NEVER, log=cut)) > 0
    left = await log_of(database)
    assert left == [one for one in before if one[0] >= covered or one[1] == "operator"]
    assert any(kind == "operator" for _, kind, _ in left)
    assert len(left) < len(before)
    assert await wiki_of(pools) == wiki
    assert await prune(pools.background, replace(NEVER, log=cut)) == 0


async def test_pruned_log_names_its_first_batch_and_compiles_continue(pools: Pools, database: str) -> None:
    last = await grown(pools, days=3)
    assert (await replay(engine_on(pools), pools.background, SCOPE)).is_identical
    await prune(pools.background, replace(NEVER, log=last - timedelta(hours=12)))
    first = (await log_of(database))[0][0]
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.unreplayable_from, found.reason, found.is_stopped) == (first, EARLIER_PRUNED, True)
    assert (found.is_identical, found.differences) == (False, ())


async def test_a_pruned_log_compiles_on_as_a_whole_one_does(pools: Pools) -> None:
    wikis = []
    for scope, is_pruned in ((SCOPE, False), (HOUSEMATE, True)):
        last = await grown(pools, days=3, scope=scope)
        if is_pruned:
            assert await prune(pools.background, replace(NEVER, log=last - timedelta(hours=12))) > 0
        clock = Clock(last + timedelta(days=1))
        await write(pools, journal(6, first=18), scope=scope)
        await wish(pools, scope=scope, now=clock())
        await compiled(pools, engine_on(pools, clock=clock), scope=scope)
        wikis.append(await wiki_of(pools, scope=scope))
    assert wikis[0] == wikis[1]
    assert len(wikis[0]) > 3


DAY = "timestamptz '2026-01-01' + n * interval '1 day'"
OF_DAYS = {
    **dict.fromkeys(
        ("created_at", "finished_at", "ended_at", "planned_at", "decided_at", "raised_at", "expires_at"), DAY
    ),
    "day": "to_char(date '2026-01-01' + n::integer, 'YYYY-MM-DD')",
    "tenant_id": f"'{SCOPE.tenant_id}'::uuid",
    "owner_id": f"'{SCOPE.owner_id}'::uuid",
    "receipt_id": "md5('receipt' || n)::uuid",
    "change_set_id": "md5('set' || n)::uuid",
    "item_id": "md5('item' || n)::uuid",
    "answer_key": "decode(md5('answer' || n), 'hex')",
    "compile_batches.batch_seq": "n",
    "compile_batches.kind": "CASE WHEN n % 4 = 0 THEN 'aggregation' ELSE 'leaf' END",
    "ontology_change_sets.status": "'rejected'",
    "ontology_change_sets.applied_version": "NULL",
    "ontology_versions.change_set_id": "NULL",
}
ON_THEIR_OWN = {"audit_entries", "receipt_texts"}  # other sweeps delete them


async def filled(connection: asyncpg.Connection[asyncpg.Record], *tables: str, count: int) -> None:
    """Write a row a day into the tables, or into all; where only one can be, one."""
    async with connection.transaction():
        await connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")  # to every server of a cluster
        await connection.execute("SET LOCAL session_replication_role = replica")
        for table in await tenant_tables(connection):
            if not tables or table.name in tables:
                await connection.execute(insert_of(table, OF_DAYS, count=str(count)) + " ON CONFLICT DO NOTHING")


async def counted(connection: asyncpg.Connection[asyncpg.Record]) -> dict[str, int]:
    names = [table.name for table in await tenant_tables(connection)]
    return {name: await connection.fetchval(f"SELECT count(*) FROM {name}") for name in names}


async def test_each_table_with_a_setting_loses_its_old_rows_and_no_other_table_any(
    pools: Pools, superuser: asyncpg.Connection[asyncpg.Record]
) -> None:
    await filled(superuser, count=40)
    before = await counted(superuser)
    cut = datetime(2026, 1, 21, tzinfo=UTC)
    await prune(pools.background, KeptSince(cut, cut, cut, cut))
    after = await counted(superuser)
    assert {name for name in before if after[name] < before[name]} == set(PRUNED) - ON_THEIR_OWN
    first_left = {
        "compile_batches": "SELECT min(batch_seq) FROM compile_batches",
        "wiki_compile_jobs": "SELECT extract(day FROM min(finished_at)) FROM wiki_compile_jobs",
        "decay_jobs": "SELECT extract(day FROM min(ended_at)) FROM decay_jobs",
        "compile_spend": "SELECT right(min(day), 2)::int FROM compile_spend",
        "model_answers": "SELECT extract(day FROM min(created_at)) FROM model_answers",
    }
    left = {name: int(await superuser.fetchval(query)) for name, query in first_left.items()}
    assert left == dict.fromkeys(first_left, 21) | {"compile_batches": 16}
    assert await prune(pools.background, KeptSince(cut, cut, cut, cut)) == 0


async def test_running_work_and_the_newest_job_stay(
    pools: Pools, superuser: asyncpg.Connection[asyncpg.Record]
) -> None:
    await filled(superuser, "wiki_compile_jobs", "background_jobs", "decay_jobs", count=9)
    await superuser.execute(
        "UPDATE background_jobs SET status = 'running', finished_at = NULL WHERE created_at < '2026-01-04'"
    )
    await superuser.execute("UPDATE decay_jobs SET state = 'pending', ended_at = NULL WHERE created_at < '2026-01-04'")
    later = datetime(2027, 1, 1, tzinfo=UTC)
    await prune(pools.background, replace(NEVER, jobs=later))
    counts = await counted(superuser)
    assert {name: counts[name] for name in ("wiki_compile_jobs", "background_jobs", "decay_jobs")} == {
        "wiki_compile_jobs": 1,
        "background_jobs": 2,
        "decay_jobs": 2,
    }


async def test_jobs_stay_while_a_continuation_waits(
    pools: Pools, superuser: asyncpg.Connection[asyncpg.Record]
) -> None:
    await filled(superuser, "wiki_compile_jobs", count=9)
    await superuser.execute(
        "UPDATE wiki_compile_jobs SET status = 'pending', finished_at = NULL WHERE created_at > '2026-01-09'"
    )
    assert await prune(pools.background, replace(NEVER, jobs=datetime(2027, 1, 1, tzinfo=UTC))) == 0
    await superuser.execute("UPDATE wiki_compile_jobs SET parent_job_id = NULL WHERE status = 'pending'")
    assert await prune(pools.background, replace(NEVER, jobs=datetime(2027, 1, 1, tzinfo=UTC))) == 8


async def test_a_sweep_killed_in_the_middle_is_finished_by_two_at_once(
    pools: Pools, database: str, superuser: asyncpg.Connection[asyncpg.Record]
) -> None:
    await filled(superuser, "background_jobs", count=1_300)
    cut = datetime(2030, 1, 1, tzinfo=UTC)
    arguments = [database, cut.isoformat(), "2"]
    killed = await asyncio.to_thread(
        partial(subprocess.run, [sys.executable, "-c", _PROGRAM, *arguments], check=False, timeout=60)
    )
    assert killed.returncode == -signal.SIGKILL
    assert (await counted(superuser))["background_jobs"] == 800  # one piece of 500 was committed
    both = await asyncio.gather(*(prune(pools.background, replace(NEVER, jobs=cut)) for _ in range(2)))
    assert (sum(both), (await counted(superuser))["background_jobs"]) == (800, 0)


def test_every_table_says_how_it_is_bounded() -> None:
    assert not set(PRUNED) & set(BOUNDED)
    assert set(PRUNED) | set(BOUNDED) == DISTRIBUTED | set(LOCAL)  # which a test compares with the schema
    names = {field.name for field in fields(Settings)}
    assert set(PRUNED.values()) <= names
    table = OPERATIONS.read_text().partition("### The database grows")[2].partition("### Build")[0]
    assert {setting for setting in PRUNED.values() if f"`SIDECAR_{setting.upper()}`" not in table} == set()
