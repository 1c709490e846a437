"""The asynchronous client: `AsyncSidecar`, for one event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc

from sidecar.client import requests
from sidecar.client.channel import Tls, opened
from sidecar.client.contract import Exchange, Stance, described, exchange, health_check, health_of, repeatable
from sidecar.client.errors import failure
from sidecar.client.requests import admin, backends, cost, profile, wiki
from sidecar.client.requests.request import Request

A = TypeVar("A")
P = ParamSpec("P")


def _waiting(kind: Callable[P, Request[A]]) -> Callable[Concatenate[AsyncSidecar, P], Coroutine[Any, Any, A]]:
    """Return the method that builds a request from its keyword arguments and sends it."""

    async def call(client: AsyncSidecar, /, *args: P.args, **fields: P.kwargs) -> A:
        return await client.send(kind(*args, **fields))

    return described(call, kind)


def _streaming(kind: Callable[P, Request[A]]) -> Callable[Concatenate[AsyncSidecar, P], AsyncGenerator[A]]:
    """Return the method that builds a request from its keyword arguments and yields its answers as they arrive."""

    def call(client: AsyncSidecar, /, *args: P.args, **fields: P.kwargs) -> AsyncGenerator[A]:
        return client.stream(kind(*args, **fields))

    return described(call, kind)


class AsyncSidecar:
    """A client for one event loop; create it inside the loop. `token` is a token, or a function that returns the current one."""

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str | Awaitable[str]],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = opened(grpc.aio, target, tls=tls, repeatable=repeatable())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel; running calls fail."""
        await self._channel.close()

    def taking(self, stance: Stance) -> AsyncSidecar:
        """Return a client on the same channel for another tenant or owner, or with another deadline."""
        sibling = object.__new__(AsyncSidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    async def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        response = await self._made(await self._exchange(request))
        answer: A = request.reads(response)
        return answer

    async def stream(self, request: Request[A]) -> AsyncGenerator[A]:
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
        one = await self._exchange(request)
        responses = one.call(one.message, **one.options)
        try:
            async for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    async def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
        return health_of(await self._made(health_check(self._channel, deadline_s=deadline_s, waits=waits)))

    async def _exchange(self, request: Request[A]) -> Exchange:
        token = self._token if isinstance(self._token, str) else self._token()
        token = token if isinstance(token, str) else await token
        return exchange(self._channel, request, stance=self._stance, token=token)

    async def _made(self, one: Exchange) -> object:
        try:
            return await one.call(one.message, **one.options)
        except grpc.RpcError as error:
            raise failure(error, self._target) from error

    assemble_context = _waiting(requests.AssembleContext)
    report_usage = _waiting(requests.ReportUsage)
    append_turns = _waiting(requests.AppendTurns)
    explain_assembly = _waiting(requests.ExplainAssembly)
    replay_assembly = _waiting(requests.ReplayAssembly)
    diff_assemblies = _waiting(requests.DiffAssemblies)
    list_assemblies = _waiting(requests.ListAssemblies)
    list_threads = _waiting(requests.ListThreads)
    list_turns = _waiting(requests.ListTurns)
    notify_retained = _waiting(requests.NotifyRetained)
    retain = _waiting(requests.Retain)
    list_memories = _waiting(requests.ListMemories)
    get_memory = _waiting(requests.GetMemory)
    delete_memory = _waiting(requests.DeleteMemory)
    create_base = _waiting(requests.CreateBase)
    list_bases = _waiting(requests.ListBases)
    ingest = _waiting(requests.Ingest)
    list_documents = _waiting(requests.ListDocuments)
    delete_document = _waiting(requests.DeleteDocument)
    assign_base = _waiting(requests.AssignBase)
    unassign_base = _waiting(requests.UnassignBase)
    get_profile = _waiting(profile.GetProfile)
    set_profile = _waiting(profile.SetProfile)
    list_profile_versions = _waiting(profile.ListProfileVersions)
    rollback_profile = _waiting(profile.RollbackProfile)
    put_agent = _waiting(admin.PutAgent)
    put_space = _waiting(admin.PutSpace)
    put_workspace = _waiting(admin.PutWorkspace)
    get_tenant = _waiting(admin.GetTenant)
    revoke_tokens = _waiting(admin.RevokeTokens)
    forget_owner = _waiting(admin.ForgetOwner)
    list_audit_entries = _waiting(admin.ListAuditEntries)
    get_page = _waiting(wiki.GetPage)
    list_pages = _waiting(wiki.ListPages)
    search_pages = _waiting(wiki.SearchPages)
    backlinks = _waiting(wiki.Backlinks)
    children = _waiting(wiki.Children)
    graph = _waiting(wiki.Graph)
    pages_citing_memory = _waiting(wiki.PagesCitingMemory)
    list_mentions = _waiting(wiki.ListMentions)
    ignore_mention = _waiting(wiki.IgnoreMention)
    add_alias = _waiting(wiki.AddAlias)
    archive_page = _waiting(wiki.ArchivePage)
    delete_page = _waiting(wiki.DeletePage)
    suppress_promotion = _waiting(wiki.SuppressPromotion)
    undo_promotion = _waiting(wiki.UndoPromotion)
    compile_now = _waiting(wiki.CompileNow)
    get_job = _waiting(wiki.GetJob)
    list_jobs = _waiting(wiki.ListJobs)
    watch_job = _streaming(wiki.WatchJob)
    cancel_job = _waiting(wiki.CancelJob)
    list_quarantined = _waiting(wiki.ListQuarantined)
    retry_quarantined = _waiting(wiki.RetryQuarantined)
    reset_cursor = _waiting(wiki.ResetCursor)
    run_lint = _waiting(wiki.RunLint)
    backfill_links = _waiting(wiki.BackfillLinks)
    rollback_links = _waiting(wiki.RollbackLinks)
    link_density = _waiting(wiki.LinkDensity)
    export_vault = _streaming(wiki.ExportVault)
    verify_rebuild = _waiting(wiki.VerifyRebuild)
    bootstrap_import = _waiting(wiki.BootstrapImport)
    measure_reads = _waiting(wiki.MeasureReads)
    list_backends = _waiting(backends.ListBackends)
    switch_backend = _waiting(backends.SwitchBackend)
    list_tools = _waiting(backends.ListTools)
    approve_tool = _waiting(backends.ApproveTool)
    revoke_tool = _waiting(backends.RevokeTool)
    test_tool = _waiting(backends.TestTool)
    create_webhook = _waiting(backends.CreateWebhook)
    delete_webhook = _waiting(backends.DeleteWebhook)
    list_turn_costs = _waiting(cost.ListTurnCosts)
    list_spending = _waiting(cost.ListSpending)
    list_compile_spending = _waiting(cost.ListCompileSpending)
    put_budget = _waiting(cost.PutBudget)
    delete_budget = _waiting(cost.DeleteBudget)
    list_budgets = _waiting(cost.ListBudgets)
    get_storage = _waiting(cost.GetStorage)
