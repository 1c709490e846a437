"""Commands that load the whole service: serve and embed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from sidecar import telemetry
from sidecar.cli.operations import embedding
from sidecar.cli.operations.embedding import EmbedReport
from sidecar.cli.shared.event_loop import runner
from sidecar.cli.shared.output import Voice, counted
from sidecar.cli.shared.speaking import speaking
from sidecar.process import app, children
from sidecar.process.parts import Part, cores, count_of
from sidecar.runtime import settings
from sidecar.telemetry import watch


@click.command(short_help="Serve until stopped.")
@click.option("--listen", multiple=True, metavar="ADDRESS", help="HOST:PORT or unix:/path; repeatable.")
@click.option("--processes", metavar="N", help="Processes that answer calls, or auto: one per core, up to 4.")
@click.option("--part", default="", hidden=True)
@click.option("--directory", type=click.Path(path_type=Path), hidden=True)
@speaking
def serve(voice: Voice, listen: Sequence[str], processes: str | None, part: str, directory: Path | None) -> None:
    """Serve until SIGTERM or Ctrl-C, then wait for running calls. Settings come from SIDECAR_… variables.

    Without SIDECAR_DATABASE_URL an embedded Postgres is started, migrated and kept between runs.

    \b
    Example:
      sidecar serve
      sidecar serve --listen unix:/run/sidecar/api.sock --listen 127.0.0.1:7433
      sidecar serve --processes 2
    """
    read = settings.read(os.environ)
    read = replace(read, listen=tuple(listen)) if listen else read
    setting = read.processes if processes is None else processes
    count = count_of(setting, cores=cores(), is_linux=sys.platform == "linux")
    if count > 1 and not part:
        telemetry.log_to_stderr(read.log_level, process="supervisor")
        with runner() as loop:
            loop.run(children.serve_with(read, count))
        return
    telemetry.log_to_stderr(read.log_level, process=part)
    telling = watch.config_of(os.environ, slow_turn_s=read.slow_turn_s, keeps_content=read.capture_content)
    with watch.watching(replace(telling, process=part)) as watched, runner() as loop:
        loop.run(app.serve(read, watched, Part(part, directory)))


@click.command(short_help="Compute the missing vectors of stored texts.")
@click.option("--tenant", default="", metavar="NAME", help="Only this tenant's texts.")
@speaking
def embed(voice: Voice, tenant: str) -> None:
    """Compute the missing vectors of stored texts with the embedder in use, after a change of SIDECAR_EMBEDDER or before a start.

    A running service does the same in the background. Safe to interrupt, to repeat, and to run beside a service.

    \b
    Example:
      sidecar embed
      sidecar embed --tenant acme --json
    """
    read = settings.read(os.environ)
    with voice.progress("embedding", None) as advance, runner() as loop:
        done = loop.run(embedding.embed(read, tenant=tenant, advance=advance))
    voice.show(done, _draw_embedded)


def _draw_embedded(done: EmbedReport) -> Iterator[str]:
    if done.why_not:
        yield f"nothing to do, {done.why_not}"
    else:
        yield f"{counted(done.text_count, 'text')} in {counted(done.place_count, 'place')} got vectors of {done.embedder}"
