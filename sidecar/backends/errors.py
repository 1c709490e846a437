"""How a backend can fail to answer, and what that makes of the source that asked it.

    BackendError                `.status` is the source's; `.backend` the name under which it is configured
    ├── BackendDenied           our credentials are missing, expired or not allowed
    ├── BackendMissing          what the configuration names is not there
    ├── BackendMisused          the service refuses the request as such
    ├── BackendThrottled        it is asked too often, or a quota is used up
    ├── BackendBusy             our own bound on calls at once is reached
    ├── BackendUnavailable      it fails, or cannot be reached
    ├── BackendTimedOut         it does not answer in time
    ├── BackendResting          its breaker is open
    └── AnswerUnreadable        what it sent is cut off or not in its format

Texts name the backend and the service's own error code and nothing else: what a service says beyond that may hold a secret.
"""

from __future__ import annotations

from sidecar.context.ports import BackendError
from sidecar.turn.items import Status


class BackendDenied(BackendError):
    """The service refuses our credentials; check that they are there, valid and allowed to do this."""


class BackendMissing(BackendError):
    """The service does not know what the configuration names; check its id and region."""


class BackendMisused(BackendError):
    """The service refuses the request; check this backend's options."""


class BackendThrottled(BackendError):
    """The service limits how often it is asked, or a quota is used up; ask less, or have the limit raised."""

    status = Status.SHED
    is_retryable = True


class BackendBusy(BackendError):
    """As many calls as this backend may have at once are under way; raise its concurrency or its rate, or ask less."""

    status = Status.SHED


class BackendUnavailable(BackendError):
    """The service fails or cannot be reached; it is tried again by itself."""

    is_retryable = True
    is_outage = True


class BackendTimedOut(BackendError):
    """The service did not answer in time; allow it more, or look at its health."""

    status = Status.TIMEOUT
    is_outage = True


class BackendResting(BackendError):
    """The service has been failing and is left alone for a while; it is tried again by itself."""

    status = Status.BREAKER_OPEN


class AnswerUnreadable(BackendError):
    """The service's answer is cut off or not in its format; it is tried again by itself."""

    is_retryable = True
    is_outage = True
