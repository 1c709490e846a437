"""The part of the compile service about memories that no batch could be made of: which there are, and another try."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.rpc.compile_upkeep import CompileUpkeep
from sidecar.rpc.messages import compile_messages as write
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.services.validation import check_count, read_id
from sidecar.v1 import compile_pb2 as pb
from store.compile import jobs, overview
from store.compile.jobs import Trigger
from store.db.postgres import scoped


class CompileQuarantine(CompileUpkeep):
    """Shows what a compile set aside, and has it tried again."""

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return these methods by their names in the contract."""
        return {
            "ListQuarantined": self.list_quarantined,
            "RetryQuarantined": self.retry_quarantined,
            **super().behaviours,
        }

    async def list_quarantined(self, request: pb.ListQuarantinedRequest, call: Call) -> pb.ListQuarantinedResponse:
        """Return a page of the scope's memories that are held back, by id."""
        scope = self._admin(request, call)
        listing = ListCall("ListQuarantined", (str(scope.tenant_id), str(scope.owner_id)), (str,))
        page = listing.read(request.page_size, request.page_token)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            rows = await overview.held_back(connection, scope, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.memory_id,), write.quarantined)
        return pb.ListQuarantinedResponse(memories=written, next_page_token=token)

    async def retry_quarantined(self, request: pb.RetryQuarantinedRequest, call: Call) -> pb.RetryQuarantinedResponse:
        """Have memories that are held back read again, and queue the compile that reads them."""
        scope = self._admin(request, call)
        check_count("memory_ids", request.memory_ids, most=overview.MOST_RETRIED)
        named, now = [read_id("memory_ids", one) for one in request.memory_ids], self._now()
        async with scoped(self._pools.background, scope) as connection:
            await self._ready(connection, scope)
            count = await overview.retry(connection, scope, named, now=now)
            if not count:
                return pb.RetryQuarantinedResponse()
            ticket = await jobs.enqueue(connection, scope, trigger=Trigger.ADMIN.value, now=now)
            job = await jobs.get(connection, scope, ticket.job_id) if ticket.job_id is not None else None
        return pb.RetryQuarantinedResponse(memory_count=count, job=None if job is None else write.job(job))
