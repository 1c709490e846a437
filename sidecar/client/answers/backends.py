"""The service's answers about a tenant's backends, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Backend:
    """A remote backend with its switch as last set."""

    name: str
    is_off: bool
    reason: str
    author: str
    change_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as declared by its server; `why_not` is the reason why turns do not call it, empty if they do."""

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
    """Tools, and the backends that did not answer, with reasons."""

    tools: tuple[Tool, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook: the path at the service's HTTP address, and the secret to sign with."""

    webhook_id: str
    path: str
    secret: str
