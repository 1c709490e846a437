"""The input and output of a compile's decisions: values only, shared by the pure plan and the code that reads and applies.

State comes in (Memory, Page, Mention), Items come out. Pages are named by type and slug, never by a generated id, so that the
same memories give the same items; applying turns names into ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compiler.plan.edge_types import TypedEdge
from compiler.plan.kinds import (
    EndReason,
    LinkKind,
    LinkOrigin,
    PageKey,
    PageType,
    PromotionStatus,
    Ruling,
    RulingKind,
)

# Re-exported names of another module; those defined below need no entry.
__all__ = ["EndReason", "LinkKind", "LinkOrigin", "PageKey", "PageType", "PromotionStatus", "Ruling", "RulingKind"]


@dataclass(frozen=True, slots=True)
class BatchMemory:
    """A memory as read for a batch. `text_hash` is the SHA-256 of its text."""

    memory_id: str
    text: str
    text_hash: bytes
    occurred_at: datetime
    document_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class CitedMemory:
    """A memory cited for a subject, with the hash of its text at that time."""

    memory_id: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The state of a rollup section: the evidence for its promotion. `promotion_score` is 0 to 1."""

    linked_pages: tuple[PageKey, ...] = ()
    supporting_record_count: int = 0
    first_source_at: datetime | None = None
    last_source_at: datetime | None = None
    observed_tags: tuple[str, ...] = ()
    promotion_status: PromotionStatus = PromotionStatus.NONE
    promotion_score: float = 0.0
    promoted_page: PageKey | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A section, present or planned: `sources` are all its citations. A rollup has children and aggregation."""

    slug: str
    heading: str
    body_md: str
    sources: tuple[CitedMemory, ...] = ()
    children: tuple[PageKey, ...] = ()
    aggregation: Aggregation | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """A name of a page: the folded `key` for comparison, `display` as written; `origin` is compiler, manual or import."""

    key: str
    display: str
    origin: str = "compiler"
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a page, with its source."""

    name: str
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the scope in its present state."""

    key: PageKey
    title: str
    summary: str
    summary_sources: tuple[CitedMemory, ...] = ()
    tags: tuple[Tag, ...] = ()
    aliases: tuple[Alias, ...] = ()
    sections: tuple[Section, ...] = ()
    parent: PageKey | None = None
    hubness_score: int = 0
    is_active: bool = True

    def cited(self) -> Iterator[CitedMemory]:
        """Yield all sources that the page cites."""
        yield from self.summary_sources
        yield from (source for section in self.sections for source in section.sources)
        yield from (source for alias in self.aliases for source in alias.sources)
        yield from (source for tag in self.tags for source in tag.sources)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One memory in which an unresolved name occurred, with up to 200 characters around it."""

    source: CitedMemory
    quote: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Mention:
    """A name held without a page; `key` is folded, `sightings` are oldest first."""

    key: str
    alias: str
    suggested_type: PageType | None = None
    sightings: tuple[Sighting, ...] = ()


# --- Items, in the order in which they are applied. Each is idempotent. ---


@dataclass(frozen=True, slots=True)
class CreatePage:
    """Create a page with its sections, or restore an archived one. Counts against the cap of new pages."""

    page: Page


@dataclass(frozen=True, slots=True)
class WriteSection:
    """Replace a section: body, sources, children and aggregation. Counts as a rewrite. An archived page stays archived."""

    page: PageKey
    section: Section


@dataclass(frozen=True, slots=True)
class RemoveSection:
    """Remove a section whose last source is gone."""

    page: PageKey
    slug: str


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """Write a page's summary with all its sources; an empty summary removes it."""

    page: PageKey
    summary: str
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteAlias:
    """Write a page's name with all its sources; without sources, a compiler's alias is removed."""

    page: PageKey
    alias: Alias


@dataclass(frozen=True, slots=True)
class WriteTag:
    """Write a page's tag with all its sources; without sources it is removed."""

    page: PageKey
    tag: Tag


@dataclass(frozen=True, slots=True)
class HoldMention:
    """Hold a name, or add sightings to a held one."""

    mention: Mention


@dataclass(frozen=True, slots=True)
class DropSighting:
    """Remove a memory that no longer mentions a held name; a mention without sightings is removed."""

    key: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class SettleMention:
    """Settle a held name that now has its page."""

    key: str
    page: PageKey


@dataclass(frozen=True, slots=True)
class WriteLink:
    """Write one cause of a link. `context` is the tag of its class (`deterministic:city:austin`, `co_mention:<memory id>`),
    `ref` its source. A typed edge is a link of its own beside the untyped one.
    """

    source: PageKey
    target: PageKey
    kind: LinkKind
    origin: LinkOrigin
    context: str = ""
    ref: str = ""
    edge: TypedEdge | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """The fields by which two causes are equal: all, but of a typed edge only its type and `valid_from`."""
        edge = (self.edge.type, self.edge.valid_from) if self.edge else None
        return (self.source, self.target, self.kind, self.origin, self.context, self.ref, edge)


@dataclass(frozen=True, slots=True)
class DropLink:
    """Remove one cause of a link; a link without causes is removed."""

    link: WriteLink


@dataclass(frozen=True, slots=True)
class SetParent:
    """Set a page's parent, with the pair of hierarchy links; None removes it."""

    page: PageKey
    parent: PageKey | None


@dataclass(frozen=True, slots=True)
class SetHubness:
    """Set a page's hub score."""

    page: PageKey
    score: int


@dataclass(frozen=True, slots=True)
class ScoreHubs:
    """Compute the hub scores of pages, after everything else is written."""

    pages: tuple[PageKey, ...]


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """Archive a page that has no content left; its rows stay."""

    page: PageKey


@dataclass(frozen=True, slots=True)
class DeletePage:
    """Delete a page on an operator's request, with its contents; links to it in texts become plain names."""

    page: PageKey


@dataclass(frozen=True, slots=True)
class IgnoreMention:
    """Ignore a held name for good, on an operator's request."""

    key: str


@dataclass(frozen=True, slots=True)
class RenamePage:
    """Give a page another title, which becomes a manual name of it. Its key stays."""

    page: PageKey
    title: str


@dataclass(frozen=True, slots=True)
class TitlePage:
    """Give a page the title that fits the language of its text, as a name with these sources.

    The page's key and its other names stay.
    """

    page: PageKey
    title: str
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class DropAlias:
    """Remove a name of a page, whatever its origin."""

    page: PageKey
    key: str


@dataclass(frozen=True, slots=True)
class WriteRuling:
    """Write a ruling. It replaces a ruling of the same kind, page and `ref`."""

    ruling: Ruling


@dataclass(frozen=True, slots=True)
class DropRuling:
    """Revoke a ruling."""

    ruling: Ruling


@dataclass(frozen=True, slots=True)
class EndMemory:
    """End a memory at the beginning of a newer one that replaces it; `evidence` is a quotation of the newer memory.

    It names memories with the hashes that the plan read, and changes no page: the ended memory is read again, and its pages then
    state it as past.
    """

    newer: CitedMemory
    older: CitedMemory
    reason: EndReason
    evidence: str

    @property
    def pair(self) -> tuple[str, str]:
        """The ids of the newer memory and of the one that it ends."""
        return self.newer.memory_id, self.older.memory_id


_OfPages = CreatePage | WriteSection | RemoveSection | WriteSummary | WriteAlias | WriteTag | ArchivePage | DeletePage
_OfNames = HoldMention | DropSighting | SettleMention | IgnoreMention | RenamePage | TitlePage | DropAlias
_OfLinks = WriteLink | DropLink | SetParent | SetHubness | ScoreHubs
Item = _OfPages | _OfNames | _OfLinks | WriteRuling | DropRuling | EndMemory


@dataclass(frozen=True, slots=True)
class Draft:
    """A section whose text has yet to be written, from its cited memories alone.

    `existing_md` is the present text, empty for a rebuild: the writer then sees only the present texts of the sources. A section
    without a slug is the page's summary. `names` are the page's names, including its title. `standing` are the sources of the
    present text; `marked` are lines of it that a rebuild keeps next to the new text. `elsewhere` are lines of the page's other
    sections, which an extractive planner does not repeat. `asked` are prompt and guidance of the section's facet template.
    """

    page: PageKey
    title: str
    section: Section
    existing_md: str
    memories: tuple[BatchMemory, ...]
    names: tuple[str, ...] = ()
    standing: tuple[CitedMemory, ...] = ()
    marked: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """A part of a proposal that was not accepted: `reason` is a snake_case word, `subject` the rejected name, id or key."""

    reason: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A pass's decision: items in order, drafts of texts still to be written, rejections, and counters.

    A draft belongs to the WriteSection or CreatePage section of the same page and slug; a summary's draft belongs to the
    WriteSummary of its page. `proposed` are the sections whose text the planner itself wrote, so that no writer is called.
    """

    items: tuple[Item, ...] = ()
    drafts: tuple[Draft, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    proposed: tuple[Draft, ...] = ()
