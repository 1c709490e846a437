"""Operators' attestations, each of which allows a model to write summaries with a prompt until an instant.

Every function takes a connection inside a transaction of the scope or tenant that is passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class Attestation:
    """An attestation as it was signed. `key_id` is the SHA-256 of the public key, `envelope` the signed bytes."""

    attestation_id: UUID
    model_id: str
    prompt_hash: str
    key_id: str
    envelope: bytes
    signature: bytes
    issued_at: datetime
    expires_at: datetime
    created_at: datetime
    revoked_at: datetime | None = None


async def insert(connection: Connection, tenant_id: UUID, attestation: Attestation) -> None:
    """Insert an attestation; one that exists stays, revoked or not."""
    fields = {name: getattr(attestation, name) for name in attestation.__slots__ if name != "revoked_at"}
    await _sql.insert_attestation(connection, tenant_id=tenant_id, **fields)


async def revoke(connection: Connection, tenant_id: UUID, attestation_id: UUID, *, now: datetime) -> None:
    """Revoke an attestation; one that was revoked keeps its instant."""
    await _sql.revoke_attestation(connection, tenant_id=tenant_id, attestation_id=attestation_id, now=now)


async def of_tenant(connection: Connection, tenant_id: UUID) -> list[Attestation]:
    """Return a tenant's newest 100 attestations, newest first."""
    return [_attestation(row) for row in await _sql.list_attestations(connection, tenant_id=tenant_id)]


async def get(connection: Connection, tenant_id: UUID, attestation_id: UUID) -> Attestation | None:
    """Return one attestation, or None."""
    row = await _sql.get_attestation(connection, tenant_id=tenant_id, attestation_id=attestation_id)
    return row and _attestation(row)


async def of_prompt(connection: Connection, tenant_id: UUID, model_id: str, prompt_hash: str) -> list[Attestation]:
    """Return the attestations for this model and prompt, the one that lasts longest first."""
    pins = {"model_id": model_id, "prompt_hash": prompt_hash}
    rows = await _sql.attestations_of_prompt(connection, tenant_id=tenant_id, **pins)
    return [_attestation(row) for row in rows]


def _attestation(row: Any) -> Attestation:
    return Attestation(**dict(row))
