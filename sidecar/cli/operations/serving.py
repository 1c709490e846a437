"""Commands that run the service itself: serve, migrate, purge, demo."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from sidecar import telemetry
from sidecar.cli.operations import embedding
from sidecar.cli.operations.embedding import EmbedReport
from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.output import Voice, counted
from sidecar.cli.shared.session import speaking
from sidecar.demo import corpus, story
from sidecar.demo.story import Story
from sidecar.process import app, children
from sidecar.process.parts import Part, cores, count_of
from sidecar.runtime import settings
from sidecar.runtime.database import bring_up_to_date, migrations, reached
from sidecar.runtime.settings import Settings
from sidecar.telemetry import watch
from store.db import distribution, purging
from store.db import migrate as ledger
from store.db.distribution import DistributionReport
from store.db.migrate import MigrationReport, MigrationState
from store.db.purging import PurgeReport

_LINES_SHOWN = 6
_NOUNS = {
    "memories": ("memory", "memories"), "turns": ("turn", "turns"), "documents": ("document", "documents"),
    "pages": ("page", "pages"),
}  # fmt: skip


@click.command(short_help="Serve until stopped.")
@click.option("--listen", multiple=True, metavar="ADDRESS", help="HOST:PORT or unix:/path; repeatable.")
@click.option("--processes", metavar="N", help="Processes that answer calls, or auto: one a core, up to 4.")
@click.option("--part", default="", hidden=True)
@click.option("--directory", type=click.Path(path_type=Path), hidden=True)
@speaking
def serve(voice: Voice, listen: Sequence[str], processes: str | None, part: str, directory: Path | None) -> None:
    """Serve until SIGTERM or Ctrl-C, then let running calls finish. Settings come from SIDECAR_… variables.

    Without SIDECAR_DATABASE_URL an embedded Postgres is started, migrated and kept between runs.

    \b
    Example:
      sidecar serve
      sidecar serve --listen unix:/run/sidecar/api.sock --listen 127.0.0.1:7433
      sidecar serve --processes 2
    """
    read = settings.read(os.environ)
    read = replace(read, listen=tuple(listen)) if listen else read
    asked = read.processes if processes is None else processes
    count = count_of(asked, cores=cores(), is_linux=sys.platform == "linux")
    if count > 1 and not part:
        telemetry.log_to_stderr(read.log_level, process="supervisor")
        with _runner() as runner:
            runner.run(children.serve_with(read, count))
        return
    telemetry.log_to_stderr(read.log_level, process=part)
    telling = watch.config_of(os.environ, slow_turn_s=read.slow_turn_s, keeps_content=read.capture_content)
    with watch.watching(replace(telling, process=part)) as watched, _runner() as runner:
        runner.run(app.serve(read, watched, Part(part, directory)))


def _runner() -> asyncio.Runner:
    """Return a runner with the faster event loop, if installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


@click.command(short_help="Bring the database's schema up to date.")
@click.argument("action", type=click.Choice(["status"]), required=False)
@click.option("--dry-run", is_flag=True, help="Only show what would be applied.")
@click.option(
    "--distribute", is_flag=True, help="Then spread the tables over the servers of a Citus cluster, by tenant."
)
@speaking
def migrate(voice: Voice, action: str | None, dry_run: bool, distribute: bool) -> None:
    """Apply pending migrations; safe to repeat, and to run concurrently.

    \b
    Example:
      sidecar migrate --dry-run
      sidecar migrate
      sidecar migrate --distribute
      sidecar migrate status
    """
    if distribute and (dry_run or action):
        raise click.UsageError("--distribute goes with neither --dry-run nor status")
    read = settings.read(os.environ)
    with _runner() as runner:
        if action == "status":
            voice.show(runner.run(_states(read)), _draw_states)
            return
        report, spread = runner.run(_migrate(read, dry_run=dry_run, distribute=distribute))
    if voice.is_json:
        voice.document(_facts(report) | (asdict(spread) if spread else {}))
    else:
        voice.show(report, _draw_report)
        if spread:
            voice.show(spread, _draw_spread)


async def _migrate(
    settings: Settings, *, dry_run: bool, distribute: bool
) -> tuple[MigrationReport, DistributionReport | None]:
    """Apply the pending migrations, spread the tables if asked, and return the reports; change nothing if they cannot be spread.

    Raises the errors of `store.db.migrate` and `store.db.distribution`.
    """
    async with reached(settings) as database:
        if distribute:
            await distribution.check(database.direct_dsn)
        report = await bring_up_to_date(database, dry_run=dry_run)
        return report, await distribution.distribute(database.direct_dsn) if distribute else None


def _facts(report: MigrationReport) -> dict[str, Any]:
    """Return a report as a JSON document; that of a dry run says what would be applied, never that anything was."""
    done = "would_apply" if report.is_dry_run else "applied"
    return {done: report.applied, "skipped": report.skipped, "is_dry_run": report.is_dry_run}


async def _states(settings: Settings) -> tuple[MigrationState, ...]:
    """Return the state of every migration. Raises the errors of `store.db.migrate`."""
    async with reached(settings) as database:
        return await ledger.status(database.direct_dsn, migrations())


@click.command(short_help="Remove what was forgotten from the database's files.")
@speaking
def purge(voice: Voice) -> int:
    """Write every table anew and drop the log's old files, so that no file holds what was deleted. A table is locked meanwhile.

    A running service does it every SIDECAR_PURGE_EVERY_S seconds after a forgetting.

    \b
    Example:
      sidecar purge
    """
    read = settings.read(os.environ)
    with _runner() as runner:
        report = runner.run(_purge(read))
    voice.show(report, _draw_purged)
    return FAILED if report.left or report.busy or report.refused else OK


async def _purge(settings: Settings) -> PurgeReport:
    """Purge the database of the settings. Raises the errors of `store.db.purging`."""
    async with reached(settings) as database:
        return await purging.purge(database.direct_dsn, is_forced=True)


def _draw_purged(report: PurgeReport) -> Iterator[str]:
    yield f"{counted(len(report.tables), 'table')} written anew, {counted(report.settled, 'forgetting')} settled"
    if report.left:
        waiting = counted(report.left, "forgetting waits", "forgettings wait")
        yield f"{waiting} for a session that may still see what was deleted; run it again"
    yield from (f"{table} was in use; run it again" for table in report.busy)
    yield from (f"the role may not clear the {name}; let the owner or a superuser do it" for name in report.refused)


@click.command(short_help="Compute the missing vectors of stored texts.")
@click.option("--tenant", default="", metavar="NAME", help="Only this tenant's texts.")
@speaking
def embed(voice: Voice, tenant: str) -> None:
    """Compute the vectors that stored texts lack in the embedder in use: after a change of SIDECAR_EMBEDDER, or before a start.

    A running service does the same in the background. Safe to interrupt, to repeat, and to run beside a service.

    \b
    Example:
      sidecar embed
      sidecar embed --tenant acme --json
    """
    read = settings.read(os.environ)
    with voice.progress("embedding", None) as advance, _runner() as runner:
        done = runner.run(embedding.embed(read, tenant=tenant, advance=advance))
    voice.show(done, _draw_embedded)


def _draw_embedded(done: EmbedReport) -> Iterator[str]:
    if done.why_not:
        yield f"nothing to do, {done.why_not}"
    else:
        yield f"{counted(done.text_count, 'text')} in {counted(done.place_count, 'place')} got vectors of {done.embedder}"


def _draw_states(states: Sequence[MigrationState]) -> Iterator[Any]:
    yield drawing.rows(
        ("migration", "applied", "waits for"),
        ((one.name, drawing.moment(one.applied_at), one.waits_for) for one in states),
    )


def _draw_report(report: MigrationReport) -> Iterator[str]:
    verb = "would apply" if report.is_dry_run else "applied"
    yield from (f"{verb} {name}" for name in report.applied)
    yield from (f"skipped {one.name}: the server lacks the extension {one.extension}" for one in report.skipped)
    if not report.applied:
        yield "nothing to apply"


def _draw_spread(report: DistributionReport) -> Iterator[str]:
    yield from (f"reference {name}" for name in report.reference)
    yield from (f"distributed {name}" for name in report.distributed)
    before = counted(report.before, "table was", "tables were")
    yield f"{before} spread before; {counted(report.servers, 'server holds', 'servers hold')} them"


@click.command(short_help="Load a demo, ask one question, show the context.")
@speaking
def demo(voice: Voice) -> None:
    """Start a sidecar, load a demo corpus, ask one question, and show the context it gets.

    Needs no network and no account. The data stay, so that the second run is fast and the next commands find them.

    \b
    Example:
      sidecar demo
    """
    read = settings.read(os.environ)
    with _runner() as runner:
        answer = runner.run(story.run(read, voice))
    voice.show(answer, _draw_story)


def _draw_story(answer: Story) -> Iterator[Any]:
    scope = f"--tenant {corpus.TENANT} --owner {corpus.OWNER}"
    asking = f"--thread {corpus.THREAD} --model {corpus.MODEL} {scope}"
    yield f"{answer.message}\n"
    yield from drawing.assembly(answer.assembly, shortest_lines=_LINES_SHOWN)
    new = ", ".join(counted(count, *_NOUNS.get(name, (name, name))) for name, count in answer.loaded.items())
    yield f"loaded and answered in {answer.seconds:.1f} s; written in this run: {new}"
    yield "\nTry next, the first one in a terminal of its own:"
    program = _program()
    yield f"  {program} serve"
    yield f'  {program} assemble "When does wave 5 run now, and who decides?" {asking}'
    yield f"  {program} explain {answer.assembly.receipt_id} {scope}"


def _program() -> str:
    """Return the command to run this program again: its name if it is on the PATH, else its path."""
    called = Path(sys.argv[0])
    if shutil.which("sidecar"):
        return "sidecar"
    if called.name != "sidecar":
        return f"{sys.executable} -m sidecar"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
