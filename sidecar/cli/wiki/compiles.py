"""Commands about compiles: queue one, preview it, follow it, list and cancel jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import drawing
from sidecar.client import CallUnavailable, SidecarCallError
from sidecar.client.answers.wiki import CompileJob, CompileTicket

_GOOD = frozenset({"succeeded", "skipped"})


@click.command("compile", short_help="Compile the owner's memories into pages.")
@click.option("--model", "model_id", default="", help="The model to plan with. Default: the configured one.")
@click.option("--dry-run", is_flag=True, help="Show the changes of the next batch; change nothing.")
@click.option("--wait", is_flag=True, help="Follow the job and its continuations to the end.")
@click.option(
    "--may-archive-many",
    is_flag=True,
    help="Accept the memory service's listing, even if it archives most of the wiki.",
)
@connected
def compile_now(session: CommandSession, model_id: str, dry_run: bool, wait: bool, may_archive_many: bool) -> int:
    """Queue a compile of the owner's memories.

    \b
    Example:
      sidecar wiki compile --wait
      sidecar wiki compile --dry-run
    """
    ticket = session.client.compile_now(model_id=model_id, validate_only=dry_run, may_archive_many=may_archive_many)
    if dry_run or not wait or ticket.job is None:
        session.voice.show(ticket, _draw_ticket)
        return OK
    return followed(session, ticket.job.job_id)


def _draw_ticket(ticket: CompileTicket) -> Iterator[Any]:
    if ticket.preview is not None:
        yield from drawing.preview(ticket.preview)
    if ticket.job is not None:
        yield f"{ticket.outcome}: job {ticket.job.job_id}; follow it with: sidecar wiki watch {ticket.job.job_id}"


@click.command(short_help="Follow a job until it has ended.")
@click.argument("job_id", metavar="[JOB]", required=False, default="")
@connected
def watch(session: CommandSession, job_id: str) -> int:
    """Follow a job and its continuations to the end. Without JOB, follow the newest.

    \b
    Example:
      sidecar wiki watch
    """
    if not job_id:
        newest = session.client.list_jobs(page_size=1).values
        if not newest:
            session.voice.show([], lambda _: ["No jobs yet; queue one with: sidecar wiki compile"])
            return OK
        job_id = newest[0].job_id
    return followed(session, job_id)


def followed(session: CommandSession, job_id: str) -> int:
    """Follow the job and its continuations, show the result of the last one, and return the command's exit code."""
    *before, last = ended(session, job_id)
    session.voice.show(last, lambda one: drawing.job(one, before))
    return exit_of(last)


def ended(session: CommandSession, job_id: str) -> list[CompileJob]:
    """Follow the job and its continuations, and return the ended jobs, at least one."""
    chain = [_follow(session, job_id)]
    while (following := _continuation(session, chain[-1])) is not None:
        chain.append(_follow(session, following.job_id))
    return chain


def exit_of(last: CompileJob) -> int:
    """Return the exit code of a command that followed a job to its end."""
    return OK if last.status in _GOOD else FAILED


def _follow(session: CommandSession, job_id: str) -> CompileJob:
    seen = 0
    last: CompileJob | None = None
    try:
        with session.voice.progress("memories", None) as step:
            for last in session.client.watch_job(job_id=job_id):
                read = int(last.metrics.get("records_read", 0))
                step(max(0, read - seen))
                seen = max(seen, read)
    except CallUnavailable:
        session.voice.note(f"The job does not end with this command; follow it with: sidecar wiki watch {job_id}")
        raise
    if last is None:
        raise SidecarCallError("The stream ended before the first message; try again.", code="UNAVAILABLE")
    return last


def _continuation(session: CommandSession, job: CompileJob) -> CompileJob | None:
    newest = session.client.list_jobs(page_size=20).values
    return next((one for one in newest if one.parent_job_id == job.job_id), None)


@click.command(short_help="List jobs, newest first.")
@limit_option
@connected
def jobs(session: CommandSession, limit: int) -> None:
    """List compile jobs, newest first.

    \b
    Example:
      sidecar wiki jobs --limit 5
    """
    session.voice.show(list(every(session.client.list_jobs, limit=limit)), drawing.jobs)


@click.command(short_help="Cancel a job.")
@click.argument("job_id", metavar="JOB")
@connected
def cancel(session: CommandSession, job_id: str) -> None:
    """Cancel a job: a pending one at once, a running one before its next step.

    \b
    Example:
      sidecar wiki cancel 0198c0de-…
    """
    session.voice.show(session.client.cancel_job(job_id=job_id), drawing.job)


COMMANDS = (compile_now, watch, jobs, cancel)
