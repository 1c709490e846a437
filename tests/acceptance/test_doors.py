"""Health over HTTP: a broken backend is told, and is never taken for a broken process."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import asyncpg
import httpx
import pytest

from sidecar.app import running
from sidecar.errors import SettingInvalid
from sidecar.http.listening import opened
from sidecar.settings import Settings
from tests.acceptance.conftest import served
from tests.acceptance.turns import asking, fill


async def test_a_database_that_is_gone_is_no_reason_to_restart(settings: Settings) -> None:
    async with (
        served(replace(settings, http_listen="127.0.0.1:0")) as site,
        httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client,
    ):
        for path in ("/livez", "/readyz", "/backendz", "/metrics"):
            assert (await client.get(path)).status_code == 200, path
        await site.app.pools.background.close()
        told = await client.get("/backendz")
        assert (told.status_code, told.json()["status"]) == (503, "impaired")
        assert told.json()["database"] != "ok"
        assert (await client.get("/livez")).status_code == 200
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/elsewhere")).status_code == 404


async def test_a_source_that_rests_is_told_behind_the_process(settings: Settings, database: str) -> None:
    async with served(replace(settings, http_listen="127.0.0.1:0")) as site:
        caller = await fill(site)
        connection = await asyncpg.connect(database)
        await connection.execute("ALTER TABLE wiki_pages RENAME TO gone")
        await connection.close()
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
            for _ in range(30):
                await caller.AssembleContext(asking())
                if (told := await client.get("/backendz")).status_code == 503:
                    break
            assert told.json()["resting_sources"] == ["wiki"]
            assert (await client.get("/readyz")).status_code == 200
            assert 'sidecar_source_breaker_open{source="wiki"} 1.0' in (await client.get("/metrics")).text


async def test_a_single_backend_that_rests_is_told_beside_its_source(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "backends.toml"
    file.write_text('[[hindsight]]\nname = "bank"\ntenant = "acme"\nurl = "http://127.0.0.1:9"\nhedge = false\n')
    async with served(replace(settings, http_listen="127.0.0.1:0", backends=file)) as site:
        caller = await fill(site)
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
            for _ in range(60):
                await caller.AssembleContext(asking())
                if (told := await client.get("/backendz")).json()["resting_backends"]:
                    break
            assert (told.status_code, told.json()["resting_backends"]) == (503, ["bank"])
            assert (await client.get("/readyz")).status_code == 200
            assert 'sidecar_backend_breaker_open{backend="bank"}' in (await client.get("/metrics")).text


async def test_doors_are_off_unless_asked_for(settings: Settings) -> None:
    async with running(settings) as app:
        assert (app.http_address, app.console_address) == ("", "")


def test_addresses_are_opened_refused_or_left() -> None:
    assert opened("X", "off", 1) is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert opened("X", "auto", port) is None
        with pytest.raises(SettingInvalid):
            opened("X", f"127.0.0.1:{port}", 1)
    for wrong in ("nonsense", ":1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", "[::1]"):
        with pytest.raises(SettingInvalid):
            opened("X", wrong, 1)
    listener = opened("X", "127.0.0.1:0", 1)
    assert listener is not None
    listener.close()
