"""The client that blocks: `Sidecar`, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import grpc

from sidecar.client import admin_requests, backend_requests, cost_requests, profile_requests, requests, wiki_requests
from sidecar.client.channel import Tls, opened
from sidecar.client.contract import Exchange, Stance, described, exchange, health_check, health_of, repeatable
from sidecar.client.errors import failure
from sidecar.client.request import Request

A = TypeVar("A")
P = ParamSpec("P")


def _blocking(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Sidecar, P], A]:
    """Return the method that makes such a request of its keywords and sends it."""

    def call(client: Sidecar, /, *args: P.args, **fields: P.kwargs) -> A:
        return client.send(kind(*args, **fields))

    return described(call, kind)


def _streaming(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Sidecar, P], Iterator[A]]:
    """Return the method that makes such a request of its keywords and yields its answers as they come."""

    def call(client: Sidecar, /, *args: P.args, **fields: P.kwargs) -> Iterator[A]:
        return client.stream(kind(*args, **fields))

    return described(call, kind)


class Sidecar:
    """A blocking client. `token` is a token, or a function that returns the one to use now."""

    def __init__(
        self,
        target: str,
        token: str | Callable[[], str],
        *,
        tls: Tls | None = None,
        stance: Stance | None = None,
    ) -> None:
        """Open a channel to HOST:PORT or unix:/path; nothing is sent yet. Raises TargetUnusable."""
        self._target = target
        self._token = token
        self._stance = stance or Stance()
        self._channel = opened(grpc, target, tls=tls, repeatable=repeatable())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel; calls under way end with an error."""
        self._channel.close()

    def taking(self, stance: Stance) -> Sidecar:
        """Return a client on the same channel that calls for somebody else, or with another deadline."""
        sibling = object.__new__(Sidecar)
        sibling.__dict__ = {**self.__dict__, "_stance": stance}
        return sibling

    def send(self, request: Request[A]) -> A:
        """Return the answer to a request. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        response = self._made(exchange(self._channel, request, stance=self._stance, token=token))
        answer: A = request.reads(response)
        return answer

    def stream(self, request: Request[A]) -> Iterator[A]:
        """Yield the answers to a request as they come; whoever stops early ends the call. Raises a SidecarCallError."""
        token = self._token if isinstance(self._token, str) else self._token()
        one = exchange(self._channel, request, stance=self._stance, token=token)
        responses = one.call(one.message, **one.options)
        try:
            for response in responses:
                answer: A = request.reads(response)
                yield answer
        except grpc.RpcError as error:
            raise failure(error, self._target) from error
        finally:
            responses.cancel()

    def health(self, *, deadline_s: float = 3.0, waits: bool = False) -> str:
        """Return SERVING or NOT_SERVING; needs no token. `waits` for a server that is starting. Raises CallUnavailable."""
        return health_of(self._made(health_check(self._channel, deadline_s=deadline_s, waits=waits)))

    def _made(self, one: Exchange) -> object:
        try:
            return one.call(one.message, **one.options)
        except grpc.RpcError as error:
            raise failure(error, self._target) from error

    assemble_context = _blocking(requests.AssembleContext)
    report_usage = _blocking(requests.ReportUsage)
    append_turns = _blocking(requests.AppendTurns)
    explain_assembly = _blocking(requests.ExplainAssembly)
    replay_assembly = _blocking(requests.ReplayAssembly)
    diff_assemblies = _blocking(requests.DiffAssemblies)
    list_assemblies = _blocking(requests.ListAssemblies)
    list_threads = _blocking(requests.ListThreads)
    list_turns = _blocking(requests.ListTurns)
    notify_retained = _blocking(requests.NotifyRetained)
    retain = _blocking(requests.Retain)
    list_memories = _blocking(requests.ListMemories)
    get_memory = _blocking(requests.GetMemory)
    delete_memory = _blocking(requests.DeleteMemory)
    create_base = _blocking(requests.CreateBase)
    list_bases = _blocking(requests.ListBases)
    ingest = _blocking(requests.Ingest)
    list_documents = _blocking(requests.ListDocuments)
    delete_document = _blocking(requests.DeleteDocument)
    assign_base = _blocking(requests.AssignBase)
    unassign_base = _blocking(requests.UnassignBase)
    get_profile = _blocking(profile_requests.GetProfile)
    set_profile = _blocking(profile_requests.SetProfile)
    list_profile_versions = _blocking(profile_requests.ListProfileVersions)
    rollback_profile = _blocking(profile_requests.RollbackProfile)
    put_agent = _blocking(admin_requests.PutAgent)
    put_space = _blocking(admin_requests.PutSpace)
    put_workspace = _blocking(admin_requests.PutWorkspace)
    get_tenant = _blocking(admin_requests.GetTenant)
    revoke_tokens = _blocking(admin_requests.RevokeTokens)
    forget_owner = _blocking(admin_requests.ForgetOwner)
    list_audit_entries = _blocking(admin_requests.ListAuditEntries)
    get_page = _blocking(wiki_requests.GetPage)
    list_pages = _blocking(wiki_requests.ListPages)
    search_pages = _blocking(wiki_requests.SearchPages)
    backlinks = _blocking(wiki_requests.Backlinks)
    children = _blocking(wiki_requests.Children)
    graph = _blocking(wiki_requests.Graph)
    pages_citing_memory = _blocking(wiki_requests.PagesCitingMemory)
    list_mentions = _blocking(wiki_requests.ListMentions)
    ignore_mention = _blocking(wiki_requests.IgnoreMention)
    add_alias = _blocking(wiki_requests.AddAlias)
    archive_page = _blocking(wiki_requests.ArchivePage)
    delete_page = _blocking(wiki_requests.DeletePage)
    suppress_promotion = _blocking(wiki_requests.SuppressPromotion)
    undo_promotion = _blocking(wiki_requests.UndoPromotion)
    compile_now = _blocking(wiki_requests.CompileNow)
    get_job = _blocking(wiki_requests.GetJob)
    list_jobs = _blocking(wiki_requests.ListJobs)
    watch_job = _streaming(wiki_requests.WatchJob)
    cancel_job = _blocking(wiki_requests.CancelJob)
    list_quarantined = _blocking(wiki_requests.ListQuarantined)
    retry_quarantined = _blocking(wiki_requests.RetryQuarantined)
    reset_cursor = _blocking(wiki_requests.ResetCursor)
    run_lint = _blocking(wiki_requests.RunLint)
    backfill_links = _blocking(wiki_requests.BackfillLinks)
    rollback_links = _blocking(wiki_requests.RollbackLinks)
    link_density = _blocking(wiki_requests.LinkDensity)
    export_vault = _streaming(wiki_requests.ExportVault)
    verify_rebuild = _blocking(wiki_requests.VerifyRebuild)
    bootstrap_import = _blocking(wiki_requests.BootstrapImport)
    measure_reads = _blocking(wiki_requests.MeasureReads)
    list_backends = _blocking(backend_requests.ListBackends)
    switch_backend = _blocking(backend_requests.SwitchBackend)
    list_tools = _blocking(backend_requests.ListTools)
    approve_tool = _blocking(backend_requests.ApproveTool)
    revoke_tool = _blocking(backend_requests.RevokeTool)
    test_tool = _blocking(backend_requests.TestTool)
    create_webhook = _blocking(backend_requests.CreateWebhook)
    delete_webhook = _blocking(backend_requests.DeleteWebhook)
    list_turn_costs = _blocking(cost_requests.ListTurnCosts)
    list_spending = _blocking(cost_requests.ListSpending)
    list_compile_spending = _blocking(cost_requests.ListCompileSpending)
    put_budget = _blocking(cost_requests.PutBudget)
    delete_budget = _blocking(cost_requests.DeleteBudget)
    list_budgets = _blocking(cost_requests.ListBudgets)
    get_storage = _blocking(cost_requests.GetStorage)
