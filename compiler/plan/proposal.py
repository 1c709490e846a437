"""A planner's proposal: the arrays of its answer, as values. It is untrusted until `leaf` or `aggregation` has judged it.

Memories are named by id and pages by key: the handles of a model's answer are already resolved.
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
    """Sections, names and tags for an existing page. `summary` is used only if the page has none, or if `opens` is true.

    `opens` means that `summary` is a better opening than the present one. `entity_type` is the page's entity type in the
    ontology in force, empty if the planner proposes none.
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
    """A page to create. `memory_ids` are the sources of its summary alone; `slug` is used if none can be made of the title.

    `city` is the location of a place, if its memories name one: the same name in two cities means two places. `entity_type` is
    the page's entity type in the ontology in force, empty if the planner proposes none.
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
    """A name that does not get a page yet; `context` is the text around it."""

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

    With an `edge_type` it is also a typed edge that the cited memories state, with its period in their words.
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
    """A memory (`superseded_id`) that a newer one (`memory_id`) corrects or contradicts; `quote` is the newer one's passage."""

    memory_id: str
    superseded_id: str
    reason: EndReason
    quote: str


@dataclass(frozen=True, slots=True)
class Rollup:
    """A hub's section that lists `children`. Its text is rendered from them, so one without children is refused.

    With `is_whole`, `children` is the complete list, even if empty: children that the section listed before are removed.
    """

    page: PageKey
    section_slug: str
    heading: str
    children: tuple[PageKey, ...] = ()
    memory_ids: tuple[str, ...] = ()
    observed_tags: tuple[str, ...] = ()
    rationale: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class SectionPromotion:
    """A dense section that gets a page of its own; `parent_summary` and `highlights` replace it on the parent page."""

    page: PageKey
    section_slug: str
    new_page: ProposedPage
    parent_summary: str
    highlights: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A planner's whole answer.

    A leaf planner fills all fields but rollups and section promotions; an aggregation planner fills new pages (hubs), links,
    rollups and section promotions.
    """

    updates: tuple[PageUpdate, ...] = ()
    new_pages: tuple[ProposedPage, ...] = ()
    mentions: tuple[HeldName, ...] = ()
    promotions: tuple[MentionPromotion, ...] = ()
    links: tuple[ProposedLink, ...] = ()
    rollups: tuple[Rollup, ...] = ()
    section_promotions: tuple[SectionPromotion, ...] = ()
    ends: tuple[ProposedEnd, ...] = ()
