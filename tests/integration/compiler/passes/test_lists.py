"""Without a model a list is of all pages that belong to it now, whichever jobs they came in and whatever it listed before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import orjson
import pytest

from compiler.operations import upkeep
from compiler.operations.replay import replay
from compiler.operations.upkeep import ResetMode
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.support.compiler.compiling import HOUSEMATE, NOW, SCOPE, Clock, compiled_in_jobs, engine_on

NAMES = ("Amber House", "Birch Garden", "Cedar Cellar", "Delta Mill")


def told(*texts: str, first: int = 0, **metadata: Any) -> list[NewMemory]:
    return [
        NewMemory(text, f"m{at:03}", NOW - timedelta(hours=200 - at), metadata=metadata)
        for at, text in enumerate(texts, first)
    ]


def of(name: str, first: int, *, said: str = "", **metadata: Any) -> list[NewMemory]:
    """Return two memories of a name, of which the first has the metadata."""
    return [
        *told(said or f"{name} had a very long line at noon.", first=first, **metadata),
        *told(f"We walked past {name} on Friday and {name} was closed.", first=first + 1),
    ]


def placed(name: str, first: int, **metadata: Any) -> list[NewMemory]:
    return of(name, first, place={"name": name, "city": "Tavira"}, **metadata)


SAID = [one for at, name in enumerate(NAMES[:3]) for one in of(name, 2 * at, said=f"{name} is a bar in Tavira.")]
SAID_OF_TWO_WORDS = [
    *(one for at, name in enumerate(NAMES[:2]) for one in of(name, 2 * at, said=f"{name} is a bar in São Tomé.")),
    *of(NAMES[2], 4, said=f"{NAMES[2]} is a bar in São Tomé.", place={"name": NAMES[2], "city": "São Tomé"}),
    *of("São Tomé Lighthouse", 6),
]
TAGGED = [one for at, name in enumerate(NAMES[:3]) for one in placed(name, 2 * at)]
TITLED = [*placed(NAMES[0], 0), *placed(NAMES[1], 2), *of("Tavira Lighthouse", 4)]
LOVED = [
    *(
        one
        for at, name in enumerate(NAMES)
        for one in told(f"Odile loves {name} in winter.", f"Odile likes {name} in May.", first=2 * at, places=[name])
    ),
    *told("Odile rowed home before dawn.", first=8),
]
THEMED = [
    one
    for at, (name, tag) in enumerate(zip(NAMES, ("pottery", "ceramics", "pottery", "ceramics"), strict=True))
    for one in of(name, 2 * at, place={"name": name}, tags=[tag])
]


def lists(wiki: dict[str, bytes]) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """Return the listed pages and the cited memories of each list with pages, by page and section."""
    found = {}
    for name, body in wiki.items():
        for one in orjson.loads(body)["sections"] if name.startswith("page ") else ():
            if one["aggregation"] is not None and one["children"]:
                children = [child["slug"] for child in one["children"]]
                found[name.removeprefix("page "), one["slug"]] = (
                    children,
                    [source["memory_id"] for source in one["sources"]],
                )
    return found


@pytest.mark.parametrize(
    ("entries", "listed"),
    [(SAID, [3]), (SAID_OF_TWO_WORDS, [1, 3]), (TAGGED, [3]), (TITLED, [1, 2]), (THEMED, [4]), (LOVED, [4])],
    ids=["said", "said of two words", "tagged", "titled", "themed", "loved"],
)
async def test_list_is_the_same_in_one_job_and_in_many(
    pools: Pools, entries: list[NewMemory], listed: list[int]
) -> None:
    """Where each page has one memory that tells of the city, one belongs by its title, or two tags name one theme."""
    whole = lists(await compiled_in_jobs(pools, [entries], Clock(), scope=HOUSEMATE))
    assert sorted(len(children) for children, _ in whole.values()) == listed
    for ordered in (entries, entries[::-1]):
        scope = Scope(HOUSEMATE.tenant_id, uuid4())
        found = lists(await compiled_in_jobs(pools, [[one] for one in ordered], Clock(), scope=scope))
        assert found == whole, "forward" if ordered is entries else "backward"
        replayed = await replay(engine_on(pools), pools.background, scope)
        assert (replayed.differences, replayed.unreplayable) == ((), 0)


async def rebuilt(pools: Pools, clock: Clock) -> dict[str, bytes]:
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=clock())
    return await compiled_in_jobs(pools, [[]], clock)


@pytest.mark.parametrize("count", [3, 4])
async def test_list_drops_a_page_that_no_longer_belongs_and_ends_with_too_few(pools: Pools, count: int) -> None:
    """The page still names the city, in passing, as it would have to for a list that has it already to keep it."""
    entries = placed(NAMES[0], 0)
    entries += [
        one for at, name in enumerate(NAMES[1:count], 1) for one in of(name, 2 * at, said=f"{name} is a bar in Tavira.")
    ]
    clock = Clock()
    before = lists(await compiled_in_jobs(pools, [entries], clock))
    assert {page for page, _ in before} == {"/wiki/topic/tavira"}
    assert sum(len(children) for children, _ in before.values()) == count
    moved = told("Cedar Cellar is a bar that Tavira loves.", first=4)
    after = lists(await compiled_in_jobs(pools, [moved], clock))
    left = {"amber-house", "birch-garden", "delta-mill"} if count == 4 else set()
    assert {child for children, _ in after.values() for child in children} == left
    assert lists(await rebuilt(pools, clock)) == after
