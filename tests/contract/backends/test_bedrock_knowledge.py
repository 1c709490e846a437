"""A Bedrock knowledge base as boto3 speaks to it, over HTTP, with an AWS that answers as scripted."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from models.transport.endpoint import BreakerState
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.bedrock_knowledge import BedrockBase, BedrockKnowledge
from sidecar.backends.errors import (
    AnswerUnreadable,
    BackendBusy,
    BackendDenied,
    BackendMissing,
    BackendMisused,
    BackendResting,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.context.ports import BackendError
from sidecar.turn.items import Status
from tests.stand_ins.aws import Aws, Fault, Held, Raw, Reply
from tests.support.backends.aws_site import CANARY
from tests.support.waiting import until

BASE = "ABCDEFGHIJ"
LOCATION = {"type": "S3", "s3Location": {"uri": "s3://handbook/boats.md"}}


def result(text: str, **fields: Any) -> dict[str, Any]:
    return {"content": {"type": "TEXT", "text": text}, "location": LOCATION, **fields}


ONE = Reply({"retrievalResults": [result("Boats stand on blocks.", score=0.5)]})


@contextmanager
def asked(aws: Aws, bounds: CallLimits | None = None, **options: Any) -> Iterator[BedrockKnowledge]:
    """Yield a base at the stand-in, patient enough for a machine under load."""
    clients = Clients()
    where = Where("eu-central-1", aws.url)
    base = BedrockKnowledge("handbook", BedrockBase(BASE, where, **options), clients, bounds or CallLimits(30.0))
    yield base
    base.close()
    clients.close()


async def test_question_returns_passages_with_their_places_in_the_bases_order(aws: Aws) -> None:
    aws.script(
        "Retrieve",
        Reply(
            {
                "retrievalResults": [
                    result("Second best.", documentId="doc-1", metadata={"x-amz-bedrock-kb-chunk-id": "c9"}),
                    result("Boats stand on blocks.", score=0.9),
                ]
            }
        ),
    )
    with asked(aws) as base:
        found = await base.retrieve("where do boats stand?", limit=7)
    assert [(one.text, one.score) for one in found.passages] == [
        ("Second best.", None),
        ("Boats stand on blocks.", 0.9),
    ]
    assert (found.passages[0].document_id, found.passages[0].chunk_id) == ("doc-1", "c9")
    assert found.passages[1].place == "s3://handbook/boats.md"
    (call,) = aws.calls("Retrieve")
    assert call.parameters["knowledgeBaseId"] == BASE
    assert call.parameters["retrievalQuery"] == {"text": "where do boats stand?"}
    assert call.parameters["retrievalConfiguration"] == {"vectorSearchConfiguration": {"numberOfResults": 7}}


async def test_rows_and_recordings_become_text_and_images_are_counted_as_skipped(aws: Aws) -> None:
    row = [
        {"columnName": "berth", "columnValue": "12", "type": "LONG"},
        {"columnName": "boat", "columnValue": "Calypso"},
    ]
    contents: list[dict[str, Any]] = [
        {"type": "ROW", "row": row},
        {"type": "AUDIO", "audio": {"s3Uri": "s3://a/b.mp3", "transcription": "The tide is out."}},
        {"type": "VIDEO", "video": {"s3Uri": "s3://a/b.mp4", "summary": "A boat is lifted."}},
        {"type": "IMAGE", "byteContent": "data:image/png;base64,AAAA"},
        {"type": "TEXT", "text": "   "},
    ]
    aws.script("Retrieve", Reply({"retrievalResults": [{"content": one} for one in contents]}))
    with asked(aws) as base:
        found = await base.retrieve("boats", limit=9)
    assert [one.text for one in found.passages] == ["berth: 12; boat: Calypso", "The tide is out.", "A boat is lifted."]
    assert found.left_out == {"IMAGE": 1, "TEXT": 1}


async def test_options_are_sent_in_the_services_form(aws: Aws) -> None:
    aws.script("Retrieve", ONE)
    arn = "arn:aws:bedrock:eu-central-1::foundation-model/amazon.rerank-v1:0"
    wanted = {"equals": {"key": "language", "value": "en"}}
    with asked(aws, search="hybrid", results=3, query_chars=8, filter=wanted, reranker_arn=arn) as base:
        await base.retrieve("  a question that is too long", limit=50)
    (call,) = aws.calls("Retrieve")
    assert call.parameters["retrievalQuery"] == {"text": "a questi"}
    search = call.parameters["retrievalConfiguration"]["vectorSearchConfiguration"]
    assert (search["numberOfResults"], search["overrideSearchType"], search["filter"]) == (3, "HYBRID", wanted)
    reranking = search["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    assert reranking["modelConfiguration"] == {"modelArn": arn}


async def test_managed_base_is_detected_once(aws: Aws) -> None:
    aws.script("Retrieve", Fault("ValidationException", 400, "use the other configuration"), ONE)
    with asked(aws) as base:
        for _ in range(3):
            assert (await base.retrieve("boats", limit=5)).passages
    kinds = [next(iter(call.parameters["retrievalConfiguration"])) for call in aws.calls("Retrieve")]
    assert kinds == ["vectorSearchConfiguration"] + ["managedSearchConfiguration"] * 3


async def test_question_refused_by_both_kinds_of_base_decides_neither(aws: Aws) -> None:
    refusal = Fault("ValidationException", 400)
    aws.script("Retrieve", refusal, refusal, ONE)
    with asked(aws) as base:
        with pytest.raises(BackendMisused):
            await base.retrieve("boats", limit=5)
        assert (await base.retrieve("boats", limit=5)).passages
    assert next(iter(aws.calls("Retrieve")[2].parameters["retrievalConfiguration"])) == "vectorSearchConfiguration"


async def test_empty_question_sends_nothing(aws: Aws) -> None:
    with asked(aws) as base:
        assert (await base.retrieve("  \n ", limit=5)).passages == ()
        assert (await base.retrieve("boats", limit=0)).passages == ()
    assert aws.seen == []


CODES: list[tuple[str, int, type[BackendError], Status, int]] = [
    ("ValidationException", 400, BackendMisused, Status.ERROR, 1),
    ("ServiceQuotaExceededException", 400, BackendThrottled, Status.SHED, 1),
    ("AccessDeniedException", 403, BackendDenied, Status.ERROR, 1),
    ("ExpiredTokenException", 403, BackendDenied, Status.ERROR, 1),
    ("UnrecognizedClientException", 403, BackendDenied, Status.ERROR, 1),
    ("ResourceNotFoundException", 404, BackendMissing, Status.ERROR, 1),
    ("ConflictException", 409, BackendUnavailable, Status.ERROR, 3),
    ("DependencyFailedException", 424, BackendUnavailable, Status.ERROR, 2),
    ("ThrottlingException", 429, BackendThrottled, Status.SHED, 3),
    ("InternalServerException", 500, BackendUnavailable, Status.ERROR, 3),
    ("BadGatewayException", 502, BackendUnavailable, Status.ERROR, 3),
    ("ServiceUnavailableException", 503, BackendUnavailable, Status.ERROR, 3),
    ("GatewayTimeout", 504, BackendTimedOut, Status.TIMEOUT, 1),
    ("SomethingNew", 418, BackendMisused, Status.ERROR, 1),
]


@pytest.mark.parametrize(("code", "http_status", "kind", "status", "attempts"), CODES, ids=[one[0] for one in CODES])
async def test_each_error_code_becomes_its_status(
    aws: Aws, code: str, http_status: int, kind: type[BackendError], status: Status, attempts: int
) -> None:
    aws.script("Retrieve", Fault(code, http_status, f"do not repeat {CANARY}"))
    with asked(aws, kind="classic") as base, pytest.raises(kind) as caught:
        await base.retrieve("boats", limit=5)
    assert caught.value.status is status
    assert code in str(caught.value)
    assert CANARY not in str(caught.value)
    assert len(aws.calls("Retrieve")) == attempts


async def test_rate_exceeded_is_a_throttle_with_any_code(aws: Aws) -> None:
    aws.script("Retrieve", Fault("OddException", 400, "Rate exceeded"))
    with asked(aws) as base, pytest.raises(BackendThrottled):
        await base.retrieve("boats", limit=5)


async def test_short_throttle_is_not_noticed(aws: Aws) -> None:
    aws.script("Retrieve", Fault("ThrottlingException", 429, retry_after="0"), ONE)
    with asked(aws) as base:
        assert (await base.retrieve("boats", limit=5)).passages


@pytest.mark.parametrize(
    ("told", "seconds"), [("600", 600), ("600.5", 600.5), ("Wed, 21 Oct 2065 07:28:00 GMT", 86_400)]
)
async def test_wait_that_cannot_end_in_time_is_not_begun(aws: Aws, told: str, seconds: float) -> None:
    aws.script("Retrieve", Fault("ThrottlingException", 429, retry_after=told))
    with asked(aws) as base, pytest.raises(BackendThrottled) as caught:
        await base.retrieve("boats", limit=5)
    assert caught.value.retry_after_s == seconds
    assert len(aws.calls("Retrieve")) == 1


@pytest.mark.parametrize(
    "raw",
    [
        Raw(b'{"retrievalResults": [{"content": {"te'),
        Raw(b'{"retrievalResults": [', claims=500),
        Raw(b"<html>welcome</html>"),
        Raw(b'{"retrievalResults": [{"score": 1}]}'),
        Raw(b"[]"),
        Raw(b"null"),
    ],
    ids=["cut", "short", "html", "without content", "a list", "null"],
)
async def test_malformed_answer_is_an_error_and_not_an_empty_list(aws: Aws, raw: Raw) -> None:
    aws.script("Retrieve", raw)
    with asked(aws) as base, pytest.raises((AnswerUnreadable, BackendUnavailable)):
        await base.retrieve("boats", limit=5)


async def test_malformed_result_falls_with_a_reason_and_the_others_are_taken(aws: Aws) -> None:
    sound = b'{"content": {"type": "TEXT", "text": "Boats winter ashore."}, "location": {}}'
    aws.script("Retrieve", Raw(b'{"retrievalResults": [{"score": 0.4}, ' + sound + b"]}"))
    with asked(aws) as base:
        found = await base.retrieve("boats", limit=5)
    assert [one.text for one in found.passages] == ["Boats winter ashore."]
    assert [one.partition(": ")[2] for one in found.unreadable] == ["1 unreadable, left out (no content)"]


async def test_truncated_answer_is_requested_again(aws: Aws) -> None:
    aws.script("Retrieve", Raw(b'{"retrievalResults": [', claims=500), ONE)
    with asked(aws) as base:
        assert (await base.retrieve("boats", limit=5)).passages


async def test_hanging_base_is_abandoned_at_the_deadline(aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Held(over, ONE))
    with asked(aws, CallLimits(deadline_s=0.3)) as base:
        with pytest.raises(BackendTimedOut) as caught:
            await base.retrieve("boats", limit=5)
        over.set()
    assert caught.value.status is Status.TIMEOUT


async def test_cancelled_caller_leaves_at_once(aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Held(over, ONE))
    with asked(aws) as base:
        asking = asyncio.create_task(base.retrieve("boats", limit=5))
        await until(lambda: aws.calls("Retrieve"))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        over.set()


async def test_base_that_keeps_failing_is_no_longer_asked(aws: Aws) -> None:
    aws.script("Retrieve", Fault("InternalServerException", 500))
    with asked(aws) as base:
        for _ in range(3):
            with pytest.raises(BackendUnavailable):
                await base.retrieve("boats", limit=5)
            if base.caller.endpoint.breaker.state(asyncio.get_running_loop().time()) is not BreakerState.CLOSED:
                break
        calls = len(aws.calls("Retrieve"))
        with pytest.raises(BackendResting) as caught:
            await base.retrieve("boats", limit=5)
    assert caught.value.status is Status.BREAKER_OPEN
    assert len(aws.calls("Retrieve")) == calls


async def test_calls_above_the_rate_are_shed_before_they_are_sent(aws: Aws) -> None:
    aws.script("Retrieve", ONE)
    with asked(aws, CallLimits(deadline_s=30.0, rate_per_s=0.01)) as base:
        await base.retrieve("boats", limit=5)
        with pytest.raises(BackendBusy) as caught:
            await base.retrieve("boats", limit=5)
    assert caught.value.status is Status.SHED
    assert len(aws.calls("Retrieve")) == 1


async def test_unreachable_address_is_unavailable(aws: Aws) -> None:
    clients = Clients()
    base = BedrockKnowledge(
        "gone", BedrockBase(BASE, Where("eu-central-1", "http://127.0.0.1:9")), clients, CallLimits(30)
    )
    with pytest.raises(BackendUnavailable):
        await base.retrieve("boats", limit=5)
    base.close()
    clients.close()


async def test_missing_credentials_are_denied(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with asked(aws) as base, pytest.raises(BackendDenied, match="NoCredentialsError"):
        await base.retrieve("boats", limit=5)
    assert aws.seen == []


async def test_keys_are_in_no_log(aws: Aws, caplog: pytest.LogCaptureFixture) -> None:
    aws.script("Retrieve", Fault("AccessDeniedException", 403, f"key {CANARY} may not"))
    with caplog.at_level(logging.INFO), asked(aws) as base, pytest.raises(BackendDenied):
        await base.retrieve("boats", limit=5)
    assert CANARY not in caplog.text
    assert CANARY not in str([call.headers for call in aws.seen])
