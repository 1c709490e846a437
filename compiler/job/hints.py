"""The hints that a worker follows: the scopes with work, and when to look at each again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from store.compile import background, jobs, ready, scopes
from store.compile.ready import Hint
from store.db.postgres import DatabaseRole, Pool, installation, scoped
from store.errors import PASSING

log = logging.getLogger(__name__)


@dataclass(slots=True)
class HintQueue:
    """Reads and moves the hints; every `rebuild_every_s` it adds those that were lost."""

    pool: Pool
    now: Callable[[], datetime]
    poll_s: float
    rebuild_every_s: float
    _rebuilt_at: datetime | None = None

    async def due(self, *, limit: int) -> list[Hint]:
        """Return the hints that are due, in the order in which to follow them."""
        now = self.now()
        if self._rebuilt_at is None or abs((now - self._rebuilt_at).total_seconds()) >= self.rebuild_every_s:
            await self._rebuild(now)
        async with installation(self.pool, role=DatabaseRole.WORKER) as connection:
            return await ready.due(connection, now=now, limit=limit)

    async def _rebuild(self, now: datetime) -> None:
        """Add missing hints. Rebuilding reads every tenant, so it fails while a server of a cluster is lost; the hints remain."""
        try:
            async with installation(self.pool, role=DatabaseRole.WORKER) as connection:
                await ready.rebuild(connection, now=now)
            self._rebuilt_at = now
        except PASSING as error:
            log.warning("worker_waits", extra={"error": type(error).__name__})

    async def serve(self, hint: Hint) -> None:
        """Record that the hint's tenant was served."""
        async with installation(self.pool, role=DatabaseRole.WORKER) as connection:
            await ready.serve(connection, hint, now=self.now())

    async def postpone(self, hint: Hint) -> None:
        """Move the hint to the next poll."""
        await self._move(hint, self.now() + timedelta(seconds=self.poll_s))

    async def settle(self, hint: Hint, followed_at: datetime, *, not_before: datetime | None = None) -> None:
        """Move the hint to the time of the scope's next job, or to the end of another worker's lease.

        `not_before` is the earliest time: if no job could be claimed, the one that is due is another worker's.
        """
        async with scoped(self.pool, hint.scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            due = [await jobs.next_due(connection, hint.scope), await background.next_due(connection, hint.scope)]
            row = await scopes.read(connection, hint.scope)
            running = await jobs.running(connection, hint.scope)
        until = row.lease_until if row else None
        if running is not None or (until is not None and due[0] is not None):
            due[0] = max(one for one in (until, followed_at) if one is not None)
        known = [max(one, not_before or one) for one in due if one is not None]
        await self._move(hint, min(known) if known else None)

    async def _move(self, hint: Hint, next_at: datetime | None) -> None:
        async with installation(self.pool, role=DatabaseRole.WORKER) as connection:
            await ready.settle(connection, hint, next_at=next_at)
