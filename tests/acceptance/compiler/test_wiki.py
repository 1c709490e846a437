"""The wiki from end to end, through a real server: memories are compiled, read, followed, exported, imported and reset."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from uuid import UUID

import grpc
import pytest

from sidecar.rpc.transport.paging import ListCall
from sidecar.v1 import compile_pb2 as pb
from sidecar.v1 import memory_pb2, wiki_pb2
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.served.site import Site
from tests.support.served.turns import asking
from tests.support.served.wiki_site import WikiCaller, retain_journal, streamed, worked
from tests.support.waiting import PATIENCE_S

MARA: dict[str, Any] = {"owner_id": "mara"}


@pytest.fixture
async def compiled(site: Site) -> WikiCaller:
    """An admin of a tenant whose journal is compiled."""
    await retain_journal(WikiCaller(site, "acme", "mara"))
    admin = WikiCaller(site, "acme", admin=True)
    await admin.CompileNow(pb.CompileNowRequest(**MARA))
    assert await worked(site) >= 1
    return admin


async def pages_of(caller: WikiCaller, **given: Any) -> dict[str, str]:
    answer = await caller.ListPages(wiki_pb2.ListPagesRequest(**MARA, **given))
    return {page.path: page.summary for page in answer.pages}


async def code_of(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


async def test_memories_become_pages_that_name_their_sources(site: Site) -> None:
    agent, admin = WikiCaller(site, "acme", "mara"), WikiCaller(site, "acme", admin=True)
    await retain_journal(agent)
    preview = (await admin.CompileNow(pb.CompileNowRequest(**MARA, validate_only=True))).preview
    assert preview.memory_count == 6
    assert "create_page" in {item.kind for item in preview.items}
    assert not await pages_of(admin), "a preview writes nothing"
    asked = await admin.CompileNow(pb.CompileNowRequest(**MARA))
    again = await admin.CompileNow(pb.CompileNowRequest(**MARA))
    assert asked.outcome in {pb.COMPILE_OUTCOME_ENQUEUED, pb.COMPILE_OUTCOME_DEDUPED}
    assert (again.outcome, again.job.job_id) == (pb.COMPILE_OUTCOME_DEDUPED, asked.job.job_id)
    watching = asyncio.create_task(streamed(agent.WatchJob(pb.WatchJobRequest(job_id=asked.job.job_id))))
    assert await worked(site) >= 1
    told = [response.job.status for response in await watching]
    assert told[-1] == pb.JOB_STATUS_SUCCEEDED
    assert told == sorted(told), "waiting, then running, then done"
    job = (await agent.GetJob(pb.GetJobRequest(job_id=asked.job.job_id))).job
    assert job.metrics["records_read"] == 6
    assert "/wiki/entity/casa-lola" in await pages_of(admin)
    page = await agent.GetPage(wiki_pb2.GetPageRequest(page="casa lola", with_source_texts=True))
    cited = {source.memory_id for section in page.sections for source in section.sources}
    assert cited == {"m1", "m2"}
    hits = (await agent.SearchPages(wiki_pb2.SearchPagesRequest(query="empan"))).hits
    assert hits[0].page.slug == "casa-lola"
    citing = await agent.PagesCitingMemory(wiki_pb2.PagesCitingMemoryRequest(memory_id="m3"))
    assert {one.page.slug for one in citing.citations} >= {"franklin-barbecue"}


async def test_city_found_in_texts_alone_has_a_page_as_previewed(site: Site) -> None:
    agent, admin = WikiCaller(site, "acme", "mara"), WikiCaller(site, "acme", admin=True)
    texts = ("On Monday Beatriz moved to Kyoto for work.", "We wrote to Beatriz in Kyoto about the flat.")
    await agent.Retain(
        memory_pb2.RetainRequest(
            memories=[memory_pb2.NewMemory(memory_id=f"m{at}", text=text) for at, text in enumerate(texts)]
        )
    )
    preview = (await admin.CompileNow(pb.CompileNowRequest(**MARA, validate_only=True))).preview
    shown = {item.path for item in preview.items if item.kind == "create_page"}
    await admin.CompileNow(pb.CompileNowRequest(**MARA))
    await worked(site)
    assert shown == (await pages_of(admin)).keys() == {"/wiki/entity/kyoto", "/wiki/entity/beatriz"}


async def test_compiling_while_compile_is_off_is_a_failed_precondition(site: Site) -> None:
    scope = Scope(tenant_uuid("acme"), owner_uuid("mara"))
    await retain_journal(WikiCaller(site, "acme", "mara"))
    async with scoped(site.app.pools.background, scope) as connection:
        await connection.execute("UPDATE tenants SET wiki_compile_enabled = false")
    admin = WikiCaller(site, "acme", admin=True)
    for method, request in (
        ("CompileNow", pb.CompileNowRequest(**MARA)),
        ("CompileNow", pb.CompileNowRequest(**MARA, validate_only=True)),
        ("RunLint", pb.RunLintRequest(**MARA)),
        ("ResetCursor", pb.ResetCursorRequest(**MARA)),
        ("BackfillLinks", pb.BackfillLinksRequest(**MARA)),
        ("RollbackLinks", pb.RollbackLinksRequest(**MARA, origin=wiki_pb2.LINK_ORIGIN_DETERMINISTIC)),
        ("BootstrapImport", pb.BootstrapImportRequest(**MARA)),
    ):
        assert await code_of(getattr(admin, method)(request)) is grpc.StatusCode.FAILED_PRECONDITION, method


@pytest.mark.parametrize("validate_only", [False, True])
async def test_model_is_refused_if_no_planner_uses_one(site: Site, *, validate_only: bool) -> None:
    admin = WikiCaller(site, "acme", admin=True)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await admin.CompileNow(pb.CompileNowRequest(**MARA, model_id="m-1", validate_only=validate_only))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert (caught.value.details() or "").startswith(
        "model_id: names a model, but SIDECAR_COMPILE_PLANNER is extractive"
    )
    assert not (await admin.ListJobs(pb.ListJobsRequest(**MARA))).jobs


async def test_class_of_links_is_removed_and_restored_by_a_backfill(compiled: WikiCaller) -> None:
    before = await compiled.LinkDensity(pb.LinkDensityRequest(**MARA))
    assert before.page_count >= 4
    assert before.linked_page_count > 0
    taken = {}
    for origin in (wiki_pb2.LINK_ORIGIN_DETERMINISTIC, wiki_pb2.LINK_ORIGIN_CO_MENTION):
        request = pb.RollbackLinksRequest(**MARA, origin=origin, dry_run=True)
        looked = await compiled.RollbackLinks(request)
        assert await compiled.LinkDensity(pb.LinkDensityRequest(**MARA)) == before, "a look changes nothing"
        request.dry_run = False
        taken[origin] = await compiled.RollbackLinks(request)
        assert taken[origin] == looked
        before = await compiled.LinkDensity(pb.LinkDensityRequest(**MARA))
        assert (await compiled.RollbackLinks(request)).evidence_count == 0
    written = sum(one.evidence_count for one in taken.values())
    assert written > 0
    looked = await compiled.BackfillLinks(pb.BackfillLinksRequest(**MARA, dry_run=True))
    assert await compiled.LinkDensity(pb.LinkDensityRequest(**MARA)) == before
    done = await compiled.BackfillLinks(pb.BackfillLinksRequest(**MARA))
    assert done == looked
    assert done.deterministic_count + done.co_mention_count > 0
    after = await compiled.LinkDensity(pb.LinkDensityRequest(**MARA))
    again = await compiled.BackfillLinks(pb.BackfillLinksRequest(**MARA))
    assert (again.deterministic_count, again.co_mention_count) == (0, 0)
    assert await compiled.LinkDensity(pb.LinkDensityRequest(**MARA)) == after
    hierarchy = pb.RollbackLinksRequest(**MARA, origin=wiki_pb2.LINK_ORIGIN_PROMOTION)
    assert await code_of(compiled.RollbackLinks(hierarchy)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_unknown_kind_of_reset_is_refused_by_name(compiled: WikiCaller) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await compiled.ResetCursor(pb.ResetCursorRequest(**MARA, mode=7))  # type: ignore[arg-type]  # what no client of ours sends
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (caught.value.details() or "").startswith("mode: ")


FORGED = {
    wiki_pb2.PAGE_ORDER_NAME: ("entity\0", "casa"),
    wiki_pb2.PAGE_ORDER_HUBNESS: (2**40, str(UUID(int=1))),
    wiki_pb2.PAGE_ORDER_TIME: ("9999-12-31T23:59:59-23:59", str(UUID(int=1))),
}


@pytest.mark.parametrize("order", FORGED)
async def test_forged_token_is_refused_by_name(compiled: WikiCaller, order: wiki_pb2.PageOrder.ValueType) -> None:
    keys = FORGED[order]
    bound = (str(tenant_uuid("acme")), str(owner_uuid("mara")), "", "active", str(order))
    forging = ListCall("ListPages", bound, tuple(map(type, keys)))
    _, token = forging.cut([keys, keys], forging.read(1, ""), lambda row: row, lambda row: wiki_pb2.WikiPage())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await compiled.ListPages(wiki_pb2.ListPagesRequest(**MARA, order=order, page_token=token))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (caught.value.details() or "").startswith("page_token: ")


async def test_reset_previews_its_effect_and_the_next_compile_restores_everything(
    site: Site, compiled: WikiCaller
) -> None:
    before = await pages_of(compiled)
    for mode, kept in ((pb.RESET_MODE_POLITE, set(before)), (pb.RESET_MODE_FULL, set())):
        request = pb.ResetCursorRequest(**MARA, mode=mode, dry_run=True)
        looked = await compiled.ResetCursor(request)
        assert (looked.page_count, looked.memory_count) == (len(before), 6)
        assert await pages_of(compiled) == before
        request.dry_run = False
        assert await compiled.ResetCursor(request) == looked
        assert await pages_of(compiled) == {}
        assert set(await pages_of(compiled, status=wiki_pb2.PAGE_STATUS_ARCHIVED)) == kept
        again = await compiled.ResetCursor(request)
        assert again.memory_count == 0
        await compiled.CompileNow(pb.CompileNowRequest(**MARA))
        await worked(site)
        assert await pages_of(compiled) == before


async def test_reset_is_refused_during_a_job(site: Site, compiled: WikiCaller) -> None:
    scope = Scope(tenant_uuid("acme"), owner_uuid("mara"))
    job = (await compiled.CompileNow(pb.CompileNowRequest(**MARA))).job
    async with scoped(site.app.pools.background, scope) as connection:
        await connection.execute("UPDATE wiki_compile_jobs SET status = 'running' WHERE job_id = $1", job.job_id)
    for dry_run in (True, False):
        request = pb.ResetCursorRequest(**MARA, dry_run=dry_run)
        assert await code_of(compiled.ResetCursor(request)) is grpc.StatusCode.FAILED_PRECONDITION
    asked = await compiled.CancelJob(pb.CancelJobRequest(**MARA, job_id=job.job_id))
    assert asked.job.status == pb.JOB_STATUS_RUNNING, "it ends at its next step"


async def test_waiting_job_is_cancelled_at_once_and_stays_cancelled(site: Site, compiled: WikiCaller) -> None:
    job = (await compiled.CompileNow(pb.CompileNowRequest(**MARA))).job
    watching = asyncio.create_task(streamed(compiled.WatchJob(pb.WatchJobRequest(**MARA, job_id=job.job_id))))
    for _ in range(2):
        cancelled = await compiled.CancelJob(pb.CancelJobRequest(**MARA, job_id=job.job_id))
        assert cancelled.job.status == pb.JOB_STATUS_CANCELLED
    assert (await watching)[-1].job.status == pb.JOB_STATUS_CANCELLED
    listed = await compiled.ListJobs(pb.ListJobsRequest(**MARA, page_size=1))
    assert (listed.jobs[0].job_id, bool(listed.next_page_token)) == (job.job_id, True)
    rest = await compiled.ListJobs(pb.ListJobsRequest(**MARA, page_token=listed.next_page_token, page_size=1))
    assert rest.jobs[0].status == pb.JOB_STATUS_SUCCEEDED


async def test_vault_holds_every_page_and_its_links_lead_to_files(compiled: WikiCaller) -> None:
    files = {one.path: one.content for one in await streamed(compiled.ExportVault(pb.ExportVaultRequest(**MARA)))}
    paths = await pages_of(compiled)
    assert set(files) == {f"{path.removeprefix('/wiki/')}.md" for path in paths}
    for path, content in files.items():
        front = _front_matter(content)
        page = await compiled.GetPage(wiki_pb2.GetPageRequest(**MARA, page=f"/wiki/{path.removesuffix('.md')}"))
        assert (front["title"], front["summary"]) == (page.page.title, page.page.summary)
        assert front["sections"] == {one.slug: [cited.memory_id for cited in one.sources] for one in page.sections}
        assert re.findall(r"^## (.+)$", content, re.MULTILINE) == [one.heading for one in page.sections]
        for target in re.findall(r"\]\(\.\./([^)]+)\)", content):
            assert target in files, path
        assert "](/wiki/" not in content


def _front_matter(content: str) -> dict[str, Any]:
    _, front, _ = content.split("---\n", 2)
    pairs = (line.split(": ", 1) for line in front.splitlines())
    return {name: json.loads(value) for name, value in pairs}


def _journal() -> list[pb.JournalRecord]:
    place = pb.JournalPlace(name="Taberna dos Mercadores", city="Lisbon", alternate_names=["Taberna", "東京"])
    texts = (
        "We ate grilled sardines at Taberna dos Mercadores in Lisbon.",
        "Taberna dos Mercadores was full, so Rui waited outside for an hour.",
    )
    return [
        pb.JournalRecord(record_id=f"j{n}", text=text, place=place, tags=["food"], journal_id="portugal")
        for n, text in enumerate(texts)
    ]


async def test_journal_is_imported_once_and_its_places_get_their_aliases(site: Site) -> None:
    admin = WikiCaller(site, "acme", admin=True)
    first, second = _journal()
    part = await admin.BootstrapImport(pb.BootstrapImportRequest(**MARA, records=[first], has_more=True))
    assert (part.created_count, part.HasField("job")) == (1, False)
    done = await admin.BootstrapImport(pb.BootstrapImportRequest(**MARA, records=[second, second]))
    assert (done.created_count, done.updated_count, done.unchanged_count) == (1, 0, 0)
    assert done.job.trigger == "bootstrap_import"
    await worked(site)
    page = await admin.GetPage(wiki_pb2.GetPageRequest(**MARA, page="東京"))
    assert page.page.title == "Taberna dos Mercadores"
    names = {alias.display: alias for alias in page.aliases}
    assert names["Taberna"].origin == wiki_pb2.ALIAS_ORIGIN_IMPORT
    assert [source.memory_id for source in names["Taberna"].sources] == ["j0", "j1"]
    again = await admin.BootstrapImport(pb.BootstrapImportRequest(**MARA, records=_journal()))
    assert (again.created_count, again.updated_count, again.unchanged_count) == (0, 0, 2)
    assert not again.HasField("job"), "everything has been read"
    await worked(site)
    assert await admin.GetPage(wiki_pb2.GetPageRequest(**MARA, page="東京")) == page


async def test_broken_record_is_named_and_nothing_is_imported(site: Site) -> None:
    admin = WikiCaller(site, "acme", admin=True)
    good = _journal()[0]
    bad = (
        pb.JournalRecord(record_id="x", text=" "),
        pb.JournalRecord(text="x"),
        pb.JournalRecord(record_id="x", text="x", place=pb.JournalPlace(city="Lisbon")),
        pb.JournalRecord(record_id="x", text="a\0b"),
        pb.JournalRecord(record_id="x", text="x", tags=[""]),
        pb.JournalRecord(record_id="x", text="x", tags=["t"] * 101),
    )
    for record in bad:
        call = admin.BootstrapImport(pb.BootstrapImportRequest(**MARA, records=[good, record]))
        assert await code_of(call) is grpc.StatusCode.INVALID_ARGUMENT
    assert (await admin.BootstrapImport(pb.BootstrapImportRequest(**MARA, records=[good]))).created_count == 1


async def test_lint_queues_names_due_for_promotion_and_a_preview_queues_nothing(
    site: Site, compiled: WikiCaller
) -> None:
    looked = await compiled.RunLint(pb.RunLintRequest(**MARA, dry_run=True))
    assert not looked.HasField("job")
    assert looked.counts.get("broken_text_link", 0) == 0
    assert looked.counts.get("unsourced_section", 0) == 0
    assert looked.counts.get("duplicate_title", 0) == 0
    done = await compiled.RunLint(pb.RunLintRequest(**MARA))
    assert done.counts == looked.counts
    assert done.HasField("job") == bool(done.counts.get("ripe_mention"))


async def test_reads_are_measured_beside_the_cost_of_compiling(site: Site, compiled: WikiCaller) -> None:
    from sidecar.v1 import context_pb2, profile_pb2

    agent = site.caller("acme", "mara")
    request = asking("What do we know about Casa Lola?", thread_id="")
    request.overrides.spend = profile_pb2.SPEND_FULL
    assembly = (await agent.AssembleContext(request)).assembly
    held = [item for item in assembly.items if item.id.startswith("page:")]
    assert held, "the turn recalls the page"
    usage = context_pb2.ReportUsageRequest(receipt_id=assembly.receipt_id, input_tokens=100, used_item_ids=[held[0].id])
    await agent.ReportUsage(usage)
    found = await compiled.MeasureReads(pb.MeasureReadsRequest(**MARA))
    assert (found.assembly_count, found.wiki_assembly_count, found.wiki_answer_count) == (1, 1, 1)
    assert found.job_count >= 1
    assert found.pages[0].assembly_count == 1
    assert found.HasField("cost_per_read_usd")


async def test_cancelled_stream_leaves_nothing_behind_and_a_stop_ends_it(site: Site, compiled: WikiCaller) -> None:
    job = (await compiled.CompileNow(pb.CompileNowRequest(**MARA))).job
    interceptor = site.app.server._gate.interceptor
    stream = compiled.WatchJob(pb.WatchJobRequest(**MARA, job_id=job.job_id))
    assert (await stream.read()).job.status == pb.JOB_STATUS_PENDING
    stream.cancel()
    async with asyncio.timeout(PATIENCE_S):
        await interceptor.wait_idle()
    stream = compiled.WatchJob(pb.WatchJobRequest(**MARA, job_id=job.job_id))
    assert (await stream.read()).job.status == pb.JOB_STATUS_PENDING
    interceptor.close()
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await stream.read()
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    async with asyncio.timeout(PATIENCE_S):
        await interceptor.wait_idle()


async def test_watching_an_unknown_job_is_refused(site: Site, compiled: WikiCaller) -> None:
    nil = "00000000-0000-0000-0000-000000000000"
    for request, code in (
        (pb.WatchJobRequest(**MARA, job_id=nil), grpc.StatusCode.NOT_FOUND),
        (pb.WatchJobRequest(**MARA, job_id="x"), grpc.StatusCode.INVALID_ARGUMENT),
        (pb.WatchJobRequest(job_id=nil), grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await streamed(compiled.WatchJob(request))
        assert caught.value.code() is code
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await streamed(
            WikiCaller(site, "evil", admin=True).WatchJob(pb.WatchJobRequest(**MARA, tenant_id="acme", job_id=nil))
        )
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_log_rebuilds_the_same_wiki_including_operators_acts(compiled: WikiCaller) -> None:
    async def rebuilt() -> tuple[bool, list[str]]:
        found = await compiled.VerifyRebuild(pb.VerifyRebuildRequest(**MARA), timeout=120.0)
        return found.is_identical, list(found.differences)

    assert await rebuilt() == (True, [])
    await compiled.AddAlias(wiki_pb2.AddAliasRequest(**MARA, page="suerte", alias="The Masa Place"))
    await compiled.ArchivePage(wiki_pb2.ArchivePageRequest(**MARA, page="franklin barbecue"))
    await compiled.DeletePage(wiki_pb2.DeletePageRequest(**MARA, page="casa lola"))
    origin = wiki_pb2.LINK_ORIGIN_CO_MENTION
    await compiled.RollbackLinks(pb.RollbackLinksRequest(**MARA, origin=origin))
    before = await pages_of(compiled)
    assert await rebuilt() == (True, [])
    assert await pages_of(compiled) == before, "nothing was changed"
