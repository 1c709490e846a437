"""Runs decay jobs: claims one, compresses its sources or reviews its principles, and records the outcome.

The claim is committed before the work, and the work and its outcome are one transaction: if a process dies, its job is claimed
again after the lease ends, and no summary is written twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from compiler.decay.compress import (
    ModelWords,
    SummaryToMake,
    compress_candidate_memories_with_job,
    compress_episodes_with_job,
    read_candidates,
    read_episodes,
)
from compiler.decay.summary import DecaySource
from compiler.errors import CompressionRefused, LeaseLost
from models.errors import ModelsError
from store.compile import decay_jobs
from store.compile.decay_jobs import DecayJob, DecayJobState, DecayKind, SummaryMethod
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.scope import Scope

LEASE = timedelta(minutes=2)
WITHOUT_MODEL = frozenset({SummaryMethod.DETERMINISTIC, SummaryMethod.NONE})
PRINCIPLE_DAYS = 365


@dataclass(frozen=True, slots=True)
class DecayDeps:
    """Dependencies of a runner. `new_id` makes the ids of summaries; principles are due for review after `principle_days`.

    `written` has a model write a summary of the sources, after checking that an attestation allows it; it raises
    CompressionRefused or a ModelsError. `methods` are the summary methods whose jobs are claimed, `on_end` is called with each
    job that ended. `checkpoint` is called with the name of each step, for tests that end the process there.
    """

    pool: Pool
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    role: DatabaseRole = DatabaseRole.APP
    principle_days: int = PRINCIPLE_DAYS
    methods: frozenset[SummaryMethod] = WITHOUT_MODEL
    written: Callable[[Scope, list[DecaySource]], Awaitable[ModelWords]] | None = None
    checkpoint: Callable[[str], None] = lambda _: None
    on_end: Callable[[DecayJob], None] = lambda _: None


async def run_decay_job(deps: DecayDeps, scope: Scope, job_id: UUID | None = None) -> DecayJob | None:
    """Run one job, the given or the oldest due one, and return it as it ended; None if there is none to claim.

    The job fails with the reason if its sources cannot be compressed or a model fails. Raises LeaseLost if another process
    took the job over.
    """
    now = deps.now()
    async with scoped(deps.pool, scope, role=deps.role) as connection:
        job = await decay_jobs.claim(connection, scope, deps.methods, now=now, lease_until=now + LEASE, job_id=job_id)
    if job is None:
        return None
    deps.checkpoint("claimed")
    try:
        words = await _words(deps, scope, job)
        deps.checkpoint("written")
        async with scoped(deps.pool, scope, role=deps.role) as connection:
            job = await _done(deps, connection, scope, job, words)
            if not await decay_jobs.end(connection, scope, job):
                raise LeaseLost
            deps.checkpoint("ended")
        deps.checkpoint("committed")
        deps.on_end(job)
    except (CompressionRefused, ModelsError) as error:
        why = error.detail if isinstance(error, CompressionRefused) else f"the model failed: {type(error).__name__}"
        job = replace(job, state=DecayJobState.FAILED, failure=why, ended_at=deps.now())
        async with scoped(deps.pool, scope, role=deps.role) as connection:
            if not await decay_jobs.end(connection, scope, job):
                raise LeaseLost from error
        deps.on_end(job)
    return job


async def _words(deps: DecayDeps, scope: Scope, job: DecayJob) -> ModelWords | None:
    """Return a model's summary if the job's method is LLM, else None. Holds no connection during the model's call."""
    if job.summary_method is not SummaryMethod.LLM:
        return None
    if deps.written is None:
        raise CompressionRefused("no model is configured to write the summary")
    read = read_episodes if job.kind is DecayKind.EPISODES else read_candidates
    async with scoped(deps.pool, scope, role=deps.role) as connection:
        sources, known_id = await read(connection, scope, job.source_ids)
    return None if known_id else await deps.written(scope, sources)


async def _done(
    deps: DecayDeps, connection: Connection, scope: Scope, job: DecayJob, words: ModelWords | None
) -> DecayJob:
    """Do the job's work, and return the completed job."""
    ended = replace(job, state=DecayJobState.COMPLETED, ended_at=deps.now())
    if job.kind is DecayKind.REVIEW:
        found = await decay_jobs.expired_principles(
            connection, scope, memory_ids=job.source_ids, age_days=deps.principle_days, now=deps.now()
        )
        return replace(ended, findings=tuple(found))
    compress = compress_episodes_with_job if job.kind is DecayKind.EPISODES else compress_candidate_memories_with_job
    made = SummaryToMake(deps.new_id(), deps.now(), job.job_id, words)
    summary = await compress(connection, scope, job.source_ids, made)
    return replace(ended, result_id=summary.memory_id)
