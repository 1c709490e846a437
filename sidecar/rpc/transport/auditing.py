"""Records admins' calls in the audit table, after the calls. A call never waits for it: an entry is dropped and counted if
the queue is full or the database refuses it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from sidecar.rpc.auth.identity import Identity, Role
from sidecar.rpc.transport.status import code_name
from store.accounting import audit
from store.accounting.audit import Entry
from store.db.postgres import Pool, installation, tenant_scoped
from store.errors import DatabaseUnavailable, StoreError
from store.scope import InvalidExternalId, owner_uuid

log = logging.getLogger(__name__)

OK = "OK"
_BATCH = 200
_GATHER_S = 0.05
_PAUSE_S = 1.0
_CAPACITY = 10_000
_MAX_OBJECT_CHARS = 300
_MOST_VALUES = 5
_TENANTS_A_SWEEP = 1_000
_NAMES = frozenset({"base", "backend", "name", "ref"})
"""Fields besides ids that name a request's object. None of them holds an owner's text."""


class Noting:
    """A running call. When it ends, `take` gets its entry, with `outcome` or the code it failed with."""

    def __init__(self, take: Callable[[Entry], None], entry: Entry) -> None:
        self._take = take
        self._entry = entry
        self.outcome = OK

    def __enter__(self) -> Noting:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._take(replace(self._entry, outcome=code_name(error) if error else self.outcome))


class AuditLog:
    """The queue in front of the audit table, and the task that drains it."""

    def __init__(self, pool: Pool, *, keep_days: int, clock: Callable[[], datetime], capacity: int = _CAPACITY) -> None:
        """Write to the pool; with `keep_days` 0, nothing is recorded."""
        self._pool = pool
        self._keep = timedelta(days=keep_days)
        self._clock = clock
        self._queue: asyncio.Queue[Entry] = asyncio.Queue(capacity)
        self.dropped_count = 0

    def noting(self, identity: Identity, via: str, method: str, *, owner: str = "", named: str = "") -> Noting:
        """Record the call made inside the block and its outcome, if the caller is an admin. `owner` is a name or an id."""
        entry = Entry(
            tenant_id=identity.tenant_id,
            called_at=self._clock(),
            role=identity.role.value,
            subject=identity.subject,
            token_id=identity.token_id,
            via=via,
            method=method,
            about_owner=_owner_id(owner),
            object=named[:_MAX_OBJECT_CHARS],
            outcome=OK,
        )
        return Noting(self._take if identity.role is Role.ADMIN and self._keep else _leave, entry)

    async def wait_written(self) -> None:
        """Wait until every queued entry is written or dropped."""
        await self._queue.join()

    async def run(self) -> None:
        """Write queued entries until cancelled; while the database is unavailable they wait in the queue."""
        while True:
            batch = [await self._queue.get()]
            await asyncio.sleep(_GATHER_S)
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._write(batch)
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def sweep(self, *, every_s: float) -> None:
        """Delete expired entries, tenant by tenant, every `every_s` seconds until cancelled."""
        while True:
            before = self._clock() - self._keep
            async with installation(self._pool) as connection:
                tenants = await audit.tenants_with_old(connection, before=before, limit=_TENANTS_A_SWEEP)
            for tenant_id in tenants:
                async with tenant_scoped(self._pool, tenant_id) as connection:
                    await audit.delete_old(connection, tenant_id, before=before)
            await asyncio.sleep(every_s)

    def _take(self, entry: Entry) -> None:
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            self.dropped_count += 1

    async def _write(self, batch: list[Entry]) -> None:
        by_tenant: defaultdict[UUID, list[Entry]] = defaultdict(list)
        for entry in batch:
            by_tenant[entry.tenant_id].append(entry)
        for tenant_id, entries in by_tenant.items():
            await self._write_tenant(tenant_id, entries)

    async def _write_tenant(self, tenant_id: UUID, entries: list[Entry]) -> None:
        while True:
            try:
                async with tenant_scoped(self._pool, tenant_id) as connection:
                    await audit.insert(connection, tenant_id, entries)
                return
            except DatabaseUnavailable:
                log.warning("audit_waits", extra={"count": len(entries)})
            except StoreError as error:
                log.error("audit_dropped", extra={"count": len(entries), "error": type(error).__name__})
                self.dropped_count += len(entries)
                return
            await asyncio.sleep(_PAUSE_S)


def _leave(_: Entry) -> None:
    """Discard an entry."""


def of_request(request: Message) -> dict[str, Any]:
    """Return a request's arguments for `noting`: the owner, and its ids and names, without other texts."""
    strings = [one.name for one in request.DESCRIPTOR.fields if one.type == FieldDescriptor.TYPE_STRING]
    fields = {name: getattr(request, name) for name in strings}
    return {"owner": fields.pop("owner_id", ""), "named": named(fields)}


def named(fields: Mapping[str, Any]) -> str:
    """Return the ids and names among the fields of a request or a form, as `field=value`; at most five of a repeated field."""
    found = []
    for name, value in fields.items():
        values = [value] if isinstance(value, str) else list(value)[:_MOST_VALUES]
        told = [one for one in values if one and name != "tenant_id" and _is_told(name, one)]
        found += [f"{name}={','.join(told)}"] if told else []
    return " ".join(found)


def _is_told(name: str, value: str) -> bool:
    """Return whether a field's value is an id or an operator's name. A page may be named by its title, an owner's text."""
    return name.endswith(("_id", "_ids")) or name in _NAMES or (name == "page" and _is_uuid(value))


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def _owner_id(owner: str) -> UUID | None:
    try:
        return owner_uuid(owner) if owner else None
    except InvalidExternalId:
        return None
