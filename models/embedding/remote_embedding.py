"""An embedder backed by a provider: caching, deduping of requests, and validation of vectors.

The providers' formats are in `models/embedding/titan.py` and `models/embedding/openai_embedding.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np

from models.embedding.embedder import Vectors
from models.errors import EmbedderClosed, PromptTooLong, VectorsUnusable
from models.language.structured import kept_text
from models.transport.provider import Provider, RetryPolicy

# Providers refuse an empty text; a full stop is the closest substitute.
_BLANK = "."
# No model's window is smaller, so a refusal of a shorter text has another reason.
_LEAST_CHARS = 256


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """The size of one request, the deadline of a vector, and the number of cached vectors (4 kB each at 1,024 numbers)."""

    batch_texts: int
    max_chars: int
    deadline_s: float = 30.0
    capacity: int = 4096


class VectorSource(Protocol):
    """One provider's format for vectors."""

    @property
    def provider(self) -> str:
        """The provider's name, for errors."""

    @property
    def model_id(self) -> str:
        """The id of the model."""

    @property
    def dimensions(self) -> int:
        """The length of a vector, in numbers."""

    async def vectors(self, texts: Sequence[str], timeout_s: float) -> Sequence[Sequence[float]]:
        """Return one vector per text, in order, not normalized. Raises a ProviderError."""

    async def close(self) -> None:
        """Release connections and threads."""


class RemoteEmbedder:
    """An Embedder over a provider, for one event loop.

    A text requested twice, even concurrently, is sent once; recent vectors are cached by the hash of the text. A cancelled
    caller does not affect others. Only the first `max_chars` of a text are read.
    """

    def __init__(self, source: VectorSource, limits: EmbeddingLimits, *, patience: RetryPolicy | None = None) -> None:
        # Vectors of one model with different dimensions must not be compared either.
        self.name = f"{source.model_id}/{source.dimensions}"
        self.dimensions = source.dimensions
        self.question_prefix = ""
        self._source = source
        self._limits = limits
        self._provider = Provider(source.provider, patience)
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._pending: dict[bytes, asyncio.Task[dict[bytes, Vectors]]] = {}
        self._is_closed = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text. Raises a ProviderError, VectorsUnusable or EmbedderClosed."""
        if self._is_closed:
            raise EmbedderClosed
        sent = [kept_text(text[: self._limits.max_chars]) if text.strip() else _BLANK for text in texts]
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in sent]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        self._send({key: text for key, text in zip(keys, sent, strict=True) if key not in found})
        for vectors in await _all({self._pending[key] for key in keys if key not in found}):
            found |= vectors
        self._keep({key: found[key] for key in keys})
        return np.stack([found[key] for key in keys]) if keys else np.zeros((0, self.dimensions), np.float32)

    async def close(self) -> None:
        """Cancel pending requests, whose callers get EmbedderClosed, and release the connections."""
        self._is_closed = True
        batches = set(self._pending.values())
        for batch in batches:
            batch.cancel()
        await asyncio.gather(*batches, return_exceptions=True)
        await self._source.close()

    def _send(self, texts: dict[bytes, str]) -> None:
        """Start requests for texts without a pending request, in concurrent batches."""
        waiting = ((key, text) for key, text in texts.items() if key not in self._pending)
        while batch := dict(islice(waiting, self._limits.batch_texts)):
            task = asyncio.create_task(self._ask(batch))
            self._pending |= dict.fromkeys(batch, task)
            task.add_done_callback(partial(self._on_done, batch))

    def _on_done(self, batch: dict[bytes, str], task: asyncio.Task[dict[bytes, Vectors]]) -> None:
        for key in batch:
            del self._pending[key]
        # Retrieve the error, which asyncio would otherwise report if every caller was cancelled.
        if not task.cancelled():
            task.exception()

    async def _ask(self, batch: dict[bytes, str]) -> dict[bytes, Vectors]:
        rows = await self._rows(list(batch.values()))
        return dict(zip(batch, unit_vectors(rows, shape=(len(batch), self.dimensions)), strict=True))

    async def _rows(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return the provider's rows. A text refused as too long is halved and sent alone; the other texts are unaffected."""
        ask: Callable[[float], Awaitable[Sequence[Sequence[float]]]] = partial(self._source.vectors, texts)
        try:
            return (await self._provider.ask(self._source.model_id, ask, deadline_s=self._limits.deadline_s))[0]
        except PromptTooLong:
            if len(texts) > 1:
                return [row for text in texts for row in await self._rows([text])]
            if len(texts[0]) < _LEAST_CHARS:
                raise
            return await self._rows([texts[0][: len(texts[0]) // 2]])

    def _keep(self, pairs: dict[bytes, Vectors]) -> None:
        for key, vector in pairs.items():
            self._kept[key] = vector
            self._kept.move_to_end(key)
        while len(self._kept) > self._limits.capacity:
            self._kept.popitem(last=False)


async def _all(batches: set[asyncio.Task[dict[bytes, Vectors]]]) -> list[dict[bytes, Vectors]]:
    """Return the results of the batches. Cancelling the caller does not cancel them. Raises EmbedderClosed."""
    if batches:
        await asyncio.wait(batches)
    if any(batch.cancelled() for batch in batches):
        raise EmbedderClosed
    return [batch.result() for batch in batches]


def unit_vectors(rows: Sequence[Sequence[float]], *, shape: tuple[int, int]) -> Vectors:
    """Return the vectors normalized to length 1. Raises VectorsUnusable for a wrong shape, or a zero or non-finite vector."""
    try:
        vectors = np.asarray(rows, np.float64).reshape(len(rows), -1) if rows else np.zeros((0, shape[1]))
    except (ValueError, TypeError) as error:
        raise VectorsUnusable("not numbers, or rows of different lengths") from error
    if vectors.shape != shape:
        got, wanted = (f"{rows} vectors of {numbers} numbers" for rows, numbers in (vectors.shape, shape))
        raise VectorsUnusable(f"got {got} instead of {wanted}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise VectorsUnusable("a vector is zero or not finite")
    return np.asarray(vectors / lengths, np.float32)
