"""The wiki service on Postgres: reading, searching, paging, and an operator's acts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from compiler.operations import acts, lint
from compiler.plan.contract import (
    Aggregation,
    CitedMemory,
    CreatePage,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    Section,
    SetParent,
    Tag,
    WriteTag,
)
from compiler.plan.upkeep import ActRefused
from compiler.state.operator_acts import enact
from sidecar.rpc.messages import wiki_messages
from sidecar.rpc.transport.call import Call, behaviours_of
from sidecar.rpc.wiki import SERVICE, WikiService
from sidecar.runtime.errors import AdminRequired, FailedPrecondition, InvalidArgument, NotFound, ScopeForbidden
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import wiki_pb2 as pb
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.ontology.terms import EntityType, Lifecycle, Ontology
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import browse, upkeep
from tests.support.compiler.ontologies import put_in_force
from tests.support.compiler.wiki_pages import AUSTIN, FRANKLIN, LOLA, put_wiki
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused, refused_field

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
ANN: dict[str, Any] = {"owner_id": "ann"}


@pytest.fixture
async def service(pools: Pools) -> WikiService:
    await put_wiki(pools, SCOPE)
    return WikiService(Wiki(pools, now=now))


async def get(service: WikiService, page: str, **given: Any) -> pb.GetPageResponse:
    return await service.get_page(pb.GetPageRequest(page=page, **given), an_agent())


async def found(service: WikiService, query: str) -> list[str]:
    answer = await service.search_pages(pb.SearchPagesRequest(query=query), an_agent())
    return [hit.page.slug for hit in answer.hits]


def test_wiki_service_has_every_method_of_the_contract(pools: Pools) -> None:
    assert set(behaviours_of(SERVICE, WikiService(Wiki(pools, now=now)))) == set(SERVICE.methods_by_name)


async def test_page_is_returned_whole_with_the_sources_of_each_section(service: WikiService) -> None:
    page = await get(service, "austin")
    assert (page.page.title, page.page.path, page.page.status) == ("Austin, Texas", AUSTIN.path, pb.PAGE_STATUS_ACTIVE)
    (section,) = page.sections
    assert [source.memory_id for source in section.sources] == ["m1", "m2"]
    assert all(source.is_there and source.is_current and not source.text for source in section.sources)
    assert section.aggregation.promotion_status == pb.PROMOTION_STATUS_NONE
    assert list(section.aggregation.observed_tags) == ["food"]
    assert [source.memory_id for source in page.summary_sources] == ["m1"]
    assert {alias.alias for alias in page.aliases} == {"austin, texas", "atx"}
    assert (page.link_count, page.backlink_count, page.child_count) == (0, 2, 0)
    assert [(entry.memory_count, list(entry.section_slugs)) for entry in page.history] == [(2, ["restaurants"])]
    lola = await get(service, "lola", with_source_texts=True)
    assert [(tag.name, [source.memory_id for source in tag.sources]) for tag in lola.tags] == [("food", ["m1"])]
    assert [source.text for source in lola.sections[0].sources] == [
        "Ate a beef empanada at Casa Lola in Austin.",
        "Chef João cooks at Casa Lola now.",
    ]
    first = lola.links[0]
    assert (first.page.slug, list(first.origins)) == ("austin", [pb.LINK_ORIGIN_DETERMINISTIC, pb.LINK_ORIGIN_PLANNER])


async def test_text_without_memories_names_its_pages_and_lint_finds_text_with_neither(
    service: WikiService, pools: Pools
) -> None:
    """The stub of a section that became a page, and a summary: up from the memory, and down to it, one page at a time."""
    texas, odd = PageKey(PageType.TOPIC, "texas"), PageKey(PageType.TOPIC, "odd")
    known = Aggregation(promotion_status=PromotionStatus.PROMOTED, promoted_page=AUSTIN)
    stub = Section("cities", "Cities", f"Cities.\n\n[**Austin**]({AUSTIN.path})", aggregation=known)
    uncited = Section("notes", "Notes", "Said by nobody.")
    async with scoped(pools.background, SCOPE) as connection:
        pages = (Page(texas, "Texas", "A state.", sections=(stub,)), Page(odd, "Odd", "", sections=(uncited,)))
        await enact(connection, SCOPE, [*map(CreatePage, pages), SetParent(AUSTIN, texas)], now=NOW)
        report = await lint.look(connection, SCOPE, now=NOW)
    assert [one.subject for one in report.findings if one.kind == "unsourced_section"] == [f"{odd.path}#notes"]
    page = await get(service, "texas")
    assert [one.path for one in page.sections[0].source_pages] == [AUSTIN.path]
    assert [(one.path, one.title) for one in page.summary_pages] == [(AUSTIN.path, "Austin, Texas")]
    austin = await get(service, "austin")
    assert [one.path for one in austin.sections[0].source_pages] == [LOLA.path, FRANKLIN.path]
    assert not austin.summary_pages, "its summary cites a memory itself"
    listed = await _drain(
        service.pages_citing_memory, pb.PagesCitingMemoryRequest(memory_id="m3", page_size=1), "citations"
    )
    assert {(one.page.slug, one.subject_ref, one.through_page.path) for one in listed} == {
        ("casa-lola", "overview", ""),
        ("austin", "restaurants", LOLA.path),
        ("texas", "cities", AUSTIN.path),
    }
    assert all(one.is_current for one in listed)


async def test_texts_above_the_message_limit_are_omitted_and_the_sources_stay(service: WikiService) -> None:
    page = await get(service, "lola", with_source_texts=True)
    cited = [source.memory_id for source in page.sections[0].sources]
    room = sum(len(source.text.encode()) for source in (*page.summary_sources, page.sections[0].sources[0]))
    wiki_messages.leave_out_texts(page, most_bytes=room)
    assert [source.memory_id for source in page.sections[0].sources] == cited
    assert [bool(source.text) for source in page.sections[0].sources] == [True, False]
    assert not any(source.text for tag in page.tags for source in tag.sources)


async def test_edited_and_forgotten_memories_are_marked_on_the_page(service: WikiService, pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory("Ate nothing.", "m1")], now=NOW)
        await memories.forget_all(connection, SCOPE, ["m3"])
    sources = {one.memory_id: one for one in (await get(service, "casa-lola")).sections[0].sources}
    assert (sources["m1"].is_there, sources["m1"].is_current) == (True, False)
    assert (sources["m3"].is_there, sources["m3"].is_current) == (False, False)


async def test_page_is_found_by_any_of_its_names(service: WikiService) -> None:
    paths = ("/wiki/topic/austin", "wiki/topic/austin", "topic/austin")
    for named in (*paths, "austin", "ATX", "austin, texas", "AUSTIN", " austin "):
        page = await get(service, named)
        assert page.page.slug == "austin", named
        assert (await get(service, page.page.page_id)).page == page.page


async def test_unknown_page_is_not_found_and_an_impossible_name_is_refused(service: WikiService) -> None:
    nil = "00000000-0000-0000-0000-000000000000"
    for named in ("nowhere", "/wiki/entity/austin", nil, "%", "../../etc", "'; --", "📄"):
        assert isinstance(await refused(get(service, named)), NotFound), named
    for named in ("", " ", "x" * 301, "a\0b"):
        assert await refused_field(get(service, named)) == "page"


async def test_archived_page_keeps_its_names_until_an_active_one_gets_them(service: WikiService) -> None:
    await service.archive_page(pb.ArchivePageRequest(page="lola", **ANN), an_admin())
    for named in ("casa-lola", "Lola", LOLA.path):
        assert (await get(service, named)).page.status == pb.PAGE_STATUS_ARCHIVED, named
    await service.add_alias(pb.AddAliasRequest(page="franklin-barbecue", alias="lola", **ANN), an_admin())
    assert (await get(service, "Lola")).page.slug == "franklin-barbecue"


async def test_deletion_reports_its_page_or_that_there_was_none(service: WikiService) -> None:
    await service.archive_page(pb.ArchivePageRequest(page="lola", **ANN), an_admin())
    gone = await service.delete_page(pb.DeletePageRequest(page="lola", **ANN), an_admin())
    assert (gone.page.path, gone.page.status) == (LOLA.path, pb.PAGE_STATUS_ARCHIVED)
    again = await service.delete_page(pb.DeletePageRequest(page="lola", **ANN), an_admin())
    assert not again.HasField("page")


async def test_links_to_and_from_archived_pages_are_neither_shown_nor_counted(service: WikiService) -> None:
    async def counted(named: str) -> tuple[int, int]:
        page = await get(service, named)
        back = (await service.backlinks(pb.BacklinksRequest(page=named), an_agent())).links
        assert (page.link_count, page.backlink_count) == (len(page.links), len(back))
        return page.link_count, page.backlink_count

    before = await counted("austin"), await counted("franklin-barbecue")
    assert before == ((0, 2), (1, 1))
    await service.archive_page(pb.ArchivePageRequest(page=LOLA.path, **ANN), an_admin())
    assert (await counted("austin"), await counted("franklin-barbecue")) == ((0, 1), (1, 0))


async def test_unknown_enum_value_is_refused_by_name(service: WikiService) -> None:
    other: Any = 99  # what no client of ours sends
    for field in ("type", "status", "order"):
        assert await refused_field(service.list_pages(pb.ListPagesRequest(**{field: other}), an_agent())) == field
    request = pb.SearchPagesRequest(query="x", type=other)
    assert await refused_field(service.search_pages(request, an_agent())) == "type"
    assert await refused_field(service.list_mentions(pb.ListMentionsRequest(status=other), an_agent())) == "status"


async def test_ambiguous_name_is_refused_with_the_paths(service: WikiService) -> None:
    for page in ("casa-lola", "franklin-barbecue"):
        await service.add_alias(pb.AddAliasRequest(page=page, alias="the usual", **ANN), an_admin())
    error = await refused(get(service, "The Usual"))
    assert isinstance(error, InvalidArgument)
    assert "/wiki/entity/casa-lola, /wiki/entity/franklin-barbecue" in error.fix


async def test_search_finds_by_words_prefixes_names_and_misspellings(service: WikiService) -> None:
    first = {
        "empan": "casa-lola",
        "empanada": "casa-lola",
        "ATX": "austin",
        "lol": "casa-lola",
        "fraklin barbecue": "franklin-barbecue",
        "how long was the line?": "franklin-barbecue",
        "What did we eat at Lola?": "casa-lola",
        "texas": "austin",
    }
    assert {query: (await found(service, query))[0] for query in first} == first


async def test_scores_are_between_0_and_1_in_descending_order(service: WikiService) -> None:
    answer = await service.search_pages(pb.SearchPagesRequest(query="austin texas"), an_agent())
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    by_type = await service.search_pages(pb.SearchPagesRequest(query="austin", type=pb.PAGE_TYPE_ENTITY), an_agent())
    assert {hit.page.type for hit in by_type.hits} <= {pb.PAGE_TYPE_ENTITY}


async def test_hostile_search_finds_nothing_and_breaks_nothing(service: WikiService) -> None:
    for query in ("%", "_", "\\", "'", "':*", "a" * 2000, "zzzz", "🦆", "((((", "\u0301", "-- ;"):
        assert await found(service, query) == [], query
    for query in ("", " \n", "a" * 2001, "a\0b"):
        assert await refused_field(found(service, query)) == "query"


async def test_search_results_are_paged(service: WikiService) -> None:
    listed, token = [], ""
    while True:
        page = await service.search_pages(
            pb.SearchPagesRequest(query="austin barbecue", page_size=1, page_token=token), an_agent()
        )
        listed += [hit.page.slug for hit in page.hits]
        token = page.next_page_token
        if not token:
            break
    assert listed == await found(service, "austin barbecue")
    assert len(listed) == len(set(listed)) == 3


async def test_lists_show_every_page_once(service: WikiService) -> None:
    for order in (pb.PAGE_ORDER_NAME, pb.PAGE_ORDER_HUBNESS, pb.PAGE_ORDER_TIME):
        listed = await _drain(service.list_pages, pb.ListPagesRequest(order=order, page_size=2), "pages")
        slugs = [page.slug for page in listed]
        assert sorted(slugs) == ["austin", "casa-lola", "franklin-barbecue"]
        assert slugs[0] == "austin" or order != pb.PAGE_ORDER_HUBNESS
        topics = await service.list_pages(pb.ListPagesRequest(order=order, type=pb.PAGE_TYPE_TOPIC), an_agent())
        assert [one.slug for one in topics.pages] == ["austin"]


async def test_backlinks_and_children_are_paged(service: WikiService) -> None:
    listed = await _drain(service.backlinks, pb.BacklinksRequest(page="austin", page_size=1), "links")
    assert sorted(link.page.slug for link in listed) == ["casa-lola", "franklin-barbecue"]
    listed = await _drain(service.children, pb.ChildrenRequest(page="austin", page_size=1), "children")
    assert [(child.page.slug, child.is_promoted, child.section_slug) for child in listed] == [
        ("casa-lola", False, "restaurants"),
        ("franklin-barbecue", False, "restaurants"),
    ]


async def _drain(method: Callable[..., Any], request: Any, name: str) -> list[Any]:
    listed: list[Any] = []
    while True:
        page = await method(request, an_agent())
        listed += getattr(page, name)
        if not page.next_page_token:
            return listed
        request.page_token = page.next_page_token


async def test_graph_holds_pages_and_the_links_among_them(service: WikiService) -> None:
    whole = await service.graph(pb.GraphRequest(), an_agent())
    assert [node.slug for node in whole.nodes] == ["austin", "franklin-barbecue", "casa-lola"]
    assert len(whole.edges) == 3
    assert not whole.is_truncated
    ids = {node.slug: node.page_id for node in whole.nodes}
    near = await service.graph(pb.GraphRequest(focus="franklin-barbecue", depth=1, most_pages=2), an_agent())
    assert [node.slug for node in near.nodes] == ["austin", "franklin-barbecue"]
    assert near.is_truncated
    (edge,) = near.edges
    assert (edge.from_page_id, edge.to_page_id) == (ids["franklin-barbecue"], ids["austin"])
    assert await refused_field(service.graph(pb.GraphRequest(depth=5), an_agent())) == "depth"
    assert await refused_field(service.graph(pb.GraphRequest(most_pages=501), an_agent())) == "most_pages"


async def test_pages_citing_a_memory_are_listed(service: WikiService) -> None:
    listed = await _drain(
        service.pages_citing_memory, pb.PagesCitingMemoryRequest(memory_id="m1", page_size=2), "citations"
    )
    cited = {(one.page.slug, one.subject, one.subject_ref) for one in listed}
    assert cited >= {
        ("casa-lola", pb.CITATION_SUBJECT_SECTION, "overview"),
        ("casa-lola", pb.CITATION_SUBJECT_SUMMARY, ""),
        ("casa-lola", pb.CITATION_SUBJECT_TAG, "food"),
        ("austin", pb.CITATION_SUBJECT_SECTION, "restaurants"),
    }
    assert len(listed) == len(cited)
    nobody = await service.pages_citing_memory(pb.PagesCitingMemoryRequest(memory_id="m5"), an_agent())
    assert not nobody.citations


async def test_held_name_shows_its_sightings_and_can_be_ignored_for_good(service: WikiService) -> None:
    (mention,) = (await service.list_mentions(pb.ListMentionsRequest(), an_agent())).mentions
    assert (mention.alias, mention.sighting_count) == ("Chef João", 3)
    assert [one.memory_id for one in mention.sightings] == ["m5", "m4", "m3"]
    for _ in range(2):
        await service.ignore_mention(pb.IgnoreMentionRequest(mention_id=mention.mention_id, **ANN), an_admin())
    assert not (await service.list_mentions(pb.ListMentionsRequest(), an_agent())).mentions
    ignored = pb.ListMentionsRequest(status=pb.MENTION_STATUS_IGNORED)
    assert len((await service.list_mentions(ignored, an_agent())).mentions) == 1
    unknown = pb.IgnoreMentionRequest(mention_id="00000000-0000-0000-0000-000000000000", **ANN)
    assert isinstance(await refused(service.ignore_mention(unknown, an_admin())), NotFound)


async def test_alias_is_added_once_in_any_spelling(service: WikiService) -> None:
    for name in ("  Casa  LOLITA ", "casa lolita"):
        answer = await service.add_alias(pb.AddAliasRequest(page="lola", alias=name, **ANN), an_admin())
        assert (answer.alias.alias, answer.alias.origin) == ("casa lolita", pb.ALIAS_ORIGIN_MANUAL)
    assert (await found(service, "casa lolita"))[0] == "casa-lola"
    error = await refused(service.add_alias(pb.AddAliasRequest(page="lola", alias="\u0301", **ANN), an_admin()))
    assert isinstance(error, FailedPrecondition)


async def test_archived_page_is_hidden_and_has_no_links_to_it(service: WikiService) -> None:
    for _ in range(2):
        answer = await service.archive_page(pb.ArchivePageRequest(page=LOLA.path, **ANN), an_admin())
        assert answer.page.status == pb.PAGE_STATUS_ARCHIVED
    assert "casa-lola" not in await found(service, "empanada")
    body = (await get(service, "austin")).sections[0].body_md
    assert body == f"- [**Franklin Barbecue**]({FRANKLIN.path}) — Barbecue."
    listed = await service.list_pages(pb.ListPagesRequest(status=pb.PAGE_STATUS_ARCHIVED), an_agent())
    assert [one.slug for one in listed.pages] == ["casa-lola"]
    assert [
        child.page.slug for child in (await service.children(pb.ChildrenRequest(page="austin"), an_agent())).children
    ] == ["franklin-barbecue"]
    assert (await get(service, LOLA.path)).sections, "its rows stay"


async def test_deleting_a_page_deletes_its_rows_and_leaves_no_link(service: WikiService, pools: Pools) -> None:
    for _ in range(2):
        await service.delete_page(pb.DeletePageRequest(page=AUSTIN.path, **ANN), an_admin())
    assert isinstance(await refused(get(service, AUSTIN.path)), NotFound)
    assert (await get(service, "lola")).sections[0].body_md == "A beef empanada in **Austin**."
    async with scoped(pools.background, SCOPE) as connection:
        density = await upkeep.density(connection, SCOPE)
    assert (density.pages, density.links_by_kind) == (2, {"reference": 1})


async def test_act_that_waited_while_its_page_was_deleted_says_so(service: WikiService, pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page_by_key(connection, SCOPE, "topic", "austin")
        assert row is not None
        await acts.delete_page(connection, SCOPE, row, now=NOW)
        await acts.delete_page(connection, SCOPE, row, now=NOW)
        for act in (
            acts.add_alias(connection, SCOPE, row, "Atx", now=NOW),
            acts.archive_page(connection, SCOPE, row, now=NOW),
            acts.suppress_promotion(connection, SCOPE, row, "restaurants", now=NOW),
            acts.undo_promotion(connection, SCOPE, row, "restaurants", now=NOW),
        ):
            with pytest.raises(ActRefused, match="deleted by another call"):
                await act


async def test_only_a_list_of_pages_can_be_suppressed(service: WikiService) -> None:
    request = pb.SuppressPromotionRequest(page="austin", section_slug="restaurants", **ANN)
    for _ in range(2):
        answer = await service.suppress_promotion(request, an_admin())
        assert answer.section.aggregation.promotion_status == pb.PROMOTION_STATUS_SUPPRESSED
    request = pb.SuppressPromotionRequest(page="lola", section_slug="overview", **ANN)
    assert isinstance(await refused(service.suppress_promotion(request, an_admin())), FailedPrecondition)
    request = pb.SuppressPromotionRequest(page="lola", section_slug="nothing", **ANN)
    assert isinstance(await refused(service.suppress_promotion(request, an_admin())), FailedPrecondition)


async def test_acts_need_an_admin_and_stay_in_its_tenant(service: WikiService) -> None:
    acts: list[tuple[Callable[..., Any], Any]] = [
        (service.ignore_mention, pb.IgnoreMentionRequest(mention_id="00000000-0000-0000-0000-000000000000")),
        (service.add_alias, pb.AddAliasRequest(page="austin", alias="x")),
        (service.archive_page, pb.ArchivePageRequest(page="austin")),
        (service.delete_page, pb.DeletePageRequest(page="austin")),
        (service.suppress_promotion, pb.SuppressPromotionRequest(page="austin", section_slug="restaurants")),
        (service.undo_promotion, pb.UndoPromotionRequest(page="austin", section_slug="restaurants")),
    ]
    for act, request in acts:
        assert isinstance(await refused(act(request, an_agent())), AdminRequired)
        request.owner_id = "ann"
        request.tenant_id = "acme"
        assert isinstance(await refused(act(request, an_admin("globex"))), ScopeForbidden)
    assert (await get(service, "austin")).page.status == pb.PAGE_STATUS_ACTIVE


async def test_foreign_caller_reads_nothing(service: WikiService) -> None:
    page_id = (await get(service, "austin")).page.page_id
    for call in (an_agent("bob"), an_agent(tenant="globex")):
        assert isinstance(await refused(service.get_page(pb.GetPageRequest(page=page_id), call)), NotFound)
        assert not (await service.list_pages(pb.ListPagesRequest(), call)).pages
        assert not (await service.search_pages(pb.SearchPagesRequest(query="empanada"), call)).hits
        assert not (await service.graph(pb.GraphRequest(), call)).nodes
        assert not (await service.list_mentions(pb.ListMentionsRequest(), call)).mentions
        citing = pb.PagesCitingMemoryRequest(memory_id="m1")
        assert not (await service.pages_citing_memory(citing, call)).citations


async def test_page_token_of_another_list_is_refused(service: WikiService) -> None:
    async def token_of(call: Call) -> str:
        page = await service.list_pages(pb.ListPagesRequest(page_size=1), call)
        return page.next_page_token

    token = await token_of(an_agent())
    for request in (
        pb.ListPagesRequest(page_token=token, order=pb.PAGE_ORDER_TIME),
        pb.ListPagesRequest(page_token=token, type=pb.PAGE_TYPE_TOPIC),
        pb.ListPagesRequest(page_token="x"),
    ):
        assert await refused_field(service.list_pages(request, an_agent())) == "page_token"


async def test_concurrent_acts_run_one_after_another(service: WikiService) -> None:
    names = [f"nickname {n}" for n in range(8)]
    await asyncio.gather(
        *(service.add_alias(pb.AddAliasRequest(page="lola", alias=name, **ANN), an_admin()) for name in names)
    )
    assert {alias.display for alias in (await get(service, "lola")).aliases} >= set(names)


async def test_held_types_are_listed_with_their_reason_and_pages_show_their_type(
    service: WikiService, pools: Pools
) -> None:
    wanted = Ontology(1, (EntityType("grill", "Grill"), EntityType("diner", "Diner", lifecycle=Lifecycle.DEPRECATED)))
    await put_in_force(pools, wanted, tenant_id=SCOPE.tenant_id)
    tags = {FRANKLIN: "type:grill", LOLA: "type:diner"}
    async with scoped(pools.background, SCOPE) as connection:
        source = (CitedMemory("m1", b""),)
        items = [WriteTag(key, Tag(tag, source)) for key, tag in tags.items()]
        await enact(connection, SCOPE, items, now=NOW)
    assert (await get(service, FRANKLIN.slug)).page.entity_type == "grill"
    assert (await get(service, LOLA.slug)).page.entity_type == ""
    held = [one for one in (await service.list_mentions(pb.ListMentionsRequest(), an_agent())).mentions if one.reason]
    assert [(one.held_type, one.reason, one.page.path) for one in held] == [("diner", "type_deprecated", LOLA.path)]
    assert not held[0].HasField("target_page")
