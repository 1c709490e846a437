"""Stored profiles: the versioned knobs of each level, of which the newest version is in force.

`sidecar/turn` defines what a knob means and how levels merge; here knobs are JSON, stored as written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.errors import VersionConflict

PROFILE_CHANGED = "profile_changed"

_sql = queries.load(__file__)
_AFTER_ALL_VERSIONS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Level:
    """The holder of knobs: `level` is tenant, template, agent or space; `ref` is its id, empty for the tenant."""

    level: str
    ref: str = ""


@dataclass(frozen=True, slots=True)
class ProfileVersion:
    """One version of a level's own knobs. Versions count from 1."""

    level: Level
    version: int
    knobs: dict[str, Any]
    author: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Layers:
    """The inputs of a turn's profile: the agent's template, and each level's newest knobs, least specific first."""

    template_id: str
    versions: tuple[ProfileVersion, ...]

    @property
    def label(self) -> str:
        """The versions as shown in a receipt, such as `template:default@3 agent:mara@1`."""
        return " ".join(f"{one.level.level}:{one.level.ref}@{one.version}" for one in self.versions)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """Knobs to write. With `expected_version` above 0, the write fails if another version is the newest."""

    level: Level
    knobs: Mapping[str, Any]
    author: str
    expected_version: int = 0


async def layers(connection: Connection, tenant_id: UUID, *, agent_id: str, space_id: str = "") -> Layers:
    """Return the layers of an agent's turn, in the given space if any, in one round trip."""
    rows = await _sql.layers_of_turn(connection, tenant_id=tenant_id, agent_id=agent_id, space_id=space_id)
    template_id = next(row["ref"] for row in rows if row["level"] == "template")
    return Layers(template_id, tuple(_version(row) for row in rows if row["version"] is not None))


async def template_of(connection: Connection, tenant_id: UUID, agent_id: str) -> str:
    """Return the agent's template; an unknown agent has the default one."""
    return (await layers(connection, tenant_id, agent_id=agent_id)).template_id


async def newest(connection: Connection, tenant_id: UUID, level: Level) -> ProfileVersion | None:
    """Return the version in force, or None when the level has no knobs of its own."""
    row = await _sql.newest_version(connection, **_key(tenant_id, level))
    return row and _version(row)


async def get(connection: Connection, tenant_id: UUID, level: Level, version: int) -> ProfileVersion | None:
    """Return one version, or None."""
    row = await _sql.get_version(connection, **_key(tenant_id, level), version=version)
    return row and _version(row)


async def put(connection: Connection, tenant_id: UUID, new: NewVersion, *, now: datetime) -> ProfileVersion:
    """Write the knobs as the level's newest version, and notify listeners when the transaction commits.

    Writers of a tenant are serialized, so versions have no gaps. Raises VersionConflict.
    """
    await _sql.lock_profiles(connection, tenant_id=tenant_id)
    seen = await newest(connection, tenant_id, new.level)
    version = seen.version if seen else 0
    if new.expected_version and new.expected_version != version:
        raise VersionConflict(newest_version=version)
    written = ProfileVersion(new.level, version + 1, dict(new.knobs), new.author, now)
    await _sql.insert_version(
        connection,
        **_key(tenant_id, new.level),
        version=written.version,
        knobs=written.knobs,
        author=written.author,
        now=now,
    )
    await notify_changed(connection, tenant_id)
    return written


async def roll_back(
    connection: Connection, tenant_id: UUID, level: Level, *, to_version: int, author: str, now: datetime
) -> ProfileVersion | None:
    """Write an earlier version's knobs again as the newest, and return it; None if there is no such version."""
    earlier = await get(connection, tenant_id, level, to_version)
    return earlier and await put(connection, tenant_id, NewVersion(level, earlier.knobs, author), now=now)


async def history(
    connection: Connection, tenant_id: UUID, level: Level, *, limit: int, before: int = _AFTER_ALL_VERSIONS
) -> list[ProfileVersion]:
    """Return a page of the level's versions below `before`, newest first."""
    rows = await _sql.list_versions(connection, **_key(tenant_id, level), before=before, limit=limit)
    return [_version(row) for row in rows]


async def notify_changed(connection: Connection, tenant_id: UUID) -> None:
    """Notify listeners, when the transaction commits, that this tenant's knobs, bases or files may have changed."""
    await _sql.notify_profile_changed(connection, tenant_id=tenant_id)


def _key(tenant_id: UUID, level: Level) -> dict[str, object]:
    return {"tenant_id": tenant_id, "level": level.level, "ref": level.ref}


def _version(row: Any) -> ProfileVersion:
    level = Level(row["level"], row["ref"])
    return ProfileVersion(level, row["version"], row["knobs"], row["author"], row["created_at"])
