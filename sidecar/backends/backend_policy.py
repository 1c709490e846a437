"""Caches the tenant admins' decisions about backends (switches and tool approvals). TTL 5 seconds; invalidated on a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from sidecar.runtime.ttl_cache import ReadPatience, TtlCache
from store.db.postgres import Pool, tenant_scoped
from store.tenancy import backends

_CACHE_S = 5.0
_GRACE_S = 300.0
# A slow database must not undo a new decision; the source's deadline is shorter.
_PATIENCE = ReadPatience(outdated_s=10.0)


@dataclass(frozen=True, slots=True)
class Decided:
    """The backends that are off, and the schema hashes of the approved tools, by backend and tool."""

    off: frozenset[str]
    approved: Mapping[tuple[str, str], bytes]


class BackendPolicy:
    """Looks up decisions by tenant."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._known: TtlCache[UUID, Decided] = TtlCache(
            self._read, for_s=_CACHE_S, grace_s=_GRACE_S, clock=clock, patience=_PATIENCE
        )

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return the names of the tenant's backends that are switched off."""
        return (await self._known.get(tenant_id)).off

    async def approved(self, tenant_id: UUID, backend: str) -> Mapping[str, bytes]:
        """Return the approved schema hash of each of a backend's tools."""
        decided = await self._known.get(tenant_id)
        return {tool: hash_ for (name, tool), hash_ in decided.approved.items() if name == backend}

    def forget(self, tenant_id: UUID | None = None) -> None:
        """Invalidate a tenant's decisions; with None, every tenant's."""
        self._known.forget(lambda key: tenant_id in {None, key})

    async def _read(self, tenant_id: UUID) -> Decided:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            switches = await backends.switches(connection, tenant_id)
            approvals = await backends.approvals(connection, tenant_id)
        return Decided(
            frozenset(switch.backend for switch in switches if switch.is_off),
            {(approval.backend, approval.tool): approval.schema_hash for approval in approvals},
        )
