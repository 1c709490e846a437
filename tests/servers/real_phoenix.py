"""Turns and compiles as a real Arize Phoenix shows them: `make test-phoenix` starts it and says where it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from models.language.language import DEFAULT_MODEL_ID
from sidecar.runtime.settings import Settings
from sidecar.telemetry import names
from sidecar.telemetry.watch import WatchConfig
from tests.acceptance.telemetry.test_compile_traces import answer, working
from tests.stand_ins.model_server import model_server
from tests.support.served.site import ready
from tests.support.served.traces import ASKED, SAMPLED, TRACE, observed, traced
from tests.support.served.turns import asking, fill
from tests.support.served.wiki_site import JOURNAL, retain_journal

SENDING = WatchConfig(sends_spans=True, slow_turn_s=1e9)
PATIENCE_S = 120.0
Span = dict[str, Any]


@pytest.fixture
async def settings(database: str, tmp_path: Path) -> Settings:
    """Settings for a sidecar on the test's database."""
    return await ready(database, tmp_path)


@pytest.fixture(autouse=True)
def sending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send spans to Phoenix."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", os.environ["PHOENIX_OTLP_URL"])
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")


@pytest.fixture
def model_url() -> Iterator[str]:
    """Where a scripted model answers."""
    with model_server() as server:
        server.by_request = answer
        yield f"{server.url}/v1"


async def shown(is_enough: Callable[[list[Span]], bool]) -> list[Span]:
    """Return every span that Phoenix has, once there are enough; it takes them in a moment after they were sent."""
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=os.environ["PHOENIX_URL"]) as client:
        while True:
            response = await client.get("/v1/projects/default/spans", params={"limit": 1000})
            found: list[Span] = response.json()["data"] if response.status_code == httpx.codes.OK else []
            if is_enough(found):
                return found
            await asyncio.sleep(0.2)


def named(spans: list[Span], name: str) -> list[Span]:
    """Return the spans of a name."""
    return [span for span in spans if span["name"] == name]


async def test_a_turn_is_shown_with_its_sources_in_the_callers_trace(settings: Settings) -> None:
    async with observed(settings, SENDING) as site:
        await fill(site)
        assembly = (await traced(site, SAMPLED).AssembleContext(asking())).assembly
    spans = await shown(lambda found: bool(named(found, names.FIT)))
    (turn,) = [one for one in named(spans, names.ASSEMBLE) if one["context"]["trace_id"] == TRACE]
    own = [one for one in spans if one["parent_id"] == turn["context"]["span_id"]]
    assert {one["attributes"][names.SOURCE] for one in own if names.SOURCE in one["attributes"]} == ASKED
    assert turn["attributes"][names.RECEIPT] == assembly.receipt_id
    assert turn["attributes"][names.USED_TOKENS] == assembly.budget.used_tokens
    assert {one["context"]["trace_id"] for one in own} == {TRACE}


async def test_a_compile_is_shown_with_its_model_calls_and_their_tokens(settings: Settings, model_url: str) -> None:
    asking_a_model = await ready(
        settings.database_url or "", settings.data_dir, compile_planner="openai", compile_base_url=model_url
    )
    async with observed(asking_a_model, SENDING) as site:
        await retain_journal(traced(site, SAMPLED))
        async with working(asking_a_model):
            spans = await shown(lambda found: bool(named(found, names.COMPILE)))
    (job,) = named(spans, names.COMPILE)
    trace = {
        one["context"]["span_id"]: one for one in spans if one["context"]["trace_id"] == job["context"]["trace_id"]
    }
    chats = named(list(trace.values()), f"chat {DEFAULT_MODEL_ID}")
    assert {one["attributes"][names.PLANNER_PART] for one in chats} == {"leaf", "aggregation"}
    for chat in chats:
        assert chat["attributes"][names.PROVIDER] == "openai"
        assert chat["attributes"][names.INPUT_TOKENS] > 0
        plan = trace[chat["parent_id"]]
        batch = trace[plan["parent_id"]]
        assert (plan["name"], batch["name"], batch["parent_id"]) == (names.PLAN, names.BATCH, job["context"]["span_id"])
    assert not [text for text, _ in JOURNAL.values() if text in str(spans)]
