"""Debian's Prometheus on a running service: its tools check what we deploy, and it scrapes, evaluates and answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml  # type: ignore[import-untyped]  # it ships no types

from tests.interop.checks import Checks
from tests.interop.programs import last_words, ran
from tests.interop.service import Service, free_port

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
ALERTS = Path(__file__).with_name("alerts.yaml")
_PATIENCE_S = 120.0
_POLL_S = 0.5


class PrometheusMissing(Exception):
    """Prometheus is not here and cannot be fetched; install Debian's `prometheus`, or run where apt-get reaches a mirror."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Prometheus and its tool."""

    server: Path
    tool: Path


def check(checks: Checks, service: Service, directory: Path) -> None:
    """Check the rules and the metrics, and have Prometheus scrape the service. Raises PrometheusMissing."""
    programs = found(directory)
    tool = programs.tool
    _say(
        checks,
        "promtool accepts the configuration and its rules",
        [tool, "check", "config", DEPLOY / "prometheus.yaml"],
    )
    cases = directory / "alerts.yaml"
    rules = {"rule_files": [str(DEPLOY / "prometheus-rules.yaml")]}
    cases.write_text(yaml.safe_dump(yaml.safe_load(ALERTS.read_text(encoding="utf-8")) | rules), encoding="utf-8")
    _say(checks, "each alert fires when it should and not before (promtool test rules)", [tool, "test", "rules", cases])
    _say(checks, "a turn is assembled, to be counted", _turn(service))
    text = httpx.get(f"http://127.0.0.1:{service.http_port}/metrics").text
    _say(checks, "promtool finds nothing odd in the metrics", [tool, "check", "metrics"], text_in=text)
    with running(programs, service, directory) as client:
        checks.say("Prometheus scrapes the service, and the turn is among what it got", _scraped(client))
        checks.say("every alert's expression is evaluated", _evaluated(client))
        for expression in panel_expressions():
            checks.say(f"Prometheus answers {expression[:60]}", _answered(client, expression))


def found(directory: Path) -> Programs:
    """Return the programs: those that are installed, else out of Debian's package, unpacked in the directory."""
    installed = [shutil.which(name) for name in ("prometheus", "promtool")]
    if installed[0] and installed[1]:
        return Programs(Path(installed[0]), Path(installed[1]))
    if shutil.which("apt-get") is None:
        raise PrometheusMissing
    fetched = ran(["apt-get", "download", "prometheus"], cwd=directory)
    packages = list(directory.glob("prometheus_*.deb"))
    if not packages or ran(["dpkg-deb", "-x", packages[0], directory / "unpacked"]).returncode:
        raise PrometheusMissing(last_words(fetched))
    folder = directory / "unpacked" / "usr" / "bin"
    return Programs(folder / "prometheus", folder / "promtool")


def panel_expressions() -> list[str]:
    """Return what the dashboard asks, over a minute."""
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [expression.replace("$__rate_interval", "1m") for expression in asked]


@contextmanager
def running(programs: Programs, service: Service, directory: Path) -> Iterator[httpx.Client]:
    """Yield a client of a Prometheus that scrapes the service, by the configuration that we deploy but for the address."""
    config = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text(encoding="utf-8"))
    config["global"] |= {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DEPLOY / name) for name in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{service.http_port}"]
    written, port = directory / "prometheus.yaml", free_port()
    written.write_text(yaml.safe_dump(config), encoding="utf-8")
    command: list[str | Path] = [
        programs.server,
        f"--config.file={written}",
        f"--storage.tsdb.path={directory / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            yield client
    finally:
        process.terminate()
        process.wait()


def _turn(service: Service) -> list[str | Path]:
    """Return the command that assembles a turn."""
    place = ["--address", f"127.0.0.1:{service.addresses[0].port}", "--token", service.token]
    return [
        Path(sys.executable).with_name("sidecar"),
        "assemble",
        "Where is the gate code?",
        "--model",
        "gpt-4o",
        *place,
    ]


def _say(checks: Checks, name: str, command: list[str | Path], *, text_in: str = "") -> None:
    run = ran(command, text_in=text_in)
    checks.say(name, last_words(run) if run.returncode else "")


def _scraped(client: httpx.Client) -> str:
    """Return an empty text once a scrape has brought our metrics, else what is in the way."""
    problem = "nothing was scraped"
    end_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end_s:
        try:
            targets = client.get("/api/v1/targets").json()["data"]["activeTargets"]
            problem = "; ".join(target["lastError"] for target in targets) or problem
            if _result(client, "sum(sidecar_assembly_duration_seconds_count) > 0"):
                return ""
        except (httpx.TransportError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
        time.sleep(_POLL_S)
    return problem


def _evaluated(client: httpx.Client) -> str:
    end_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end_s:
        groups = client.get("/api/v1/rules").json()["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        if rules and all(rule["health"] != "unknown" for rule in rules):
            return "; ".join(f"{rule['name']}: {rule['lastError']}" for rule in rules if rule["health"] != "ok")
        time.sleep(_POLL_S)
    return "no rule was evaluated"


def _answered(client: httpx.Client, expression: str) -> str:
    answer = client.get("/api/v1/query", params={"query": expression}).json()
    return "" if answer["status"] == "success" else str(answer.get("error"))


def _result(client: httpx.Client, expression: str) -> list[Any]:
    found: list[Any] = client.get("/api/v1/query", params={"query": expression}).json()["data"]["result"]
    return found
