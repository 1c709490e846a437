"""Commands that run the service itself: serve, migrate, demo."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.session import speaking
from sidecar.cli.voice import Voice

if TYPE_CHECKING:
    from sidecar.demo.story import Story
    from store.migrate import MigrationState, Report

_LINES_SHOWN = 6


@click.command(short_help="Serve until told to stop.")
@click.option("--listen", multiple=True, metavar="ADDRESS", help="HOST:PORT or unix:/path; repeatable.")
@speaking
def serve(voice: Voice, listen: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C, then let calls under way end. Settings come from SIDECAR_… variables.

    Without SIDECAR_DATABASE_URL an embedded Postgres is started, migrated and kept between runs.

    \b
    Example:
      sidecar serve
      sidecar serve --listen unix:/run/sidecar/api.sock --listen 127.0.0.1:7433
    """
    from sidecar import app, settings, telemetry

    read = settings.read(os.environ)
    telemetry.log_to_stderr(read.log_level)
    with _runner() as runner:
        runner.run(app.serve(replace(read, listen=tuple(listen)) if listen else read))


def _runner() -> asyncio.Runner:
    """Return a runner with the faster event loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


@click.command(short_help="Bring the database's schema up to date.")
@click.argument("action", type=click.Choice(["status"]), required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be applied, and change nothing.")
@speaking
def migrate(voice: Voice, action: str | None, dry_run: bool) -> None:
    """Apply the migrations that are left; safe to run again, and by several at once.

    \b
    Example:
      sidecar migrate --dry-run
      sidecar migrate
      sidecar migrate status
    """
    from sidecar import settings
    from sidecar.cli import migrating

    read = settings.read(os.environ)
    if action == "status":
        voice.show(asyncio.run(migrating.status(read)), _draw_states)
    else:
        voice.show(asyncio.run(migrating.apply(read, dry_run=dry_run)), _draw_report)


def _draw_states(states: Sequence[MigrationState]) -> Iterator[Any]:
    from sidecar.cli import drawing

    yield drawing.rows(
        ("migration", "applied", "waits for"),
        ((one.name, drawing.moment(one.applied_at), one.waits_for) for one in states),
    )


def _draw_report(report: Report) -> Iterator[str]:
    verb = "would apply" if report.is_dry_run else "applied"
    yield from (f"{verb} {name}" for name in report.applied)
    yield from (f"skipped {one.name}: the server lacks the extension {one.extension}" for one in report.skipped)
    if not report.applied:
        yield "nothing to apply"


@click.command(short_help="Load a demo, ask one question, see the context.")
@speaking
def demo(voice: Voice) -> None:
    """Start a sidecar, load a demo corpus, ask one question, and show the context it gets.

    Needs no network and no account. The data stay, so that the second run is fast and the next commands find them.

    \b
    Example:
      sidecar demo
    """
    from sidecar import settings
    from sidecar.demo import story

    read = settings.read(os.environ)
    with _runner() as runner:
        told = runner.run(story.run(read, voice))
    voice.show(told, _draw_story)


def _draw_story(told: Story) -> Iterator[Any]:
    from sidecar.cli import drawing
    from sidecar.demo import corpus

    whose = f"--tenant {corpus.TENANT} --owner {corpus.OWNER}"
    asking = f"--thread {corpus.THREAD} --model {corpus.MODEL} {whose}"
    yield f"{told.message}\n"
    yield from drawing.assembly(told.assembly, shortest_lines=_LINES_SHOWN)
    new = ", ".join(f"{count} {name}" for name, count in told.loaded.items())
    yield f"loaded and answered in {told.seconds:.1f} s; written in this run: {new}"
    yield "\nTry next, the first one in a terminal of its own:"
    yield "  sidecar serve"
    yield f'  sidecar assemble "When does wave 5 run now, and who decides?" {asking}'
    yield f"  sidecar explain {told.assembly.receipt_id} {whose}"
