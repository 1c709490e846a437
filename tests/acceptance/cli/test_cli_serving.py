"""The commands that start things: serving, migrating, the demo; how they begin, and how they end."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sidecar.cli.root import run
from tests.support.places import ROOT
from tests.support.served.command_line import migrated, outcome, serving
from tests.support.waiting import PATIENCE_S

DATA = ROOT / "sidecar" / "demo" / "data"


@pytest.fixture(scope="module")
def environment(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A migrated database of the module's own, and no sidecar over it yet."""
    with migrated(migrated_template, tmp_path_factory.mktemp("migrated")) as one:
        yield one


def test_migrations_are_listed_with_none_left_to_apply(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run(["migrate", "status", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert all(one["applied_at"] or one["waits_for"] for one in listed)
    assert run(["migrate", "--dry-run", "--json"]) == 0
    dry = json.loads(capsys.readouterr().out)
    assert dry == {"would_apply": [], "skipped": dry["skipped"], "is_dry_run": True}
    assert outcome(["migrate"], environment).stdout.splitlines()[-1] == "nothing to apply"


def test_spreading_a_plain_database_is_refused_before_anything_changes(
    environment: dict[str, str],
    empty_database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in {**environment, "SIDECAR_DATABASE_URL": empty_database}.items():
        monkeypatch.setenv(name, value)
    assert run(["migrate", "--distribute", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "NotACluster"
    assert run(["migrate", "status", "--json"]) == 0
    assert not any(one["applied_at"] for one in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_server_cleanly(environment: dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    own = {**environment, "SIDECAR_LISTEN": f"unix:{tmp_path / 'own' / 's.sock'}"}
    with serving(own, tmp_path / "serve.log") as one:
        one.process.send_signal(number)
        assert one.process.wait(PATIENCE_S) == 0
    assert "Traceback" not in one.log.read_text()


def test_unusable_address_is_a_one_line_error(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = outcome(["serve", "--listen", f"127.0.0.1:{port}"], environment)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"sidecar: SIDECAR_LISTEN: 127.0.0.1:{port} cannot be opened")


def test_missing_database_is_a_one_line_error(tmp_path: Path) -> None:
    environment = {
        "SIDECAR_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "SIDECAR_DATA_DIR": str(tmp_path),
    }
    done = outcome(["migrate", "status"], environment)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "SIDECAR_DATABASE_URL" in done.stderr


@pytest.fixture
def place(tmp_path: Path, is_soak: bool) -> Path:
    """Where the demo is run: an installed package, whose only document of the project is its README, or this checkout."""
    if is_soak:
        return ROOT
    for name in ("sidecar", "compiler", "store", "models", "migrations"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_demo_runs_and_a_second_run_finds_everything_there(place: Path) -> None:
    # Straight under /tmp: pytest's own directories are closed to the account that Postgres runs as.
    home = Path("/tmp") / f"sidecar-demo-test-{uuid4().hex}"
    try:
        environment = {"SIDECAR_DATA_DIR": str(home)}
        first = outcome(["demo", "--json"], environment, cwd=place)
        assert first.returncode == 0, first.stderr
        told = json.loads(first.stdout)
        assert told["loaded"]["memories"] == len((DATA / "memories.jsonl").read_text().splitlines())
        sources = {one["source"]: one for one in told["assembly"]["sources"]}
        for name in ("thread", "knowledge", "memory", "wiki"):
            assert sources[name]["status"] == "OK"
            assert sources[name]["included_tokens"] > 0, name
        second = outcome(["demo"], environment, cwd=place)
        assert second.returncode == 0, second.stderr
        assert "written in this run: 0 memories, 0 turns, 0 documents" in second.stdout
        assert re.search(r"(?m)^receipt [0-9a-f-]{36}$", second.stdout)
        shown = re.search(r"(?m)^  (\S.*) serve$", second.stdout)
        assert shown
        assert subprocess.run([*shlex.split(shown[1]), "--version"], capture_output=True, check=False).returncode == 0
    finally:
        shutil.rmtree(home, ignore_errors=True)
