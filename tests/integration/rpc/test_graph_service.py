"""Typed edges through the wiki service: patterns, paths, paging, edges by hand, and bad requests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from compiler.operations import upkeep
from compiler.operations.upkeep import ResetMode
from sidecar.rpc.wiki import WikiService
from sidecar.runtime.errors import AdminRequired, FailedPrecondition, NotFound
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.governance import Governance
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import wiki_pb2 as pb
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.compiling import Clock
from tests.support.compiler.wiki_pages import put_wiki
from tests.support.rpc.service_calls import an_admin, an_agent, now, refused_field

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
EDGE: dict[str, Any] = {"owner_id": "ann", "page": "casa-lola", "target": "austin", "edge_type": "located_in"}


@pytest.fixture
async def service(pools: Pools) -> WikiService:
    await put_wiki(pools, SCOPE)
    return WikiService(Wiki(pools, now=now))


def at(year: int) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime(year, 1, 1, tzinfo=UTC))
    return stamp


async def query(service: WikiService, page: str = "", *steps: dict[str, Any], **given: Any) -> pb.QueryGraphResponse:
    pattern = [pb.EdgeStep(**step) for step in steps]
    return await service.query_graph(pb.QueryGraphRequest(page=page, steps=pattern, **given), an_agent())


async def test_stated_edge_is_found_from_both_ends_and_on_both_pages(service: WikiService) -> None:
    written = await service.write_edge(
        pb.WriteEdgeRequest(**EDGE, valid_from_time=at(2020), confidence=0.8), an_admin()
    )
    assert (written.edge.edge_type, dict(written.edge.properties)) == ("located_in", {"confidence": "0.8"})
    (out,) = (await query(service, "casa-lola", {"edge_types": ["located_in"]})).paths
    assert out.pages[-1].path == written.edge.target.path
    (back,) = (await query(service, "austin", {"direction": pb.EDGE_DIRECTION_IN})).paths
    assert [one.path for one in back.pages] == [one.path for one in reversed(out.pages)]
    for page in ("casa-lola", "austin"):
        whole = await service.get_page(pb.GetPageRequest(page=page), an_agent())
        assert [one.edge_type for one in whole.edges] == ["located_in"]
    assert not (await query(service, "casa-lola", {}, as_of_time=at(2019))).paths
    assert (await query(service, "casa-lola", {}, as_of_time=at(2020))).paths


async def test_known_at_hides_edge_statements_recorded_later(pools: Pools) -> None:
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    await put_wiki(pools, SCOPE)
    service = WikiService(Wiki(pools, now=clock))
    await service.write_edge(pb.WriteEdgeRequest(**EDGE, valid_from_time=at(2020)), an_admin())
    clock.move(days=400)
    await service.write_edge(
        pb.WriteEdgeRequest(**EDGE, valid_from_time=at(2020), valid_until_time=at(2024)), an_admin()
    )
    assert not (await query(service, "casa-lola", {}, as_of_time=at(2025))).paths
    (then,) = (await query(service, "casa-lola", {}, as_of_time=at(2025), known_at_time=at(2027))).paths
    assert not then.edges[0].HasField("valid_until_time")
    (later,) = (await query(service, "casa-lola", {}, known_at_time=at(2028))).paths
    assert later.edges[0].valid_until_time == at(2024)
    assert not (await query(service, "casa-lola", {}, known_at_time=at(2026))).paths
    ends = [await drawn(service, known_at_time=at(year)) for year in (2026, 2027, 2028)]
    assert ends == [[], [0], [at(2024).seconds]]
    assert await drawn(service) == [at(2024).seconds]


async def drawn(service: WikiService, **given: Any) -> list[int]:
    """Return the ends of the typed edges of the graph, 0 for an open one."""
    graph = await service.graph(pb.GraphRequest(**given), an_agent())
    return [one.valid_until_time.seconds for one in graph.edges if one.edge_type]


async def test_paths_are_paged_and_between_pages_the_shortest(service: WikiService) -> None:
    for kind in ("located_in", "mentions", "owns"):
        await service.write_edge(pb.WriteEdgeRequest(**{**EDGE, "edge_type": kind}), an_admin())
    first = await query(service, "", {}, page_size=2)
    rest = await query(service, "", {}, page_size=2, page_token=first.next_page_token)
    assert [one.edges[0].edge_type for one in (*first.paths, *rest.paths)] == ["located_in", "mentions", "owns"]
    assert not rest.next_page_token
    found = await query(service, "austin", {"direction": pb.EDGE_DIRECTION_BOTH}, target="casa-lola")
    assert {len(one.edges) for one in found.paths} == {1}


async def test_edges_into_any_page_are_followed_backwards(service: WikiService) -> None:
    await service.write_edge(pb.WriteEdgeRequest(**EDGE), an_admin())
    (back,) = (await query(service, "", {"direction": pb.EDGE_DIRECTION_IN})).paths
    assert (back.pages[0].path, back.edges[0].target.path) == (back.edges[0].target.path, "/wiki/topic/austin")
    assert len((await query(service, "", {"direction": pb.EDGE_DIRECTION_BOTH})).paths) == 2


async def test_edge_against_the_ontology_is_refused_with_the_reason(service: WikiService, pools: Pools) -> None:
    governance = Governance(pools, now=now)
    leads = WantedChange("relationship_type", "create", {"name": "leads", "cardinality": "one_to_one"})
    made = await governance.draft(SCOPE.tenant_id, "Leading", [leads], author="root")
    await governance.approve(SCOPE.tenant_id, made.change_set.change_set_id, author="root")
    stated = {**EDGE, "edge_type": "leads"}
    await service.write_edge(pb.WriteEdgeRequest(**stated, valid_from_time=at(2020)), an_admin())
    with pytest.raises(FailedPrecondition, match="over_cardinality"):
        await service.write_edge(
            pb.WriteEdgeRequest(**{**stated, "target": "franklin-barbecue"}, valid_from_time=at(2010)), an_admin()
        )
    (found,) = (await query(service, "casa-lola", {})).paths
    assert found.pages[-1].path == "/wiki/topic/austin"
    held = await service.list_mentions(pb.ListMentionsRequest(), an_agent())
    assert [one.alias for one in held.mentions] == ["Chef João"]


async def test_edge_stated_twice_at_once_is_stored_once_and_deleted_once(service: WikiService) -> None:
    await asyncio.gather(*(service.write_edge(pb.WriteEdgeRequest(**EDGE), an_admin()) for _ in range(4)))
    assert len((await query(service, "casa-lola", {})).paths) == 1
    asked = pb.DeleteEdgeRequest(**EDGE)
    gone = await asyncio.gather(*(service.delete_edge(asked, an_admin()) for _ in range(3)))
    assert sum(one.was_there for one in gone) == 1
    assert not (await query(service, "casa-lola", {})).paths


async def test_edge_that_waits_for_its_pages_since_a_rebuild_is_taken_back(service: WikiService, pools: Pools) -> None:
    await service.write_edge(pb.WriteEdgeRequest(**EDGE), an_admin())
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.reset(connection, SCOPE, mode=ResetMode.FULL, now=now())
    with pytest.raises(NotFound):
        await service.delete_edge(pb.DeleteEdgeRequest(**EDGE, valid_from_time=at(2020)), an_admin())
    assert (await service.delete_edge(pb.DeleteEdgeRequest(**EDGE), an_admin())).was_there
    with pytest.raises(NotFound):
        await service.delete_edge(pb.DeleteEdgeRequest(**EDGE), an_admin())


@pytest.mark.parametrize(
    ("steps", "given", "field"),
    [
        ([], {}, "steps"),
        ([{}] * 5, {}, "steps"),
        ([{"edge_types": ["Works At"]}], {}, "steps.edge_types"),
        ([{"edge_types": ["ñ" * 9000]}], {}, "steps.edge_types"),
        ([{"direction": 9}], {}, "steps.direction"),
        ([{"edge_types": [f"type_{place}" for place in range(101)]}], {}, "steps[0].edge_types"),
        ([{}], {"target": "austin", "page": ""}, "target"),
        ([{}, {}], {"target": "austin"}, "target"),
        ([{}], {"page_token": "x"}, "page_token"),
    ],
    ids=lambda one: str(one)[:40],
)
async def test_bad_question_names_its_field(
    service: WikiService, steps: list[dict[str, Any]], given: dict[str, Any], field: str
) -> None:
    assert await refused_field(query(service, given.pop("page", "casa-lola"), *steps, **given)) == field


async def test_bad_statement_is_refused_and_writes_nothing(service: WikiService) -> None:
    with pytest.raises(FailedPrecondition, match="known type"):
        await service.write_edge(pb.WriteEdgeRequest(**{**EDGE, "edge_type": "adores"}), an_admin())
    with pytest.raises(FailedPrecondition, match="the page itself"):
        await service.write_edge(pb.WriteEdgeRequest(**{**EDGE, "target": "casa-lola"}), an_admin())
    with pytest.raises(FailedPrecondition, match="not after"):
        await service.write_edge(
            pb.WriteEdgeRequest(**EDGE, valid_from_time=at(2021), valid_until_time=at(2020)), an_admin()
        )
    with pytest.raises(NotFound):
        await service.write_edge(pb.WriteEdgeRequest(**{**EDGE, "target": "nowhere"}), an_admin())
    with pytest.raises(AdminRequired):
        await service.write_edge(pb.WriteEdgeRequest(**EDGE), an_agent())
    assert (
        await refused_field(service.write_edge(pb.WriteEdgeRequest(**EDGE, confidence=7.0), an_admin())) == "confidence"
    )
    assert not (await query(service, "", {})).paths
