"""Webhook subscriptions: the scope of a backend's callbacks, the secret that signs them, and the deliveries already seen.

A callback is trusted only for its subscription id; the scope is taken from the subscription's row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One owner's subscription at one backend. `secret` signs its callbacks."""

    subscription_id: UUID
    scope: Scope
    backend: str
    secret: bytes
    created_at: datetime


async def scope_of(connection: Connection, subscription_id: UUID) -> Scope | None:
    """Return the scope of a subscription, looked up across tenants, or None. The connection needs no scope."""
    row = await _sql.scope_of_subscription(connection, subscription_id=subscription_id)
    return row and Scope(row["tenant_id"], row["owner_id"])


async def get(connection: Connection, scope: Scope, subscription_id: UUID) -> Subscription | None:
    """Return the subscription, or None."""
    row = await _sql.get_subscription(connection, **scope.key, subscription_id=subscription_id)
    return row and Subscription(subscription_id, scope, row["backend"], row["secret"], row["created_at"])


async def subscribe(connection: Connection, subscription: Subscription) -> None:
    """Write a new subscription. Raises AlreadyExists."""
    await _sql.insert_subscription(
        connection,
        **subscription.scope.key,
        subscription_id=subscription.subscription_id,
        backend=subscription.backend,
        secret=subscription.secret,
        now=subscription.created_at,
    )


async def ensure(connection: Connection, wanted: Subscription) -> Subscription:
    """Return the owner's subscription at the backend, writing `wanted` if there is none.

    Of concurrent calls only one writes, so there is never a second secret that would survive an unsubscribe.
    """
    await _sql.lock_tenant(connection, tenant_id=wanted.scope.tenant_id)
    known = await of_backend(connection, wanted.scope, wanted.backend)
    if known is None:
        await subscribe(connection, wanted)
    return known or wanted


async def unsubscribe(connection: Connection, scope: Scope, subscription_id: UUID) -> bool:
    """Delete a subscription with its seen deliveries, and return whether it existed."""
    key = {**scope.key, "subscription_id": subscription_id}
    return bool(await _sql.delete_subscription(connection, **key))


async def is_first(connection: Connection, seen: Subscription, delivery_id: str, *, now: datetime) -> bool:
    """Record a delivery, and return whether its id is new. Deletes deliveries older than 7 days before `now`."""
    key = {
        "tenant_id": seen.scope.tenant_id,
        "owner_id": seen.scope.owner_id,
        "subscription_id": seen.subscription_id,
    }
    await _sql.forget_deliveries(connection, **key, now=now)
    return bool(await _sql.insert_delivery(connection, **key, delivery_id=delivery_id, now=now))


async def of_backend(connection: Connection, scope: Scope, backend: str) -> Subscription | None:
    """Return the owner's subscription at a backend, or None."""
    subscription_id = await _sql.subscription_of_backend(connection, **scope.key, backend=backend)
    return subscription_id and await get(connection, scope, subscription_id)
