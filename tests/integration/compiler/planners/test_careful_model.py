"""Answers of a good model: the pipeline loses no cited text and adds no uncited one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from compiler.plan.contract import Page
from compiler.plan.text.markdown import unescape
from compiler.state import row_mapping
from models.language.remote import RemoteModel
from store.compile.jobs import JobStatus
from store.db.postgres import Pools, scoped
from store.wiki import candidates
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.careful_model import TOLD, CarefulModel, memories
from tests.support.compiler.compiling import NOW, SCOPE, Clock, all_jobs, compiled, wish, write
from tests.support.compiler.model_engines import engine_with
from tests.support.compiler.quality_table import quality_table


async def grown(pools: Pools, model: RemoteModel, site: ModelServer, *, size: int) -> CarefulModel:
    """Compile the memories in three jobs, in batches of this size."""
    careful = CarefulModel()
    site.by_request = careful
    told = memories()
    for number, start in enumerate(range(0, len(told), 4)):
        clock = Clock(NOW + timedelta(minutes=6 * number))
        await write(pools, told[start : start + 4], now=clock())
        await wish(pools, now=clock())
        engine = engine_with(pools, model, clock=clock)
        caps = replace(engine.settings.caps, record_page_size=size)
        await compiled(pools, replace(engine, settings=replace(engine.settings, caps=caps)))
    return careful


async def pages_of(pools: Pools) -> list[Page]:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        standing = await row_mapping.load(connection, SCOPE, await candidates.all_ids(connection, SCOPE))
    return [page for page in standing.pages.values() if page.is_active]


@pytest.mark.parametrize("size", [1, 3, 50])
async def test_everything_cited_is_kept_and_nothing_else_is_added(
    pools: Pools, model: RemoteModel, site: ModelServer, size: int
) -> None:
    careful = await grown(pools, model, site, size=size)
    pages = await pages_of(pools)
    assert {page.title for page in pages} == {title for title, _ in careful.cited}
    sections = {(page.title, section.slug): section for page in pages for section in page.sections}
    kept = {place: {one.memory_id for one in section.sources} for place, section in sections.items()}
    assert kept == careful.cited
    texts = {place: unescape(section.body_md) for place, section in sections.items()}
    lost = [one for place, said in careful.said.items() for one in said if one not in texts[place]]
    assert lost == []
    added = [rest for place, text in texts.items() if (rest := _without(text, careful.said[place]))]
    assert added == []


async def test_table_of_careful_answers(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    await grown(pools, model, site, size=2)
    table = await quality_table(pools, len(TOLD))
    assert {job.status for job in await all_jobs(pools)} == {JobStatus.SUCCEEDED}
    assert table["memories cited"] == 1.0
    assert table["citations"] == sum(len(told) for _, told in TOLD)
    assert (table["items rejected"], table["records quarantined"], table["sources released"]) == (0, 0, 0)


def _without(body: str, said: set[str]) -> str:
    for sentence in sorted(said, key=len, reverse=True):
        body = body.replace(sentence, "")
    return body.strip()
