"""A service of several processes: all answer, one that is killed comes back, and none outlives the service."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from sidecar.cli.root import run
from sidecar.client import NewTurn, Sidecar, SidecarCallError
from sidecar.context.receipt_writer import new_receipt_id
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings
from store.embedded import postmaster
from tests.support.databases import new_directory
from tests.support.served.command_line import Served, migrated, outcome, serving
from tests.support.waiting import PATIENCE_S, until_blocking

SEVERAL = {"SIDECAR_PROCESSES": "2", "SIDECAR_HTTP_LISTEN": "127.0.0.1:0", "SIDECAR_CONSOLE_LISTEN": "127.0.0.1:0"}


@dataclass(frozen=True, slots=True)
class Family:
    """A service of two processes that answer calls."""

    served: Served
    token: str

    @property
    def path(self) -> str:
        """The first process's socket."""
        return self.served.environment["SIDECAR_LISTEN"]

    def lines(self) -> list[dict[str, Any]]:
        """Return the log so far; a line that is not JSON is not ours."""
        text = self.served.log.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("{")]

    def started(self) -> dict[str, Any]:
        """Return the supervisor's line that all serve; empty before."""
        ours = [one for one in self.lines() if one.get("process") == "supervisor" and one["event"] == "serving"]
        return ours[0] if ours else {}

    def get(self, path: str) -> httpx.Response:
        """Ask the health port."""
        return httpx.get(f"http://{self.started()['http']}{path}", timeout=60)

    def processes(self) -> dict[str, int]:
        """Return the numbers of the supervisor's processes by part, and the worker's."""
        found = {}
        for pid, arguments in descendants(self.served.process.pid).items():
            if "--part" in arguments:
                found[arguments[arguments.index("--part") + 1]] = pid
            elif "worker" in arguments:
                found["worker"] = pid
        return found

    def client(self, path: str = "") -> Sidecar:
        """Return a client of the service, or of the one process at a socket."""
        return Sidecar(path or self.path, self.token)


def descendants(pid: int) -> dict[int, list[str]]:
    """Return the processes that a process started, with their arguments."""
    found: dict[int, list[str]] = {}
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        try:
            found[child] = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            found |= descendants(child)
        except OSError:
            continue  # it has ended
    return found


def is_gone(pid: int) -> bool:
    """Return whether the process has ended; one that its parent has not heard of yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def families(environment: dict[str, str], log: Path, *, python: str = sys.executable) -> Iterator[Family]:
    """Serve with two processes, and wait until all parts and the worker are there."""
    with serving(environment, log, python=python) as served:
        grant = Grant("acme", ("mara",), "assistant")
        token = mint(
            grant,
            IdentitySettings(Path(environment["SIDECAR_DATA_DIR"])),
            now_s=time.time(),
            token_id=uuid4().hex,
        )
        family = Family(served, token)
        until_blocking(family.started)
        until_blocking(lambda: family.processes().keys() == {"1", "2", "http", "worker"})
        yield family


@pytest.fixture(scope="module")
def family() -> Iterator[Family]:
    """A service for the module's tests, on an embedded database; the last of them stops it."""
    home = new_directory()
    home.mkdir(mode=0o755)
    environment = {
        "SIDECAR_DATA_DIR": str(home / "data"),
        "SIDECAR_LISTEN": f"unix:{home}/api/s.sock",
        "SIDECAR_EMBEDDER": "none",
        "PYTHONPATH": os.pathsep.join(sys.path[1:]),
        **SEVERAL,
    }
    program(home).symlink_to(Path(sys.executable).resolve())
    try:
        with families(environment, home / "log", python=str(program(home))) as one:
            yield one
    finally:
        asyncio.run(postmaster.shut_down(home / "data" / "pgdata"))
        shutil.rmtree(home)


def program(home: Path) -> Path:
    """Return the link to Python that the service was started with, so that a test can take it away."""
    return home / "python"


def ask(client: Sidecar) -> str:
    """Assemble a turn, and return its receipt's id."""
    return client.assemble_context(message="Where does the boat winter?", model_id="gpt-4o").receipt_id


def alone(family: Family, tmp_path: Path) -> tuple[str, str]:
    """Return an address for each process at which a client finds no other."""
    link = tmp_path / "first.sock"
    link.symlink_to(family.path.removeprefix("unix:"))
    return f"unix:{link}", f"{family.path}.2"


def test_every_process_answers_calls_and_one_page_has_all_metrics(family: Family) -> None:
    with family.client() as client:
        for _ in range(6):
            ask(client)
    counted = {
        process
        for line in family.get("/metrics").text.splitlines()
        for process in ("1", "2")
        if line.startswith("rpc_server_call_duration_seconds_count")
        and "AssembleContext" in line
        and f'process="{process}"' in line
    }
    assert counted == {"1", "2"}
    assert family.get("/livez").json()["processes"] == {"1": "serving", "2": "serving"}
    assert family.get("/readyz").json() == {"status": "ready"}
    assert family.get("/backendz").status_code == 200
    named = {one.get("process") for one in family.lines()}
    assert named <= {"supervisor", "1", "2", "http", "worker"}
    assert {"supervisor", "1", "2", "http"} <= named
    assert httpx.get(f"http://{family.started()['console']}/login", timeout=60).status_code == 200


def test_context_is_explained_at_once_by_the_process_that_did_not_assemble_it(family: Family, tmp_path: Path) -> None:
    first, second = alone(family, tmp_path)
    with family.client(first) as one, family.client(second) as other:
        for _ in range(3):
            for asked, explaining in ((one, other), (other, one)):
                receipt_id = ask(asked)
                assert explaining.explain_assembly(receipt_id=receipt_id).receipt_id == receipt_id
                explaining.report_usage(receipt_id=receipt_id, input_tokens=700)


def test_receipt_that_no_process_writes_is_not_found(family: Family) -> None:
    with family.client() as client:
        for unknown in (new_receipt_id(datetime.now(UTC)), uuid4()):
            with pytest.raises(SidecarCallError) as refused:
                client.explain_assembly(receipt_id=str(unknown))
            assert refused.value.code == "NOT_FOUND"


def test_every_process_reads_the_writes_of_another(family: Family, tmp_path: Path) -> None:
    first, second = alone(family, tmp_path)
    with family.client(first) as one, family.client(second) as other:
        one.append_turns(thread_id="t1", turns=[NewTurn(client_turn_id="a", role="user", text="Hello?")])
        assert [turn.text for turn in other.list_turns(thread_id="t1").values] == ["Hello?"]


def test_killed_process_fails_no_call_and_is_restarted(family: Family) -> None:
    before = family.processes()
    with family.client() as client:
        for _ in range(4):
            ask(client)
        os.kill(before["2"], signal.SIGKILL)
        for _ in range(20):
            ask(client)
        until_blocking(lambda: any(one["event"] == "process_serves_again" for one in family.lines()))
        until_blocking(lambda: family.get("/livez").json()["processes"] == {"1": "serving", "2": "serving"})
        after = family.processes()
        assert (after["1"], after["http"], after["worker"]) == (before["1"], before["http"], before["worker"])
        assert after["2"] != before["2"]
        with family.client(f"{family.path}.2") as second:
            second.health(deadline_s=PATIENCE_S, waits=True)  # gRPC tries a lost address again after seconds
            ask(second)
    (ended,) = (one for one in family.lines() if one["event"] == "process_ended")
    assert (ended["child"], ended["code"]) == ("2", -signal.SIGKILL)


def test_process_that_cannot_restart_leaves_the_others_serving_and_is_retried(family: Family) -> None:
    python, known = program(family.served.log.parent), len(family.lines())
    with family.client() as client:
        python.unlink()  # as while an installation is being replaced
        os.kill(family.processes()["2"], signal.SIGKILL)
        until_blocking(lambda: any(one.get("code") == 127 for one in family.lines()))
        ask(client)
        python.symlink_to(Path(sys.executable).resolve())
        until_blocking(lambda: any(one["event"] == "process_serves_again" for one in family.lines()[known:]))


def test_stop_signal_ends_all_processes_and_the_database(family: Family) -> None:
    with family.client() as client:
        ask(client)
    started = [one for one in family.lines() if one["event"] == "embedded_postgres_initialised"]
    assert [one["process"] for one in started] == ["supervisor"]
    pids, home = family.processes(), Path(family.served.environment["SIDECAR_DATA_DIR"])
    family.served.process.send_signal(signal.SIGTERM)
    assert family.served.process.wait(PATIENCE_S) == 0
    assert all(is_gone(pid) for pid in pids.values())
    assert postmaster.serving_pid(home / "pgdata") is None
    assert not list(home.glob("processes-*"))
    assert not list(Path(family.path.removeprefix("unix:")).parent.iterdir())
    drained = {one["process"] for one in family.lines() if one["event"] == "draining"}
    assert drained == {"supervisor", "1", "2", "http"}


def test_killed_supervisor_leaves_no_process_behind(migrated_template: str, tmp_path: Path) -> None:
    with migrated(migrated_template, tmp_path) as environment:
        pids: dict[str, int] = {}
        with suppress(AssertionError), families({**environment, **SEVERAL}, tmp_path / "log") as own:
            pids |= own.processes()
            arguments = descendants(own.served.process.pid)[pids["1"]]
            directory = Path(arguments[arguments.index("--directory") + 1])
            own.served.process.kill()  # so it ends with another code than a served sidecar should
            own.served.process.wait(PATIENCE_S)
        assert len(pids) == 4
        until_blocking(lambda: all(is_gone(pid) for pid in pids.values()))
        assert not directory.exists()


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_number_of_processes_that_cannot_be_is_a_one_line_error(
    tmp_path: Path, number: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDECAR_DATA_DIR", str(tmp_path))
    assert run(["serve", f"--processes={number}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"sidecar: SIDECAR_PROCESSES: '{number}' is not a number of processes; set a whole number from 1"
    )


@pytest.mark.parametrize("processes", ["1", "2"])
def test_port_of_another_program_is_refused_also_if_that_shares_it(
    migrated_template: str, tmp_path: Path, processes: str
) -> None:
    with migrated(migrated_template, tmp_path) as environment, socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = outcome(["serve", "--processes", processes, "--listen", address], environment)
    assert done.returncode == 2
    *logged, refusal = done.stderr.splitlines()
    assert refusal.startswith(f"sidecar: SIDECAR_LISTEN: {address} cannot be opened")
    assert all(json.loads(line)["event"] for line in logged)


def test_process_that_cannot_start_at_all_ends_the_service_with_its_reason(
    migrated_template: str, tmp_path: Path
) -> None:
    with migrated(migrated_template, tmp_path) as environment:
        missing = {"SIDECAR_TOKEN_KEYS": str(tmp_path / "none.pem"), "SIDECAR_TOKEN_ISSUERS": "https://issuer.example"}
        done = outcome(["serve", "--processes", "2"], {**environment, **missing})
    assert done.returncode == 1
    *_, own, supervisors = done.stderr.splitlines()
    assert "none.pem" in own
    assert supervisors.startswith("sidecar: Process '1' of the service ended with code")


def test_process_that_is_started_while_calls_run_does_not_crash() -> None:
    started = subprocess.run(
        [sys.executable, "-m", "tests.stand_ins.spawning"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert started.stdout == "[0]\n", started.stderr
