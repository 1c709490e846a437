"""Without a model pages do not depend on which of several names came first: of a person, or one within another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import orjson
import pytest

from compiler.operations import lint
from compiler.operations.replay import replay
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.support.compiler.called_people import said
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    compiled,
    compiled_in_jobs,
    engine_on,
    shared_out,
    wiki_of,
)

CASES = {
    "surname alone last": (
        "Berit Salomon hat eine neue Nummer.",
        "Frau Salomon möchte früher anfangen.",
        "Berit bringt die Noten mit.",
        "Salomon hat abgesagt.",
    ),
    "first name alone last": (
        "Doña Salcedo trajo las llaves nuevas.",
        "Marta Salcedo canta en el coro.",
        "Doña Salcedo arregló la puerta.",
        "Marta canta en el coro.",
    ),
    "a thing named after two things": (
        "Lamp and Lens won a prize in May.",
        "Marta left Lamp and Lens in June.",
        "Marta works for a podcast called Lamp and Lens.",
        "Lamp and Lens moved to a bigger house.",
    ),
    "a woman and a man of one surname": (
        "Herr Salomon trinkt Kaffee mit Berit.",
        "Frau Dr. Salomon hat den Vertrag unterschrieben.",
        "Herr Salomon kommt immer noch freitags.",
        "Berit mag Frau Dr. Salomon sehr.",
    ),
    "a project with and without that word": (
        "Berit says Hayate is two weeks late.",
        "Marta leads Project Hayate.",
        "Hayate failed in May.",
        "Project Hayate moved to a bigger house.",
    ),
    "a grandmother with a capital word and without": (
        "Nonna Salomon non vuole salire sulla barca.",
        "Mia nonna Salomon compie 90 anni.",
        "Nonna Salomon canta.",
        "Festa di nonna Salomon, quaranta parenti.",
    ),
    "a stage name": (
        "Lil Tibia sang in the car park.",
        "Salomon hurt a leg on stage.",
        "Lil Tibia's real name is Salomon.",
        "Berit met Salomon in May.",
    ),
    "a professor and a cat": (
        "Professor Salomon studies corals.",
        "Berit adopted a cat and named it Salomon.",
        "Berit met Professor Salomon in May.",
        "The cat Salomon sleeps in the bread basket.",
    ),
    "a second title makes the first ambiguous": (
        "Ich habe Professor Berit Salomon die Bücher zurückgegeben.",
        "Professor Salomon singt jetzt im Tenor.",
        "Frau Salomon bringt am Freitag die Noten für den Chor.",
    ),
    "a name of a page that is folded": (
        "Ms. Reuter called about the results.",
        "I gave Dr. Reuter the keys back.",
        "Dr. Olivia Reuter is fixing the roof.",
        "Hanna Reuter said the price is too high.",
        "The recipe is from Hanna Reuter and it was good.",
        "Yesterday I met Ms. Reuter at the station.",
    ),
    "a memory of a name that was settled": (
        "La receta es de Uribe y salió bien.",
        "La receta es de Señora Uribe y salió bien.",
        "Señora Uribe arregló la puerta.",
    ),
    "a name held under another": (
        "J'ai rendu les livres à Mme Lefort lundi.",
        "J'ai rendu les livres à Amélie Lefort lundi.",
        "Garnier veut commencer plus tôt.",
        "Hier j'ai vu Lefort au marché.",
    ),
    "a sister who is named once": (
        "My sister Tarkin wants to repaint the kitchen.",
        "Osier's door is green.",
        "Yesterday Tarkin was full of people.",
    ),
    "a form of address before a title": (
        "Gestern hat Frau Dr. Salomon angerufen und abgesagt.",
        "Das Rezept ist von Frau Dr. Salomon und es war gut.",
        "Frau Dr. Malte Salomon singt jetzt im Tenor.",
        "Frau Dr. Malte Salomon möchte, dass wir früher anfangen.",
    ),
    "a name partly in lower case, none of whose words is a name": (
        "We slept at the Old mill.",
        "The Old Mill has new owners.",
        "Dinner at the Old Mill was good.",
        "I installed windows 11 on the laptop.",
        "Windows 11 is slow.",
        "She likes Windows 11.",
    ),
    "a name that later memories have apart from the longer one": (
        "I watched captain Galdra with Lena, and it was long.",
        "My favourite film is captain Galdra, of all of them.",
        "We saw the new Captain Galdra yesterday.",
        "The book is a thinly veiled version of Galdra.",
    ),
    "a father and a son": (
        "Ravi Okonjo runs the hall now.",
        "Mr Okonjo pays late.",
        "Ravi Okonjo paid at once.",
        "Old Mr Okonjo fell ill.",
        "We met Mr Okonjo at the hall.",
    ),
    "a sister and somebody from work": (
        "My sister Tarka moved to Leeds.",
        "Tarka from work wants the budget.",
        "Tarka sold her boat.",
        "Tarka from work moved to another team.",
        "Tarka sings in the choir.",
    ),
    "a relative and a dog": (
        "Odo fixed the bike shed.",
        "Odo bought a new saw.",
        "My cousin Odo runs a shop in Leeds.",
        "The neighbours' dog Odo bit the postman.",
    ),
    "a first name of two people": (
        "Filka Moreno sent the text for the label.",
        "On Monday Filka invited me to the harvest.",
        "In May Filka says that the price is fine.",
        "Filka Costa showed me three exercises.",
        "Filka Costa wants me to rest.",
        "Filka Moreno wants a new label.",
    ),
    "a wife and a neighbour with a form of address": (
        "Doña Casilda, la vecina, trae empanadas.",
        "Casilda canta en el coro.",
        "Doña Casilda volvió a casa.",
        "Casilda es la esposa de Ramiro.",
        "Casilda quiere una casa nueva.",
    ),
    "a niece and a full name": (
        "Norka wants a cake with a unicorn.",
        "Norka Dahl leads the ward.",
        "Norka plays chess on Mondays.",
        "Norka Dahl wants the new rota.",
        "My niece Norka turns five in April.",
    ),
    "a designer and a client of one first name": (
        "Kickoff with Marvik Vance in Leeds.",
        "Marvik drew eleven birds before lunch.",
        "Marvik Vance wants something plain.",
        "Marvik (our designer) wants a logo by hand.",
        "Marvik Vance loved the box.",
    ),
    "two patients of one surname": (
        "Frau Kruska läuft mit dem Rollator.",
        "Frau Kruska geht am Montag nach Hause.",
        "Karl Kruska hatte eine Operation.",
        "Der neue Patient ist Karl Kruska, nicht verwandt mit Frau Kruska.",
        "Karl Kruska schnarcht.",
    ),
    "a project that was renamed": (
        "Priya designs Sparrow in May.",
        "Sparrow needs a new page.",
        "Project Kestrel launches in June.",
        "Sparrow was renamed to Project Kestrel.",
        "Kestrel slipped to July.",
    ),
    "several words of a longer name": (
        "We slept at the grand Plaza Hotel.",
        "The Grand Plaza Hotel has a pool.",
        "The grand Plaza Hotel was full again.",
        "Dinner at the Plaza Hotel was good.",
    ),
}
ORDERS = (
    (1, 1, 1),
    (50, 99, 0),
    (2, 2, 3),
    (50, 2, 0),
    (50, 99, 2),
)  # memories of a batch, jobs, and the seed of a shuffle


def told(wiki: dict[str, bytes]) -> set[str]:
    """Return the pages with their titles, openings, names, lines and citations, and the links."""
    found = {name for name in wiki if name.startswith("link ")}
    for name, body in wiki.items():
        page = orjson.loads(body) if name.startswith("page ") else None
        if page is not None:
            found |= {f"{name} title {page['title']}", f"{name} opens {page['summary']}"}
            found |= {f"{name} named {one['key']}" for one in page["aliases"]}
            for section in page["sections"]:
                found |= {f"{name} says {line}" for line in section["body_md"].split("\n")}
                found |= {f"{name} cites {one['memory_id']}" for one in section["sources"]}
    return found


@pytest.mark.parametrize("texts", CASES.values(), ids=CASES)
async def test_pages_do_not_depend_on_which_name_came_first(
    pools: Pools, texts: tuple[str, ...], is_soak: bool
) -> None:
    await check_orders(pools, texts, ORDERS if is_soak else ORDERS[:2])


async def test_part_of_a_name_is_held_no_longer_once_a_memory_gives_the_whole_name(pools: Pools) -> None:
    texts = (
        "He cooks for a supper club in Mouraria and sings there.",
        "I carried plates all night and broke only one.",
    )
    place = {"place": {"name": "Supper club in Mouraria", "city": "Lisbon"}}
    first, second = (
        NewMemory(text, f"m{at}", NOW - timedelta(days=30 - at), metadata=place if at else {})
        for at, text in enumerate(texts)
    )
    whole = await compiled_in_jobs(pools, [[first, second]], Clock(), scope=HOUSEMATE)
    clock, scope = Clock(), Scope(HOUSEMATE.tenant_id, uuid4())
    assert "mention mouraria open" in await compiled_in_jobs(pools, [[first]], clock, scope=scope)
    split = await compiled_in_jobs(pools, [[second]], clock, scope=scope)
    assert {name for name in split if name.endswith(" open")} == {name for name in whole if name.endswith(" open")}
    assert (await replay(engine_on(pools), pools.background, scope)).is_identical


async def test_lint_makes_no_page_of_a_first_name_that_two_people_have(pools: Pools) -> None:
    texts = (*CASES["a first name of two people"], "On Fridays Filka sings.")
    entries = [NewMemory(text, f"m{at:03}", NOW - timedelta(days=9 - at)) for at, text in enumerate(texts)]
    clock = Clock()
    before = told(await compiled_in_jobs(pools, [entries], clock))
    async with scoped(pools.background, SCOPE) as connection:
        report = await lint.run(connection, SCOPE, now=clock())
    assert {one.subject for one in report.findings} == {"Filka"}, "it is due for a page by its memories"
    await compiled(pools, engine_on(pools, clock=clock))
    assert told(await wiki_of(pools)) == before


@pytest.mark.parametrize("seed", range(8))
async def test_pages_do_not_depend_on_the_order_of_drawn_texts(pools: Pools, seed: int, is_soak: bool) -> None:
    await check_orders(pools, said(seed), ORDERS if is_soak else ORDERS[:1])


async def check_orders(pools: Pools, texts: Sequence[str], orders: Sequence[tuple[int, int, int]]) -> None:
    """Compile the texts at once and in each of the orders, and check that the pages are the same, and are those of a replay."""
    entries = [NewMemory(text, f"m{at:03}", NOW - timedelta(days=30 - at)) for at, text in enumerate(texts)]
    whole = told(await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE))
    for size, jobs, seed in orders:
        scope = Scope(HOUSEMATE.tenant_id, uuid4())
        ordered = random.Random(seed).sample(entries, len(entries)) if seed else entries
        found = told(await compiled_in_jobs(pools, shared_out(ordered, jobs), Clock(), size=size, scope=scope))
        assert found ^ whole == set(), (size, jobs, seed)
        replayed = await replay(engine_on(pools), pools.background, scope)
        assert (replayed.differences, replayed.unreplayable) == ((), 0), (size, jobs, seed)
