"""How commands end where there is no sidecar, no token or no reader: one line, one JSON document, an exit code."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from sidecar.cli.root import run
from sidecar.cli.shared.output import Voice
from sidecar.client.shapes import Message

NOBODY = "127.0.0.1:1"
AGAIN = "Run the same command again to store the rest; nothing is stored twice."
HEAVY = ("grpc", "google.protobuf", "asyncpg", "boto3", "rich", "orjson", "uvloop", "jwt", "tiktoken", "bs4")


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECAR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SIDECAR_TOKEN", raising=False)
    monkeypatch.delenv("SIDECAR_ADDRESS", raising=False)


def test_help_imports_nothing_heavy() -> None:
    code = f"import sys; from sidecar.cli.root import run; run(['--help']); print({set(HEAVY)} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    "arguments",
    [
        ["health"],
        ["assemble", "hi", "--model", "m", "--token", "t"],
        ["explain", "r", "--token", "t"],
        ["memory", "get", "m", "--token", "t"],
        ["profile", "get", "--token", "t"],
        ["usage", "report", "r", "--input", "5", "--token", "t"],
    ],
    ids=" ".join,
)
def test_without_a_sidecar_commands_exit_4_with_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--address", NOBODY]) == 4
    heard = capsys.readouterr()
    assert heard.out == ""
    assert (
        heard.err == f"sidecar: No sidecar answers at {NOBODY}; start one with `sidecar serve`, or name its address.\n"
    )


def test_with_json_an_error_is_the_only_document(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["health", "--address", NOBODY, "--json"]) == 4
    error = json.loads(capsysbinary.readouterr().out)["error"]
    assert error["code"] == "UNAVAILABLE"
    assert error["kind"] == "CallUnavailable"


def test_argument_that_is_no_text_is_refused_in_json_too(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["replay", "r", "--set", os.fsdecode(b"\xff"), "--token", "t", "--json"]) == 2
    assert json.loads(capsysbinary.readouterr().out)["error"]["kind"] == "UnusableKnob"


@pytest.mark.parametrize("option", ["--window", "--set"])
def test_error_does_not_repeat_a_huge_argument_whole(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assemble", "hi", "--model", "m", "--token", "t", option, "x" * 100_000]) == 2
    assert len(capsys.readouterr().err) < 2_500


def test_file_name_that_is_no_text_is_printable_in_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told = {"turn": Message("user", "hi"), "at": datetime(2026, 3, 1, tzinfo=UTC), "file": os.fsdecode(b"\xff.md")}
    Voice(is_json=True).document(told)
    read = json.loads(capsysbinary.readouterr().out)
    assert read["turn"]["text"] == "hi"
    assert (read["at"], os.fsencode(read["file"])) == ("2026-03-01T00:00:00Z", b"\xff.md")


def test_characters_unknown_to_the_terminal_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert run(["--version"]) == 0
    Voice(is_json=False).show("café", lambda text: [text])
    assert b"caf\\xe9\n" in out.buffer.getvalue()


def test_without_a_token_or_a_dev_key_commands_exit_3(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["memory", "list", "--address", NOBODY]) == 3
    assert "pass --token, set SIDECAR_TOKEN, or start `sidecar serve`" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_irreversible_command_without_a_terminal_asks_for_yes_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    to_nobody = ("--token", "t", "--address", NOBODY)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        for command in ("owner forget", "wiki delete austin", "wiki reset", "wiki rebuild", "wiki rollback co_mention"):
            assert run([*command.split(), *to_nobody]) == 2, command
            assert "add --yes to agree" in capsys.readouterr().err, command


def test_dev_key_replaces_a_missing_token_and_is_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token"]) == 0
    capsys.readouterr()
    assert run(["memory", "list", "--address", NOBODY, "--owner", "ada"]) == 4
    assert "using this machine's dev key, as tenant 'default' and owner 'ada'" in capsys.readouterr().err


def test_minted_token_names_its_caller(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    import jwt

    for_whom = ["--tenant", "acme", "--owner", "ada", "--owner", "bob", "--agent", "helper", "--space", "hr"]
    assert run(["token", *for_whom, "--space", "ops", "--json"]) == 0
    token = json.loads(capsysbinary.readouterr().out)["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["spaces"] == ["hr", "ops"]
    assert (claims["tenant"], claims["owners"], claims["agent"], claims["role"]) == (
        "acme",
        ["ada", "bob"],
        "helper",
        "agent",
    )


@pytest.mark.parametrize("arguments", [["token"], ["memory", "list", "--address", NOBODY]], ids=" ".join)
def test_dev_tokens_are_refused_if_real_keys_are_configured_on_the_command_line(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDECAR_JWKS_URL", "https://issuer.example/keys")
    monkeypatch.setenv("SIDECAR_TOKEN_ISSUERS", "https://issuer.example")
    assert run(arguments) == 3
    assert "get a token from the issuer" in capsys.readouterr().err


def test_unusable_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SIDECAR_MAX_WAITING", "many")
    assert run(["token"]) == 2
    assert "SIDECAR_MAX_WAITING" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["assemble", "--help"], ["health", "--address", NOBODY, "--json"]], ids=" ".join)
def test_closed_output_ends_the_command_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["token"], ["assemble", "--json"], ["health", "--address", NOBODY, "--json"]],
    ids=" ".join,
)
def test_output_that_cannot_be_written_is_an_error_on_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sidecar", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sidecar: the output cannot be written: No space left on device")
    assert done.returncode == 1


@pytest.mark.parametrize(
    "arguments", [["health", "--address", NOBODY], ["health", "--json", "--address", NOBODY]], ids=" ".join
)
def test_command_with_closed_streams_ends_as_with_open_ones(arguments: list[str], tmp_path: Path) -> None:
    crashed = tmp_path / "crashed"
    code = (
        "import pathlib, sys\nfrom sidecar.cli.root import run\n"
        f"try:\n    sys.exit(run({arguments}))\n"
        f"except Exception as error:\n    pathlib.Path({str(crashed)!r}).write_text(repr(error))"
    )
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    done = subprocess.run(shell, check=False)
    assert not crashed.exists(), crashed.read_text()
    assert done.returncode == 4


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("arguments", [["graph", "as-of"], ["memory", "list", "--as-of"]], ids=" ".join)
def test_time_outside_of_the_calendar_in_utc_is_wrong_usage(
    arguments: list[str], time: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, time]) == 2
    assert f"'{time}' is not a time" in capsys.readouterr().err


def test_watching_without_end_between_looks_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", "--every", "inf"]) == 2
    assert "--every" in capsys.readouterr().err


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Let started commands hear the signal where whoever started the tests does not: a shell's background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_ends_the_command_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    os.mkfifo(file)
    command = [sys.executable, "-m", "sidecar", "memory", "import", str(file), "--token", "t", "--address", NOBODY]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with file.open("wb"):  # it opens when the command has begun to read it
            process.send_signal(signal.SIGINT)
        # The end of the file comes after the signal: Python would sleep through one that comes right before it reads.
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == f"sidecar: interrupted; stored so far: nothing. {AGAIN}\n"


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        (["assmble", "--json"], "NoSuchCommand", "Did you mean 'assemble'?"),
        (["memory", "lst", "--json"], "NoSuchCommand", "Did you mean 'list'?"),
        (["memory", "list", "--lmit", "3", "--json"], "NoSuchOption", "Did you mean '--limit'?"),
        (["memory", "show", "m", "--json"], "NoSuchCommand", "Did you mean 'get'?"),
        (["wiki", "get", "p", "--json"], "NoSuchCommand", "Did you mean 'show'?"),
        (["receipt", "r", "--json"], "NoSuchCommand", "Did you mean 'explain'?"),
        (["assemble", " ", "--model", "m", "--token", "t", "--json"], "BadParameter", "MESSAGE: it is empty"),
        (["memory", "import", "/nowhere/at/all", "--json"], "BadParameter", "does not exist"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)
def test_wrong_usage_suggests_the_command_in_json_too(
    arguments: list[str], kind: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    heard = capsys.readouterr()
    error = json.loads(heard.out)["error"]
    assert (error["kind"], said in error["message"]) == (kind, True), error
    assert said in heard.err


def test_tls_file_that_is_no_pem_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("not a certificate")
    assert run(["health", "--address", NOBODY, "--tls-ca", str(file)]) == 2
    assert f"--tls-ca: {file} contains no certificate" in capsys.readouterr().err
    assert run(["health", "--address", NOBODY, "--tls-cert", str(file), "--tls-key", str(file)]) == 2
    assert "--tls-cert" in capsys.readouterr().err


def test_unknown_command_unlike_any_is_refused_without_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zzz"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["memory"]])
def test_help_without_a_command_is_whole(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*arguments, "--help"])
    whole = capsys.readouterr().out
    assert run(arguments) == 2
    assert capsys.readouterr().err == whole


def test_misspelt_setting_names_the_one_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDECAR_EMBEDER", "none")
    assert run(["token"]) == 2
    assert "SIDECAR_EMBEDER: is not a setting; perhaps SIDECAR_EMBEDDER" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff", b'{"text": "a"}\n{"text": "b"}\n', b'"text"', b"<a/>"])
def test_file_that_is_no_graph_is_a_one_line_error(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "graph"
    file.write_bytes(content)
    assert run(["graph", "import", str(file), "--token", "t", "--address", NOBODY]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "send GraphML or JSON-LD as `sidecar graph export` writes it" in line


def test_graph_without_edges_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "graph.json"
    file.write_text('[1, 2, {"text": "x"}]')
    assert run(["graph", "import", str(file), "--token", "t", "--address", NOBODY]) == 1
    assert "no typed edges found" in capsys.readouterr().err


def test_declined_question_says_that_nothing_was_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(["wiki", "delete", "austin", "--token", "t", "--address", NOBODY, "--json"]) == 130
    heard = capsys.readouterr()
    assert "Nothing was changed." in heard.err
    assert json.loads(heard.out)["error"]["kind"] == "Interrupted"
