"""Three services and three workers on one Postgres, some killed: no job runs twice, and each sees the others' changes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from sidecar.client import NewMemory, Sidecar, SidecarCallError, Stance
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from tests.support.compiler.compiling import DEEDS, NAMES
from tests.support.served.command_line import migrated
from tests.support.waiting import PATIENCE_S, until_blocking

REPLICAS = 3
OWNERS = ("mara", "noor", "ivo", "lena")
MEMORIES = 24
SEED = 20261124
SEEN_WITHIN_S = 2.0


class Cluster:
    """The processes, started anew when killed, and callers of each service."""

    def __init__(self, environment: dict[str, str], home: Path) -> None:
        self.environment = {
            **os.environ,
            **environment,
            "SIDECAR_WORKER": "false",
            "SIDECAR_WORKER_LEASE_S": "20",  # longer than a full machine lets a worker wait for its heartbeat
            "SIDECAR_TURN_POOL_SIZE": "6",
            "SIDECAR_BACKGROUND_POOL_SIZE": "3",
            "SIDECAR_WORKER_POOL_SIZE": "3",
            "SIDECAR_WORKER_POLL_S": "0.5",
            "SIDECAR_COMPILE_RECORD_PAGE_SIZE": "4",
        }
        self.home = home
        self.log = home / "log"
        self.services = {number: self._service(number) for number in range(REPLICAS)}
        self.workers = {number: self._worker() for number in range(REPLICAS)}

    def address(self, number: int) -> str:
        return f"unix:{self.home}/{number}/s.sock"

    def client(self, number: int, *, owner: str = "", at_s: float = 0.0) -> Sidecar:
        """Return a caller of one service: an admin, or an owner's agent."""
        grant = Grant("acme", (owner,), "assistant") if owner else Grant("acme", role=Role.ADMIN)
        settings = IdentitySettings(Path(self.environment["SIDECAR_DATA_DIR"]))
        token = mint(grant, settings, now_s=at_s or time.time(), token_id=uuid4().hex)
        return Sidecar(self.address(number), token, stance=Stance(deadline_s=60.0))

    def wait_serving(self, number: int) -> None:
        with self.client(number) as client:
            until_blocking(lambda: _is_serving(client))

    def kill_worker(self, number: int) -> None:
        _kill(self.workers[number])
        self.workers[number] = self._worker()

    def kill_service(self, number: int) -> None:
        _kill(self.services[number])
        self.services[number] = self._service(number)
        self.wait_serving(number)

    def lines(self) -> list[dict[str, object]]:
        """Return what all processes logged so far."""
        text = self.log.read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def end(self) -> None:
        for process in (*self.services.values(), *self.workers.values()):
            process.send_signal(signal.SIGTERM)
        for process in (*self.services.values(), *self.workers.values()):
            process.wait(PATIENCE_S)

    def kill(self) -> None:
        for process in (*self.services.values(), *self.workers.values()):
            _kill(process)

    def _service(self, number: int) -> subprocess.Popen[bytes]:
        return self._started("serve", {"SIDECAR_LISTEN": self.address(number)})

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._started("worker", {})

    def _started(self, command: str, more: dict[str, str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:  # appended to by all: a line is one write
            arguments = [sys.executable, "-m", "sidecar", command]
            return subprocess.Popen(arguments, env={**self.environment, **more}, stderr=log)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _is_serving(client: Sidecar) -> bool:
    try:
        return client.health() == "SERVING"
    except SidecarCallError:
        return False


@contextmanager
def clusters(template: str, home: Path) -> Iterator[Cluster]:
    """Start the processes over a database of their own, and stop them at the end."""
    with migrated(template, home) as environment:
        cluster = Cluster(environment, home)
        try:
            for number in range(REPLICAS):
                cluster.wait_serving(number)
            yield cluster
            cluster.end()
        finally:
            cluster.kill()


@pytest.fixture(scope="module")
def cluster(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The processes for all tests of the module."""
    with clusters(migrated_template, tmp_path_factory.mktemp("replicas")) as one:
        yield one


def test_jobs_under_kills_run_once_and_leave_the_wiki_that_their_batches_make(cluster: Cluster, is_soak: bool) -> None:
    drawn, written, owners = random.Random(SEED), Counter[str](), OWNERS if is_soak else OWNERS[:2]
    for round_ in range(12 if is_soak else 1):
        for owner in owners:
            texts = [f"{drawn.choice(NAMES)} {drawn.choice(DEEDS)} on day {round_}-{one}." for one in range(MEMORIES)]
            with cluster.client(drawn.randrange(REPLICAS), owner=owner) as agent:
                written[owner] += agent.retain(memories=[NewMemory(text=text) for text in texts]).created_count
            with cluster.client(drawn.randrange(REPLICAS)) as admin:
                admin.taking(Stance(owner_id=owner, deadline_s=60.0)).compile_now()
        cluster.kill_worker(drawn.randrange(REPLICAS))
        cluster.kill_service(drawn.randrange(REPLICAS))
    with cluster.client(0) as admin:
        for owner in owners:
            _check_wiki(admin.taking(Stance(owner_id=owner, deadline_s=PATIENCE_S)), written[owner])
    ended = Counter(one["job_id"] for one in cluster.lines() if one["event"] == "job_ended")
    assert len(ended) >= len(owners)
    assert set(ended.values()) == {1}


def _check_wiki(admin: Sidecar, memories: int) -> None:
    """Wait until all is compiled; then each memory was read once, and the batches make the same pages when replayed."""
    admin.compile_now()
    until_blocking(lambda: not {job.status for job in admin.list_jobs().values} & {"pending", "running"})
    jobs = admin.list_jobs(page_size=500).values
    assert sum(job.metrics.get("records_read", 0) for job in jobs if job.status == "succeeded") == memories
    assert admin.verify_rebuild().is_identical


def test_switch_at_one_service_is_seen_by_all(cluster: Cluster, is_soak: bool) -> None:
    for number in range(REPLICAS):
        is_on = number % 2 == 1
        with cluster.client(number) as admin:
            admin.set_profile(level="tenant", profile={"wiki.enabled": is_on})
        began_s = time.monotonic()
        for other in range(REPLICAS):
            with cluster.client(other, owner="mara") as agent:
                until_blocking(partial(_has_wiki, agent, is_on))
        _check_soon(began_s, is_soak)


def _has_wiki(agent: Sidecar, is_on: bool) -> bool:
    assembly = agent.assemble_context(message="Where is the boat?", model_id="gpt-4o")
    status = next(one.status for one in assembly.sources if one.source.lower() == "wiki")
    return (status.upper() != "SKIPPED") == is_on


def test_tokens_revoked_at_one_service_are_refused_by_all(cluster: Cluster, is_soak: bool) -> None:
    agents = [cluster.client(number, owner="mara", at_s=time.time() - 5) for number in range(REPLICAS)]
    for agent in agents:
        agent.list_threads()
    with cluster.client(1) as admin:
        admin.revoke_tokens()
    began_s = time.monotonic()
    for agent in agents:
        until_blocking(partial(_is_refused, agent))
        agent.close()
    _check_soon(began_s, is_soak)


def _is_refused(agent: Sidecar) -> bool:
    try:
        agent.list_threads()
    except SidecarCallError as error:
        return error.code == "UNAUTHENTICATED"
    return False


def _check_soon(began_s: float, is_soak: bool) -> None:
    """Check the time on a machine that does nothing else; a full one may take longer over the calls themselves."""
    assert not is_soak or time.monotonic() - began_s <= SEEN_WITHIN_S
