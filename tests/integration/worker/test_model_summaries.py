"""Summaries of threads that a language model writes, at a scripted server in Bedrock's format and in OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from compiler.decay.rolling import MAX_CHARS
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.services.threads import KEEP_TURNS, KIND
from sidecar.worker import summary_model
from sidecar.worker.compile_engine import compile_settings
from sidecar.worker.summary_model import AT_ONCE, ModelWriter
from sidecar.worker.thread_summaries import Summarizer
from store.accounting import costs
from store.compile import answers
from store.content import threads
from store.content.threads import ThreadSummary
from store.db.postgres import Pools, scoped
from tests.integration.worker.test_thread_summaries import NOW, SCOPE, say
from tests.stand_ins.model_script import Ask, Cut, Refuse, Say
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.backends.aws_site import CANARY, use_credentials
from tests.support.compiler.compiling import engine_on, worker_on

SETTINGS = Settings(Path("/nonexistent"), bedrock_region="eu-central-1", compile_api_key=CANARY)
KINDS = ("bedrock", "openai")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that tells in each summary which turns it was given."""
    use_credentials(monkeypatch)
    with model_server() as one:
        one.by_request = lambda ask: Say({"summary": f"Told up to {told(ask)[-1]['said'][:7]}."})
        yield one


def told(ask: Ask) -> list[dict[str, str]]:
    turns: list[dict[str, str]] = json.loads(ask.user)["turns"]
    return turns


async def summarized(pools: Pools, server: ModelServer, kind: str, *, ceiling_cents: int = 0) -> ThreadSummary:
    """Return the thread's summary after the worker has done its background work."""
    settings = replace(
        SETTINGS,
        thread_summaries=kind,
        bedrock_endpoint_url=server.url,
        compile_base_url=f"{server.url}/v1",
        compile_day_ceiling_cents=ceiling_cents,
    )
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(summary_model.writer(settings, pools.background, now=lambda: NOW))
        assert isinstance(writer, ModelWriter)
        summarizer = Summarizer(pools.background, now=lambda: NOW, writer=writer)
        worker = worker_on(pools, engine_on(pools, clock=lambda: NOW))
        worker.handlers = {KIND: summarizer.summarize}
        await worker.drain_scope(SCOPE)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        found = await threads.summary(connection, SCOPE, "t")
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS)
async def test_model_is_given_the_summary_so_far_and_the_following_turns(
    pools: Pools, server: ModelServer, kind: str
) -> None:
    await say(pools, 1, KEEP_TURNS + AT_ONCE + 3)
    found = await summarized(pools, server, kind)
    assert found.text == f"Told up to Turn {AT_ONCE + 3}."
    assert (found.through_position, found.turn_ids) == (AT_ONCE + 3, ())
    first, second = server.asks
    assert (len(told(first)), len(told(second))) == (AT_ONCE, 3)
    assert json.loads(second.user)["summary"] == f"Told up to Turn {AT_ONCE}."
    assert (first.form, first.schema_name) == ("json_schema", "thread_summary")
    assert CANARY not in f"{first.body}{found}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("behaviour", [Refuse(400), Cut('{"summary": "To'), Say({"summary": "  "}), Say("no object")])
async def test_turns_own_words_are_used_if_the_model_has_nothing_to_say(
    pools: Pools, server: ModelServer, kind: str, behaviour: Refuse | Cut | Say
) -> None:
    server.by_request = lambda _: behaviour
    await say(pools, 1, KEEP_TURNS + 3)
    found = await summarized(pools, server, kind)
    assert found.text.splitlines()[-1] == "user: Turn 3 was about the old boat."


async def test_summary_keeps_its_limit_whatever_the_model_writes(pools: Pools, server: ModelServer) -> None:
    server.by_request = lambda _: Say({"summary": "x" * (MAX_CHARS * 2) + "\0"})
    await say(pools, 1, KEEP_TURNS + 3)
    assert (await summarized(pools, server, "openai")).text == "x" * MAX_CHARS


async def test_cost_of_summaries_is_the_owners_and_counts_towards_the_tenants_daily_ceiling(
    pools: Pools, server: ModelServer
) -> None:
    await say(pools, 1, KEEP_TURNS + 3)
    await summarized(pools, server, "bedrock", ceiling_cents=1)
    async with scoped(pools.background, SCOPE) as connection:
        cost_usd = await answers.spent(connection, SCOPE, now=NOW)
        await answers.spend(connection, SCOPE, model_id="m", cost_usd=0.01, now=NOW + timedelta(seconds=1))
        (passed,) = await costs.passes_of_owner(connection, SCOPE, since=NOW, until=NOW)
    assert cost_usd > 0
    assert (passed.in_pass, passed.call_count) == ("thread_summary", 1)
    assert passed.cost_usd == pytest.approx(cost_usd)
    asked = len(server.asks)
    await say(pools, KEEP_TURNS + 4, KEEP_TURNS)
    found = await summarized(pools, server, "bedrock", ceiling_cents=1)
    assert len(server.asks) == asked
    assert found.text.splitlines()[-1] == f"user: Turn {KEEP_TURNS + 3} was about the old boat."
    assert found.through_position == KEEP_TURNS + 3


def test_unknown_summary_model_stops_the_start() -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_THREAD_SUMMARIES"):
        compile_settings(replace(SETTINGS, thread_summaries="gpt"))
