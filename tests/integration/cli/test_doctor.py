"""The doctor finds obstacles to serving, and names their fixes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from cryptography import x509

from sidecar.cli.operations.doctor_checks import Finding, _clock, _disk, _running, cluster, examine, reach
from sidecar.runtime.database import Database
from store.db.distribution import ShardServer
from store.db.postgres import DatabaseRole
from store.embedded.server import EmbeddedPostgres
from tests.support.databases import is_cluster
from tests.support.rpc.certificates import Authority

UNUSABLE = {
    "SIDECAR_DEADLINE_S": "soon",
    "SIDECAR_COMPILE_UNREAD_PAUSE_S": "99999999999",
    "SIDECAR_RECEIPT_TEXT_DAYS": "2000000000",
    "SIDECAR_COMPILE_PLANNER": "gpt",
    "SIDECAR_THREAD_SUMMARIES": "gpt",
    "SIDECAR_EMBEDDER": "openai:none:5000",
    "SIDECAR_LISTEN": "0.0.0.0:7433",
    "SIDECAR_PROCESSES": "two",
    "SIDECAR_TLS_CERT": "/nowhere.pem",
    "SIDECAR_HTTP_LISTEN": "1234",
    "SIDECAR_CONSOLE_LISTEN": "0.0.0.0:7435",
    "SIDECAR_TURN_POOL_SIZE": "0",
    "SIDECAR_WORKER_SCOPES": "0",
    "SIDECAR_RECEIPT_DAYS": "1",
    "SIDECAR_DECAY_MOST_SOURCES": "1",
    "SIDECAR_DECAY_SUMMARIES": "gpt",
    "SIDECAR_DECAY_ATTESTATION_KEYS": "/nowhere.pem",
    "SIDECAR_ONTOLOGY_SCAN": "gpt",
}


async def findings(dsn: str, home: Path, **variables: str) -> dict[str, Finding]:
    environ = {"SIDECAR_DATABASE_URL": dsn, "SIDECAR_DATA_DIR": str(home)} | variables
    return {one.name: one for one in await examine(environ)}


async def test_doctor_finds_a_sound_machine_well(database: str, tmp_path: Path) -> None:
    found = await findings(database, tmp_path)
    assert list(found) == [
        "settings", "tokenizer", "identity", "database", "extensions", "clock", "connections", "migrations", "roles",
        *(["cluster"] if is_cluster() else []), "backends", "embedder", "telemetry",
    ]  # fmt: skip
    assert [one for one in found.values() if not one.is_well or one.fix] == []


def test_the_socket_of_the_embedded_postgres_is_named_wherever_it_is() -> None:
    plain, spaced = (
        _running(Database("", "", EmbeddedPostgres(Path(name))), 180006) for name in ("/srv/x", "/srv/x y")
    )
    assert plain == "version 18.6, with its socket in /srv/x/run"
    assert re.fullmatch(r"version 18\.6, with its socket in /tmp/context-sidecar-\w+", spaced)
    assert _running(Database("", ""), 150012) == "version 15.12"


async def test_empty_schema_needs_migrating(empty_database: str, tmp_path: Path) -> None:
    found = await findings(empty_database, tmp_path)
    assert (found["migrations"].is_well, found["migrations"].fix) == (False, "run `sidecar migrate`")


async def test_user_without_the_roles_gets_the_grant_to_run(database: str, tmp_path: Path) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("CREATE ROLE outsider LOGIN; GRANT SELECT ON schema_migrations TO outsider")
    found = await findings(database.replace("//postgres@", "//outsider@"), tmp_path)
    await connection.execute("DROP OWNED BY outsider; DROP ROLE outsider")
    await connection.close()
    assert not found["roles"].is_well
    assert "GRANT sidecar_app, sidecar_worker" in found["roles"].detail


def test_lost_server_of_a_cluster_is_named_with_its_share_of_the_tenants() -> None:
    lost = ShardServer("db2:5432", 16, 32, tuple(DatabaseRole))
    found = cluster([ShardServer("db1:5432", 16, 32, ()), lost])
    assert (found.name, found.is_well) == ("cluster", False)
    assert "db2:5432 does not answer sidecar_app and sidecar_worker: 16 of 32 shards of tenants" in found.detail
    assert "db1" not in found.detail
    assert cluster([ShardServer("db1:5432", 32, 32, ())]).is_well


async def test_each_problem_is_named_with_its_fix(tmp_path: Path, database: str) -> None:
    away = await findings("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    assert not away["database"].is_well
    assert "SIDECAR_DATABASE_URL" in away["database"].fix
    for variable, value in UNUSABLE.items():
        wrong = await findings(database, tmp_path, **{variable: value})
        assert [one.name for one in wrong.values() if not one.is_well] == ["settings"]
        assert variable in wrong["settings"].detail
    silent = await findings(database, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert not silent["telemetry"].is_well
    live = await findings(database, tmp_path, SIDECAR_PRODUCTION="true")
    assert not live["identity"].is_well
    bad_keys = await findings(database, tmp_path, SIDECAR_TOKEN_KEYS="/nowhere", SIDECAR_TOKEN_ISSUERS="us")
    assert not bad_keys["identity"].is_well
    no_keys = {"SIDECAR_JWKS_URL": "https://127.0.0.1:1/jwks", "SIDECAR_TOKEN_ISSUERS": "us"}
    away = await findings(database, tmp_path, **no_keys, SIDECAR_WORKSPACE_ROOT=f"{tmp_path}/none")
    assert [one.name for one in away.values() if not one.is_well] == ["identity", "workspaces"]
    assert "SIDECAR_JWKS_URL" in away["identity"].fix
    assert "SIDECAR_WORKSPACE_ROOT" in away["workspaces"].fix


async def test_pools_larger_than_the_server_are_reported_unless_there_is_a_pooler(
    database: str, tmp_path: Path
) -> None:
    large = {"SIDECAR_TURN_POOL_SIZE": "900"}
    found = (await findings(database, tmp_path, **large))["connections"]
    assert not found.is_well
    assert "may open 9" in found.detail
    assert "max_connections" in found.fix
    assert "connections" not in await findings(database, tmp_path, **large, SIDECAR_DATABASE_DIRECT_URL=database)


@pytest.mark.parametrize(
    ("hours", "is_well", "needs_renewing"),
    [((-1, 24 * 90), True, False), ((-1, 24), True, True), ((-2, -1), False, True)],
)
async def test_certificate_is_reported_before_it_expires(
    database: str, tmp_path: Path, hours: tuple[int, int], *, is_well: bool, needs_renewing: bool
) -> None:
    key, certificate = Authority().issue(x509.DNSName("sidecar"), hours=hours)
    files = {"SIDECAR_TLS_CERT": certificate, "SIDECAR_TLS_KEY": key}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text)
    paths = {name: str(tmp_path / name) for name in files}
    found = (await findings(database, tmp_path, **paths))["certificate"]
    assert (found.is_well, "renewed" in found.fix) == (is_well, needs_renewing)


async def test_each_migration_problem_has_its_own_fix(database: str, tmp_path: Path) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE schema_migrations SET checksum = 'x' WHERE version = 3")
    edited = (await findings(database, tmp_path))["migrations"]
    assert "0003" in edited.detail
    assert "restore the released file" in edited.fix
    await connection.execute(
        "UPDATE schema_migrations SET version = 9000, name = '9000_later.sql' WHERE version = (SELECT max(version) FROM"
        " schema_migrations)"
    )
    await connection.execute("DELETE FROM schema_migrations WHERE version = 3")
    missing = (await findings(database, tmp_path))["migrations"]
    await connection.close()
    assert not missing.is_well
    assert "sidecar migrate" not in missing.fix
    assert "release" in missing.fix or "number" in missing.fix


async def test_unreachable_backends_and_models_are_named(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    file = tmp_path / "backends.toml"
    file.write_text(
        '[[hindsight]]\nname = "bank"\ntenant = "acme"\nurl = "http://127.0.0.1:1"\n'
        '[[tools]]\nname = "shell"\ntenant = "acme"\ncommand = ["sh"]\n'
        '[[tools]]\nname = "lost"\ntenant = "acme"\ncommand = ["no-such-program"]\n'
        '[[bedrock_knowledge]]\nname = "docs"\ntenant = "acme"\nknowledge_base_id = "ABCDEFGHIJ"\n'
    )
    found = await findings(
        database, tmp_path, SIDECAR_BACKENDS=str(file), SIDECAR_COMPILE_PLANNER="openai",
        SIDECAR_COMPILE_BASE_URL="http://127.0.0.1:1/v1",
    )  # fmt: skip
    wrong = {name: one for name, one in found.items() if not one.is_well}
    assert wrong.keys() == {"backend bank", "backend lost", "backend docs", "planner"}
    assert all(one.fix for one in wrong.values())
    assert "SIDECAR_COMPILE_BASE_URL" in wrong["planner"].fix
    assert "price" not in wrong["planner"].detail
    local = await findings(
        database, tmp_path, SIDECAR_COMPILE_PLANNER="openai", SIDECAR_COMPILE_BASE_URL="http://127.0.0.1:1/v1",
        SIDECAR_BEDROCK_MODEL_ID="qwen-of-ours",
    )  # fmt: skip
    assert "the price of qwen-of-ours is not known" in local["planner"].detail
    file.write_text("[[nonsense]]\n")
    broken = await findings(database, tmp_path, SIDECAR_BACKENDS=str(file))
    assert (broken["backends"].is_well, "SIDECAR_BACKENDS" in broken["backends"].fix) == (False, True)


@pytest.mark.parametrize(
    "url",
    ["http://u:hunter2@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=hunter2", "u:hunter2@127.0.0.1:9"],
)
def test_unreachable_address_is_shown_without_its_secrets(url: str) -> None:
    found = reach("telemetry", url, fix="start it")
    assert not found.is_well
    assert "hunter2" not in found.detail


def test_wrong_clock_is_reported() -> None:
    assert _clock(datetime.now(UTC)).is_well
    assert not _clock(datetime.now(UTC) - timedelta(minutes=1)).is_well


def test_disk_that_is_nearly_full_is_wrong(tmp_path: Path) -> None:
    assert _disk(2**30, tmp_path).is_well
    full = _disk(2**20, tmp_path)
    assert (full.is_well, full.detail) == (False, f"1 MB are free for {tmp_path}")
