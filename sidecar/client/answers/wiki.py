"""The service's answers about wiki and compile, as frozen values. Fields have the contract's names; absent times are None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page without its sections; `type` is entity, topic or decision, `status` active or archived."""

    page_id: str
    type: str
    slug: str
    path: str
    title: str
    summary: str
    status: str
    parent_page_id: str
    hubness_score: int
    tags: tuple[str, ...]
    compile_time: datetime | None = None
    create_time: datetime | None = None
    update_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class WikiSource:
    """A memory cited by a subject of a page; its text only if texts were requested."""

    memory_id: str
    is_there: bool
    is_current: bool
    text: str
    first_seen_time: datetime | None = None
    occurred_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageRef:
    """A page by its name."""

    page_id: str
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The state of a section that lists other pages."""

    linked_page_ids: tuple[str, ...]
    supporting_record_count: int
    observed_tags: tuple[str, ...]
    promotion_status: str
    promotion_score: float
    promoted_page_id: str
    first_source_time: datetime | None = None
    last_source_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class WikiSection:
    """A section of a page, with the memories it was written from, or the pages it is made of."""

    slug: str
    heading: str
    body_md: str
    position: int
    sources: tuple[WikiSource, ...]
    last_source_time: datetime | None = None
    aggregation: Aggregation | None = None
    source_pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class WikiAlias:
    """A name of a page; `origin` is compiler, manual or import."""

    alias: str
    display: str
    origin: str
    sources: tuple[WikiSource, ...]


@dataclass(frozen=True, slots=True)
class WikiTag:
    """A tag of a page and the memories it comes from."""

    name: str
    sources: tuple[WikiSource, ...]


@dataclass(frozen=True, slots=True)
class WikiLink:
    """A link, with the page at its other end."""

    kind: str
    page: WikiPage
    origins: tuple[str, ...]
    contexts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One write that added citations of memories to a page."""

    memory_count: int
    section_slugs: tuple[str, ...]
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageWhole:
    """A complete page with its neighbourhood; `summary_pages` are the sources of a summary that cites no memory."""

    page: WikiPage
    sections: tuple[WikiSection, ...]
    aliases: tuple[WikiAlias, ...]
    summary_sources: tuple[WikiSource, ...]
    links: tuple[WikiLink, ...]
    link_count: int
    backlink_count: int
    child_count: int
    history: tuple[HistoryEntry, ...]
    parent: WikiPage | None = None
    summary_pages: tuple[PageRef, ...] = ()
    tags: tuple[WikiTag, ...] = ()


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page found; scores are 0 to 1."""

    page: WikiPage
    score: float
    text_score: float
    name_score: float
    matched_alias: str


@dataclass(frozen=True, slots=True)
class WikiChild:
    """A child page."""

    page: WikiPage
    is_promoted: bool
    section_slug: str


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A link of a graph."""

    from_page_id: str
    to_page_id: str
    kind: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphPart:
    """A part of the wiki: pages, and every link among them."""

    nodes: tuple[WikiPage, ...]
    edges: tuple[GraphEdge, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation of a memory by a page, directly or through a page that a section is made of."""

    page: WikiPage
    subject: str
    subject_ref: str
    heading: str
    is_current: bool
    first_seen_time: datetime | None = None
    through_page: PageRef | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A memory that contains a held name."""

    memory_id: str
    quote: str
    seen_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A held name: one without a page yet."""

    mention_id: str
    alias: str
    suggested_type: str
    status: str
    sighting_count: int
    sightings: tuple[Sighting, ...]
    promoted_page_id: str
    first_seen_time: datetime | None = None
    last_seen_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One compile; `status` is pending, running, succeeded, failed, skipped or cancelled."""

    job_id: str
    status: str
    trigger: str
    attempt: int
    hops: int
    error: str
    parent_job_id: str
    metrics: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    create_time: datetime | None = None
    claim_time: datetime | None = None
    finish_time: datetime | None = None

    @property
    def has_ended(self) -> bool:
        """Return whether the job's status is final."""
        return self.status not in {"pending", "running"}


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One change that a compile would make."""

    kind: str
    path: str
    subject: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """The changes that the next batch of a compile would make."""

    memory_count: int
    items: tuple[PlanItem, ...]
    item_count: int
    rejections: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CompileTicket:
    """The result of a request to compile: enqueued or deduped with its job, or a preview."""

    outcome: str
    job: CompileJob | None = None
    preview: PlanPreview | None = None


@dataclass(frozen=True, slots=True)
class QuarantinedMemory:
    """A quarantined memory, the reason, and the start of its text if it is stored here."""

    memory_id: str
    reason: str
    text: str | None = None
    occurred_time: datetime | None = None
    update_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeleteEffect:
    """The deleted page as it was; None if there was no page of that name."""

    page: WikiPage | None = None


@dataclass(frozen=True, slots=True)
class RetryEffect:
    """The number of memories to retry, and the job that reads them."""

    memory_count: int
    job: CompileJob | None = None


@dataclass(frozen=True, slots=True)
class ResetEffect:
    """The effect of a reset, or of its dry run."""

    page_count: int
    mention_count: int
    job_count: int
    memory_count: int


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One lint finding."""

    kind: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class LintReport:
    """The lint findings, and the job queued for held names."""

    findings: tuple[LintFinding, ...]
    counts: Mapping[str, int]
    job: CompileJob | None = None


@dataclass(frozen=True, slots=True)
class BackfillEffect:
    """The links written by a backfill, or by its dry run."""

    memory_count: int
    deterministic_count: int
    co_mention_count: int
    funnel: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RollbackEffect:
    """The evidence and links removed by a rollback, or by its dry run."""

    evidence_count: int
    link_count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Density:
    """Counts of pages and links; `density` is 0 to 1."""

    page_count: int
    linked_page_count: int
    density: float
    link_counts: Mapping[str, int]
    origin_counts: Mapping[str, int]
    duplicate_title_count: int
    archived_page_count: int


@dataclass(frozen=True, slots=True)
class VaultFile:
    """One page as a markdown file with front matter."""

    path: str
    content: str
    file_count: int


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a rebuild from the log."""

    is_identical: bool
    batch_count: int
    page_count: int
    differences: tuple[str, ...]
    unreplayable_count: int
    outdated_count: int
    unreplayable_from: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ImportEffect:
    """The result of importing journal records, and the job that compiles them."""

    created_count: int
    updated_count: int
    unchanged_count: int
    job: CompileJob | None = None


@dataclass(frozen=True, slots=True)
class PageReads:
    """How often turns read one page."""

    page: WikiPage
    assembly_count: int
    answer_count: int


@dataclass(frozen=True, slots=True)
class ReadMeasure:
    """The wiki reads of turns, and the compile cost."""

    assembly_count: int
    wiki_assembly_count: int
    wiki_answer_count: int
    pages: tuple[PageReads, ...]
    job_count: int
    cost_usd: float
    cost_per_read_usd: float | None = None
