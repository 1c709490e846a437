"""Memories taken back while a compile has them in hand: their words come to stand nowhere, whichever plan is thrown away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from compiler.operations import acts
from compiler.plan.batch import LeafBatch
from compiler.planners.planner import ExtractivePlanner, Proposed
from sidecar.services.memories import Memories
from store.compile import ledger, scopes
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse
from store.wiki.pages import page_uuid
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    again,
    all_jobs,
    capped,
    engine_on,
    fetch,
    forget,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)
from tests.support.store.held_words import holders

PAGE = "page /wiki/entity/renee-castellano"


async def test_memory_forgotten_during_its_compile_leaves_no_word_and_no_row(pools: Pools) -> None:
    """Its words are in the worker's hands when it goes: the plan is refused, and made of what is left."""

    class Forgetting(ExtractivePlanner):
        has_forgotten = False

        async def plan_leaf(self, batch: LeafBatch) -> Proposed:
            if not self.has_forgotten:
                self.has_forgotten = True
                await forget(pools, "secret")
            return await super().plan_leaf(batch)

    secret = NewMemory("Renee Castellano told Dale Whitaker that the vault opens with 4417.", "secret", NOW)
    await write_and_compile(pools, [*journal(12), secret], engine_on(pools, planner=Forgetting()))
    await again(pools)
    after = await wiki_of(pools)
    assert PAGE in after
    assert not any(b"4417" in body or b"secret" in body for body in after.values())
    assert not any("secret" in name for name in after)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert set(await ledger.read_all(connection, SCOPE)) == {one.memory_id for one in journal(12)}


async def test_ignored_name_keeps_no_quote_of_an_edited_memory(pools: Pools, database: str) -> None:
    told = NewMemory("Renee Castellano heard Ottilie Brandt play the kumquat song.", "said", NOW)
    await write_and_compile(pools, [*journal(12), told], engine_on(pools))
    quotes = "SELECT quote, mention_id FROM wiki_mention_sightings JOIN wiki_unresolved_mentions USING (tenant_id, mention_id)"
    held = [row for row in await fetch(database, quotes) if "kumquat" in row["quote"]]
    assert held
    async with scoped(pools.background, SCOPE) as connection:
        for row in held:
            assert await acts.ignore_mention(connection, SCOPE, row["mention_id"], now=NOW)
    await write(pools, [replace(told, text="Renee Castellano heard Ottilie Brandt play the quince song.")])
    await again(pools)
    assert not [row for row in await fetch(database, quotes) if "kumquat" in row["quote"]]


async def test_name_that_an_edit_left_to_its_page_is_deleted_with_the_page(pools: Pools, database: str) -> None:
    first = NewMemory("Ottilie Brandt works at Helios Labs. My sister Priya Raman lives in Austin.", "first", NOW)
    await write_and_compile(pools, [first], engine_on(pools))
    bakes = "Suerte Labs is a bakery in Austin. Ottilie Brandt bakes there. Dale Whitaker works at Helios Labs."
    await write(pools, [NewMemory(bakes, "bakes", NOW), NewMemory("Ottilie Brandt plays the cello.", "plays", NOW)])
    await again(pools)
    await write(pools, [replace(first, text="It rained.")])
    await again(pools, minutes=12)
    assert "wiki_pages.title" in (await holders(database, {"name": "ottilie"}))["name"]
    service = Memories(pools, now=Clock(NOW))
    for memory_id in ("bakes", "plays"):
        await service.forget(SCOPE, memory_id)
    assert await holders(database, {"name": "ottilie"}) == {}


async def test_renamed_page_is_deleted_with_its_memory_although_an_edit_emptied_it(pools: Pools, database: str) -> None:
    told = [NewMemory(f"Ottilie Brandt {what}.", what, NOW) for what in ("plays the cello", "works at Helios Labs")]
    await write_and_compile(pools, told, engine_on(pools))
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page(connection, SCOPE, page_uuid(SCOPE, "entity", "ottilie-brandt"))
        assert row is not None
        await acts.rename_page(connection, SCOPE, row, "The old Ottilie Brandt", now=NOW)
    await write(pools, [replace(one, text=f"It rained at {at}.") for at, one in enumerate(told)])
    await again(pools)
    service = Memories(pools, now=Clock(NOW))
    for one in told:
        await service.forget(SCOPE, one.memory_id)
    assert await holders(database, {"name": "ottilie"}) == {}


async def test_edit_updates_words_that_a_capped_plan_left(pools: Pools) -> None:
    told = journal(12)
    await write_and_request(pools, told)
    worker = worker_on(pools, engine_on(pools, settings=capped(max_new_pages_per_job=2)))
    assert await worker.work_once()
    (job, _) = await all_jobs(pools)
    assert job.metrics["cap_hit"] == "new_pages"
    assert any(b"met again on visit" in body for body in (await wiki_of(pools)).values())
    await write(pools, [replace(one, text=f"Nothing of note was seen on day {n}.") for n, one in enumerate(told)])
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.bump_revision(connection, SCOPE, now=NOW)
    await again(pools)
    assert not any(b"met again on visit" in body for body in (await wiki_of(pools)).values())


async def test_edit_whose_rebuild_was_capped_is_redone_when_the_rest_is_superseded(pools: Pools) -> None:
    told = journal(12)
    await write_and_compile(pools, told, engine_on(pools))
    await write(pools, [replace(one, text=one.text.replace("met again", "sang along")) for one in told])
    clock = Clock(NOW + timedelta(minutes=3))
    await wish(pools, now=clock())
    cutting = engine_on(pools, clock=clock, settings=capped(max_sections_rewritten_per_job=1))
    assert await worker_on(pools, cutting).work_once()
    assert "sections" in [job.metrics.get("cap_hit") for job in await all_jobs(pools)]
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.bump_revision(connection, SCOPE, now=NOW)
    await again(pools)
    assert not any(b"met again" in body for body in (await wiki_of(pools)).values())


async def test_edited_memory_supports_no_page_or_link_that_it_no_longer_names(pools: Pools, database: str) -> None:
    told = journal(12)
    await write_and_compile(pools, told, engine_on(pools))
    cited = "SELECT DISTINCT slug FROM wiki_section_sources JOIN wiki_pages USING (tenant_id, page_id)"
    cites = f"{cited} WHERE source_ref = 'm00000'"
    links = "SELECT count(*) FROM wiki_link_evidence WHERE ref = 'm00000' AND origin = 'co_mention'"
    before = {row["slug"] for row in await fetch(database, cites)}
    assert {"renee-castellano", "dale-whitaker"} <= before
    assert (await fetch(database, links))[0]["count"] > 0
    await write(pools, [replace(told[0], text="Suerte had no free table on that day.", metadata={"seen": "no"})])
    await again(pools)
    assert {row["slug"] for row in await fetch(database, cites)} == {"suerte"}
    assert (await fetch(database, links))[0]["count"] == 0
