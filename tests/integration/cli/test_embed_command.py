"""`sidecar embed` gives every text its vector, of all tenants or of one, and says how many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sidecar.cli.operations.embedding import EmbedReport, embed
from sidecar.runtime import embedders
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.worker.embedding_jobs import KIND
from store.compile import background
from store.content.embeddings import TextKind, TextPartition
from store.db.postgres import Pools, scoped
from tests.stand_ins.model_script import Vectors
from tests.stand_ins.model_server import model_server
from tests.support.store.embedding_world import OTHER_TENANT, SCOPE, remember, say, tenants_made

EMBEDDER = "topics/5"


@pytest.fixture
def settings(database: str, tmp_path: Path) -> Iterator[Settings]:
    with model_server() as provider:
        provider.by_request = lambda ask: Vectors(((1.0, 0.0, 0.0, 0.0, 0.0),) * len(ask.texts))
        base_url = f"{provider.url}/v1"
        yield Settings(data_dir=tmp_path, database_url=database, embedder="openai:topics:5", embedder_base_url=base_url)


async def test_all_texts_get_vectors_and_a_second_run_has_nothing_to_do(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await say(pools, "one", "two")
    await remember(pools, "three", scope=OTHER_TENANT)
    steps: list[int] = []
    assert await embed(settings, tenant="", advance=steps.append) == EmbedReport(EMBEDDER, 3, 2)
    assert sum(steps) == 3
    assert await embed(settings, tenant="", advance=steps.append) == EmbedReport(EMBEDDER, 0, 2)


async def test_one_tenant_can_be_embedded_alone(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await say(pools, "one")
    await remember(pools, "two", scope=OTHER_TENANT)
    assert await embed(settings, tenant=str(SCOPE.tenant_id), advance=len_of) == EmbedReport(EMBEDDER, 1, 1)


async def test_partition_leased_by_another_process_is_awaited(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await remember(pools, "one")
    partition = TextPartition(TextKind.MEMORIES, SCOPE.tenant_id, SCOPE.owner_id)
    async with scoped(pools.background, SCOPE) as connection:
        now = datetime.now(UTC)
        await background.take(connection, SCOPE, (KIND, partition.subject), holder="dying", lease_s=0.5, now=now)
    assert await embed(settings, tenant="", advance=len_of) == EmbedReport(EMBEDDER, 1, 1)


async def test_missing_embedder_is_reported(database: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=database, embedder="none")
    done = await embed(settings, tenant="", advance=len_of)
    assert (done.text_count, done.why_not) == (0, "by words alone: no embedder is set up")


@pytest.mark.parametrize(
    "name", ["", "mini", "titan:0", "titan:4000", "titan:1:2", "openai:m", "openai:m:x", "openai::"]
)
async def test_unknown_embedder_is_refused(pools: Pools, tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_EMBEDDER"):
        await embedders.choose(Settings(data_dir=tmp_path, embedder=name), pools.background)


def len_of(count: int) -> None:
    """Hear of a batch."""
