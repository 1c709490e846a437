"""Client of Bedrock Knowledge Bases: searches one base with Retrieve and returns its passages as text.

Classic and managed bases take different requests, and each rejects the other's. The kind of a base is detected at the first call
and cached. Scores are returned as received, or None; they are not comparable between bases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sidecar.backends.aws import AwsCalls, Clients, Where
from sidecar.backends.backend_caller import BackendCaller, CallLimits, read_units
from sidecar.backends.errors import AnswerUnreadable, BackendMisused
from sidecar.turn.ranking.remote_evidence import readable

MAX_QUERY_CHARS = 20_000
MAX_RESULTS = 100
_REFUSED = "ValidationException"


@dataclass(frozen=True, slots=True)
class BedrockBase:
    """A base and its search options.

    `search` is default, hybrid or semantic; `kind` is auto, classic or managed. The query is cut to `query_chars`: the service's
    documentation allows 1,000 characters, its API model 20,000.
    """

    base_id: str
    where: Where = field(default_factory=Where)
    kind: str = "auto"
    search: str = "default"
    results: int = 20
    query_chars: int = 1000
    filter: Mapping[str, Any] | None = None
    reranker_arn: str = ""


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A passage that the base found; `score` is None if the base gave none, `place` is its location."""

    text: str
    score: float | None
    document_id: str
    place: str
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages, best first, the number of results without text, by kind, and notes on unreadable results."""

    passages: tuple[RetrievedPassage, ...]
    left_out: Mapping[str, int]
    unreadable: tuple[str, ...] = ()


class BedrockKnowledge:
    """One knowledge base. Create one per base, since it caches the base's kind."""

    def __init__(self, name: str, base: BedrockBase, clients: Clients, bounds: CallLimits) -> None:
        self.name = name
        self.caller = BackendCaller(name, bounds)
        self._base = base
        self._is_managed = {"classic": False, "managed": True}.get(base.kind)
        self._threads = AwsCalls(name, bounds.concurrency)
        self._client = clients.client(
            "bedrock-agent-runtime",
            base.where,
            read_timeout_s=bounds.deadline_s,
            connections=bounds.concurrency,
        )

    async def retrieve(self, query: str, *, limit: int) -> Retrieved:
        """Return at most `limit` passages, best first. Raises a BackendError."""
        text = query.strip()[: min(self._base.query_chars, MAX_QUERY_CHARS)]
        if not text or limit <= 0:
            return Retrieved((), {})
        count = min(limit, self._base.results, MAX_RESULTS)

        async def attempt() -> Retrieved:
            return self._read(await self._attempt(text, count), count)

        return await self.caller.ask(attempt)

    def close(self) -> None:
        """Stop accepting calls."""
        self._threads.close()

    async def _attempt(self, text: str, limit: int) -> Mapping[str, Any]:
        if self._is_managed is not None:
            return await self._ask(text, limit, is_managed=self._is_managed)
        try:
            response, is_managed = await self._ask(text, limit, is_managed=False), False
        except BackendMisused as refused:
            if refused.code != _REFUSED:
                raise
            try:
                response, is_managed = await self._ask(text, limit, is_managed=True), True
            except BackendMisused:
                raise refused from None
        self._is_managed = is_managed
        return response

    async def _ask(self, text: str, limit: int, *, is_managed: bool) -> Mapping[str, Any]:
        parameters = {
            "knowledgeBaseId": self._base.base_id,
            "retrievalQuery": {"text": text},
            "retrievalConfiguration": _configuration(self._base, limit, is_managed=is_managed),
        }
        response: Mapping[str, Any] = await self._threads.run(lambda: self._client.call("retrieve", **parameters))
        return response

    def _read(self, response: Mapping[str, Any], count: int) -> Retrieved:
        try:
            results = tuple(response["retrievalResults"])
        except (KeyError, TypeError) as error:
            raise AnswerUnreadable(self.name, type(error).__name__) from error
        read = read_units(self.name, results, _result, most=count)
        left_out = Counter(kind for kind, passage in read.found if passage is None)
        passages = tuple(passage for _, passage in read.found if passage is not None)
        return Retrieved(passages, dict(left_out), read.left_out)


def _result(result: Mapping[str, Any]) -> tuple[str, RetrievedPassage | None]:
    """Return a result's kind and its passage, or None if it has no text."""
    kind, raw_text = _text(result["content"])
    text = readable(raw_text)
    return kind, _passage(result, text) if text.strip() else None


def _configuration(base: BedrockBase, limit: int, *, is_managed: bool) -> dict[str, Any]:
    search: dict[str, Any] = {"numberOfResults": limit}
    if base.filter:
        search["filter"] = dict(base.filter)
    if base.reranker_arn:
        search["rerankingConfiguration"] = _reranking(base.reranker_arn, limit)
    if is_managed:
        search |= {"rerankingModelType": "CUSTOM"} if base.reranker_arn else {}
        return {"managedSearchConfiguration": search}
    if base.search != "default":
        search["overrideSearchType"] = base.search.upper()
    return {"vectorSearchConfiguration": search}


def _reranking(model_arn: str, limit: int) -> dict[str, Any]:
    reranked = {"modelConfiguration": {"modelArn": model_arn}, "numberOfRerankedResults": limit}
    return {"type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": reranked}


def _text(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the content's kind and its text: a row's columns, audio's transcript, a video's summary."""
    kind = str(content.get("type", "TEXT"))
    match kind:
        case "ROW":
            columns = content.get("row", ())
            return kind, "; ".join(f"{column.get('columnName')}: {column.get('columnValue')}" for column in columns)
        case "AUDIO":
            return kind, str(content.get("audio", {}).get("transcription", ""))
        case "VIDEO":
            return kind, str(content.get("video", {}).get("summary", ""))
        case _:
            return kind, str(content.get("text", ""))


_PLACES = (
    ("s3Location", "uri"),
    ("webLocation", "url"),
    ("confluenceLocation", "url"),
    ("salesforceLocation", "url"),
    ("sharePointLocation", "url"),
    ("oneDriveLocation", "url"),
    ("googleDriveLocation", "url"),
    ("customDocumentLocation", "id"),
    ("kendraDocumentLocation", "uri"),
    ("sqlLocation", "query"),
)


def _passage(result: Mapping[str, Any], text: str) -> RetrievedPassage:
    location, metadata = result.get("location", {}), result.get("metadata", {})
    place = next((str(location[kind].get(key, "")) for kind, key in _PLACES if kind in location), "")
    score = result.get("score")
    return RetrievedPassage(
        text=text,
        score=None if score is None else float(score),
        document_id=readable(str(result.get("documentId", "")) or place),
        place=readable(place),
        chunk_id=readable(str(metadata.get("x-amz-bedrock-kb-chunk-id", ""))),
    )
