"""Requests about agents, spaces, workspaces and the tenant: one frozen class per RPC, as in `requests`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sidecar.client.answers import AuditEntry, Page, Tenant
from sidecar.client.decoding import Inner, Listed, Nothing, Whole
from sidecar.client.encoding import WORKSPACE_LEVEL
from sidecar.client.requests.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAgent(Request[None]):
    """Make or change an agent."""

    reads = Nothing()
    agent_id: str
    template_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSpace(Request[None]):
    """Make or change a space."""

    reads = Nothing()
    space_id: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutWorkspace(Request[None]):
    """Say where the files of the tenant, a template or an agent are; an empty location takes them away."""

    reads = Nothing()
    level: str = field(metadata=WORKSPACE_LEVEL)
    ref: str = ""
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTenant(Request[Tenant]):
    """Return the tenant's state."""

    reads = Whole(Tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeTokens(Request[datetime]):
    """Refuse the tenant's tokens issued before an instant, now when absent; the answer is the instant in force."""

    reads = Inner("not_before_time")
    not_before_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOwner(Request[Mapping[str, int]]):
    """Delete everything that is the owner's, for good; the answer is how many rows of each table."""

    reads = Inner("row_counts")
    deadline_s = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAuditEntries(Request[Page[AuditEntry]]):
    """List what admins of the tenant read and changed, newest first; only what concerns the owner, if one is named."""

    reads = Listed("entries")
    since_time: datetime | None = None
    page_size: int = 0
    page_token: str = ""
