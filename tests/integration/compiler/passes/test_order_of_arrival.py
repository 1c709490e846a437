"""Without a model the pages are a function of the set of memories, not of the batches and the order in which they came."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import orjson
import pytest

from compiler.operations import acts
from compiler.operations.replay import replay
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.wiki import browse, candidates
from store.wiki.browse import PageRow
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    compiled_in_jobs,
    engine_on,
    shared_out,
)

SAID = (
    "Tarkin opened the shop before seven and swept the long yard.",
    "Nobody in the whole street had seen Tarkin leave the yard.",
    "Game 7 was louder than the market hall in winter.",
    "Everyone at home watched Game of Thrones until very late.",
    "During the long ferry ride Game of Thrones was read twice.",
    "Odile painted the kitchen door in a very dark green.",
    "The paintings of Odile and Tarkin hang in the town hall.",
    "Hoje a Odile foi pintar o muro velho da escola.",
    "Shadow slept under the table for the entire evening.",
    "They got a puppy named Shadow from the shelter in Faro.",
    "Brisa and Odile walked the dog along the harbour wall.",
    "Brisa, Corvo, Odile, Tarkin and Ximena cooked for forty guests.",
    "Ximena met Corvo and Brisa at the harbour in the rain.",
    "The dog of Ximena chased Corvo around the fountain.",
    "Ximena rowed across the lake to Velmar before breakfast.",
    "The baker of Velmar sells a very dark loaf with seeds.",
    "They danced in the rain at Velmar Castle until midnight.",
    "The tower of Velmar Castle is closed for repairs until June.",
    "Corvo photographed a Thornwick in the reeds near the mill.",
    "Two Thornwicks built a nest behind the old mill wheel.",
    "Everyone at the mill counts the Thornwicks in early spring.",
    "Odile found an old map of the osier Marsh in the attic.",
    "Herons sleep at the Osier Marsh when the wind turns north.",
    "A guide at the Osier Marsh lends rubber boots to visitors.",
    "We rented two bicycles from Gilda Fontana near the tower.",
    "The oven of Gilda Fontana Bakery was repaired on Monday.",
    "Every child in the street knows Gilda Fontana Bakery.",
    "My aunt has bought her bread from Gilda Fontana since May.",
    "The ferryman is Lorcan Beddow, known on the river as the Pike.",
    "We waited for Pike at the landing until the rain stopped.",
    "Pike sold two nets to the baker and went home early.",
    "A letter for Lorcan Beddow lay at the landing for a week.",
    "Wilma Sorrel is the alderman for water and signs the permits.",
    "Wilma Sorrel wrote that the landing will be closed in June.",
    "The grey tug lay beside the Wilma, which had lost its mast.",
    "We painted the rudder of Wilma green before the regatta.",
    "Wilma Sorrel wants the key of the landing before the regatta.",
    "Odile found a nurse, Faith, who is free from the first of May.",
    "The money would keep Faith at the house for another year.",
    "Faith said that the stairs need a rail before the winter.",
    "The loaves of the fair were from Krume and Co in the old yard.",
    "Krume and Co sells its last loaves before the bridge opens.",
    "The yard of Krume was swept on Monday by the whole family.",
    "The market in Harnow closes at noon on every Friday.",
    "Harnow Academy wants a new roof before the winter comes.",
    "Tarkin walked to Harnow through the rain for bread.",
    "Harnow is empty on Sundays when the ferry does not run.",
    "The choir of Harnow Academy sang for us until midnight.",
    "Tilda Morrow wants a brighter lamp at the landing this winter.",
    "Tilda Morrow called the ferry twice on Monday and once on Friday.",
    "Morrow Finch wants new oars for the old boat in spring.",
    "Morrow Finch called from the mill and asked for the long rope.",
    "Morrow left three barrels under the bridge again last night.",
)
PATHS = (
    "entity/tarkin",
    "entity/game-of-thrones",
    "entity/shadow",
    "entity/krume-and-co",
    "entity/harnow",
    "entity/harnow-academy",
    "topic/painting",
)
CHAT = (
    "kim: liv came over and we cooked soup for the whole street",
    "lou: i saw the new boss today. Liv has three dogs and a boat. she waved at me",
    "kim: liv told me that the boat leaks in the rain",
    "lou: no way, liv never said a word to me about it",
    "kim: we went to porto with jasmin and the rain was warm",
    "lou: porto was full. Jasmin lost her bag there. she cried a bit",
    "kim: jasmin made me a playlist with a lot of drums on it",
    "lou: i want to learn pottery with jasmin in the spring",
    "kim: marek drives us to the lake. his car is old",
    "lou: ok who is driving. Marek said he can. he has a van",
    "kim: thanks marek for the lift to the station yesterday",
    "lou: the dog of liv ran after marek for an hour",
    "kim: Today was good. Liv and Jasmin baked a cake for Marek.",
    "lou: mum said that tarkin is back in town for good",
    "kim: tarkin opened a shop near the river last week",
    "lou: me n oskar walked home in the dark",
    "kim: what did oskar say then",
    "lou: dont tell oskar about the boat",
)
ORDERS = (
    (2, 1, 0),
    (3, 2, 2),
    (1, 14, 3),
    (5, 3, 0),
    (50, 1, 1),
)  # memories of a batch, jobs, and the seed of a shuffle
FIRST = (
    "Ximena rowed across the lake to Velmar before breakfast.",
    "The baker of Velmar sells a very dark loaf with seeds.",
)
LATER = (
    "They danced in the rain at Velmar Castle until midnight.",
    "The tower of Velmar Castle is closed for repairs until June.",
)
LAST = (
    "Velmar Abbey has a cellar full of apples and old wood.",
    "Two monks of Velmar Abbey keep bees behind the chapel.",
)


def memories(said: Sequence[str] = SAID, *, first: int = 0) -> list[NewMemory]:
    return [NewMemory(text, f"m{at:03}", NOW - timedelta(hours=100 - at)) for at, text in enumerate(said, first)]


async def told(pools: Pools, entries: list[NewMemory], clock: Clock) -> dict[str, bytes]:
    """Compile the memories in a job of their own, and return the wiki."""
    return await compiled_in_jobs(pools, [entries], clock)


async def page_named(pools: Pools, name: str) -> PageRow | None:
    async with scoped(pools.background, SCOPE) as connection:
        found = await candidates.by_aliases(connection, SCOPE, [name])
        return await browse.page(connection, SCOPE, found[0][1]) if found else None


def shape(wiki: dict[str, bytes]) -> set[tuple[str, ...]]:
    """Return the pages, the memories that each cites, and the links."""
    found: set[tuple[str, ...]] = set()
    for name, body in wiki.items():
        if name.startswith("link "):
            found.add((name,))
        elif name.startswith("page "):
            page = orjson.loads(body)
            sources = [one for section in page["sections"] for one in section["sources"]]
            sources += [one for alias in page["aliases"] for one in alias["sources"]]
            found.update((name, one["memory_id"]) for one in sources)
    return found


async def test_the_same_memories_give_the_same_pages_however_they_came(pools: Pools, is_soak: bool) -> None:
    whole = shape(await compiled_in_jobs(pools, [memories()], Clock(), scope=HOUSEMATE))
    assert {name[0] for name in whole} >= {f"page /wiki/{path}" for path in PATHS}
    for size, jobs, seed in ORDERS if is_soak else ORDERS[1:3]:
        scope, entries = Scope(HOUSEMATE.tenant_id, uuid4()), memories()
        random.Random(seed).shuffle(entries) if seed else None
        found = shape(await compiled_in_jobs(pools, shared_out(entries, jobs), Clock(), size=size, scope=scope))
        assert found ^ whole == set(), (size, jobs, seed)
        replayed = await replay(engine_on(pools), pools.background, scope)
        assert (replayed.differences, replayed.unreplayable) == ((), 0), (size, jobs, seed)


async def test_the_same_chat_in_lower_case_gives_the_same_pages_in_batches_of_any_size_and_order(pools: Pools) -> None:
    whole = shape(await compiled_in_jobs(pools, [memories(CHAT)], Clock(), scope=HOUSEMATE))
    assert {("page /wiki/entity/liv", "m000"), ("page /wiki/entity/jasmin", "m006")} <= whole
    assert "page /wiki/entity/oskar" in {name[0] for name in whole}
    for size, jobs in ((1, 1), (3, 5), (50, 15)):
        scope, entries = Scope(HOUSEMATE.tenant_id, uuid4()), memories(CHAT)
        random.Random(size).shuffle(entries)
        found = shape(await compiled_in_jobs(pools, shared_out(entries, jobs), Clock(), size=size, scope=scope))
        assert found ^ whole == set(), (size, jobs)


async def test_page_whose_name_is_rejected_is_merged_into_its_replacement(pools: Pools) -> None:
    clock = Clock()
    before = await told(pools, memories(FIRST), clock)
    assert "page /wiki/entity/velmar" in before
    after = await told(pools, memories(LATER + LATER[:1], first=2), clock)
    assert not {"page /wiki/entity/velmar"} & after.keys()
    page = await page_named(pools, "velmar")
    assert page is not None
    assert page.slug == "velmar-castle"
    assert {one[1] for one in shape(after) if one[0] == "page /wiki/entity/velmar-castle"} >= {"m000", "m001"}
    again = await told(pools, memories(LAST, first=5), clock)
    assert "page /wiki/entity/velmar" in again, "a second longer name makes the short one ambiguous"
    cited = {one[1] for one in shape(again) if one[0] == "page /wiki/entity/velmar-castle"}
    assert cited == {"m002", "m003", "m004"}
    replayed = await replay(engine_on(pools), pools.background, SCOPE)
    assert (replayed.differences, replayed.unreplayable) == ((), 0)


MET = (
    "Oscar Lindgren kam gestern mit dem Fahrrad zum Treffen.",
    "Oscar Lindgren wants to sell the old boat before winter.",
    "Oscar Lindgren repaired the roof of the shed in a week.",
    "We had a long lunch at Café Sombra with Oscar Lindgren.",
    "The soup at Café Sombra is served with dark bread.",
    "Everyone at Café Sombra was watching the rain.",
)


def at_two_cities(said: Sequence[str]) -> list[NewMemory]:
    """Return memories of which two that name Café Sombra were made there, by their metadata in two cities."""
    cities = {3: "Lyon", 4: "Leeds"}
    places = {at: {"place": {"name": "Café Sombra", "city": city}} for at, city in cities.items()}
    return [replace(one, metadata=places.get(at, {})) for at, one in enumerate(memories(said))]


def contents(wiki: dict[str, bytes]) -> dict[str, object]:
    """Return all that the pages say, with the sources of it."""
    return {name: orjson.loads(body) for name, body in wiki.items() if name.startswith("page ")}


async def test_headings_lines_and_tags_of_a_page_do_not_depend_on_what_came_first(pools: Pools) -> None:
    entries = at_two_cities(MET)
    whole = contents(await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE))
    assert {"page /wiki/entity/oscar-lindgren", "page /wiki/entity/cafe-sombra"} <= whole.keys()
    parts = [[one] for one in reversed(entries)]
    assert contents(await compiled_in_jobs(pools, parts, Clock())) == whole
    replayed = await replay(engine_on(pools), pools.background, SCOPE)
    assert (replayed.differences, replayed.unreplayable) == ((), 0)


async def test_a_decision_that_two_notes_state_opens_with_the_first_of_them_whichever_came_first(pools: Pools) -> None:
    entries = memories(["We decided to leave the old boat in Faro."] * 2)
    entries[0] = replace(entries[0], occurred_at=NOW - timedelta(days=9))
    whole = await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE)
    reverse = await compiled_in_jobs(pools, [[one] for one in reversed(entries)], Clock())
    (path,) = (name for name in whole if name.startswith("page /wiki/decision/"))
    for wiki in (whole, reverse):
        page = orjson.loads(wiki[path])
        assert [one["memory_id"] for one in page["summary_sources"]] == ["m000"]
        assert page["summary"].startswith("2026-02-20: ")


async def test_a_relative_has_one_page_whichever_word_for_the_relative_came_first(pools: Pools) -> None:
    entries = memories(("Oma Trude backt am Sonntag Kuchen für Ximena.", "Grandma baked for Ximena and me on Friday."))
    entries[0] = replace(entries[0], metadata={"origin": "tool"})
    whole = contents(await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE))
    assert "page /wiki/entity/grandma" in whole
    assert contents(await compiled_in_jobs(pools, [[one] for one in entries], Clock())) == whole


def of_a_town(*texts: str, first: int = 0) -> list[NewMemory]:
    """Return memories, of which those at a bakery tell that Osterhude is a town."""
    place = {"place": {"name": "Backstube Elbe", "city": "Osterhude"}}
    told = memories(texts, first=first)
    return [replace(one, metadata=place) if "Backstube" in one.text else one for one in told]


TOWN = (
    "The baker's son moved to Osterhude with two cats.",
    "Osterhude has a ferry for which we waited until noon.",
    "At Backstube Elbe the bread is dark and heavy.",
    "Ximena met Corvo at Backstube Elbe in Osterhude.",
)


@pytest.mark.parametrize("first", [2, 3])
async def test_page_of_a_name_becomes_the_citys_when_a_later_memory_shows_it_is_one(pools: Pools, first: int) -> None:
    whole = await compiled_in_jobs(pools, [of_a_town(*TOWN)], Clock(), scope=HOUSEMATE)
    assert "page /wiki/topic/osterhude" in whole
    clock = Clock()
    before = await told(pools, of_a_town(*TOWN[:2]), clock)
    assert "page /wiki/entity/osterhude" in before
    for texts, at in ((TOWN[2:first], 2), (TOWN[first:], first)):
        found = await told(pools, of_a_town(*texts, first=at), clock) if texts else before
    assert shape(found) == shape(whole)
    replayed = await replay(engine_on(pools), pools.background, SCOPE)
    assert (replayed.differences, replayed.unreplayable) == ((), 0)


async def test_page_named_by_an_operator_stays_after_a_memory_calls_it_a_city(pools: Pools) -> None:
    clock = Clock()
    await told(pools, of_a_town(*TOWN[:2]), clock)
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", "osterhude")
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The village", now=NOW)
    after = await told(pools, of_a_town(*TOWN[2:], first=2), clock)
    assert {name for name in after if "osterhude" in name and name.startswith("page ")} == {
        "page /wiki/entity/osterhude"
    }


async def test_page_that_an_operator_touched_is_never_withdrawn(pools: Pools) -> None:
    clock = Clock()
    await told(pools, memories(FIRST), clock)
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", "velmar")
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The village", now=NOW)
    after = await told(pools, memories(LATER, first=2), clock)
    assert "page /wiki/entity/velmar" in after
    page = await page_named(pools, "the village")
    assert page is not None
    assert page.slug == "velmar"


async def test_theme_is_titled_in_the_language_of_most_lines_whichever_came_first(pools: Pools) -> None:
    german = (
        "Wir gehen am Abend zum Töpfern.",
        "Die Keramik ist im Ofen zersprungen.",
        "Ich mag Keramik von dort sehr.",
    )
    english = tuple(
        f"The {one} bowl of clay cracked in the kiln of the school." for one in ("red", "blue", "tall", "flat")
    )
    clock = Clock()
    await told(pools, memories(german), clock)
    page = await page_named(pools, "pottery")
    assert page is not None
    assert (page.slug, page.title) == ("pottery", "Keramik")
    await told(pools, memories(english, first=3), clock)
    for name in ("pottery", "keramik"):
        page = await page_named(pools, name)
        assert page is not None
        assert page.title == "Pottery"
    replayed = await replay(engine_on(pools, clock=clock), pools.background, SCOPE)
    assert (replayed.differences, replayed.unreplayable) == ((), 0)


async def test_names_of_a_theme_rest_on_the_same_memories_whenever_it_was_titled(pools: Pools) -> None:
    """In one job it is titled once, over all lines; in many by the memory that opened the page then."""
    entries = memories(
        (
            "Odile Brandt ist nicht verheiratet mit Tom Ortega.",
            "Ximena Prado ist verheiratet mit Marc Keller.",
            "Odile Brandt ist verheiratet mit Tom Ortega.",
            "Ximena Prado is not married to Marc Keller.",
        )
    )
    alone = await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE)
    whole = orjson.loads(alone["page /wiki/topic/marriage"])
    cited = {one["key"]: [source["memory_id"] for source in one["sources"]] for one in whole["aliases"]}
    assert cited == {key: ["m000", "m001", "m002", "m003"] for key in ("hochzeit und ehe", "marriage")}
    found = await compiled_in_jobs(pools, [[entry] for entry in entries], Clock())
    page = orjson.loads(found["page /wiki/topic/marriage"])
    assert (page["title"], page["aliases"]) == ("Hochzeit und Ehe", whole["aliases"])


async def test_full_name_is_that_of_a_surname_after_a_title_whichever_came_first(pools: Pools) -> None:
    said = ("We send the knees to Dr. Hagen Falkner at the clinic.", "Dr. Falkner called about the dog of the baker.")
    for scope, order in ((SCOPE, (0, 1)), (HOUSEMATE, (1, 0))):
        entries = memories(said)
        wiki = await compiled_in_jobs(pools, [[entries[at]] for at in order], Clock(), scope=scope)
        found = {name for name in wiki if name.startswith("page ")}
        assert found == {"page /wiki/entity/hagen-falkner"}
