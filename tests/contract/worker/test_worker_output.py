"""What a worker says on standard output is counted, and nothing that it may say ends the one who listens."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from sidecar.telemetry.figures import Figures
from sidecar.worker.worker_process import count_jobs
from tests.support.waiting import next_round

TALLY = orjson.dumps({"status": "succeeded", "duration_s": 1.0, "calls": [], "rejections": {}}) + b"\n"
CALL = b'{"status": "failed", "duration_s": 1, "calls": [%s], "rejections": {}}\n'


@pytest.mark.parametrize(
    "garbage",
    [
        b"warming up\n",
        b"\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b"\xff\xfe\x00\n",
        b'{"status": "failed", "duration_s": "soon", "calls": [], "rejections": {}}\n',
        b'{"status": "failed", "duration_s": 1, "calls": [], "rejections": []}\n',
        b'{"status": "failed", "duration_s": 1, "calls": [], "rejections": {"why": 1e999}}\n',
        CALL % b"7",
        CALL % b"{}",
        b"x" * 5_000 + b"\n",
        b"x" * 5_000,
    ],
)
async def test_garbage_is_skipped_and_the_next_job_is_counted(garbage: bytes) -> None:
    figures, told = Figures(), asyncio.StreamReader(limit=1_000)
    told.feed_data(garbage)
    listening = asyncio.create_task(count_jobs(told, figures))
    await next_round()
    told.feed_data(b"\n" + TALLY)
    told.feed_eof()
    await listening
    counted = figures.registry.get_sample_value("sidecar_compile_duration_seconds_count", {"status": "succeeded"})
    assert counted == 1
