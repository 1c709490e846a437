"""`python -m tests.browser [--shots DIR]`: the demo served with its console, and a headless Chromium sent through it.

The browser's driver lives in a virtual environment of its own, whose Python is named by `--driver`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from compiler.job.reprocess import ReprocessDeps, run_due_jobs
from sidecar.cli.shared.output import Voice
from sidecar.demo import corpus, story
from sidecar.process.app import App, running
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.worker import compile_engine
from store.scope import tenant_uuid
from tests.browser import world

_DEADLINE_S = 600


async def visited(home: Path, driver: str, shots: str) -> int:
    """Serve the demo, send the browser, and return its exit code."""
    settings = Settings(
        data_dir=home / "data", listen=("127.0.0.1:0",), console_listen="127.0.0.1:0", http_peer_requests_per_s=0
    )
    await story.run(settings, Voice(is_json=False))
    async with running(settings) as app:
        token = mint(
            Grant(corpus.TENANT, role=Role.ADMIN), identity_settings(settings), now_s=time.time(), token_id=uuid4().hex
        )
        await world.fill(app, token)
        visit = [
            driver,
            str(Path(__file__).with_name("visit.py")),
            f"http://{app.console_address}",
            shots,
            corpus.OWNER,
            world.HOSTILE,
            world.NOBODY,
        ]
        process = await asyncio.create_subprocess_exec(*visit, stdin=subprocess.PIPE)
        reprocessing = asyncio.create_task(_reprocess(app))
        async with asyncio.timeout(_DEADLINE_S):
            await process.communicate(token.encode())
        reprocessing.cancel()
        return process.returncode or 0


async def _reprocess(app: App) -> None:
    """Bring pages to the ontology in force as it changes, as a worker does; compiles stay queued."""
    deps = ReprocessDeps(app.pools.background, compile_engine.now, "browser")
    while True:
        await run_due_jobs(deps, tenant_uuid(corpus.TENANT))
        await asyncio.sleep(1)


def main(arguments: Sequence[str]) -> int:
    """Run the visit and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser", description="The console in a real browser.")
    parser.add_argument("--driver", default=sys.executable, help="the Python that has playwright")
    parser.add_argument("--shots", default="", help="a directory for a picture of each view")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="console-") as directory:
        Path(directory).chmod(0o711)  # for root, Postgres runs as another user and passes through here
        return asyncio.run(visited(Path(directory), given.driver, given.shots))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
