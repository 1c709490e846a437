"""The scope of a query: pure values that every query takes.

A scope is built from a verified identity and passed explicitly down to the query; nothing here reads a request, a clock or a
setting. External ids of callers (account names, "auth0|42") are mapped to UUIDs only here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID, uuid5

MAX_EXTERNAL_ID_CHARS = 200
_DERIVED = 5
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_BRAIN_MARK = 0x5B7A_1C0E_D93F_8  # 48 bits that no other id of ours begins with, and version 8 (RFC 9562)

_TENANTS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a01")
_OWNERS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a02")


class InvalidExternalId(ValueError):
    """An id must be a non-empty text of at most 200 characters without control characters; send another id."""


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in its usual form, in either case."""
    return _UUID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Scope:
    """One owner in one tenant: the rows that a query may access."""

    tenant_id: UUID
    owner_id: UUID

    @property
    def key(self) -> dict[str, UUID]:
        """Return the scope as the parameters that a query takes by name."""
        return {"tenant_id": self.tenant_id, "owner_id": self.owner_id}


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of its tenant's shared data that an agent may access: its own, its template's, and that of the spaces it holds.

    With `has_every_space`, `spaces` is ignored. Where a query takes a reach, None means an admin's: everything.
    """

    agent_id: str
    spaces: frozenset[str] = frozenset()
    has_every_space: bool = False

    def has_space(self, space_id: str) -> bool:
        """Return whether the agent may work in the space; always True for the empty id, which means no space."""
        return not space_id or self.has_every_space or space_id in self.spaces


def tenant_uuid(external_id: str) -> UUID:
    """Return the tenant's UUID: the text itself when it is one, else the version-5 UUID (RFC 9562) of it.

    Raises InvalidExternalId.
    """
    return _fold(_TENANTS, external_id)


def owner_uuid(external_id: str) -> UUID:
    """Return the owner's UUID, by the same rule as `tenant_uuid` in a namespace of its own.

    Raises InvalidExternalId, also for the owner of a Brain in any spelling: no caller may act for it.
    """
    owner_id = _fold(_OWNERS, external_id)
    if is_brain(owner_id):
        raise InvalidExternalId
    return owner_id


def is_owner_id(external_id: str) -> bool:
    """Return whether the text can name an owner."""
    try:
        owner_uuid(external_id)
    except InvalidExternalId:
        return False
    return True


def brain_of(tenant_id: UUID) -> Scope:
    """Return the scope of the tenant's Brain: an owner that no caller can name. It is a version-8 UUID made of the tenant's."""
    digest = int.from_bytes(sha256(b"brain" + tenant_id.bytes).digest()[:16])
    low, middle = digest & ((1 << 62) - 1), digest >> 62 & 0xFFF
    return Scope(tenant_id, UUID(int=_BRAIN_MARK << 76 | middle << 64 | 2 << 62 | low))


def is_brain(owner_id: UUID) -> bool:
    """Return whether the owner is the Brain of some tenant."""
    return owner_id.int >> 76 == _BRAIN_MARK


def is_derived(external_id: str) -> bool:
    """Return whether the text is a version-5 UUID: only such a UUID can be the result of mapping an external id."""
    try:
        return UUID(external_id).version == _DERIVED
    except ValueError:
        return False


def _fold(namespace: UUID, external_id: str) -> UUID:
    if not external_id.strip() or len(external_id) > MAX_EXTERNAL_ID_CHARS or not external_id.isprintable():
        raise InvalidExternalId
    try:
        return UUID(external_id)
    except ValueError:
        return uuid5(namespace, external_id)
