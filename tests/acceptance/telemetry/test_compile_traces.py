"""A compile's telemetry: a trace with batches and model calls, linked to the request, and its cost."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import grpc
import httpx
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from models.language.language import DEFAULT_MODEL_ID
from sidecar.runtime.database import Database
from sidecar.runtime.settings import Settings
from sidecar.telemetry import names
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.logs import JsonLines
from sidecar.telemetry.watch import Watch, WatchConfig
from sidecar.v1 import compile_pb2, cost_pb2, memory_pb2
from sidecar.v1.compile_pb2_grpc import CompileServiceStub
from sidecar.worker.worker_process import keep_child, work
from tests.contract.project.test_deployment_files import LABELS, OURS, expressions
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Cut, Refuse, Say
from tests.stand_ins.model_server import model_server
from tests.support.served.collector import Collector, attributes
from tests.support.served.traces import SAMPLED, SENDING, TRACE, observed, traced
from tests.support.served.turns import refusal
from tests.support.served.wiki_site import JOURNAL, WikiCaller, retain_journal, streamed
from tests.support.waiting import PATIENCE_S

KEY = "sk-canary-73c1e0"


def answer(ask: Ask) -> Behaviour:
    """Plan a page about Suerte, and give the aggregation no usable answer."""
    if ask.schema_name == "leaf_plan":
        refs = [one["ref"] for one in plan_answers.lines_of(ask.user, "MEMORIES") if "Suerte" in one["text"]]
        known = [page["id"] for page in plan_answers.lines_of(ask.user, "PAGES") if page["title"] == "Suerte"]
        section = {"slug": "masa", "heading": "Masa", "proposed_body_md": "Masa.", "source_refs": refs}
        if known:
            update = {"pageId": known[0], "sections": [section], "aliases": []}
            return Say(plan_answers.leaf(newPages=[], pageUpdates=[update]))
        return Say(plan_answers.leaf(newPages=[plan_answers.new_page("Suerte", refs, body="Masa.")], pageUpdates=[]))
    return Cut("{") if ask.schema_name == "aggregation_plan" else Say("Written.")


@pytest.fixture
def planned(settings: Settings) -> Iterator[Settings]:
    """Settings whose compiles ask a scripted model."""
    with model_server() as server:
        server.by_request = answer
        yield replace(settings, compile_planner="openai", compile_base_url=f"{server.url}/v1")


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Watch]:
    """Have a worker compile, under a watch of its own."""
    watch = Watch(WatchConfig(sends_spans=True))
    running = asyncio.create_task(work(settings, watch))
    try:
        yield watch
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        watch.stop()


def told(spans: list[Any]) -> list[dict[str, Any]]:
    """Return the spans' attributes."""
    return [attributes(span.attributes) for span in spans]


class Keep(logging.Handler):
    """Keeps each line of the log as it would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(JsonLines().format(record)))


@pytest.fixture
def written() -> Iterator[Keep]:
    """What the compiler logs."""
    keep, log = Keep(), logging.getLogger("compiler")
    log.addHandler(keep)
    yield keep
    log.removeHandler(keep)


async def test_compile_is_a_trace_linked_to_the_call_that_requested_it(
    planned: Settings, collector: Collector, written: Keep
) -> None:
    async with observed(planned, SENDING) as site:
        caller = traced(site, SAMPLED)
        await retain_journal(caller)
        async with working(planned) as watch:
            await collector.wait_for(lambda: len(collector.named(names.COMPILE)) == 1)
            later = memory_pb2.NewMemory(memory_id="later", text="Suerte in Austin was praised by all.")
            await site.caller().Retain(memory_pb2.RetainRequest(memories=[later]))
            await collector.wait_for(lambda: len(collector.named(names.COMPILE)) == 2)
            counted = watch.figures.as_text().decode()
        spent = await site.caller().ListCompileSpending(cost_pb2.ListCompileSpendingRequest())
        await collector.wait_for(lambda: len(collector.named("sidecar.v1.MemoryService/Retain")) >= 1)
    first, second = collector.named(names.COMPILE)
    (retain,) = [one for one in collector.named("sidecar.v1.MemoryService/Retain") if one.trace_id.hex() == TRACE]
    assert [(link.trace_id, link.span_id) for link in first.links] == [(retain.trace_id, retain.span_id)]
    assert first.trace_id not in {retain.trace_id, second.trace_id}
    logged = {line["trace_id"] for line in written.lines if line["event"] == "aggregation_failed"}
    assert logged == {first.trace_id.hex(), second.trace_id.hex()}
    parents = {span.span_id: span for span in collector.spans}
    chats = collector.named(f"chat {DEFAULT_MODEL_ID}")
    nests = {tuple(parents[one.parent_span_id].name for one in (chat, parents[chat.parent_span_id])) for chat in chats}
    assert nests == {(names.PLAN, names.BATCH), (names.SECTION, names.PLAN)}
    assert len(collector.named(names.APPLY)) >= 2
    for one in told(chats):
        assert (one[names.OPERATION], one[names.PROVIDER], one[names.REQUEST_MODEL]) == (
            "chat", "openai", DEFAULT_MODEL_ID,
        )  # fmt: skip
        assert one[names.INPUT_TOKENS] > 0 < one[names.MAX_TOKENS]
    assert {one[names.ERROR_TYPE] for one in told(chats) if one[names.PLANNER_PART] == "aggregation"} == {
        "OutputTruncated"
    }
    by_pass = {row.in_pass: row for row in spent.rows}
    assert by_pass.keys() == {"leaf", "section", "aggregation"}
    for in_pass, row in by_pass.items():
        calls = [one for one in told(chats) if one[names.PLANNER_PART] == in_pass]
        assert (row.call_count, row.input_tokens) == (len(calls), sum(one[names.INPUT_TOKENS] for one in calls))
        assert row.cost_usd > 0 == row.unpriced_tokens
        assert f'gen_ai_token_type="input",sidecar_compile_pass="{in_pass}"}} {float(row.input_tokens)}' in counted
    everything = str(collector.spans)
    assert not [text for text, _ in JOURNAL.values() if text in everything]
    assert "Masa" not in everything


async def test_models_key_is_in_no_span_log_or_job_even_if_its_provider_returns_it(
    settings: Settings, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    with model_server() as server, caplog.at_level(logging.DEBUG):
        server.by_request = lambda ask: Refuse(401, "invalid_api_key", f"Incorrect API key provided: {KEY}")
        asking = replace(settings, compile_planner="openai", compile_base_url=f"{server.url}/v1", compile_api_key=KEY)
        async with observed(asking, SENDING) as site:
            await retain_journal(site.caller())
            async with working(asking) as watch:
                await collector.wait_for(lambda: bool(collector.named(names.COMPILE)))
                counted = watch.figures.as_text().decode()
            jobs = await WikiCaller(site).ListJobs(compile_pb2.ListJobsRequest())
        assert server.asks, "the model was asked"
    assert collector.named(names.COMPILE)[0].status.code != 0
    lines = [JsonLines().format(record) for record in caplog.records]
    assert any("job" in line for line in lines)
    for told_where in (collector.spans, collector.metrics, counted, jobs, lines, asking, repr(asking)):
        assert KEY not in str(told_where)


class Heard(Figures):
    """Figures that say when a job was counted."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = asyncio.Event()

    def job(self, status: str, duration_s: float) -> None:
        super().job(status, duration_s)
        self.heard.set()


async def test_parents_metrics_count_the_jobs_of_its_worker(
    planned: Settings, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"COMPILE_PLANNER": "openai", "COMPILE_BASE_URL": planned.compile_base_url, "DATA_DIR": planned.data_dir}
    for name, value in own.items():
        monkeypatch.setenv(f"SIDECAR_{name}", str(value))
    figures = Heard()
    async with observed(planned, WatchConfig()) as site:
        await retain_journal(site.caller())
        keeping = asyncio.create_task(keep_child(planned, Database(database, database), figures))
        async with asyncio.timeout(PATIENCE_S):
            await figures.heard.wait()
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
    text = figures.as_text().decode()
    assert 'sidecar_compile_duration_seconds_count{status="succeeded"} 1.0' in text
    assert re.search(r'gen_ai_client_token_usage_tokens_sum\{.*sidecar_compile_pass="leaf"\} [1-9]', text)


async def test_compile_cost_is_shown_to_the_owner_and_to_an_admin(planned: Settings, collector: Collector) -> None:
    async with observed(planned, SENDING) as site:
        await retain_journal(site.caller())
        await retain_journal(site.caller(owner="noor"))
        async with working(planned):
            await collector.wait_for(lambda: len(collector.named(names.COMPILE)) == 2)
        request = cost_pb2.ListCompileSpendingRequest
        own = await site.caller().ListCompileSpending(request())
        whole = await site.caller(admin=True).ListCompileSpending(request(whole_tenant=True))
        assert [row.call_count * 2 for row in own.rows] == [row.call_count for row in whole.rows] != []
        assert not (await site.caller("other").ListCompileSpending(request())).rows
        assert (await refusal(site.caller().ListCompileSpending(request(whole_tenant=True))))[1] == "ADMIN_REQUIRED"
        long_ago = Timestamp(seconds=1)
        assert not (await site.caller().ListCompileSpending(request(until_time=long_ago))).rows


async def test_streams_have_spans_with_their_message_counts(settings: Settings, collector: Collector) -> None:
    async with observed(replace(settings, http_listen="127.0.0.1:0"), SENDING) as site:
        await retain_journal(site.caller())
        stub = CompileServiceStub(site.channel)  # type: ignore[no-untyped-call]  # generated
        metadata = (("authorization", f"Bearer {site.token()}"), ("traceparent", SAMPLED))
        (job,) = (await stub.ListJobs(compile_pb2.ListJobsRequest(), metadata=metadata)).jobs
        watching = stub.WatchJob(compile_pb2.WatchJobRequest(job_id=job.job_id), metadata=metadata)
        assert (await anext(aiter(watching))).job.job_id == job.job_id
        watching.cancel()
        with pytest.raises(grpc.aio.AioRpcError):
            await streamed(stub.WatchJob(compile_pb2.WatchJobRequest(job_id=str(UUID(int=1))), metadata=metadata))
        method = "sidecar.v1.CompileService/WatchJob"
        await collector.wait_for(lambda: len(collector.named(method)) == 2)
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}") as client:
            text = (await client.get("/metrics")).text
    found = {one[names.RPC_STATUS]: one[names.MESSAGES] for one in told(collector.named(method))}
    assert found == {"CANCELLED": 1, "NOT_FOUND": 0}
    assert {span.trace_id.hex() for span in collector.named(method)} == {TRACE}
    assert f'sidecar_stream_messages_total{{rpc_method="{method}"}} 1.0' in text
    assert f'rpc_server_call_duration_seconds_count{{rpc_method="{method}",rpc_status_code="NOT_FOUND"}} 1.0' in text


async def test_calls_of_other_libraries_have_spans_too(settings: Settings, collector: Collector) -> None:
    async with observed(settings, SENDING) as site:
        metadata = (("authorization", f"Bearer {site.token()}"), ("traceparent", SAMPLED))
        stub = ServerReflectionStub(site.channel)
        asking = iter([ServerReflectionRequest(list_services="")])
        (answered,) = await streamed(stub.ServerReflectionInfo(asking, metadata=metadata))
        assert answered.list_services_response.service
        await collector.wait_for(
            lambda: bool(collector.named("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"))
        )
    (span,) = collector.named("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    assert (attributes(span.attributes)[names.MESSAGES], span.trace_id.hex()) == (1, TRACE)


async def test_every_documented_metric_is_served(settings: Settings) -> None:
    async with (
        observed(replace(settings, http_listen="127.0.0.1:0"), WatchConfig()) as site,
        httpx.AsyncClient(base_url=f"http://{site.app.http_address}") as client,
    ):
        text = (await client.get("/metrics")).text
    served = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    asked = {name for expression in expressions() for name in OURS.findall(LABELS.sub("", expression))}
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked} <= served
