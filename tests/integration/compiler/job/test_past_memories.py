"""The wiki shows ended memories as past, and cites a summary or its sources, never both."""

from __future__ import annotations

from datetime import datetime, timedelta

from compiler.decay.supersede import SupersessionCause
from compiler.operations import upkeep
from compiler.operations.upkeep import ResetMode
from sidecar.services.memories import Memories
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pools, scoped
from tests.support.compiler.compiling import (
    DEEDS,
    NOW,
    SCOPE,
    Clock,
    again,
    engine_on,
    fetch,
    wiki_of,
    write,
    write_and_compile,
)
from tests.support.store.held_words import holders

CORRECTED = SupersessionCause(SupersessionReason.CORRECTED, most_trusted=AuthorityTier.USER)
OLD, NEW = (
    "We hear that Dale Whitaker lives in a flat near the harbour.",
    "We hear that Dale Whitaker lives in a house by the forest.",
)


def told(memory_id: str, text: str, hours: int = 0, status: MemoryStatus | None = None) -> NewMemory:
    return NewMemory(text, memory_id, NOW - timedelta(hours=hours), status=status)


async def bodies(database: str) -> str:
    rows = await fetch(database, "SELECT body_md FROM wiki_page_sections ORDER BY body_md")
    return "\n".join(row["body_md"].replace("\\", "") for row in rows)


async def cited(database: str) -> set[str]:
    return {row["source_ref"] for row in await fetch(database, "SELECT source_ref FROM wiki_section_sources")}


async def moved(pools: Pools) -> None:
    two = [told("harbour", OLD, 5), told("job", "We hear that Dale Whitaker works as a carpenter in the old town.", 4)]
    await write_and_compile(pools, [*two, told("forest", NEW, 3)], engine_on(pools))


async def test_page_shows_ended_memory_as_past_and_restored_one_as_present(pools: Pools, database: str) -> None:
    await moved(pools)
    service = Memories(pools, now=Clock(NOW))
    before = await wiki_of(pools)
    assert OLD in await bodies(database)
    await service.supersessions.supersede(SCOPE, ["harbour"], "forest", CORRECTED)
    await again(pools)
    ended = (NOW - timedelta(hours=3)).date()
    assert f"{OLD[:-1]} (until {ended})." in await bodies(database)
    assert OLD not in await bodies(database)
    assert NEW in await bodies(database)
    assert "harbour" in await cited(database)
    await service.supersessions.restore(SCOPE, "harbour")
    await again(pools, minutes=12)
    assert await wiki_of(pools) == before


async def test_pages_do_not_depend_on_when_a_memory_ended(pools: Pools, database: str) -> None:
    await moved(pools)
    service = Memories(pools, now=Clock(NOW))
    await service.supersessions.supersede(SCOPE, ["harbour"], "forest", CORRECTED)
    await again(pools)
    ended_later = await wiki_of(pools)
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=NOW)
    await again(pools, minutes=12)
    assert await wiki_of(pools) == ended_later


async def test_forgotten_correction_makes_the_older_memory_present_on_the_page(pools: Pools, database: str) -> None:
    await moved(pools)
    service = Memories(pools, now=Clock(NOW))
    await service.supersessions.supersede(SCOPE, ["harbour"], "forest", CORRECTED)
    await again(pools)
    await service.forget(SCOPE, "forest")
    await again(pools, minutes=12)
    assert OLD in await bodies(database)
    assert "until" not in await bodies(database)


async def test_memory_that_holds_from_a_day_on_says_so_on_its_page(pools: Pools, database: str) -> None:
    began = datetime(2026, 9, 1, tzinfo=NOW.tzinfo)
    new = NewMemory("We hear that Dale Whitaker heads the workshop.", "head", NOW, valid_from=began)
    others = [told(f"o{one}", f"We hear that Dale Whitaker {DEEDS[one]}.", one) for one in range(3)]
    await write_and_compile(pools, [new, *others], engine_on(pools))
    assert "We hear that Dale Whitaker heads the workshop (from 2026-09-01T00:00Z)." in await bodies(database)


async def test_wiki_cites_an_accepted_summary_and_not_its_sources(pools: Pools, database: str) -> None:
    clock = Clock(NOW)
    service = Memories(pools, now=clock)
    candidate = MemoryStatus.CANDIDATE
    texts = (
        "We hear that Dale Whitaker plays the cello on Sundays.",
        "We hear that Dale Whitaker sings in the choir of Saint Anne.",
    )
    new = [told(f"c{place}", text, place, candidate) for place, text in enumerate(texts)]
    others = [told(f"o{one}", f"We hear that Dale Whitaker {DEEDS[one]}.", one) for one in range(3)]
    await write(pools, [*new, *others])
    always = {one.memory_id for one in others}
    summary = (await service.compress(SCOPE, ["c0", "c1"])).memory_id
    await service.set_status(SCOPE, "c0", StatusDecision(MemoryStatus.ACCEPTED, "admin", ""))
    await again(pools)
    assert await cited(database) == always | {"c0"}
    await service.set_status(SCOPE, summary, StatusDecision(MemoryStatus.ACCEPTED, "admin", ""))
    await again(pools, minutes=12)
    assert await cited(database) == always | {summary}
    await service.set_status(SCOPE, summary, StatusDecision(MemoryStatus.REJECTED, "admin", ""))
    await again(pools, minutes=18)
    assert await cited(database) == always | {"c0"}


async def test_forgotten_source_of_an_accepted_summary_is_on_no_page_at_once(pools: Pools, database: str) -> None:
    service = Memories(pools, now=Clock(NOW))
    doings = ("plays the kumquat song", "sings in the choir of Saint Anne", "swims before work")
    told_so = [f"We hear that Dale Whitaker {one}." for one in doings]
    others = [told(f"o{one}", f"We hear that Dale Whitaker {DEEDS[one]}.", one) for one in range(3)]
    await write(
        pools, [*others, *(told(f"c{at}", text, at, MemoryStatus.CANDIDATE) for at, text in enumerate(told_so))]
    )
    summary = (await service.compress(SCOPE, ["c0", "c1", "c2"])).memory_id
    await service.set_status(SCOPE, summary, StatusDecision(MemoryStatus.ACCEPTED, "admin", ""))
    await again(pools)
    assert "kumquat" in await bodies(database)
    await service.forget(SCOPE, "c0")
    assert await holders(database, {"source": "kumquat"}) == {}
    await again(pools, minutes=12)
    assert await cited(database) == {*(one.memory_id for one in others), summary}
    assert "choir of Saint Anne" in await bodies(database)
    assert await holders(database, {"source": "kumquat"}) == {}
