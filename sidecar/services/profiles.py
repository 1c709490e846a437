"""Profiles: the versioned knobs of a tenant, template, agent or space, including the switches of sources.

Every method opens its own transaction. `sidecar.turn.profile` decides which values are valid. A write takes effect in this
process at once, and in other processes on a notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sidecar.context import profile_cache
from sidecar.context.profile_cache import InForce
from sidecar.runtime.errors import InvalidArgument, NotFound, ScopeForbidden, SpaceForbidden
from sidecar.services.tenants import writing
from sidecar.services.validation import read_id, read_int
from sidecar.turn.items import Source
from sidecar.turn.profile import parse_layer
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.scope import Reach
from store.tenancy import templates
from store.tenancy.templates import Level, NewVersion, ProfileVersion

_MAX_VERSION = 2**31 - 1
_TENANT = Level("tenant")


@dataclass(frozen=True, slots=True)
class SourceSwitches:
    """The sources that a tenant's turns use, and the sources that the tenant's own level switches off."""

    enabled: frozenset[str]
    off_here: frozenset[str]


class Profiles:
    """Reads and writes knobs; `now` returns the time of a write, `on_changed` is called with the tenant of each write.

    A `reach` is the part of the tenant that an agent sees, None for an admin. A level that no turn of the agent uses raises
    ScopeForbidden, or SpaceForbidden for a space that the agent does not have.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        on_changed: Callable[[UUID], None] = lambda _: None,
        base: profile_cache.Base = profile_cache.no_base,
    ) -> None:
        self._pool = pools.background
        self._base = base
        self._now = now
        self._on_changed = on_changed
        self._writing = partial(writing, self._pool, now=now, on_changed=on_changed)

    async def newest(self, tenant_id: UUID, level: Level, *, reach: Reach | None) -> ProfileVersion | None:
        """Return a level's own knobs, None if it has none."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            await _check_reach(connection, tenant_id, level, reach)
            return await templates.newest(connection, tenant_id, level)

    async def in_force(self, tenant_id: UUID, *, agent_id: str, space_id: str) -> InForce:
        """Return the profile that applies to the agent's turns in the space, read from the database."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await profile_cache.read(
                connection, tenant_id, agent_id=agent_id, space_id=space_id, base=self._base
            )

    async def put(
        self, tenant_id: UUID, level: Level, knobs: Mapping[str, Any], *, author: str, expected_version: int = 0
    ) -> ProfileVersion:
        """Write a level's knobs as its newest version.

        With `expected_version` above 0, raises VersionConflict if another version is the newest.
        """
        read_int("expected_version", expected_version, least=0, most=_MAX_VERSION)
        async with self._writing(tenant_id) as (connection, now):
            new = NewVersion(level, knobs, author, expected_version)
            return await templates.put(connection, tenant_id, new, now=now)

    async def versions(
        self, tenant_id: UUID, level: Level, *, reach: Reach | None, limit: int, before: int = _MAX_VERSION
    ) -> list[ProfileVersion]:
        """Return up to `limit` versions of a level, newest first."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            await _check_reach(connection, tenant_id, level, reach)
            return await templates.history(connection, tenant_id, level, limit=limit, before=before)

    async def roll_back(self, tenant_id: UUID, level: Level, version: int, *, author: str) -> ProfileVersion:
        """Write an earlier version of a level as its newest. Raises NotFound if there is no such version."""
        read_int("version", version, least=1, most=_MAX_VERSION)
        now = self._now()
        async with tenant_scoped(self._pool, tenant_id) as connection:
            written = await templates.roll_back(
                connection, tenant_id, level, to_version=version, author=author, now=now
            )
        if written is None:
            raise NotFound("profile version")
        self._on_changed(tenant_id)
        return written

    async def source_switches(self, tenant_id: UUID) -> SourceSwitches:
        """Return the switches of the tenant's sources, without those of templates, agents and spaces."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            newest = await templates.newest(connection, tenant_id, _TENANT)
            in_force = await profile_cache.read(connection, tenant_id, agent_id="", space_id="", base=self._base)
        own = newest.knobs.get("sources", {}) if newest else {}
        return SourceSwitches(
            enabled=frozenset(source.value for source in Source if in_force.profile.knobs(source).enabled),
            off_here=frozenset(name for name, knobs in own.items() if knobs.get("enabled") is False),
        )

    async def switch_source(self, tenant_id: UUID, source: str, *, is_on: bool, author: str) -> None:
        """Switch a source off or on at the tenant's level; its other knobs stay. Raises NotFound, InvalidKnob."""
        if source not in {one.value for one in Source}:
            raise NotFound("source")
        async with self._writing(tenant_id) as (connection, now):
            newest = await templates.newest(connection, tenant_id, _TENANT)
            knobs = _with_switch(newest.knobs if newest else {}, source, is_on=is_on)
            new = NewVersion(_TENANT, knobs, author, newest.version if newest else 0)
            await templates.put(connection, tenant_id, new, now=now)


def level_of(name: str, ref: str) -> Level:
    """Return the level of that name; `ref` names the template, agent or space. Raises InvalidArgument."""
    if name != "tenant":
        return Level(name, read_id("ref", ref))
    if ref:
        raise InvalidArgument("ref", "is set for the tenant's own level", "leave it empty")
    return Level(name)


async def _check_reach(connection: Connection, tenant_id: UUID, level: Level, reach: Reach | None) -> None:
    if reach is None or level.level == "tenant":
        return
    if level.level == "space":
        if not reach.has_space(level.ref):
            raise SpaceForbidden
    elif level.level == "agent":
        if level.ref != reach.agent_id:
            raise ScopeForbidden
    elif level.ref != await templates.template_of(connection, tenant_id, reach.agent_id):
        raise ScopeForbidden


def _with_switch(knobs: Mapping[str, Any], name: str, *, is_on: bool) -> dict[str, Any]:
    sources = knobs.get("sources", {})
    changed = {**knobs, "sources": {**sources, name: {**sources.get(name, {}), "enabled": is_on}}}
    parse_layer(changed)
    return changed
