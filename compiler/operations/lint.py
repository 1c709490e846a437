"""The nightly lint of a wiki: its defects, and held names seen often enough to get a page.

It repairs nothing in the wiki except its stored count of pages. The ids of these names are passed on in a compile job, so that
they get pages even without new memories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from compiler.job.reconciliation import RECONCILIATION
from compiler.plan.bounds import SECTION_CHARS
from compiler.plan.version import RULES
from store.compile import background, batches, jobs, scopes
from store.compile.jobs import JobOptions, Trigger
from store.db.postgres import DatabaseRole, Pool, installation, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import upkeep
from store.wiki.pages import keep_page_count
from store.wiki.upkeep import LintFinding, Measures

KIND = "lint"
STALE_AFTER = timedelta(days=90)
RIPE_WITHIN = timedelta(days=30)
LEAST_SIGHTINGS = 3
EVERY = timedelta(hours=24)

_AT_ONCE = 500
_OUTDATED = "{} batches were planned by other rules; `sidecar wiki rebuild --full` makes the pages by these"


@dataclass(frozen=True, slots=True)
class LintFindings:
    """The findings, at most 100 of a kind; the count of each kind; and the job for names due for a page, if one was queued."""

    findings: tuple[LintFinding, ...]
    counts: Mapping[str, int]
    job_id: UUID | None = None


def measures(now: datetime) -> Measures:
    """Return the thresholds at a given time: 90 days, 8,000 characters, three sightings within 30 days."""
    return Measures(now - STALE_AFTER, SECTION_CHARS, now - RIPE_WITHIN, LEAST_SIGHTINGS)


async def look(connection: Connection, scope: Scope, *, now: datetime) -> LintFindings:
    """Return the findings; nothing is written or queued."""
    found = await upkeep.findings(connection, scope, measures(now))
    if outdated := await batches.planned_otherwise(connection, scope, RULES):
        found.append(LintFinding("other_rules", f"rules {RULES}", _OUTDATED.format(outdated), outdated))
    return LintFindings(tuple(found), {one.kind: one.found for one in found})


async def run(connection: Connection, scope: Scope, *, now: datetime) -> LintFindings:
    """Return and record the findings, recount the pages, and queue a compile of the names due for a page."""
    await scopes.lock(connection, scope, now=now)
    await keep_page_count(connection, scope)
    report = await look(connection, scope, now=now)
    await upkeep.record_lint(connection, scope, now=now)
    ripe = tuple(sorted(str(one.ref) for one in report.findings if one.ref is not None))
    if not ripe:
        return report
    options = JobOptions(mention_ids=ripe)
    ticket = await jobs.enqueue(connection, scope, trigger=Trigger.LINT.value, options=options, now=now)
    return LintFindings(report.findings, report.counts, ticket.job_id)


async def handle(pool: Pool, now: Callable[[], datetime], scope: Scope, subject: str) -> None:
    """Run the nightly lint as a background job."""
    async with scoped(pool, scope, role=DatabaseRole.WORKER) as connection:
        await run(connection, scope, now=now())


async def queue_due(pool: Pool, *, now: datetime) -> int:
    """Queue lint and reconciliation for every scope without a lint in the last day, and return the number of scopes."""
    async with installation(pool, role=DatabaseRole.WORKER) as connection:
        due = await upkeep.scopes_due_lint(connection, before=now - EVERY, limit=_AT_ONCE)
    for scope in due:
        async with scoped(pool, scope, role=DatabaseRole.WORKER) as connection:
            await background.enqueue(connection, scope, KIND, "", now=now)
            await background.enqueue(connection, scope, RECONCILIATION, "", now=now)
    return len(due)
