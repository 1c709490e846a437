"""The language models under test, each at the scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from models.language.bedrock import bedrock_model
from models.language.openai_compatible import openai_model
from models.language.remote import RemoteModel
from models.transport.bedrock_runtime import BedrockConfig
from models.transport.openai_client import OpenAIConfig
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.models.questions import HASTY, KEY


@pytest.fixture
def aws_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials for the default chain, which looks nowhere else."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site() -> Iterator[ModelServer]:
    """A server whose formats must have found nothing wrong with what was sent to it."""
    with model_server() as served:
        served.api_key = KEY
        yield served
        assert not served.faults


@pytest.fixture
async def bedrock(site: ModelServer, aws_keys: None) -> AsyncIterator[RemoteModel]:
    """The Bedrock adapter."""
    made = bedrock_model(BedrockConfig("eu-west-1", site.url), patience=HASTY)
    yield made
    await made.close()


@pytest.fixture
async def compatible(site: ModelServer) -> AsyncIterator[RemoteModel]:
    """The OpenAI-compatible adapter."""
    made = openai_model(OpenAIConfig(f"{site.url}/v1", lambda: KEY), patience=HASTY)
    yield made
    await made.close()


@pytest.fixture(params=["bedrock", "compatible"])
def model(request: pytest.FixtureRequest) -> RemoteModel:
    """Each adapter in turn."""
    chosen: RemoteModel = request.getfixturevalue(request.param)
    return chosen
