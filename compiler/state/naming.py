"""Reads the pages that memories name, at present or after items, with their names: the possible ends of typed edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from compiler.plan.contract import BatchMemory, CreatePage, Item, PageKey, PageType, WriteAlias, WriteSection
from compiler.plan.judging import links
from compiler.state import views
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates


async def pages_named(connection: Connection, scope: Scope, memories: Iterable[BatchMemory]) -> dict[str, set[PageKey]]:
    """Return, by memory id, the pages of its subjects at present: those with a section that cites it, or with a name from it."""
    about: dict[str, set[PageKey]] = {}
    for row in await candidates.naming(
        connection, scope, [one.memory_id for one in memories if links.may_be_typed(one)]
    ):
        about.setdefault(row["source_ref"], set()).add(PageKey(PageType(row["type"]), row["slug"]))
    return about


async def naming_after(
    connection: Connection,
    scope: Scope,
    memories: Iterable[BatchMemory],
    items: Sequence[Item] = (),
    *,
    gone: Collection[PageKey] = (),
) -> links.Naming:
    """Return the pages named, after the items, by those memories that may state a typed edge, with the names of these pages."""
    stating = {memory.memory_id for memory in memories if links.may_be_typed(memory)}
    about = await pages_named(connection, scope, memories)
    for key, memory_ids in named_by(items):
        for memory_id in stating & memory_ids:
            about.setdefault(memory_id, set()).add(key)
    about = {memory_id: keys.difference(gone) for memory_id, keys in about.items()}
    wanted = {page for pages in about.values() for page in pages}
    found = await views.names_of(connection, scope, wanted)
    for item in items:
        if isinstance(item, CreatePage) and item.page.key in wanted:
            names = (item.page.title, *(alias.display for alias in item.page.aliases))
            found[item.page.key] = (*found.get(item.page.key, ()), *names)
        elif isinstance(item, WriteAlias) and item.page in wanted and item.alias.sources:
            found[item.page] = (*found.get(item.page, ()), item.alias.display)
    return links.Naming(about, found)


def named_by(items: Iterable[Item]) -> Iterator[tuple[PageKey, set[str]]]:
    """Yield the pages that the items write, with the ids of the memories that their sections or names cite."""
    for item in items:
        if isinstance(item, CreatePage):
            sources = [*(source for one in item.page.sections for source in one.sources)]
            sources += (source for one in item.page.aliases for source in one.sources)
            yield item.page.key, {source.memory_id for source in sources}
        elif isinstance(item, WriteSection):
            yield item.page, {source.memory_id for source in item.section.sources}
        elif isinstance(item, WriteAlias):
            yield item.page, {source.memory_id for source in item.alias.sources}
