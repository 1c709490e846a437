"""Calls of services as the interceptor makes them, without a server: an identity, and the answer or error."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest

from sidecar.rpc.auth.identity import Grant, Role, identity_of
from sidecar.rpc.transport.call import Call
from sidecar.runtime.errors import SidecarError

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def now() -> datetime:
    """The time of every write in these tests."""
    return NOW


def an_agent(owner: str = "ann", *, tenant: str = "acme", agent: str = "planner", spaces: tuple[str, ...] = ()) -> Call:
    """A call by an agent of one owner."""
    return _call(Grant(tenant, (owner,), agent, spaces=spaces))


def an_admin(tenant: str = "acme") -> Call:
    """A call by an admin of the tenant."""
    return _call(Grant(tenant, role=Role.ADMIN))


async def refused(work: Awaitable[Any]) -> SidecarError:
    """Return why the call was refused."""
    with pytest.raises(SidecarError) as caught:
        await work
    return caught.value


async def refused_field(work: Awaitable[Any]) -> str:
    """Return which field the call was refused for."""
    return str(getattr(await refused(work), "field", "none"))


def _call(grant: Grant) -> Call:
    return Call(identity_of(grant), "/tests", deadline_at_s=10.0, clock_s=lambda: 0.0)
