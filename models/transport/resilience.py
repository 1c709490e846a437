"""Resilience around a remote call: deadline, retries, circuit breaker, and a hedged second attempt if the first is slow.

Only `call` waits. Its state is in `models/transport/endpoint.py`. The policy lists the errors that count as failures; any other
error propagates unchanged. No attempt outlives the call: losing attempts are cancelled and awaited, and a
cancelled call cancels its attempts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from models.errors import AttemptsFailed, BreakerOpen, CallTimedOut
from models.transport.endpoint import BreakerState, CallReport, Endpoint, Permit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of an error: whether a retry may help, whether the endpoint is at fault, and the delay that it requests."""

    is_retryable: bool
    is_outage: bool = True
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """The policy for one kind of call.

    `failures` are the errors that an attempt may raise; `judge` returns the verdict on an error. `may_hedge` is only for
    idempotent reads. An expired deadline counts as a failure of the endpoint only if it was at least `fair_wait_s`.
    """

    failures: tuple[type[Exception], ...]
    judge: Callable[[Exception], Verdict]
    max_attempts: int = 3
    may_hedge: bool = False
    backoff_s: float = 0.05
    longest_backoff_s: float = 1.0
    fair_wait_s: float = 0.2


@dataclass(frozen=True, slots=True)
class CallAnswer(Generic[T]):
    """The endpoint's answer, and the report of the call."""

    value: T
    report: CallReport


async def call(
    endpoint: Endpoint,
    attempt: Callable[[float], Awaitable[T]],
    policy: CallPolicy,
    *,
    deadline_s: float,
    jitter: Callable[[], float] = random.random,
) -> CallAnswer[T]:
    """Return the first answer within `deadline_s` seconds. `attempt` receives the seconds it has left.

    A retry waits for a random part of a doubling backoff, or as long as the endpoint requested. If the wait would exceed the
    deadline, there is no retry. Raises CallTimedOut, BreakerOpen or AttemptsFailed, each with a report, and any error that the
    policy does not list.
    """
    running = _Call(endpoint, attempt, policy, deadline_s)
    while True:
        outcome = await running.next_outcome()
        if outcome.is_answer:
            return CallAnswer(outcome.value, running.report())
        wait_s = running.wait_before_retry_s(outcome, jitter())
        if wait_s is None:
            raise running.failure(outcome) from outcome.error
        await asyncio.sleep(wait_s)


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """The outcome of an attempt: an answer, or an error with its verdict, or neither if it timed out."""

    answers: tuple[T, ...] = ()
    error: Exception | None = None
    verdict: Verdict | None = None

    @property
    def is_answer(self) -> bool:
        return bool(self.answers)

    @property
    def value(self) -> T:
        return self.answers[0]


class _Call(Generic[T]):
    """The state of a running call: its clock, and the numbers of attempts and hedges."""

    def __init__(
        self, endpoint: Endpoint, attempt: Callable[[float], Awaitable[T]], policy: CallPolicy, deadline_s: float
    ) -> None:
        self._endpoint = endpoint
        self._attempt = attempt
        self._policy = policy
        self._now_s = asyncio.get_running_loop().time
        self._started_s = self._now_s()
        self._ends_s = self._started_s + deadline_s
        self._attempts = 0
        self._hedges = 0

    def report(self, retry_after_s: float | None = None) -> CallReport:
        """Return the report of the call so far."""
        now_s = self._now_s()
        return CallReport(
            endpoint=self._endpoint.name,
            attempts=self._attempts,
            hedges=self._hedges,
            elapsed_s=now_s - self._started_s,
            breaker=self._endpoint.breaker.state(now_s),
            retry_after_s=retry_after_s,
        )

    def failure(self, outcome: _Outcome[T]) -> AttemptsFailed | CallTimedOut:
        """Return the error to raise after this outcome."""
        if outcome.verdict is None:
            return CallTimedOut(self.report())
        return AttemptsFailed(self.report(outcome.verdict.retry_after_s))

    async def next_outcome(self) -> _Outcome[T]:
        """Make the next attempt, hedged if allowed, and return its outcome.

        Raises CallTimedOut or BreakerOpen if no attempt is possible.
        """
        now_s = self._now_s()
        if not now_s < self._ends_s:
            raise CallTimedOut(self.report())
        permit = self._endpoint.breaker.admit(now_s)
        if permit is None:
            raise BreakerOpen(self.report(self._endpoint.breaker.retry_after_s(now_s)))
        delay_s = self._hedge_delay_s()
        return await self._try(permit) if delay_s is None else await self._race(permit, delay_s)

    def wait_before_retry_s(self, outcome: _Outcome[T], jitter: float) -> float | None:
        """Return the seconds to wait before a retry, and spend the retry budget; None for no retry."""
        verdict = outcome.verdict
        if verdict is None or not verdict.is_retryable or self._attempts >= self._policy.max_attempts:
            return None
        backoff_s = min(self._policy.backoff_s * 2 ** (self._attempts - 1), self._policy.longest_backoff_s)
        wait_s = max(backoff_s * jitter, verdict.retry_after_s or 0.0)
        now_s = self._now_s()
        if now_s + wait_s >= self._ends_s or self._endpoint.breaker.retry_after_s(now_s) > wait_s:
            return None
        return wait_s if self._endpoint.budget.spend_on_retry() else None

    def _hedge_delay_s(self) -> float | None:
        if not self._policy.may_hedge or self._attempts + 1 >= self._policy.max_attempts:
            return None
        delay_s = self._endpoint.latencies.p95_s()
        return delay_s if delay_s is not None and self._now_s() + delay_s < self._ends_s else None

    async def _race(self, permit: Permit, delay_s: float) -> _Outcome[T]:
        tasks = [asyncio.create_task(self._try(permit))]
        try:
            done, _ = await asyncio.wait(tasks, timeout=delay_s)
            hedge = None if done else self._hedge_permit()
            if hedge is not None:
                self._hedges += 1
                tasks.append(asyncio.create_task(self._try(hedge)))
            return await _first_answer(set(tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _hedge_permit(self) -> Permit | None:
        breaker, now_s = self._endpoint.breaker, self._now_s()
        # During a probe, a hedge would be a second probe.
        if breaker.state(now_s) is not BreakerState.CLOSED or not self._endpoint.budget.spend_on_hedge():
            return None
        return breaker.admit(now_s)

    async def _try(self, permit: Permit) -> _Outcome[T]:
        """Run one attempt and record its outcome in the endpoint's state."""
        self._attempts += 1
        started_s = self._now_s()
        try:
            async with asyncio.timeout_at(self._ends_s) as limit:
                return await self._ask(permit, started_s)
        except TimeoutError:
            if not limit.expired():
                raise
            if self._now_s() - started_s >= self._policy.fair_wait_s:
                self._endpoint.breaker.failed(permit, self._now_s())
            return _Outcome()
        finally:
            self._endpoint.breaker.released(permit)

    async def _ask(self, permit: Permit, started_s: float) -> _Outcome[T]:
        try:
            value = await self._attempt(self._ends_s - started_s)
        except self._policy.failures as error:
            verdict = self._policy.judge(error)
            settle = self._endpoint.breaker.failed if verdict.is_outage else self._endpoint.breaker.succeeded
            settle(permit, self._now_s())
            return _Outcome(error=error, verdict=verdict)
        now_s = self._now_s()
        self._endpoint.breaker.succeeded(permit, now_s)
        self._endpoint.budget.answered()
        self._endpoint.latencies.add(now_s - started_s)
        return _Outcome((value,))


async def _first_answer(pending: set[asyncio.Task[_Outcome[T]]]) -> _Outcome[T]:
    """Return the first answer, or the last attempt's failure if there is none."""
    while True:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        outcomes = [task.result() for task in done]
        outcome = next((ended for ended in outcomes if ended.is_answer), outcomes[0])
        if outcome.is_answer or not pending:
            return outcome
