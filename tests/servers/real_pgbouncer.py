"""A service and its worker behind a real PgBouncer in transaction mode: `make test-pgbouncer` finds the program.

It has fewer server connections than the service's pools ask for, so that transactions of several owners take turns on each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from sidecar.client import NewMemory, Sidecar, Stance
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from store.embedded.binaries import server_account
from tests.servers.__main__ import free_port
from tests.support.databases import RUN_DIR, new_directory
from tests.support.served.command_line import migrated, serving
from tests.support.waiting import PATIENCE_S, until_blocking

SERVER_CONNECTIONS = 3
OWNERS = ("mara", "noor", "ivo", "lena")
CONFIG = """
[databases]
* = host={host} port={port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
logfile = {log}
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def pgbouncer(dsn: str) -> Iterator[str]:
    """Yield the DSN of the database behind a PgBouncer of our own; it runs as the server's account, since it refuses root."""
    place, listen, home = parse_qs(urlsplit(dsn).query), free_port(), new_directory()
    account = server_account(Path(os.environ[RUN_DIR]) / "pgdata")
    home.mkdir(mode=0o700)
    os.chown(home, account.uid, account.gid)
    config = home / "pgbouncer.ini"
    values = {"host": place["host"][0], "port": place["port"][0], "listen": listen, "connections": SERVER_CONNECTIONS}
    config.write_text(CONFIG.format(**values, log=home / "pgbouncer.log"))
    config.chmod(0o644)
    process = subprocess.Popen(account.command(os.environ["PGBOUNCER"], "-q", str(config)), cwd="/")
    try:
        yield f"postgresql://postgres@127.0.0.1:{listen}{urlsplit(dsn).path}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def environment(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a service whose pools go through PgBouncer, and whose notices do not."""
    home = tmp_path_factory.mktemp("pooled")
    with migrated(migrated_template, home) as one, pgbouncer(one["SIDECAR_DATABASE_URL"]) as pooled:
        yield {
            **one,
            "SIDECAR_DATABASE_URL": pooled,
            "SIDECAR_DATABASE_DIRECT_URL": one["SIDECAR_DATABASE_URL"],
            "SIDECAR_STATEMENT_CACHE_SIZE": "0",
        }


@contextmanager
def clients(environment: dict[str, str], log: Path) -> Iterator[tuple[dict[str, Sidecar], Sidecar]]:
    """Serve, and yield an agent of each owner and an admin."""
    settings = IdentitySettings(Path(environment["SIDECAR_DATA_DIR"]))

    def client(grant: Grant) -> Sidecar:
        token = mint(grant, settings, now_s=time.time(), token_id=uuid4().hex)
        return Sidecar(environment["SIDECAR_LISTEN"], token, stance=Stance(deadline_s=60.0))

    with serving(environment, log):
        agents = {owner: client(Grant("acme", (owner,), "assistant")) for owner in OWNERS}
        yield agents, client(Grant("acme", role=Role.ADMIN))


def test_turns_of_many_owners_at_once_each_see_their_own(environment: dict[str, str], tmp_path: Path) -> None:
    with clients(environment, tmp_path / "log") as (agents, admin), ThreadPoolExecutor(8) as callers:
        patient = {f"{source}.deadline_ms": 50_000 for source in ("thread", "knowledge", "memory", "wiki")}
        admin.set_profile(level="tenant", profile=patient)
        for owner, agent in agents.items():
            agent.retain(memories=[NewMemory(text=f"The boat of {owner} winters in dock {owner}.")])

        def ask(number: int) -> str:
            owner = OWNERS[number % len(OWNERS)]
            assembly = agents[owner].assemble_context(
                message="Where does the boat winter?", model_id="gpt-4o", detail="items"
            )
            statuses = {one.source.lower(): one.status.upper() for one in assembly.sources}
            assert {statuses[name] for name in ("thread", "knowledge", "memory", "wiki")} <= {"OK", "EMPTY", "SKIPPED"}
            assert statuses["memory"] == "OK"
            told = " ".join(item.text for item in assembly.items)
            assert [other for other in OWNERS if f"dock {other}" in told] == [owner]
            agents[owner].report_usage(receipt_id=assembly.receipt_id, input_tokens=900)
            return assembly.receipt_id

        assert len(set(callers.map(ask, range(80)))) == 80


def test_compile_through_the_pool_makes_pages_that_verify(environment: dict[str, str], tmp_path: Path) -> None:
    with clients(environment, tmp_path / "log") as (agents, admin):
        agent = agents["noor"]
        agent.retain(memories=[NewMemory(text=f"Noor paints boat {number} with Ivo in Porto.") for number in range(20)])
        own = admin.taking(Stance(owner_id="noor", deadline_s=PATIENCE_S))
        own.compile_now()
        until_blocking(lambda: not {job.status for job in own.list_jobs().values} & {"pending", "running"})
        assert own.list_pages().values
        assert own.verify_rebuild().is_identical


def test_switch_and_forgetting_take_effect_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    with clients(environment, tmp_path / "log") as (agents, admin):
        agent = agents["ivo"]
        written = agent.retain(memories=[NewMemory(text="The spare key is under the third pot.")])
        admin.set_profile(level="tenant", profile={"wiki.enabled": False})

        def statuses() -> dict[str, str]:
            assembly = agent.assemble_context(message="Where is the spare key?", model_id="gpt-4o", detail="items")
            assert "third pot" in " ".join(item.text for item in assembly.items)
            return {one.source.lower(): one.status.upper() for one in assembly.sources}

        until_blocking(lambda: statuses()["wiki"] == "SKIPPED")
        agent.forget(memory_id=written.memory_ids[0])
        gone = agent.assemble_context(message="Where is the spare key?", model_id="gpt-4o", detail="items")
        assert "third pot" not in " ".join(item.text for item in gone.items)
