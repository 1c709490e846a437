"""The cases that hold of any S3, and AgentCore events, against moto: `make test-moto` starts it and says where it is."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from sidecar.backends.agentcore import AgentCoreMemory, MemoryLocation
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import CallLimits
from tests.support.backends.aws_site import use_credentials
from tests.support.backends.s3_cases import *  # noqa: F403 - the cases are collected here

OWNER = UUID(int=7)


@pytest.fixture
def server_url() -> str:
    """Where the server listens."""
    return os.environ["MOTO_URL"]


async def test_a_sessions_events_come_in_the_order_in_which_they_were_made(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_credentials(monkeypatch)
    clients, where = Clients(), Where("us-east-1", server_url)
    control = clients.client("bedrock-agentcore-control", where, read_timeout_s=30.0, connections=1)
    memory_id = control.call("create_memory", name="acme_memory", eventExpiryDuration=30)["memory"]["id"]
    client = clients.client("bedrock-agentcore", where, read_timeout_s=30.0, connections=1)
    said = [f"turn {number}" for number in range(25)]
    for number, text in enumerate(said):
        client.call(
            "create_event",
            memoryId=memory_id,
            actorId=str(OWNER),
            sessionId="harbour",
            eventTimestamp=datetime.now(UTC) + timedelta(seconds=number),
            payload=[{"conversational": {"role": "USER", "content": {"text": text}}}],
        )
    memory = AgentCoreMemory("sessions", MemoryLocation(memory_id, "/actors/{owner}", where), clients, CallLimits(60.0))
    found = await memory.events(OWNER, "harbour", most=10)
    memory.close()
    clients.close()
    texts = [payload["conversational"]["content"]["text"] for event in found.events for payload in event.payloads]
    assert texts == said[-10:]
