"""The installation's secrets: keys that every replica shares, made once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)

FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of the installation and the id that rows remember it by."""

    key_id: str
    secret: bytes


async def add(connection: Connection, purpose: str, key: Key, *, now: datetime) -> None:
    """Keep the key, unless there is one of this purpose already. Needs the role that migrates."""
    await _sql.add_key(connection, key_id=key.key_id, purpose=purpose, secret=key.secret, now=now)


async def of(connection: Connection, purpose: str) -> list[Key]:
    """Return the keys of a purpose, newest first."""
    return [Key(row["key_id"], row["secret"]) for row in await _sql.list_keys(connection, purpose=purpose)]
