"""Without a model the pages are a function of the set of memories, not of the batches and the order in which they came."""

from __future__ import annotations

import random
from datetime import timedelta

import orjson
import pytest

from compiler.operations.replay import replay
from store.content.memories import NewMemory
from store.db.postgres import Pools
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    capped,
    compiled,
    engine_on,
    wiki_of,
    wish,
    write,
)

SAID = (
    "Tarkin opened the shop before seven and swept the long yard.",
    "Nobody in the whole street had seen Tarkin leave the yard.",
    "Game 7 was louder than the market hall in winter.",
    "Everyone at home watched Game of Thrones until very late.",
    "She read Game of Thrones twice during the long ferry ride.",
    "Odile painted the kitchen door in a very dark green.",
    "The paintings of Odile and Tarkin hang in the town hall.",
    "Hoje a Odile foi pintar o muro velho da escola.",
    "Shadow slept under the table for the entire evening.",
    "They got a puppy named Shadow from the shelter in Faro.",
    "Brisa and Odile walked the dog along the harbour wall.",
    "Brisa, Corvo, Odile, Tarkin and Ximena cooked for forty guests.",
    "Ximena met Corvo and Brisa at the harbour in the rain.",
    "The dog of Ximena chased Corvo around the fountain.",
)


def memories() -> list[NewMemory]:
    return [NewMemory(text, f"m{at:03}", NOW - timedelta(hours=100 - at)) for at, text in enumerate(SAID)]


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


@pytest.mark.parametrize(("size", "jobs", "seed"), [(2, 1, 0), (5, 3, 0), (50, 1, 1), (3, 2, 2), (1, 14, 3)])
async def test_the_same_memories_give_the_same_pages_however_they_came(
    pools: Pools, size: int, jobs: int, seed: int
) -> None:
    await write(pools, memories(), scope=HOUSEMATE)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine_on(pools), scope=HOUSEMATE)
    whole = shape(await wiki_of(pools, scope=HOUSEMATE))
    assert {name[0] for name in whole} >= {
        f"page /wiki/{path}" for path in ("entity/tarkin", "entity/game-of-thrones", "entity/shadow", "topic/painting")
    }
    entries = memories()
    random.Random(seed).shuffle(entries) if seed else None
    clock = Clock()
    engine = engine_on(pools, settings=capped(record_page_size=size), clock=clock)
    share = -(-len(entries) // jobs)
    for start in range(0, len(entries), share):
        await write(pools, entries[start : start + share])
        clock.move(minutes=6)
        await wish(pools, now=clock())
        await compiled(pools, engine)
    found = shape(await wiki_of(pools))
    assert found ^ whole == set()
    replayed = await replay(engine, pools.background, SCOPE)
    assert (replayed.differences, replayed.unreplayable) == ((), 0)
