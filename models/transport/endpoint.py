"""The state of a remote endpoint: its circuit breaker, retry budget and latencies.

These are state machines for one event loop. Time is an argument, in seconds of any monotonic clock, and nothing waits.
`models/transport/resilience.py` drives them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum


class BreakerState(StrEnum):
    """Whether calls to an endpoint are allowed: without limit (CLOSED), none (OPEN), or one probe (HALF_OPEN)."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """The rules by which a breaker opens, and for how long.

    It opens if, among the last `window_calls` calls within `window_s` seconds, at least `least_calls` have ended and
    `failure_ratio` of them failed. It stays open for `open_s`, doubled after each failed probe up to `longest_open_s`.
    """

    window_calls: int = 20
    window_s: float = 30.0
    least_calls: int = 5
    failure_ratio: float = 0.5
    open_s: float = 2.0
    longest_open_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission for one call. `era` is the breaker state that granted it, so that a late result affects no newer state."""

    era: int
    is_probe: bool


class Breaker:
    """A circuit breaker: it stops calls to a failing endpoint, then admits one probe at a time until one succeeds."""

    def __init__(self, policy: BreakerPolicy | None = None) -> None:
        self._policy = policy or BreakerPolicy()
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=self._policy.window_calls)
        self._era = 0
        self._openings = 0
        self._reopens_at_s: float | None = None
        self._probe_since_s: float | None = None

    def state(self, now_s: float) -> BreakerState:
        """Return the state that the next caller would find."""
        if self._reopens_at_s is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now_s < self._reopens_at_s else BreakerState.HALF_OPEN

    def retry_after_s(self, now_s: float) -> float:
        """Return the seconds until a probe is admitted; 0 if the breaker is closed or a probe is due."""
        return 0.0 if self._reopens_at_s is None else max(0.0, self._reopens_at_s - now_s)

    def admit(self, now_s: float) -> Permit | None:
        """Return a permit for one call, or None. Every permit must be passed to succeeded, failed or released."""
        if self._reopens_at_s is None:
            return Permit(self._era, is_probe=False)
        if now_s < self._reopens_at_s or self._is_probing(now_s):
            return None
        self._probe_since_s = now_s
        return Permit(self._era, is_probe=True)

    def succeeded(self, permit: Permit, now_s: float) -> None:
        """Record an answer. The answer of a probe closes the breaker."""
        if permit.era != self._era:
            return
        if permit.is_probe:
            self._enter(reopens_at_s=None, openings=0)
        else:
            self._outcomes.append((now_s, False))

    def failed(self, permit: Permit, now_s: float, *, is_slow: bool = False) -> None:
        """Record a failure of the endpoint. The failure of a probe doubles the open time.

        With `is_slow`, a probe was not answered in time, and the open time is not doubled.
        """
        if permit.era != self._era:
            return
        self._outcomes.append((now_s, True))
        if permit.is_probe or self._is_over_limit(now_s):
            openings = max(0, self._openings - 1) if permit.is_probe and is_slow else self._openings
            open_s = min(self._policy.open_s * 2**openings, self._policy.longest_open_s)
            # Thirty doublings exceed any limit; without this bound the power would keep growing for a dead endpoint.
            self._enter(reopens_at_s=now_s + open_s, openings=min(openings + 1, 30))

    def close(self) -> None:
        """Close the breaker when the endpoint is known to work by other means than its own probe."""
        if self._reopens_at_s is not None:
            self._enter(reopens_at_s=None, openings=0)

    def released(self, permit: Permit) -> None:
        """Return a permit whose call had no result, such as a cancelled call. Another probe is admitted at once."""
        if permit.is_probe and permit.era == self._era:
            self._probe_since_s = None

    def _is_probing(self, now_s: float) -> bool:
        # A permit that was never returned must not block an endpoint forever.
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
    """Bounds the load added by retries and hedges: a burst of `capacity` calls, and `refill` calls per answered call.

    The defaults are those of gRPC's retry throttling: 10 tokens, a tenth returned per success, hedges only above half.
    """

    def __init__(self, capacity: float = 10.0, refill: float = 0.1) -> None:
        self._capacity = capacity
        self._refill = refill
        self._tokens = capacity

    @property
    def tokens(self) -> float:
        """The number of extra attempts left."""
        return self._tokens

    def spend_on_retry(self) -> bool:
        """Take a token if there is a whole one; return whether the retry is allowed."""
        return self._spend(above=0.0)

    def spend_on_hedge(self) -> bool:
        """Take a token if the bucket is more than half full; return whether the hedge is allowed."""
        return self._spend(above=self._capacity / 2)

    def answered(self) -> None:
        """Return a fraction of a token, for a call that was answered."""
        self._tokens = min(self._capacity, self._tokens + self._refill)

    def _spend(self, *, above: float) -> bool:
        if self._tokens < 1.0 or self._tokens <= above:
            return False
        self._tokens -= 1.0
        return True


class Latencies:
    """The latencies of the endpoint's last answered calls, from which the hedging delay is computed."""

    _KEPT = 128
    _LEAST = 20

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=self._KEPT)

    def add(self, latency_s: float) -> None:
        """Record one answered attempt, in seconds."""
        self._seconds.append(latency_s)

    def p95_s(self) -> float | None:
        """Return the 95th percentile (nearest rank) in seconds; None before 20 answers."""
        if len(self._seconds) < self._LEAST:
            return None
        ordered = sorted(self._seconds)
        return ordered[(len(ordered) * 95 + 99) // 100 - 1]


class Endpoint:
    """One remote endpoint, shared by all its callers: its name and the state derived from past calls."""

    def __init__(self, name: str, *, breaker: Breaker | None = None, budget: RetryBudget | None = None) -> None:
        self.name = name
        self.breaker = breaker or Breaker()
        self.budget = budget or RetryBudget()
        self.latencies = Latencies()


@dataclass(frozen=True, slots=True)
class CallReport:
    """The report of one call: attempts started, hedges among them, seconds elapsed, and the breaker's state after the call.

    `retry_after_s` is the delay after which to retry; None if unknown.
    """

    endpoint: str
    attempts: int
    hedges: int
    elapsed_s: float
    breaker: BreakerState
    retry_after_s: float | None = None
