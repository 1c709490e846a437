"""Titan text embeddings v2 on Bedrock: one text per request, of up to 8,192 tokens.

This module holds only the format. Requests run concurrently, up to the number of the runtime's threads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from models.embedding.remote_embedding import EmbeddingLimits, RemoteEmbedder
from models.errors import ModelUnavailable
from models.transport.bedrock_runtime import BedrockConfig, BedrockRuntime
from models.transport.provider import RetryPolicy

TITAN_V2: Final = "amazon.titan-embed-text-v2:0"
DIMENSIONS: Final = 1024
# The service refuses more than 50,000 characters or 8,192 tokens. Four characters per token would be unsafe; two are mostly safe.
_MAX_CHARS: Final = 16_000


def titan_embedder(
    config: BedrockConfig, *, dimensions: int = DIMENSIONS, patience: RetryPolicy | None = None
) -> RemoteEmbedder:
    """Return an Embedder on Bedrock, of 1,024, 512 or 256 dimensions, for one event loop. Raises InvalidRequest."""
    source = Titan(BedrockRuntime(config), dimensions)
    return RemoteEmbedder(source, EmbeddingLimits(batch_texts=1, max_chars=_MAX_CHARS), patience=patience)


class Titan:
    """Requests one vector at a time."""

    provider = "bedrock"
    model_id = TITAN_V2

    def __init__(self, runtime: BedrockRuntime, dimensions: int) -> None:
        self.dimensions = dimensions
        self._runtime = runtime

    async def vectors(self, texts: Sequence[str], timeout_s: float) -> Sequence[Sequence[float]]:
        """Return one vector per text. Raises a ProviderError. The caller enforces the deadline."""
        return [await self._vector(text) for text in texts]

    async def close(self) -> None:
        """Release the connections."""
        await self._runtime.close()

    async def _vector(self, text: str) -> list[float]:
        body = json.dumps({"inputText": text, "dimensions": self.dimensions, "normalize": True})
        parameters = {"modelId": self.model_id, "body": body, "contentType": "application/json"}
        response = await self._runtime.call("invoke_model", {**parameters, "accept": "application/json"})
        try:
            fields: dict[str, Any] = json.loads(response["body"])
            vector: list[float] = fields["embedding"]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelUnavailable("200 without an embedding") from error
        return vector
