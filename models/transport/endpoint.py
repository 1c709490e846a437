"""What is remembered about a remote endpoint: its breaker, its retry budget, its latencies.

State machines for one event loop: time comes in as an argument, in seconds of any monotonic clock, and nothing waits.
`models/transport/resilience.py` drives them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum


class BreakerState(StrEnum):
    """Whether an endpoint is called: freely, not at all, or by one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a breaker opens and for how long.

    It opens when, of the last `window_calls` calls within `window_s` seconds, at least `least_calls` are known and
    `failure_ratio` of them failed. It stays open `open_s`, doubled with each failed probe up to `longest_open_s`.
    """

    window_calls: int = 20
    window_s: float = 30.0
    least_calls: int = 5
    failure_ratio: float = 0.5
    open_s: float = 2.0
    longest_open_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Permit:
    """The right to one call. `era` is the breaker's state that gave it, so that a late result changes no newer one."""

    era: int
    is_probe: bool


class Breaker:
    """Leaves a failing endpoint alone, then lets one probe at a time find out whether it is back."""

    def __init__(self, policy: BreakerPolicy | None = None) -> None:
        self._policy = policy or BreakerPolicy()
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=self._policy.window_calls)
        self._era = 0
        self._openings = 0
        self._reopens_at_s: float | None = None
        self._probe_since_s: float | None = None

    def state(self, now_s: float) -> BreakerState:
        """Return the state as the next caller would meet it."""
        if self._reopens_at_s is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now_s < self._reopens_at_s else BreakerState.HALF_OPEN

    def retry_after_s(self, now_s: float) -> float:
        """Return the seconds until a probe may be tried; 0 when the breaker is closed or due."""
        return 0.0 if self._reopens_at_s is None else max(0.0, self._reopens_at_s - now_s)

    def admit(self, now_s: float) -> Permit | None:
        """Return the right to call once, or None. Every permit must come back: succeeded, failed or released."""
        if self._reopens_at_s is None:
            return Permit(self._era, is_probe=False)
        if now_s < self._reopens_at_s or self._is_probing(now_s):
            return None
        self._probe_since_s = now_s
        return Permit(self._era, is_probe=True)

    def succeeded(self, permit: Permit, now_s: float) -> None:
        """Record an answer; a probe's closes the breaker."""
        if permit.era != self._era:
            return
        if permit.is_probe:
            self._enter(reopens_at_s=None, openings=0)
        else:
            self._outcomes.append((now_s, False))

    def failed(self, permit: Permit, now_s: float, *, is_slow: bool = False) -> None:
        """Record a failure that is the endpoint's; a probe's keeps the breaker open for twice as long.

        With `is_slow` the probe had no answer in time: the breaker stays open for as long as it was, no longer.
        """
        if permit.era != self._era:
            return
        self._outcomes.append((now_s, True))
        if permit.is_probe or self._is_over_limit(now_s):
            openings = max(0, self._openings - 1) if permit.is_probe and is_slow else self._openings
            open_s = min(self._policy.open_s * 2**openings, self._policy.longest_open_s)
            # Thirty doublings pass any limit; without the bound the power would grow on an endpoint dead for days.
            self._enter(reopens_at_s=now_s + open_s, openings=min(openings + 1, 30))

    def close(self) -> None:
        """Close the breaker, because another sign than its own probe shows that the endpoint is back."""
        if self._reopens_at_s is not None:
            self._enter(reopens_at_s=None, openings=0)

    def released(self, permit: Permit) -> None:
        """Take back a permit whose call showed nothing, as a cancelled one; a probe may be tried again at once."""
        if permit.is_probe and permit.era == self._era:
            self._probe_since_s = None

    def _is_probing(self, now_s: float) -> bool:
        # A permit that never came back must not shut an endpoint out for good.
        return self._probe_since_s is not None and now_s < self._probe_since_s + self._policy.longest_open_s

    def _is_over_limit(self, now_s: float) -> bool:
        recent = [failed for at_s, failed in self._outcomes if now_s - at_s <= self._policy.window_s]
        return len(recent) >= self._policy.least_calls and sum(recent) >= self._policy.failure_ratio * len(recent)

    def _enter(self, *, reopens_at_s: float | None, openings: int) -> None:
        self._era += 1
        self._openings = openings
        self._reopens_at_s = reopens_at_s
        self._probe_since_s = None
        self._outcomes.clear()


class RetryBudget:
    """Bounds what retries and hedges add to the load: `capacity` at once, and `refill` of a call for each answered one.

    The numbers are gRPC's retry throttling: 10 tokens, a tenth back for each success, hedges only above half.
    """

    def __init__(self, capacity: float = 10.0, refill: float = 0.1) -> None:
        self._capacity = capacity
        self._refill = refill
        self._tokens = capacity

    @property
    def tokens(self) -> float:
        """The extra attempts left."""
        return self._tokens

    def spend_on_retry(self) -> bool:
        """Take a token if there is a whole one; return whether the retry may go."""
        return self._spend(above=0.0)

    def spend_on_hedge(self) -> bool:
        """Take a token if the bucket is more than half full; return whether the hedge may go."""
        return self._spend(above=self._capacity / 2)

    def answered(self) -> None:
        """Put back a part of a token for a call that was answered."""
        self._tokens = min(self._capacity, self._tokens + self._refill)

    def _spend(self, *, above: float) -> bool:
        if self._tokens < 1.0 or self._tokens <= above:
            return False
        self._tokens -= 1.0
        return True


class Latencies:
    """The endpoint's last answered calls, for the delay after which a second attempt is worth its cost."""

    _KEPT = 128
    _LEAST = 20

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=self._KEPT)

    def add(self, latency_s: float) -> None:
        """Record one answered attempt, in seconds."""
        self._seconds.append(latency_s)

    def p95_s(self) -> float | None:
        """Return the 95th percentile (nearest rank) in seconds, None before 20 answers."""
        if len(self._seconds) < self._LEAST:
            return None
        ordered = sorted(self._seconds)
        return ordered[(len(ordered) * 95 + 99) // 100 - 1]


class Endpoint:
    """One remote endpoint, shared by every tenant that calls it: its name, and what its past calls taught."""

    def __init__(self, name: str, *, breaker: Breaker | None = None, budget: RetryBudget | None = None) -> None:
        self.name = name
        self.breaker = breaker or Breaker()
        self.budget = budget or RetryBudget()
        self.latencies = Latencies()


@dataclass(frozen=True, slots=True)
class CallReport:
    """How one call went: attempts begun, the hedges among them, seconds spent, and the breaker as the call left it.

    `retry_after_s` is when another try may make sense, None when nobody said.
    """

    endpoint: str
    attempts: int
    hedges: int
    elapsed_s: float
    breaker: BreakerState
    retry_after_s: float | None = None
