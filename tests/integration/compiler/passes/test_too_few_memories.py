"""Without a model a page goes once the memories left for its name would not make it, and returns with another that names it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from unicodedata import normalize
from uuid import uuid4

import orjson
import pytest

from compiler.operations import acts, upkeep
from compiler.operations.replay import replay
from compiler.operations.upkeep import ResetMode
from sidecar.demo import corpus
from sidecar.services.memories import Memories
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.wiki import browse
from tests.support.compiler.compiling import HOUSEMATE, NOW, SCOPE, Clock, compiled_in_jobs, engine_on

SAID = (
    "Ximena rowed across the lake to Velmar before breakfast.",
    "The baker of Velmar sells a very dark loaf with seeds.",
    "Odile painted the kitchen door in a very dark green.",
    "The paintings of Odile and Tarkin hang in the town hall.",
    "Odile watched Velmar from the tower of the town hall.",
    "Tarkin opened the shop before seven and swept the long yard.",
)

WAYS = ("forgotten", "rejected", "edited")


def memories(said: Sequence[str] = SAID, *, first: int = 0) -> list[NewMemory]:
    return [NewMemory(text, f"m{at:03}", NOW - timedelta(hours=100 - at)) for at, text in enumerate(said, first)]


def told(wiki: dict[str, bytes]) -> set[str]:
    """Return the pages with their titles, openings, names, lines, citations and lists, the held names and the links."""
    found = {name for name in wiki if name.startswith("link ") or name.endswith(" open")}
    for name, body in wiki.items():
        page = orjson.loads(body) if name.startswith("page ") else None
        if page is not None:
            found |= {f"{name} title {page['title']}", f"{name} opens {page['summary']}"}
            found |= {f"{name} named {one['key']}" for one in page["aliases"]}
            for section in page["sections"]:
                found |= {f"{name} says {line}" for line in section["body_md"].split("\n")}
                found |= {f"{name} cites {one['memory_id']}" for one in section["sources"]}
                found |= {f"{name} lists {one['slug']}" for one in section["children"]}
    return found


async def lose(pools: Pools, how: str, memory_id: str, clock: Clock) -> dict[str, bytes]:
    """Forget, reject or edit a memory, compile, and return the wiki."""
    service = Memories(pools, now=clock)
    if how == "forgotten":
        await service.forget(SCOPE, memory_id)
    elif how == "rejected":
        await service.set_status(SCOPE, memory_id, StatusDecision(MemoryStatus.REJECTED, "admin", "wrong"))
    else:
        edited = NewMemory("Nothing of note was seen on that day.", memory_id, NOW - timedelta(hours=90))
        return await compiled_in_jobs(pools, [[edited]], clock)
    return await compiled_in_jobs(pools, [[]], clock)


async def rebuilt(pools: Pools, clock: Clock) -> dict[str, bytes]:
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=clock())
    return await compiled_in_jobs(pools, [[]], clock)


@pytest.mark.parametrize(("how", "at"), [(WAYS[at % 3], at) for at in range(len(SAID))])
async def test_wiki_without_a_memory_is_that_of_the_others(pools: Pools, how: str, at: int) -> None:
    clock = Clock()
    before = await compiled_in_jobs(pools, [memories()], clock)
    after = await lose(pools, how, f"m{at:03}", clock)
    assert told(after) != told(before)
    assert (await replay(engine_on(pools, clock=clock), pools.background, SCOPE)).differences == ()
    assert told(after) ^ told(await rebuilt(pools, clock)) == set()


@pytest.mark.parametrize("how", WAYS)
async def test_page_is_removed_with_its_second_last_memory_and_returns_with_another(pools: Pools, how: str) -> None:
    clock = Clock()
    before = await compiled_in_jobs(pools, [memories(SAID[:2])], clock)
    assert "page /wiki/entity/velmar" in before
    after = await lose(pools, how, "m001", clock)
    assert "page /wiki/entity/velmar" not in after
    again = await compiled_in_jobs(pools, [memories(SAID[1:2], first=7)], clock)
    assert "page /wiki/entity/velmar" in again
    assert told(again) == told(await rebuilt(pools, clock))


@pytest.mark.parametrize("how", WAYS)
async def test_page_that_an_operator_named_stays_with_one_memory(pools: Pools, how: str) -> None:
    clock = Clock()
    await compiled_in_jobs(pools, [memories(SAID[:2])], clock)
    async with scoped(pools.background, SCOPE) as connection:
        page = await browse.page_by_key(connection, SCOPE, "entity", "velmar")
        assert page is not None
        await acts.add_alias(connection, SCOPE, page, "The village", now=NOW)
    assert "page /wiki/entity/velmar" in await lose(pools, how, "m001", clock)


# The only other memory of a library, those of two full names, one of three of a theme, and the first of a place and of a person.
@pytest.mark.parametrize("how", WAYS)
async def test_hub_with_one_memory_left_that_names_it_only_lists_pages(pools: Pools, how: str) -> None:
    """Two memories name the city, so its page says what they say; with one of them it is the hub of its places alone."""
    places = [("Cafe Lira", "cafe"), ("Nimbus Books", "store"), ("Sandrel", "restaurant")]
    there = [
        NewMemory(
            f"{name} was {word}.",
            f"p{at}{word}",
            NOW - timedelta(days=20 - at),
            metadata={"place": {"name": name, "city": "Velmar", "types": [kind]}},
        )
        for at, (name, kind) in enumerate(places)
        for word in ("full", "quiet")
    ]
    clock = Clock()
    before = await compiled_in_jobs(
        pools, [[*there, *memories(("We are back in Velmar.", "Velmar has a new tram."))]], clock
    )
    velmar = orjson.loads(before["page /wiki/topic/velmar"])
    assert "new tram" in str(velmar["sections"])
    assert any(section["children"] for section in velmar["sections"])
    after = told(await lose(pools, how, "m001", clock))
    assert "mention velmar open" in after
    assert told(await rebuilt(pools, clock)) == after


LOST = ("mem-0040", "mem-0001", "mem-0011", "mem-0047", "mem-0057", "mem-0073")


async def test_journal_without_some_memories_one_by_one_is_that_of_the_others(pools: Pools, is_soak: bool) -> None:
    """It is rebuilt for a comparison after each memory, or once after all, lost in each way: what a loss leaves stays."""
    clock, entries = Clock(), journal(100 if is_soak else 60)
    await compiled_in_jobs(pools, [entries], clock)
    lost = LOST if is_soak else LOST[:3]
    for at, memory_id in enumerate(lost):
        left = await lose(pools, WAYS[at % 3], memory_id, clock)
        if is_soak or memory_id == lost[-1]:
            assert told(left) ^ told(await rebuilt(pools, clock)) == set(), memory_id


async def test_journal_in_two_jobs_is_that_of_one(pools: Pools, is_soak: bool) -> None:
    entries = [one for one in journal(60) if one.memory_id != "mem-0001"]
    whole = told(await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE))
    for first in (20, 30, 40) if is_soak else (40,):
        for parts in ([entries[:first], entries[first:]], [entries[first:], entries[:first]]):
            scope = Scope(HOUSEMATE.tenant_id, uuid4())
            assert told(await compiled_in_jobs(pools, parts, Clock(), scope=scope)) ^ whole == set(), first


def journal(size: int) -> list[NewMemory]:
    """Return the first entries of the demo's journal."""
    return [
        NewMemory(one.text, one.id, one.occurred_at, document_id=one.document_id, metadata=one.metadata)
        for one in corpus.memories()[:size]
    ]


@pytest.mark.parametrize("how", WAYS)
async def test_page_that_quotes_a_later_sentence_of_a_message_is_removed_too(pools: Pools, how: str) -> None:
    """The speaker stands before each line of the page, and in the message before its first sentence only."""
    said = (
        "lou: i saw the new boss today. Liv has three dogs and a boat. she waved at me",
        "kim: Today was good. Liv and Jasmin baked a cake for Marek.",
    )
    clock = Clock()
    before = await compiled_in_jobs(pools, [memories(said)], clock)
    assert "page /wiki/entity/liv" in before
    after = told(await lose(pools, how, "m000", clock))
    assert not any("entity/liv" in one for one in after)
    assert after == told(await rebuilt(pools, clock))


@pytest.mark.parametrize("how", WAYS)
async def test_accents_apart_from_their_letters_make_the_same_wiki(pools: Pools, how: str) -> None:
    said = (
        "We met José Lima at noon, and José left early.",
        "José Lima paints boats in the harbour of Évora.",
        "Renée Duval visited José Lima in the yard.",
        "Renée Duval is a nurse at the school.",
        "kim: zoë told me that the boat leaks in the rain",
        "lou: no way, zoë never said a word to me about it",
        "kim: we went to the lake with zoë and the rain was warm",
    )
    clock = Clock()
    whole = told(await compiled_in_jobs(pools, [memories(said)], Clock(), scope=HOUSEMATE))
    assert {
        f"page /wiki/entity/{slug} title {name}" for slug, name in (("jose-lima", "José Lima"), ("zoe", "Zoë"))
    } < whole
    apart = [normalize("NFD", one) for one in said]
    assert told(await compiled_in_jobs(pools, [memories(apart)], clock)) ^ whole == set()
    left = told(await lose(pools, how, "m004", clock))
    assert not any("entity/zoe" in one for one in left)
    assert (await replay(engine_on(pools, clock=clock), pools.background, SCOPE)).differences == ()
    assert left ^ told(await rebuilt(pools, clock)) == set()
