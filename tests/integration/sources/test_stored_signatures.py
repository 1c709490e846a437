"""A stored signature is that of the item's text below its label: a replay computes it, and so finds the same repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.items import Item
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.text.texts import signatures
from store.wiki import pages
from store.wiki.pages import NewSection
from tests.integration.sources import test_builtin_sources as builtin
from tests.integration.sources.test_builtin_sources import NOW, SCOPE, WIDE, asking, say, tenants_of_the_tests

__all__ = ["tenants_of_the_tests"]


async def test_signatures_of_the_built_in_sources_are_of_the_texts_below_their_labels(pools: Pools) -> None:
    await say(pools, "The boat leaks.", "Caulk the boat.")
    knowledge = builtin.TestKnowledge()
    base_id = await knowledge.put(pools, "boats", "The boat is ashore.", "# Ashore\nThe boat stands on blocks.")
    await knowledge.assign(pools, base_id, "agent", "planner")
    async with scoped(pools.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory("The boat is a sloop.", "m1")], now=NOW)
        rig = NewSection("gaff", "Gaff", "Like the boat of [**Ana**](/wiki/entity/ana).")
        page = replace(builtin.TestWiki.PAGE, sections=(*builtin.TestWiki.PAGE.sections, rig))
        await pages.put_page(connection, SCOPE, page, now=NOW)
    sources = (ThreadSource, KnowledgeSource, MemorySource, WikiSource)
    answers = [await source(pools.turn).find(asking("boat sloop winter cover"), SCOPE, WIDE) for source in sources]
    assert all(answer.items for answer in answers)
    for answer in answers:
        assert stored(answer.items) == computed(answer.items)


def stored(items: Sequence[Item]) -> list[object]:
    """Return the stored signatures."""
    return [item.signature for item in items]


def computed(items: Sequence[Item]) -> list[object]:
    """Return the computed signatures; None for items that lack a line or a link of the stored text, which alone is signed."""
    made = signatures([item.text[item.unsigned_chars :] for item in items])
    return [None if "blocks" in item.text or "Ana" in item.text else one for item, one in zip(items, made, strict=True)]
