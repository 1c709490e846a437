"""A small wiki of a few people, and the acts of operators on its pages."""

from __future__ import annotations

from datetime import timedelta

from compiler.operations import acts, upkeep
from compiler.operations.replay import replay
from compiler.operations.upkeep import ResetMode
from compiler.plan.contract import RulingKind
from compiler.state.row_mapping import ruling
from store.compile import scopes
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse, rulings
from store.wiki.browse import PageRow, PageWhole
from tests.support.compiler.compiling import NOW, SCOPE, engine_on

TEXTS = (
    "Renee Castellano swam across the lake with Bea Holm.",
    "We saw Renee Castellano paint a red boat.",
    "Bea Holm repairs clocks in her cellar.",
    "Dinner with Bea Holm lasted until midnight.",
    "Yesterday Dale Whitaker told Bea Holm about his ferry.",
    "Then Dale Whitaker sold the ferry at last.",
    "Mrs. Castellano-Holm is a name that Renee Castellano laughed at.",
)
LATER = ("Bea Holm moved to a sunny flat in Lisbon.", "Renee Castellano bought a large kiln for her studio.")


def entries(texts: tuple[str, ...], *, first: int = 0) -> list[NewMemory]:
    """Memories of these texts, an hour apart."""
    return [
        NewMemory(text, f"m{number}", occurred_at=NOW - timedelta(hours=100 - number))
        for number, text in enumerate(texts, start=first)
    ]


async def page(pools: Pools, slug: str) -> PageRow:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", slug)
    assert row is not None
    return row


async def whole(pools: Pools, slug: str) -> PageWhole:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", slug)
        assert row is not None
        return await browse.whole(connection, SCOPE, row)


def text_of(found: PageWhole) -> str:
    return "\n".join(section.body_md for section in found.sections)


async def merge(pools: Pools, slug: str, into: str) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.lock(connection, SCOPE, now=NOW)
        one = await browse.page_by_key(connection, SCOPE, "entity", slug)
        other = await browse.page_by_key(connection, SCOPE, "topic" if into == "tavira" else "entity", into)
        assert one is not None
        assert other is not None
        await acts.merge_pages(connection, SCOPE, one, other, now=NOW)


async def rename(pools: Pools, slug: str, title: str) -> None:
    row = await page(pools, slug)
    async with scoped(pools.background, SCOPE) as connection:
        await acts.rename_page(connection, SCOPE, row, title, now=NOW)


async def name(pools: Pools, slug: str, alias: str) -> None:
    row = await page(pools, slug)
    async with scoped(pools.background, SCOPE) as connection:
        await acts.add_alias(connection, SCOPE, row, alias, now=NOW)


async def reset(pools: Pools, mode: ResetMode) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=mode, now=NOW)


async def undo(pools: Pools, slug: str = "") -> None:
    """Undo the merge of this page, or the only one."""
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.lock(connection, SCOPE, now=NOW)
        every = [ruling(row) for row in await rulings.listed(connection, SCOPE)]
        merged = next(one for one in every if one.kind is RulingKind.MERGED and slug in ("", one.page.slug))
        await acts.undo_merge(connection, SCOPE, merged, every, now=NOW)


async def is_replayed(pools: Pools) -> bool:
    found = await replay(engine_on(pools), pools.background, SCOPE)
    return (found.differences, found.unreplayable) == ((), 0) and found.is_identical


async def report(pools: Pools, slug: str, sentence: str) -> None:
    row = await page(pools, slug)
    async with scoped(pools.background, SCOPE) as connection:
        found = await browse.whole(connection, SCOPE, row, with_texts=True)
        cited = (one for section in found.sections for one in section.sources)
        texts = {one.memory_id: one.text for one in (*cited, *found.other_sources) if one.text}
        await acts.report_sentence(connection, SCOPE, row, sentence, texts, now=NOW)


async def restore(pools: Pools) -> None:
    """Restore the only reported sentence."""
    async with scoped(pools.background, SCOPE) as connection:
        (row,) = (one for one in await rulings.listed(connection, SCOPE) if one.kind == RulingKind.SENTENCE)
        await acts.restore_sentence(connection, SCOPE, ruling(row), now=NOW)
