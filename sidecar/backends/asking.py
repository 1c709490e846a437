"""One backend as it is asked: its own lanes, its rate, its deadline, and the care of `models/resilience` around each call.

What a particular service's errors mean is told by its client; here they are only counted and waited for.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from models.errors import AttemptsFailed, BreakerOpen, CallTimedOut
from models.transport.resilience import CallPolicy, Endpoint, Verdict, call
from sidecar.backends.errors import BackendBusy, BackendResting, BackendTimedOut
from sidecar.context.ports import BackendError

T = TypeVar("T")

_RETRIED_ONCE = frozenset({"DependencyFailedException"})
_MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How a backend may be asked: seconds for a whole call, calls at once, and calls a second (0 is any number)."""

    deadline_s: float = 2.0
    concurrency: int = 8
    rate_per_s: float = 0.0
    may_hedge: bool = True


class TokenBucket:
    """Lets `rate_per_s` calls a second through, and as many at once after a rest. For one event loop."""

    def __init__(self, rate_per_s: float) -> None:
        self._rate_per_s = rate_per_s
        self._tokens = max(1.0, rate_per_s)
        self._counted_at_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take a token, also one that is yet to come, and return the seconds until it is there."""
        if not self._rate_per_s:
            return 0.0
        grown = self._tokens + max(0.0, now_s - self._counted_at_s) * self._rate_per_s
        self._tokens = min(max(1.0, self._rate_per_s), grown) - 1.0
        self._counted_at_s = now_s
        return max(0.0, -self._tokens / self._rate_per_s)

    def give_back(self) -> None:
        """Put back a token that was not used."""
        self._tokens += 1.0


class BackendCaller:
    """Asks one backend. Made once: it remembers how the backend has been doing."""

    def __init__(self, name: str, bounds: CallLimits | None = None) -> None:
        self.name = name
        self.bounds = bounds or CallLimits()
        self.endpoint = Endpoint(name)
        self._bucket = TokenBucket(self.bounds.rate_per_s)
        self._lanes = asyncio.Semaphore(self.bounds.concurrency)

    async def ask(self, attempt: Callable[[], Awaitable[T]], *, may_hedge: bool = True) -> T:
        """Return what an attempt brings, within the backend's deadline. Raises a BackendError and nothing else of its own."""
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
        """Hold a lane for one attempt. Raises BackendBusy at once for a wait that could not end in time."""
        wait_s = self._bucket.wait_s(asyncio.get_running_loop().time())
        if wait_s >= left_s:
            self._bucket.give_back()
            raise BackendBusy(self.name, "rate", retry_after_s=math.ceil(wait_s))
        if wait_s:
            await asyncio.sleep(wait_s)
        async with self._lanes:
            yield


class _Judge:
    """Says of each error what the backend's own client has said of its kind; some kinds earn one more attempt only."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, error: Exception) -> Verdict:
        assert isinstance(error, BackendError), "the policy names no other failures"
        self._seen[error.code] += 1
        is_worn = error.code in _RETRIED_ONCE and self._seen[error.code] > 1
        return Verdict(error.is_retryable and not is_worn, error.is_outage, error.retry_after_s)
