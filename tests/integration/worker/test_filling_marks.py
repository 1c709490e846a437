"""A worker gives marks to the texts that an earlier release wrote, beside its jobs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from sidecar.runtime.settings import Settings
from sidecar.worker.worker_process import work
from store.db.postgres import Pools
from store.text.marks import marks_of
from tests.support.compiler.compiling import fetch, journal, write
from tests.support.waiting import until

_MORE_THAN_AT_ONCE = 450
_TEXTS = "SELECT text, marks FROM memories"


async def test_worker_fills_in_missing_marks(pools: Pools, database: str, tmp_path: Path) -> None:
    await write(pools, journal(_MORE_THAN_AT_ONCE))
    await fetch(database, "UPDATE memories SET marks = NULL")
    working = asyncio.create_task(work(Settings(data_dir=tmp_path, database_url=database, embedder="none")))

    async def is_filled() -> bool:
        return not await fetch(database, f"{_TEXTS} WHERE marks IS NULL LIMIT 1")

    try:
        await until(is_filled)
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    assert all(row["marks"] == marks_of(row["text"]) for row in await fetch(database, _TEXTS))
