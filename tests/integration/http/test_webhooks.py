"""Webhooks about changed memories: authorized senders, bounded effects, and each delivery once."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from starlette.applications import Starlette

from sidecar.http.webhooks import MAX_BODY_BYTES, SIGNATURE, webhook_routes
from sidecar.services.webhooks import Webhooks
from sidecar.telemetry.watch import Watch, WatchConfig
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants, webhooks
from store.tenancy.webhooks import Subscription

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINE = Scope(UUID(int=1), UUID(int=11))
THEIRS = Scope(UUID(int=2), UUID(int=21))
BODY = b'{"event": "retain.completed", "bank_id": "anything", "operation_id": "op-1", "data": {"document_id": "d"}}'


@dataclass(frozen=True, slots=True)
class Door:
    """The routes as they are served, and one subscription of `MINE`."""

    client: httpx.AsyncClient
    subscription: Subscription
    database: str

    async def post(
        self, body: bytes = BODY, *, headers: Mapping[str, str] | None = None, to: UUID | None = None
    ) -> int:
        path = f"/webhooks/hindsight/{to or self.subscription.subscription_id}"
        given = signed(self.subscription.secret, body) if headers is None else headers
        return (await self.client.post(path, content=body, headers=given)).status_code

    async def jobs(self) -> list[tuple[UUID, UUID, str]]:
        """Return every job of any tenant: whose, and what asked for it."""
        connection = await asyncpg.connect(self.database)
        try:
            rows = await connection.fetch("SELECT tenant_id, owner_id, trigger FROM wiki_compile_jobs")
        finally:
            await connection.close()
        return [tuple(row) for row in rows]


@pytest.fixture
async def door(pools: Pools, database: str) -> AsyncIterator[Door]:
    for scope in (MINE, THEIRS):
        async with tenant_scoped(pools.background, scope.tenant_id) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
    subscription = Subscription(uuid4(), MINE, "memories", b"s" * 32, NOW)
    async with scoped(pools.background, MINE) as connection:
        await webhooks.subscribe(connection, subscription)
    heeded = Webhooks(pools, now=lambda: NOW, is_compiled=lambda one: one.backend == "memories")
    routes = webhook_routes(heeded, watch=Watch(WatchConfig()))
    app = Starlette(routes=routes)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://door") as client:
        yield Door(client, subscription, database)


def signed(secret: bytes, body: bytes, *, at: datetime = NOW) -> dict[str, str]:
    """Return the header as Hindsight signs a delivery, with the secret as it was handed out."""
    timestamp = int(at.timestamp())
    mac = hmac.new(secret.hex().encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()
    return {SIGNATURE: f"t={timestamp},v1={mac}"}


async def test_signed_notice_queues_a_compile_of_the_subscriptions_scope(door: Door) -> None:
    assert await door.post() == 202
    assert await door.jobs() == [(MINE.tenant_id, MINE.owner_id, "webhook")]


async def test_compile_queued_by_a_notice_carries_the_senders_trace(door: Door) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    sent = {**signed(door.subscription.secret, BODY), "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    assert await door.post(headers=sent) == 202
    connection = await asyncpg.connect(door.database)
    (link,) = await connection.fetch("SELECT input->>'traceparent' AS own FROM wiki_compile_jobs")
    await connection.close()
    assert link["own"].startswith(f"00-{trace}-")
    assert "00f067aa0ba902b7" not in link["own"], "it is the notice's own span, under the sender's"


async def test_scope_named_in_the_body_is_ignored(door: Door) -> None:
    body = f'{{"tenant_id": "{THEIRS.tenant_id}", "owner_id": "{THEIRS.owner_id}", "bank_id": "{THEIRS.owner_id}"}}'.encode()
    assert await door.post(body) == 202
    assert await door.jobs() == [(MINE.tenant_id, MINE.owner_id, "webhook")]


@pytest.mark.parametrize("body", [b"", b"no json", b"\xff\0", b"[]"])
async def test_body_is_only_signed_bytes(door: Door, body: bytes) -> None:
    assert await door.post(body) == 202


async def test_delivery_counts_once_even_if_signed_again_or_sent_concurrently(door: Door) -> None:
    assert await door.post() == 202
    assert await door.post(headers=signed(door.subscription.secret, BODY, at=NOW + timedelta(seconds=5))) == 200
    other = BODY.replace(b"op-1", b"op-2")
    assert sorted(await asyncio.gather(*(door.post(other) for _ in range(4)))) == [200, 200, 200, 202]


@pytest.mark.parametrize("minutes", [-6, 6])
async def test_signature_of_another_time_is_refused(door: Door, minutes: int) -> None:
    headers = signed(door.subscription.secret, BODY, at=NOW + timedelta(minutes=minutes))
    assert await door.post(headers=headers) == 401
    assert await door.jobs() == []


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "v1=00",
        "t=1777636800",
        "t=,v1=",
        "t=1777636800,v1=" + "0" * 64,
        "t=٣,v1=0",
        "t=" + "9" * 5000 + ",v1=0",
        "t=-1,v1=0",
        "t=1e9,v1=0",
        "x" * 100_000,
    ],
)
async def test_unsigned_notice_is_refused(door: Door, header: str | None) -> None:
    headers = {} if header is None else {SIGNATURE.encode(): header.encode()}
    assert await door.post(headers=headers) == 401  # type: ignore[arg-type]  # a header need not be ASCII
    assert await door.jobs() == []


async def test_changed_body_or_foreign_secret_is_refused(door: Door, pools: Pools) -> None:
    other = Subscription(uuid4(), THEIRS, "memories", b"t" * 32, NOW)
    async with scoped(pools.background, THEIRS) as connection:
        await webhooks.subscribe(connection, other)
    assert await door.post(BODY + b" ", headers=signed(door.subscription.secret, BODY)) == 401
    assert await door.post(headers=signed(other.secret, BODY)) == 401
    assert await door.post(to=other.subscription_id) == 401
    assert await door.jobs() == []


async def test_unknown_subscription_looks_like_a_wrong_signature(door: Door) -> None:
    path = f"/webhooks/hindsight/{uuid4()}"
    unknown = await door.client.post(path, content=BODY, headers=signed(b"s" * 32, BODY))
    wrong = await door.client.post(f"/webhooks/hindsight/{door.subscription.subscription_id}", content=BODY)
    assert (unknown.status_code, unknown.content) == (wrong.status_code, wrong.content)


async def test_only_a_bounded_post_to_an_id_is_accepted(door: Door) -> None:
    assert (await door.client.get(f"/webhooks/hindsight/{door.subscription.subscription_id}")).status_code == 405
    assert (await door.client.post("/webhooks/hindsight/not-an-id", content=BODY)).status_code == 404
    assert await door.post(b"x" * (MAX_BODY_BYTES + 1)) == 413


async def test_removed_subscription_is_refused_and_leaves_nothing(door: Door, pools: Pools) -> None:
    assert await door.post() == 202
    async with scoped(pools.background, MINE) as connection:
        assert await webhooks.unsubscribe(connection, MINE, door.subscription.subscription_id)
        assert not await webhooks.unsubscribe(connection, MINE, door.subscription.subscription_id)
        assert await connection.fetchval("SELECT count(*) FROM webhook_deliveries") == 0
    assert await door.post(BODY + b" ") == 401


async def test_concurrent_calls_share_one_subscription_without_keeping_it_alive(pools: Pools, door: Door) -> None:
    async def ensured() -> UUID:
        async with scoped(pools.background, THEIRS) as connection:
            wanted = Subscription(uuid4(), THEIRS, "memories", uuid4().bytes * 2, NOW)
            return (await webhooks.ensure(connection, wanted)).subscription_id

    assert len(set(await asyncio.gather(*(ensured() for _ in range(12))))) == 1


async def test_notice_of_a_backend_without_a_wiki_queues_nothing(door: Door, pools: Pools) -> None:
    other = Subscription(uuid4(), MINE, "archive", b"u" * 32, NOW)
    async with scoped(pools.background, MINE) as connection:
        await webhooks.subscribe(connection, other)
    path = f"/webhooks/hindsight/{other.subscription_id}"
    heard = await door.client.post(path, content=BODY, headers=signed(other.secret, BODY))
    assert (heard.status_code, heard.json()) == (202, {"outcome": "SKIPPED_ADAPTER"})
    assert await door.jobs() == []


async def test_deliveries_are_deleted_after_a_week(door: Door, pools: Pools) -> None:
    async with scoped(pools.background, MINE) as connection:
        assert await webhooks.is_first(connection, door.subscription, "old", now=NOW - timedelta(days=8))
        assert await webhooks.is_first(connection, door.subscription, "new", now=NOW)
        assert await connection.fetchval("SELECT array_agg(delivery_id) FROM webhook_deliveries") == ["new"]
