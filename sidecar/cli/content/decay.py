"""Commands that compress aged candidates: explain what would go together, schedule it, run it, list the jobs, cancel one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.output import printable
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import DecayGroup, DecayJob

_LEAD_IDS = 4
_age_option = click.option(
    "--age-days", type=int, default=30, show_default=True, help="Compress candidates older than this."
)
_most_option = click.option(
    "--most-sources", type=int, default=20, show_default=True, help="Candidates in one summary."
)


@click.group()
def decay() -> None:
    """Compress aged candidates into summaries; the sources stay, with half of their relevance."""


@decay.command(short_help="Show what would be compressed together.")
@_age_option
@_most_option
@connected
def explain(session: CommandSession, age_days: int, most_sources: int) -> None:
    """Show which candidates would be compressed together, and the bytes that this takes out of recall. Writes nothing.

    \b
    Example:
      sidecar decay explain --age-days 90
    """
    groups = session.client.explain_decay(age_days=age_days, most_sources=most_sources)
    session.voice.show(groups, _draw_groups)


def _draw_groups(groups: Sequence[DecayGroup]) -> Iterator[Any]:
    yield drawing.rows(
        ("memories", "saves", "ids"),
        ((f"{len(one.memory_ids):,}", f"{one.saved_bytes:,} bytes", _ids(one.memory_ids)) for one in groups),
        empty="No candidates of that age belong together.",
    )


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_LEAD_IDS]) + (", …" if len(ids) > _LEAD_IDS else "")


@decay.command(short_help="Queue jobs for what would be compressed.")
@_age_option
@_most_option
@connected
def schedule(session: CommandSession, age_days: int, most_sources: int) -> None:
    """Queue a job for each group that `explain` shows. A candidate is in one waiting job at most.

    \b
    Example:
      sidecar decay schedule --age-days 90
    """
    session.voice.show(session.client.schedule_decay(age_days=age_days, most_sources=most_sources), _draw_jobs)


@decay.command(short_help="Run jobs that are due.")
@click.argument("job_id", metavar="[JOB]", default="")
@connected
def run(session: CommandSession, job_id: str) -> int:
    """Run one job, or every job that is due. A job that has ended stays as it ended.

    \b
    Example:
      sidecar decay run
    """
    ran: list[DecayJob] = []
    while (job := session.client.run_decay(job_id=job_id)) is not None:
        ran.append(job)
        if job_id:
            break
    session.voice.show(ran, _draw_jobs)
    return FAILED if any(one.failure for one in ran) else OK


@decay.command(short_help="List decay jobs, newest first.")
@limit_option
@connected
def jobs(session: CommandSession, limit: int) -> None:
    """List the owner's decay jobs, newest first.

    \b
    Example:
      sidecar decay jobs --limit 10
    """
    session.voice.show(list(every(session.client.list_decay_jobs, limit=limit)), _draw_jobs)


@decay.command(short_help="Cancel a job that has not started.")
@click.argument("job_id", metavar="JOB")
@connected
def cancel(session: CommandSession, job_id: str) -> None:
    """Cancel a job that has not started; its candidates may be scheduled again.

    \b
    Example:
      sidecar decay cancel 6f1c2f6e-0000-4000-8000-000000000001
    """
    session.voice.show([session.client.cancel_decay(job_id=job_id)], _draw_jobs)


def _draw_jobs(listed: Sequence[DecayJob]) -> Iterator[Any]:
    yield drawing.rows(
        ("job", "state", "memories", "summary"),
        (
            (one.job_id, one.state, f"{len(one.source_ids):,}", printable(one.result_id or one.failure))
            for one in listed
        ),
        empty="No jobs.",
    )
