"""The command that runs the worker alone."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import click

from sidecar import telemetry
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import speaking
from sidecar.runtime import settings
from sidecar.telemetry import watch
from sidecar.worker import worker_process as process


@click.command(short_help="Compile and do other background work until told to stop.")
@click.option("--ends-with-parent", is_flag=True, hidden=True)
@speaking
def worker(voice: Voice, *, ends_with_parent: bool) -> None:
    """Work until SIGTERM or Ctrl-C, then finish or hand back what is under way. Several may run at once.

    `sidecar serve` has one of its own, unless SIDECAR_WORKER is false.

    \b
    Example:
      sidecar worker
    """

    read = settings.read(os.environ)
    telemetry.log_to_stderr(read.log_level)
    telling = watch.config_of(os.environ, slow_turn_s=read.slow_turn_s, keeps_content=read.capture_content)
    if ends_with_parent:  # the parent sends what both count
        telling = replace(telling, sends_metrics=False)
    with watch.watching(telling) as watched:
        asyncio.run(process.work(read, watched, ends_with_parent=ends_with_parent))
