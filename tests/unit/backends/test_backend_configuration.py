"""The file of backends: what it may say, what it must not, and that no secret is written where a reference belongs."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from sidecar.backends import configuration
from sidecar.backends.errors import BackendDenied
from sidecar.backends.secrets import Secret
from sidecar.runtime.errors import SettingInvalid
from tests.support.places import ROOT

EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "backends.md").read_text(), re.DOTALL)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[bedrock]]\nname='a'", "bedrock is not a kind"),
        ("[bedrock_knowledge]\nname='a'", "is a single table"),
        ("[[bedrock_knowledge]]\nname='a'\ntenant='t'", "knowledge_base_id is missing"),
        ("[[tools]]\nname='a'\ntenant='t'\ncommand=['x']\nenv={K='s3cr3t'}", "never as its value"),
        ("[[tools]]\nname='a'\ntenant='t'", "exactly one of command and url"),
        ("[[workspace_s3]]\nname='a'\ntenant='t'\nbucket='b'\nprefix='/'", "whole bucket"),
        ("[[hindsight]]\nname='A'\ntenant='t'\nurl='u'", "small letters"),
        ("[[hindsight]]\nname='a'\ntenant=''\nurl='u'", "tenant is missing"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='u'\nbudget='max'", "low, mid, high"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='u'\ndeadline_s=nan", "not a number"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='u'\ntypo=1", "typo is not a known key"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='u'", "url is not a valid URL"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='http://u:s3cr3t@host'", "url is not a valid URL"),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='http://[::1'", "url is not a valid URL"),
        ("[[workspace_s3]]\nname='a'\ntenant='t'\nbucket='b'\nprefix='p'\nendpoint_url='x'", "endpoint_url is not"),
        ("[[rerank]]\nname='a'\ntenant='t'", "model_arn is missing"),
        (
            "[[rerank]]\nname='a'\ntenant='t'\nmodel_arn='m'\n[[rerank]]\nname='b'\ntenant='t'\nmodel_arn='m'",
            "twice for one",
        ),
        (
            """[[hindsight]]\nname='a'\ntenant='t'\nurl='http://h'\ncompile=true
               [[agentcore]]\nname='b'\ntenant='t'\nmemory_id='m'\ncompile=true""",
            "compile is set twice for one tenant",
        ),
        ("[[hindsight]]\nname='a'\ntenant='t'\nurl='http://h'\ncompile_lag_s=-1", "compile_lag_s is out of bounds"),
        ("name = ", "is not valid TOML"),
    ],
)
def test_unusable_backend_setting_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "backends.toml"
    file.write_text(text)
    with pytest.raises(SettingInvalid, match=named) as caught:
        configuration.read(file, {})
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x00"])
def test_configuration_file_that_is_not_text_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "backends.toml"
    file.write_bytes(data)
    with pytest.raises(SettingInvalid, match="is not valid TOML"):
        configuration.read(file, {})


def test_missing_configuration_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="No such file"):
        configuration.read(tmp_path / "nothing", {})


def test_backend_name_may_be_used_once() -> None:
    entry = {"name": "a", "tenant": "t", "url": "http://u"}
    with pytest.raises(SettingInvalid, match="is the name of two backends"):
        configuration.parse({"hindsight": [entry], "tools": [entry]}, {})


@pytest.mark.parametrize("actor", ["a/b", "*", "a b", "", "-a", "x" * 256])
def test_an_actor_that_would_widen_a_namespace_is_refused(actor: str) -> None:
    entry = {"name": "a", "tenant": "t", "memory_id": "m", "actors": {"ada": actor}}
    with pytest.raises(SettingInvalid, match="actors"):
        configuration.parse({"agentcore": [entry]}, {})


def test_a_namespace_that_is_not_an_owners_is_refused() -> None:
    entry = {"name": "a", "tenant": "t", "memory_id": "m", "namespace": "/everybody"}
    with pytest.raises(SettingInvalid, match="owner"):
        configuration.parse({"agentcore": [entry]}, {})
    bank = {"name": "a", "tenant": "t", "url": "u", "bank": "everybody"}
    with pytest.raises(SettingInvalid, match="owner"):
        configuration.parse({"hindsight": [bank]}, {})


def test_every_key_of_the_examples_is_read() -> None:
    tables = tomllib.loads("\n".join(EXAMPLES))
    found = configuration.parse(tables, {})
    for kind, entries in tables.items():
        for table, entry in zip(entries, getattr(found, kind), strict=True):
            for key, value in table.items():
                read = getattr(entry, key)
                assert (list(read) if isinstance(read, tuple) else read) == value or isinstance(read, dict | Secret)


class TestSecrets:
    def test_secret_is_read_again_from_its_place_each_time(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        file.write_text("first\n")
        secret = Secret(f"file:{file}", {})
        assert secret.reveal("b") == "first"
        file.write_text("second")
        assert secret.reveal("b") == "second"
        assert Secret("env:KEY", {"KEY": "third"}).reveal("b") == "third"

    @pytest.mark.parametrize("content", ["\ufeffhush-hush", "hush-hush\r\n", "\n hush-hush"])
    def test_mark_of_an_editor_and_white_space_are_no_part_of_a_secret(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "key").write_text(content, encoding="utf-8", newline="")
        assert Secret(f"file:{tmp_path / 'key'}", {}).reveal("b") == "hush-hush"
        assert Secret("env:KEY", {"KEY": content.removeprefix("\ufeff")}).reveal("b") == "hush-hush"

    def test_file_that_is_no_secret_is_refused_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "large").write_bytes(b"x" * (10 << 20))
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "empty").touch()
        for place in (tmp_path / "large", tmp_path / "pipe", tmp_path / "empty", tmp_path, "/dev/zero", "nul\0"):
            with pytest.raises(BackendDenied, match="no usable secret at file:"):
                Secret(f"file:{place}", {}).reveal("b")

    def test_secret_that_is_not_ascii_is_for_the_environment_only(self) -> None:
        secret = Secret("env:KEY", {"KEY": "schlüssel"})
        assert secret.reveal("b") == "schlüssel"
        with pytest.raises(BackendDenied, match="a header cannot hold"):
            secret.header("b")

    @pytest.mark.parametrize("reference", ["env:NOTHING", "file:/nonexistent", "file:/"])
    def test_missing_secret_is_named_by_its_reference(self, reference: str) -> None:
        with pytest.raises(BackendDenied, match=re.escape(reference)):
            Secret(reference, {}).reveal("b")

    @pytest.mark.parametrize("value", ["two\nlines", "nul\0", ""])
    def test_secret_that_no_header_can_hold_is_refused_and_not_quoted(self, value: str) -> None:
        with pytest.raises(BackendDenied) as caught:
            Secret("env:KEY", {"KEY": value}).reveal("b")
        assert not value or value not in str(caught.value)

    def test_secret_is_never_printed(self) -> None:
        assert "hush" not in repr(Secret("env:KEY", {"KEY": "hush"}))
