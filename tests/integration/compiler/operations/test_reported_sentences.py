"""Sentences that readers reported stay away: through later compiles, resets, rebuilds and merges, until they are restored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from compiler.operations import acts
from compiler.operations.upkeep import ResetMode
from compiler.plan import reporting
from compiler.state.row_mapping import ruling
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import rulings
from tests.support.compiler.compiling import NOW, SCOPE, again, engine_on, fetch, forget, write, write_and_compile
from tests.support.compiler.ruled_wiki import (
    LATER,
    TEXTS,
    entries,
    is_replayed,
    merge,
    page,
    rename,
    report,
    reset,
    restore,
    text_of,
    undo,
    whole,
)
from tests.support.store.held_words import holders

WRONG = "Bea Holm repairs clocks in her cellar."


@pytest.fixture
async def wiki(pools: Pools) -> Pools:
    """Pools on a database with a compiled wiki."""
    await write_and_compile(pools, entries(TEXTS), engine_on(pools))
    return pools


async def compile_later_memories(wiki: Pools, mode: ResetMode | None) -> None:
    """Reset the wiki if there is a mode, and compile memories written later."""
    if mode is not None:
        await reset(wiki, mode)
    await write(wiki, entries(LATER, first=20))
    await again(wiki)


@pytest.mark.parametrize("mode", [None, *ResetMode])
async def test_wrong_sentence_stays_away(wiki: Pools, mode: ResetMode | None) -> None:
    await report(wiki, "bea-holm", WRONG)
    await compile_later_memories(wiki, mode)
    found = await whole(wiki, "bea-holm")
    assert "clocks" not in text_of(found) + found.page.summary
    assert "midnight" in text_of(found)
    assert "flat in Lisbon" in text_of(found)
    assert "m2" not in {one.memory_id for section in found.sections for one in section.sources}
    assert await is_replayed(wiki)


async def test_restored_sentence_is_cited_again(wiki: Pools) -> None:
    before = await whole(wiki, "bea-holm")
    await report(wiki, "bea-holm", WRONG)
    async with scoped(wiki.background, SCOPE) as connection:
        (row,) = await rulings.listed(connection, SCOPE)
        await acts.restore_sentence(connection, SCOPE, ruling(row), now=NOW)
        assert await rulings.listed(connection, SCOPE) == []
    after = await whole(wiki, "bea-holm")
    assert sorted(text_of(after).split("\n")) == sorted(text_of(before).split("\n"))
    assert {one.memory_id for one in after.sections[0].sources} == {one.memory_id for one in before.sections[0].sources}
    assert await is_replayed(wiki)


async def test_report_ends_when_its_memory_is_corrected_or_forgotten(wiki: Pools, database: str) -> None:
    await report(wiki, "bea-holm", WRONG)
    await rename(wiki, "dale-whitaker", "Captain Dale")
    await write(
        wiki, [NewMemory("Bea Holm repairs violins in her cellar.", "m2", occurred_at=NOW - timedelta(hours=98))]
    )
    await again(wiki)
    assert "violins" in text_of(await whole(wiki, "bea-holm"))
    assert await holders(database, {"older": "clocks in her cellar"}) == {}, "also not in the log of acts"
    acts_kept = "SELECT 1 FROM compile_batches WHERE kind = 'operator' AND items IS NOT NULL"
    assert len(await fetch(database, acts_kept)) == 1, "an act without texts can still be replayed"
    async with scoped(wiki.background, SCOPE) as connection:
        assert "sentence" not in {one.kind for one in await rulings.listed(connection, SCOPE)}
    await report(wiki, "bea-holm", "Dinner with Bea Holm lasted until midnight.")
    await forget(wiki, "m3")
    async with scoped(wiki.background, SCOPE) as connection:
        assert "sentence" not in {one.kind for one in await rulings.listed(connection, SCOPE)}


async def reports(pools: Pools) -> list[rulings.RulingRow]:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        return [one for one in await rulings.listed(connection, SCOPE) if one.kind == "sentence"]


async def test_reported_sentence_of_no_known_memory_is_forgotten_with_any_of_its_page(
    wiki: Pools, database: str
) -> None:
    """A model may word a sentence so that it is unknown which of the cited memories it came from."""
    reworded = "Below ground, Ms Holm mends chronometers, and her guests stay late."
    row = await page(wiki, "bea-holm")
    worded = "UPDATE wiki_page_sections SET body_md = body_md || $1 WHERE page_id = $2"
    await fetch(database, worded, f"\n- {reworded}", row.page_id)
    await report(wiki, "bea-holm", reworded)
    await forget(wiki, "m2")
    assert await holders(database, {"reworded": "mends chronometers"}) == {}
    (found,) = await reports(wiki)
    assert found.ref == reporting.ref_of(reworded), "the sentence stays away"
    before = text_of(await whole(wiki, "bea-holm"))
    await restore(wiki)
    assert (await reports(wiki), text_of(await whole(wiki, "bea-holm"))) == ([], before)


@pytest.mark.parametrize("mode", [None, *ResetMode])
@pytest.mark.parametrize("is_merged_first", [False, True])
async def test_wrong_sentence_stays_away_from_the_page_that_its_page_is_merged_into(
    wiki: Pools, mode: ResetMode | None, is_merged_first: bool
) -> None:
    if is_merged_first:
        await merge(wiki, "bea-holm", "renee-castellano")
    await report(wiki, "renee-castellano" if is_merged_first else "bea-holm", WRONG)
    if not is_merged_first:
        await merge(wiki, "bea-holm", "renee-castellano")
    await compile_later_memories(wiki, mode)
    found = await whole(wiki, "renee-castellano")
    assert "clocks" not in text_of(found) + found.page.summary
    assert {"m3", "m20"} <= {one.memory_id for section in found.sections for one in section.sources}
    assert await is_replayed(wiki)


async def test_wrong_sentence_does_not_come_with_a_merge(wiki: Pools) -> None:
    shared = "Renee Castellano swam across the lake with Bea Holm."
    await report(wiki, "renee-castellano", shared)
    assert shared in text_of(await whole(wiki, "bea-holm"))
    await merge(wiki, "bea-holm", "renee-castellano")
    found = await whole(wiki, "renee-castellano")
    assert shared not in text_of(found)
    assert "midnight" in text_of(found)
    assert await is_replayed(wiki)


async def test_sentence_restored_after_a_merge_is_on_the_page_that_stays_until_the_merge_is_undone(
    wiki: Pools,
) -> None:
    await report(wiki, "bea-holm", WRONG)
    await merge(wiki, "bea-holm", "renee-castellano")
    await restore(wiki)
    assert (await page(wiki, "bea-holm")).status == "archived"
    assert WRONG in text_of(await whole(wiki, "renee-castellano"))
    await undo(wiki)
    await again(wiki)
    assert WRONG in text_of(await whole(wiki, "bea-holm"))
    assert WRONG not in text_of(await whole(wiki, "renee-castellano"))
    assert await is_replayed(wiki)
