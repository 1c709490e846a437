"""The command line keeps its manners: help with examples, exit codes, one line per error, work cut to size."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from sidecar.cli.content.profile import changed, newest_version
from sidecar.cli.root import inside, root, run
from sidecar.cli.shared import failures
from sidecar.client import CallRefused, CallUnavailable, RequestUnusable, SidecarCallError
from sidecar.runtime.errors import DevTokensOff, SettingInvalid


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in inside(group).items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECAR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SIDECAR_TOKEN", raising=False)
    monkeypatch.delenv("SIDECAR_ADDRESS", raising=False)


def test_every_command_is_registered() -> None:
    assert {" ".join(path) for path in commands(root)} == {
        "backends list", "backends off", "backends on", "backends webhook",
        "tools approve", "tools list", "tools revoke", "tools test",
        "assemble", "audit", "demo", "embed", "diff", "explain", "health", "ingest",
        "brain approve", "brain copies", "brain edge", "brain merge", "brain pages", "brain propose", "brain query",
        "brain release", "brain rename", "brain rules", "brain show", "brain withdraw", "brain wrong",
        "decay attest", "decay attestations", "decay cancel", "decay close", "decay episodes", "decay explain", "decay jobs",
        "decay revoke", "decay run", "decay schedule",
        "forget document", "forget memory", "forget owner", "forget range", "forget thread", "forget word",
        "graph as-of", "graph edges", "graph export", "graph import", "graph path", "graph query",
        "graph rollback", "graph set", "graph unset",
        "memory accept", "memory compress", "memory forget", "memory get", "memory history", "memory import",
        "memory list", "memory pin", "memory reject", "memory restore", "memory supersede", "memory unpin", "memory why",
        "migrate",
        "ontology approve", "ontology draft", "ontology export", "ontology import", "ontology jobs", "ontology review",
        "ontology rollback", "ontology scan", "ontology types", "ontology versions",
        "profile get", "profile history", "profile rollback", "profile set", "purge", "replay",
        "wiki alias", "wiki archive", "wiki backfill", "wiki cancel", "wiki cite", "wiki compile", "wiki delete",
        "wiki density", "wiki export", "wiki graph", "wiki ignore", "wiki import", "wiki jobs", "wiki lint",
        "wiki list", "wiki mentions", "wiki merge", "wiki quarantine", "wiki reads", "wiki rebuild", "wiki rename",
        "wiki reports", "wiki reset", "wiki restore", "wiki retry", "wiki unmerge", "wiki wrong",
        "wiki rollback", "wiki search",
        "wiki show", "wiki suppress", "wiki undo", "wiki verify", "wiki watch",
        "serve", "thread import", "thread list", "thread show", "token", "usage report", "worker", "owner export",
        "budget list", "budget remove", "budget set", "cost compiles", "cost show", "doctor", "owner forget", "owner show",
        "tenant delete", "tenant revoke", "tenant show", "top", "turns",
    }  # fmt: skip


@pytest.mark.parametrize("path", list(commands(root)), ids=" ".join)
def test_no_number_is_infinite_nan_or_a_time_before_the_calendar(path: tuple[str, ...]) -> None:
    for option in command_at(path).params:
        values = ["nan", "inf", "-inf", "1e400"] if isinstance(option.type, click.types.FloatParamType) else []
        values += ["999999"] if option.name == "days" else []
        for value in values:
            with pytest.raises(click.BadParameter):
                option.type.convert(value, option, None)


@pytest.mark.parametrize("path", list(commands(root)), ids=" ".join)
def test_every_command_has_help_with_an_example_and_json(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Example:\n    {'export ' if path == ('token',) else 'sidecar'}" in text
    assert "--json" in text


def command_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command = root
    for name in path:
        assert isinstance(command, click.Group)
        command = inside(command)[name]
    return command


TIMES = [
    (path, parameter)
    for path in commands(root)
    for parameter in command_at(path).params
    if isinstance(parameter.type, click.DateTime) or parameter.type.name == "time"
]


@pytest.mark.parametrize(
    ("path", "parameter"), TIMES, ids=[f"{' '.join(path)} {parameter.name}" for path, parameter in TIMES]
)
def test_every_time_may_be_a_year_a_month_a_day_or_an_instant_in_any_zone(
    path: tuple[str, ...], parameter: click.Parameter
) -> None:
    for text, instant in {
        "2026": datetime(2026, 1, 1, tzinfo=UTC),
        "2026-03": datetime(2026, 3, 1, tzinfo=UTC),
        "2026-03-02": datetime(2026, 3, 2, tzinfo=UTC),
        "2026-03-02T14:05:00": datetime(2026, 3, 2, 14, 5, tzinfo=UTC),
        "2026-03-02T14:05:00+02:00": datetime(2026, 3, 2, 12, 5, tzinfo=UTC),
    }.items():
        read = parameter.type.convert(text, parameter, None)
        assert getattr(read, "moment", read) == instant, path
    assert ["forget", "range"] in [list(path) for path, _ in TIMES]


@pytest.mark.parametrize(
    "arguments",
    [
        ["assemble"],
        ["assemble", "hi"],
        ["nonsense"],
        ["assemble", "hi", "--model", "m", "--budget", "-1"],
        ["assemble", "hi", "--model", "m", "--set", "knowledge.topk=1", "--token", "t"],
        ["replay", "r", "--top-k", "knowledge", "--token", "t"],
        ["ingest", "/nowhere/at/all", "--kb", "x"],
        ["thread", "import", "/nowhere/at/all"],
        ["profile", "set", "--level", "tenant", "--token", "t"],
        ["profile", "set", "--level", "moon", "x=1"],
        ["token", "--lifetime", "7200"],
        ["health", "--address", "10.1.2.3:7433"],
        ["health", "--address", "nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_and_names_the_problem(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    assert heard.err.strip()
    assert "Traceback" not in heard.err


@pytest.mark.parametrize("option", ["--owner", "--space"])
def test_an_option_that_an_admins_token_does_not_take_is_named(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "--role", "admin", option, "ada"]) == 2
    assert f"leave out {option}" in capsys.readouterr().err


def test_an_unknown_knob_is_named_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    run(["profile", "set", "--level", "tenant", "knowledge.topk=1", "--token", "t"])
    line = capsys.readouterr().err
    assert "'knowledge.topk' is not a knob; known are spend" in line
    assert "did you mean knowledge.top_k?" in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CallRefused("no", code="UNAUTHENTICATED"), failures.REFUSED),
        (CallUnavailable("no", code="UNAVAILABLE"), failures.UNAVAILABLE),
        (RequestUnusable("no", code="INVALID_ARGUMENT", field="x"), failures.USAGE),
        (SidecarCallError("no", code="NOT_FOUND"), failures.FAILED),
        (DevTokensOff(), failures.REFUSED),
        (SettingInvalid("X", "is odd", "fix it"), failures.USAGE),
        (failures.TokenMissing(), failures.REFUSED),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert isinstance(error, failures.user_errors())
    assert failures.exit_code(error) == code


def test_an_error_is_one_line_with_its_field_and_wait() -> None:
    error = CallUnavailable("Too\nmuch.", code="RESOURCE_EXHAUSTED", field="message", retry_after_s=0.25)
    assert failures.line_of(error) == "message: Too much. Try again in 0.25 s."


def test_knobs_change_one_by_one_and_null_removes_one() -> None:
    assert changed({"a": 1, "b": 2}, {"b": None, "c": 3}) == {"a": 1, "c": 3}


@pytest.mark.parametrize(("version", "number"), [("template:default@3", 3), ("", 0), ("template:odd@name", 0)])
def test_newest_version_is_read_from_its_name(version: str, number: int) -> None:
    assert newest_version(version) == number
