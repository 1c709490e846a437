"""The caller's identity and the scopes it may act in: pure values and rules.

A grant is the content of a token or a registered certificate, with ids as given; an identity is a validated grant with its
ids folded to UUIDs. `tokens` and `authentication` prove grants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from sidecar.runtime.errors import AdminRequired, InvalidArgument, ScopeForbidden, SpaceForbidden
from store.scope import MAX_EXTERNAL_ID_CHARS, InvalidExternalId, Reach, Scope, is_derived, owner_uuid, tenant_uuid

MAX_OWNERS = 100
MAX_SPACES = 100
EVERY_SPACE = "*"

_ID_FIX = f"send 1 to {MAX_EXTERNAL_ID_CHARS} printable characters"
_DERIVED_PROBLEM = "is a version-5 UUID, which may be the id of another name"
_DERIVED_FIX = "claim the name itself, or list the issuer in SIDECAR_UUID5_ISSUERS if it mints such ids"


class Role(StrEnum):
    """The kind of a caller: an agent acts for its owners, an admin for any owner of its tenant."""

    AGENT = "agent"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """A caller's rights: one tenant, its owners (at least one for an agent, none for an admin), its agent name, and the spaces
    it may work in (`*` is every space, None a missing claim; an admin holds all).
    """

    tenant: str
    owners: tuple[str, ...] = ()
    agent: str = ""
    role: Role = Role.AGENT
    spaces: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """A verified caller. `owner_ids` is None for an admin, which names the owner in each request.

    `spaces` are the spaces it holds, with `*` for all; `are_spaces_unclaimed` means that its grant had no such claim.
    """

    tenant_id: UUID
    owner_ids: frozenset[UUID] | None
    agent_id: str
    role: Role
    subject: str
    token_id: str = ""
    expires_at: datetime | None = None
    spaces: frozenset[str] = frozenset()
    are_spaces_unclaimed: bool = False
    names: Mapping[UUID, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def queue_key(self) -> Hashable:
        """Return the caller's key for fair queueing inside its tenant: its only owner, or else its own name."""
        if self.owner_ids is not None and len(self.owner_ids) == 1:
            return next(iter(self.owner_ids))
        return self.subject

    @property
    def reach(self) -> Reach | None:
        """Return the part of its tenant's shared data that the caller sees; None, meaning all, for an admin."""
        if self.role is Role.ADMIN:
            return None
        return Reach(self.agent_id, self.spaces - {EVERY_SPACE}, has_every_space=EVERY_SPACE in self.spaces)


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """Authentication settings: one source of signing keys (files or a URL, else the local dev key in `data_dir`) with its
    trusted issuers, and the certificate names (`uri:…` or `dns:…`) of callers, given or in a file. Only the `uuid5_issuers`
    may claim version-5 UUIDs. With `lets_unclaimed_spaces`, a grant without a spaces claim holds all.
    """

    data_dir: Path
    audience: str = "context-sidecar"
    issuers: frozenset[str] = frozenset()
    key_files: tuple[Path, ...] = ()
    jwks_url: str = ""
    is_http_jwks_allowed: bool = False
    jwks_timeout_s: float = 3.0
    certificates: Mapping[str, Grant] = field(default_factory=dict)
    certificates_file: Path | None = None
    requires_client_certificates: bool = False
    uuid5_issuers: frozenset[str] = frozenset()
    lets_unclaimed_spaces: bool = False

    @property
    def has_signing_keys(self) -> bool:
        """Return whether real signing keys are configured, so that the local dev key is not trusted."""
        return bool(self.key_files or self.jwks_url)


def identity_of(
    grant: Grant,
    *,
    subject: str = "",
    token_id: str = "",
    expires_at: datetime | None = None,
    may_claim_uuid5: bool = False,
) -> Identity:
    """Return the grant as an identity; `names` keeps each id as given.

    A version-5 UUID may be the folded id of another name, so it is accepted as a tenant or owner only with
    `may_claim_uuid5`. Raises InvalidArgument naming tenant, owners, agent, spaces or sub.
    """
    if not may_claim_uuid5:
        _check_not_derived(grant)
    tenant_id = _folded("tenant", grant.tenant, tenant_uuid)
    owners = _owners(grant)
    if grant.role is Role.AGENT or grant.agent:
        _check_name("agent", grant.agent)
    if subject:
        _check_name("sub", subject)
    return Identity(
        tenant_id=tenant_id,
        owner_ids=None if grant.role is Role.ADMIN else frozenset(owners),
        agent_id=grant.agent,
        role=grant.role,
        subject=subject or grant.agent or "admin",
        token_id=token_id,
        expires_at=expires_at,
        spaces=_spaces(grant),
        are_spaces_unclaimed=grant.spaces is None and grant.role is not Role.ADMIN,
        names=MappingProxyType({**owners, tenant_id: grant.tenant}),
    )


def resolve_tenant(identity: Identity, requested_tenant: str) -> UUID:
    """Return the tenant of a request: the identity's own, which the request may omit or repeat.

    Raises InvalidArgument for tenant_id, and ScopeForbidden, the same whether or not the named tenant exists.
    """
    if requested_tenant and _folded("tenant_id", requested_tenant, tenant_uuid) != identity.tenant_id:
        raise ScopeForbidden
    return identity.tenant_id


def resolve_scope(identity: Identity, requested_tenant: str, requested_owner: str) -> Scope:
    """Return the scope of a request, which is always inside the identity's rights.

    An agent may leave both fields empty or repeat its own; an admin names the owner. Raises InvalidArgument for
    tenant_id or owner_id, and ScopeForbidden, the same whether or not the named tenant or owner exists.
    """
    tenant_id = resolve_tenant(identity, requested_tenant)
    if requested_owner:
        return Scope(tenant_id, _allowed_owner(identity, requested_owner))
    if identity.owner_ids is None:
        raise InvalidArgument("owner_id", "is empty and an admin has no owner of its own", "name the owner")
    if len(identity.owner_ids) > 1:
        raise InvalidArgument("owner_id", "is empty and this identity has several owners", "name one of them")
    return Scope(tenant_id, next(iter(identity.owner_ids)))


def resolve_agent(identity: Identity, requested_agent: str) -> str:
    """Return the agent whose knobs and bases apply: an agent's own, or the one an admin names, if any.

    Raises InvalidArgument for agent_id and ScopeForbidden.
    """
    if requested_agent:
        _check_name("agent_id", requested_agent)
    if identity.role is Role.AGENT and requested_agent not in {"", identity.agent_id}:
        raise ScopeForbidden
    return requested_agent or identity.agent_id


def resolve_space(identity: Identity, requested_space: str) -> str:
    """Return the space of a request, empty for none. Raises InvalidArgument for space_id and SpaceForbidden."""
    if requested_space:
        _check_name("space_id", requested_space)
        if identity.reach is not None and not identity.reach.has_space(requested_space):
            raise SpaceForbidden
    return requested_space


def require_admin(identity: Identity) -> None:
    """Raise AdminRequired unless the caller is an admin of its tenant."""
    if identity.role is not Role.ADMIN:
        raise AdminRequired


def _allowed_owner(identity: Identity, requested_owner: str) -> UUID:
    owner_id = _folded("owner_id", requested_owner, owner_uuid)
    if identity.owner_ids is not None and owner_id not in identity.owner_ids:
        raise ScopeForbidden
    return owner_id


def _check_not_derived(grant: Grant) -> None:
    for field_name, external_id in (("tenant", grant.tenant), *(("owners", owner) for owner in grant.owners)):
        if is_derived(external_id):
            raise InvalidArgument(field_name, _DERIVED_PROBLEM, _DERIVED_FIX)


def _owners(grant: Grant) -> dict[UUID, str]:
    if grant.role is Role.ADMIN:
        if grant.owners:
            raise InvalidArgument("owners", "are set for an admin, which acts for any owner", "leave them out")
        return {}
    if not 1 <= len(grant.owners) <= MAX_OWNERS:
        raise InvalidArgument("owners", f"are {len(grant.owners)}", f"give an agent 1 to {MAX_OWNERS} owners")
    return {_folded("owners", name, owner_uuid): name for name in grant.owners}


def _spaces(grant: Grant) -> frozenset[str]:
    spaces = frozenset(grant.spaces or ())
    if len(spaces) > MAX_SPACES:
        raise InvalidArgument("spaces", f"are {len(spaces)}", f"give at most {MAX_SPACES} spaces, or '*' for all")
    for space in spaces:
        _check_name("spaces", space)
    if grant.role is not Role.ADMIN:
        return spaces
    if spaces - {EVERY_SPACE}:
        raise InvalidArgument("spaces", "are set for an admin, which has every space", "leave them out")
    return frozenset({EVERY_SPACE})


def _folded(field_name: str, external_id: str, fold: Callable[[str], UUID]) -> UUID:
    try:
        return fold(external_id)
    except InvalidExternalId as error:
        raise InvalidArgument(field_name, "is not a usable id", _ID_FIX) from error


def _check_name(field_name: str, name: str) -> None:
    if not name.strip() or len(name) > MAX_EXTERNAL_ID_CHARS or not name.isprintable():
        raise InvalidArgument(field_name, "is not a usable name", _ID_FIX)
