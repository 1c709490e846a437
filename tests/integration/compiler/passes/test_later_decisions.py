"""The page of a decision lists the later decisions that take it back, in whatever jobs they come."""

from __future__ import annotations

from datetime import timedelta

import orjson
import pytest

from store.content.memories import NewMemory
from store.db.postgres import Pools
from tests.support.compiler.compiling import NOW, Clock, again, compiled_in_jobs, forget, wiki_of

PAGE = "page /wiki/decision/rent-the-smaller-boat-for-the-summer"
DECIDED = NewMemory("We decided to rent the smaller boat for the summer.", "decided", NOW - timedelta(days=90))
REVERSED = NewMemory("Changed our minds: we will not rent the smaller boat.", "reversed", NOW - timedelta(days=2))
OTHERS = (
    NewMemory("I'll go with the green tiles for the hallway.", "tiles", NOW - timedelta(days=40)),
    NewMemory("We decided not to repaint the old kitchen door.", "door", NOW - timedelta(days=30)),
)
EVERY = (DECIDED, *OTHERS, REVERSED)


def later(wiki: dict[str, bytes]) -> tuple[str, list[str]]:
    """Return the list of later decisions on the page, and the memories that prove it; empty without one."""
    sections = orjson.loads(wiki[PAGE])["sections"]
    found = [one for one in sections if one["slug"] == "later_decisions"]
    return (found[0]["body_md"], [source["memory_id"] for source in found[0]["sources"]]) if found else ("", [])


@pytest.mark.parametrize(
    "parts",
    [[EVERY], [[one] for one in EVERY], [[one] for one in EVERY[::-1]], [(REVERSED, *OTHERS), [DECIDED]]],
    ids=["one job", "in order", "backwards", "reversed first"],
)
async def test_reversed_decision_says_so_whatever_jobs_the_memories_come_in(
    pools: Pools, parts: list[list[NewMemory]]
) -> None:
    """The two were said in two years."""
    clock = Clock()
    wiki = await compiled_in_jobs(pools, parts, clock)
    body, cited = later(wiki)
    assert cited == ["reversed"]
    assert "we will not rent the smaller boat" in body
    assert body.count("\n") == 0
    assert wiki == await compiled_in_jobs(pools, [[]], clock), "a further compile changes nothing"


async def test_forgotten_reversal_is_listed_no_more(pools: Pools) -> None:
    await compiled_in_jobs(pools, [EVERY], Clock())
    await forget(pools, "reversed")
    await again(pools, minutes=20)
    assert later(await wiki_of(pools)) == ("", [])
