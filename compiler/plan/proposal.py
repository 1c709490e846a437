"""A planner's proposal: the arrays of its answer, as values. `leaf` and `aggregation` judge it; nothing is trusted before that.

Memories are named by id and pages by key; the reader of a model's answer has already resolved its handles.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.plan.contract import EndReason, PageKey, PageType


@dataclass(frozen=True, slots=True)
class ProposedSection:
    """A section's text with the memories it cites.

    `is_verbatim` means that the text is lines taken from the cited memories: they are added to the present text without a
    writer.
    """

    slug: str
    heading: str
    body_md: str
    memory_ids: tuple[str, ...] = ()
    is_verbatim: bool = False


@dataclass(frozen=True, slots=True)
class ProposedName:
    """An alias or a tag, with its source memories."""

    name: str
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageUpdate:
    """Sections, names and tags for an existing page. Its summary is used only if the page has none, or if it `opens` better.

    `entity_type` is what the page is by the ontology in force, empty if the planner says nothing.
    """

    page: PageKey
    sections: tuple[ProposedSection, ...] = ()
    aliases: tuple[ProposedName, ...] = ()
    tags: tuple[ProposedName, ...] = ()
    summary: str = ""
    memory_ids: tuple[str, ...] = ()
    opens: bool = False
    entity_type: str = ""


@dataclass(frozen=True, slots=True)
class ProposedPage:
    """A page to create. `memory_ids` prove its summary and nothing else; `slug` is used if the title gives none.

    `city` is the location of a place whose memories name one: the same name in two cities means two places. `entity_type` is
    what it is by the ontology in force, empty if the planner says nothing.
    """

    type: PageType
    title: str
    summary: str = ""
    sections: tuple[ProposedSection, ...] = ()
    aliases: tuple[ProposedName, ...] = ()
    tags: tuple[ProposedName, ...] = ()
    memory_ids: tuple[str, ...] = ()
    slug: str = ""
    city: str = ""
    entity_type: str = ""


@dataclass(frozen=True, slots=True)
class HeldName:
    """A name that does not get a page yet; `context` is prose around it."""

    alias: str
    suggested_type: PageType | None
    context: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MentionPromotion:
    """A held name that gets its page now; `key` is the mention's folded name."""

    key: str
    page: ProposedPage
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProposedLink:
    """A link between two pages that exist or are being created; `context` is the reason.

    With an `edge_type` it is also a typed edge that the cited memories state, with its period as they say it.
    """

    source: PageKey
    target: PageKey
    context: str = ""
    edge_type: str = ""
    since: str = ""
    until: str = ""
    memory_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedEnd:
    """A memory that a newer one corrects or contradicts; `quote` are the newer one's words that say so."""

    memory_id: str
    superseded_id: str
    reason: EndReason
    quote: str


@dataclass(frozen=True, slots=True)
class Rollup:
    """A hub's section that lists `children`; without children it is prose, `body_md`.

    One that `is_whole` lists these and no others, also if there are none: what the section listed before goes.
    """

    page: PageKey
    section_slug: str
    heading: str
    children: tuple[PageKey, ...] = ()
    body_md: str = ""
    memory_ids: tuple[str, ...] = ()
    observed_tags: tuple[str, ...] = ()
    rationale: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class SectionPromotion:
    """A dense section that gets a page of its own; `parent_summary` and `highlights` stay in its place."""

    page: PageKey
    section_slug: str
    new_page: ProposedPage
    parent_summary: str
    highlights: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A planner's whole answer.

    A leaf planner fills all but the rollups and section promotions; an aggregation planner the new pages (hubs), links and these.
    """

    updates: tuple[PageUpdate, ...] = ()
    new_pages: tuple[ProposedPage, ...] = ()
    mentions: tuple[HeldName, ...] = ()
    promotions: tuple[MentionPromotion, ...] = ()
    links: tuple[ProposedLink, ...] = ()
    rollups: tuple[Rollup, ...] = ()
    section_promotions: tuple[SectionPromotion, ...] = ()
    ends: tuple[ProposedEnd, ...] = ()
