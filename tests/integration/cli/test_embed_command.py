"""`sidecar embed` gives every text its vector, of all tenants or of one, and says how many."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sidecar.cli.operations.embedding import EmbedReport, embed
from sidecar.runtime import embedders
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.worker.embedding_jobs import KIND
from store.compile import background
from store.content.embeddings import EmbeddingPlace, TextKind
from store.db.postgres import Pools, scoped
from tests.support.store.embedding_world import OTHER_TENANT, SCOPE, TopicEmbedder, remember, say, tenants_made


@pytest.fixture
def settings(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    async def made(settings: Settings) -> TopicEmbedder:
        return TopicEmbedder()

    monkeypatch.setattr(embedders, "_made", made)
    return Settings(data_dir=tmp_path, database_url=database)


async def test_all_texts_get_vectors_and_a_second_time_there_is_nothing_to_do(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await say(pools, "one", "two")
    await remember(pools, "three", scope=OTHER_TENANT)
    steps: list[int] = []
    assert await embed(settings, tenant="", advance=steps.append) == EmbedReport("topics", 3, 2)
    assert sum(steps) == 3
    assert await embed(settings, tenant="", advance=steps.append) == EmbedReport("topics", 0, 2)


async def test_one_tenant_leaves_the_others_alone(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await say(pools, "one")
    await remember(pools, "two", scope=OTHER_TENANT)
    assert await embed(settings, tenant=str(SCOPE.tenant_id), advance=len_of) == EmbedReport("topics", 1, 1)


async def test_what_another_process_has_in_hand_is_waited_for(pools: Pools, settings: Settings) -> None:
    await tenants_made(pools)
    await remember(pools, "one")
    place = EmbeddingPlace(TextKind.MEMORIES, SCOPE.tenant_id, SCOPE.owner_id)
    async with scoped(pools.background, SCOPE) as connection:
        now = datetime.now(UTC)
        await background.take(connection, SCOPE, (KIND, place.subject), holder="dying", lease_s=0.5, now=now)
    assert await embed(settings, tenant="", advance=len_of) == EmbedReport("topics", 1, 1)


async def test_without_an_embedder_it_says_so(database: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=database, embedder="none")
    done = await embed(settings, tenant="", advance=len_of)
    assert (done.text_count, done.why_not) == (0, "by words alone: no embedder is set up")


@pytest.mark.parametrize(
    "name", ["", "mini", "titan:0", "titan:4000", "titan:1:2", "openai:m", "openai:m:x", "openai::"]
)
async def test_an_embedder_that_is_none_is_refused(pools: Pools, tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_EMBEDDER"):
        await embedders.choose(Settings(data_dir=tmp_path, embedder=name), pools.background)


def len_of(count: int) -> None:
    """Hear of a batch."""
