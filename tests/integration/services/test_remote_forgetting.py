"""Forgetting at remote memory services: the outcome of each, and retries when one is down."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest

from sidecar.backends.errors import BackendUnavailable
from sidecar.services.forgetting.remote_forgetter import REMOTE_FORGETTING_KIND, RemoteForgetter
from sidecar.services.forgetting.targets import ForgottenElsewhere, RemoteOutcome, RemoteState, RemoteTarget, Target
from sidecar.services.memories import Memories
from sidecar.services.tenants import Tenants
from store.content import feed, memories
from store.content.memories import NewMemory
from store.db.postgres import DatabaseRole, Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, Clock, fetch, until_lock_wait

SCOPE = Scope(UUID(int=71), UUID(int=72))


@dataclass
class RemoteBank:
    """A service that may be down; it keeps what it was told."""

    name: str = "bank"
    service: str = "Hindsight"
    is_down: bool = False
    told: list[tuple[UUID, RemoteTarget]] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def forget(self, owner_id: UUID, target: RemoteTarget) -> RemoteOutcome:
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.is_down:
            raise BackendUnavailable(self.name)
        self.told.append((owner_id, target))
        return RemoteOutcome(RemoteState.DELETED, 2)


@pytest.fixture
def bank() -> RemoteBank:
    return RemoteBank()


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def elsewhere(pools: Pools, bank: RemoteBank, clock: Clock) -> RemoteForgetter:
    return RemoteForgetter(pools.background, {SCOPE.tenant_id: [bank]}, now=clock)


@pytest.fixture
async def service(pools: Pools, elsewhere: RemoteForgetter, clock: Clock) -> Memories:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await memories.retain(connection, SCOPE, [NewMemory("Otto sails.", "here")], now=NOW)
    return Memories(pools, now=clock, elsewhere=elsewhere)


Queued = Callable[[], Awaitable[list[tuple[object, ...]]]]


@pytest.fixture
def queued(database: str) -> Queued:
    async def read() -> list[tuple[object, ...]]:
        return await fetch(database, f"SELECT not_before FROM background_jobs WHERE kind = '{REMOTE_FORGETTING_KIND}'")

    return read


def states(found: tuple[ForgottenElsewhere, ...]) -> list[tuple[str, str, int]]:
    return [(one.backend, one.outcome.state, one.outcome.count) for one in found]


async def test_report_has_the_outcome_of_each_service(service: Memories, bank: RemoteBank, queued: Queued) -> None:
    target = Target(thread_id="t1")
    preview = await service.forgetting.forget(SCOPE, target, is_dry_run=True)
    assert states(preview.elsewhere) == [("bank", "waiting", 0)]
    assert bank.told == []
    done = await service.forgetting.forget(SCOPE, target)
    assert states(done.elsewhere) == [("bank", "deleted", 2)]
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("thread", "t1"))]
    assert await queued() == []


async def test_span_is_sent_with_both_ends(service: Memories, bank: RemoteBank) -> None:
    until = NOW + timedelta(days=1)
    await service.forgetting.forget(SCOPE, Target(since=NOW, until=until))
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("span", since=NOW, until=until))]


async def test_memory_is_sent_to_services_only_if_our_store_lacks_it(service: Memories, bank: RemoteBank) -> None:
    assert (await service.forgetting.forget(SCOPE, Target(memory_id="here"))).elsewhere == ()
    assert bank.told == []
    await service.forgetting.forget(SCOPE, Target(memory_id="there"))
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("memory", "there"))]


async def test_word_is_not_sent_to_services_and_the_report_says_so(service: Memories, bank: RemoteBank) -> None:
    shown = await service.forgetting.forget(SCOPE, Target(word="Otto"))
    [kept] = shown.elsewhere
    assert (kept.outcome.state, kept.outcome.detail.startswith("the service is not searched")) == ("kept", True)
    done = await service.forgetting.forget(SCOPE, Target(word="Otto", confirmed=("memory:here",)))
    assert states(done.elsewhere) == [("bank", "kept", 0)]
    assert bank.told == []


async def test_worker_retries_a_service_that_is_down(
    service: Memories, pools: Pools, bank: RemoteBank, clock: Clock, queued: Queued, database: str
) -> None:
    bank.is_down = True
    done = await service.forgetting.forget(SCOPE, Target(document_id="log"))
    assert states(done.elsewhere) == [("bank", "waiting", 0)]
    assert "BackendUnavailable" in done.elsewhere[0].outcome.detail
    assert await queued() == [(NOW + timedelta(minutes=1),)]
    worker = RemoteForgetter(pools.background, {SCOPE.tenant_id: [bank]}, now=clock, role=DatabaseRole.WORKER)
    await fetch(database, "DELETE FROM background_jobs RETURNING 1")
    await worker.retry(SCOPE, "")
    assert await queued() == [(NOW + timedelta(minutes=4),)]
    bank.is_down = False
    await worker.retry(SCOPE, "")
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("document", "log"))]
    assert await fetch(database, "SELECT count(*) FROM remote_forgettings") == [(0,)]
    assert await queued() == []


async def test_forgotten_owner_is_sent_and_leaves_no_request(
    service: Memories, elsewhere: RemoteForgetter, pools: Pools, bank: RemoteBank, clock: Clock, database: str
) -> None:
    owners = Tenants(pools, now=clock, elsewhere=elsewhere)
    preview = await owners.forget_owner(SCOPE, is_dry_run=True)
    assert (preview.row_counts["memories"], states(preview.elsewhere)) == (1, [("bank", "waiting", 0)])
    done = await owners.forget_owner(SCOPE)
    assert (done.row_counts["memories"], states(done.elsewhere)) == (1, [("bank", "deleted", 2)])
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("owner"))]
    for table in ("remote_forgettings", "background_jobs"):
        assert await fetch(database, f"SELECT count(*) FROM {table}") == [(0,)]


async def test_deletion_of_a_tenant_waits_for_services_that_are_down(
    service: Memories, elsewhere: RemoteForgetter, pools: Pools, bank: RemoteBank, clock: Clock, database: str
) -> None:
    deletion = Tenants(pools, now=clock, elsewhere=elsewhere).deletion
    long_ago = NOW - timedelta(minutes=12)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.revoke_tokens(connection, SCOPE.tenant_id, not_before=long_ago)
    bank.is_down = True
    for _ in range(2):
        done = await deletion.delete(SCOPE.tenant_id)
        assert (done.is_complete, states(done.elsewhere)) == (False, [("bank", "waiting", 0)])
    assert await fetch(database, "SELECT count(*) FROM memories") == [(0,)]
    assert await fetch(database, "SELECT count(*) FROM remote_forgettings") == [(1,)]
    bank.is_down = False
    assert (await deletion.delete(SCOPE.tenant_id)).is_complete
    assert bank.told == [(SCOPE.owner_id, RemoteTarget("owner"))]


async def test_service_that_hangs_does_not_keep_the_data_of_other_owners(
    service: Memories, elsewhere: RemoteForgetter, pools: Pools, bank: RemoteBank, clock: Clock, database: str
) -> None:
    """It is asked about the first one; the worker asks it about the others."""
    asked = list[str]()

    async def ask() -> None:
        asked.append(bank.name)

    for number in range(73, 76):
        other = Scope(SCOPE.tenant_id, UUID(int=number))
        async with scoped(pools.background, other) as connection:
            await memories.retain(connection, other, [NewMemory("Otto sails.", "here")], now=NOW)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.revoke_tokens(connection, SCOPE.tenant_id, not_before=NOW - timedelta(minutes=12))
    bank.is_down, bank.meanwhile = True, ask
    deletion = Tenants(pools, now=clock, elsewhere=elsewhere).deletion
    done = await deletion.delete(SCOPE.tenant_id)
    assert (done.is_complete, states(done.elsewhere), asked) == (False, [("bank", "waiting", 0)], ["bank"])
    assert await fetch(database, "SELECT count(*) FROM memories") == [(0,)]
    for table in ("remote_forgettings", "background_jobs"):
        assert await fetch(database, f"SELECT count(*) FROM {table}") == [(4,)]
    bank.is_down = False
    assert (await deletion.delete(SCOPE.tenant_id)).is_complete
    assert len(bank.told) == 4


@pytest.mark.parametrize("is_committed_late", [False, True])
async def test_request_stored_while_another_is_sent_keeps_its_retry(
    service: Memories,
    elsewhere: RemoteForgetter,
    pools: Pools,
    bank: RemoteBank,
    queued: Queued,
    database: str,
    *,
    is_committed_late: bool,
) -> None:
    other: list[asyncio.Task[None]] = []
    is_noted = asyncio.Event()

    async def note() -> None:
        async with scoped(pools.background, SCOPE) as connection:
            await feed.hold(connection, SCOPE)
            await elsewhere.note(connection, SCOPE, RemoteTarget("document", "other"))
            is_noted.set()
            if is_committed_late:
                await until_lock_wait(database)

    async def meanwhile() -> None:
        bank.meanwhile = None
        other.append(asyncio.create_task(note()))
        await (is_noted.wait() if is_committed_late else other[0])

    bank.meanwhile = meanwhile
    done = await service.forgetting.forget(SCOPE, Target(document_id="log"))
    await other[0]
    assert states(done.elsewhere) == [("bank", "deleted", 2)]
    assert await queued() == [(NOW + timedelta(minutes=1),)]
    await elsewhere.retry(SCOPE, "")
    assert [target.id for _, target in bank.told] == ["log", "other"]
    assert await queued() == []
