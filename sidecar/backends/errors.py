"""The errors of backends, and the source status that each one leads to.

    BackendError                `.status` is the source's status; `.backend` the configured name
    ├── BackendDenied           our credentials are missing, expired or not allowed
    ├── BackendMissing          the configured resource does not exist
    ├── BackendMisused          the service rejects the request
    ├── BackendThrottled        the service's rate limit is reached, or a quota is used up
    ├── BackendBusy             our own concurrency or rate limit is reached
    ├── BackendUnavailable      the service fails or cannot be reached
    ├── BackendTimedOut         the service does not answer in time
    ├── BackendResting          its circuit breaker is open
    └── AnswerUnreadable        its answer is truncated or malformed

Messages hold only the backend's name and the service's error code, since other text from a service may hold a secret.
"""

from __future__ import annotations

from sidecar.context.ports import BackendError
from sidecar.turn.items import Status

MAX_ANSWER_BYTES = 8 << 20
"""The largest answer of a service. Parsing one blocks the event loop, a tenth of a second for this size."""


class BackendDenied(BackendError):
    """The service refuses our credentials; check that they exist, are valid and allow this call."""


class BackendMissing(BackendError):
    """The service does not have the configured resource; check its id and region."""


class BackendMisused(BackendError):
    """The service refuses the request; check this backend's options."""


class BackendThrottled(BackendError):
    """The service limits our calls, or a quota is used up; call it less often, or have the limit raised."""

    status = Status.SHED
    is_retryable = True


class BackendBusy(BackendError):
    """This backend's limit on concurrent calls or on its rate is reached; raise the limit, or call it less often."""

    status = Status.SHED


class BackendUnavailable(BackendError):
    """The service fails or cannot be reached; it is retried automatically."""

    is_retryable = True
    is_outage = True


class BackendTimedOut(BackendError):
    """The service did not answer in time; allow more time, or check its health."""

    status = Status.TIMEOUT
    is_outage = True


class BackendResting(BackendError):
    """The service kept failing, so its circuit breaker is open; it is retried automatically."""

    status = Status.BREAKER_OPEN


class AnswerUnreadable(BackendError):
    """The service's answer is truncated or malformed; it is retried automatically."""

    is_retryable = True
    is_outage = True
