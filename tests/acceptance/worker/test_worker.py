"""The worker as people run it: a process of its own that compiles what was written, and stops when it is told to."""

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
from tests.support.compiler.compiling import all_jobs, journal, wiki_of, wish, write
from tests.support.places import ROOT

DEADLINE_S = 120.0  # far more than a loaded machine needs


@asynccontextmanager
async def working(dsn: str, directory: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield `sidecar worker` on the database, killed at the end if it still runs."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    environment = {**own, "SIDECAR_DATABASE_URL": dsn, "SIDECAR_DATA_DIR": str(directory)}
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


async def until_done(pools: Pools, dsn: str, count: int) -> None:
    """Wait until so many jobs have succeeded: looked at whenever one has moved."""
    moved = asyncio.Event()
    listener = notices.Listener(on_notice=lambda _: moved.set(), on_connected=moved.set)
    listening = asyncio.create_task(notices.listen(dsn, [PROGRESS], listener))
    try:
        async with asyncio.timeout(DEADLINE_S):
            while sum(job.status is JobStatus.SUCCEEDED for job in await all_jobs(pools)) < count:
                await moved.wait()
                moved.clear()
    finally:
        listening.cancel()


async def test_worker_compiles_waiting_and_new_jobs_and_stops_when_told(
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
