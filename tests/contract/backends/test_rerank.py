"""Bedrock's Rerank as boto3 speaks to it, over HTTP, with an AWS that answers as scripted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.errors import (
    AnswerUnreadable,
    BackendDenied,
    BackendMissing,
    BackendMisused,
    BackendThrottled,
    BackendUnavailable,
)
from sidecar.backends.rerank import MAX_CHARS, MAX_TEXTS, BedrockRerank, Reranking
from sidecar.context.ports import BackendError
from sidecar.turn.items import Status
from tests.stand_ins.aws import Aws, Behaviour, Fault, Raw, Reply
from tests.support.backends.aws_site import CANARY

ARN = "arn:aws:bedrock:eu-central-1::foundation-model/amazon.rerank-v1:0"
TEXTS = ["Rope.", "Boats stand on blocks.", "Tides."]


@contextmanager
def asked(aws: Aws, **options: Any) -> Iterator[BedrockRerank]:
    clients = Clients()
    reranking = Reranking(ARN, Where("eu-central-1", aws.url), **options)
    rerank = BedrockRerank("order", reranking, clients, CallLimits(30.0))
    yield rerank
    rerank.close()
    clients.close()


def ranked(*places: int) -> Reply:
    scored = enumerate(places)
    return Reply({"results": [{"index": place, "relevanceScore": 0.9 - rank / 10} for rank, place in scored]})


async def ordered(aws: Aws, *behaviours: Behaviour, texts: Sequence[str] = TEXTS, **options: Any) -> tuple[int, ...]:
    aws.script("Rerank", *behaviours)
    with asked(aws, **options) as rerank:
        return await rerank.order("where do boats stand?", texts)


async def test_texts_follow_the_models_order_and_omitted_ones_come_last(aws: Aws) -> None:
    assert await ordered(aws, ranked(1, 2)) == (1, 2, 0)
    (call,) = aws.calls("Rerank")
    assert call.parameters["queries"] == [{"type": "TEXT", "textQuery": {"text": "where do boats stand?"}}]
    assert [one["inlineDocumentSource"]["textDocument"]["text"] for one in call.parameters["sources"]] == TEXTS
    model = call.parameters["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    assert model == {"modelConfiguration": {"modelArn": ARN}, "numberOfResults": 3}


async def test_texts_above_the_services_limits_are_cut_and_none_is_lost(aws: Aws) -> None:
    texts = ["x" * (MAX_CHARS + 1)] * (MAX_TEXTS + 5)
    assert sorted(await ordered(aws, ranked(7), texts=texts, text_chars=MAX_CHARS)) == list(range(len(texts)))
    assert len(aws.calls("Rerank")[0].parameters["sources"]) == MAX_TEXTS


@pytest.mark.parametrize("texts", [[], ["one"]])
async def test_single_text_is_not_reranked(aws: Aws, texts: list[str]) -> None:
    assert await ordered(aws, ranked(0), texts=texts) == tuple(range(len(texts)))
    assert aws.seen == []


CODES: list[tuple[str, int, type[BackendError], Status]] = [
    ("ValidationException", 400, BackendMisused, Status.ERROR),
    ("ServiceQuotaExceededException", 400, BackendThrottled, Status.SHED),
    ("AccessDeniedException", 403, BackendDenied, Status.ERROR),
    ("ExpiredTokenException", 403, BackendDenied, Status.ERROR),
    ("ResourceNotFoundException", 404, BackendMissing, Status.ERROR),
    ("ConflictException", 409, BackendUnavailable, Status.ERROR),
    ("DependencyFailedException", 424, BackendUnavailable, Status.ERROR),
    ("ThrottlingException", 429, BackendThrottled, Status.SHED),
    ("InternalServerException", 500, BackendUnavailable, Status.ERROR),
    ("BadGatewayException", 502, BackendUnavailable, Status.ERROR),
]


@pytest.mark.parametrize(("code", "http_status", "kind", "status"), CODES, ids=[one[0] for one in CODES])
async def test_each_error_code_becomes_its_status(
    aws: Aws, code: str, http_status: int, kind: type[BackendError], status: Status
) -> None:
    with pytest.raises(kind) as caught:
        await ordered(aws, Fault(code, http_status, f"do not repeat {CANARY}"))
    assert caught.value.status is status
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [ranked(), ranked(3), ranked(0, 1, 7), Raw(b'{"results": [{"relevanceScore": 1}]}'), Raw(b'{"results": [{"ind')],
    ids=["nothing", "a place that was not sent", "one of several", "no place", "cut"],
)
async def test_invalid_order_is_an_error(aws: Aws, answer: Behaviour) -> None:
    with pytest.raises(AnswerUnreadable):
        await ordered(aws, answer)
