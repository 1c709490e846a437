"""What the service answers about a tenant's backends, in plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Backend:
    """A remote backend with its switch as it was last set."""

    name: str
    is_off: bool
    reason: str
    author: str
    change_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its server declares it; `why_not` says why a turn does not call it, and is empty when it does."""

    backend: str
    name: str
    description: str
    is_read_only: bool
    is_search_safe: bool
    schema_hash: str
    is_approved: bool
    why_not: str


@dataclass(frozen=True, slots=True)
class ToolListing:
    """Tools, and which backends did not answer and why."""

    tools: tuple[Tool, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook: the path at the service's HTTP address, and the secret to sign with."""

    webhook_id: str
    path: str
    secret: str
