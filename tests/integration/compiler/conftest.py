"""A language model at a scripted server, for compiles that plan with one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from models.language.openai_compatible import openai_model
from models.language.remote import RemoteModel
from models.transport.openai_client import OpenAIConfig
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.compiler.model_engines import HASTY, script


@pytest.fixture
def site() -> Iterator[ModelServer]:
    with model_server() as served:
        served.by_request = script()
        yield served


@pytest.fixture
async def model(site: ModelServer) -> AsyncIterator[RemoteModel]:
    made = openai_model(OpenAIConfig(f"{site.url}/v1"), patience=HASTY)
    yield made
    await made.close()
