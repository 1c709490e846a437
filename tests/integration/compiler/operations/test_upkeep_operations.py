"""The nightly look at a wiki, and an operator's larger acts, on Postgres."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from compiler.errors import NotCompiledYet
from compiler.operations import acts, lint, upkeep
from compiler.operations.upkeep import ResetMode
from compiler.plan.contract import LinkOrigin, Section, WriteSection
from compiler.plan.upkeep import ActRefused
from compiler.state.operator_acts import enact
from store.compile import background, batches, jobs, scopes
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import browse, mentions, neighbourhood
from store.wiki import upkeep as rows
from tests.support.compiler.compiling import Clock, engine_on, fetch, worker_on
from tests.support.compiler.wiki_pages import FRANKLIN, LOLA, NOW, put_wiki

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
OTHER = Scope(tenant_uuid("acme"), owner_uuid("bob"))


@pytest.fixture
async def wiki(pools: Pools) -> Pools:
    """Pools on a database with one owner's wiki."""
    await put_wiki(pools, SCOPE)
    return pools


async def looked(pools: Pools, *, days: int = 0) -> lint.LintFindings:
    async with scoped(pools.background, SCOPE) as connection:
        return await lint.look(connection, SCOPE, now=NOW + timedelta(days=days))


async def test_healthy_wiki_has_no_findings_but_a_name_due_for_promotion(wiki: Pools) -> None:
    report = await looked(wiki)
    assert [(one.kind, one.subject) for one in report.findings] == [("ripe_mention", "Chef João")]
    assert (await looked(wiki, days=22)).counts == {}, "the first of three sightings is more than thirty days back"


async def test_every_defect_is_reported(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        lola = await browse.page_by_key(connection, SCOPE, "entity", "casa-lola")
        franklin = await browse.page_by_key(connection, SCOPE, "entity", "franklin-barbecue")
        assert lola is not None
        assert franklin is not None
        for row in (lola, franklin):
            await acts.add_alias(connection, SCOPE, row, "the usual", now=NOW)
        long = Section("overview", "Overview", "word " * 1_700)
        await enact(connection, SCOPE, [WriteSection(FRANKLIN, long)], now=NOW)
        await connection.execute("UPDATE wiki_pages SET status = 'archived' WHERE slug = 'austin'")
        await connection.execute("UPDATE wiki_pages SET title = 'Casa Lola'")
    report = await looked(wiki, days=91)
    assert report.counts == {
        "broken_text_link": 1,
        "duplicate_alias": 1,
        "duplicate_title": 1,
        "oversize_body": 1,
        "stale_page": 2,
        "unsourced_section": 1,
    }
    told = {one.kind: (one.subject, one.detail) for one in report.findings}
    assert told["broken_text_link"][0] == f"{LOLA.path}#overview"
    assert told["oversize_body"][0] == FRANKLIN.path
    assert told["unsourced_section"] == (f"{FRANKLIN.path}#overview", "cites no memory and is made of no page")
    assert told["duplicate_alias"][0] == "the usual"


async def test_archived_page_leaves_no_broken_link_and_returns_with_its_links(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        lola = await browse.page_by_key(connection, SCOPE, "entity", "casa-lola")
        austin = await browse.page_by_key(connection, SCOPE, "topic", "austin")
        assert lola is not None
        assert austin is not None
        page_id = lola.page_id

        async def linked() -> set[str]:
            found = await neighbourhood.links(connection, SCOPE, page_id, limit=50)
            return {one.page.slug for one in found}

        before = await linked()
        await acts.archive_page(connection, SCOPE, austin, now=NOW)
        assert await linked() == before - {"austin"} != before
        report = await lint.look(connection, SCOPE, now=NOW)
        assert [one for one in report.findings if "link" in one.kind] == []
        await connection.execute("UPDATE wiki_pages SET status = 'active' WHERE slug = 'austin'")
        assert await linked() == before


async def test_brackets_shown_as_text_are_no_link(wiki: Pools, database: str) -> None:
    shown = r"Nothing \[here\](/wiki/entity/nowhere), nor \\[there](/wiki/entity/away)."
    await fetch(database, "UPDATE wiki_page_sections SET body_md = $1 WHERE body_md LIKE '%/wiki/%'", shown)
    async with scoped(wiki.background, SCOPE) as connection:
        report = await lint.look(connection, SCOPE, now=NOW)
    found = {one.detail for one in report.findings if one.kind == "broken_text_link"}
    assert found == {"its text links to /wiki/entity/away, which is no page"}


async def test_nightly_lint_is_queued_once_a_day_and_carries_names_due_for_promotion(wiki: Pools) -> None:
    pool = wiki.background
    assert [await lint.queue_due(pool, now=NOW) for _ in range(2)] == [1, 1]
    async with scoped(pool, SCOPE) as connection:
        claimed = [
            await background.claim(connection, SCOPE, [lint.KIND], holder="w", lease_s=60, now=NOW) for _ in range(5)
        ]
    assert [one.kind for one in claimed if one is not None].count(lint.KIND) == 1
    await lint.handle(pool, lambda: NOW, SCOPE, "")
    assert await lint.queue_due(pool, now=NOW + timedelta(hours=23)) == 0
    assert await lint.queue_due(pool, now=NOW + timedelta(hours=25)) == 1
    assert await lint.queue_due(pool, now=NOW - timedelta(minutes=5)) == 0, "by a clock that is a little behind"
    assert await lint.queue_due(pool, now=NOW - timedelta(days=2)) == 1, "the clock was set back"
    async with scoped(pool, SCOPE) as connection:
        (job,) = await jobs.page(connection, SCOPE, limit=5)
        (mention,) = await mentions.listed(connection, SCOPE, status="open", limit=5)
    assert (job.trigger, job.options.mention_ids) == (jobs.Trigger.LINT, (str(mention.mention_id),))


async def test_operators_acts_are_logged_with_their_changes(wiki: Pools) -> None:
    async with scoped(wiki.background, SCOPE) as connection:
        before = await scopes.read(connection, SCOPE)
        done = await upkeep.rollback(
            connection, SCOPE, origin=LinkOrigin.DETERMINISTIC, prefix="deterministic:city:", now=NOW
        )
        after = await scopes.read(connection, SCOPE)
        log = await batches.log(connection, SCOPE)
    assert before is not None
    assert after is not None
    assert after.wiki_revision == before.wiki_revision + 1, "a plan upon the old revision is superseded"
    assert (done.evidence, done.links) == (2, 1), "one of the two links has a planner's word too"
    assert log[-1].kind is batches.BatchKind.OPERATOR
    assert log[-1].items is not None
    assert len(log[-1].items) == 2


async def test_lock_of_another_owner_stays_and_the_hierarchy_is_not_locked_at_once(wiki: Pools) -> None:
    await put_wiki(wiki, OTHER)
    take = partial(upkeep.rollback, origin=LinkOrigin.CO_MENTION, prefix="", now=NOW)
    async with scoped(wiki.background, SCOPE) as connection:
        assert (await take(connection, SCOPE)).links == 1
        assert (await take(connection, SCOPE)).evidence == 0
        with pytest.raises(ActRefused):
            await upkeep.rollback(connection, SCOPE, origin=LinkOrigin.PROMOTION, prefix="", now=NOW)
    async with scoped(wiki.background, OTHER) as connection:
        assert (await rows.density(connection, OTHER)).links_by_origin["co_mention"] == 1


async def test_full_reset_keeps_memories_and_other_owners(wiki: Pools) -> None:
    await put_wiki(wiki, OTHER)
    async with scoped(wiki.background, SCOPE) as connection:
        done = await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=NOW)
        assert (done.pages, done.mentions) == (3, 1)
        assert (await rows.density(connection, SCOPE)).pages == 0
        assert await memories.get(connection, SCOPE, "m1") is not None
    async with scoped(wiki.background, OTHER) as connection:
        assert (await rows.density(connection, OTHER)).pages == 3


async def test_places_are_named_after_they_are_compiled_and_every_memory_counts(wiki: Pools) -> None:
    others = ["La Casita", "CASA LOLA", "", "Franklin BARBECUE", "ATX"]
    place = {"place": {"name": "Casa Lola", "alternate_names": others}}
    new = [NewMemory(f"Back at Casa Lola, visit {n}.", f"p{n}", metadata=place) for n in range(2)]
    async with scoped(wiki.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, new, now=NOW)
        await scopes.mark_dirty(connection, SCOPE, now=NOW)
    with pytest.raises(NotCompiledYet):
        await upkeep.handle_place_names(wiki.background, lambda: NOW, SCOPE, "")
    async with scoped(wiki.background, SCOPE) as connection:
        assert [await upkeep.name_places(connection, SCOPE, now=NOW) for _ in range(2)] == [1, 0]
        row = await browse.page_by_key(connection, SCOPE, "entity", "casa-lola")
        assert row is not None
        found = await browse.whole(connection, SCOPE, row)
    (named,) = [one for one in found.aliases if one.source == "import"]
    assert (named.display, [one.memory_id for one in named.sources]) == ("La Casita", ["p0", "p1"]), (
        "a page's own name stays"
    )


async def test_places_wait_for_their_compile_however_long_it_takes(wiki: Pools, database: str) -> None:
    clock = Clock(NOW)
    worker = worker_on(wiki, engine_on(wiki, clock=clock))
    worker.handlers = {upkeep.PLACE_NAMES: partial(upkeep.handle_place_names, wiki.background, clock)}
    place = {"place": {"name": "Casa Lola", "alternate_names": ["La Casita"]}}
    async with scoped(wiki.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory("Back at Casa Lola.", "p0", metadata=place)], now=NOW)
        await scopes.mark_dirty(connection, SCOPE, now=NOW)
        await upkeep.queue_place_names(connection, SCOPE, now=NOW)
    named = "SELECT alias FROM wiki_page_aliases WHERE source = 'import'"
    for _ in range(8):
        await worker.drain_scope(SCOPE)
        clock.move(hours=2)
    assert await fetch(database, named) == []
    await fetch(database, "UPDATE wiki_compile_cursors SET read_through = dirty_through")
    await worker.drain_scope(SCOPE)
    assert [row["alias"] for row in await fetch(database, named)] == ["la casita"]
