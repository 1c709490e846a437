"""Embeddings from any server with OpenAI's API.

This module holds only the format. Some servers refuse a text beyond the model's window and others truncate it, so it is truncated
before it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.embedding.remote_embedding import EmbeddingLimits, RemoteEmbedder
from models.errors import ModelUnavailable, VectorsUnusable
from models.transport.openai_client import OpenAIClient, OpenAIConfig
from models.transport.provider import RetryPolicy


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model at a server. `sends_dimensions` requests vectors shortened to `dimensions`, if the model supports it."""

    model_id: str
    dimensions: int
    sends_dimensions: bool = False
    max_chars: int = 16_000
    batch_texts: int = 64


def openai_embedder(
    config: OpenAIConfig, model: EmbeddingModel, *, patience: RetryPolicy | None = None
) -> RemoteEmbedder:
    """Return an Embedder at a server, for one event loop. Raises InvalidRequest."""
    limits = EmbeddingLimits(batch_texts=model.batch_texts, max_chars=model.max_chars)
    return RemoteEmbedder(OpenAIVectors(OpenAIClient(config), model), limits, patience=patience)


class OpenAIVectors:
    """Requests the vectors of several texts at once."""

    provider = "openai-compatible"

    def __init__(self, client: OpenAIClient, model: EmbeddingModel) -> None:
        self.model_id = model.model_id
        self.dimensions = model.dimensions
        self._sends_dimensions = model.sends_dimensions
        self._client = client

    async def vectors(self, texts: Sequence[str], timeout_s: float) -> Sequence[Sequence[float]]:
        """Return one vector per text, in order. Raises a ProviderError or VectorsUnusable. The caller enforces the deadline."""
        payload: dict[str, Any] = {"model": self.model_id, "input": list(texts), "encoding_format": "float"}
        if self._sends_dimensions:
            payload["dimensions"] = self.dimensions
        return _rows(await self._client.post("embeddings", payload), len(texts))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _rows(response: dict[str, Any], count: int) -> list[Sequence[float]]:
    """Return the vectors in order of their index; servers may send them in any order."""
    try:
        by_index = {int(row["index"]): row["embedding"] for row in response["data"]}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelUnavailable("200 without embeddings") from error
    if sorted(by_index) != list(range(count)):
        raise VectorsUnusable(f"got {len(by_index)} vectors instead of {count}")
    return [by_index[index] for index in range(count)]
