"""A section that became a page, taken back by an operator, and one that an operator keeps from it: compiles keep to both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from compiler.operations.replay import replay
from models.language.language import LanguageModel
from sidecar.rpc.wiki import WikiService
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import wiki_pb2 as pb
from store.db.postgres import Pools
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.compiling import NOW, Clock, compiled, wiki_of, wish, write
from tests.support.compiler.crashes.crash_world import PLACES, engine, model_at, model_site, told
from tests.support.rpc.service_calls import an_admin, an_agent, now

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
PLACES_OF_AUSTIN: dict[str, Any] = {"page": "austin", "section_slug": "places", "owner_id": "ann"}


@pytest.fixture
async def model() -> AsyncIterator[LanguageModel]:
    """Serve a model that asks for the promotion of a list that is ready."""
    with model_site() as site:
        async with model_at(site.url) as client:
            yield client


async def compile_more(pools: Pools, model: LanguageModel, count: int, *, first: int = 0) -> None:
    """Write memories and compile them, each time in a later bucket."""
    clock = Clock(NOW + timedelta(minutes=10 * first))
    await write(pools, told(count, first=first), scope=SCOPE)
    await wish(pools, scope=SCOPE, now=clock())
    await compiled(pools, engine(pools, model, clock), scope=SCOPE)


async def shown(service: WikiService, page: str) -> pb.GetPageResponse:
    return await service.get_page(pb.GetPageRequest(page=page), an_agent())


async def listed(service: WikiService) -> tuple[int, int]:
    """Return the status of Austin's list and how many pages it names."""
    section = next(one for one in (await shown(service, "austin")).sections if one.slug == "places")
    return section.aggregation.promotion_status, sum(f"**{name}**" in section.body_md for name in PLACES)


async def linked(service: WikiService) -> int:
    """Return the number of pages that Austin's list links to in the graph."""
    links = (await shown(service, "austin")).links
    return sum(pb.LINK_ORIGIN_ROLLUP in link.origins for link in links)


async def test_undone_promotion_stays_undone_and_replays(pools: Pools, model: LanguageModel) -> None:
    service = WikiService(Wiki(pools, now=now))
    await compile_more(pools, model, 45)
    assert await listed(service) == (pb.PROMOTION_STATUS_CANDIDATE, len(PLACES))
    assert await linked(service) == len(PLACES)
    await compile_more(pools, model, 4, first=45)
    status, count = await listed(service)
    assert (status, count) == (pb.PROMOTION_STATUS_PROMOTED, 0)
    child = await shown(service, "austin-places")
    assert child.parent.slug == "austin"
    answer = await service.undo_promotion(pb.UndoPromotionRequest(**PLACES_OF_AUSTIN), an_admin())
    assert answer.section.aggregation.promotion_status == pb.PROMOTION_STATUS_SUPPRESSED
    assert await listed(service) == (pb.PROMOTION_STATUS_SUPPRESSED, len(PLACES))
    assert (await shown(service, "austin-places")).page.status == pb.PAGE_STATUS_ARCHIVED
    assert await linked(service) == len(PLACES)
    await compile_more(pools, model, 4, first=49)
    assert await listed(service) == (pb.PROMOTION_STATUS_SUPPRESSED, len(PLACES))
    found = await replay(engine(pools, model, Clock()), pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


async def test_suppressed_list_is_never_promoted(pools: Pools, model: LanguageModel) -> None:
    service = WikiService(Wiki(pools, now=now))
    await compile_more(pools, model, 45)
    await service.suppress_promotion(pb.SuppressPromotionRequest(**PLACES_OF_AUSTIN), an_admin())
    await compile_more(pools, model, 4, first=45)
    assert await listed(service) == (pb.PROMOTION_STATUS_SUPPRESSED, len(PLACES))
    assert not any("austin-places" in name for name in await wiki_of(pools, scope=SCOPE))
