"""What a compile looks at and what it decides: values only, shared by the pure plan and by what reads and applies.

State comes in (Memory, Page, Mention), Items come out. Pages are named by type and slug, never by a generated id, so that the
same memories give the same items; who applies them turns names into ids. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class PageType(StrEnum):
    """What a page is about; it says which sections the page has by default."""

    ENTITY = "entity"
    TOPIC = "topic"
    DECISION = "decision"


class PromotionStatus(StrEnum):
    """How far a section is on its way to a page of its own. PROMOTED and SUPPRESSED stay until an operator acts."""

    NONE = "none"
    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    SUPPRESSED = "suppressed"


class LinkKind(StrEnum):
    """The role of a link: the ordinary mention, or one half of a hierarchy's pair."""

    REFERENCE = "reference"
    PARENT_OF = "parent_of"
    CHILD_OF = "child_of"


class LinkOrigin(StrEnum):
    """Who says that a link should be there."""

    PLANNER = "planner"
    DETERMINISTIC = "deterministic"
    CO_MENTION = "co_mention"
    ROLLUP = "rollup"
    PROMOTION = "promotion"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, order=True)
class PageKey:
    """The name of a page within its scope."""

    type: PageType
    slug: str

    @property
    def path(self) -> str:
        """Where links to the page lead."""
        return f"/wiki/{self.type}/{self.slug}"


@dataclass(frozen=True, slots=True)
class BatchMemory:
    """A memory as it was read for a batch. `text_hash` is the SHA-256 of its text."""

    memory_id: str
    text: str
    text_hash: bytes
    occurred_at: datetime
    document_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class CitedMemory:
    """A memory that was cited for a subject, with the hash that its text had then."""

    memory_id: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What is known of a rollup section: the evidence that its promotion is judged by. `promotion_score` is 0 to 1."""

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
    """A section as it stands, or is to stand: `sources` are all that it cites. A rollup has its children and aggregation."""

    slug: str
    heading: str
    body_md: str
    sources: tuple[CitedMemory, ...] = ()
    children: tuple[PageKey, ...] = ()
    aggregation: Aggregation | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """A name of a page: the folded `key` to compare by, `display` as it was written; `origin` is compiler, manual or import."""

    key: str
    display: str
    origin: str = "compiler"
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a page, with what it was taken from."""

    name: str
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it stands in the scope."""

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
        """Yield everything that the page cites anywhere."""
        yield from self.summary_sources
        yield from (source for section in self.sections for source in section.sources)
        yield from (source for alias in self.aliases for source in alias.sources)
        yield from (source for tag in self.tags for source in tag.sources)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One memory in which an unresolved name stood, with up to 200 characters around it."""

    source: CitedMemory
    quote: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that was held rather than given a page; `key` is folded, `sightings` are oldest first."""

    key: str
    alias: str
    suggested_type: PageType | None = None
    sightings: tuple[Sighting, ...] = ()


# --- what is decided, in the order in which it is applied. Each item can be applied twice without harm. ---


@dataclass(frozen=True, slots=True)
class CreatePage:
    """A page that is not there, or is archived: whole, with its sections. Counts against the cap of new pages."""

    page: Page


@dataclass(frozen=True, slots=True)
class WriteSection:
    """A section in place of what stands under its slug: body, sources, children and aggregation. Counts as a rewrite."""

    page: PageKey
    section: Section


@dataclass(frozen=True, slots=True)
class RemoveSection:
    """A section whose last source is gone."""

    page: PageKey
    slug: str


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """A page's summary with all that it cites; empty when nothing is left to say."""

    page: PageKey
    summary: str
    sources: tuple[CitedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteAlias:
    """A name of a page, with all its sources; without any source a compiler's alias goes."""

    page: PageKey
    alias: Alias


@dataclass(frozen=True, slots=True)
class WriteTag:
    """A tag of a page, with all its sources; without any it goes."""

    page: PageKey
    tag: Tag


@dataclass(frozen=True, slots=True)
class HoldMention:
    """A name to hold, or sightings to add to one that is held."""

    mention: Mention


@dataclass(frozen=True, slots=True)
class DropSighting:
    """A memory that speaks of a held name no longer; a mention without any sighting goes."""

    key: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class SettleMention:
    """A held name that has got its page."""

    key: str
    page: PageKey


@dataclass(frozen=True, slots=True)
class WriteLink:
    """One cause of a link. `context` is the tag of its class (`deterministic:city:austin`, `co_mention:<memory id>`),
    `ref` what it came from."""

    source: PageKey
    target: PageKey
    kind: LinkKind
    origin: LinkOrigin
    context: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class DropLink:
    """One cause of a link that holds no longer; a link without any cause goes."""

    link: WriteLink


@dataclass(frozen=True, slots=True)
class SetParent:
    """A page's parent, with the pair of hierarchy links; None takes it away."""

    page: PageKey
    parent: PageKey | None


@dataclass(frozen=True, slots=True)
class SetHubness:
    """A page's score as a hub."""

    page: PageKey
    score: int


@dataclass(frozen=True, slots=True)
class ScoreHubs:
    """Pages whose score as a hub is counted again, once all that is written beside it stands."""

    pages: tuple[PageKey, ...]


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """A page with nothing left that anyone said; its rows stay."""

    page: PageKey


@dataclass(frozen=True, slots=True)
class DeletePage:
    """A page that an operator wants gone, with everything on it; links to it in texts become plain names."""

    page: PageKey


@dataclass(frozen=True, slots=True)
class IgnoreMention:
    """A held name that an operator set aside for good."""

    key: str


Item = (
    CreatePage
    | WriteSection
    | RemoveSection
    | WriteSummary
    | WriteAlias
    | WriteTag
    | HoldMention
    | DropSighting
    | SettleMention
    | WriteLink
    | DropLink
    | SetParent
    | SetHubness
    | ScoreHubs
    | ArchivePage
    | DeletePage
    | IgnoreMention
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A section whose words still have to be written, from its cited memories alone.

    `existing_md` is what stands there, empty for a rebuild: then a writer sees what the sources say now and nothing else.
    A section without a slug is the page's summary. `names` are what the page is called, its title among them. `standing` is
    what the standing text cites; `marked` are lines of it that a rebuild keeps beside what is written.
    """

    page: PageKey
    title: str
    section: Section
    existing_md: str
    memories: tuple[BatchMemory, ...]
    names: tuple[str, ...] = ()
    standing: tuple[CitedMemory, ...] = ()
    marked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something that a planner proposed and that was not taken: `reason` is a snake_case word, `subject` what it was."""

    reason: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """What a pass decided: items in order, drafts whose text is still to come, what was turned down, and counters.

    A draft's place among the items is held by the WriteSection, or the section of a CreatePage, of the same page and slug;
    a summary's by the WriteSummary of its page. `proposed` are the sections for which no writer is asked although their words
    are a planner's own.
    """

    items: tuple[Item, ...] = ()
    drafts: tuple[Draft, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    proposed: tuple[Draft, ...] = ()
