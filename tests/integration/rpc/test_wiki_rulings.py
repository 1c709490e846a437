"""Renaming, merging and correcting pages through the wiki service, with good and bad requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sidecar.rpc.wiki import WikiService
from sidecar.runtime.errors import AdminRequired, FailedPrecondition, InvalidArgument, NotFound, ScopeForbidden
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import wiki_pb2 as pb
from store.db.postgres import Pools
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.wiki_pages import AUSTIN, FRANKLIN, LOLA, put_wiki
from tests.support.rpc.service_calls import an_admin, an_agent, now, refused

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
ANN: dict[str, Any] = {"owner_id": "ann"}


@pytest.fixture
async def service(pools: Pools) -> WikiService:
    await put_wiki(pools, SCOPE)
    return WikiService(Wiki(pools, now=now))


async def get(service: WikiService, page: str, **given: Any) -> pb.GetPageResponse:
    return await service.get_page(pb.GetPageRequest(page=page, **given), an_agent())


async def rename(service: WikiService, page: str, title: str) -> pb.WikiPage:
    return (await service.rename_page(pb.RenamePageRequest(page=page, title=title, **ANN), an_admin())).page


async def merge(service: WikiService, page: str, into: str) -> pb.WikiPage:
    return (await service.merge_pages(pb.MergePagesRequest(page=page, into=into, **ANN), an_admin())).page


async def report(service: WikiService, page: str, sentence: str, **given: Any) -> pb.SentenceReport:
    request = pb.ReportSentenceRequest(page=page, sentence=sentence, **given)
    return (await service.report_sentence(request, an_agent())).report


async def test_renamed_page_is_found_by_both_names(service: WikiService) -> None:
    before = await get(service, "lola")
    for _ in range(2):
        row = await rename(service, "lola", "Lola's  Kitchen")
    assert (row.title, row.path) == ("Lola's Kitchen", LOLA.path)
    assert row.update_time.ToDatetime() >= before.page.update_time.ToDatetime()
    for name in ("Lola's Kitchen", "Casa Lola", LOLA.path, before.page.page_id):
        assert (await get(service, name)).page.title == "Lola's Kitchen"


@pytest.mark.parametrize("title", ["", "   ", "...", "Franklin Barbecue", "FRANKLIN BARBECUE", "x" * 10_000])
async def test_unusable_title_is_refused(service: WikiService, title: str) -> None:
    error = await refused(rename(service, "lola", title))
    assert isinstance(error, FailedPrecondition | InvalidArgument)
    assert (await get(service, "lola")).page.title == "Casa Lola"


@pytest.mark.parametrize(
    "title", ["東京の食堂", "Кафе «Лола»", "مطعم لولا", "Lolas Küche", "x" * 120, "[[Lola]](/wiki/a/b)"]
)
async def test_title_may_be_in_any_script(service: WikiService, title: str) -> None:
    await rename(service, "lola", title)
    assert (await get(service, title)).page.title == title


async def test_merged_page_leads_to_the_other_by_every_name(service: WikiService) -> None:
    old = (await get(service, FRANKLIN.path)).page
    for _ in range(2):
        assert (await merge(service, FRANKLIN.path, LOLA.path)).path == LOLA.path
    for name in (FRANKLIN.path, "entity/franklin-barbecue", "franklin-barbecue", "Franklin Barbecue", old.page_id):
        assert (await get(service, name)).page.path == LOLA.path
    listed = (await service.list_pages(pb.ListPagesRequest(), an_agent())).pages
    assert sorted(page.path for page in listed) == [LOLA.path, AUSTIN.path]
    assert FRANKLIN.path not in (await get(service, AUSTIN.path)).sections[0].body_md


async def test_a_merge_with_itself_or_around_a_circle_is_refused(service: WikiService) -> None:
    assert isinstance(await refused(merge(service, "lola", LOLA.path)), FailedPrecondition)
    await merge(service, FRANKLIN.path, LOLA.path)
    assert isinstance(await refused(merge(service, LOLA.path, FRANKLIN.path)), FailedPrecondition)
    await merge(service, LOLA.path, AUSTIN.path)
    assert isinstance(await refused(merge(service, AUSTIN.path, FRANKLIN.path)), FailedPrecondition)
    assert (await get(service, FRANKLIN.path)).page.path == AUSTIN.path
    assert isinstance(await refused(merge(service, "nothing", LOLA.path)), NotFound)
    assert "(sent as into)" in str(await refused(merge(service, LOLA.path, "nothing")))
    assert isinstance(await refused(merge(service, "", LOLA.path)), InvalidArgument)


async def test_merges_in_both_directions_at_once_leave_one_page(service: WikiService) -> None:
    done = await asyncio.gather(
        merge(service, FRANKLIN.path, LOLA.path),
        merge(service, LOLA.path, FRANKLIN.path),
        merge(service, FRANKLIN.path, LOLA.path),
        return_exceptions=True,
    )
    assert any(isinstance(one, FailedPrecondition) for one in done)
    one, other = await get(service, FRANKLIN.path), await get(service, LOLA.path)
    assert one.page.path == other.page.path
    assert one.page.status == pb.PAGE_STATUS_ACTIVE


async def test_undone_merge_gives_the_page_back(service: WikiService) -> None:
    before = await get(service, FRANKLIN.path)
    await merge(service, FRANKLIN.path, LOLA.path)
    answer = await service.undo_merge(pb.UndoMergeRequest(page="Franklin Barbecue", **ANN), an_admin())
    assert answer.path == FRANKLIN.path
    assert answer.job_id
    after = await get(service, FRANKLIN.path)
    assert (after.page.status, list(after.sections)) == (pb.PAGE_STATUS_ACTIVE, list(before.sections))
    again = service.undo_merge(pb.UndoMergeRequest(page=FRANKLIN.path, **ANN), an_admin())
    assert isinstance(await refused(again), NotFound)


async def test_reported_sentence_leaves_the_page_and_names_its_memory(service: WikiService) -> None:
    (section,) = (await get(service, "lola")).sections
    for _ in range(2):
        found = await report(service, "lola", "a BEEF empanada in Austin")
    assert (found.path, found.section_slug, found.memory_id) == (LOLA.path, section.slug, "m1")
    after = await get(service, "lola")
    assert "beef" not in str(after.sections).lower()
    assert "m1" not in {source.memory_id for one in after.sections for source in one.sources}
    listed = (await service.list_reports(pb.ListReportsRequest(**ANN), an_admin())).reports
    assert [one.report_id for one in listed] == [found.report_id]
    await service.restore_sentence(pb.RestoreSentenceRequest(report_id=found.report_id, **ANN), an_admin())
    assert not (await service.list_reports(pb.ListReportsRequest(**ANN), an_admin())).reports
    request = pb.RestoreSentenceRequest(report_id=found.report_id, **ANN)
    assert isinstance(await refused(service.restore_sentence(request, an_admin())), NotFound)


@pytest.mark.parametrize("sentence", ["", "…", "Lola is in Oslo.", "x" * 10_000, "\0", "東京"])
async def test_sentence_of_no_page_cannot_be_reported(service: WikiService, sentence: str) -> None:
    error = await refused(report(service, "lola", sentence))
    assert isinstance(error, FailedPrecondition | InvalidArgument)


async def test_rulings_need_an_admin_and_stay_with_their_owner(service: WikiService) -> None:
    acts: list[tuple[Callable[..., Any], Any]] = [
        (service.rename_page, pb.RenamePageRequest(page="austin", title="x")),
        (service.merge_pages, pb.MergePagesRequest(page="lola", into="austin")),
        (service.undo_merge, pb.UndoMergeRequest(page="lola")),
        (service.list_reports, pb.ListReportsRequest()),
        (service.restore_sentence, pb.RestoreSentenceRequest(report_id="x")),
    ]
    for act, request in acts:
        assert isinstance(await refused(act(request, an_agent())), AdminRequired)
        request.owner_id = "ann"
        request.tenant_id = "acme"
        assert isinstance(await refused(act(request, an_admin("globex"))), ScopeForbidden)
    stranger = pb.ReportSentenceRequest(page=LOLA.path, sentence="A beef empanada in Austin.")
    assert isinstance(await refused(service.report_sentence(stranger, an_agent("bob"))), NotFound)
    assert isinstance(await refused(merge_of(service, "bob")), NotFound)


def merge_of(service: WikiService, owner: str) -> Any:
    return service.merge_pages(pb.MergePagesRequest(page=LOLA.path, into=AUSTIN.path, owner_id=owner), an_admin())
