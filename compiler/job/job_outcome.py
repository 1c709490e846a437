"""The outcome of a job after an error: it waits, stops at a ceiling or fails, or its batch is made smaller."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from compiler.errors import (
    CostCeilingReached,
    JobCancelled,
    LeaseLost,
    ListingUnsafe,
    MemoriesUnavailable,
    ModelFailing,
    PlanSuperseded,
)
from compiler.settings import Patience
from models.errors import (
    AccessDenied,
    CredentialsMissing,
    InvalidRequest,
    ModelNotFound,
    ModelsError,
    ModelTimeout,
    ModelUnavailable,
    PromptRefused,
    PromptTooLong,
    Throttled,
)
from models.language.structured import kept_text
from store.compile.jobs import Ending, Job, JobStatus
from store.errors import ConstraintViolated, DatabaseUnavailable, StoreError, UnstorableValue

log = logging.getLogger(__name__)

_ERROR_CHARS = 2_000
_WAITS = (Throttled, ModelUnavailable, ModelTimeout, MemoriesUnavailable, DatabaseUnavailable)
_HOPELESS = (CredentialsMissing, AccessDenied, ModelNotFound, ListingUnsafe)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a claim.

    PENDING puts the job back, not before `resume_at`; otherwise `continues` queues a next job. With `backs_off` a retry
    is queued, later after each consecutive failure.
    """

    ending: Ending
    continues: bool = False
    resume_at: datetime | None = None
    counts_as_attempt: bool = True
    backs_off: bool = False


def outcome_of(error: Exception, job: Job, figures: dict[str, Any], patience: Patience, now: datetime) -> Result:
    """Return the job's outcome for an error. Throttling, outages and the daily ceiling do not count as attempts."""
    if isinstance(error, JobCancelled):
        return Result(Ending(JobStatus.CANCELLED, "", figures))
    name = error_text(error)
    waiting = Ending(JobStatus.PENDING, name, figures)
    if isinstance(error, CostCeilingReached):
        figures["cap_hit"] = "cost"
        if not error.is_for_today:
            return Result(Ending(JobStatus.SUCCEEDED, "", figures), continues=True)
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return Result(waiting, resume_at=tomorrow, counts_as_attempt=False)
    if isinstance(error, ModelFailing):
        return Result(Ending(JobStatus.FAILED, name, figures), backs_off=True)
    if isinstance(error, _WAITS):
        delay_s = max(patience.throttled_delay_s, getattr(error, "retry_after_s", None) or 0.0)
        return Result(waiting, resume_at=now + timedelta(seconds=delay_s), counts_as_attempt=False)
    if isinstance(error, _HOPELESS) or job.attempt >= patience.max_attempts:
        return Result(Ending(JobStatus.FAILED, name, figures))
    # A provider's message may quote memories, and forgetting does not reach logs.
    logged_error = None if isinstance(error, ModelsError) else error
    log.warning("job_failed", extra={"error": type(error).__name__, "attempt": job.attempt}, exc_info=logged_error)
    delay_s = patience.retry_delay_s * 2 ** max(0, job.attempt - 1)
    return Result(waiting, resume_at=now + timedelta(seconds=delay_s))


def error_text(error: Exception) -> str:
    """Return an error as a job keeps it: its name and message, at most 2,000 characters that the database can hold."""
    return kept_text(f"{type(error).__name__}: {error}"[:_ERROR_CHARS])


def handed_back(resume_at: datetime) -> Result:
    """Return the outcome of a job that its worker hands back; the attempt does not count."""
    return Result(Ending(JobStatus.PENDING), resume_at=resume_at, counts_as_attempt=False)


def is_outage(error: Exception) -> bool:
    """Return whether the model did not answer, for a reason that need not be the memories."""
    return isinstance(error, ModelUnavailable | ModelTimeout)


def is_of_aggregation(error: Exception) -> bool:
    """Return whether an error of the aggregation is only recorded, and neither ends the job nor makes it wait."""
    if isinstance(error, StoreError):
        return isinstance(error, ConstraintViolated | UnstorableValue)
    return not isinstance(error, LeaseLost | JobCancelled | CostCeilingReached | Throttled | ModelUnavailable)


def is_poison(error: Exception, *, is_last_attempt: bool = False) -> bool:
    """Return whether the batch's memories may be the cause of the error, so that a smaller batch may succeed.

    A request that the provider rejects each time is tried in parts at the last attempt, before the job fails.
    """
    if isinstance(error, StoreError):
        return isinstance(error, ConstraintViolated | UnstorableValue)
    if isinstance(error, InvalidRequest):
        return is_last_attempt or isinstance(error, PromptTooLong | PromptRefused)
    never = (*_WAITS, *_HOPELESS, LeaseLost, JobCancelled, CostCeilingReached, PlanSuperseded, ModelFailing, OSError)
    return not isinstance(error, never)
