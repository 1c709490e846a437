"""The worker as a process of its own compiles new memories, and stops on a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from store.compile.jobs import PROGRESS, JobStatus
from store.content.memories import NewMemory
from store.db import notices
from store.db.postgres import Pools
from store.scope import Scope
from tests.stand_ins.model_script import Gate, Late
from tests.stand_ins.model_server import model_server
from tests.support.compiler.compiling import SCOPE, STRANGER, all_jobs, fetch, journal, wiki_of, wish, write
from tests.support.compiler.model_engines import script
from tests.support.places import ROOT
from tests.support.waiting import until

DEADLINE_S = 120.0  # far more than a loaded machine needs


@asynccontextmanager
async def working(
    dsn: str, directory: Path, *options: str, **further: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield `sidecar worker` on the database, killed at the end if it still runs; `further` are variables for it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    environment = {**own, "SIDECAR_DATABASE_URL": dsn, "SIDECAR_DATA_DIR": str(directory), **further}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sidecar", "worker", *options),
        cwd=ROOT,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until_done(pools: Pools, dsn: str, count: int, *, scope: Scope = SCOPE) -> None:
    """Wait until so many jobs have succeeded: looked at whenever one has moved."""
    moved = asyncio.Event()
    listener = notices.Listener(on_notice=lambda _: moved.set(), on_connected=moved.set)
    listening = asyncio.create_task(notices.listen(dsn, [PROGRESS], listener))
    try:
        async with asyncio.timeout(DEADLINE_S):
            while sum(job.status is JobStatus.SUCCEEDED for job in await all_jobs(pools, scope=scope)) < count:
                await moved.wait()
                moved.clear()
    finally:
        listening.cancel()


async def test_worker_compiles_waiting_and_new_jobs_and_stops_on_a_signal(
    pools: Pools, database: str, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    await write(pools, journal(12), now=now)
    await wish(pools, now=now)
    async with working(database, tmp_path) as process:
        await until_done(pools, database, 1)
        before = await wiki_of(pools)
        assert any(name.startswith("page ") for name in before)
        await write(pools, [NewMemory("Suerte and Priya Raman were praised by all.", "later", now)], now=now)
        await wish(pools, now=datetime.now(UTC))
        await until_done(pools, database, 2)
        assert await wiki_of(pools) != before
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() == 0


async def test_worker_whose_parent_died_stops_by_itself(database: str, tmp_path: Path) -> None:
    async with working(database, tmp_path, "--ends-with-parent") as process:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() == 0


async def test_wikis_compiled_at_once_survive_a_stop_and_a_kill(pools: Pools, database: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for scope in (SCOPE, STRANGER):
        await write(pools, journal(6), scope=scope, now=now)
        await wish(pools, scope=scope, now=now)
    with model_server() as site:
        gate, answer = Gate(), script()
        site.by_request = lambda ask: Late(gate, answer(ask))
        variables = {
            "SIDECAR_COMPILE_PLANNER": "openai",
            "SIDECAR_COMPILE_BASE_URL": f"{site.url}/v1",
            "SIDECAR_WORKER_LEASE_S": "2",
            "SIDECAR_WORKER_POLL_S": "0.2",
            "SIDECAR_DRAIN_GRACE_S": "0.2",
        }
        async with working(database, tmp_path, **variables) as process:
            await until(lambda: len(site.asks) >= 2)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0
        found = [job for scope in (SCOPE, STRANGER) for job in await all_jobs(pools, scope=scope)]
        assert [(job.status, job.attempt) for job in found] == [(JobStatus.PENDING, 0)] * 2
        async with working(database, tmp_path, **variables) as process:
            await until(lambda: len(site.asks) >= 4)
            process.kill()
            await process.wait()
        gate.open()
        async with working(database, tmp_path, **variables):
            for scope in (SCOPE, STRANGER):
                await until_done(pools, database, 1, scope=scope)
    read = await fetch(
        database, "SELECT count(*), count(DISTINCT (owner_id, memory_id)) FROM memory_ledger WHERE outcome = 'applied'"
    )
    assert read == [(12, 12)]
