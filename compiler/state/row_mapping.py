"""Reads pages, and maps the wiki's rows to the plan's values and back. No decision is made here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from compiler.plan.contract import (
    Aggregation,
    Alias,
    CitedMemory,
    LinkKind,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    Ruling,
    RulingKind,
    Section,
    Sighting,
    Tag,
    WriteLink,
)
from compiler.plan.edge_types import TypedEdge
from compiler.state.reducer import normal
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates
from store.wiki.candidates import PageIdentity, WikiRows
from store.wiki.rulings import RulingRow

_NO_HASH = b""


@dataclass(frozen=True, slots=True)
class Stored:
    """Pages in their present state, and the ids of all pages they name."""

    pages: Mapping[PageKey, Page] = field(default_factory=dict)
    ids: Mapping[PageKey, UUID] = field(default_factory=dict)


def key_of(identity: PageIdentity) -> PageKey:
    """Return the key of a page."""
    return PageKey(PageType(identity.type), identity.slug)


def linked_ids(rows: WikiRows) -> set[UUID]:
    """Return the page ids in sections' aggregation data; the caller looks their keys up."""
    found: set[UUID] = set()
    for row in rows.sections:
        known = row["aggregation"] or {}
        found.update(UUID(one) for one in known.get("linked_page_ids", ()))
        if known.get("promoted_page_id"):
            found.add(UUID(known["promoted_page_id"]))
    return found


def stored(rows: WikiRows, identities: Iterable[PageIdentity] = ()) -> Stored:
    """Return the rows' pages; `identities` are those of the pages in `linked_ids`."""
    keys = {one.page_id: key_of(one) for one in identities}
    keys |= {row["page_id"]: PageKey(PageType(row["type"]), row["slug"]) for row in rows.pages}
    keys |= {row["child_page_id"]: PageKey(PageType(row["type"]), row["slug"]) for row in rows.children}
    parents = {
        row["parent_page_id"]: PageKey(PageType(row["parent_type"]), row["parent_slug"])
        for row in rows.pages
        if row["parent_page_id"] is not None
    }
    sources: dict[tuple[UUID, str, str], list[CitedMemory]] = defaultdict(list)
    for row in rows.sources:
        subject = (row["page_id"], row["subject"], row["subject_ref"])
        sources[subject].append(CitedMemory(row["source_ref"], row["text_hash"]))
    children: dict[UUID, list[PageKey]] = defaultdict(list)
    for row in rows.children:
        children[row["section_id"]].append(keys[row["child_page_id"]])
    on_page = _Rows(rows, keys, sources, children)
    pages = {keys[row["page_id"]]: normal(on_page.page(row)) for row in rows.pages}
    return Stored(pages, {key: page_id for page_id, key in (keys | parents).items()})


def outline(row: Any) -> Page:
    """Return an active page with only its key, title, summary and tags."""
    tags = tuple(Tag(name) for name in row["tags"])
    return normal(Page(PageKey(PageType(row["type"]), row["slug"]), row["title"], row["summary"], tags=tags))


@dataclass(slots=True)
class _Rows:
    rows: WikiRows
    keys: Mapping[UUID, PageKey]
    sources: Mapping[tuple[UUID, str, str], list[CitedMemory]]
    children: Mapping[UUID, list[PageKey]]
    sections: dict[UUID, list[Any]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[UUID, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for row in self.rows.sections:
            self.sections[row["page_id"]].append(row)
        for row in self.rows.aliases:
            self.aliases[row["page_id"]].append(row)

    def page(self, row: Any) -> Page:
        page_id = row["page_id"]
        parent = PageKey(PageType(row["parent_type"]), row["parent_slug"]) if row["parent_page_id"] else None
        return Page(
            self.keys[page_id],
            row["title"],
            row["summary"],
            self._cited(page_id, "summary", ""),
            tuple(Tag(name, self._cited(page_id, "tag", name)) for name in row["tags"]),
            tuple(
                Alias(one["alias"], one["display"], one["source"], self._cited(page_id, "alias", one["alias"]))
                for one in self.aliases.get(page_id, ())
            ),
            tuple(self._section(one) for one in self.sections.get(page_id, ())),
            parent,
            row["hubness_score"],
            row["status"] == "active",
        )

    def _section(self, row: Any) -> Section:
        known = row["aggregation"]
        return Section(
            row["section_slug"],
            row["heading"],
            row["body_md"],
            self._cited(row["page_id"], "section", row["section_slug"]),
            tuple(self.children.get(row["section_id"], ())),
            None if known is None else _aggregation(known, self.keys),
        )

    def _cited(self, page_id: UUID, subject: str, ref: str) -> tuple[CitedMemory, ...]:
        return tuple(self.sources.get((page_id, subject, ref), ()))


def aggregation_json(known: Aggregation | None, ids: Mapping[PageKey, UUID]) -> dict[str, Any] | None:
    """Return a section's aggregation as stored, with ids for keys."""
    if known is None:
        return None
    promoted = ids.get(known.promoted_page) if known.promoted_page else None
    return {
        "linked_page_ids": [str(ids[key]) for key in known.linked_pages if key in ids],
        "supporting_record_count": known.supporting_record_count,
        "first_source_at": known.first_source_at.isoformat() if known.first_source_at else None,
        "last_source_at": known.last_source_at.isoformat() if known.last_source_at else None,
        "observed_tags": list(known.observed_tags),
        "promotion_status": known.promotion_status.value,
        "promotion_score": known.promotion_score,
        "promoted_page_id": str(promoted) if promoted else None,
    }


def mentions(rows: Iterable[Any]) -> tuple[Mention, ...]:
    """Return the open mentions from rows of sightings, ordered by key and oldest first."""
    found: dict[str, Mention] = {}
    sightings: dict[str, list[Sighting]] = defaultdict(list)
    for row in rows:
        key = row["alias_normalized"]
        kind = row["suggested_type"]
        found[key] = Mention(key, row["alias"], PageType(kind) if kind else None)
        if row["memory_id"] is not None:
            source = CitedMemory(row["memory_id"], row["text_hash"] or _NO_HASH)
            sightings[key].append(Sighting(source, row["quote"], row["seen_at"]))
    return tuple(Mention(key, one.alias, one.suggested_type, tuple(sightings[key])) for key, one in found.items())


def _aggregation(known: Mapping[str, Any], keys: Mapping[UUID, PageKey]) -> Aggregation:
    linked = (keys.get(UUID(one)) for one in known.get("linked_page_ids", ()))
    promoted = known.get("promoted_page_id")
    return Aggregation(
        tuple(key for key in linked if key is not None),
        known.get("supporting_record_count", 0),
        _instant(known.get("first_source_at")),
        _instant(known.get("last_source_at")),
        tuple(known.get("observed_tags", ())),
        PromotionStatus(known.get("promotion_status", "none")),
        known.get("promotion_score", 0.0),
        keys.get(UUID(promoted)) if promoted else None,
    )


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def ruling(row: RulingRow) -> Ruling:
    """Return a stored ruling."""
    into = PageKey(PageType(row.into_type), row.into_slug) if row.into_type else None
    page = PageKey(PageType(row.page_type), row.page_slug)
    return Ruling(RulingKind(row.kind), page, row.ref, row.text, row.detail, into, row.memory_ids)


def ruling_row(one: Ruling) -> RulingRow:
    """Return a ruling as stored."""
    into = (one.into.type.value, one.into.slug) if one.into else ("", "")
    return RulingRow(
        one.kind.value, one.page.type.value, one.page.slug, one.ref, one.text, one.detail, *into, one.memory_ids
    )


def link_cause(row: Mapping[str, Any]) -> WriteLink:
    """Return one cause of a link, with its typed edge if it has one."""
    properties = row["properties"]
    edge = TypedEdge(
        row["edge_type"],
        row["valid_from"],
        row["valid_until"],
        row["said_at"],
        properties.get("since", ""),
        properties.get("until", ""),
        properties.get("confidence", 1.0),
        row["is_sole"],
    )
    return WriteLink(
        PageKey(PageType(row["from_type"]), row["from_slug"]),
        PageKey(PageType(row["to_type"]), row["to_slug"]),
        LinkKind(row["kind"]),
        LinkOrigin(row["origin"]),
        row["context"],
        row["ref"],
        edge if edge.type else None,
    )


async def load(connection: Connection, scope: Scope, page_ids: Iterable[UUID]) -> Stored:
    """Return the pages with these ids."""
    rows = await candidates.pages(connection, scope, sorted(set(page_ids)))
    missing = linked_ids(rows) - {row["page_id"] for row in rows.pages}
    return stored(rows, await candidates.identities_of(connection, scope, sorted(missing)))
