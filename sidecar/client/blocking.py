"""The blocking client: `Sidecar`, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import grpc

from sidecar.client import requests
from sidecar.client.channel import Tls, opened
from sidecar.client.contract import Exchange, Stance, described, exchange, health_check, health_of, repeatable
from sidecar.client.errors import failure
from sidecar.client.requests import admin, backends, cost, profile, wiki
from sidecar.client.requests.request import Request

A = TypeVar("A")
P = ParamSpec("P")


def _blocking(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Sidecar, P], A]:
    """Return the method that builds a request from its keyword arguments and sends it."""

    def call(client: Sidecar, /, *args: P.args, **fields: P.kwargs) -> A:
        return client.send(kind(*args, **fields))

    return described(call, kind)


def _streaming(kind: Callable[P, Request[A]]) -> Callable[Concatenate[Sidecar, P], Iterator[A]]:
    """Return the method that builds a request from its keyword arguments and yields its answers as they arrive."""

    def call(client: Sidecar, /, *args: P.args, **fields: P.kwargs) -> Iterator[A]:
        return client.stream(kind(*args, **fields))

    return described(call, kind)


class Sidecar:
    """A blocking client. `token` is a token, or a function that returns the current one."""

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
        """Close the channel; running calls fail."""
        self._channel.close()

    def taking(self, stance: Stance) -> Sidecar:
        """Return a client on the same channel for another tenant or owner, or with another deadline."""
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
        """Yield the answers to a request as they arrive; closing the iterator ends the call. Raises a SidecarCallError."""
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
        """Return SERVING or NOT_SERVING; needs no token. With `waits`, wait for a starting server. Raises CallUnavailable."""
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
    get_profile = _blocking(profile.GetProfile)
    set_profile = _blocking(profile.SetProfile)
    list_profile_versions = _blocking(profile.ListProfileVersions)
    rollback_profile = _blocking(profile.RollbackProfile)
    put_agent = _blocking(admin.PutAgent)
    put_space = _blocking(admin.PutSpace)
    put_workspace = _blocking(admin.PutWorkspace)
    get_tenant = _blocking(admin.GetTenant)
    revoke_tokens = _blocking(admin.RevokeTokens)
    forget_owner = _blocking(admin.ForgetOwner)
    list_audit_entries = _blocking(admin.ListAuditEntries)
    get_page = _blocking(wiki.GetPage)
    list_pages = _blocking(wiki.ListPages)
    search_pages = _blocking(wiki.SearchPages)
    backlinks = _blocking(wiki.Backlinks)
    children = _blocking(wiki.Children)
    graph = _blocking(wiki.Graph)
    pages_citing_memory = _blocking(wiki.PagesCitingMemory)
    list_mentions = _blocking(wiki.ListMentions)
    ignore_mention = _blocking(wiki.IgnoreMention)
    add_alias = _blocking(wiki.AddAlias)
    archive_page = _blocking(wiki.ArchivePage)
    delete_page = _blocking(wiki.DeletePage)
    suppress_promotion = _blocking(wiki.SuppressPromotion)
    undo_promotion = _blocking(wiki.UndoPromotion)
    compile_now = _blocking(wiki.CompileNow)
    get_job = _blocking(wiki.GetJob)
    list_jobs = _blocking(wiki.ListJobs)
    watch_job = _streaming(wiki.WatchJob)
    cancel_job = _blocking(wiki.CancelJob)
    list_quarantined = _blocking(wiki.ListQuarantined)
    retry_quarantined = _blocking(wiki.RetryQuarantined)
    reset_cursor = _blocking(wiki.ResetCursor)
    run_lint = _blocking(wiki.RunLint)
    backfill_links = _blocking(wiki.BackfillLinks)
    rollback_links = _blocking(wiki.RollbackLinks)
    link_density = _blocking(wiki.LinkDensity)
    export_vault = _streaming(wiki.ExportVault)
    verify_rebuild = _blocking(wiki.VerifyRebuild)
    bootstrap_import = _blocking(wiki.BootstrapImport)
    measure_reads = _blocking(wiki.MeasureReads)
    list_backends = _blocking(backends.ListBackends)
    switch_backend = _blocking(backends.SwitchBackend)
    list_tools = _blocking(backends.ListTools)
    approve_tool = _blocking(backends.ApproveTool)
    revoke_tool = _blocking(backends.RevokeTool)
    test_tool = _blocking(backends.TestTool)
    create_webhook = _blocking(backends.CreateWebhook)
    delete_webhook = _blocking(backends.DeleteWebhook)
    list_turn_costs = _blocking(cost.ListTurnCosts)
    list_spending = _blocking(cost.ListSpending)
    list_compile_spending = _blocking(cost.ListCompileSpending)
    put_budget = _blocking(cost.PutBudget)
    delete_budget = _blocking(cost.DeleteBudget)
    list_budgets = _blocking(cost.ListBudgets)
    get_storage = _blocking(cost.GetStorage)
