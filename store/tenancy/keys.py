"""The installation's secret keys, created once and shared by every replica."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)

FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of the installation, and the id by which rows refer to it."""

    key_id: str
    secret: bytes


async def add(connection: Connection, purpose: str, key: Key, *, now: datetime) -> None:
    """Store the key, unless the purpose has one already. Needs the role that migrates."""
    await _sql.add_key(connection, key_id=key.key_id, purpose=purpose, secret=key.secret, now=now)


async def of(connection: Connection, purpose: str) -> list[Key]:
    """Return the keys of a purpose, newest first."""
    return [Key(row["key_id"], row["secret"]) for row in await _sql.list_keys(connection, purpose=purpose)]
