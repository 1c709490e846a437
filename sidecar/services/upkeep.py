"""Maintenance of a wiki: resets, lint, links, exports, imports, the quarantine, and the reads of pages compared with their cost.

Every method opens its own transaction. With `is_dry`, an operation is run, counted and rolled back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from compiler.job.compilation import Engine
from compiler.operations import lint, upkeep, vault
from compiler.operations.lint import LintFindings
from compiler.operations.replay import ReplayedLog, replay
from compiler.operations.upkeep import Backfill, Reset, ResetMode, Rollback
from compiler.plan.contract import LinkOrigin
from compiler.plan.upkeep import ActRefused
from compiler.releases import releasing
from sidecar.runtime.errors import FailedPrecondition
from sidecar.services.compiles import check_compiled, start_compile
from sidecar.services.supersessions.writing import write_memories
from sidecar.services.validation import check_count, read_id, read_text
from store.compile import jobs, overview, scopes
from store.compile.jobs import Job, Trigger
from store.compile.overview import MOST_RETRIED, Cited, QuarantinedRow
from store.content import memories
from store.content.memories import NewMemory
from store.content.storage import NO_LIMITS, StorageLimits
from store.db.postgres import Pools, Transaction, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse
from store.wiki import upkeep as rows
from store.wiki.browse import PageRow
from store.wiki.upkeep import Density, Reads

MAX_PREFIX_CHARS = 300
MAX_TURNS_MEASURED = 500

_READ_DAYS = 30
_PAGES_SHOWN = 50
_IDLE_SHOWN = 10

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Imported:
    """The numbers of records that an import created, updated and left unchanged, and the compile job if one was queued."""

    created: int
    updated: int
    unchanged: int
    job: Job | None


@dataclass(frozen=True, slots=True)
class Worth:
    """A page with the number of turns that read it, of answers that used it, and its share of the compile cost."""

    page: PageRow
    reads: int
    uses: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class ReadsAgainstCost:
    """The turns' reads since an instant: the most read pages, and the most expensive pages that no turn read.

    With `is_cut`, the newest 500 turns begin at that instant, which is less than a month ago.
    """

    since: datetime
    is_cut: bool
    reads: Reads
    cited: Cited
    rows: Sequence[Worth]
    idle: Sequence[Worth]


class Upkeep:
    """Maintains an owner's wiki; `now` returns the time of an operation.

    Methods that write raise FailedPrecondition if the tenant's compile is off.
    """

    def __init__(
        self, pools: Pools, engine: Engine, *, now: Callable[[], datetime], limits: StorageLimits = NO_LIMITS
    ) -> None:
        self._pool = pools.background
        self._engine = engine
        self._now = now
        self._limits = limits

    async def reset(self, scope: Scope, *, mode: ResetMode, is_dry: bool) -> Reset:
        """Reset the wiki to its initial state. Raises FailedPrecondition while a job runs."""
        return await self._done(scope, lambda one: upkeep.reset(one, scope, mode=mode, now=self._now()), is_dry=is_dry)

    async def lint(self, scope: Scope, *, is_dry: bool) -> tuple[LintFindings, Job | None]:
        """Return the lint findings, and the job queued for the held names among them."""
        async with scoped(self._pool, scope, read_only=is_dry) as connection:
            if is_dry:
                report = await lint.look(connection, scope, now=self._now())
            else:
                await check_compiled(connection, scope, now=self._now())
                report = await lint.run(connection, scope, now=self._now())
            return report, await jobs.get(connection, scope, report.job_id) if report.job_id else None

    async def backfill_links(self, scope: Scope, *, is_dry: bool) -> Backfill:
        """Write missing deterministic links, for some memories per transaction; a dry run uses one transaction for all."""
        if is_dry:
            return await self._done(scope, partial(self._backfill_all, scope), is_dry=True)
        done = Backfill()
        while not done.is_done:
            done = await self._done(scope, partial(self._backfill_more, scope, done), is_dry=False)
        return done

    async def _backfill_all(self, scope: Scope, connection: Connection) -> Backfill:
        done = Backfill()
        while not done.is_done:
            done = await self._backfill_more(scope, done, connection)
        return done

    async def _backfill_more(self, scope: Scope, done: Backfill, connection: Connection) -> Backfill:
        return done.with_more(await upkeep.backfill(connection, scope, after=done.reached, now=self._now()))

    async def rollback_links(self, scope: Scope, *, origin: LinkOrigin, prefix: str, is_dry: bool) -> Rollback:
        """Remove one class of evidence whose context begins with a prefix of up to 300 characters."""
        read_text("context_prefix", prefix, max_chars=MAX_PREFIX_CHARS)
        return await self._done(
            scope,
            lambda one: upkeep.rollback(one, scope, origin=origin, prefix=prefix, now=self._now()),
            is_dry=is_dry,
        )

    async def density(self, scope: Scope) -> Density:
        """Return the wiki's density."""
        async with self._reading(scope) as connection:
            return await rows.density(connection, scope)

    async def files(self, scope: Scope) -> AsyncGenerator[tuple[str, str]]:
        """Yield every active page as a file: its path, and its text."""
        async for page, text in vault.files(lambda: self._reading(scope), scope):
            yield vault.path_of(page), text

    async def verify(self, scope: Scope) -> ReplayedLog:
        """Replay the log into a separate wiki, and return the differences."""
        return await replay(self._engine, self._pool, scope)

    async def import_records(self, scope: Scope, records: Sequence[NewMemory], *, has_more: bool) -> Imported:
        """Write records of a journal as memories; with the last ones, queue one compile.

        Raises QuotaExceeded, TooManyMemories, and InvalidArgument if the pinned ones would take more than 300 tokens.
        """
        prepared = await memories.prepare(scope, records)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await check_compiled(connection, scope, now=now)
            retained = await write_memories(connection, scope, prepared, self._limits, now=now, field="records")
            changed = retained.created_count + retained.updated_count
            await releasing.announce(connection, scope, now=now)
            job = None if has_more else await self._compiled(connection, scope, is_new=changed > 0)
        unchanged = len({one.memory_id for one in records}) - changed
        return Imported(retained.created_count, retained.updated_count, unchanged, job)

    async def _compiled(self, connection: Connection, scope: Scope, *, is_new: bool) -> Job | None:
        """Store the names of imported places and queue the compile; None if all memories have been read already."""
        now = self._now()
        await upkeep.queue_place_names(connection, scope, now=now)
        await scopes.mark_dirty(connection, scope, now=now)
        row = await scopes.read(connection, scope)
        if not is_new and row is not None and row.is_caught_up:
            return None
        _, job = await start_compile(connection, scope, trigger=Trigger.BOOTSTRAP_IMPORT, now=now)
        return job

    async def quarantined(self, scope: Scope, *, limit: int, after: str = "") -> list[QuarantinedRow]:
        """Return up to `limit` memories in quarantine, by id, with the first 400 characters of each."""
        async with self._reading(scope) as connection:
            return await overview.quarantined(connection, scope, limit=limit, after=after)

    async def quarantine_reasons(self, scope: Scope) -> dict[str, int]:
        """Return the number of quarantined memories by reason, the most frequent first."""
        async with self._reading(scope) as connection:
            return await overview.quarantine_reasons(connection, scope)

    async def retry(self, scope: Scope, memory_ids: Sequence[str] = ()) -> tuple[int, Job | None]:
        """Queue quarantined memories to be read again (the first 1,000 if none is named), and the compile that reads them.

        Return the number of memories and the compile job; without memories, no compile is queued.
        """
        check_count("memory_ids", memory_ids, most=MOST_RETRIED)
        named, now = [read_id("memory_ids", one) for one in memory_ids], self._now()
        async with scoped(self._pool, scope) as connection:
            await check_compiled(connection, scope, now=now)
            count = await overview.retry(connection, scope, named, now=now)
            if not count:
                return 0, None
            _, job = await start_compile(connection, scope, trigger=Trigger.ADMIN, now=now)
        return count, job

    async def reads(self, scope: Scope, *, since: datetime | None) -> tuple[Reads, dict[UUID, PageRow]]:
        """Return the turns' reads since an instant (by default a month ago) with the compile cost, and the pages read."""
        since = since or self._now() - timedelta(days=_READ_DAYS)
        async with self._reading(scope) as connection:
            found = await rows.reads(connection, scope, since=since)
            pages = [await browse.page(connection, scope, page_id) for page_id in found.by_page]
        return found, {page.page_id: page for page in pages if page is not None}

    async def reads_against_cost(self, scope: Scope) -> ReadsAgainstCost:
        """Return the 50 most read pages of the newest turns (500, or a month's), and the 10 most expensive unread ones."""
        month = self._now() - timedelta(days=_READ_DAYS)
        async with self._reading(scope) as connection:
            oldest = await overview.instant_of_turn(connection, scope, MAX_TURNS_MEASURED)
            since = max(month, oldest) if oldest else month
            reads = await rows.reads(connection, scope, since=since)
            most = sorted(reads.by_page, key=lambda one: (-reads.by_page[one][0], -reads.by_page[one][1], one))
            most = most[:_PAGES_SHOWN]
            cited = await overview.cited_since(connection, scope, since=since, page_ids=most, limit=_PAGES_SHOWN)
            unread = [one for one in cited.by_page if one not in reads.by_page]
            return ReadsAgainstCost(
                since,
                since == oldest,
                reads,
                cited,
                await _worths(connection, scope, reads, cited, most),
                await _worths(connection, scope, reads, cited, unread[:_IDLE_SHOWN]),
            )

    def _reading(self, scope: Scope) -> Transaction:
        return scoped(self._pool, scope, read_only=True)

    async def _done(self, scope: Scope, act: Callable[[Connection], Awaitable[V]], *, is_dry: bool) -> V:
        """Return the effect of an operation; a dry run is rolled back. Raises FailedPrecondition."""
        try:
            async with scoped(self._pool, scope) as connection:
                await check_compiled(connection, scope, now=self._now())
                result = await act(connection)
                if is_dry:
                    raise _RolledBack(result)
        except _RolledBack as looked:
            found: V = looked.result
            return found
        except ActRefused as error:
            raise FailedPrecondition(error.subject, error.problem) from error
        return result


class _RolledBack(Exception):
    """Rolls back the transaction of a dry run."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


async def _worths(
    connection: Connection, scope: Scope, reads: Reads, cited: Cited, page_ids: Sequence[UUID]
) -> list[Worth]:
    """Return pages with their reads, and their share of the cost in proportion to the memories that they newly cite."""
    worths = []
    for page_id in page_ids:
        row = await browse.page(connection, scope, page_id)
        if row is None:
            continue
        share = cited.by_page.get(row.page_id, 0) / cited.whole if cited.whole else 0.0
        read, used = reads.by_page.get(row.page_id, (0, 0))
        worths.append(Worth(row, read, used, reads.cost_usd * share if cited.whole else None))
    return worths
