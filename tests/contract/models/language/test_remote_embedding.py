"""An embedder behind a provider keeps its promises over either wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest

from models.embedding.embedder import Embedder
from models.embedding.openai_embedding import EmbeddingModel, openai_embedder
from models.embedding.remote_embedding import RemoteEmbedder
from models.embedding.titan import TITAN_V2, titan_embedder
from models.errors import (
    AccessDenied,
    EmbedderClosed,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    Throttled,
    VectorsUnusable,
)
from models.transport.bedrock_runtime import BedrockConfig
from models.transport.openai_client import OpenAIConfig
from tests.stand_ins.bedrock_format import hashed_vector
from tests.stand_ins.model_script import (
    EXPIRED,
    TOO_LONG,
    Behaviour,
    Break,
    Gate,
    HangUp,
    Late,
    Raw,
    Say,
    Throttle,
    Trickle,
    Vectors,
)
from tests.stand_ins.model_server import ModelServer
from tests.support.models.questions import HASTY, KEY

SMALL = EmbeddingModel("bge-small", 8)
HOLD_S = 60.0
ANY = Say("")


@pytest.fixture
async def titan(site: ModelServer, aws_keys: None) -> AsyncIterator[RemoteEmbedder]:
    made = titan_embedder(BedrockConfig("eu-west-1", site.url), patience=HASTY)
    yield made
    await made.close()


@pytest.fixture
async def compatible_embedder(site: ModelServer) -> AsyncIterator[RemoteEmbedder]:
    made = openai_embedder(OpenAIConfig(f"{site.url}/v1", lambda: KEY), SMALL, patience=HASTY)
    yield made
    await made.close()


@pytest.fixture(params=["titan", "compatible_embedder"])
def embedder(request: pytest.FixtureRequest) -> RemoteEmbedder:
    chosen: RemoteEmbedder = request.getfixturevalue(request.param)
    return chosen


def asked(site: ModelServer) -> list[str]:
    return [text for ask in site.asks for text in ask.texts]


async def test_vectors_have_length_one_and_keep_their_order(embedder: Embedder, site: ModelServer) -> None:
    vectors = await embedder.embed(["boat", "東京", "boat"])
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert (vectors[0] == vectors[2]).all()
    for text, vector in zip(["boat", "東京"], vectors, strict=False):
        wanted = np.array(hashed_vector(text, embedder.dimensions))
        assert vector == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)


async def test_no_texts_send_nothing(embedder: Embedder, site: ModelServer) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)
    assert not site.asks


async def test_text_is_sent_once_and_then_cached(embedder: Embedder, site: ModelServer) -> None:
    first, second = await asyncio.gather(embedder.embed(["a", "b"]), embedder.embed(["b", "c"]))
    again = await embedder.embed(["c", "a", "b"])
    assert sorted(asked(site)) == ["a", "b", "c"]
    assert (again == np.stack([second[1], first[0], first[1]])).all()
    assert (first[1] == second[0]).all()


async def test_vector_cache_is_bounded(site: ModelServer) -> None:
    made = openai_embedder(OpenAIConfig(f"{site.url}/v1", lambda: KEY), SMALL, patience=HASTY)
    for n in range(5_000 // 50):
        await made.embed([str(n * 50 + place) for place in range(50)])
    await made.embed(["0", "4999"])
    assert asked(site).count("0") == 2
    assert asked(site).count("4999") == 1
    await made.close()


async def test_texts_are_sent_in_batches(compatible_embedder: Embedder, site: ModelServer) -> None:
    await compatible_embedder.embed([f"text {n}" for n in range(150)])
    assert sorted(len(ask.texts) for ask in site.asks) == [22, 64, 64]


async def test_answer_of_titan_that_trickles_or_is_too_large_ends_its_call(site: ModelServer, aws_keys: None) -> None:
    config = BedrockConfig("eu-west-1", site.url, max_calls=1, read_timeout_s=0.5)
    titan = titan_embedder(config, patience=replace(HASTY, max_attempts=1))
    gate = Gate()
    site.then(Trickle(gate), Raw(b" " * 2**25 + b"{}"))
    with pytest.raises(ModelTimeout):
        await titan.embed(["boat"])
    assert not gate.opened.is_set()
    with pytest.raises(ModelUnavailable, match="AnswerTooLarge"):
        await titan.embed(["boat"])
    assert (await titan.embed(["boat"])).shape == (1, titan.dimensions)
    gate.open()
    await titan.close()


async def test_blank_text_has_a_vector_too(embedder: Embedder, site: ModelServer) -> None:
    vectors = await embedder.embed(["", " \n"])
    assert (vectors[0] == vectors[1]).all()
    assert "" not in asked(site)


async def test_unencodable_characters_are_replaced(embedder: Embedder, site: ModelServer) -> None:
    await embedder.embed(["a\ud800\0"])
    assert asked(site) == ["a\ufffd\ufffd"]


async def test_huge_text_counts_by_its_beginning(embedder: Embedder, site: ModelServer) -> None:
    huge = await embedder.embed(["word " * 100_000])
    assert (huge == await embedder.embed([("word " * 100_000)[:16_000]])).all()
    assert [len(text) for text in asked(site)] == [16_000]


async def test_too_long_a_text_is_halved_without_touching_its_neighbours(embedder: Embedder, site: ModelServer) -> None:
    site.by_request = lambda ask: TOO_LONG if max(map(len, ask.texts)) > 5_000 else ANY
    vectors = await embedder.embed(["short", "語" * 16_000])
    site.by_request = lambda _: ANY
    assert (vectors == await embedder.embed(["short", "語" * 4_000])).all()


async def test_refusal_of_a_tiny_text_is_raised(embedder: Embedder, site: ModelServer) -> None:
    site.by_request = lambda _: TOO_LONG
    with pytest.raises(PromptTooLong):
        await embedder.embed(["short"])
    assert len(site.asks) == 1


@pytest.mark.parametrize("fault", [Throttle(), Break(503), HangUp(), HangUp(is_silent=True)])
async def test_transient_failures_are_retried(embedder: Embedder, site: ModelServer, fault: Behaviour) -> None:
    site.then(fault)
    assert (await embedder.embed(["boat"])).shape == (1, embedder.dimensions)
    assert len(site.asks) == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Throttle("7200"), Throttled),
        (EXPIRED, AccessDenied),
        (Raw(b"{}"), ModelUnavailable),
        (Raw(b"<"), ModelUnavailable),
    ],
)
async def test_failure_is_named_and_does_not_affect_the_next_call(
    embedder: Embedder, site: ModelServer, fault: Behaviour, kind: type[Exception]
) -> None:
    site.then(*[fault] * (1 if kind is not ModelUnavailable else HASTY.max_attempts))
    with pytest.raises(kind):
        await embedder.embed(["boat"])
    assert (await embedder.embed(["boat"])).shape == (1, embedder.dimensions)


@pytest.mark.parametrize(
    "row", [(1.0, 2.0), (0.0,) * 8, (float("inf"),) * 8, ()], ids=["short", "zero", "infinite", "none"]
)
async def test_malformed_vector_is_refused(
    compatible_embedder: Embedder, site: ModelServer, row: tuple[float, ...]
) -> None:
    site.then(Vectors((row,)))
    with pytest.raises(VectorsUnusable):
        await compatible_embedder.embed(["boat"])


@pytest.mark.parametrize("rows", [(), ((1.0,) * 8,) * 3])
async def test_wrong_number_of_vectors_is_refused(
    compatible_embedder: Embedder, site: ModelServer, rows: tuple[tuple[float, ...], ...]
) -> None:
    site.then(Vectors(rows))
    with pytest.raises(VectorsUnusable):
        await compatible_embedder.embed(["boat", "hull"])


async def test_cancelled_caller_does_not_disturb_the_others(embedder: Embedder, site: ModelServer) -> None:
    gate = Gate()
    site.then(Late(gate, ANY))
    one, two = asyncio.create_task(embedder.embed(["boat"])), asyncio.create_task(embedder.embed(["boat"]))
    assert await asyncio.to_thread(gate.arrived.wait, HOLD_S)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    gate.open()
    assert (await two).shape == (1, embedder.dimensions)
    assert len(site.asks) == 1


async def test_waiting_caller_gets_an_error_at_the_close(embedder: RemoteEmbedder, site: ModelServer) -> None:
    gate = Gate()
    site.then(Late(gate, ANY))
    waiting = asyncio.create_task(embedder.embed(["boat"]))
    assert await asyncio.to_thread(gate.arrived.wait, HOLD_S)
    await embedder.close()
    with pytest.raises(EmbedderClosed):
        await waiting
    with pytest.raises(EmbedderClosed):
        await embedder.embed(["hull"])
    gate.open()


async def test_titan_is_asked_for_the_size_in_its_name(site: ModelServer, aws_keys: None) -> None:
    made = titan_embedder(BedrockConfig("eu-west-1", site.url), dimensions=256, patience=HASTY)
    assert (await made.embed(["boat"])).shape == (1, 256)
    (ask,) = site.asks
    assert (ask.model_id, ask.dimensions, ask.body["normalize"]) == (TITAN_V2, 256, True)
    assert made.name == f"{TITAN_V2}/256"
    await made.close()


async def test_size_is_sent_only_to_models_that_can_shorten(site: ModelServer) -> None:
    for sends in (False, True):
        model = EmbeddingModel("bge-small", 8, sends_dimensions=sends)
        made = openai_embedder(OpenAIConfig(f"{site.url}/v1", lambda: KEY), model, patience=HASTY)
        await made.embed(["boat"])
        await made.close()
    assert ["dimensions" in ask.body for ask in site.asks] == [False, True]
