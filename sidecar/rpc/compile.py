"""The compile service: queues, shows and follows compiles, and maintains the wiki.

Converts between messages and values; the use cases are in `sidecar.services.compiles` and `upkeep`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any
from uuid import UUID

from compiler.operations.upkeep import ResetMode
from compiler.plan.contract import LinkOrigin
from sidecar.rpc.messages import compile_messages as write
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import read_choice, read_each, read_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.compiles import Compiles
from sidecar.services.memories import MAX_TEXT_CHARS
from sidecar.services.upkeep import Upkeep
from sidecar.services.validation import check_count, read_id, read_text, read_uuid
from sidecar.v1 import compile_pb2 as pb
from sidecar.v1 import wiki_pb2
from store.compile.jobs import Enqueued, JobOptions
from store.content.memories import NewMemory

MAX_RECORDS = 1_000
MAX_NAME_CHARS = 800
MAX_NAMES = 100
MOST_DIFFERENCES = 50

SERVICE = pb.DESCRIPTOR.services_by_name["CompileService"]

LONG_CALLS = frozenset(
    {"CompileNow", "WatchJob", "ResetCursor", "ExportVault", "VerifyRebuild", "BackfillLinks", "RollbackLinks"}
)

_OUTCOMES: Mapping[Enqueued, pb.CompileOutcome.ValueType] = {
    Enqueued.ENQUEUED: pb.COMPILE_OUTCOME_ENQUEUED,
    Enqueued.DEDUPED: pb.COMPILE_OUTCOME_DEDUPED,
}
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


class CompileService:
    """Queues and follows compiles, and maintains the wiki."""

    def __init__(self, compiles: Compiles, upkeep: Upkeep) -> None:
        self._compiles = compiles
        self._upkeep = upkeep

    async def compile_now(self, request: pb.CompileNowRequest, call: Call) -> pb.CompileNowResponse:
        """Queue a compile of the scope, or return the changes of its next batch. Raises FailedPrecondition."""
        scope = call.admin_scope(request)
        if request.validate_only:
            preview = await self._compiles.preview(scope, model_id=request.model_id)
            return pb.CompileNowResponse(preview=write.preview(preview))
        options = JobOptions(model_id=request.model_id, may_archive_many=request.may_archive_many)
        outcome, job = await self._compiles.start(scope, options)
        return pb.CompileNowResponse(outcome=_OUTCOMES[outcome], job=write.job(job))

    async def get_job(self, request: pb.GetJobRequest, call: Call) -> pb.GetJobResponse:
        """Return one job. Raises NotFound."""
        scope = call.scope(request)
        job = await self._compiles.job(scope, read_uuid("job_id", request.job_id))
        return pb.GetJobResponse(job=write.job(job))

    async def list_jobs(self, request: pb.ListJobsRequest, call: Call) -> pb.ListJobsResponse:
        """Return a page of the scope's jobs, newest first."""
        scope = call.scope(request)
        listing = ListCall("ListJobs", (scope,), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._compiles.jobs(scope, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda job: (job.created_at, job.job_id), write.job)
        return pb.ListJobsResponse(jobs=written, next_page_token=token)

    async def watch_job(self, request: pb.WatchJobRequest, call: Call) -> AsyncGenerator[pb.WatchJobResponse]:
        """Yield the job now and after each change, until it has ended. Raises NotFound, Stopping."""
        scope = call.scope(request)
        job_id = read_uuid("job_id", request.job_id)
        sent: pb.WatchJobResponse | None = None
        async with aclosing(self._compiles.follow(scope, job_id, call.stopping)) as looks:
            async for job in looks:
                response = pb.WatchJobResponse(job=write.job(job))
                if response != sent:
                    yield response
                    sent = response

    async def cancel_job(self, request: pb.CancelJobRequest, call: Call) -> pb.CancelJobResponse:
        """Cancel a job, and return its present state. An ended job is not changed."""
        scope = call.admin_scope(request)
        job = await self._compiles.cancel(scope, read_uuid("job_id", request.job_id))
        return pb.CancelJobResponse(job=write.job(job))

    async def list_quarantined(self, request: pb.ListQuarantinedRequest, call: Call) -> pb.ListQuarantinedResponse:
        """Return a page of the scope's quarantined memories, by id."""
        scope = call.admin_scope(request)
        listing = ListCall("ListQuarantined", (scope,), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._upkeep.quarantined(scope, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.memory_id,), write.quarantined)
        return pb.ListQuarantinedResponse(memories=written, next_page_token=token)

    async def retry_quarantined(self, request: pb.RetryQuarantinedRequest, call: Call) -> pb.RetryQuarantinedResponse:
        """Queue quarantined memories to be read again, and the compile that reads them."""
        count, job = await self._upkeep.retry(call.admin_scope(request), request.memory_ids)
        return pb.RetryQuarantinedResponse(memory_count=count, job=None if job is None else write.job(job))

    async def reset_cursor(self, request: pb.ResetCursorRequest, call: Call) -> pb.ResetCursorResponse:
        """Reset the wiki to its initial state. Raises FailedPrecondition while a job runs."""
        scope = call.admin_scope(request)
        mode = read_choice("mode", request.mode, _MODES)
        done = await self._upkeep.reset(scope, mode=mode, is_dry=request.dry_run)
        return pb.ResetCursorResponse(
            page_count=done.pages, mention_count=done.mentions, job_count=done.jobs, memory_count=done.memories
        )

    async def run_lint(self, request: pb.RunLintRequest, call: Call) -> pb.RunLintResponse:
        """Return the lint findings, and queue a compile for the held names among them."""
        return write.lint(*await self._upkeep.lint(call.admin_scope(request), is_dry=request.dry_run))

    async def backfill_links(self, request: pb.BackfillLinksRequest, call: Call) -> pb.BackfillLinksResponse:
        """Write missing deterministic links."""
        done = await self._upkeep.backfill_links(call.admin_scope(request), is_dry=request.dry_run)
        return pb.BackfillLinksResponse(
            memory_count=done.memories,
            deterministic_count=done.deterministic,
            co_mention_count=done.co_mention,
            funnel=done.funnel,
        )

    async def rollback_links(self, request: pb.RollbackLinksRequest, call: Call) -> pb.RollbackLinksResponse:
        """Remove one class of evidence."""
        scope = call.admin_scope(request)
        origin = _ORIGINS.get(request.origin)
        if origin is None:
            fix = "send DETERMINISTIC, CO_MENTION, ROLLUP, PLANNER or MANUAL"
            raise InvalidArgument("origin", "cannot be removed as a class", fix)
        done = await self._upkeep.rollback_links(
            scope, origin=origin, prefix=request.context_prefix, is_dry=request.dry_run
        )
        return pb.RollbackLinksResponse(evidence_count=done.evidence, link_count=done.links, examples=done.examples)

    async def link_density(self, request: pb.LinkDensityRequest, call: Call) -> pb.LinkDensityResponse:
        """Return the wiki's link density."""
        scope = call.scope(request)
        return write.density(await self._upkeep.density(scope))

    async def export_vault(self, request: pb.ExportVaultRequest, call: Call) -> AsyncGenerator[pb.ExportVaultResponse]:
        """Yield every active page as a file."""
        scope = call.scope(request)
        count = (await self._upkeep.density(scope)).pages
        async for path, text in self._upkeep.files(scope):
            yield pb.ExportVaultResponse(path=path, content=text, file_count=count)

    async def verify_rebuild(self, request: pb.VerifyRebuildRequest, call: Call) -> pb.VerifyRebuildResponse:
        """Replay the log into a separate wiki, and return the differences."""
        result = await self._upkeep.verify(call.admin_scope(request))
        return pb.VerifyRebuildResponse(
            is_identical=result.is_identical,
            batch_count=result.batches,
            page_count=result.pages,
            differences=result.differences[:MOST_DIFFERENCES],
            unreplayable_count=result.unreplayable,
            outdated_count=result.outdated,
            unreplayable_from=result.unreplayable_from,
            reason=result.reason,
        )

    async def bootstrap_import(self, request: pb.BootstrapImportRequest, call: Call) -> pb.BootstrapImportResponse:
        """Write journal records as memories; with the last ones, queue one compile."""
        scope = call.admin_scope(request)
        check_count("records", request.records, most=MAX_RECORDS)
        new_memories = await read_each("records", request.records, _memory, chars=lambda one: len(one.text))
        done = await self._upkeep.import_records(scope, new_memories, has_more=request.has_more)
        return pb.BootstrapImportResponse(
            created_count=done.created,
            updated_count=done.updated,
            unchanged_count=done.unchanged,
            job=None if done.job is None else write.job(done.job),
        )

    async def measure_reads(self, request: pb.MeasureReadsRequest, call: Call) -> pb.MeasureReadsResponse:
        """Return the turns' reads of the wiki and the cost of compiling it."""
        scope = call.scope(request)
        since = read_time("since_time", request.since_time) if request.HasField("since_time") else None
        return write.reads(*await self._upkeep.reads(scope, since=since))


def _memory(field: str, record: pb.JournalRecord) -> NewMemory:
    check_count(f"{field}.tags", record.tags, most=MAX_NAMES)
    tags = [read_text(f"{field}.tags", one, min_chars=1, max_chars=MAX_NAME_CHARS) for one in record.tags]
    journal_id = read_id(f"{field}.journal_id", record.journal_id, is_optional=True)
    metadata: dict[str, Any] = {}
    if record.HasField("place"):
        metadata["place"] = _place(f"{field}.place", record.place)
    if tags:
        metadata["tags"] = tags
    if journal_id:
        metadata["journal_id"] = journal_id
    happened = record.HasField("occurred_time")
    return NewMemory(
        text=read_text(f"{field}.text", record.text, min_chars=1, max_chars=MAX_TEXT_CHARS),
        memory_id=read_id(f"{field}.record_id", record.record_id),
        occurred_at=read_time(f"{field}.occurred_time", record.occurred_time) if happened else None,
        document_id=journal_id,
        metadata=metadata,
    )


def _place(field: str, message: pb.JournalPlace) -> dict[str, Any]:
    check_count(f"{field}.alternate_names", message.alternate_names, most=MAX_NAMES)
    place: dict[str, Any] = {"name": read_text(f"{field}.name", message.name, min_chars=1, max_chars=MAX_NAME_CHARS)}
    for name, value in (("city", message.city), ("address", message.address)):
        if value:
            place[name] = read_text(f"{field}.{name}", value, max_chars=MAX_NAME_CHARS)
    if message.alternate_names:
        place["alternate_names"] = [
            read_text(f"{field}.alternate_names", one, min_chars=1, max_chars=MAX_NAME_CHARS)
            for one in message.alternate_names
        ]
    return place
