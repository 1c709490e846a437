"""The doctor finds what is in the way of serving, and says how to mend it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sidecar.cli.doctor import Finding
from sidecar.cli.examining import _clock, examine


async def findings(dsn: str, home: Path, **variables: str) -> dict[str, Finding]:
    environ = {"SIDECAR_DATABASE_URL": dsn, "SIDECAR_DATA_DIR": str(home)} | variables
    return {one.name: one for one in await examine(environ)}


async def test_a_machine_in_order_is_well(database: str, tmp_path: Path) -> None:
    found = await findings(database, tmp_path)
    assert list(found) == [
        "settings", "tokenizer", "identity", "database", "extensions", "clock", "migrations", "telemetry",
    ]  # fmt: skip
    assert [one for one in found.values() if not one.is_well or one.mend] == []


async def test_an_empty_schema_is_to_be_migrated(empty_database: str, tmp_path: Path) -> None:
    found = await findings(empty_database, tmp_path)
    assert (found["migrations"].is_well, found["migrations"].mend) == (False, "run `sidecar migrate`")


async def test_each_trouble_is_named_with_its_mend(tmp_path: Path, database: str) -> None:
    away = await findings("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    assert not away["database"].is_well
    assert "SIDECAR_DATABASE_URL" in away["database"].mend
    wrong = await findings(database, tmp_path, SIDECAR_DEADLINE_S="soon")
    assert [one.name for one in wrong.values() if not one.is_well] == ["settings"]
    silent = await findings(database, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert not silent["telemetry"].is_well
    live = await findings(database, tmp_path, SIDECAR_PRODUCTION="true")
    assert not live["identity"].is_well
    bad_keys = await findings(database, tmp_path, SIDECAR_TOKEN_KEYS="/nowhere", SIDECAR_TOKEN_ISSUERS="us")
    assert not bad_keys["identity"].is_well


def test_a_clock_that_is_off_is_told() -> None:
    assert _clock(datetime.now(UTC)).is_well
    assert not _clock(datetime.now(UTC) - timedelta(minutes=1)).is_well
