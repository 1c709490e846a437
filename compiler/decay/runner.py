"""Runs decay jobs: claims one, compresses its sources, and records the outcome.

The claim is committed before the work, and the work and its outcome are one transaction: a process that dies leaves the job to
be claimed again when its lease ends, and no summary is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from compiler.decay.compress import compress_candidate_memories_with_job
from compiler.errors import CompressionRefused, LeaseLost
from store.compile import decay_jobs
from store.compile.decay_jobs import DecayJob, DecayJobState
from store.db.postgres import Pool, scoped
from store.scope import Scope

LEASE = timedelta(minutes=1)


async def run_decay_job(
    pool: Pool, scope: Scope, *, now: Callable[[], datetime], new_id: Callable[[], str], job_id: UUID | None = None
) -> DecayJob | None:
    """Run one job: the given one, or the oldest that is due. None if there is none to claim.

    Sources that cannot be compressed fail the job with the reason. Raises LeaseLost if another process took the job over.
    """
    async with scoped(pool, scope) as connection:
        job = await decay_jobs.claim(connection, scope, now=now(), lease_until=now() + LEASE, job_id=job_id)
    if job is None:
        return None
    try:
        async with scoped(pool, scope) as connection:
            made = await compress_candidate_memories_with_job(
                connection, scope, job.source_ids, new_id(), job.job_id, now=now()
            )
            job = replace(job, state=DecayJobState.COMPLETED, result_id=made.memory_id, ended_at=now())
            if not await decay_jobs.end(connection, scope, job):
                raise LeaseLost
    except CompressionRefused as error:
        job = replace(job, state=DecayJobState.FAILED, failure=error.detail, ended_at=now())
        async with scoped(pool, scope) as connection:
            await decay_jobs.end(connection, scope, job)
    return job
