"""After forgetting, the other memories' content keeps its page, and no content is left without a source."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from compiler.operations import acts
from compiler.operations.preview import preview
from compiler.operations.replay import replay
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import PageType
from compiler.plan.proposal import Proposal, ProposedPage, ProposedSection
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings, Flags
from compiler.state.access import PooledAccess
from store.compile import ledger
from store.compile.ledger import MemoryOutcome
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.text.texts import text_hash
from store.wiki import browse
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    again,
    all_jobs,
    compiled,
    engine_on,
    fetch,
    forget,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
)
from tests.support.store.held_words import holders

NAMED = NewMemory("Quentin Marsh opened a stall by the river.", "named", NOW - timedelta(days=2))
LEFT = NewMemory("It sells kumquats in June.", "left", NOW - timedelta(days=1))
STALL = "page /wiki/topic/kumquat-stall"


def page(title: str, kind: PageType, body: str, *memory_ids: str) -> ProposedPage:
    section = ProposedSection("overview", "Overview", body, memory_ids)
    return ProposedPage(kind, title, sections=(section,), memory_ids=memory_ids[:1])


class Naming(ExtractivePlanner):
    """A model's manner: it names a page by what it is shown, and puts on it what names nobody."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        shown = {memory.memory_id for memory in batch.memories}
        if {"named", "left"} <= shown:
            whole = page("Quentin Marsh", PageType.ENTITY, "Opened a stall. It sells kumquats.", "named", "left")
            return Proposed(Proposal(new_pages=(whole,)))
        if "left" in shown:
            alone = page("Kumquat stall", PageType.TOPIC, "It sells kumquats in June.", "left")
            return Proposed(Proposal(new_pages=(alone,)))
        return await super().plan_leaf(batch)


async def test_words_of_other_memories_on_a_deleted_page_are_read_again(pools: Pools) -> None:
    await write_and_compile(pools, [NAMED, LEFT], engine_on(pools, planner=Naming()))
    assert "page /wiki/entity/quentin-marsh" in await wiki_of(pools)
    await forget(pools, "named")
    await again(pools, planner=Naming())
    after = await wiki_of(pools)
    assert [name for name in after if name.startswith("page ")] == [STALL]
    assert b"kumquats" in after[STALL]
    assert (await all_jobs(pools))[-1].metrics["records_read"] == 1
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        (entry,) = (await ledger.read_all(connection, SCOPE)).values()
    assert (entry.memory_id, entry.outcome, entry.content_hash != b"") == ("left", MemoryOutcome.APPLIED, True)
    await again(pools, planner=Naming())
    assert await wiki_of(pools) == after
    found = await replay(engine_on(pools, planner=Naming()), pools.background, SCOPE)
    assert (found.unreplayable, found.outdated) == (2, 0), "what was forgotten is named as such"


@pytest.mark.parametrize("place", ["before_commit", "applied"])
async def test_death_of_a_worker_keeps_the_reread_queue(pools: Pools, place: str) -> None:
    await write_and_compile(pools, [NAMED, LEFT], engine_on(pools, planner=Naming()))
    await forget(pools, "named")
    clock, places = Clock(NOW + timedelta(minutes=6)), [place]
    await wish(pools, now=clock())

    def dies(at: str) -> None:
        if places and at == places[0]:
            places.clear()
            raise asyncio.CancelledError

    engine = engine_on(pools, clock=clock, planner=Naming())
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(SCOPE)
    clock.move(minutes=2)  # its lease runs out
    assert await worker_on(pools, engine, holder="two").drain_scope(SCOPE)
    assert [name for name in await wiki_of(pools) if name.startswith("page ")] == [STALL]


async def test_preview_shows_the_reread_queue(pools: Pools) -> None:
    await write_and_compile(pools, journal(6), engine_on(pools))
    access = PooledAccess(pools.background, SCOPE)
    assert (await preview(engine_on(pools), access)).memory_count == 0
    async with scoped(pools.background, SCOPE) as connection:
        assert await ledger.queue_reread(connection, SCOPE, ["m00001", "m00002"], now=NOW) == 2
    assert (await preview(engine_on(pools), access)).memory_count == 2


async def test_queued_memory_that_was_forgotten_blocks_no_job(pools: Pools, database: str) -> None:
    await write_and_compile(pools, [NAMED, LEFT], engine_on(pools, planner=Naming()))
    await fetch(database, "DELETE FROM memories WHERE memory_id = 'left'")
    async with scoped(pools.background, SCOPE) as connection:
        assert await ledger.queue_reread(connection, SCOPE, ["left", "never"], now=NOW) == 1
    await again(pools)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert await ledger.reread_queue(connection, SCOPE, limit=9) == []


async def columns_with(database: str, word: str) -> list[str]:
    """Return the tables and columns in which a word stands, the memories' own aside."""
    found = (await holders(database, {"word": word})).get("word", [])
    return [one for one in found if not one.startswith("memories.")]


async def test_memory_forgotten_and_rewritten_within_one_job_keeps_none_of_its_old_text(
    pools: Pools, database: str
) -> None:
    """The job reads the new text by the feed, and the old one's name goes with it: it is no edit."""
    told = [NewMemory(f"Old Zwitscher Kramer mended the roof of shed {n}.", f"o{n}", NOW) for n in range(3)]
    anew = [NewMemory(f"Renee Castellano mended the roof of barn {n}.", f"o{n}", NOW) for n in range(3)]

    class Forgetting(ExtractivePlanner):
        is_done = False

        async def plan_leaf(self, batch: LeafBatch) -> Proposed:
            if not self.is_done:
                self.is_done = True
                await forget(pools, "o0", "o1", "o2")
                await write(pools, anew)
            return await super().plan_leaf(batch)

    await write_and_compile(pools, told, engine_on(pools))
    assert "wiki_pages.title" in await columns_with(database, "zwitscher")
    await write(pools, journal(12))
    await again(pools, planner=Forgetting())
    assert await columns_with(database, "zwitscher") == []
    after = await wiki_of(pools)
    assert b"mended the roof of barn 2" in after["page /wiki/entity/renee-castellano"]
    cited = "SELECT DISTINCT text_hash FROM wiki_section_sources WHERE source_ref = 'o2'"
    assert [row["text_hash"] for row in await fetch(database, cited)] == [text_hash(anew[2].text)]


async def test_archived_page_cites_nothing_for_a_removed_summary(pools: Pools, database: str) -> None:
    await write_and_compile(
        pools,
        [NewMemory(f"Old Otto Kramer mended the roof of shed {n}.", f"o{n}", NOW) for n in range(3)],
        engine_on(pools),
    )
    await write(pools, [NewMemory(f"Nothing of note was seen on day {n}.", f"o{n}", NOW) for n in range(3)])
    await again(pools)
    (page,) = await fetch(database, "SELECT status, summary FROM wiki_pages")
    assert (page["status"], page["summary"]) == ("archived", "")
    cited = {row["subject"] for row in await fetch(database, "SELECT subject FROM wiki_section_sources")}
    assert cited == {"alias"}, "its name is of their old texts, and goes when they do"


def placed(number: int, name: str, city: str) -> NewMemory:
    return NewMemory(
        f"{name} in {city} had a long line at door {number}.",
        f"p{number}",
        NOW - timedelta(hours=number),
        metadata={"place": {"name": name, "city": city}},
    )


UNPROVEN = """
    SELECT p.slug, s.section_slug FROM wiki_page_sections s JOIN wiki_pages p USING (tenant_id, page_id)
    WHERE p.status = 'active' AND NOT EXISTS (
        SELECT 1 FROM wiki_section_sources w WHERE w.tenant_id = s.tenant_id AND w.section_id = s.section_id)
"""


CLOSED = NewMemory("Quentin Marsh closed the stall again.", "closed", NOW - timedelta(hours=9))


class NamingOnce(ExtractivePlanner):
    """Names a page by one memory of two that name it, and puts on it what names nobody, as a model may."""

    @property
    def name(self) -> str:
        return "naming"

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        shown = {memory.memory_id for memory in batch.memories}
        if {"named", "closed", "left"} <= shown:
            body = "Opened a stall, and closed it. It sells kumquats."
            whole = page("Quentin Marsh", PageType.ENTITY, body, "named", "closed", "left")
            return Proposed(Proposal(new_pages=(whole,)))
        return await super().plan_leaf(batch)


@pytest.mark.parametrize("order", [("named", "closed"), ("closed", "named")])
async def test_name_is_removed_with_the_last_memory_that_says_it_in_any_order(
    pools: Pools, order: tuple[str, str]
) -> None:
    await write_and_compile(pools, [NAMED, CLOSED, LEFT], engine_on(pools, planner=NamingOnce()))
    for at, memory_id in enumerate(order):
        assert "page /wiki/entity/quentin-marsh" in await wiki_of(pools)
        await forget(pools, memory_id)
        await again(pools, minutes=6 * (at + 1), planner=NamingOnce())
    assert b"quentin" not in b"".join((await wiki_of(pools)).values()).lower()


async def test_name_from_an_old_text_is_removed_when_its_memory_is_forgotten(pools: Pools) -> None:
    await write_and_compile(pools, [NAMED, LEFT], engine_on(pools, planner=Naming()))
    await write(pools, [replace(NAMED, text="Somebody opened a stall by the river.")], now=NOW + timedelta(minutes=5))
    await again(pools, minutes=6, planner=Naming())
    await forget(pools, "named")
    await again(pools, minutes=12, planner=Naming())
    assert b"quentin" not in b"".join((await wiki_of(pools)).values()).lower()


async def test_section_of_a_hub_is_removed_with_its_last_memory(pools: Pools, database: str) -> None:
    """The places that it lists stay, by what later memories say of them, and so does the hub, by another section."""
    kinds = {"restaurants": ("Lime Yard", "Suerte", "Haus Hof"), "coffee": ("Casa Lola", "Epoch Roasters", "Cuvee Bar")}
    told, number = [], 0
    for kind, places in kinds.items():
        for name in places:
            for _ in range(2):
                number += 1
                one = placed(number, name, "Austin")
                tags = ["restaurant" if kind == "restaurants" else "cafe"]
                told.append(replace(one, metadata={**one.metadata, "tags": tags}))
    await write_and_compile(pools, told, engine_on(pools))
    later = [
        NewMemory(f"On day {n} {name} was the fullest bar in Austin.", f"l{name}{n}", NOW)
        for name in kinds["coffee"]
        for n in "12"
    ]
    await write(pools, later)
    await again(pools)
    assert await fetch(database, UNPROVEN) == []
    slugs = (
        "SELECT section_slug FROM wiki_page_sections s JOIN wiki_pages USING (tenant_id, page_id) WHERE slug = 'austin'"
    )
    assert {row["section_slug"] for row in await fetch(database, slugs)} > {"restaurants", "coffee"}
    await forget(pools, *(one.memory_id or "" for one in told[6:]))
    clock = Clock(NOW + timedelta(minutes=12))
    await wish(pools, now=clock())
    alone = CompileSettings(flags=Flags(aggregation_pass_enabled=False))
    await compiled(pools, engine_on(pools, clock=clock, settings=alone))
    assert await fetch(database, UNPROVEN) == []
    left = {row["section_slug"] for row in await fetch(database, slugs)}
    assert "restaurants" in left
    assert "coffee" not in left
    after = await wiki_of(pools)
    assert "page /wiki/entity/casa-lola" in after, list(after)
    assert not [name for name in after if name.startswith("link /wiki/topic/austin reference /wiki/entity/casa-lola")]


SEEN = (
    "We saw Renee Castellano paint a red boat.",
    "Dinner with Renee Castellano lasted until midnight.",
    "We helped Renee Castellano carry a large kiln.",
    "The ferry was late, and Renee Castellano told us about Faro.",
)


@pytest.mark.parametrize(("act", "unreplayable"), [(acts.delete_page, 0), (acts.archive_page, 0)])
async def test_held_name_whose_page_is_gone_is_held_again_and_gets_a_page(
    pools: Pools, act: Callable[..., Awaitable[None]], unreplayable: int
) -> None:
    async def told(*places: int) -> bytes | None:
        for place in places:
            await write(pools, [NewMemory(SEEN[place], f"m{place}", NOW - timedelta(hours=9 - place))])
            await again(pools, minutes=6 * (place + 1))
        return (await wiki_of(pools)).get("page /wiki/entity/renee-castellano")

    assert await told(0) is None
    assert await told(1) is not None
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", "renee-castellano")
        assert row is not None
        await act(connection, SCOPE, row, now=NOW)
    page = await told(2, 3)
    assert page is not None
    assert b'"is_active":true' in page
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.differences, found.is_identical, found.unreplayable) == ((), True, unreplayable)
