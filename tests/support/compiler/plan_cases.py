"""Memories, pages and batches for the tests of the plan, short to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import Alias, BatchMemory, CitedMemory, Page, PageKey, PageType, Section, Tag
from compiler.plan.proposal import ProposedPage, ProposedSection
from compiler.plan.text.markdown import alias_keys, slug
from store.text.texts import text_hash

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(memory_id: str, text: str, metadata: Mapping[str, Any] | None = None, *, day: int = 0) -> BatchMemory:
    """Return a memory of some day after the start."""
    return BatchMemory(memory_id, text, text_hash(text), START + timedelta(days=day), "", metadata or {})


def at(name: str, city: str, *tags: str, types: Iterable[str] = ()) -> dict[str, Any]:
    """Return the metadata of a memory made at a place."""
    return {"place": {"name": name, "city": city, "types": list(types)}, "tags": list(tags)}


def source(memory_id: str, text: str = "") -> CitedMemory:
    """Return the source of a memory of this text."""
    return CitedMemory(memory_id, text_hash(text))


def page(
    title: str,
    *sections: Section,
    kind: PageType = PageType.ENTITY,
    summary: str = "",
    tags: Iterable[str] = (),
) -> Page:
    """Return a page that is found by its title."""
    return Page(
        PageKey(kind, slug(title)),
        title,
        summary,
        aliases=tuple(Alias(key, title) for key in alias_keys(title)),
        sections=sections,
        tags=tuple(Tag(tag, (source("t"),)) for tag in tags),
    )


def section(body: str, *memory_ids: str, name: str = "overview") -> Section:
    """Return a section that cites these memories."""
    return Section(name, name.capitalize(), body, tuple(source(one) for one in memory_ids))


def new_page(title: str, body: str, *memory_ids: str, kind: PageType = PageType.ENTITY) -> ProposedPage:
    """Return a proposed page with one section."""
    return ProposedPage(kind, title, sections=(ProposedSection("overview", "Overview", body, memory_ids),))


def batch(*memories: BatchMemory, pages: Iterable[Page] = ()) -> LeafBatch:
    """Return a batch of the memories."""
    return LeafBatch(memories, tuple(pages))
