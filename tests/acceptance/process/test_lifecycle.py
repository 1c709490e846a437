"""The served process from its start to its end: ready, drained, killed, and two on one directory."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.process.app import running
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.runtime import database as databases
from sidecar.runtime.database import Database
from sidecar.runtime.errors import FenceKeyMissing
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from store.db.migrate import take_lock
from store.db.postgres import direct
from store.embedded import postmaster
from store.embedded.layout import Layout
from store.embedded.server import EmbeddedPostgres
from tests.support.databases import new_directory
from tests.support.served.site import Caller
from tests.support.served.turns import BOAT, THREAD, asking, assembled, knobs, said, statuses
from tests.support.waiting import until, until_equal

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
PATIENCE_S = 60.0
GRACE_S = 600.0  # longer than any test waits: nothing here may end only because the grace did


@dataclass(frozen=True, slots=True)
class Process:
    """A `sidecar serve` on a data directory, and a channel to it."""

    process: subprocess.Popen[bytes]
    channel: grpc.aio.Channel
    data_dir: Path

    def caller(self, *, admin: bool = False) -> Caller:
        """Return stubs with a token of the directory's dev key."""
        grant = Grant("acme", role=Role.ADMIN) if admin else Grant("acme", ("mara",), "assistant")
        token = mint(grant, IdentitySettings(self.data_dir), now_s=time.time(), token_id=uuid4().hex)
        return Caller(self.channel, (("authorization", f"Bearer {token}"),))

    def watch(self) -> Any:
        """Return the stream of the service's health."""
        return health_pb2_grpc.HealthStub(self.channel).Watch(health_pb2.HealthCheckRequest())

    async def ended(self) -> int:
        """Wait for the process's end and return its exit code."""
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A data directory straight under /tmp, where the account Postgres runs as may pass."""
    directory = new_directory()
    directory.mkdir(mode=0o755)
    yield directory
    asyncio.run(postmaster.shut_down(directory / "pgdata"))
    shutil.rmtree(directory)


@asynccontextmanager
async def serving(data_dir: Path) -> AsyncIterator[Process]:
    """Start `sidecar serve` with the embedded database on a socket of its own, and wait until it is healthy."""
    process, address = _started(data_dir)
    try:
        # A start on a busy machine takes its time, and by default a client looks again after twice as long each time.
        async with grpc.aio.insecure_channel(address, [("grpc.max_reconnect_backoff_ms", 1_000)]) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            answer = await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=PATIENCE_S)
            assert answer.status == SERVING
            yield Process(process, channel, data_dir)
    finally:
        process.kill()
        process.wait()


def _started(data_dir: Path, *command: str) -> tuple[subprocess.Popen[bytes], str]:
    address = f"unix:{data_dir}/sockets/{secrets.token_hex(4)}"
    environment = {
        "SIDECAR_DATA_DIR": str(data_dir),
        "SIDECAR_LISTEN": address,
        "SIDECAR_EMBEDDER": "none",
        "SIDECAR_DRAIN_GRACE_S": str(GRACE_S),
        "SIDECAR_DEADLINE_S": str(PATIENCE_S),
    }
    program = [sys.executable, "-m", "sidecar", *(command or ("serve",))]
    return subprocess.Popen(program, env={"PATH": os.defpath, **environment}, stderr=subprocess.DEVNULL), address


async def test_stop_signal_drains_calls_reports_not_serving_and_stops_the_database(data_dir: Path) -> None:
    async with serving(data_dir) as one:
        agent = one.caller()
        await agent.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text=BOAT)]))
        watch = one.watch()
        assert (await watch.read()).status == SERVING
        patient = asking(overrides=knobs(items_pb2.SOURCE_MEMORY, deadline_ms=60_000))
        async with locked(data_dir, "memories"):
            under_way = asyncio.create_task(assembled(agent, patient, timeout=PATIENCE_S))
            await until_waiting(data_dir)
            one.process.send_signal(signal.SIGTERM)
            assert (await watch.read()).status == NOT_SERVING
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await agent.ListThreads(pb.ListThreadsRequest())
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
            assert one.process.poll() is None, "the call under way is waited for"
        assert statuses(await under_way)["MEMORY"] == "OK"
        assert await one.ended() == 0
        assert postmaster.serving_pid(data_dir / "pgdata") is None


@pytest.mark.parametrize("command", [("serve",), ("serve", "--processes", "2"), ("worker",)], ids=" ".join)
async def test_stop_signal_ends_a_start_that_waits(data_dir: Path, command: tuple[str, ...]) -> None:
    async with EmbeddedPostgres(data_dir) as server, connected(data_dir) as migrating:
        await take_lock(migrating)
        process, _ = _started(data_dir, *command)
        try:
            await until_trying_to_migrate(migrating)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        await until_equal(lambda: migrating.fetchval(others), 0)
        assert await server.start(), "the server runs on for its other user"


async def test_every_acknowledged_write_survives_a_kill(data_dir: Path) -> None:
    acknowledged: set[str] = set()
    async with serving(data_dir) as one:
        agent, enough = one.caller(), asyncio.Event()
        server_pid = postmaster.serving_pid(data_dir / "pgdata")
        assert server_pid is not None

        async def append_forever(worker: int) -> None:
            for number in range(worker * 1_000_000, (worker + 1) * 1_000_000):
                turns = said((f"question {number}", f"answer {number}"), start=number)
                response = await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="killed", turns=turns))
                acknowledged.update(response.turn_ids)
                if len(acknowledged) >= 100:
                    enough.set()

        workers = [asyncio.create_task(append_forever(worker)) for worker in range(3)]
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
        os.kill(server_pid, signal.SIGKILL)
        one.process.kill()
        await asyncio.wait(workers)
        assert all(isinstance(worker.exception(), grpc.aio.AioRpcError) for worker in workers)
    async with serving(data_dir) as again:
        listed = await again.caller().ListTurns(pb.ListTurnsRequest(thread_id="killed", page_size=1000))
        assert acknowledged <= {turn.turn_id for turn in listed.turns}
        assert [turn.position for turn in listed.turns] == list(range(1, len(listed.turns) + 1))
        assert len(listed.turns) % 2 == 0, "a call's turns are there together or not at all"


async def test_two_processes_share_a_directory(data_dir: Path) -> None:
    async with serving(data_dir) as one, serving(data_dir) as other:
        await one.caller().AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=said(("Hello?", "Hello."))))
        answer = await assembled(other.caller())
        assert [message.text for message in answer.messages] == ["Hello?", "Hello."]
        off, tenant = knobs(items_pb2.SOURCE_WIKI, enabled=False), profile_pb2.PROFILE_LEVEL_TENANT
        await one.caller(admin=True).SetProfile(profile_pb2.SetProfileRequest(level=tenant, profile=off))
        async with asyncio.timeout(PATIENCE_S):
            while statuses(await assembled(other.caller()))["WIKI"] != "SKIPPED":
                pass
        one.process.send_signal(signal.SIGTERM)
        assert await one.ended() == 0
        assert statuses(await assembled(other.caller()))["THREAD"] == "OK", "the database is left to the other"
        other.process.send_signal(signal.SIGINT)
        assert await other.ended() == 0
        assert postmaster.serving_pid(data_dir / "pgdata") is None


@asynccontextmanager
async def locked(data_dir: Path, table: str) -> AsyncIterator[None]:
    """Hold a table of the embedded database."""
    async with connected(data_dir) as connection, connection.transaction():
        await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


async def until_waiting(data_dir: Path) -> None:
    """Wait until a query waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with connected(data_dir) as connection:
        await until(lambda: connection.fetchval(waiting))


async def until_trying_to_migrate(other: asyncpg.Connection[asyncpg.Record]) -> None:
    """Wait until another process tries to take the lock of schema changes."""
    trying = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()"
    )
    await until(lambda: other.fetchval(trying))


@asynccontextmanager
async def connected(data_dir: Path) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Yield a connection to the embedded database."""
    connection = await asyncpg.connect(Layout.of(data_dir).dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def test_database_without_a_fence_key_is_refused_until_it_is_migrated_again(settings: Settings) -> None:
    async with direct(settings.database_url) as connection:
        await connection.execute("DELETE FROM installation_keys")
    with pytest.raises(FenceKeyMissing, match="run `sidecar migrate`"):
        async with running(settings):
            pass
    await databases.bring_up_to_date(Database(settings.database_url, settings.database_url))
    async with running(settings):
        pass
