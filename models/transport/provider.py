"""Resilient calls to a model provider, with a breaker, a retry budget and a latency record for each of its models.

Only throttling and the provider's own failures are retried, after a random part of a doubling wait or the delay that the provider
gave. The retries of SDKs are disabled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from models.errors import (
    AttemptsFailed,
    BreakerOpen,
    CallTimedOut,
    ModelTimeout,
    ModelUnavailable,
    ProviderError,
    Throttled,
)
from models.transport.endpoint import Breaker, BreakerPolicy, Endpoint
from models.transport.resilience import CallPolicy, Verdict, call

T = TypeVar("T")

# Models are named in settings and in admins' requests; more models than this are a mistake.
_MOST_ENDPOINTS: Final = 64


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts, and the waits between: the first is up to `backoff_s`, each next one up to twice the previous.

    An expired deadline counts as a failure of the model only if it was at least `fair_wait_s`. `breaker` is the breaker policy.
    """

    max_attempts: int = 4
    backoff_s: float = 0.5
    longest_backoff_s: float = 20.0
    fair_wait_s: float = 30.0
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)


class Provider:
    """Calls one provider's models, and keeps the state of each model's endpoint."""

    def __init__(self, name: str, patience: RetryPolicy | None = None) -> None:
        patience = patience or RetryPolicy()
        self._name = name
        self._breaker = patience.breaker
        self._endpoints: OrderedDict[str, Endpoint] = OrderedDict()
        self._policy = CallPolicy(
            failures=(ProviderError,),
            judge=_classify,
            max_attempts=patience.max_attempts,
            backoff_s=patience.backoff_s,
            longest_backoff_s=patience.longest_backoff_s,
            fair_wait_s=patience.fair_wait_s,
        )

    async def ask(self, model_id: str, attempt: Callable[[float], Awaitable[T]], *, deadline_s: float) -> tuple[T, int]:
        """Return the result of an attempt within the deadline, and the number of attempts. Raises a ProviderError."""
        try:
            answer = await call(self._endpoint(model_id), attempt, self._policy, deadline_s=deadline_s)
        except AttemptsFailed as failed:
            raise _reason(failed) from None
        except CallTimedOut as timeout:
            raise ModelTimeout(timeout.detail, attempts=timeout.report.attempts) from None
        except BreakerOpen as error:
            report = error.report
            raise ModelUnavailable(error.detail, attempts=report.attempts, retry_after_s=report.retry_after_s) from None
        return answer.value, answer.report.attempts

    def _endpoint(self, model_id: str) -> Endpoint:
        endpoint = self._endpoints.get(model_id)
        if endpoint is None:
            endpoint = Endpoint(f"{self._name} {model_id[:120]}", breaker=Breaker(self._breaker))
        self._endpoints[model_id] = endpoint
        self._endpoints.move_to_end(model_id)
        while len(self._endpoints) > _MOST_ENDPOINTS:
            self._endpoints.popitem(last=False)
        return endpoint


def _reason(failed: AttemptsFailed) -> Exception:
    """Return the last attempt's error, with the number of attempts."""
    reason = failed.__cause__
    if not isinstance(reason, ProviderError):
        return failed
    reason.attempts = failed.report.attempts
    return reason


def _classify(error: Exception) -> Verdict:
    """Return whether an error may be retried, whether it is an outage, and the wait that the provider gave."""
    wait_s = error.retry_after_s if isinstance(error, ProviderError) else None
    is_outage = isinstance(error, ModelUnavailable | ModelTimeout)
    return Verdict(isinstance(error, Throttled | ModelUnavailable), is_outage=is_outage, retry_after_s=wait_s)
