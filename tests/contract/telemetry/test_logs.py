"""The log's lines reach standard error, and a reader that stalls or leaves delays no caller."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from sidecar.telemetry import logs
from sidecar.telemetry.logs import JsonLines, PatientHandler
from tests.support.places import ROOT

LONG = "x" * 1_000
MANY = 10_000  # of the long lines: more than wait for a reader
SOME = 100

SAY_AND_END = """
import logging
from sidecar.telemetry.logs import log_to_stderr
log_to_stderr('INFO')
for _ in range(3_000):
    logging.info('x' * 1_000)
raise SystemExit(3)
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe: where to read, where to write."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            assert end == ends[0], "only the reader's end is closed by a test"


@pytest.fixture
def log(pipe: tuple[int, int]) -> Iterator[logging.Logger]:
    """A logger whose lines go into the pipe, like those of the handler itself."""
    handler = PatientHandler(pipe[1])
    handler.setFormatter(JsonLines())
    logger = logging.Logger("patient")
    logger.addHandler(handler)
    logs.log.addHandler(handler)
    yield logger
    logs.log.removeHandler(handler)


@pytest.fixture
def reader(pipe: tuple[int, int]) -> Iterator[TextIO]:
    """The lines of the pipe."""
    with os.fdopen(os.dup(pipe[0])) as lines:
        yield lines


def lines_of(reader: TextIO, *, until: str) -> list[dict[str, Any]]:
    """Return the next lines, up to that event."""
    lines: list[dict[str, Any]] = []
    for text in reader:
        lines.append(json.loads(text))
        if lines[-1]["event"] == until:
            return lines
    raise AssertionError("the pipe was closed")


def test_lines_are_written_in_their_order(reader: TextIO, log: logging.Logger) -> None:
    for number in range(SOME):
        log.info("said", extra={"number": number})
    log.info("end")
    assert [line.get("number") for line in lines_of(reader, until="end")] == [*range(SOME), None]


def test_stalled_log_reader_delays_nothing_and_gets_the_number_of_dropped_lines(
    reader: TextIO, log: logging.Logger
) -> None:
    for _ in range(MANY):
        log.info("said", extra={"text": LONG})
    lines = lines_of(reader, until="log_lines_dropped")
    assert 0 < len(lines) < MANY
    seen = [line["event"] for line in lines].count("said")
    log.info("end")
    seen += [line["event"] for line in lines_of(reader, until="end")].count("said")
    assert lines[-1]["count"] + seen == MANY


def test_closed_log_reader_stops_nothing(pipe: tuple[int, int], log: logging.Logger) -> None:
    os.close(pipe[0])
    for _ in range(SOME):
        log.info("said", extra={"text": LONG})
    log.handlers[0].flush()


def test_pipe_that_another_program_made_non_blocking_loses_no_line(
    pipe: tuple[int, int], reader: TextIO, log: logging.Logger
) -> None:
    os.set_blocking(pipe[1], False)
    for number in range(SOME * 10):
        log.info("said", extra={"number": number, "text": LONG})
    log.info("end")
    assert len(lines_of(reader, until="end")) == SOME * 10 + 1


def test_record_that_cannot_be_formatted_breaks_no_caller(
    reader: TextIO, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log.info("%d lines", "many")
    log.info("end")
    assert [line["event"] for line in lines_of(reader, until="end")] == ["end"]
    assert "TypeError" in capsys.readouterr().err


@pytest.mark.parametrize(("redirected", "written"), [("2>&1", 3_000), ("2>&-", 0)], ids=["open", "closed"])
def test_every_line_before_the_end_of_a_process_is_written_if_standard_error_is_open(
    redirected: str, written: int
) -> None:
    command = f'"{sys.executable}" -c "{SAY_AND_END}" {redirected}'
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count(LONG)) == (3, written)


def test_libraries_do_not_log_what_servers_answer() -> None:
    script = """
import logging
from sidecar.telemetry.logs import log_to_stderr
log_to_stderr('INFO')
for name in ('mcp.client.streamable_http', 'client', 'sidecar.client'):
    logging.getLogger(name).error('canary of %s', name)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["canary of sidecar.client"]
