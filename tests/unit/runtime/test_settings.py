"""What the settings make of odd values in the environment."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.runtime import language_models
from sidecar.runtime.embedders import choose
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import read
from store.errors import DataDirectoryUnusable


def test_user_without_a_home_needs_a_data_directory_only_if_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 3_999_999)
    monkeypatch.setattr("os.getuid", lambda: 3_999_999)
    monkeypatch.delenv("HOME")
    assert read({"SIDECAR_DATA_DIR": "/data"}).data_dir == Path("/data")
    with pytest.raises(DataDirectoryUnusable, match="SIDECAR_DATA_DIR"):
        read({})


@pytest.mark.parametrize("level", ["debug", "Info", "WARNING"])
def test_log_level_is_read_in_any_case(level: str) -> None:
    assert read({"SIDECAR_LOG_LEVEL": level}).log_level == level.upper()


@pytest.mark.parametrize("level", ["trace", "10", "INFO "])
def test_unknown_log_level_is_refused_by_name(level: str) -> None:
    with pytest.raises(SettingInvalid, match=r"SIDECAR_LOG_LEVEL.*DEBUG"):
        read({"SIDECAR_LOG_LEVEL": level})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TURN_POOL_SIZE", "0"),
        ("BACKGROUND_POOL_SIZE", "0"),
        ("MAX_IN_FLIGHT", "0"),
        ("MAX_IN_FLIGHT_PER_TENANT", "0"),
        ("MAX_MESSAGE_BYTES", "10"),
        ("DEADLINE_S", "0"),
        ("MAX_DEADLINE_S", "0"),
        ("WORKER_SCOPES", "0"),
        ("WORKER_POOL_SIZE", "0"),
        ("WORKER_LEASE_S", "0"),
        ("WORKER_POLL_S", "0"),
        ("GRAPH_HOPS", "4"),
        ("LISTEN", " , "),
    ],
)
def test_value_that_would_serve_no_call_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingInvalid, match=f"SIDECAR_{name}"):
        read({f"SIDECAR_{name}": value})


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://models/v1", "http://", "http://a:b@models/v1", "http://[::1/v1"]
)
def test_unusable_address_of_a_model_server_is_refused_by_name(url: str) -> None:
    no_pool: Any = None
    with pytest.raises(SettingInvalid, match="SIDECAR_COMPILE_BASE_URL"):
        language_models.made(replace(read({}), compile_base_url=url), "SIDECAR_COMPILE_PLANNER", "openai")
    with pytest.raises(SettingInvalid, match="SIDECAR_EMBEDDER_BASE_URL"):
        asyncio.run(choose(replace(read({}), embedder="openai:small:8", embedder_base_url=url), no_pool))


@pytest.mark.parametrize("name", ["openai::8", "openai:8", "openai"])
def test_embedder_without_a_model_is_refused(name: str) -> None:
    no_pool: Any = None
    with pytest.raises(SettingInvalid, match="SIDECAR_EMBEDDER"):
        asyncio.run(choose(replace(read({}), embedder=name), no_pool))
