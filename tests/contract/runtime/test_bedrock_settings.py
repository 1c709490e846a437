"""Where Bedrock is: what an operator is told who has not said it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from models.language.bedrock import bedrock_model
from sidecar.runtime import bedrock
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings, read


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


def settings(**given: str) -> Settings:
    return replace(read({}), **given)  # type: ignore[arg-type]  # the fields given are strings


def test_missing_region_is_a_missing_setting() -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_BEDROCK_REGION"):
        bedrock.at(settings(), bedrock_model)


def test_invalid_address_is_named() -> None:
    given = settings(bedrock_region="us-east-1", bedrock_endpoint_url="not a url")
    with pytest.raises(SettingInvalid, match="SIDECAR_BEDROCK_ENDPOINT_URL"):
        bedrock.at(given, bedrock_model)


def test_region_and_endpoint_come_from_the_settings() -> None:
    given = settings(bedrock_region="eu-west-1", bedrock_endpoint_url="http://127.0.0.1:9")
    found = bedrock.at(given, lambda config: (config.region, config.endpoint_url))
    assert found == ("eu-west-1", "http://127.0.0.1:9")


def test_worker_without_bedrock_never_loads_its_sdk() -> None:
    code = "import sys, sidecar.worker.worker_process; sys.exit('boto3' in sys.modules or 'botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
