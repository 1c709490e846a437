"""Commands for ageing memories: decay jobs, episodes, and attestations that allow a model to write summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from compiler.decay.model_summary import PROMPT_HASH
from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.times import INSTANT
from sidecar.client.answers import Attestation, DecayGroup, DecayJob, Episode
from sidecar.services.aging.attestations import attestation_envelope

_LEAD_IDS = 4
_MOST_DAYS_ATTESTED = 3650
_POLICY = (
    ("--age-days", 0, "Compress candidates older than this many days."),
    ("--most-sources", 2, "Maximum number of candidates in a summary."),
    ("--most-salience", 0, "Keep candidates with a higher salience."),
    ("--most-reads", 0, "Keep candidates that were in more contexts of a hundred."),
    ("--read-days", 0, "Count the receipts of this many days."),
    ("--most-share", 0, "Maximum percentage of the aged candidates' text that summaries replace."),
)


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a policy to a command; the service's settings apply to options that are left out."""
    for name, least, help_text in reversed(_POLICY):
        kind = click.IntRange(min=least)
        command = click.option(name, type=kind, help=f"{help_text} Default: the service's setting.")(command)
    return command


def _given(policy: dict[str, int | None]) -> dict[str, Any]:
    return {name: value for name, value in policy.items() if value is not None}


@click.group()
def decay() -> None:
    """Compress aged candidates into summaries; the sources stay, with half of their odds."""


@decay.command(short_help="Show which candidates would be compressed.")
@policy_options
@connected
def explain(session: CommandSession, **policy: Any) -> None:
    """Show which candidates would be compressed together, and the bytes that this removes from recall. Writes nothing.

    \b
    Example:
      sidecar decay explain --age-days 90
    """
    groups = session.client.explain_decay(**_given(policy))
    session.voice.show(groups, _draw_groups)


def _draw_groups(groups: Sequence[DecayGroup]) -> Iterator[Any]:
    yield drawing.rows(
        ("memories", "bytes", "saves", "ids"),
        (
            (f"{len(one.memory_ids):,}", f"{one.source_bytes:,}", f"{one.saved_bytes:,}", _ids(one.memory_ids))
            for one in groups
        ),
        empty="No candidates of that age would be compressed.",
    )


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_LEAD_IDS]) + (", …" if len(ids) > _LEAD_IDS else "")


@decay.command(short_help="Queue jobs that compress candidates.")
@policy_options
@click.option(
    "--kind",
    type=click.Choice(["candidate_compression", "episode_compression", "expired_principle_review"]),
    default=None,
    help="Queue one job of this kind for the given sources.",
)
@click.option(
    "--method",
    type=click.Choice(["deterministic_concatenate", "llm_summary"]),
    default="deterministic_concatenate",
    show_default=True,
    help="The method that writes the summaries; llm_summary needs an attestation.",
)
@click.option("--at", type=INSTANT, default=None, help="When the jobs are due. Default: now.")
@click.argument("source_ids", metavar="[SOURCE]...", nargs=-1)
@connected
def schedule(
    session: CommandSession,
    kind: str | None,
    method: str,
    at: datetime | None,
    source_ids: tuple[str, ...],
    **policy: Any,
) -> None:
    """Queue a job for each group that `explain` shows, or with --kind one job for the given memories, episodes or principles.

    A worker runs due jobs. A candidate is in at most one waiting job.

    \b
    Example:
      sidecar decay schedule --age-days 90
      sidecar decay schedule --kind expired_principle_review
    """
    jobs = session.client.schedule_decay(
        kind=kind or "",
        summary_method=method,
        source_ids=source_ids,
        schedule_time=at,
        **_given(policy),
    )
    session.voice.show(jobs, _draw_jobs)


@decay.command(short_help="Run jobs that are due.")
@click.argument("job_id", metavar="[JOB]", default="")
@connected
def run(session: CommandSession, job_id: str) -> int:
    """Run one job, or all jobs that are due. An ended job is not run again.

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
        ("job", "kind", "state", "sources", "result"),
        ((one.job_id, one.kind, one.state, f"{len(one.source_ids):,}", _result(one)) for one in listed),
        empty="No jobs.",
    )


def _result(job: DecayJob) -> str:
    expired = ", ".join(f"{one.memory_id} since {_day(one.expire_time)}" for one in job.expired)
    return job.result_id or job.failure or expired


def _day(instant: datetime | None) -> str:
    return instant.strftime("%Y-%m-%d %H:%M") if instant else ""


@decay.command(short_help="List episodes, newest first.")
@click.option("--thread", "thread_id", default="", help="Only episodes of this thread.")
@limit_option
@connected
def episodes(session: CommandSession, thread_id: str, limit: int) -> None:
    """List the sessions of threads that a pause or a caller closed, newest first.

    \b
    Example:
      sidecar decay episodes --thread t1
    """
    listed = every(partial(session.client.list_episodes, thread_id=thread_id), limit=limit)
    session.voice.show(list(listed), _draw_episodes)


@decay.command(short_help="Close a thread's episode now.")
@click.argument("thread_id", metavar="THREAD")
@connected
def close(session: CommandSession, thread_id: str) -> None:
    """Close a thread's episode now; later turns begin another.

    \b
    Example:
      sidecar decay close t1
    """
    episode = session.client.close_episode(thread_id=thread_id)
    session.voice.show([episode] if episode else [], _draw_episodes)


def _draw_episodes(listed: Sequence[Episode]) -> Iterator[Any]:
    yield drawing.rows(
        ("episode", "thread", "from", "to", "turns", "begins"),
        (
            (
                one.episode_id,
                one.thread_id,
                _day(one.start_time),
                _day(one.end_time),
                f"{len(one.turn_ids):,}",
                one.text[:60].partition("\n")[0],
            )
            for one in listed
        ),
        empty="No episodes.",
    )


@decay.command(short_help="Allow a model to write summaries, by your signature.")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="Your Ed25519 private key, a PEM file. It is not sent.",
)
@click.option("--model", "model_id", required=True, help="The model that may write summaries.")
@click.option("--prompt-hash", default=PROMPT_HASH, help="The SHA-256 of the prompt. Default: this release's.")
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS_ATTESTED),
    default=90,
    show_default=True,
    help="Days until the attestation ends.",
)
@connected
def attest(session: CommandSession, key: Path, model_id: str, prompt_hash: str, days: int) -> None:
    """Sign that a model may write summaries with a prompt, for a number of days. For admins.

    The service needs the public half of the key in SIDECAR_DECAY_ATTESTATION_KEYS.

    \b
    Example:
      sidecar decay attest --key operator.pem --model gpt-4o-mini --days 30
    """
    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise click.UsageError(f"--key: {key} is not a private key without a password; give an Ed25519 key.") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise click.UsageError(f"--key: {key} is not an Ed25519 key; make one: openssl genpkey -algorithm ed25519")
    tenant_id = session.client.get_tenant().tenant_id
    now = datetime.now(UTC)
    until = now + timedelta(days=days)
    envelope = attestation_envelope(tenant_id, model_id, prompt_hash, issued_at=now, expires_at=until)
    added = session.client.add_attestation(envelope=envelope, signature=private.sign(envelope))
    session.voice.show([added], _draw_attestations)


@decay.command(short_help="Revoke an attestation.")
@click.argument("attestation_id", metavar="ATTESTATION")
@connected
def revoke(session: CommandSession, attestation_id: str) -> None:
    """Revoke an attestation for good: jobs that need it fail from now on. For admins.

    \b
    Example:
      sidecar decay revoke 6f1c2f6e-0000-4000-8000-000000000001
    """
    session.voice.show([session.client.revoke_attestation(attestation_id=attestation_id)], _draw_attestations)


@decay.command(short_help="List attestations, newest first.")
@connected
def attestations(session: CommandSession) -> None:
    """List the tenant's attestations, newest first. For admins.

    \b
    Example:
      sidecar decay attestations
    """
    session.voice.show(session.client.list_attestations(), _draw_attestations)


def _draw_attestations(listed: Sequence[Attestation]) -> Iterator[Any]:
    yield drawing.rows(
        ("attestation", "model", "prompt", "until", "revoked"),
        (
            (
                one.attestation_id,
                one.model_id,
                one.prompt_hash[:12],
                _day(one.expire_time),
                _day(one.revoke_time),
            )
            for one in listed
        ),
        empty="No attestations.",
    )
