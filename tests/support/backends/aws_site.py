"""Shared parts of the AWS clients' tests: fake credentials, and the services' error codes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stand_ins import aws

CANARY = "canary-9f8e7d6c5b4a"


def use_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the default chain find keys, one of them the canary, and nothing else."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[aws.Aws]:
    """Yield an AWS that answers here."""
    use_credentials(monkeypatch)
    with aws.serving() as one:
        yield one
