"""Values for the parameters of any query of the store, chosen by name, else by type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from hashlib import md5
from typing import Any
from uuid import UUID

from store.db.queries import Connection, Query
from store.scope import Scope

SCOPE = Scope(UUID(int=1), UUID(int=1))
VALUES: dict[str, Any] = {
    "tenant_id": SCOPE.tenant_id,
    "owner_id": SCOPE.owner_id,
    "words": ["ferry", "word17", "nowhere"],
    "vectors": ["[0.6,0.8]"],
    "embedder_no": 1,
    "thread_id": "x0",
    "base_ids": [UUID(bytes=md5(b"base0").digest())],
    "limit": 50,
    "status": "open",
}
BY_TYPE: dict[str, Any] = {
    "uuid": UUID(int=7),
    "text": "agent",
    "int2": 3,
    "int4": 3,
    "int8": 3,
    "float4": 1.0,
    "float8": 1.0,
    "bool": True,
    "timestamptz": datetime(2026, 1, 2, tzinfo=UTC),
    "date": date(2026, 1, 2),
    "bytea": b"x",
    "jsonb": {},
}


async def arguments_of(connection: Connection, query: Query) -> list[Any]:
    """Return one value a parameter, in order."""
    prepared = await connection.prepare(query.sql)
    arguments = []
    for name, kind in zip(query.parameters, prepared.get_parameters(), strict=True):
        value = BY_TYPE[kind.name.removesuffix("[]").removeprefix("_")]
        known = VALUES.get(name) if isinstance(VALUES.get(name), list) == (kind.kind == "array") else None
        arguments.append(known or ([value] if kind.kind == "array" else value))
    return arguments
