"""Forgets at remote memory services, reports the outcome of each, and retries failures.

A request to a service is stored in the transaction that forgets in the built-in store, so that no crash loses it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID, uuid4

from sidecar.context.ports import BackendError
from sidecar.services.forgetting.targets import (
    ForgottenElsewhere,
    RemoteOutcome,
    RemoteState,
    RemoteTarget,
    Target,
)
from store.compile import background
from store.content import feed
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten, remote_forgettings
from store.tenancy.remote_forgettings import RemoteForgetting

log = logging.getLogger(__name__)

REMOTE_FORGETTING_KIND = "remote_forgetting"

_ANSWER_S = 8.0  # a caller waits this long for the services; the worker continues afterwards
_FIRST_RETRY = timedelta(minutes=1)
_LONGEST_RETRY = timedelta(hours=1)


class RemoteMemories(Protocol):
    """The memories of an owner at a service."""

    @property
    def name(self) -> str:
        """The backend's configured name."""

    @property
    def service(self) -> str:
        """The service's name."""

    async def forget(self, owner_id: UUID, target: RemoteTarget) -> RemoteOutcome:
        """Make the service forget the target, and return the outcome. Idempotent. Raises a BackendError."""


class RemoteForgetter:
    """Forgets at the remote memory services of a tenant. `memories` are the services by tenant."""

    def __init__(
        self,
        pool: Pool,
        memories: Mapping[UUID, Sequence[RemoteMemories]],
        *,
        now: Callable[[], datetime],
        role: DatabaseRole = DatabaseRole.APP,
    ) -> None:
        self._pool = pool
        self._memories = memories
        self._now = now
        self._role = role

    def announced(self, scope: Scope) -> tuple[ForgottenElsewhere, ...]:
        """Return the outcomes before any service has answered: all are waiting."""
        return tuple(_report(one, _WAITS) for one in self._of(scope))

    def unsearched(self, scope: Scope) -> tuple[ForgottenElsewhere, ...]:
        """Return the outcomes for a word: services are not searched for words."""
        detail = "the service is not searched for words: name the memory, document, thread or span"
        return tuple(_report(one, RemoteOutcome(RemoteState.KEPT, detail=detail)) for one in self._of(scope))

    async def note(self, connection: Connection, scope: Scope, target: RemoteTarget) -> None:
        """Store a request for each service in the caller's transaction, and queue a retry."""
        now = self._now()
        payload = {**asdict(target), **{name: _written(getattr(target, name)) for name in ("since", "until")}}
        services = self._of(scope)
        for one in services:
            await remote_forgettings.insert(connection, scope, RemoteForgetting(uuid4(), one.name, payload), now=now)
        if services:
            await background.enqueue(
                connection, scope, REMOTE_FORGETTING_KIND, "", now=now, not_before=now + _FIRST_RETRY
            )

    async def settle(self, scope: Scope) -> tuple[ForgottenElsewhere, ...]:
        """Send the stored requests to the services and return the outcomes. Failed requests stay stored."""
        known = {one.name: one for one in self._of(scope)}
        if not known:
            return ()
        async with scoped(self._pool, scope, read_only=True, role=self._role) as connection:
            notes = await remote_forgettings.waiting(connection, scope)
        results = tuple([await self._tell(scope, known[note.backend], note) for note in notes if note.backend in known])
        if all(one.outcome.state is not RemoteState.WAITING for one in results):
            await self._withdraw_retry(scope, known)
        return results

    async def settle_in_time(self, scope: Scope) -> tuple[ForgottenElsewhere, ...]:
        """Settle within eight seconds; the worker continues afterwards."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self.settle(scope)
        except TimeoutError:
            return self.announced(scope)

    async def retry(self, scope: Scope, subject: str) -> None:
        """Settle as a background job, and queue the next retry if a request is still waiting."""
        waits = [one for one in await self.settle(scope) if one.outcome.state is RemoteState.WAITING]
        if not waits:
            return
        log.warning("remote_forgetting_waits", extra={"backends": sorted({one.backend for one in waits})})
        now = self._now()
        async with scoped(self._pool, scope, role=self._role) as connection:
            tries = max((one.attempts for one in await remote_forgettings.waiting(connection, scope)), default=0)
            delay = min(_FIRST_RETRY * 2 ** min(tries, 10), _LONGEST_RETRY)
            await background.enqueue(connection, scope, REMOTE_FORGETTING_KIND, "", now=now, not_before=now + delay)

    async def _withdraw_retry(self, scope: Scope, known: Collection[str]) -> None:
        """Delete the queued retry, unless another request was stored meanwhile: that one relies on it."""
        async with scoped(self._pool, scope, role=self._role) as connection:
            await feed.hold_there(connection, scope)  # waits for transactions that forget, in the order of their locks
            await forgotten.hold_alone(connection, scope)
            notes = await remote_forgettings.waiting(connection, scope)
            if not any(note.backend in known for note in notes):
                await background.withdraw(connection, scope, REMOTE_FORGETTING_KIND, "")

    async def _tell(self, scope: Scope, memories: RemoteMemories, note: RemoteForgetting) -> ForgottenElsewhere:
        try:
            outcome = await memories.forget(scope.owner_id, _read(note))
        except BackendError as error:
            outcome = RemoteOutcome(RemoteState.WAITING, detail=f"{type(error).__name__}; it will be retried")
        async with scoped(self._pool, scope, role=self._role) as connection:
            if outcome.state is RemoteState.WAITING:
                await remote_forgettings.count_attempt(connection, scope, note.forgetting_id)
            else:
                await remote_forgettings.end(connection, scope, note.forgetting_id)
        return _report(memories, outcome)

    def _of(self, scope: Scope) -> Sequence[RemoteMemories]:
        return self._memories.get(scope.tenant_id, ())


_WAITS = RemoteOutcome(RemoteState.WAITING)


def remote_target(target: Target) -> RemoteTarget:
    """Return the request to services for a target. Raises AssertionError for a word."""
    assert not target.word, "words are not sent to services"
    given_id = target.memory_id or target.document_id or target.thread_id
    return RemoteTarget(target.kind, given_id, target.since, target.until)


def _report(memories: RemoteMemories, outcome: RemoteOutcome) -> ForgottenElsewhere:
    return ForgottenElsewhere(memories.name, memories.service, outcome)


def _read(note: RemoteForgetting) -> RemoteTarget:
    since, until = (note.target[name] and datetime.fromisoformat(note.target[name]) for name in ("since", "until"))
    return RemoteTarget(note.target["kind"], note.target["id"], since, until)


def _written(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
