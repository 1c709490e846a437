"""Reads all pages with the tag of a hub, changed or not, so that a hub lists all its pages in whatever order they came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import PageKey, PageType
from compiler.plan.judging.parents import PERIOD, PERSON, hub_tags, names_theme
from compiler.plan.names.locating import JOURNAL_TAG, PERIOD_TAG
from compiler.plan.names.merge import CITY_TAG
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates


async def with_all_pages(
    connection: Connection, scope: Scope, found: tuple[ParentCandidate, ...]
) -> tuple[ParentCandidate, ...]:
    """Return the candidates; those of periods have all active pages with their tag."""
    tags = {f"{PERIOD_TAG}{one.slug}" for one in found if one.kind == PERIOD}
    pages: dict[str, set[PageKey]] = {}
    for tag, kind, slug in await candidates.tagged(connection, scope, sorted(tags)):
        pages.setdefault(tag.removeprefix(PERIOD_TAG), set()).add(PageKey(PageType(kind), slug))
    return tuple(
        replace(one, pages=tuple(sorted({*one.pages, *pages.get(one.slug, ())}))) if one.kind == PERIOD else one
        for one in found
    )


async def memories_behind(
    connection: Connection, scope: Scope, changed: Sequence[UUID], *, has_themes: bool
) -> list[str]:
    """Return the ids of memories that prove a city or a journal of the pages; with `has_themes`, also a theme by its tag."""
    rows = await candidates.outlines(connection, scope, changed) if has_themes else []
    themes = {tag for row in rows for tag in row["tags"] if names_theme(tag)}
    return await candidates.memories_of_tags(connection, scope, changed, [CITY_TAG, JOURNAL_TAG, *sorted(themes)])


async def pages_of(connection: Connection, scope: Scope, found: Iterable[ParentCandidate]) -> set[PageKey]:
    """Return the active pages with a tag of one of the candidates, leaving out candidates of people."""
    tags = {tag for one in found if one.kind != PERSON for tag in hub_tags(one)}
    rows = await candidates.tagged(connection, scope, sorted(tags))
    return {PageKey(PageType(kind), slug) for _, kind, slug in rows}
