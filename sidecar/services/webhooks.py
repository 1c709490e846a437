"""Notices of backends about changed memories. A notice can only queue a compile.

The scope comes from the stored row of the webhook's id, never from the notice. The row's secret must have signed the raw body
together with a time at most five minutes away, and each delivery counts once.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from sidecar.runtime.errors import Unauthenticated
from store.compile import jobs
from store.compile.jobs import Enqueued, Trigger
from store.db.postgres import Pools, installation, scoped
from store.tenancy import webhooks
from store.tenancy.webhooks import Subscription

MAX_AGE_S = 300
_NO_SECRET = b"\0" * 32


class NoticeRefused(Unauthenticated):
    """There is no webhook with this id, or its secret did not sign the notice within five minutes."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A notice as received: the raw body, and the time and the MACs of its signature header."""

    body: bytes
    timestamp: str
    macs: tuple[str, ...]

    @property
    def delivery_id(self) -> str:
        """The id that repetitions of this notice share: they have the same body, signed again each time."""
        return sha256(self.body).hexdigest()

    def is_signed_with(self, secret: bytes, *, now: datetime) -> bool:
        """Return whether the secret (hexadecimal, as issued) signed `time.body`, and the time is near `now`."""
        if not self.timestamp.isascii() or not self.timestamp.isdecimal() or len(self.timestamp) > 12:
            return False
        if abs(now.timestamp() - int(self.timestamp)) > MAX_AGE_S:
            return False
        signed = self.timestamp.encode() + b"." + self.body
        expected = hmac.new(secret.hex().encode(), signed, sha256).hexdigest().encode()
        return any(hmac.compare_digest(expected, mac.encode(errors="replace")) for mac in self.macs)


class Webhooks:
    """Receives notices; `now` returns the time. `is_compiled` returns whether the wiki of a subscription's owner is compiled
    from that backend; if not, nothing is queued.
    """

    def __init__(
        self, pools: Pools, *, now: Callable[[], datetime], is_compiled: Callable[[Subscription], bool]
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._is_compiled = is_compiled

    async def take(self, webhook_id: UUID, delivery: Delivery) -> Enqueued | None:
        """Queue a compile of the webhook's owner, and return the outcome; None for a repeated notice. Raises NoticeRefused."""
        now = self._now()
        async with installation(self._pool, read_only=True) as connection:
            scope = await webhooks.scope_of(connection, webhook_id)
        if scope is None:
            # The same work and the same answer as for a known id.
            delivery.is_signed_with(_NO_SECRET, now=now)
            raise NoticeRefused
        # One transaction: a notice counts as received only if its compile is queued.
        async with scoped(self._pool, scope) as connection:
            subscription = await webhooks.get(connection, scope, webhook_id)
            if subscription is None or not delivery.is_signed_with(subscription.secret, now=now):
                raise NoticeRefused
            if not await webhooks.is_first(connection, subscription, delivery.delivery_id, now=now):
                return None
            if not self._is_compiled(subscription):
                return Enqueued.SKIPPED_ADAPTER
            return (await jobs.enqueue(connection, scope, trigger=Trigger.WEBHOOK, now=now)).outcome
