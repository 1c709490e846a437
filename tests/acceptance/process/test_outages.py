"""Postgres goes away under load, is killed, or hangs: turns are answered all the while, and everything comes back by itself.

These tests have a server of their own, since they stop it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import grpc
import pytest

from sidecar.runtime.database import Database, bring_up_to_date
from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, items_pb2
from sidecar.v1 import context_pb2 as pb
from store.db.postgres import scoped
from store.embedded import postmaster
from store.embedded.server import EmbeddedPostgres
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.databases import new_directory
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import (
    THREAD,
    asking,
    asking_in_haste,
    assembled,
    explained,
    fill,
    knobs,
    refusal,
    said,
    statuses,
)
from tests.support.waiting import PATIENCE_S

WITHOUT = knobs(items_pb2.SOURCE_THREAD, required=False)
WELL = {"THREAD": "OK", "KNOWLEDGE": "OK", "MEMORY": "OK", "WIKI": "OK", "WORKSPACE": "SKIPPED", "TOOLS": "SKIPPED"}
CALL_S = 60.0  # the most that the service lets a call take
HASTY_CALL_S = 20.0  # a hung database uses up most of it; a loaded machine needs what is left


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A directory for a server of the module's own, straight under /tmp, where the account Postgres runs as may pass."""
    directory = new_directory()
    yield directory
    asyncio.run(postmaster.shut_down(directory / "pgdata"))
    shutil.rmtree(directory)


@pytest.fixture
async def server(data_dir: Path) -> AsyncIterator[EmbeddedPostgres]:
    """The module's server, running and migrated."""
    async with EmbeddedPostgres(data_dir, settings={"fsync": "off"}) as one:
        await bring_up_to_date(Database(one.dsn, one.dsn))
        yield one


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(
        data_dir=data_dir, listen=("127.0.0.1:0",), drain_grace_s=2.0, receipt_queue=100_000, embedder="none"
    )


class Load:
    """Turns asked without a pause by a few callers, and what came of each. They would rather lack their conversation than fail.

    They give each source time enough for a loaded machine, or with `in_haste` only the profile's own.
    """

    def __init__(self, agent: Caller, *, in_haste: bool = False) -> None:
        self.answers: list[pb.Assembly] = []
        self._agent = agent
        self._request = asking_in_haste(overrides=WITHOUT) if in_haste else asking(overrides=WITHOUT)
        self._call_s = HASTY_CALL_S if in_haste else CALL_S
        self._answered = asyncio.Condition()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep asking; whatever is no answer is raised at the end."""
        async with asyncio.TaskGroup() as group:
            callers = [group.create_task(self._ask()) for _ in range(3)]
            yield
            for caller in callers:
                caller.cancel()

    async def _ask(self) -> None:
        while True:
            self.answers.append(await assembled(self._agent, self._request, timeout=self._call_s))
            async with self._answered:
                self._answered.notify_all()

    async def until(self, holds: Callable[[pb.Assembly], bool]) -> None:
        """Wait until an answer that is yet to come holds."""
        seen = len(self.answers)
        async with asyncio.timeout(PATIENCE_S), self._answered:
            await self._answered.wait_for(lambda: any(map(holds, self.answers[seen:])))


def is_well(answer: pb.Assembly) -> bool:
    return statuses(answer) == WELL


def is_degraded(answer: pb.Assembly) -> bool:
    return answer.degraded


async def _check_recovery(site: Site, agent: Caller, load: Load) -> None:
    """Check that the receipts of the outage were kept and tell of it, and that the record is whole."""
    degraded = [answer for answer in load.answers if answer.degraded]
    for answer in (degraded[0], degraded[-1]):
        receipt = await _explained_once_back(agent, answer.receipt_id)
        assert list(receipt.sources) == list(answer.sources)
        assert receipt.degraded
    assert site.app.receipt_writer.dropped_count == 0
    turns = (await agent.ListTurns(pb.ListTurnsRequest(thread_id=THREAD, page_size=1000))).turns
    assert [turn.position for turn in turns] == list(range(1, len(turns) + 1))


async def _explained_once_back(agent: Caller, receipt_id: str) -> pb.Receipt:
    """Return the receipt; connections that outlived a killed server answer turns before new ones can be made."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await explained(agent, receipt_id)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise


async def test_turns_are_answered_while_the_database_is_restarted(server: EmbeddedPostgres, settings: Settings) -> None:
    async with served(replace(settings, database_url=server.dsn)) as site:
        agent = await fill(site, tenant="restarted")
        load = Load(agent)
        async with load.running():
            await load.until(is_well)
            await server.stop()
            await load.until(is_degraded)
            code, _, _ = await refusal(
                agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=said(("a", "b"))), timeout=CALL_S)
            )
            assert code is grpc.StatusCode.UNAVAILABLE
            code, reason, _ = await refusal(assembled(agent))
            assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "REQUIRED_SOURCE_FAILED")
            await server.start()
            await load.until(is_well)
        await _check_recovery(site, agent, load)


@pytest.mark.parametrize("victim", ["postmaster", "backend"])
async def test_killed_embedded_server_is_restarted(settings: Settings, data_dir: Path, victim: str) -> None:
    async with served(settings) as site:
        agent = await fill(site, tenant=f"killed-{victim}")
        load = Load(agent)
        async with load.running():
            await load.until(is_well)
            pid = postmaster.serving_pid(data_dir / "pgdata")
            assert pid is not None
            os.kill(pid if victim == "postmaster" else await _backend(site), signal.SIGKILL)
            await load.until(is_degraded)
            await load.until(is_well)
        await _check_recovery(site, agent, load)


async def test_turns_are_answered_while_the_database_hangs(server: EmbeddedPostgres, settings: Settings) -> None:
    async with served(replace(settings, database_url=server.dsn)) as site:
        agent = await fill(site, tenant="hung")
        await assembled(agent)
        await site.caller("hung", admin=True).PutSpace(
            admin_pb2.PutSpaceRequest(space_id="home")
        )  # all is outdated now
        load = Load(agent, in_haste=True)
        async with stopped(server), load.running():
            await load.until(is_degraded)
            assert set(statuses(load.answers[-1]).values()) <= {"TIMEOUT", "ERROR", "STALE", "BREAKER_OPEN", "SKIPPED"}
        after = Load(agent)
        async with after.running():
            await after.until(is_well)
        await _check_recovery(site, agent, load)


async def test_user_that_the_database_refuses_for_a_while_costs_no_receipt(
    server: EmbeddedPostgres, settings: Settings
) -> None:
    superuser = await asyncpg.connect(server.dsn)
    await superuser.execute("CREATE ROLE member LOGIN; GRANT sidecar_app, sidecar_worker TO member")
    async with served(replace(settings, database_url=server.dsn.replace("//postgres@", "//member@"))) as site:
        agent = await fill(site, tenant="refused")
        load = Load(agent)
        async with load.running():
            await load.until(is_well)
            await superuser.execute("ALTER ROLE member NOLOGIN")
            await superuser.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'member'")
            await load.until(is_degraded)
            code, reason, _ = await refusal(agent.ListThreads(pb.ListThreadsRequest()))
            assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "DATABASE_REFUSED")
            await superuser.execute("ALTER ROLE member LOGIN")
            await load.until(is_well)
        await _check_recovery(site, agent, load)
    await superuser.close()


async def test_service_starts_on_a_standby_and_answers_turns(server: EmbeddedPostgres, settings: Settings) -> None:
    usual = replace(settings, database_url=server.dsn, embedder="minilm")
    async with served(usual) as site:
        await fill(site, tenant="standby")
    async with read_only(server), served(usual) as site:
        agent = site.caller("standby")
        assert statuses(await assembled(agent)) == WELL
        code, reason, _ = await refusal(
            agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=said(("a", "b"))))
        )
        assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "DATABASE_READ_ONLY")


@asynccontextmanager
async def read_only(server: EmbeddedPostgres) -> AsyncIterator[None]:
    """Let new connections write nothing."""
    connection = await asyncpg.connect(server.dsn)
    await connection.execute("ALTER DATABASE sidecar SET default_transaction_read_only = on")
    yield
    await connection.execute("ALTER DATABASE sidecar RESET default_transaction_read_only")
    await connection.close()


@asynccontextmanager
async def stopped(server: EmbeddedPostgres) -> AsyncIterator[None]:
    """Freeze every process of the server."""
    connection = await asyncpg.connect(server.dsn)
    pids = [row["pid"] for row in await connection.fetch("SELECT pid FROM pg_stat_activity")]
    await connection.close()
    parent = _parent(pids[0])
    _signal([parent, *pids], signal.SIGSTOP)
    try:
        yield
    finally:
        _signal([*pids, parent], signal.SIGCONT)


async def _backend(site: Site) -> int:
    """Return the process of a connection that turns use."""
    async with scoped(site.app.pools.turn, Scope(tenant_uuid("t"), owner_uuid("o"))) as connection:
        return int(await connection.fetchval("SELECT pg_backend_pid()"))


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, number)
