"""Client of Bedrock's Rerank: a model orders texts of several knowledge bases by relevance to the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sidecar.backends.aws import AwsCalls, Clients, Where
from sidecar.backends.backend_caller import BackendCaller, CallLimits
from sidecar.backends.errors import AnswerUnreadable

MAX_TEXTS = 1_000
MAX_CHARS = 32_000


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranking model and its endpoint. Each text is cut to `text_chars`, since models read only a few hundred words."""

    model_arn: str
    where: Where = field(default_factory=Where)
    text_chars: int = 4_000


class BedrockRerank:
    """One reranking model."""

    def __init__(self, name: str, reranking: Reranking, clients: Clients, bounds: CallLimits) -> None:
        self.name = name
        self.deadline_s = bounds.deadline_s
        self.caller = BackendCaller(name, bounds)
        self._reranking = reranking
        self._threads = AwsCalls(name, bounds.concurrency)
        self._client = clients.client(
            "bedrock-agent-runtime",
            reranking.where,
            read_timeout_s=bounds.deadline_s,
            connections=bounds.concurrency,
        )

    async def order(self, query: str, texts: Sequence[str]) -> tuple[int, ...]:
        """Return the indexes of the texts, best first, then those that the model leaves out. Raises a BackendError."""
        candidates = texts[:MAX_TEXTS]
        question = query.strip()[:MAX_CHARS]
        if len(candidates) < 2 or not question:
            return tuple(range(len(texts)))
        parameters = _request(self._reranking, question, candidates)

        async def attempt() -> tuple[int, ...]:
            response = await self._threads.run(lambda: self._client.call("rerank", **parameters))
            return self._read(response, len(candidates))

        best = await self.caller.ask(attempt)
        return (*best, *(place for place in range(len(texts)) if place not in best))

    def close(self) -> None:
        """Stop accepting calls."""
        self._threads.close()

    def _read(self, response: Mapping[str, Any], count: int) -> tuple[int, ...]:
        try:
            places = tuple(dict.fromkeys(int(result["index"]) for result in response["results"]))
        except (KeyError, TypeError, ValueError) as error:
            raise AnswerUnreadable(self.name, type(error).__name__) from error
        if not places or not all(0 <= place < count for place in places):
            raise AnswerUnreadable(self.name, "indexes out of range")
        return places


def _request(reranking: Reranking, question: str, texts: Sequence[str]) -> dict[str, Any]:
    model = {"modelConfiguration": {"modelArn": reranking.model_arn}, "numberOfResults": len(texts)}
    return {
        "queries": [{"type": "TEXT", "textQuery": {"text": question}}],
        "sources": [_source(text[: min(reranking.text_chars, MAX_CHARS)]) for text in texts],
        "rerankingConfiguration": {"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": model},
    }


def _source(text: str) -> dict[str, Any]:
    return {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}}}
