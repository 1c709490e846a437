"""Records a compile job's checkpoints and model calls, and turns them into steps grouped by batch."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sidecar.telemetry import calls, names
from sidecar.telemetry.calls import CallTrace
from sidecar.telemetry.compiles import JobStep, ModelCall

_MOST_MARKS = 10_000
_SECTION = "section"
_PLANNED = frozenset({"planned", "aggregation_planned"})


@dataclass(slots=True)
class _Batch:
    """A recorded batch: the times of its checkpoints, and its model calls. It starts at its first record."""

    marks: dict[str, datetime] = field(default_factory=dict)
    calls: list[JobStep] = field(default_factory=list)

    def steps(self, first: int) -> list[JobStep]:
        """Return the batch with its planning, model calls and apply; `first` is its index in the job's list.

        A discarded or failed batch has no apply.
        """
        times = [*self.marks.values(), *(at for call in self.calls for at in (call.began_at, call.ended_at))]
        began, ended = min(times), max(times)
        steps = [JobStep(names.BATCH, began, ended)]
        applied = self.marks.get("applied")
        if self.calls or self.marks.keys() & _PLANNED:
            steps += self._planning(first, began, ended)
        if applied is not None:
            steps.append(JobStep(names.APPLY, self.marks.get("opened", applied), applied, inside=first))
        return steps

    def _planning(self, first: int, began: datetime, ended: datetime) -> list[JobStep]:
        until = [self.marks[name] for name in ("stored", *_PLANNED) if name in self.marks]
        until += [call.ended_at for call in self.calls]
        steps = [JobStep(names.PLAN, began, max(until, default=ended), inside=first)]
        plan = first + 1
        for call in self.calls:
            place = plan
            if call.model is not None and call.model.in_pass == _SECTION:
                place = plan + len(steps)
                counts = {"kept_answers": int(call.model.is_kept)}
                steps.append(JobStep(names.SECTION, call.began_at, call.ended_at, counts=counts, inside=plan))
            if call.model is None or not call.model.is_kept:
                steps.append(JobStep(call.name, call.began_at, call.ended_at, call.model, call.error, inside=place))
        return steps


class JobClock:
    """Records one job's checkpoints and model calls, at most ten thousand."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._notes: list[tuple[str, datetime] | JobStep] = []
        self.root: CallTrace = calls.begin_job()

    def mark(self, place: str) -> None:
        """Record a checkpoint."""
        if len(self._notes) < _MOST_MARKS:
            self._notes.append((place, self._now()))

    def record_call(self, call: ModelCall, began_at: datetime, error: str = "") -> None:
        """Record a model call that has just ended, with an answer or an error."""
        if len(self._notes) < _MOST_MARKS:
            self._notes.append(JobStep(f"chat {call.model_id}", began_at, self._now(), call, error))

    def taken(self) -> tuple[JobStep, ...]:
        """Return the steps since the last call."""
        notes, self._notes = self._notes, []
        steps: list[JobStep] = []
        batch = _Batch()
        for note in notes:
            if isinstance(note, JobStep):
                batch.calls.append(note)
                continue
            place, at = note
            if place == "frozen":
                batch = self._closed(batch, steps)
            batch.marks[place] = at
            if place == "applied":
                batch = self._closed(batch, steps)
        self._closed(batch, steps)
        return tuple(steps)

    @staticmethod
    def _closed(batch: _Batch, steps: list[JobStep]) -> _Batch:
        """Add a batch's steps, unless it has no model calls and was not frozen or applied; return a new batch."""
        if batch.calls or batch.marks.keys() & {"frozen", "applied"}:
            steps += batch.steps(len(steps))
        return _Batch()


class JobClocks:
    """The clocks of the running jobs. A checkpoint or call is recorded for the job of the current task."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._clocks: dict[UUID, JobClock] = {}
        self._own: ContextVar[JobClock | None] = ContextVar("job_clock", default=None)

    def begin(self, job_id: UUID) -> CallTrace:
        """Start a job's clock for this task and the tasks it starts, and return the job's trace ids."""
        clock = self._clocks[job_id] = JobClock(self._now)
        self._own.set(clock)
        return clock.root

    def mark(self, place: str) -> None:
        """Record a checkpoint of this task's job."""
        if (clock := self._own.get()) is not None:
            clock.mark(place)

    def record_call(self, call: ModelCall, began_at: datetime, error: str = "") -> None:
        """Record a model call of this task's job that has just ended."""
        if (clock := self._own.get()) is not None:
            clock.record_call(call, began_at, error)

    def ended(self, job_id: UUID) -> JobClock | None:
        """Remove and return a job's clock; None for a job that never planned."""
        return self._clocks.pop(job_id, None)
