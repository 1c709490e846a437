"""The outcome of a job after an error."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from compiler.errors import MemoriesUnavailable
from compiler.job.job_outcome import outcome_of
from compiler.settings import Patience
from store.compile.jobs import Job, JobOptions, JobStatus, Trigger

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
JOB = Job(
    UUID(int=1), JobStatus.RUNNING, Trigger.ADMIN, 1, JobOptions(), {}, "", None, 0, 0, False, NOW, NOW, NOW, None
)


def test_kept_error_is_bounded_and_can_be_stored() -> None:
    outcome = outcome_of(MemoriesUnavailable("it said \0\ud800" + "x" * 100_000), JOB, {}, Patience(), NOW)
    assert outcome.ending.status is JobStatus.PENDING
    assert outcome.ending.error.startswith("MemoriesUnavailable: ")
    assert "it said \ufffd\ufffdxxx" in outcome.ending.error
    assert len(outcome.ending.error) <= 2_000
