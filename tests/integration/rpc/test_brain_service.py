"""Looking up compiled pages through the brain service: the shortlist, the details, and the memories of every statement."""

from __future__ import annotations

from uuid import uuid4

import pytest

from compiler.plan.contract import LinkKind, LinkOrigin, WriteLink
from compiler.plan.edge_types import TypedEdge
from compiler.state.operator_acts import enact
from sidecar.rpc.brain import BrainService
from sidecar.services.brain.context import BrainContext
from sidecar.services.brain.releases import Brain
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import brain_pb2 as pb
from store.content import memories
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.wiki_pages import AUSTIN, LOLA, NOW, put_wiki
from tests.support.rpc.service_calls import an_agent, now, refused_field

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))


@pytest.fixture
async def service(pools: Pools) -> BrainService:
    await put_wiki(pools, SCOPE)
    return BrainService(BrainContext(pools), Brain(pools.background, now=now), Wiki(pools, now=now))


async def ask(service: BrainService, owner: str = "ann", **asked: object) -> pb.QueryBrainContextResponse:
    request = pb.QueryBrainContextRequest(**asked)  # type: ignore[arg-type]
    return await service.query_brain_context(request, an_agent(owner))


async def test_shortlist_has_short_descriptions_with_their_memories(service: BrainService) -> None:
    found = (await ask(service, query="empanada at Casa Lola")).hits
    assert (found[0].index, found[0].title, found[0].description) == (1, "Casa Lola", "Empanadas in Austin.")
    assert list(found[0].memory_ids) == ["m1"]
    assert all(len(one.description) <= 180 for one in found)
    assert len((await ask(service, query="Austin Casa Lola Franklin", limit=1)).hits) == 1


async def test_details_name_the_memories_of_each_statement(service: BrainService) -> None:
    (hit,) = (await ask(service, query="Casa Lola", limit=1)).hits
    (detail,) = (await ask(service, detail_ids=[hit.id])).details
    assert (detail.status, detail.title) == (pb.DETAIL_STATUS_FOUND, "Casa Lola")
    said = {one.text: (one.heading, list(one.memory_ids)) for one in detail.statements}
    assert said == {
        "Empanadas in Austin.": ("", ["m1"]),
        "A beef empanada in Austin.": ("Overview", ["m1"]),
    }


async def test_list_of_pages_leads_on_and_ids_that_lead_nowhere_say_so(service: BrainService) -> None:
    (hit,) = (await ask(service, query="Austin, Texas", limit=1)).hits
    absent = f"owner:{uuid4()}"
    asked = [hit.id, absent, "Casa Lola", f"everyone:{uuid4()}"]
    details = (await ask(service, detail_ids=asked)).details
    assert [one.id for one in details] == asked
    assert [one.status for one in details] == [
        pb.DETAIL_STATUS_FOUND, pb.DETAIL_STATUS_NOT_FOUND, pb.DETAIL_STATUS_INVALID, pb.DETAIL_STATUS_INVALID,
    ]  # fmt: skip
    assert [one.title for one in details[0].pages] == ["Casa Lola", "Franklin Barbecue"]
    onward = await ask(service, detail_ids=[one.id for one in details[0].pages])
    assert {one.status for one in onward.details} == {pb.DETAIL_STATUS_FOUND}


async def test_relation_is_returned_from_both_ends_with_its_memories(service: BrainService, pools: Pools) -> None:
    said = TypedEdge("located_in")
    stated = WriteLink(LOLA, AUSTIN, LinkKind.REFERENCE, LinkOrigin.DETERMINISTIC, "rule", "m1", said)
    by_hand = WriteLink(LOLA, AUSTIN, LinkKind.REFERENCE, LinkOrigin.MANUAL, "manual", "", TypedEdge("owns"))
    async with scoped(pools.background, SCOPE) as connection:
        await enact(connection, SCOPE, [stated, by_hand], now=NOW)
    hits = {one.title: one.id for one in (await ask(service, query="Casa Lola Austin")).hits}
    details = (await ask(service, detail_ids=[hits["Casa Lola"], hits["Austin, Texas"]])).details
    told = [
        [(one.edge_type, one.is_inward, one.page.title, list(one.memory_ids)) for one in detail.relations]
        for detail in details
    ]
    assert told == [[("located_in", False, "Austin, Texas", ["m1"])], [("located_in", True, "Casa Lola", ["m1"])]]


async def test_statement_of_a_forgotten_memory_is_not_returned(service: BrainService, pools: Pools) -> None:
    (hit,) = (await ask(service, query="Franklin Barbecue", limit=1)).hits
    async with scoped(pools.background, SCOPE) as connection:
        await memories.forget_all(connection, SCOPE, ["m2"])
    (detail,) = (await ask(service, detail_ids=[hit.id])).details
    assert (detail.status, list(detail.statements)) == (pb.DETAIL_STATUS_FOUND, [])


async def test_another_owner_finds_nothing(service: BrainService) -> None:
    (hit,) = (await ask(service, query="Casa Lola", limit=1)).hits
    answer = await ask(service, "bob", query="Casa Lola", detail_ids=[hit.id])
    assert not answer.hits
    assert [one.status for one in answer.details] == [pb.DETAIL_STATUS_NOT_FOUND]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"query": "x" * 2_001}, "query"),
        ({"query": "x", "limit": 11}, "limit"),
        ({"detail_ids": ["x"] * 11}, "detail_ids"),
    ],
)
async def test_unusable_requests_name_the_field(service: BrainService, asked: dict[str, object], field: str) -> None:
    request = pb.QueryBrainContextRequest(**asked)  # type: ignore[arg-type]
    assert await refused_field(service.query_brain_context(request, an_agent())) == field
