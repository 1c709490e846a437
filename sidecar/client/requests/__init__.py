"""The requests to the service: one frozen class per RPC, with its name.

Fields have the contract's names; tenant and owner come from the client. The service validates values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sidecar.client.answers import (
    Appended,
    Assembly,
    AssemblyDiff,
    Document,
    Ingested,
    KnowledgeBase,
    Memory,
    Page,
    Receipt,
    Replay,
    Retained,
    Thread,
    Turn,
    UsageEffect,
)
from sidecar.client.decoding import Inner, Listed, Nothing, Whole
from sidecar.client.encoding import ASSIGNEE_LEVEL, KNOBS, SPENT, NewMemory, NewTurn
from sidecar.client.knobs import Knobs
from sidecar.client.requests.admin import (  # noqa: F401  # asked for by name, as the others here
    ForgetOwner,
    GetTenant,
    ListAuditEntries,
    PutAgent,
    PutSpace,
    PutWorkspace,
    RevokeTokens,
)
from sidecar.client.requests.backends import (  # noqa: F401  # asked for by name, as the others here
    ApproveTool,
    CreateWebhook,
    DeleteWebhook,
    ListBackends,
    ListTools,
    RevokeTool,
    SwitchBackend,
    TestTool,
)
from sidecar.client.requests.cost import (  # noqa: F401  # asked for by name, as the others here
    DeleteBudget,
    GetStorage,
    ListBudgets,
    ListCompileSpending,
    ListSpending,
    ListTurnCosts,
    PutBudget,
)
from sidecar.client.requests.profile import GetProfile, ListProfileVersions, RollbackProfile, SetProfile  # noqa: F401  # asked for by name, as the others here
from sidecar.client.requests.request import Request
from sidecar.client.requests.wiki import (  # noqa: F401  # asked for by name, as the others here
    AddAlias,
    ArchivePage,
    BackfillLinks,
    Backlinks,
    BootstrapImport,
    CancelJob,
    Children,
    CompileNow,
    DeletePage,
    ExportVault,
    GetJob,
    GetPage,
    Graph,
    IgnoreMention,
    LinkDensity,
    ListJobs,
    ListMentions,
    ListPages,
    ListQuarantined,
    MeasureReads,
    PagesCitingMemory,
    ResetCursor,
    RetryQuarantined,
    RollbackLinks,
    RunLint,
    SearchPages,
    SuppressPromotion,
    UndoPromotion,
    VerifyRebuild,
    WatchJob,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleContext(Request[Assembly]):
    """Assemble one turn's context. `system` and `tools` are texts to be counted, or tokens already counted."""

    reads = Inner("assembly")
    message: str
    model_id: str
    thread_id: str = ""
    agent_id: str = ""
    space_id: str = ""
    client_turn_id: str = ""
    context_window_tokens: int = 0
    system: str | int | None = field(default=None, metadata=SPENT)
    tools: str | int | None = field(default=None, metadata=SPENT)
    response_reserve_tokens: int | None = None
    overrides: Knobs | None = field(default=None, metadata=KNOBS)
    seen_item_ids: Sequence[str] = ()
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUsage(Request[UsageEffect]):
    """Say what the provider counted for an assembly, and which of its items the answer used."""

    reads = Whole(UsageEffect)
    receipt_id: str
    input_tokens: int
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    used_item_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendTurns(Request[Appended]):
    """Write turns to a thread, at most 1,000; those that it has already are left as they are."""

    reads = Whole(Appended)
    deadline_s = 120.0
    thread_id: str
    turns: Sequence[NewTurn]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainAssembly(Request[Receipt]):
    """Return a stored receipt, whole."""

    reads = Inner("receipt")
    receipt_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAssembly(Request[Replay]):
    """Fit a stored assembly again under other knobs; no source is called."""

    reads = Whole(Replay)
    receipt_id: str
    overrides: Knobs = field(metadata=KNOBS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffAssemblies(Request[AssemblyDiff]):
    """Say what differs between two stored assemblies."""

    reads = Inner("diff")
    before_receipt_id: str
    after_receipt_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAssemblies(Request[Page[Receipt]]):
    """List stored receipts, newest first, without their candidates."""

    reads = Listed("receipts")
    thread_id: str = ""
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListThreads(Request[Page[Thread]]):
    """List the owner's threads, the one with the newest turn first."""

    reads = Listed("threads")
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTurns(Request[Page[Turn]]):
    """List a thread's turns as they were said, oldest first."""

    reads = Listed("turns")
    thread_id: str
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyRetained(Request[str]):
    """Say that memories were written elsewhere; the answer is enqueued, deduped or skipped_flag_off."""

    reads = Inner("outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain(Request[Retained]):
    """Write memories, at most 1,000; the same id with another text is an edit."""

    reads = Whole(Retained)
    deadline_s = 120.0
    memories: Sequence[NewMemory]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMemories(Request[Page[Memory]]):
    """List the owner's memories, newest first."""

    reads = Listed("memories")
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMemory(Request[Memory]):
    """Return one memory."""

    reads = Inner("memory")
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMemory(Request[None]):
    """Forget a memory: its text is gone when this returns."""

    reads = Nothing()
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBase(Request[KnowledgeBase]):
    """Make a knowledge base, or return the one of this name."""

    reads = Inner("base")
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBases(Request[Page[KnowledgeBase]]):
    """List the tenant's knowledge bases by name."""

    reads = Listed("bases")
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest(Request[Ingested]):
    """Read a document into a base, at most 32 MiB; the path's ending says the format."""

    reads = Whole(Ingested)
    deadline_s = 120.0
    base: str
    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDocuments(Request[Page[Document]]):
    """List a base's documents by path."""

    reads = Listed("documents")
    base: str
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDocument(Request[None]):
    """Remove a document and its chunks."""

    reads = Nothing()
    base: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignBase(Request[None]):
    """Assign a base to a template, agent or space."""

    reads = Nothing()
    base: str
    level: str = field(metadata=ASSIGNEE_LEVEL)
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnassignBase(Request[None]):
    """Take an assignment back."""

    reads = Nothing()
    base: str
    level: str = field(metadata=ASSIGNEE_LEVEL)
    ref: str
