"""The whole sidecar with an embedder behind a provider, named by a setting: vectors, turns by meaning, and its failures."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from tests.stand_ins.model_script import Ask, Behaviour, Gate, Late, Refuse, Throttle, Vectors
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.places import ROOT
from tests.support.served.site import Site, ready, served
from tests.support.served.turns import assembled, report
from tests.support.waiting import PATIENCE_S, until

KEY = "sk-of-a-test"
DIMENSIONS = 1024
TOPICS = (("tooth", "dentist"), ("sloop", "boat"), ("roses", "garden"))
TOLD = ("My tooth hurt until it was pulled.", "We sold the sloop in May.", "The roses want water.")


def by_topic(ask: Ask) -> Vectors:
    """Return a vector a text that points where its topics do, along a further axis for a text of none."""
    rows = []
    for text in ask.texts:
        known = [float(any(word in text.lower() for word in words)) for words in TOPICS]
        rows.append((*known, float(not any(known)), *(0.0,) * (DIMENSIONS - len(TOPICS) - 1)))
    return Vectors(tuple(rows))


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    """A server of vectors; its formats must have found nothing wrong with what was sent to it."""
    with model_server() as one:
        one.api_key = KEY
        one.by_request = by_topic
        yield one
        assert not one.faults


@pytest.fixture(params=["titan", "openai:bge-large:1024"])
async def settings(
    request: pytest.FixtureRequest,
    provider: ModelServer,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    """Settings that name the embedder, and where it is."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)
    return await ready(
        database,
        tmp_path,
        embedder=request.param,
        embed_deadline_s=20.0,
        embedder_base_url=f"{provider.url}/v1",
        embedder_api_key=KEY,
        bedrock_endpoint_url=provider.url,
        bedrock_region="eu-west-1",
    )


def question(message: str) -> pb.AssembleContextRequest:
    """Return a question to the memories alone, which may take their time."""
    knobs = [
        profile_pb2.SourceKnobs(
            source=items_pb2.Source.Value(f"SOURCE_{name}"), enabled=name == "MEMORY", deadline_ms=20_000
        )
        for name in ("THREAD", "MEMORY", "KNOWLEDGE", "WIKI")
    ]
    return pb.AssembleContextRequest(message=message, model_id="gpt-4o", overrides=profile_pb2.Profile(sources=knobs))


async def retain(site: Site, *texts: str) -> None:
    new = [memory_pb2.NewMemory(text=text, memory_id=text[:12]) for text in texts]
    await site.caller().Retain(memory_pb2.RetainRequest(memories=new))


async def dimensions(database: str) -> list[int]:
    """Return the lengths of the memories' vectors."""
    connection = await asyncpg.connect(database)
    rows = await connection.fetch("SELECT vector_dims(vector::vector) AS length FROM memory_vectors")
    await connection.close()
    return [row["length"] for row in rows]


async def until_embedded(database: str, count: int) -> None:
    async def are_embedded() -> bool:
        return len(await dimensions(database)) >= count

    await until(are_embedded)


async def test_memories_get_the_providers_vectors_and_a_turn_finds_them_by_meaning(
    settings: Settings, database: str
) -> None:
    async with served(settings) as site:
        await retain(site, *TOLD)
        await until_embedded(database, len(TOLD))
        assembly = await assembled(site.caller(), question("Did anyone see a dentist?"))
    assert await dimensions(database) == [DIMENSIONS] * len(TOLD)
    told = report(assembly, items_pb2.SOURCE_MEMORY)
    assert "by words alone" not in told.reason
    best = max(assembly.items, key=lambda item: item.score)
    assert best.text.endswith(TOLD[0])


@pytest.mark.parametrize(
    "failure",
    [Throttle(), Refuse(401, "ExpiredTokenException", "no"), Vectors(((1.0,) * 8,))],
    ids=["throttled", "refused", "of another length"],
)
async def test_any_provider_failure_makes_recall_go_by_words_and_is_reported(
    settings: Settings, database: str, provider: ModelServer, failure: Behaviour
) -> None:
    async with served(settings) as site:
        await retain(site, *TOLD)
        await until_embedded(database, len(TOLD))
        provider.by_request = lambda _: failure
        assembly = await assembled(site.caller(), question("Where are the roses of last year?"))
    told = report(assembly, items_pb2.SOURCE_MEMORY)
    assert told.reason.startswith("by words alone: the embedder")
    assert not assembly.degraded
    assert TOLD[2] in str(assembly)


@asynccontextmanager
async def working(database: str, home: Path, provider: ModelServer) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield `sidecar worker`, whose leases are short, and kill it at the end if it still runs."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    named = {
        "DATABASE_URL": database,
        "DATA_DIR": str(home),
        "EMBEDDER": "openai:bge-large:1024",
        "EMBEDDER_BASE_URL": f"{provider.url}/v1",
        "EMBEDDER_API_KEY": KEY,
        "WORKER_LEASE_S": "2",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sidecar", "worker"),
        cwd=ROOT,
        env={**own, **{f"SIDECAR_{name}": value for name, value in named.items()}},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_worker_killed_midway_is_continued_by_the_next(
    database: str, tmp_path: Path, provider: ModelServer
) -> None:
    texts = [f"Errand {number} is to water the roses." for number in range(100)]
    gate = Gate()
    async with served(await ready(database, tmp_path)) as site:
        for start in range(0, len(texts), 50):
            new = [memory_pb2.NewMemory(text=text) for text in texts[start : start + 50]]
            await site.caller().Retain(memory_pb2.RetainRequest(memories=new))
        provider.by_request = lambda ask: by_topic(ask) if len(provider.asks) == 1 else Late(gate, by_topic(ask))
        async with working(database, tmp_path, provider):
            await asyncio.to_thread(gate.arrived.wait, PATIENCE_S)
        done = len(await dimensions(database))
        assert 0 < done < len(texts)
        provider.by_request, before = by_topic, len(provider.asks)
        async with working(database, tmp_path, provider):
            await until_embedded(database, len(texts))
    again = [text for ask in provider.asks[before:] for text in ask.texts]
    assert len(again) == len(set(again)) == len(texts) - done, "what had its vector is not asked for again"
