"""Requests about the wiki and the compile: one frozen class per RPC, as in `requests`.

A page may be named by its id, its path, its type and slug, or by a slug or name that only one page has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sidecar.client.answers import Page
from sidecar.client.answers.wiki import (
    BackfillEffect,
    Citation,
    CompileJob,
    CompileTicket,
    DeleteEffect,
    Density,
    GraphPart,
    ImportEffect,
    LintReport,
    Mention,
    PageHit,
    PageWhole,
    QuarantinedMemory,
    ReadMeasure,
    ResetEffect,
    RetryEffect,
    RollbackEffect,
    VaultFile,
    Verification,
    WikiAlias,
    WikiChild,
    WikiLink,
    WikiPage,
    WikiSection,
)
from sidecar.client.decoding import Inner, Listed, Nothing, Whole
from sidecar.client.encoding import (
    LINK_ORIGIN,
    MENTION_STATUS,
    PAGE_ORDER,
    PAGE_STATUS,
    PAGE_TYPE,
    RESET_MODE,
    JournalRecord,
)
from sidecar.client.requests.request import Request

_WORK_DEADLINE_S = 60.0
_PREVIEW_DEADLINE_S = 600.0  # a preview may call a model
_LONG_DEADLINE_S = 3600.0  # the service's own limit for such a call


@dataclass(frozen=True, slots=True, kw_only=True)
class GetPage(Request[PageWhole]):
    """Return one page whole, archived or not."""

    reads = Whole(PageWhole)
    deadline_s = 10.0
    page: str
    with_source_texts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPages(Request[Page[WikiPage]]):
    """List pages, by name, hubness or time; without a status the active ones."""

    reads = Listed("pages")
    type: str = field(default="", metadata=PAGE_TYPE)
    status: str = field(default="", metadata=PAGE_STATUS)
    order: str = field(default="", metadata=PAGE_ORDER)
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPages(Request[Page[PageHit]]):
    """Find active pages by words, beginnings of words, and names, best first."""

    reads = Listed("hits")
    query: str
    type: str = field(default="", metadata=PAGE_TYPE)
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlinks(Request[Page[WikiLink]]):
    """List the links that lead to a page."""

    reads = Listed("links")
    page: str
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Children(Request[Page[WikiChild]]):
    """List the pages under a page."""

    reads = Listed("children")
    page: str
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Request[GraphPart]):
    """Return a part of the wiki to draw: around a page, or the greatest hubs."""

    reads = Whole(GraphPart)
    deadline_s = 10.0
    focus: str = ""
    depth: int = 0
    most_pages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesCitingMemory(Request[Page[Citation]]):
    """List where active pages cite a memory."""

    reads = Listed("citations")
    memory_id: str
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMentions(Request[Page[Mention]]):
    """List held names, the latest first; without a status the open ones."""

    reads = Listed("mentions")
    status: str = field(default="", metadata=MENTION_STATUS)
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreMention(Request[None]):
    """Set a held name aside, so that it never becomes a page."""

    reads = Nothing()
    deadline_s = _WORK_DEADLINE_S
    mention_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAlias(Request[WikiAlias]):
    """Give a page another name."""

    reads = Inner("alias")
    deadline_s = _WORK_DEADLINE_S
    page: str
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePage(Request[WikiPage]):
    """Take a page out of reads and search; its rows stay."""

    reads = Inner("page")
    deadline_s = _WORK_DEADLINE_S
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePage(Request[DeleteEffect]):
    """Delete a page with its sections, names, links and sources; one that is not there is gone already."""

    reads = Whole(DeleteEffect)
    deadline_s = _WORK_DEADLINE_S
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressPromotion(Request[WikiSection]):
    """Keep a section from ever becoming a page of its own."""

    reads = Inner("section")
    deadline_s = _WORK_DEADLINE_S
    page: str
    section_slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPromotion(Request[WikiSection]):
    """Take a promotion back: the promoted page is archived, the section lists its pages again."""

    reads = Inner("section")
    deadline_s = _WORK_DEADLINE_S
    page: str
    section_slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileNow(Request[CompileTicket]):
    """Queue a compile, or only show what the next batch would change."""

    reads = Whole(CompileTicket)
    deadline_s = _PREVIEW_DEADLINE_S
    model_id: str = ""
    validate_only: bool = False
    may_archive_many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetJob(Request[CompileJob]):
    """Return one job."""

    reads = Inner("job")
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListJobs(Request[Page[CompileJob]]):
    """List jobs, newest first."""

    reads = Listed("jobs")
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchJob(Request[CompileJob]):
    """Yield a job as it stands, whenever it changes, and when it has ended."""

    reads = Inner("job")
    deadline_s = _LONG_DEADLINE_S
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob(Request[CompileJob]):
    """Cancel a job; one that runs ends before its next step."""

    reads = Inner("job")
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuarantined(Request[Page[QuarantinedMemory]]):
    """List memories that no batch could be made of, by id."""

    reads = Listed("memories")
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryQuarantined(Request[RetryEffect]):
    """Have memories that are held back read again; without ids the first thousand."""

    reads = Whole(RetryEffect)
    memory_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetCursor(Request[ResetEffect]):
    """Set the compile back to the beginning, polite or full; refused while a job runs."""

    reads = Whole(ResetEffect)
    deadline_s = _LONG_DEADLINE_S
    mode: str = field(default="", metadata=RESET_MODE)
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLint(Request[LintReport]):
    """Look for what is amiss, and queue a compile for held names that were seen often enough."""

    reads = Whole(LintReport)
    deadline_s = _WORK_DEADLINE_S
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillLinks(Request[BackfillEffect]):
    """Write the deterministic links that the memories call for and that are not there."""

    reads = Whole(BackfillEffect)
    deadline_s = _LONG_DEADLINE_S
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackLinks(Request[RollbackEffect]):
    """Take one class of evidence for links away, and the links left without any."""

    reads = Whole(RollbackEffect)
    deadline_s = _LONG_DEADLINE_S
    origin: str = field(metadata=LINK_ORIGIN)
    context_prefix: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDensity(Request[Density]):
    """Count pages and links."""

    reads = Whole(Density)
    deadline_s = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportVault(Request[VaultFile]):
    """Yield every active page as a markdown file with front matter, by path."""

    reads = Whole(VaultFile)
    deadline_s = _LONG_DEADLINE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRebuild(Request[Verification]):
    """Compile the logged batches again, aside, and compare."""

    reads = Whole(Verification)
    deadline_s = _LONG_DEADLINE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapImport(Request[ImportEffect]):
    """Write journal records as memories, at most 1,000, and queue one compile unless more follow."""

    reads = Whole(ImportEffect)
    deadline_s = _WORK_DEADLINE_S
    records: Sequence[JournalRecord]
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureReads(Request[ReadMeasure]):
    """Set what turns read of the wiki beside what compiling it cost."""

    reads = Whole(ReadMeasure)
    deadline_s = 10.0
    since_time: datetime | None = None
