"""Health over HTTP: a broken backend is reported, and does not make the process unhealthy."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import asyncpg
import httpx
import pytest

from sidecar.http.listening import opened
from sidecar.process.app import running
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from tests.support.served.site import served
from tests.support.served.turns import asking, fill


async def test_lost_database_fails_readiness_but_not_liveness(settings: Settings) -> None:
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


async def test_resting_source_is_reported_without_failing_the_process(settings: Settings, database: str) -> None:
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
            metrics = (await client.get("/metrics")).text
            assert 'sidecar_source_breaker_open{source="wiki"} 1.0' in metrics
            assert 'sidecar_assembly_calls{state="running"} 0.0' in metrics
            assert 'sidecar_assembly_calls{state="queued"} 0.0' in metrics


async def test_resting_backends_are_counted_for_all_and_named_to_their_tenants_admin(
    settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "backends.toml"
    file.write_text('[[hindsight]]\nname = "bank"\ntenant = "acme"\nurl = "http://127.0.0.1:9"\nhedge = false\n')
    async with served(replace(settings, http_listen="127.0.0.1:0", backends=file)) as site:
        caller = await fill(site)
        bearers = {name: {"authorization": f"Bearer {token}"} for name, token in {
            "admin": site.token(admin=True), "stranger": site.token("other", admin=True), "agent": site.token(), "": "x",
        }.items()}  # fmt: skip
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
            for _ in range(60):
                await caller.AssembleContext(asking())
                if (told := await client.get("/backendz")).json()["resting_backend_count"]:
                    break
            assert (told.status_code, told.json()["resting_backend_count"], "bank" in told.text) == (503, 1, False)
            heard = {name: await client.get("/backendz", headers=header) for name, header in bearers.items()}
            assert heard["admin"].json()["resting_backends"] == ["bank"]
            assert heard["stranger"].json()["resting_backends"] == []
            assert (heard["agent"].status_code, heard[""].status_code) == (403, 401)
            assert (await client.get("/readyz")).status_code == 200
            assert 'sidecar_backend_breaker_open{backend="bank"}' in (await client.get("/metrics")).text


async def test_http_listeners_are_off_by_default(settings: Settings) -> None:
    async with running(settings) as app:
        assert (app.http_address, app.console_address) == ("", "")


REACHABLE = ("0.0.0.0:0", "[::]:0", "192.0.2.7:0", "host.example:0", "127.0.0.1.example:0")


@pytest.mark.parametrize("address", REACHABLE)
async def test_plain_http_is_refused_on_a_public_address(settings: Settings, address: str) -> None:
    health, console = replace(settings, http_listen=address), replace(settings, console_listen=address)
    for refused, allowing in ((health, "SIDECAR_HTTP_PLAIN=yes"), (console, "SIDECAR_CONSOLE_TLS_PROXY=yes")):
        with pytest.raises(SettingInvalid, match=allowing):
            async with running(refused):
                pass


async def test_plain_http_is_served_publicly_if_the_settings_allow_it(settings: Settings) -> None:
    told = replace(settings, http_listen="0.0.0.0:0", http_plain=True, console_listen="[::]:0", console_tls_proxy=True)
    async with running(told) as app, httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"http://127.0.0.1:{app.http_address.rpartition(':')[2]}/livez")).status_code == 200
        assert (await client.get(f"http://[::1]:{app.console_address.rpartition(':')[2]}/login")).status_code == 200


def test_addresses_are_opened_refused_or_skipped() -> None:
    assert opened("X", "off", 1) is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert opened("X", "auto", port) is None
        with pytest.raises(SettingInvalid):
            opened("X", f"127.0.0.1:{port}", 1)
    wrongs = ("nonsense", ":1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", "[::1]", "[::1].evil.com:1", "::1:1")
    for wrong in (*wrongs, "[127.0.0.1]:1", "[::1]]:1", f"127.0.0.1:{'1' * 5000}"):
        with pytest.raises(SettingInvalid):
            opened("X", wrong, 1)
    listener = opened("X", "127.0.0.1:0", 1)
    assert listener is not None
    listener.close()
