"""Runs of a reprocess job whose workers are killed at random steps, to compare with an undisturbed one."""

from __future__ import annotations

import random
from dataclasses import dataclass
from uuid import UUID

from store.db.postgres import Pools, tenant_scoped
from store.ontology import reprocess_jobs
from store.ontology.reprocess_jobs import ReprocessJob
from tests.support.compiler.compiling import wiki_of
from tests.support.compiler.crashes import children, reprocess_crashing
from tests.support.compiler.governed_world import fill, owners, queue
from tests.support.compiler.ontologies import WORLD, put_in_force

LEASE_MINUTES = 5


@dataclass(frozen=True, slots=True)
class ReprocessRun:
    """What a run left: the steps at which workers were killed, the job, and each owner's wiki."""

    killed_at: tuple[str, ...]
    job: ReprocessJob
    wikis: tuple[dict[str, bytes], ...]


async def prepare(pools: Pools, dsn: str, tenant_id: UUID, pages: int) -> None:
    """Write so many pages, put an ontology in force and queue its job."""
    await fill(pools.background, dsn, tenant_id, pages)
    made = await put_in_force(pools, WORLD, tenant_id=tenant_id)
    await queue(pools.background, tenant_id, made.version)


async def run(pools: Pools, dsn: str, tenant_id: UUID, *, pages_at_once: int, longest: int = 0) -> ReprocessRun:
    """Let workers do the tenant's job, each killed within `longest` steps at the latest; 0 kills none."""
    chance, killed_at = random.Random(18), list[str]()
    while place := await _worked(
        dsn, tenant_id, len(killed_at) * LEASE_MINUTES, pages_at_once, chance.randint(2, longest) if longest else 0
    ):
        killed_at.append(place)
    async with tenant_scoped(pools.background, tenant_id, read_only=True) as connection:
        (job,) = await reprocess_jobs.page(connection, tenant_id, limit=2)
    return ReprocessRun(tuple(killed_at), job, tuple([await wiki_of(pools, scope=one) for one in owners(tenant_id)]))


async def _worked(dsn: str, tenant_id: UUID, minutes: int, pages_at_once: int, step: int) -> str:
    """Run a worker that dies at a step, and return the step's name; empty if it ended before."""
    place = (dsn, tenant_id, minutes, pages_at_once)
    return (await children.run(reprocess_crashing.work, *place, killed_at=step)).place
