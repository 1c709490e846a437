"""Memories whose planning fails even alone. They are quarantined once it is certain that they, not the planner, are the cause.

After three failures with the same reason, or at the end of the job, the planner is probed with a harmless memory. If
that fails too, the job fails and quarantines nothing. A batch that is planned successfully in between is as good a proof
as the probe.

A model that does not answer makes the job wait. After three waits for the same batch it is probed first: if it answers
the probe, batches are halved from claim to claim, and a memory for which it does not answer even alone is quarantined.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from compiler.errors import ModelFailing
from compiler.job.job_outcome import is_outage
from compiler.job.reading import ReadBatch
from compiler.job.run import Frozen, Held, Run, entry_of
from compiler.passes.leaf import Planned
from compiler.plan.contract import BatchMemory
from compiler.plan.judging import links
from compiler.planners.planner import ExtractivePlanner
from compiler.state.substrates import content_hash
from models.errors import AnswerUnusable, InvalidRequest, ProviderError
from store.compile import ledger
from store.compile.batches import BatchKind
from store.compile.ledger import LedgerEntry, MemoryOutcome

log = logging.getLogger(__name__)

ALIKE = 3
MODEL_FAULTS = ("MalformedOutput", "ModelRefused", "OutputTruncated")


async def take(run: Run, error: Exception, batch: ReadBatch) -> None:
    """Hold a memory that failed alone, or quarantine it. Raises ModelFailing, PlanSuperseded, and what the probe raises.

    A memory of the reread queue is decided at once: the cursor does not pass it, so that it would be read again
    immediately.
    """
    reason = type(error).__name__
    run.held.append(Held(reason, batch.page, batch.fresh))
    if run.has_rereads or sum(one.reason == reason for one in run.held) >= ALIKE:
        await settle(run)


async def check_model(run: Run) -> None:
    """Probe a model that did not answer for the same batch several times, and halve the batch if it answers the probe.

    Raises what the probe raises, and ModelFailing.
    """
    if run.figures["model_waits"] < ALIKE:
        return
    try:
        await run.deps.planner.probe()
    except (AnswerUnusable, InvalidRequest) as error:
        raise _failing(error) from error
    run.is_model_proven = True
    run.figures["batch_halvings"] += 1


async def take_outage(run: Run, error: Exception, batch: ReadBatch) -> None:
    """Raise the error, so that the job waits; but quarantine a memory that is alone if it is at fault."""
    if not is_at_fault(run, error) or len(batch.page.memories) > 1:
        raise error
    run.is_model_proven = False
    run.figures.update(model_waits=0, batch_halvings=0)
    run.held.append(Held(type(error).__name__, batch.page, batch.fresh))
    await set_aside(run)
    run.passed(batch.page, 1)


def is_at_fault(run: Run, error: Exception) -> bool:
    """Return whether the request is at fault: the model did not answer it, but had just answered a probe."""
    return run.is_model_proven and is_of_question(error)


def is_of_question(error: Exception) -> bool:
    """Return whether the model was asked and did not answer. An error without an attempt comes from the circuit breaker."""
    return is_outage(error) and isinstance(error, ProviderError) and error.attempts > 0


def quote_outages(run: Run) -> None:
    """Let a job that waited several times for its model rebuild pages without it, so that they lose withdrawn words."""
    run.deps = replace(run.deps, quotes_outages=run.figures["model_waits"] >= ALIKE)


async def settle(run: Run) -> None:
    """Quarantine the held memories if the planner's probe succeeds. Raises ModelFailing, PlanSuperseded, and what it raises."""
    if run.held:
        await _probe(run)
        await set_aside(run)


async def set_aside(run: Run) -> None:
    """Quarantine the held memories with their reasons, and move the cursor past them. Raises PlanSuperseded."""
    held, run.held = run.held, []
    for one in held:
        entries = tuple(
            entry_of(entry(memory), outcome=MemoryOutcome.QUARANTINED, reason=one.reason) for memory in one.memories
        )
        await run.commit(Planned(), Frozen(BatchKind.LEAF, one.reading.cursor, one.reading.read_through, entries))


async def _probe(run: Run) -> None:
    try:
        await run.deps.planner.probe()
    except (AnswerUnusable, InvalidRequest) as error:
        reason = run.held[-1].reason
        run.held.clear()
        log.error("model_failing", extra={"error": reason, "planner": run.deps.planner.name})
        raise _failing(error) from error


def _failing(error: ProviderError) -> ModelFailing:
    """Return the job's error for that of a probe. The text of a rejection is the provider's: it can quote only the probe."""
    name = type(error).__name__
    return ModelFailing(f"{name}: {error.detail}" if isinstance(error, InvalidRequest) else name)


def switch_to_extractive(run: Run, error: ModelFailing) -> None:
    """Switch the job to the extractive planner, and record the failure in its metrics."""
    failed = f"{run.deps.planner.name}: {error.detail}"
    planner = ExtractivePlanner(run.deps.gazetteer)
    run.figures.update(planner=planner.name, planner_failed=failed, model_waits=0, batch_halvings=0)
    run.deps = replace(run.deps, planner=planner)


def entry(memory: BatchMemory, reason: str = "") -> LedgerEntry:
    """Return a memory's ledger row: filtered if there is a reason, quarantined if that is `crashed_the_worker`, else applied."""
    outcome = MemoryOutcome.FILTERED if reason else MemoryOutcome.APPLIED
    if reason == "crashed_the_worker":
        outcome = MemoryOutcome.QUARANTINED
    hashes = (content_hash(memory), memory.text_hash)
    hub_keys = tuple(map(ledger.hub_key, links.parent_titles((memory,))))
    return LedgerEntry(memory.memory_id, memory.document_id, *hashes, memory.occurred_at, outcome, reason, hub_keys)
