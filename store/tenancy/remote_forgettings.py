"""Pending requests to memory services to forget. A request is deleted when the service has done it.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class RemoteForgetting:
    """A request to a backend to forget, and the number of failed attempts."""

    forgetting_id: UUID
    backend: str
    target: Mapping[str, Any]
    attempts: int = 0


async def insert(connection: Connection, scope: Scope, note: RemoteForgetting, *, now: datetime) -> None:
    """Store a request to a backend."""
    named = {"forgetting_id": note.forgetting_id, "backend": note.backend, "target": dict(note.target)}
    await _sql.insert_remote_forgetting(connection, **scope.key, **named, now=now)


async def waiting(connection: Connection, scope: Scope) -> list[RemoteForgetting]:
    """Return the owner's pending requests, oldest first, at most 1,000."""
    return [RemoteForgetting(**dict(row)) for row in await _sql.remote_forgettings_waiting(connection, **scope.key)]


async def end(connection: Connection, scope: Scope, forgetting_id: UUID) -> None:
    """Delete a request."""
    await _sql.end_remote_forgetting(connection, **scope.key, forgetting_id=forgetting_id)


async def count_attempt(connection: Connection, scope: Scope, forgetting_id: UUID) -> None:
    """Count an attempt that failed."""
    await _sql.count_attempt(connection, **scope.key, forgetting_id=forgetting_id)
