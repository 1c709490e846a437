"""Reprocess jobs bring every page to the ontology in force; killed anywhere, they end as if undisturbed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from compiler.errors import LeaseLost
from compiler.job import reprocess
from compiler.job.reprocess import ReprocessDeps
from compiler.job.worker import Handler
from compiler.operations.replay import replay
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.governance import Governance
from store.db.postgres import Pools, scoped, tenant_scoped
from store.ontology import reprocess_jobs
from store.ontology.reprocess_jobs import ReprocessJob, ReprocessLease, ReprocessStatus, ReprocessWish
from store.ontology.terms import Lifecycle, Ontology
from store.scope import Scope
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    STRANGER,
    Clock,
    compiled,
    engine_on,
    fetch,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
)
from tests.support.compiler.ontologies import TYPES, WORLD, put_in_force

DINER = Ontology(1, tuple(one for one in TYPES if one.slug != "place"), WORLD.relationship_types)
WITHOUT_PEOPLE = replace(
    WORLD,
    entity_types=tuple(replace(one, lifecycle=Lifecycle.DEPRECATED) if one.slug == "person" else one for one in TYPES),
)


class Killed(Exception):
    """Stands for the end of the process."""


def killing(at: int) -> Callable[[str], None]:
    left = at

    def step(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed(place)

    return step


async def wikis(pools: Pools) -> None:
    """Compile a small wiki for each of the owners."""
    engine = engine_on(pools)
    for scope in (SCOPE, HOUSEMATE):
        await write(pools, journal(24), scope=scope)
        await wish(pools, scope=scope)
        await compiled(pools, engine, scope=scope)


async def approve(pools: Pools, ontology: Ontology, *, tenant_id: UUID = SCOPE.tenant_id) -> Ontology:
    """Put the ontology in force and queue its job, as an approval does."""
    made = await put_in_force(pools, ontology, tenant_id=tenant_id)
    async with scoped(pools.background, reprocess.tenant_scope(tenant_id)) as connection:
        await reprocess_jobs.queue_reprocess(
            connection, tenant_id, ReprocessWish(made.version - 1, made.version), now=NOW
        )
        await reprocess.wake(connection, tenant_id, now=NOW)
    return made


async def job_of(pools: Pools, number: int = 0) -> ReprocessJob:
    """Return the newest job, or an older one."""
    async with tenant_scoped(pools.background, SCOPE.tenant_id, read_only=True) as connection:
        return sorted(
            await reprocess_jobs.page(connection, SCOPE.tenant_id, limit=50), key=lambda one: -one.to_version
        )[number]


def deps_of(pools: Pools, clock: Clock, at: int = 0) -> ReprocessDeps:
    return replace(
        ReprocessDeps(pools.background, clock, "one", pages_at_once=2),
        checkpoint=killing(at) if at else lambda _: None,
    )


CHANGE = WantedChange("entity_type", "create", {"name": "Zeppelin"})


async def types_of(database: str) -> dict[str, set[str]]:
    rows = await fetch(database, "SELECT title, entity_type || held_type || held_reason AS told FROM wiki_pages")
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["title"], set()).add(row["told"])
    return found


async def test_every_owner_s_pages_are_brought_to_the_new_version(pools: Pools, database: str) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    assert set().union(*(await types_of(database)).values()) == {""}, "an approval alone changes no page"
    worker = worker_on(pools, engine_on(pools))
    worker.handlers = {reprocess.KIND: handler(pools)}
    await worker.drain()
    job = await job_of(pools)
    assert (job.status, job.error) == (ReprocessStatus.SUCCEEDED, "")
    pages = (await fetch(database, "SELECT count(*) AS pages FROM wiki_pages"))[0]["pages"]
    assert job.continuation_offset == job.metrics["pages"] == pages
    assert "place" in set().union(*(await types_of(database)).values())
    for scope in (SCOPE, HOUSEMATE):
        assert (await replay(engine_on(pools), pools.background, scope)).is_identical


def handler(pools: Pools) -> Handler:
    async def run(scope: Scope, subject: str) -> None:
        await reprocess.run_due_jobs(deps_of(pools, Clock()), scope.tenant_id)

    return run


async def test_approval_and_rollback_of_the_seed_each_reach_every_page(pools: Pools, database: str) -> None:
    await wikis(pools)
    before = await wiki_of(pools)
    governance = Governance(pools, now=Clock())
    seed = await governance.draft_seed(SCOPE.tenant_id)
    worker = worker_on(pools, engine_on(pools))
    worker.handlers = {reprocess.KIND: handler(pools)}
    await governance.approve(SCOPE.tenant_id, seed.change_set.change_set_id, author="ada")
    await worker.drain()
    assert (await job_of(pools)).status is ReprocessStatus.SUCCEEDED
    typed = {title for title, told in (await types_of(database)).items() if told == {"place"}}
    assert typed
    await governance.roll_back(SCOPE.tenant_id, 0, author="ada")
    await worker.drain()
    assert (await job_of(pools)).status is ReprocessStatus.SUCCEEDED
    assert {title for title, told in (await types_of(database)).items() if told == {"placetype_withdrawn"}} == typed
    assert {name for name in await wiki_of(pools) if not name.startswith("governed page")} == before.keys()
    await write(pools, journal(3, first=24))
    clock = Clock(NOW + timedelta(minutes=6))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock))
    assert (await replay(engine_on(pools), pools.background, SCOPE)).is_identical


async def test_shown_impact_equals_the_changes_of_the_reprocess(pools: Pools, database: str) -> None:
    await wikis(pools)
    of_edges = "SELECT link_id, held_reason FROM wiki_page_links WHERE edge_type <> ''"
    governance = Governance(pools, now=Clock())
    seed = await governance.draft_seed(SCOPE.tenant_id)
    untouched = await wiki_of(pools)
    shown = (await governance.view(SCOPE.tenant_id, seed.change_set.change_set_id)).impact
    assert shown == seed.impact
    assert await wiki_of(pools) == untouched, "a dry run writes nothing"
    before = {tuple(row) for row in await fetch(database, of_edges)}
    await governance.approve(SCOPE.tenant_id, seed.change_set.change_set_id, author="ada")
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    job = await job_of(pools)
    after = {tuple(row) for row in await fetch(database, of_edges)}
    typed = (await fetch(database, "SELECT count(*) AS n FROM wiki_pages WHERE entity_type <> ''"))[0]["n"]
    assert job.impact == shown
    assert shown["pages"] > 0
    assert (shown["pages_looked_at"], shown["is_partial"]) == (job.metrics["pages"], 0)
    assert (shown["pages_typed"], shown["sections"]) == (typed, job.metrics.get("sections_shaped", 0))
    assert shown["edges"] == len(after - before)
    again = await governance.draft(SCOPE.tenant_id, "Boats", [CHANGE], author="ada")
    assert {name: again.impact[name] for name in ("pages", "sections", "edges")} == dict.fromkeys(
        ("pages", "sections", "edges"), 0
    ), "what is in force already changes nothing"


async def test_reprocess_equals_a_compile_under_the_version(pools: Pools) -> None:
    await write(pools, journal(24))
    await wish(pools)
    await compiled(pools, engine_on(pools))
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    await put_in_force(pools, WORLD, tenant_id=STRANGER.tenant_id)
    await write(pools, journal(24), scope=STRANGER)
    await wish(pools, scope=STRANGER)
    await compiled(pools, engine_on(pools), scope=STRANGER)
    assert await wiki_of(pools) == await wiki_of(pools, scope=STRANGER)


async def test_second_job_of_a_version_changes_nothing(pools: Pools, database: str) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    before = await wiki_of(pools)
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    job = await job_of(pools)
    assert set(job.metrics) == {"pages", "parts"}
    assert await wiki_of(pools) == before


async def test_rollback_holds_pages_typed_meanwhile_and_its_undo_types_them_again(pools: Pools, database: str) -> None:
    await wikis(pools)
    await approve(pools, DINER)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    first = await wiki_of(pools)
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    typed = await wiki_of(pools)
    assert "place" in set().union(*(await types_of(database)).values())
    await approve(pools, DINER)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    assert "placetype_not_approved" in set().union(*(await types_of(database)).values())
    assert await wiki_of(pools) == first, "the wiki is the old version's"
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    assert await wiki_of(pools) == typed
    assert (await replay(engine_on(pools), pools.background, SCOPE)).is_identical


async def test_job_of_a_version_no_longer_in_force_is_cancelled_before_the_next_runs(pools: Pools) -> None:
    await wikis(pools)
    await approve(pools, DINER)
    await approve(pools, WORLD)
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    assert [(await job_of(pools, at)).status for at in (0, 1)] == [ReprocessStatus.SUCCEEDED, ReprocessStatus.CANCELLED]
    assert "later version" in (await job_of(pools, 1)).error


async def test_job_killed_at_any_step_ends_as_undisturbed(pools: Pools, database: str) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    undisturbed, pages = await governed_alone(pools), (await job_of(pools)).metrics["pages"]
    at = 0
    while True:
        at += 1
        await approve(pools, WITHOUT_PEOPLE if at % 2 else WORLD)
        clock = Clock()
        try:
            await reprocess.run_due_jobs(deps_of(pools, clock, at), SCOPE.tenant_id)
            break
        except Killed:
            clock.move(minutes=2)
            await reprocess.run_due_jobs(deps_of(pools, clock), SCOPE.tenant_id)
        job = await job_of(pools)
        assert (job.status, job.metrics["pages"]) == (ReprocessStatus.SUCCEEDED, pages), at
        if not at % 2:
            assert [await wiki_of(pools, scope=scope) for scope in (SCOPE, HOUSEMATE)] == undisturbed, at
    assert at > 20


async def governed_alone(pools: Pools) -> list[dict[str, bytes]]:
    await reprocess.run_due_jobs(deps_of(pools, Clock()), SCOPE.tenant_id)
    return [await wiki_of(pools, scope=scope) for scope in (SCOPE, HOUSEMATE)]


async def test_workers_that_take_a_job_from_one_another_do_each_page_once(pools: Pools, database: str) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    clocks = [Clock(NOW + timedelta(minutes=5 * at)) for at in range(3)]
    runs = [reprocess.run_due_jobs(deps_of(pools, clock), SCOPE.tenant_id) for clock in clocks]
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert all(one is None or isinstance(one, LeaseLost) for one in ended)
    job = await job_of(pools)
    pages = (await fetch(database, "SELECT count(*) AS pages FROM wiki_pages"))[0]["pages"]
    assert (job.status, job.metrics["pages"]) == (ReprocessStatus.SUCCEEDED, pages)


async def test_claim_that_was_taken_over_neither_holds_nor_moves_the_job(pools: Pools) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    clock = Clock()
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        lost = await reprocess_jobs.claim(connection, SCOPE.tenant_id, ReprocessLease("slow", 60), now=clock())
    assert lost is not None
    clock.move(minutes=2)
    await reprocess.run_due_jobs(deps_of(pools, clock), SCOPE.tenant_id)
    before = await job_of(pools)
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        assert not await reprocess_jobs.hold(connection, SCOPE.tenant_id, lost)
        await reprocess_jobs.advance(connection, SCOPE.tenant_id, lost, lease_until=clock())
        await reprocess_jobs.end(connection, SCOPE.tenant_id, lost, ReprocessStatus.FAILED, now=clock())
    assert await job_of(pools) == before
    assert before.fence == lost.fence + 1


async def test_job_that_no_worker_survives_fails_with_its_reason(pools: Pools) -> None:
    await wikis(pools)
    await approve(pools, WORLD)
    clock = Clock()
    for _ in range(reprocess.ATTEMPTS):
        with pytest.raises(Killed):
            await reprocess.run_due_jobs(deps_of(pools, clock, 2), SCOPE.tenant_id)
        clock.move(minutes=2)
    await reprocess.run_due_jobs(deps_of(pools, clock), SCOPE.tenant_id)
    job = await job_of(pools)
    assert (job.status, job.error) == (ReprocessStatus.FAILED, "workers failed to go on with it")
