"""Calls one backend within its concurrency limit, rate and deadline, with the retries and breaker of `models.transport`.

Each client translates its service's errors; this module only counts them and waits. It also reads the units of an answer one by
one, so that only a malformed unit is lost. Lists that a wiki is compiled from are read whole instead, because there a missing
unit counts as deleted.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from models.errors import AttemptsFailed, BreakerOpen, CallTimedOut
from models.transport.endpoint import Endpoint
from models.transport.resilience import CallPolicy, Verdict, call
from sidecar.backends.errors import AnswerUnreadable, BackendBusy, BackendResting, BackendTimedOut
from sidecar.context.ports import BackendError

T = TypeVar("T")

_RETRIED_ONCE = frozenset({"DependencyFailedException"})
_MAX_ATTEMPTS = 3
_MOST_ID_CHARS = 500
_FAULTS = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Call limits of a backend: seconds per call including retries, concurrent calls, and calls per second (0 for no limit)."""

    deadline_s: float = 2.0
    concurrency: int = 8
    rate_per_s: float = 0.0
    may_hedge: bool = True


class TokenBucket:
    """A token bucket of `rate_per_s` calls per second, with a burst of the same size. For one event loop."""

    def __init__(self, rate_per_s: float) -> None:
        self._rate_per_s = rate_per_s
        self._tokens = max(1.0, rate_per_s)
        self._counted_at_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take a token, possibly a future one, and return the seconds until it is available."""
        if not self._rate_per_s:
            return 0.0
        refilled = self._tokens + max(0.0, now_s - self._counted_at_s) * self._rate_per_s
        self._tokens = min(max(1.0, self._rate_per_s), refilled) - 1.0
        self._counted_at_s = now_s
        return max(0.0, -self._tokens / self._rate_per_s)

    def give_back(self) -> None:
        """Return an unused token."""
        self._tokens += 1.0


class BackendCaller:
    """Calls one backend. Create one per backend: it holds the breaker and latency state."""

    def __init__(self, name: str, bounds: CallLimits | None = None) -> None:
        self.name = name
        self.bounds = bounds or CallLimits()
        self.endpoint = Endpoint(name)
        self._bucket = TokenBucket(self.bounds.rate_per_s)
        self._slots = asyncio.Semaphore(self.bounds.concurrency)

    async def ask(self, attempt: Callable[[], Awaitable[T]], *, may_hedge: bool = True) -> T:
        """Return the result of an attempt, within the backend's deadline. Raises a BackendError for all failures."""
        policy = CallPolicy(
            failures=(BackendError,),
            judge=_Judge(),
            max_attempts=_MAX_ATTEMPTS,
            may_hedge=may_hedge and self.bounds.may_hedge,
        )

        async def admitted(left_s: float) -> T:
            async with self._admitted(left_s):
                return await attempt()

        try:
            return (await call(self.endpoint, admitted, policy, deadline_s=self.bounds.deadline_s)).value
        except CallTimedOut:
            raise BackendTimedOut(self.name) from None
        except BreakerOpen as error:
            raise BackendResting(self.name, retry_after_s=error.report.retry_after_s) from None
        except AttemptsFailed as failed:
            raise failed.__cause__ or failed from None

    @asynccontextmanager
    async def _admitted(self, left_s: float) -> AsyncIterator[None]:
        """Hold a slot for one attempt. Raises BackendBusy at once if the rate limit's wait exceeds `left_s`."""
        wait_s = self._bucket.wait_s(asyncio.get_running_loop().time())
        if wait_s >= left_s:
            self._bucket.give_back()
            raise BackendBusy(self.name, "rate", retry_after_s=math.ceil(wait_s))
        if wait_s:
            await asyncio.sleep(wait_s)
        async with self._slots:
            yield


class _Judge:
    """Gives the retry verdict of each error, as its class declares. Some codes are retried only once."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, error: Exception) -> Verdict:
        assert isinstance(error, BackendError), "the policy lists no other failures"
        self._seen[error.code] += 1
        is_exhausted = error.code in _RETRIED_ONCE and self._seen[error.code] > 1
        return Verdict(error.is_retryable and not is_exhausted, error.is_outage, error.retry_after_s)


@dataclass(frozen=True, slots=True)
class Units(Generic[T]):
    """The readable units, in the service's order, and notes for the receipt on those left out."""

    found: tuple[T, ...] = ()
    left_out: tuple[str, ...] = ()


def read_units(backend: str, rows: Iterable[Any], read: Callable[[Any], T], *, most: int) -> Units[T]:
    """Return the first `most` units that `read` can read. Raises AnswerUnreadable if there are rows and none can be read."""
    units, faults = list[T](), Counter[str]()
    for row in rows:
        if len(units) == most:
            break
        try:
            units.append(read(row))
        except _FAULTS as error:
            faults[_fault(error)] += 1
    if faults and not units:
        raise AnswerUnreadable(backend, next(iter(faults)))
    notes = (f"{backend}: {count} unreadable, left out ({fault})" for fault, count in sorted(faults.items()))
    return Units(tuple(units), tuple(notes))


def identifier(value: object) -> str:
    """Return the value as a unit's id. Raises ValueError if it cannot be one."""
    text = str(value or "")
    if not 0 < len(text) <= _MOST_ID_CHARS:
        raise ValueError(f"an id of {len(text)} characters")
    return text


def _fault(error: Exception) -> str:
    """Return the fault of a unit without its content: a missing field's name, or the type of the error."""
    return f"no {error.args[0]}" if isinstance(error, KeyError) and error.args else type(error).__name__
