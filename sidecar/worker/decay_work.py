"""Background work for ageing memories: runs due decay jobs, and makes episodes of threads whose session ended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from compiler.decay.compress import ModelWords
from compiler.decay.model_summary import SummaryModel, written
from compiler.decay.runner import DecayDeps, run_decay_job
from compiler.decay.summary import DecaySource
from compiler.errors import CompressionRefused, LeaseLost
from sidecar.runtime import language_models
from sidecar.runtime.settings import Settings
from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import KIND, new_summary_id
from sidecar.services.aging.episodes import Episodes
from sidecar.services.day_ceiling import DayCeiling
from sidecar.services.threads import EPISODES_KIND
from store.compile import background, decay_jobs
from store.compile.decay_jobs import SummaryMethod
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope

log = logging.getLogger(__name__)

_LEAST_WAIT = timedelta(seconds=1)


async def run_due_jobs(deps: DecayDeps, scope: Scope, subject: str) -> None:
    """Run the owner's due decay jobs, and queue a check for the time when the next one is due."""
    try:
        while (job := await run_decay_job(deps, scope)) is not None:
            log.info("decay_job_ended", extra={"kind": job.kind.value, "state": job.state.value})
    except LeaseLost:
        log.warning("decay_lease_lost")
    now = deps.now()
    async with scoped(deps.pool, scope, role=deps.role) as connection:
        if (due := await decay_jobs.next_due(connection, scope)) is not None:
            not_before = max(due, now + _LEAST_WAIT)
            await background.enqueue(connection, scope, KIND, subject, now=now, not_before=not_before)


async def make_episodes(deps: DecayDeps, episodes: Episodes, scope: Scope, thread_id: str) -> None:
    """Make the episodes of a thread, and queue a check for the time when its open session would end."""
    made = await episodes.remake(scope, thread_id)
    if made.next_at is not None:
        now = deps.now()
        async with scoped(deps.pool, scope, role=deps.role) as connection:
            not_before = max(made.next_at, now + _LEAST_WAIT)
            await background.enqueue(connection, scope, EPISODES_KIND, thread_id, now=now, not_before=not_before)


@asynccontextmanager
async def decay_deps(settings: Settings, pool: Pool, *, now: Callable[[], datetime]) -> AsyncIterator[DecayDeps]:
    """Yield a worker's dependencies for decay jobs of every method. Raises SettingInvalid."""
    deps = DecayDeps(
        pool,
        now,
        lambda: new_summary_id(now()),
        role=DatabaseRole.WORKER,
        principle_days=settings.decay_principle_days,
        methods=frozenset(SummaryMethod),
    )
    attestations = Attestations.of_settings(settings, pool, now=now, role=DatabaseRole.WORKER)
    model = language_models.made(settings, "SIDECAR_DECAY_SUMMARIES", settings.decay_summaries)
    if model is None:
        yield deps
        return
    writer = AttestedWriter(
        SummaryModel(model, settings.bedrock_model_id),
        attestations,
        DayCeiling.of_settings(settings, pool, now=now, work="decay_summary"),
    )
    try:
        yield replace(deps, written=writer.written)
    finally:
        await model.close()


@dataclass(frozen=True, slots=True)
class AttestedWriter:
    """Writes summaries with a model if an attestation allows it, until the tenant's daily ceiling is reached."""

    model: SummaryModel
    attestations: Attestations
    ceiling: DayCeiling

    async def written(self, scope: Scope, sources: list[DecaySource]) -> ModelWords:
        """Return the summary. Raises CompressionRefused without an attestation or beyond the limit, or a ModelsError."""
        await self.attestations.check(scope)
        if await self.ceiling.is_reached(scope):
            raise CompressionRefused("the tenant's daily limit on model calls is reached")
        return await written(self.model, sources, partial(self.ceiling.count, scope))
