"""Decay jobs: schedules, runs, cancels and lists them, and previews the groups that a policy would compress.

Every method opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from secrets import randbits
from uuid import UUID, uuid4

from compiler.decay.compress import MAX_SOURCES
from compiler.decay.policy import DecayGroup, DecayPolicy, groups
from compiler.decay.runner import DecayDeps, run_decay_job
from compiler.decay.summary import ulid
from compiler.errors import CompressionRefused, LeaseLost
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound, SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.services.aging.attestations import Attestations
from sidecar.services.validation import check_count, read_id
from store.compile import background, decay_jobs
from store.compile.decay_jobs import DecayJob, DecayJobState, DecayKind, SummaryMethod
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants

KIND = "decay"
MAX_AGED = 10_000
MAX_DAYS = 36_500
MAX_COUNT = 1_000_000


@dataclass(frozen=True, slots=True)
class DecayOrder:
    """A request to schedule decay: one job of `kind` for the given sources, or one for each group of the policy."""

    policy: DecayPolicy
    kind: DecayKind | None = None
    method: SummaryMethod = SummaryMethod.DETERMINISTIC
    source_ids: tuple[str, ...] = ()
    due_at: datetime | None = None


class Decay:
    """Schedules and runs decay jobs. `policy` is that of the settings; principles are due for review after `principle_days`.

    `on_job_end` is called with each job that ended in this process.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        attestations: Attestations,
        policy: DecayPolicy | None = None,
        principle_days: int = 365,
        on_job_end: Callable[[DecayJob], None] = lambda _: None,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._attestations = attestations
        self._deps = DecayDeps(
            pools.background, now, lambda: new_summary_id(now()), principle_days=principle_days, on_end=on_job_end
        )
        self.policy = policy or DecayPolicy()

    async def explain(self, scope: Scope, policy: DecayPolicy) -> list[DecayGroup]:
        """Return the groups of the 10,000 oldest candidates that the policy would compress; nothing is written."""
        _check_policy(policy)
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await found_groups(connection, scope, policy, now=self._now())

    async def schedule(self, scope: Scope, order: DecayOrder) -> list[DecayJob]:
        """Queue the jobs of an order, and return them; a worker runs them when they are due.

        Each job keeps a copy of its sources, policy and inputs. A candidate is in at most one waiting job.
        Raises FailedPrecondition for a summary by a model that no attestation allows.
        """
        if order.method is SummaryMethod.LLM:
            await self._check_attested(scope)
        now = self._now()
        due_at = order.due_at or now
        jobs = await self._jobs(scope, order, now, due_at)
        async with scoped(self._pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            for job in jobs:
                await decay_jobs.insert(connection, scope, job)
            if jobs:
                await background.enqueue(connection, scope, KIND, str(jobs[0].job_id), now=now, not_before=due_at)
        return jobs

    async def run(self, scope: Scope, job_id: UUID | None = None) -> DecayJob | None:
        """Run the given job, or the oldest one that is due, and return it; None if there is none to run.

        An ended job is returned unchanged. Raises NotFound for an unknown job, and FailedPrecondition for a job whose summary a
        model writes: only workers run those.
        """
        try:
            job = await run_decay_job(self._deps, scope, job_id)
        except LeaseLost:  # another process took the job over and ends it
            job = None
        if job is not None or job_id is None:
            return job
        known = await self._get(scope, job_id)
        if known.summary_method is SummaryMethod.LLM and known.state is DecayJobState.PENDING:
            raise FailedPrecondition("job_id", "a model writes its summary; only a worker runs it, once it is due")
        return known

    async def cancel(self, scope: Scope, job_id: UUID) -> DecayJob:
        """Cancel a job that has not started; repeating is no error. Raises NotFound, and FailedPrecondition for other jobs."""
        async with scoped(self._pool, scope) as connection:
            await decay_jobs.cancel(connection, scope, job_id, now=self._now())
        known = await self._get(scope, job_id)
        if known.state is not DecayJobState.CANCELLED:
            raise FailedPrecondition("job_id", f"the job is {known.state}; only pending ones are cancelled")
        return known

    async def page(self, scope: Scope, *, limit: int, before: tuple[datetime, UUID] | None = None) -> list[DecayJob]:
        """Return up to `limit` decay jobs, newest first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await decay_jobs.page(connection, scope, limit=limit, before=before)

    async def _get(self, scope: Scope, job_id: UUID) -> DecayJob:
        async with scoped(self._pool, scope, read_only=True) as connection:
            known = await decay_jobs.get(connection, scope, job_id)
        if known is None:
            raise NotFound("decay job")
        return known

    async def _jobs(self, scope: Scope, order: DecayOrder, now: datetime, due_at: datetime) -> list[DecayJob]:
        if order.kind is not None:
            return [_ordered(order, now, due_at)]
        return jobs_of(await self.explain(scope, order.policy), order, now, due_at)

    async def _check_attested(self, scope: Scope) -> None:
        try:
            await self._attestations.check(scope)
        except CompressionRefused as error:
            raise FailedPrecondition("summary_method", error.detail) from error


async def found_groups(connection: Connection, scope: Scope, policy: DecayPolicy, *, now: datetime) -> list[DecayGroup]:
    """Return the groups of the owner's 10,000 oldest candidates that the policy would compress."""
    before, since = now - timedelta(days=policy.age_days), now - timedelta(days=policy.read_days)
    aged = await decay_jobs.aged_candidates(connection, scope, before=before, reads_since=since, limit=MAX_AGED)
    return groups(aged, policy)


def jobs_of(groups: Iterable[DecayGroup], order: DecayOrder, now: datetime, due_at: datetime) -> list[DecayJob]:
    """Return a job for each group, with a copy of the policy and its inputs."""
    return [
        DecayJob(
            uuid4(),
            group.source_ids,
            now,
            due_at,
            policy={**asdict(order.policy), "inputs": [asdict(an_input) for an_input in group.inputs]},
            summary_method=order.method,
        )
        for group in groups
    ]


def decay_policy(settings: Settings) -> DecayPolicy:
    """Return the policy of the settings. Raises SettingInvalid for a value out of bounds."""
    policy = DecayPolicy(
        settings.decay_age_days,
        settings.decay_most_sources,
        settings.decay_most_salience,
        settings.decay_most_reads,
        settings.decay_read_days,
        settings.decay_most_share,
    )
    try:
        _check_policy(policy)
    except InvalidArgument as error:
        raise SettingInvalid(f"SIDECAR_DECAY_{error.field.upper()}", error.problem, error.fix) from error
    return policy


def new_summary_id(now: datetime) -> str:
    """Return the id of a new summary: a ULID with this time."""
    return ulid(now, randbits(80))


def _ordered(order: DecayOrder, now: datetime, due_at: datetime) -> DecayJob:
    assert order.kind is not None
    is_review = order.kind is DecayKind.REVIEW
    check_count("source_ids", order.source_ids, most=MAX_SOURCES)
    for place, source_id in enumerate(order.source_ids):
        read_id(f"source_ids[{place}]", source_id)
    if not is_review and len(set(order.source_ids)) < 2:
        raise InvalidArgument("source_ids", "has fewer than two different sources", f"send 2 to {MAX_SOURCES}")
    method = SummaryMethod.NONE if is_review else order.method
    return DecayJob(uuid4(), order.source_ids, now, due_at, kind=order.kind, summary_method=method)


def _check_policy(policy: DecayPolicy) -> None:
    bounds = {
        "age_days": (0, MAX_DAYS),
        "most_sources": (2, MAX_SOURCES),
        "most_salience": (0, MAX_COUNT),
        "most_reads": (0, MAX_COUNT),
        "read_days": (0, MAX_DAYS),
        "most_share": (0, 100),
    }
    for name, (least, most) in bounds.items():
        if not least <= getattr(policy, name) <= most:
            raise InvalidArgument(name, f"is {getattr(policy, name)}", f"send {least} to {most}")
