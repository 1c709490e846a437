"""Telemetry of turns: one trace within the caller's, and metrics; a missing collector does no harm."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import grpc
import httpx
import pytest

from sidecar.runtime.settings import Settings
from sidecar.telemetry import names
from sidecar.telemetry.compiles import JobRecord, JobStep, ModelCall
from sidecar.telemetry.job_clock import JobClock
from sidecar.telemetry.logs import JsonLines
from sidecar.telemetry.watch import Watch, WatchConfig, config_of
from sidecar.v1 import context_pb2 as pb
from tests.support.served.collector import Collector, attributes
from tests.support.served.traces import ASKED, PARENT, SAMPLED, SENDING, TRACE, UNSAMPLED, observed, traced
from tests.support.served.turns import QUESTION, THREAD, asking, fill

ASKING = asking()


async def test_turn_is_a_trace_within_the_callers_with_a_span_per_source(
    settings: Settings, collector: Collector
) -> None:
    async with observed(settings, SENDING) as site:
        await fill(site)
        assembly = (await traced(site, SAMPLED).AssembleContext(ASKING)).assembly
        await collector.wait_for(lambda: bool(collector.named(names.FIT)))
    (turn,) = collector.named(names.ASSEMBLE)
    assert (turn.trace_id.hex(), turn.parent_span_id.hex(), turn.kind) == (TRACE, PARENT, turn.SPAN_KIND_SERVER)
    told = attributes(turn.attributes)
    assert told[names.RECEIPT] == assembly.receipt_id
    assert told[names.USED_TOKENS] == assembly.budget.used_tokens
    assert told[names.CONVERSATION] == THREAD
    sources = {attributes(span.attributes)[names.SOURCE]: span for span in collector.spans if "retrieval" in span.name}
    assert sources.keys() == ASKED
    by_name = {attributes(span.attributes)[names.SOURCE]: attributes(span.attributes) for span in sources.values()}
    assert {one[names.STATUS] for one in by_name.values()} <= {"OK", "EMPTY"}
    included = sorted(report.included_tokens for report in assembly.sources if report.included_tokens)
    assert sorted(one[names.SOURCE_TOKENS] for one in by_name.values() if one[names.SOURCE_TOKENS]) == included
    for span in [*sources.values(), *collector.named(names.FIT)]:
        assert (span.trace_id, span.parent_span_id) == (turn.trace_id, turn.span_id)
        assert turn.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= turn.end_time_unix_nano


async def test_spans_hold_no_content_by_default(settings: Settings, collector: Collector) -> None:
    for keeps in (False, True):
        collector.spans.clear()
        async with observed(settings, replace(SENDING, keeps_content=keeps)) as site:
            await fill(site)
            await traced(site, SAMPLED).AssembleContext(ASKING)
            await collector.wait_for(lambda: bool(collector.named(names.FIT)))
        (turn,) = collector.named(names.ASSEMBLE)
        assert (QUESTION in str(turn)) is keeps
        assert "Calypso" not in str(collector.spans)


async def test_degraded_failed_and_slow_turns_are_traced_without_sampling(
    settings: Settings, collector: Collector, database: str
) -> None:
    async with observed(settings, SENDING) as site:
        await fill(site)
        caller = traced(site, UNSAMPLED)
        await caller.AssembleContext(ASKING)
        connection = await asyncpg.connect(database)
        await connection.execute("ALTER TABLE wiki_pages RENAME TO gone")
        assert (await caller.AssembleContext(ASKING)).assembly.degraded
        await connection.close()
        await site.app.receipt_writer.wait_written()
        await collector.wait_for(lambda: bool(collector.named(names.FIT)))
        (turn,) = collector.named(names.ASSEMBLE)
        assert attributes(turn.attributes)[names.DEGRADED] is True
    async with observed(settings, replace(SENDING, slow_turn_s=0.0)) as site:
        await traced(site, UNSAMPLED).AssembleContext(ASKING)
        await collector.wait_for(lambda: bool(collector.named(names.ASSEMBLE)))


async def test_failed_turn_leaves_a_span_with_its_code(settings: Settings, collector: Collector) -> None:
    async with observed(settings, replace(SENDING, slow_turn_s=0.0)) as site:
        with pytest.raises(grpc.aio.AioRpcError):
            await traced(site, UNSAMPLED).AssembleContext(pb.AssembleContextRequest(message="?", model_id="unknown-9"))
        await collector.wait_for(lambda: bool(collector.named(names.ASSEMBLE)))
    (turn,) = collector.named(names.ASSEMBLE)
    assert attributes(turn.attributes)[names.RPC_STATUS] == "INVALID_ARGUMENT"
    assert turn.status.code == turn.status.STATUS_CODE_UNSET  # the caller's mistake is no error of the server


async def test_metrics_are_exported_by_otlp_and_prometheus_without_a_tenant(
    settings: Settings, collector: Collector
) -> None:
    async with observed(replace(settings, http_listen="127.0.0.1:0"), SENDING) as site:
        await fill(site)
        await site.caller().AssembleContext(ASKING)
        await site.app.receipt_writer.wait_written()
        await collector.wait_for(lambda: names.SOURCE_DURATION.name in collector.metrics)
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}") as client:
            text = (await client.get("/metrics")).text
    point = next(
        point
        for point in collector.metrics[names.SOURCE_DURATION.name].histogram.data_points
        if attributes(point.attributes)["source"] == "wiki"
    )
    assert point.count == 1
    assert sum(point.bucket_counts) == point.count
    calls = collector.metrics[names.CALL_DURATION.name].histogram.data_points
    assert {names.RPC_METHOD, names.RPC_STATUS} == set(attributes(calls[0].attributes))
    assert re.search(r'sidecar_source_duration_seconds_count\{source="wiki",status="\w+"\} 1.0', text)
    assert re.search(r'rpc_server_call_duration_seconds_count\{rpc_method="sidecar.v1.ContextService/Assem', text)
    everything = text + str(collector.metrics)
    assert not [word for word in ("acme", "mara", "tenant", "owner") if word in everything]


async def test_unreachable_collector_does_not_affect_turns(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    async with observed(settings, SENDING) as site:
        await fill(site)
        for _ in range(3):
            assert not (await traced(site, SAMPLED).AssembleContext(ASKING)).assembly.degraded


async def test_compile_job_is_its_own_trace_linked_to_the_requesting_call(collector: Collector) -> None:
    began = datetime(2026, 3, 1, tzinfo=UTC)
    ended = began + timedelta(seconds=9)
    call = ModelCall("gpt-oss-120b", "aws.bedrock", "leaf", input_tokens=900, output_tokens=40, finish_reason="stop")
    steps = (
        JobStep(names.BATCH, began, ended, counts={"memories": 50}),
        JobStep("plan", began, ended, model=call, inside=0),
        JobStep(names.APPLY, began, ended, error="TransactionConflict", inside=0),
    )
    record = JobRecord(
        UUID(int=7), "succeeded", "admin", began, ended, {"pages": 3, "rejections": {"unknown handle": 2}}, steps,
        traceparent=SAMPLED,
    )  # fmt: skip
    watch = Watch(WatchConfig(sends_spans=True))
    watch.job_ended(record)
    await collector.wait_for(lambda: len(collector.spans) == 4)
    watch.stop()
    (job,), (batch,), (chat,) = (collector.named(name) for name in (names.COMPILE, names.BATCH, "chat gpt-oss-120b"))
    assert job.links[0].trace_id.hex() == TRACE != job.trace_id.hex()
    assert (batch.parent_span_id, chat.parent_span_id) == (job.span_id, batch.span_id)
    assert attributes(chat.attributes)[names.INPUT_TOKENS] == 900
    assert attributes(job.attributes)["sidecar.compile.pages"] == 3
    assert collector.named(names.APPLY)[0].status.message == "TransactionConflict"
    assert b'sidecar_compile_plan_rejections_total{reason="unknown handle"} 2.0' in watch.figures.as_text()


async def test_log_lines_carry_the_trace_of_the_call(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture, database: str
) -> None:
    lines: list[dict[str, Any]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonLines().format(record)))

    keep = Keep()
    logging.getLogger("sidecar").addHandler(keep)
    async with observed(settings, WatchConfig()) as site:
        connection = await asyncpg.connect(database)
        await connection.execute("ALTER TABLE wiki_pages RENAME TO gone")
        await connection.close()
        await traced(site, SAMPLED).AssembleContext(ASKING)
    logging.getLogger("sidecar").removeHandler(keep)
    assert {line["trace_id"] for line in lines if line["event"] == "source_failed"} == {TRACE}


@pytest.mark.parametrize(
    ("environ", "spans", "metrics"),
    [
        ({}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, True, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}, False, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_SDK_DISABLED": "true"}, False, False),
    ],
)
def test_standard_variables_configure_the_export(environ: dict[str, str], spans: bool, metrics: bool) -> None:
    config = config_of(environ)
    assert (config.sends_spans, config.sends_metrics) == (spans, metrics)


def shape(steps: Sequence[JobStep]) -> list[tuple[str, int | None, int, int]]:
    """Return the steps' names, the places of what they are inside of, and their seconds."""
    return [(step.name, step.inside, step.began_at.second, step.ended_at.second) for step in steps]


def noted(*notes: str) -> tuple[JobStep, ...]:
    """Return the steps of notes made a second apart: checkpoints, and calls as `pass` or `pass!`, each begun a second before."""
    times = iter(datetime(2026, 3, 1, 0, 0, second, tzinfo=UTC) for second in range(60))
    now = datetime(2026, 3, 1, tzinfo=UTC)

    def tick() -> datetime:
        nonlocal now
        now = next(times)
        return now

    clock = JobClock(tick)
    for note in notes:
        if note.rstrip("!~") in {"leaf", "section", "aggregation"}:
            call = ModelCall("m", "openai", note.rstrip("!~"), is_kept=note.endswith("~"))
            clock.record_call(call, now, "Throttled" if note.endswith("!") else "")
        else:
            clock.mark(note)
    steps = clock.taken()
    assert clock.taken() == ()
    return steps


def test_checkpoints_of_a_job_become_steps() -> None:
    steps = noted("frozen", "planned", "stored", "opened", "applied", "aggregation_planned", "opened", "applied")
    assert shape(steps) == [
        (names.BATCH, None, 0, 4), (names.PLAN, 0, 0, 2), (names.APPLY, 0, 3, 4),
        (names.BATCH, None, 5, 7), (names.PLAN, 3, 5, 5), (names.APPLY, 3, 6, 7),
    ]  # fmt: skip


def test_model_calls_are_inside_their_batch_and_writers_are_apart() -> None:
    steps = noted("frozen", "leaf", "section", "planned", "stored", "opened", "applied", "aggregation")
    assert shape(steps) == [
        (names.BATCH, None, 0, 6), (names.PLAN, 0, 0, 4), ("chat m", 1, 0, 1), (names.SECTION, 1, 1, 2),
        ("chat m", 3, 1, 2), (names.APPLY, 0, 5, 6), (names.BATCH, None, 6, 7), (names.PLAN, 6, 6, 7), ("chat m", 7, 6, 7),
    ]  # fmt: skip


def test_failed_batch_has_no_apply_span_and_a_cached_answer_no_call_span() -> None:
    steps = noted("frozen", "leaf!", "frozen", "leaf~", "section~", "planned", "opened", "applied")
    assert [(step.name, step.inside, step.error) for step in steps] == [
        (names.BATCH, None, ""), (names.PLAN, 0, ""), ("chat m", 1, "Throttled"),
        (names.BATCH, None, ""), (names.PLAN, 3, ""), (names.SECTION, 4, ""), (names.APPLY, 3, ""),
    ]  # fmt: skip
    assert steps[5].counts == {"kept_answers": 1}
