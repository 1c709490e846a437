"""Under overload some calls are refused at once, no caller starves, and answers go to their own callers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from uuid import UUID

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.process.app import running
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Item, Ref, Source
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2
from store.scope import Scope, tenant_uuid
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import asking, assembled, fill, knobs, said, until_as_few_tasks_as
from tests.support.waiting import PATIENCE_S

PLACES, PLACES_PER_TENANT, WAITING = 3, 2, 2
SETTINGS, PING, GOAWAY = 4, 6, 7  # kinds of frames of HTTP/2
FOREVER_S = 600.0  # longer than any test runs: what is refused was refused for want of room, not of time


class Slow:
    """A source that answers one tenant's turns when it is let, and everybody else's at once."""

    def __init__(self, tenant: str) -> None:
        self._tenant_id: UUID = tenant_uuid(tenant)
        self.may_end = asyncio.Event()
        self.asked_count = 0
        self._asked = asyncio.Condition()

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        if scope.tenant_id == self._tenant_id:
            self.asked_count += 1
            async with self._asked:
                self._asked.notify_all()
            await self.may_end.wait()
        fact = "The boat winters in the old dock."
        return SourceAnswer((Item("memory:1", Source.MEMORY, fact, 0, 0.9, provenance=(Ref("memory", "1"),)),))

    async def until_asked(self, count: int) -> None:
        """Wait until so many of the tenant's turns have a place."""
        async with asyncio.timeout(PATIENCE_S), self._asked:
            await self._asked.wait_for(lambda: self.asked_count >= count)


@pytest.fixture
def slow() -> Slow:
    return Slow("busy")


@pytest.fixture
async def narrow(settings: Settings, slow: Slow) -> AsyncIterator[Site]:
    """A site with few places, whose one source is slow for the tenant "busy"."""
    few = replace(
        settings,
        max_in_flight=PLACES,
        max_in_flight_per_tenant=PLACES_PER_TENANT,
        max_waiting=WAITING,
        max_wait_s=FOREVER_S,
    )
    async with (
        running(few, sources={Source.MEMORY: slow}) as app,
        grpc.aio.insecure_channel(app.addresses[0]) as channel,
    ):
        yield Site(app, few, channel)


PATIENT = asking(overrides=knobs(items_pb2.SOURCE_MEMORY, deadline_ms=60_000))


async def _refused(call: object) -> RetryInfo:
    """Return when to come again, as a call was told that was refused for want of room."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    status, retry = rpc_status.from_call(caught.value), RetryInfo()
    assert any(detail.Unpack(retry) for detail in status.details)
    return retry


async def test_burst_of_a_tenant_is_refused_at_once_and_affects_only_itself(narrow: Site, slow: Slow) -> None:
    busy, other = narrow.caller("busy"), narrow.caller("other")
    places = [asyncio.create_task(assembled(busy, PATIENT, timeout=60.0)) for _ in range(PLACES_PER_TENANT)]
    await slow.until_asked(PLACES_PER_TENANT)
    burst = [asyncio.create_task(assembled(busy, PATIENT, timeout=60.0)) for _ in range(WAITING + 6)]
    await asyncio.wait(burst, return_when=asyncio.FIRST_COMPLETED)
    while sum(one.done() for one in burst) < 6:
        await asyncio.wait([one for one in burst if not one.done()], return_when=asyncio.FIRST_COMPLETED)
    for refused in (one for one in burst if one.done()):
        retry = await _refused(refused)
        assert 0 < retry.retry_delay.ToTimedelta().total_seconds() <= 5
    assert slow.asked_count == PLACES_PER_TENANT, "no more of them are at work than the tenant has places"
    health = await health_pb2_grpc.HealthStub(narrow.channel).Check(health_pb2.HealthCheckRequest())
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert (await assembled(other)).items, "another tenant has a place left"
    assert not (await busy.ListMemories(memory_pb2.ListMemoriesRequest())).memories, "other calls have their own places"
    slow.may_end.set()
    waited = [one for one in burst if not one.done()]
    assert len(waited) == WAITING
    for answer in await asyncio.gather(*places, *waited):
        assert answer.items
    assert (await assembled(busy)).items, "there is room again"


async def test_cancelled_waiting_call_gives_its_slot_to_the_next(narrow: Site, slow: Slow) -> None:
    busy = narrow.caller("busy")
    tasks = len(asyncio.all_tasks())
    places = [asyncio.create_task(assembled(busy, PATIENT, timeout=60.0)) for _ in range(PLACES_PER_TENANT)]
    await slow.until_asked(PLACES_PER_TENANT)
    impatient = [asyncio.create_task(assembled(busy, PATIENT, timeout=60.0)) for _ in range(WAITING + 1)]
    await asyncio.wait(impatient, return_when=asyncio.FIRST_COMPLETED)
    for one in (*places, *impatient):
        one.cancel()
    await asyncio.wait([*places, *impatient])
    await until_as_few_tasks_as(tasks)
    slow.may_end.set()
    assert (await assembled(busy, PATIENT)).items


async def patiently(caller: Caller, request: pb.AssembleContextRequest) -> pb.Assembly:
    """Return the turn's context, asked for again for as long as there is no room for it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await assembled(caller, request, timeout=60.0)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise


async def test_concurrent_tenants_get_their_own_answers(site: Site) -> None:
    names = [f"tenant-{number}" for number in range(12)]
    callers = [await fill(site, tenant=name) for name in names]
    for name, caller in zip(names, callers, strict=True):
        memory = memory_pb2.NewMemory(text=f"The boat of {name} in winter")
        await caller.Retain(memory_pb2.RetainRequest(memories=[memory]))
        own = said((f"I am {name}", f"Hello {name}"), start=90)
        await caller.AppendTurns(pb.AppendTurnsRequest(thread_id="harbour", turns=own))

    def named(answer: pb.Assembly) -> list[str]:
        sent = str(answer.system_blocks) + str(answer.messages)
        return [name for name in names if f"{name}\\n" in sent or f"{name} in" in sent]

    async def check(name: str, caller: Caller) -> None:
        answers = await asyncio.gather(*(patiently(caller, asking(request_id=f"r{n % 2}")) for n in range(5)))
        assert len({answer.receipt_id for answer in answers}) == 2
        for answer in answers:
            assert named(answer) == [name]
            assert answer.messages[-1].text == f"Hello {name}"
            assert not answer.degraded

    await asyncio.gather(*map(check, names, callers))


async def test_burst_on_two_connections_is_served_whole(settings: Settings) -> None:
    scarce = replace(settings, turn_pool_size=2)
    async with running(scarce) as app, grpc.aio.insecure_channel(app.addresses[0]) as channel:
        caller = await fill(Site(app, scarce, channel))
        turns = [patiently(caller, asking(f"Where does boat {number} winter?")) for number in range(32)]
        for answer in await asyncio.gather(*turns):
            assert answer.messages
            assert not answer.degraded


async def test_connection_that_says_nothing_is_closed(settings: Settings) -> None:
    async with served(settings) as site:
        host, _, port = site.app.addresses[0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionError):
                await reader.read()  # gRPC's first frame, and then the end
        writer.close()


async def test_connections_of_all_addresses_together_leave_files_for_the_rest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (8, 8))  # of which callers get half
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(served(replace(settings, listen=("127.0.0.1:0", "127.0.0.1:0"))))
        greeted = [await is_greeted(address, stack) for address in site.app.addresses for _ in range(6)]
    assert sum(greeted) == 4


async def is_greeted(address: str, stack: AsyncExitStack) -> bool:
    """Open a connection that lasts as long as the stack, and return whether the server sent its first frame."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    stack.callback(writer.close)
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS))
        async with asyncio.timeout(PATIENCE_S):
            return await received(reader) == SETTINGS
    return False


async def test_client_that_asks_every_moment_whether_its_connection_lives_keeps_it(settings: Settings) -> None:
    async with served(settings) as site:
        host, _, port = site.app.addresses[0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS))
        for number in range(5):  # gRPC closes the connection at the third one that is too early
            writer.write(frame(PING, payload=number.to_bytes(8)))
            while (kind := await received(reader)) != PING:
                assert kind != GOAWAY
            with suppress(TimeoutError):
                async with asyncio.timeout(1.1):
                    assert await received(reader) != GOAWAY
        writer.close()


def frame(kind: int, *, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2 that concerns the whole connection."""
    return len(payload).to_bytes(3) + bytes([kind, 0, 0, 0, 0, 0]) + payload


async def received(reader: asyncio.StreamReader) -> int:
    """Return the kind of the next frame."""
    head = await reader.readexactly(9)
    await reader.readexactly(int.from_bytes(head[:3]))
    return head[3]
