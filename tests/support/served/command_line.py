"""A sidecar started by its command, and commands run in processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.client import Sidecar
from sidecar.runtime.database import Database, bring_up_to_date
from tests.support.databases import database_clone
from tests.support.waiting import PATIENCE_S

START_S = 300.0


@dataclass(frozen=True, slots=True)
class Served:
    """A sidecar that was started by its command, and the environment in which commands reach it."""

    process: subprocess.Popen[str]
    environment: dict[str, str]
    log: Path


@contextmanager
def migrated(template: str, home: Path) -> Iterator[dict[str, str]]:
    """Yield the environment of commands over a migrated database of their own, with a socket beneath `home`."""
    with asyncio.Runner() as runner:
        database = database_clone(template)
        dsn = runner.run(database.__aenter__())
        runner.run(bring_up_to_date(Database(dsn, dsn)))
        environment = {
            "SIDECAR_DATABASE_URL": dsn,
            "SIDECAR_DATA_DIR": str(home / "data"),
            "SIDECAR_EMBEDDER": "none",
            "SIDECAR_LISTEN": f"unix:{home / 'socket' / 's.sock'}",
        }
        yield environment
        runner.run(database.__aexit__(None, None, None))


@contextmanager
def serving(environment: dict[str, str], log: Path, *, python: str = sys.executable) -> Iterator[Served]:
    """Start `sidecar serve`, wait until it is healthy, and stop it at the end."""
    with log.open("w") as stream:
        process = subprocess.Popen(
            [python, "-m", "sidecar", "serve"], env={**os.environ, **environment}, stderr=stream, text=True
        )
    try:
        with Sidecar(environment["SIDECAR_LISTEN"], "") as client:
            assert client.health(deadline_s=START_S, waits=True) == "SERVING"
        yield Served(process, environment, log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def outcome(arguments: list[str], environment: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own to its end."""
    command = [sys.executable, "-m", "sidecar", *arguments]
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        **options,
    )
