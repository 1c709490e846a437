"""How many processes a service has, and what each of them does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.process import parts
from sidecar.process.parts import HTTP, Part, count_of, own_address
from sidecar.runtime.errors import ProcessNotStarted, SettingInvalid
from sidecar.runtime.settings import Settings

SETTINGS = Settings(
    data_dir=Path("/nowhere"),
    listen=("127.0.0.1:7433", "unix:/run/s.sock"),
    http_listen="127.0.0.1:7434",
    console_listen="127.0.0.1:7435",
)


@pytest.mark.parametrize(
    ("asked", "cores", "count"),
    [("1", 8, 1), ("2", 1, 2), ("64", 2, 64), ("auto", 1, 1), ("auto", 2, 2), ("auto", 32, 4)],
)
def test_number_of_processes_is_as_asked_or_one_a_core_up_to_four(asked: str, cores: int, count: int) -> None:
    assert count_of(asked, cores=cores, is_linux=True) == count


@pytest.mark.parametrize("asked", ["0", "-1", "many", "", "1.5", "65", "9" * 40, "²", " 2"])
def test_number_that_cannot_be_is_refused_with_the_fix(asked: str) -> None:
    with pytest.raises(SettingInvalid, match=r"SIDECAR_PROCESSES: .*set a whole number from 1 to 64, or auto"):
        count_of(asked, cores=2, is_linux=True)


def test_several_processes_need_linux_and_auto_means_one_elsewhere() -> None:
    with pytest.raises(SettingInvalid, match="only on Linux; set 1"):
        count_of("2", cores=8, is_linux=False)
    assert count_of("1", cores=8, is_linux=False) == count_of("auto", cores=8, is_linux=False) == 1


@pytest.mark.parametrize(
    ("quota", "most"), [("100000 100000", 1), ("250000 100000", 2), ("50000 100000", 1), ("max 100000", 999), ("", 999)]
)
def test_quota_of_the_control_group_bounds_the_cores(tmp_path: Path, quota: str, most: int) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    assert parts.cores(file) == min(most, len(os.sched_getaffinity(0)))


def test_whole_service_keeps_its_settings() -> None:
    assert Part().settings(SETTINGS) is SETTINGS
    assert Part().has_upkeep
    assert not Part().answers_calls


def test_part_that_answers_calls_shares_ports_and_has_own_sockets_and_nothing_else() -> None:
    second = Part("2").settings(SETTINGS)
    assert second.listen == ("127.0.0.1:7433", "unix:/run/s.sock.2")
    assert (second.http_listen, second.console_listen, second.worker) == ("off", "off", False)
    assert not Part("2").has_upkeep
    assert own_address("unix:/run/s.sock", 1) == "unix:/run/s.sock"


def test_part_with_the_http_servers_answers_no_calls() -> None:
    http = Part(HTTP).settings(SETTINGS)
    assert http.listen == ()
    assert (http.http_listen, http.console_listen, http.worker) == ("127.0.0.1:7434", "127.0.0.1:7435", True)
    assert Part(HTTP).has_upkeep
    assert not Part(HTTP).answers_calls


def test_killed_process_is_distinguished_from_one_that_names_its_fix() -> None:
    assert "signal 9" in str(ProcessNotStarted("2", -9))
    assert "message above" not in str(ProcessNotStarted("2", -9))
    assert "message above" in str(ProcessNotStarted("2", 1))
