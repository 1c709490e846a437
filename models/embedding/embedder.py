"""Vectors for texts: the Embedder protocol, and a local embedder that computes off the event loop.

A vector is stored with the name of its model, since vectors of different models must not be compared. Storing and comparing
vectors is done elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.errors import EmbedderClosed, EmbedderFailed, ModelsError

Vectors: TypeAlias = NDArray[np.float32]

# The most texts of a question: its parts, including the whole. A call with more texts is for documents and may wait.
QUESTION_TEXTS = 4
_RUN_TEXTS = 8


class Embedder(Protocol):
    """Computes vectors of length 1 for texts."""

    @property
    def name(self) -> str:
        """The model's name, stored with every vector."""

    @property
    def dimensions(self) -> int:
        """The length of a vector, in numbers."""

    @property
    def question_prefix(self) -> str:
        """The prefix that the model expects before a question; empty for most models."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order. Raises a ModelsError on failure."""


class Encoder(Protocol):
    """A model in this process. It computes in the calling thread, which may be any thread."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def dimensions(self) -> int:
        """The length of a vector, in numbers."""

    @property
    def question_prefix(self) -> str:
        """The prefix of a question; empty for most models."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order. A text's vector does not depend on the other texts."""


class LocalEmbedder:
    """An encoder with two threads: one for questions, so that no turn waits for documents, and one for everything else.

    Texts that arrive during a run are queued for the next one, eight at a time; a text requested twice is computed once. The
    last `capacity` vectors are cached (1.5 kB each at 384 numbers). A cancelled caller does not affect others.
    """

    def __init__(self, encoder: Encoder, *, capacity: int = 4096) -> None:
        self.name = encoder.name
        self.dimensions = encoder.dimensions
        self.question_prefix = encoder.question_prefix
        self._capacity = capacity
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._quick, self._slow = _Lane(encoder), _Lane(encoder)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text. Up to four texts use the questions' thread. Raises EmbedderClosed or EmbedderFailed."""
        keys = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest() for text in texts]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            lane = self._quick if len(texts) <= QUESTION_TEXTS else self._slow
            found |= await lane.run(missing)
        self._keep((key, found[key]) for key in keys)
        return np.stack([found[key] for key in keys]) if keys else np.zeros((0, self.dimensions), np.float32)

    def close(self) -> None:
        """Stop the threads after their current run; waiting callers get EmbedderClosed."""
        self._quick.close()
        self._slow.close()

    def _keep(self, pairs: Iterable[tuple[bytes, Vectors]]) -> None:
        for key, vector in pairs:
            self._kept[key] = vector
            self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)


class _Lane:
    """One thread and its queue of texts, oldest first."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._texts: OrderedDict[bytes, str] = OrderedDict()
        self._answers: dict[bytes, asyncio.Future[Vectors]] = {}
        self._runner: asyncio.Task[None] | None = None
        self._is_closed = False

    async def run(self, texts: dict[bytes, str]) -> dict[bytes, Vectors]:
        """Return the vectors of the texts, by key."""
        if self._is_closed:
            raise EmbedderClosed
        loop = asyncio.get_running_loop()
        for key, text in texts.items():
            if key not in self._answers:
                self._answers[key] = loop.create_future()
                self._texts[key] = text
        waiting = [self._answers[key] for key in texts]
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._drain())
        vectors = await asyncio.gather(*(asyncio.shield(answer) for answer in waiting))
        return dict(zip(texts, vectors, strict=True))

    def close(self) -> None:
        self._is_closed = True
        self._texts.clear()
        for answer in self._answers.values():
            if not answer.done():
                _fail(answer, EmbedderClosed())
        self._answers.clear()
        self._thread.shutdown(wait=False)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._texts:
            keys = [key for key, _ in zip(self._texts, range(_RUN_TEXTS), strict=False)]
            texts = [self._texts.pop(key) for key in keys]
            run = loop.run_in_executor(self._thread, self._encoder.encode, texts)
            await asyncio.wait([run])
            self._settle(keys, run)

    def _settle(self, keys: Sequence[bytes], run: asyncio.Future[Vectors]) -> None:
        error = run.exception()
        vectors = run.result() if error is None else [None] * len(keys)
        for key, vector in zip(keys, vectors, strict=True):
            answer = self._answers.pop(key, None)
            if answer is None or answer.done():
                continue
            if vector is None:
                _fail(answer, _error_of(error))
            else:
                answer.set_result(vector)


def _error_of(error: BaseException | None) -> BaseException:
    """Return the error to raise for a failed run. All errors of the encoder's libraries become EmbedderFailed."""
    if error is None:
        return EmbedderClosed()
    if isinstance(error, Exception) and not isinstance(error, ModelsError):
        return EmbedderFailed(type(error).__name__)
    return error


def _fail(answer: asyncio.Future[Vectors], error: BaseException) -> None:
    """Fail the future, without a report by asyncio if every caller was cancelled."""
    answer.set_exception(error)
    answer.exception()
