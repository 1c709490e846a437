"""A benchmark's own database: the embedded Postgres with its usual settings, in a temporary directory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sidecar.runtime import database
from sidecar.runtime.database import Database
from sidecar.runtime.settings import Settings


@asynccontextmanager
async def own_database(
    *, embedder: str = "none", is_installed: bool = False
) -> AsyncIterator[tuple[Settings, Database]]:
    """Yield settings and an empty, migrated database, deleted at the end.

    Recall uses words alone unless an embedder is named. The settings are those of tests that wait, without a worker, unless
    `is_installed`.
    """
    # Straight under /tmp: the account that Postgres runs as may not pass a private temporary directory.
    root = Path(tempfile.mkdtemp(prefix="context-sidecar-bench-", dir="/tmp"))
    root.chmod(0o755)  # nothing else runs yet
    try:
        async with database.opened(Settings(data_dir=root / "pg")) as opened:
            served = Settings(
                data_dir=root / "sidecar",
                database_url=opened.dsn,
                listen=(f"unix:{root}/api/sidecar.sock",),
                log_level="ERROR",
                embedder=embedder,
            )
            yield served if is_installed else replace(served, embed_deadline_s=10.0, worker=False), opened
    finally:
        shutil.rmtree(root, ignore_errors=True)


def size_mb(settings: Settings) -> float:
    """Return the size of the database's files on disk, in megabytes."""
    root = settings.data_dir.parent / "pg"
    return sum(file.stat().st_blocks * 512 for file in root.rglob("*") if file.is_file()) / 1e6
