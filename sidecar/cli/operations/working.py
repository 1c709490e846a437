"""The command that runs the worker alone."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import click

from sidecar import telemetry
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.speaking import speaking
from sidecar.runtime import settings
from sidecar.telemetry import watch
from sidecar.worker import worker_process as process


@click.command(short_help="Run the background worker until stopped.")
@click.option("--ends-with-parent", is_flag=True, hidden=True)
@speaking
def worker(voice: Voice, *, ends_with_parent: bool) -> None:
    """Run background jobs until SIGTERM or Ctrl-C, then finish or requeue the running ones. Several workers may run at once.

    `sidecar serve` starts a worker of its own, unless SIDECAR_WORKER is false.

    \b
    Example:
      sidecar worker
    """

    read = settings.read(os.environ)
    telemetry.log_to_stderr(read.log_level, process="worker" if ends_with_parent else "")
    telling = watch.config_of(os.environ, slow_turn_s=read.slow_turn_s, keeps_content=read.capture_content)
    if ends_with_parent:  # the parent exports the metrics of both
        telling = replace(telling, sends_metrics=False)
    with watch.watching(telling) as watched:
        asyncio.run(process.work(read, watched, ends_with_parent=ends_with_parent))
