"""Measures how long `sidecar serve` takes until it answers, with default settings, on a directory that has its database."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import uvloop

from bench import installed
from bench.figures import Figure, plain

_STARTS = 5


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` multiplies the number of starts."""
    return uvloop.run(_measured(max(1, round(_STARTS * scale))))


async def _measured(starts: int) -> list[Figure]:
    with TemporaryDirectory(prefix="context-sidecar-bench-") as directory:
        root = Path(directory)
        root.chmod(0o755)  # the account that Postgres runs as passes through
        first, *others = [await _start(root) for _ in range(1 + starts)]
    seconds, own_s = zip(*others, strict=True)
    return [
        plain("first start, which makes the database", first[0], unit=" s"),
        plain("a later start", median(seconds), unit=" s", note=f"median of {starts}"),
        plain("processor time of the service until it answers", median(own_s), unit=" s"),
    ]


async def _start(root: Path) -> tuple[float, float]:
    """Return the seconds until the service is healthy, and its processor seconds by then, without the worker's and Postgres'."""
    began = time.monotonic()
    async with installed.served(root) as process:
        return time.monotonic() - began, installed.cpu_s(process.pid, root)["serve"]
