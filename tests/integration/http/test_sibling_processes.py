"""The process with the HTTP servers reports the health, failures and metrics of all processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from sidecar.http.health import BackendStates, Health, health_app
from sidecar.http.sibling_processes import Impairments, SiblingProcesses, serve_report
from sidecar.telemetry.figures import Figures

METHOD = "sidecar.v1.ContextService/AssembleContext"


def counted(calls: int) -> Figures:
    figures = Figures()
    for _ in range(calls):
        figures.call(METHOD, "OK", 0.01)
    return figures


def impairments(*sources: str, backends: dict[str, bool] | None = None, embedder: str = "") -> Impairments:
    return Impairments(lambda: list(sources), lambda: backends or {"kb": False}, lambda: embedder)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as one:
        yield one


async def _database() -> None:
    """Answer."""


def calls_by_process(figures: Figures) -> dict[str, float]:
    return {
        sample.labels["process"]: sample.value
        for family in figures.families()
        for sample in family.samples
        if sample.name == "rpc_server_call_duration_seconds_count"
    }


async def test_one_page_has_the_metrics_of_all_processes(stack: AsyncExitStack, tmp_path: Path) -> None:
    for name, calls in (("1", 3), ("2", 5)):
        await serve_report(stack, tmp_path / f"{name}.sock", impairments(), counted(calls))
    members, own = SiblingProcesses(tmp_path), counted(1)
    own.join("http", members.figures)
    await members.ask()
    assert calls_by_process(own) == {"http": 1, "1": 3, "2": 5}
    text = own.as_text().decode()
    assert text.count("# TYPE rpc_server_call_duration_seconds histogram") == 1
    assert f'rpc_method="{METHOD}"' in text


async def test_silent_process_is_absent_and_its_counters_do_not_fall(stack: AsyncExitStack, tmp_path: Path) -> None:
    await serve_report(stack, tmp_path / "1.sock", impairments(), counted(1))
    members, own = SiblingProcesses(tmp_path), Figures()
    own.join("http", members.figures)
    async with AsyncExitStack() as short:
        await serve_report(short, tmp_path / "2.sock", impairments("wiki"), counted(7))
        await members.ask()
        assert members.states() == {"1": "serving", "2": "serving"}
        assert members.joined(impairments()).sources() == ["wiki"]
    await members.ask()
    assert members.states() == {"1": "serving", "2": "absent"}
    assert calls_by_process(own) == {"1": 1, "2": 7}
    assert members.joined(impairments()).sources() == [], "what it told is not known any more"


async def test_failure_in_any_process_is_reported(stack: AsyncExitStack, tmp_path: Path) -> None:
    failing = impairments("memory", backends={"kb": True}, embedder="its files are missing")
    await serve_report(stack, tmp_path / "1.sock", impairments(), Figures())
    await serve_report(stack, tmp_path / "2.sock", failing, Figures())
    members = SiblingProcesses(tmp_path)
    await members.ask()
    joined = members.joined(impairments("wiki", backends={"kb": False, "s3": False}))
    assert joined.sources() == ["memory", "wiki"]
    assert joined.backends() == {"kb": True, "s3": False}
    assert joined.embedder() == "its files are missing"


async def test_service_is_ready_while_one_of_its_processes_takes_calls(stack: AsyncExitStack, tmp_path: Path) -> None:
    members = SiblingProcesses(tmp_path)
    health = Health(
        _database, lambda: False, dict, list, BackendStates(), processes=members.states, ask_them=members.ask
    )
    transport = httpx.ASGITransport(app=health_app(health, Figures()))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        async with AsyncExitStack() as short:
            await serve_report(short, tmp_path / "1.sock", impairments(), Figures())
            await members.ask()
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            assert (await client.get("/livez")).json()["processes"] == {"1": "serving"}
        await members.ask()
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "waiting"})
        assert (await client.get("/livez")).status_code == 200
