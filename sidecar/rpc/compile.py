"""The compile service: queues compiles, shows and cancels them, and follows one as it goes.

Only the way between messages and values stands here; what a compile does is the compiler's business.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from uuid import UUID

from compiler.operations.preview import preview
from compiler.state.access import PooledAccess
from sidecar.rpc.auth.identity import resolve_scope
from sidecar.rpc.compile_quarantine import CompileQuarantine
from sidecar.rpc.compile_upkeep import CompileParts, is_compiled
from sidecar.rpc.messages import compile_messages as write
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.progress import moved_or_stopping
from sidecar.runtime.errors import FailedPrecondition, NotFound, Stopping
from sidecar.services.validation import read_id, read_uuid
from sidecar.v1 import compile_pb2 as pb
from store.compile import jobs
from store.compile.jobs import Enqueued, Job, JobOptions, JobStatus, Trigger
from store.db.postgres import scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants

__all__ = ["LONG_CALLS", "SERVICE", "CompileParts", "CompileService"]

SERVICE = pb.DESCRIPTOR.services_by_name["CompileService"]

LONG_CALLS = frozenset(
    {"CompileNow", "WatchJob", "ResetCursor", "ExportVault", "VerifyRebuild", "BackfillLinks", "RollbackLinks"}
)

_OUTCOMES: Mapping[Enqueued, pb.CompileOutcome.ValueType] = {
    Enqueued.ENQUEUED: pb.COMPILE_OUTCOME_ENQUEUED,
    Enqueued.DEDUPED: pb.COMPILE_OUTCOME_DEDUPED,
}
_NO_MODELS = "names a model, but SIDECAR_COMPILE_PLANNER is extractive: leave it out, or set that to what has the model"
_UNDER_WAY = frozenset({JobStatus.PENDING, JobStatus.RUNNING})


class CompileService(CompileQuarantine):
    """Queues compiles and follows them, and keeps the wiki in order."""

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "CompileNow": self.compile_now,
            "GetJob": self.get_job,
            "ListJobs": self.list_jobs,
            "WatchJob": self.watch_job,
            "CancelJob": self.cancel_job,
            **super().behaviours,
        }

    async def compile_now(self, request: pb.CompileNowRequest, call: Call) -> pb.CompileNowResponse:
        """Queue a compile of the scope, or return what its next batch would change. Raises FailedPrecondition."""
        scope = self._admin(request, call)
        model_id = read_id("model_id", request.model_id, is_optional=True)
        if model_id and not self._engine.has_models:
            raise FailedPrecondition("model_id", _NO_MODELS)
        async with scoped(self._pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=self._now())
            await is_compiled(connection, scope)
            if not request.validate_only:
                options = JobOptions(model_id=model_id, may_archive_many=request.may_archive_many)
                return await self._queued(connection, scope, options)
        found = await preview(self._engine, PooledAccess(self._pools.background, scope), model_id=model_id)
        return pb.CompileNowResponse(preview=write.preview(found))

    async def _queued(self, connection: Connection, scope: Scope, options: JobOptions) -> pb.CompileNowResponse:
        ticket = await jobs.enqueue(connection, scope, trigger=Trigger.ADMIN.value, options=options, now=self._now())
        job = await jobs.get(connection, scope, ticket.job_id) if ticket.job_id is not None else None
        if ticket.outcome not in _OUTCOMES or job is None:
            raise FailedPrecondition("memories", "are kept by a service whose changes cannot be followed")
        return pb.CompileNowResponse(outcome=_OUTCOMES[ticket.outcome], job=write.job(job))

    async def get_job(self, request: pb.GetJobRequest, call: Call) -> pb.GetJobResponse:
        """Return one job. Raises NotFound."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        job = await self._job(scope, read_uuid("job_id", request.job_id))
        return pb.GetJobResponse(job=write.job(job))

    async def list_jobs(self, request: pb.ListJobsRequest, call: Call) -> pb.ListJobsResponse:
        """Return a page of the scope's jobs, newest first."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        listing = ListCall("ListJobs", (str(scope.tenant_id), str(scope.owner_id)), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            rows = await jobs.page(connection, scope, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda job: (job.created_at, job.job_id), write.job)
        return pb.ListJobsResponse(jobs=written, next_page_token=token)

    async def watch_job(self, request: pb.WatchJobRequest, call: Call) -> AsyncGenerator[pb.WatchJobResponse]:
        """Yield the job as it stands and whenever it has changed, until it has ended. Raises NotFound, Stopping."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        job_id = read_uuid("job_id", request.job_id)
        told: pb.WatchJobResponse | None = None
        with self._progress.watching(str(job_id)) as moved:
            while True:
                job = await self._job(scope, job_id)
                response = pb.WatchJobResponse(job=write.job(job))
                if response != told:
                    yield response
                    told = response
                if job.status not in _UNDER_WAY:
                    return
                if await moved_or_stopping(moved, call.stopping):
                    raise Stopping

    async def cancel_job(self, request: pb.CancelJobRequest, call: Call) -> pb.CancelJobResponse:
        """Cancel a job, and return it as it stands. One that has ended stays as it is."""
        scope = self._admin(request, call)
        job_id = read_uuid("job_id", request.job_id)
        async with scoped(self._pools.background, scope) as connection:
            job = await jobs.cancel(connection, scope, job_id, now=self._now())
        if job is None:
            raise NotFound("job")
        return pb.CancelJobResponse(job=write.job(job))

    async def _job(self, scope: Scope, job_id: UUID) -> Job:
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            job = await jobs.get(connection, scope, job_id)
        if job is None:
            raise NotFound("job")
        return job
