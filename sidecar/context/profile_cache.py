"""Caches the profile in force for a turn: the levels' newest knobs, merged. TTL 5 seconds; invalidated on a change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sidecar.runtime.ttl_cache import TtlCache
from sidecar.turn.profile import InvalidKnob, Layer, Profile, merge, parse_layer
from store.db.postgres import Pool, tenant_scoped
from store.db.queries import Connection
from store.tenancy import templates

log = logging.getLogger(__name__)

_CACHE_S = 5.0
_GRACE_S = 300.0

Base = Callable[[UUID], tuple[Layer, ...]]
"""Returns the layers below a tenant's own: the defaults for this process's backends."""


def no_base(tenant_id: UUID) -> tuple[Layer, ...]:
    """Return no knobs."""
    return ()


@dataclass(frozen=True, slots=True)
class InForce:
    """A merged profile, its layers, the label of their versions, and the agent's template."""

    profile: Profile
    layers: tuple[Layer, ...]
    label: str
    template_id: str

    def with_overrides(self, overrides: Mapping[str, Any]) -> Profile:
        """Return the profile with a turn's own knobs on top. Raises InvalidKnob."""
        return merge(*self.layers, parse_layer(overrides)) if overrides else self.profile


class ProfileCache:
    """Looks profiles up by tenant, agent and space."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float], base: Base = no_base) -> None:
        self._pool = pool
        self._base = base
        self._known: TtlCache[tuple[UUID, str, str], InForce] = TtlCache(
            self._read, for_s=_CACHE_S, grace_s=_GRACE_S, clock=clock
        )

    async def in_force(self, tenant_id: UUID, agent_id: str, space_id: str) -> InForce:
        """Return the profile in force for the agent in the space (empty for none)."""
        return await self._known.get((tenant_id, agent_id, space_id))

    def forget(self, tenant_id: UUID | None = None) -> None:
        """Invalidate a tenant's profiles; with None, every tenant's."""
        self._known.forget(lambda key: tenant_id in {None, key[0]})

    async def _read(self, key: tuple[UUID, str, str]) -> InForce:
        tenant_id, agent_id, space_id = key
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await read(connection, tenant_id, agent_id=agent_id, space_id=space_id, base=self._base)


async def read(
    connection: Connection, tenant_id: UUID, *, agent_id: str, space_id: str, base: Base = no_base
) -> InForce:
    """Return the profile in force, read from the database."""
    stored = await templates.layers(connection, tenant_id, agent_id=agent_id, space_id=space_id)
    own = tuple(layer for version in stored.versions if (layer := _usable(version)) is not None)
    layers = (*base(tenant_id), *own)
    return InForce(merge(*layers), layers, stored.label or "built-in", stored.template_id)


def _usable(version: templates.ProfileVersion) -> Layer | None:
    """Return the version's knobs, or None if this release does not accept them, so that old rows do not fail turns."""
    try:
        return parse_layer(version.knobs)
    except InvalidKnob as error:
        log.warning(
            "profile_ignored", extra={"level": version.level.level, "version": version.version, "error": str(error)}
        )
        return None
