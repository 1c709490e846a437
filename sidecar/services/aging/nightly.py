"""Nightly decay: schedules the jobs of the policy once per owner and day, without a caller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from compiler.decay.policy import DecayPolicy
from sidecar.services.aging.decay import KIND, DecayOrder, found_groups, jobs_of
from store.compile import background, decay_jobs
from store.db.postgres import DatabaseRole, Pool, installation, scoped
from store.scope import Scope

NIGHTLY_KIND = "nightly_decay"

_AT_ONCE = 500


class NightlyDecay:
    """Queues a check of each owner with aged candidates, and schedules the decay jobs that the policy finds.

    A day is a UTC day. Sources, policy and inputs are frozen in the jobs, as in jobs that a caller schedules.
    """

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], policy: DecayPolicy) -> None:
        self._pool = pool
        self._now = now
        self._policy = policy

    async def queue_due(self) -> int:
        """Queue a check of up to 500 owners that had none today, and return the number of owners."""
        now = self._now()
        before = now - timedelta(days=self._policy.age_days)
        async with installation(self._pool, role=DatabaseRole.WORKER) as connection:
            due = await decay_jobs.owners_due_decay(connection, before=before, day=now.date(), limit=_AT_ONCE)
        for scope in due:
            async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
                await background.enqueue(connection, scope, NIGHTLY_KIND, "", now=now)
        return len(due)

    async def schedule(self, scope: Scope, subject: str) -> None:
        """Schedule the jobs of the policy once a day: the jobs and the day are written in one transaction."""
        now = self._now()
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            if not await decay_jobs.begin_day(connection, scope, now.date()):
                return
            groups = await found_groups(connection, scope, self._policy, now=now)
            jobs = jobs_of(groups, DecayOrder(self._policy), now, now)
            for job in jobs:
                await decay_jobs.insert(connection, scope, job)
            if jobs:
                await background.enqueue(connection, scope, KIND, str(jobs[0].job_id), now=now)
