"""The upkeep half of the compile service: resets, lint, links, exports, imports, and what the wiki is read for.

Only the way between messages and values stands here. What would only be looked at is done, counted and taken back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from compiler.job.compilation import Engine
from compiler.operations import lint, upkeep, vault
from compiler.operations.upkeep import ResetMode
from compiler.plan.contract import LinkOrigin
from compiler.plan.upkeep import ActRefused
from sidecar.rpc.auth.identity import require_admin, resolve_scope
from sidecar.rpc.messages import compile_messages as write
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.progress import Progress
from sidecar.rpc.transport.validation import read_choice, read_each, read_time
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument
from sidecar.services.validation import check_count, read_id, read_text
from sidecar.v1 import compile_pb2 as pb
from sidecar.v1 import wiki_pb2
from store.compile import jobs, scopes
from store.compile.jobs import Job, Trigger
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants
from store.wiki import browse
from store.wiki import upkeep as rows

MAX_RECORDS = 1_000
MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 800
MAX_NAMES = 100
MAX_PREFIX_CHARS = 300
MOST_DIFFERENCES = 50

_READ_DAYS = 30
_MODES: Mapping[int, ResetMode] = {
    pb.RESET_MODE_UNSPECIFIED: ResetMode.POLITE,
    pb.RESET_MODE_POLITE: ResetMode.POLITE,
    pb.RESET_MODE_FULL: ResetMode.FULL,
}
_ORIGINS: Mapping[int, LinkOrigin] = {
    wiki_pb2.LINK_ORIGIN_PLANNER: LinkOrigin.PLANNER,
    wiki_pb2.LINK_ORIGIN_DETERMINISTIC: LinkOrigin.DETERMINISTIC,
    wiki_pb2.LINK_ORIGIN_CO_MENTION: LinkOrigin.CO_MENTION,
    wiki_pb2.LINK_ORIGIN_ROLLUP: LinkOrigin.ROLLUP,
    wiki_pb2.LINK_ORIGIN_MANUAL: LinkOrigin.MANUAL,
}

V = TypeVar("V")


class Rebuilt(Protocol):
    """What a rebuild of the log found."""

    @property
    def is_identical(self) -> bool:
        """Whether the rebuilt wiki has the same bytes."""

    @property
    def batches(self) -> int:
        """How many batches were replayed."""

    @property
    def pages(self) -> int:
        """How many pages were compared."""

    @property
    def differences(self) -> Sequence[str]:
        """What differs, as a path and what about it."""

    @property
    def unreplayable(self) -> int:
        """How many batches could not be replayed."""

    @property
    def outdated(self) -> int:
        """How many batches other rules planned; with any, nothing was replayed."""

    @property
    def unreplayable_from(self) -> int:
        """The number of the first batch that could not be replayed as it was; 0 where all could."""

    @property
    def reason(self) -> str:
        """Why it could not."""


Verify = Callable[[Scope], Awaitable[Rebuilt]]


@dataclass(frozen=True, slots=True)
class CompileParts:
    """What the service works with: the pools, who plans a preview, what tells of progress, the time, what rebuilds the log,
    and how many bytes an owner's turns and memories may hold (0 for any number)."""

    pools: Pools
    engine: Engine
    progress: Progress
    now: Callable[[], datetime]
    verify: Verify
    quota_bytes: int = 0


class CompileUpkeep:
    """Keeps an owner's wiki in order."""

    def __init__(self, parts: CompileParts) -> None:
        self._pools = parts.pools
        self._engine = parts.engine
        self._quota_bytes = parts.quota_bytes
        self._progress = parts.progress
        self._now = parts.now
        self._verify = parts.verify

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return these methods by their names in the contract."""
        return {
            "ResetCursor": self.reset_cursor,
            "RunLint": self.run_lint,
            "BackfillLinks": self.backfill_links,
            "RollbackLinks": self.rollback_links,
            "LinkDensity": self.link_density,
            "ExportVault": self.export_vault,
            "VerifyRebuild": self.verify_rebuild,
            "BootstrapImport": self.bootstrap_import,
            "MeasureReads": self.measure_reads,
        }

    async def reset_cursor(self, request: pb.ResetCursorRequest, call: Call) -> pb.ResetCursorResponse:
        """Set the scope back. Raises FailedPrecondition while a job runs."""
        scope = self._admin(request, call)
        mode = read_choice("mode", request.mode, _MODES)
        done = await self._done(
            scope, lambda one: upkeep.reset(one, scope, mode=mode, now=self._now()), is_dry=request.dry_run
        )
        return pb.ResetCursorResponse(
            page_count=done.pages, mention_count=done.mentions, job_count=done.jobs, memory_count=done.memories
        )

    async def run_lint(self, request: pb.RunLintRequest, call: Call) -> pb.RunLintResponse:
        """Return what is amiss, and queue what can be compiled of it."""
        scope = self._admin(request, call)
        async with scoped(self._pools.background, scope, read_only=request.dry_run) as connection:
            if request.dry_run:
                report = await lint.look(connection, scope, now=self._now())
            else:
                await self._ready(connection, scope)
                report = await lint.run(connection, scope, now=self._now())
            queued = await jobs.get(connection, scope, report.job_id) if report.job_id else None
        return write.lint(report, queued)

    async def backfill_links(self, request: pb.BackfillLinksRequest, call: Call) -> pb.BackfillLinksResponse:
        """Write missing deterministic links, some memories at a time; a look takes them all at once."""
        scope = self._admin(request, call)
        if request.dry_run:
            done = await self._done(scope, lambda one: self._backfilled(one, scope), is_dry=True)
        else:
            done = upkeep.Backfill()
            while not done.is_done:
                done = done.with_more(await self._backfill_next(scope, done.reached))
        return pb.BackfillLinksResponse(
            memory_count=done.memories,
            deterministic_count=done.deterministic,
            co_mention_count=done.co_mention,
            funnel=done.funnel,
        )

    async def _backfilled(self, connection: Connection, scope: Scope) -> upkeep.Backfill:
        done = upkeep.Backfill()
        while not done.is_done:
            more = await upkeep.backfill(connection, scope, after=done.reached, now=self._now())
            done = done.with_more(more)
        return done

    async def _backfill_next(self, scope: Scope, after: int) -> upkeep.Backfill:
        async with scoped(self._pools.background, scope) as connection:
            await self._ready(connection, scope)
            return await upkeep.backfill(connection, scope, after=after, now=self._now())

    async def rollback_links(self, request: pb.RollbackLinksRequest, call: Call) -> pb.RollbackLinksResponse:
        """Take one class of evidence away."""
        scope = self._admin(request, call)
        origin = _ORIGINS.get(request.origin)
        if origin is None:
            fix = "send DETERMINISTIC, CO_MENTION, ROLLUP, PLANNER or MANUAL"
            raise InvalidArgument("origin", "is not one that can be taken away at once", fix)
        prefix = read_text("context_prefix", request.context_prefix, max_chars=MAX_PREFIX_CHARS)
        done = await self._done(
            scope,
            lambda one: upkeep.rollback(one, scope, origin=origin, prefix=prefix, now=self._now()),
            is_dry=request.dry_run,
        )
        return pb.RollbackLinksResponse(evidence_count=done.evidence, link_count=done.links, examples=done.examples)

    async def link_density(self, request: pb.LinkDensityRequest, call: Call) -> pb.LinkDensityResponse:
        """Return how dense the wiki is."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            return write.density(await rows.density(connection, scope))

    async def export_vault(self, request: pb.ExportVaultRequest, call: Call) -> AsyncGenerator[pb.ExportVaultResponse]:
        """Yield every active page as a file."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)

        def reading() -> Any:
            return scoped(self._pools.background, scope, read_only=True)

        async with reading() as connection:
            count = (await rows.density(connection, scope)).pages
        async for page, text in vault.files(reading, scope):
            yield pb.ExportVaultResponse(path=vault.path_of(page), content=text, file_count=count)

    async def verify_rebuild(self, request: pb.VerifyRebuildRequest, call: Call) -> pb.VerifyRebuildResponse:
        """Rebuild the wiki aside from its log, and return what differs."""
        scope = self._admin(request, call)
        found = await self._verify(scope)
        return pb.VerifyRebuildResponse(
            is_identical=found.is_identical,
            batch_count=found.batches,
            page_count=found.pages,
            differences=found.differences[:MOST_DIFFERENCES],
            unreplayable_count=found.unreplayable,
            outdated_count=found.outdated,
            unreplayable_from=found.unreplayable_from,
            reason=found.reason,
        )

    async def bootstrap_import(self, request: pb.BootstrapImportRequest, call: Call) -> pb.BootstrapImportResponse:
        """Write journal records as memories; queue one compile with the last of them."""
        scope = self._admin(request, call)
        check_count("records", request.records, most=MAX_RECORDS)
        given = await read_each("records", request.records, _memory, chars=lambda one: len(one.text))
        prepared = await memories.prepare(scope, given)
        now = self._now()
        async with scoped(self._pools.background, scope) as connection:
            await self._ready(connection, scope)
            retained = await memories.write(connection, scope, prepared, now=now, quota_bytes=self._quota_bytes)
            changed = retained.created_count + retained.updated_count
            job = None if request.has_more else await self._imported(connection, scope, is_new=changed > 0)
        unchanged = len({one.memory_id for one in given}) - changed
        return pb.BootstrapImportResponse(
            created_count=retained.created_count,
            updated_count=retained.updated_count,
            unchanged_count=unchanged,
            job=None if job is None else write.job(job),
        )

    async def _imported(self, connection: Connection, scope: Scope, *, is_new: bool) -> Job | None:
        """Have imported places named and the import compiled; None where everything has been read already."""
        now = self._now()
        await upkeep.queue_place_names(connection, scope, now=now)
        await scopes.mark_dirty(connection, scope, now=now)
        row = await scopes.read(connection, scope)
        if not is_new and row is not None and row.is_caught_up:
            return None
        ticket = await jobs.enqueue(connection, scope, trigger=Trigger.BOOTSTRAP_IMPORT.value, now=now)
        return await jobs.get(connection, scope, ticket.job_id) if ticket.job_id else None

    async def measure_reads(self, request: pb.MeasureReadsRequest, call: Call) -> pb.MeasureReadsResponse:
        """Return what turns read of the wiki beside what compiling it cost."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        since = self._now() - timedelta(days=_READ_DAYS)
        if request.HasField("since_time"):
            since = read_time("since_time", request.since_time)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            found = await rows.reads(connection, scope, since=since)
            pages = [await browse.page(connection, scope, page_id) for page_id in found.by_page]
        return write.reads(found, {page.page_id: page for page in pages if page is not None})

    def _admin(self, request: Any, call: Call) -> Scope:
        require_admin(call.identity)
        return resolve_scope(call.identity, request.tenant_id, request.owner_id)

    async def _ready(self, connection: Connection, scope: Scope) -> None:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=self._now())
        await is_compiled(connection, scope)

    async def _done(self, scope: Scope, act: Callable[[Connection], Awaitable[V]], *, is_dry: bool) -> V:
        """Return what an act did; a look is taken back. Raises FailedPrecondition."""
        try:
            async with scoped(self._pools.background, scope) as connection:
                await self._ready(connection, scope)
                result = await act(connection)
                if is_dry:
                    raise _TakenBack(result)
        except _TakenBack as looked:
            found: V = looked.result
            return found
        except ActRefused as error:
            raise FailedPrecondition(error.subject, error.problem) from error
        return result


class _TakenBack(Exception):
    """Ends a transaction that only looked."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


async def is_compiled(connection: Connection, scope: Scope) -> None:
    """Raise FailedPrecondition where the tenant's compile is off."""
    if not await jobs.is_enabled(connection, scope):
        raise FailedPrecondition("wiki_compile_enabled", "is off for this tenant; switch its compile on first")


def _memory(field: str, given: pb.JournalRecord) -> NewMemory:
    check_count(f"{field}.tags", given.tags, most=MAX_NAMES)
    tags = [read_text(f"{field}.tags", one, min_chars=1, max_chars=MAX_NAME_CHARS) for one in given.tags]
    journal_id = read_id(f"{field}.journal_id", given.journal_id, is_optional=True)
    metadata: dict[str, Any] = {}
    if given.HasField("place"):
        metadata["place"] = _place(f"{field}.place", given.place)
    if tags:
        metadata["tags"] = tags
    if journal_id:
        metadata["journal_id"] = journal_id
    happened = given.HasField("occurred_time")
    return NewMemory(
        text=read_text(f"{field}.text", given.text, min_chars=1, max_chars=MAX_TEXT_CHARS),
        memory_id=read_id(f"{field}.record_id", given.record_id),
        occurred_at=read_time(f"{field}.occurred_time", given.occurred_time) if happened else None,
        document_id=journal_id,
        metadata=metadata,
    )


def _place(field: str, given: pb.JournalPlace) -> dict[str, Any]:
    check_count(f"{field}.alternate_names", given.alternate_names, most=MAX_NAMES)
    place: dict[str, Any] = {"name": read_text(f"{field}.name", given.name, min_chars=1, max_chars=MAX_NAME_CHARS)}
    for name, value in (("city", given.city), ("address", given.address)):
        if value:
            place[name] = read_text(f"{field}.{name}", value, max_chars=MAX_NAME_CHARS)
    if given.alternate_names:
        place["alternate_names"] = [
            read_text(f"{field}.alternate_names", one, min_chars=1, max_chars=MAX_NAME_CHARS)
            for one in given.alternate_names
        ]
    return place
