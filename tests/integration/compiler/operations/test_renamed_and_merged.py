"""Pages renamed and merged by hand stay so: through later compiles, resets, rebuilds and replays, until it is undone."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from compiler.operations import acts
from compiler.operations.upkeep import ResetMode
from compiler.plan.upkeep import ActRefused
from store.db.postgres import Pools, scoped
from store.wiki import browse, rulings
from tests.support.compiler.compiling import NOW, SCOPE, again, engine_on, forget, wiki_of, write, write_and_compile
from tests.support.compiler.ruled_wiki import (
    LATER,
    TEXTS,
    entries,
    is_replayed,
    merge,
    name,
    page,
    rename,
    report,
    reset,
    text_of,
    undo,
    whole,
)
from tests.support.store.held_words import holders

CAPTAIN = ("Captain Dale keeps a green parrot on deck.", "We met Captain Dale at the harbour bar.")
CLOCKMAKER = ("The Clockmaker opened a second shop on Mill Lane.", "We asked the Clockmaker about a broken bell.")


def opened(page: bytes) -> tuple[object, ...]:
    """Return a page's summary, tags and the texts of its sections."""
    read = orjson.loads(page)
    return read["summary"], read["tags"], [section["body_md"] for section in read["sections"]]


@pytest.fixture
async def wiki(pools: Pools) -> Pools:
    """Pools on a database with a compiled wiki."""
    await write_and_compile(pools, entries(TEXTS), engine_on(pools))
    return pools


async def test_merged_page_has_the_content_of_both_and_gets_later_memories(wiki: Pools) -> None:
    before = {*text_of(await whole(wiki, "bea-holm")).split("\n")}
    await merge(wiki, "bea-holm", "renee-castellano")
    found = await whole(wiki, "renee-castellano")
    assert before <= {*text_of(found).split("\n")}
    assert "bea holm" in {one.alias for one in found.aliases}
    cited = {one.memory_id for section in found.sections for one in section.sources}
    assert {"m0", "m1", "m2", "m3", "m4"} <= cited
    assert (await page(wiki, "bea-holm")).status == "archived"
    assert "/wiki/entity/bea-holm" not in text_of(await whole(wiki, "dale-whitaker"))
    await write(wiki, entries(LATER, first=20))
    await again(wiki)
    assert "flat in Lisbon" in text_of(await whole(wiki, "renee-castellano"))
    assert (await page(wiki, "bea-holm")).status == "archived"
    assert await is_replayed(wiki)


@pytest.mark.parametrize("mode", list(ResetMode))
async def test_acts_survive_a_reset(wiki: Pools, mode: ResetMode) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    await rename(wiki, "dale-whitaker", "Captain Dale")
    await reset(wiki, mode)
    await again(wiki)
    found = await whole(wiki, "renee-castellano")
    assert (found.page.status, found.page.title) == ("active", "Renee Castellano")
    assert "repairs clocks" in text_of(found)
    assert "bea holm" in {one.alias for one in found.aliases}
    dale = await page(wiki, "dale-whitaker")
    assert (dale.status, dale.title) == ("active", "Captain Dale")
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        active = await browse.pages_by_name(connection, SCOPE, status="active", limit=50)
    assert [row.slug for row in active] == ["dale-whitaker", "renee-castellano"]
    assert await is_replayed(wiki)


@pytest.mark.parametrize("mode", list(ResetMode))
async def test_name_given_by_hand_survives_a_reset_and_gets_later_memories(wiki: Pools, mode: ResetMode) -> None:
    await name(wiki, "bea-holm", "The clockmaker")
    await reset(wiki, mode)
    await write(wiki, entries(CLOCKMAKER, first=40))
    await again(wiki)
    found = await whole(wiki, "bea-holm")
    assert {one.alias: one.source for one in found.aliases}["the clockmaker"] == "manual"
    assert await is_replayed(wiki)


async def test_name_shared_with_another_page_does_not_take_its_memories(wiki: Pools) -> None:
    await name(wiki, "bea-holm", "Renee Castellano")
    await reset(wiki, ResetMode.FULL)
    await again(wiki)
    bea, renee = await whole(wiki, "bea-holm"), await whole(wiki, "renee-castellano")
    assert "renee castellano" in {one.alias for one in bea.aliases}
    assert "red boat" in text_of(renee)
    assert "red boat" not in text_of(bea)


@pytest.mark.parametrize("is_merged_again", [False, True])
async def test_undone_merge_restores_names_after_another_act_on_the_page(wiki: Pools, is_merged_again: bool) -> None:
    """A rename and a merge give rulings on all names of a page, but not on those that an earlier merge brought."""
    await name(wiki, "bea-holm", "The clockmaker")
    await merge(wiki, "bea-holm", "renee-castellano")
    if is_merged_again:
        await merge(wiki, "dale-whitaker", "renee-castellano")
    else:
        await rename(wiki, "renee-castellano", "Captain Renee")
    await undo(wiki)
    found = {one.alias for one in (await whole(wiki, "renee-castellano")).aliases}
    assert "renee castellano" in found
    assert not {"bea holm", "the clockmaker"} & found
    assert {"bea holm", "the clockmaker"} <= {one.alias for one in (await whole(wiki, "bea-holm")).aliases}
    assert await is_replayed(wiki)


async def test_name_given_by_hand_stays_when_a_merge_is_undone(wiki: Pools) -> None:
    await name(wiki, "bea-holm", "The clockmaker")
    await merge(wiki, "dale-whitaker", "bea-holm")
    await undo(wiki)
    await reset(wiki, ResetMode.FULL)
    await again(wiki)
    found = await whole(wiki, "bea-holm")
    assert "the clockmaker" in {one.alias for one in found.aliases}
    assert "dale whitaker" not in {one.alias for one in found.aliases}


async def test_memories_that_use_the_new_title_go_to_the_renamed_page(wiki: Pools) -> None:
    await rename(wiki, "dale-whitaker", "Captain Dale")
    await reset(wiki, ResetMode.FULL)
    await write(wiki, entries(CAPTAIN, first=30))
    await again(wiki)
    found = await whole(wiki, "dale-whitaker")
    assert "parrot" in text_of(found)
    assert "ferry" in text_of(found)
    assert {"captain dale", "dale whitaker"} <= {one.alias for one in found.aliases}


async def test_renamed_page_keeps_its_links(wiki: Pools) -> None:
    before = await wiki_of(wiki)
    await rename(wiki, "bea-holm", "Beatrice Holm")
    after = await wiki_of(wiki)
    assert {name for name in before if name.startswith("link ")} == {name for name in after if name.startswith("link ")}
    assert await is_replayed(wiki)


async def test_undone_merge_leaves_the_pages_as_they_were(wiki: Pools) -> None:
    before = await wiki_of(wiki)
    await merge(wiki, "bea-holm", "renee-castellano")
    await undo(wiki)
    await again(wiki)
    after = {name: value for name, value in (await wiki_of(wiki)).items() if not name.startswith("ruling")}
    assert {name for name in after if after[name] != before.get(name)} == set()
    assert after.keys() == before.keys()
    assert await is_replayed(wiki)


@pytest.mark.parametrize("mode", [None, ResetMode.FULL])
@pytest.mark.parametrize("into", ["birch-garden", "tavira"])
async def test_undone_merge_restores_tags_and_summary(pools: Pools, into: str, mode: ResetMode | None) -> None:
    """Of a page in another city. The other page is in a city, or is the hub of one, without a summary of its own."""
    names = ("Amber House", "Birch Garden", "Cedar Cellar", "Delta Mill")
    told = entries(tuple(f"{name} had a long line, {queue}." for name in names for queue in ("again", "as ever")))
    cities = {"Amber House": "Faro"}
    places = [{"name": name, "city": cities.get(name, "Tavira")} for name in names for _ in range(2)]
    placed = [replace(one, metadata={"place": place}) for one, place in zip(told, places, strict=True)]
    await write_and_compile(pools, placed, engine_on(pools))
    before = {name: opened(value) for name, value in (await wiki_of(pools)).items() if name.startswith("page")}
    await merge(pools, "amber-house", into)
    if mode is not None:
        await reset(pools, mode)
    await again(pools)
    await undo(pools)
    await again(pools, minutes=12)
    after = {name: opened(value) for name, value in (await wiki_of(pools)).items() if name.startswith("page")}
    assert after == before
    assert await is_replayed(pools)


async def test_merge_undone_after_a_rebuild_makes_both_pages(wiki: Pools) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    await reset(wiki, ResetMode.FULL)
    await again(wiki)
    await undo(wiki)
    await again(wiki, minutes=12)
    bea, renee = await whole(wiki, "bea-holm"), await whole(wiki, "renee-castellano")
    assert "repairs clocks" in text_of(bea)
    assert "repairs clocks" not in text_of(renee)
    assert "red boat" in text_of(renee)


async def test_memory_named_after_the_old_page_moves_back_when_the_merge_is_undone(wiki: Pools) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    await write(wiki, entries(LATER, first=20))
    await again(wiki)
    await undo(wiki)
    await again(wiki, minutes=12)
    bea, renee = text_of(await whole(wiki, "bea-holm")), text_of(await whole(wiki, "renee-castellano"))
    assert "Lisbon" in bea
    assert "kiln" in renee
    assert "Lisbon" not in renee


async def test_forgetting_memories_deletes_the_rulings_on_their_names(wiki: Pools) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    await reset(wiki, ResetMode.FULL)
    await forget(wiki, "m0", "m2", "m3", "m4")
    await again(wiki)
    async with scoped(wiki.background, SCOPE, read_only=True) as connection:
        rows = await rulings.listed(connection, SCOPE)
    assert "bea" not in str([(one.page_slug, one.ref, one.text) for one in rows])


@pytest.mark.parametrize("is_edited", [False, True])
async def test_merged_page_stays_away_when_a_memory_of_it_is_forgotten_or_edited(wiki: Pools, is_edited: bool) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    if is_edited:
        (first,) = entries(TEXTS[2:3], first=2)
        await write(wiki, [replace(first, text="Bea Holm repairs violins in her cellar.")])
    else:
        await forget(wiki, "m2")
    await again(wiki)
    assert (await page(wiki, "bea-holm")).status == "archived"
    assert "clocks" not in text_of(await whole(wiki, "bea-holm")) + text_of(await whole(wiki, "renee-castellano"))
    assert ("violins" in text_of(await whole(wiki, "renee-castellano"))) is is_edited
    await undo(wiki)
    await again(wiki, minutes=12)
    assert (await page(wiki, "bea-holm")).status == "active"
    assert "midnight" in text_of(await whole(wiki, "bea-holm"))


async def test_archived_page_stays_away_when_a_memory_of_it_is_forgotten(wiki: Pools) -> None:
    row = await page(wiki, "bea-holm")
    async with scoped(wiki.background, SCOPE) as connection:
        await acts.archive_page(connection, SCOPE, row, now=NOW)
    await forget(wiki, "m2")
    await again(wiki)
    assert (await page(wiki, "bea-holm")).status == "archived"
    assert "clocks" not in text_of(await whole(wiki, "bea-holm"))


@pytest.mark.parametrize("last", ["m2", "m4"])
async def test_names_given_by_hand_are_forgotten_with_the_memories_of_the_merged_page(
    wiki: Pools, database: str, last: str
) -> None:
    """Also if the last one is cited nowhere, as its sentence was reported."""
    await rename(wiki, "bea-holm", "Beatrix Holm")
    await name(wiki, "bea-holm", "The clockmaker")
    await name(wiki, "renee-castellano", "The swimmer")
    await report(wiki, "bea-holm", "Bea Holm repairs clocks in her cellar.")
    await merge(wiki, "bea-holm", "renee-castellano")
    for memory_id in (*({"m0", "m2", "m3", "m4"} - {last}), last):
        await forget(wiki, memory_id)
    await again(wiki)
    names = {one.alias for one in (await whole(wiki, "renee-castellano")).aliases}
    assert ("the swimmer" in names, names & {"beatrix holm", "the clockmaker"}) == (True, set())
    assert await holders(database, {"title": "Beatrix", "name": "clockmaker"}) == {}


@pytest.mark.parametrize(("said", "title"), [("Bea Holm", "Bea Holm"), ("Beatrix Holm", "Beatrix Holm")])
async def test_title_given_by_hand_is_forgotten_with_its_memories_unless_others_use_it(
    wiki: Pools, database: str, said: str, title: str
) -> None:
    await rename(wiki, "bea-holm", "Beatrix Holm")
    await again(wiki)
    later = (f"{said} moved to a sunny flat in Lisbon.", f"{said} teaches the cello.", f"Called {said} about a radio.")
    await write(wiki, entries(later, first=20))
    await again(wiki, minutes=12)
    for memory_id in ("m0", "m2", "m3"):
        await forget(wiki, memory_id)
    assert (await page(wiki, "bea-holm")).title == "Beatrix Holm", "a memory is left from before"
    await forget(wiki, "m4")
    assert (await page(wiki, "bea-holm")).title == title
    await again(wiki, minutes=18)
    found = await whole(wiki, "bea-holm")
    assert (found.page.title, {one.alias for one in found.aliases}) == (title, {title.lower()})
    assert bool(await holders(database, {"title": "Beatrix"})) == (title == "Beatrix Holm")


async def test_acts_that_make_no_sense_are_refused(wiki: Pools) -> None:
    for title in ("", "…", "x" * 10_000, "Bea Holm", "BEA  HOLM"):
        with pytest.raises(ActRefused):
            await rename(wiki, "dale-whitaker", title)
    with pytest.raises(ActRefused):
        await merge(wiki, "bea-holm", "bea-holm")
    await merge(wiki, "bea-holm", "renee-castellano")
    with pytest.raises(ActRefused):
        await merge(wiki, "renee-castellano", "bea-holm")
    await rename(wiki, "dale-whitaker", "東京 タワー")
    assert (await page(wiki, "dale-whitaker")).title == "東京 タワー"
    assert await is_replayed(wiki)


async def test_merge_into_a_page_that_was_merged_itself_is_undone_after_the_later_one(wiki: Pools) -> None:
    before = {name for name in await wiki_of(wiki) if name.startswith(("page", "link"))}
    await merge(wiki, "dale-whitaker", "bea-holm")
    await merge(wiki, "bea-holm", "renee-castellano")
    with pytest.raises(ActRefused, match="was merged into /wiki/entity/renee-castellano since"):
        await undo(wiki, "dale-whitaker")
    assert (await page(wiki, "bea-holm")).status == "archived"
    await undo(wiki, "bea-holm")
    await undo(wiki, "dale-whitaker")
    await again(wiki)
    assert {name for name in await wiki_of(wiki) if name.startswith(("page", "link"))} == before
    assert await is_replayed(wiki)


async def test_undone_merge_leaves_an_archived_page_archived(wiki: Pools) -> None:
    await merge(wiki, "dale-whitaker", "renee-castellano")
    row = await page(wiki, "renee-castellano")
    async with scoped(wiki.background, SCOPE) as connection:
        await acts.archive_page(connection, SCOPE, row, now=NOW)
    await undo(wiki)
    assert (await page(wiki, "renee-castellano")).status == "archived"
    assert (await page(wiki, "dale-whitaker")).status == "active"


async def test_merge_is_not_undone_while_the_remaining_page_has_a_name_of_the_merged_one(wiki: Pools) -> None:
    await merge(wiki, "bea-holm", "renee-castellano")
    await rename(wiki, "renee-castellano", "Bea Holm")
    with pytest.raises(ActRefused, match="was renamed to 'Bea Holm', a name of the merged page; rename it first"):
        await undo(wiki)
    await rename(wiki, "renee-castellano", "Renee Castellano")
    await undo(wiki)
    await again(wiki)
    assert await is_replayed(wiki)
    await reset(wiki, ResetMode.FULL)
    await again(wiki, minutes=12)
    bea, renee = await whole(wiki, "bea-holm"), await whole(wiki, "renee-castellano")
    assert ("bea holm" in {one.alias for one in bea.aliases}, "repairs clocks" in text_of(bea)) == (True, True)
    assert ("bea holm" in {one.alias for one in renee.aliases}, "red boat" in text_of(renee)) == (False, True)
    assert "repairs clocks" not in text_of(renee)
