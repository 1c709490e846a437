"""A summary writer or an embedder that fails may quote a text: once the text is forgotten, no row and no log holds the quote."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from models.embedding.embedder import Vectors
from models.embedding.openai_embedding import EmbeddingModel, openai_embedder
from models.errors import EmbedderFailed
from models.transport.openai_client import OpenAIConfig
from models.transport.provider import RetryPolicy
from sidecar.runtime.embedders import Numbered
from sidecar.runtime.settings import Settings
from sidecar.services.aging.episodes import Episodes
from sidecar.services.forgetting.targets import Target
from sidecar.services.memories import Memories
from sidecar.services.threads import KEEP_TURNS
from sidecar.services.threads import KIND as SUMMARY_KIND
from sidecar.worker import summary_model
from sidecar.worker.embedding_jobs import KIND as EMBEDDING_KIND
from sidecar.worker.embedding_jobs import Embedding
from sidecar.worker.summary_model import ModelWriter
from sidecar.worker.thread_summaries import Summarizer
from store.compile import background
from store.content import embedders, embeddings, memories, threads
from store.content.memories import NewMemory
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped
from store.tenancy import tenants
from tests.integration.compiler.planners.test_words_of_bad_answers import BAD
from tests.integration.rpc import test_decay_kinds as decaying
from tests.integration.rpc.test_decay_kinds import Operator
from tests.integration.services import test_episodes as sessions
from tests.stand_ins.model_script import Refuse
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.backends.aws_site import CANARY, use_credentials
from tests.support.compiler.compiling import NOW, SCOPE, Clock, engine_on, fetch, worker_on
from tests.support.store.held_words import holders

SETTINGS = Settings(Path("/nonexistent"), bedrock_region="eu-central-1", compile_api_key=CANARY)
HASTY = RetryPolicy(backoff_s=0.001, longest_backoff_s=0.002)


@pytest.fixture
def word() -> str:
    """A word that stands nowhere else."""
    return "".join(random.SystemRandom().choices("bdghjkpqvwxz", k=14))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    use_credentials(monkeypatch)
    with model_server() as one:
        yield one


@pytest.mark.parametrize("kind", ["openai", "bedrock"])
@pytest.mark.parametrize("how", BAD)
async def test_failing_summary_writer_leaves_no_word_of_a_forgotten_turn(
    how: str,
    kind: str,
    pools: Pools,
    server: ModelServer,
    database: str,
    word: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    server.by_request, clock = lambda _: BAD[how](word), Clock()
    said = [f"The boat number {at} is called {word if at == 0 else 'Rope'}." for at in range(KEEP_TURNS + 3)]
    turns = [NewTurn(f"c{at}", "user", text, NOW, o200k_tokens=9, cl100k_tokens=9) for at, text in enumerate(said)]
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await threads.append(connection, SCOPE, ThreadToOpen("t", "", "fence"), turns, now=NOW)
        await background.enqueue(connection, SCOPE, SUMMARY_KIND, "t", now=NOW)
    settings = replace(
        SETTINGS, thread_summaries=kind, bedrock_endpoint_url=server.url, compile_base_url=f"{server.url}/v1"
    )
    async with summary_model.writer(settings, pools.background, now=clock) as writer:
        assert isinstance(writer, ModelWriter)
        worker = worker_on(pools, engine_on(pools, clock=clock))
        worker.handlers = {SUMMARY_KIND: Summarizer(pools.background, now=clock, writer=writer).summarize}
        await worker.drain_scope(SCOPE)
        assert server.asks
        assert await fetch(database, "SELECT count(*) FROM thread_summaries WHERE text <> ''") == [(1,)]
        forgetting = Memories(pools, now=clock).forgetting
        hits = (await forgetting.forget(SCOPE, Target(word=word))).hits
        server.by_request = lambda _: Refuse(400)
        await forgetting.forget(SCOPE, Target(word=word, confirmed=tuple(one.name for one in hits)))
        clock.move(hours=1)
        await worker.drain_scope(SCOPE)
    assert await holders(database, {"word": word}) == {}
    assert word not in (caplog.text + "".join(capfd.readouterr())).lower()


@pytest.mark.parametrize("kind", ["candidate_compression", "episode_compression"])
@pytest.mark.parametrize("how", BAD)
async def test_failing_decay_summary_leaves_no_forgotten_word(
    how: str,
    kind: str,
    pools: Pools,
    server: ModelServer,
    database: str,
    word: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    server.by_request = lambda _: BAD[how](word)
    operator, clock = Operator(tmp_path), Clock(decaying.LATER)
    settings = Settings(
        Path("/nonexistent"),
        decay_summaries="openai",
        decay_attestation_keys=operator.files,
        compile_base_url=f"{server.url}/v1",
        compile_api_key=CANARY,
    )
    service = decaying.service_of(pools, clock, settings)
    if kind == "candidate_compression":
        await decaying.remember(pools, word, "b")
        sources = [word, "b"]
    else:
        episodes = Episodes(pools.background, now=clock, pause=sessions.PAUSE)
        said = [f"{name} moved to Lisbon with 3 cats." for name in (word.title(), "Cleo")]
        turns = [
            NewTurn(f"c{at}", "user", text, NOW + at * sessions.DAY, o200k_tokens=9, cl100k_tokens=9)
            for at, text in enumerate(said)
        ]
        async with scoped(pools.background, decaying.SCOPE) as connection:
            await tenants.ensure_tenant(connection, decaying.SCOPE.tenant_id, now=NOW)
            await threads.append(connection, decaying.SCOPE, ThreadToOpen("t", "", "fence"), turns, now=NOW)
        await episodes.remake(decaying.SCOPE, "t")
        sources = [one.episode_id for one in await sessions.listed(episodes)]
    await decaying.attested(service, operator)
    await decaying.schedule(service, kind=kind, summary_method="llm_summary", source_ids=sources)
    await decaying.ran(pools, clock, settings)
    [job] = await decaying.listed(service)
    assert job.state == "failed"
    assert server.asks
    forgetting = Memories(pools, now=clock).forgetting
    hits = (await forgetting.forget(decaying.SCOPE, Target(word=word))).hits
    target = Target(word=word, confirmed=tuple(one.name for one in hits))
    await forgetting.forget(decaying.SCOPE, target)
    assert await holders(database, {"word": word}) == {}
    assert word not in (caplog.text + "".join(capfd.readouterr())).lower()


class Quoting:
    """An embedder here whose error quotes what it was given."""

    name = "quoting"
    dimensions = 5
    question_prefix = ""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Raise EmbedderFailed."""
        raise EmbedderFailed(f"could not read {' '.join(texts)}")

    async def close(self) -> None:
        """Do nothing."""


@asynccontextmanager
async def failing(kind: str, server: ModelServer) -> AsyncIterator[object]:
    """Yield an embedder that fails: here, or at a server that quotes what it refuses."""
    if kind == "local":
        yield Quoting()
        return
    server.by_request = lambda ask: Refuse(400, "ValidationException", f"the texts are {' '.join(ask.texts)}")
    config = OpenAIConfig(f"{server.url}/v1", lambda: CANARY)
    embedder = openai_embedder(config, EmbeddingModel("bge", 5), patience=HASTY)
    try:
        yield embedder
    finally:
        await embedder.close()


@pytest.mark.parametrize("kind", ["local", "remote"])
async def test_failing_embedder_leaves_no_word_of_a_forgotten_memory(
    kind: str,
    pools: Pools,
    server: ModelServer,
    database: str,
    word: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        new = [NewMemory(f"Casa Lola is where {word} sang.", "told", NOW), NewMemory("Rain again.", "kept", NOW)]
        await memories.retain(connection, SCOPE, new, now=NOW)
        subject = embeddings.TextKind.MEMORIES.value
        await background.enqueue(connection, SCOPE, EMBEDDING_KIND, subject, now=NOW)
    clock = Clock()
    async with failing(kind, server) as embedder:
        number = await embedders.number_of(pools.background, f"failing {kind}", 5)
        assert number is not None
        embedding = Embedding(pools.background, Numbered(embedder, number), holder="here", now=clock)  # type: ignore[arg-type]
        worker = worker_on(pools, engine_on(pools, clock=clock))
        worker.handlers = {EMBEDDING_KIND: embedding.handle}
        for _ in range(8):
            await worker.drain_scope(SCOPE)
            await embedding._tried((await embeddings.waiting(pools.background, limit=1))[0], 10)
            clock.move(hours=1)
    assert "place_not_embedded" in caplog.text
    await Memories(pools, now=clock).forgetting.forget(SCOPE, Target(memory_id="told"))
    assert await holders(database, {"word": word}) == {}
    assert word not in (caplog.text + "".join(capfd.readouterr())).lower()
    assert await fetch(database, "SELECT memory_id FROM memories") == [("kept",)]
