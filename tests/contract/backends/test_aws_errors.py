"""Every error that the SDK's own models declare for what we call is known here, and what a service does beyond them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import botocore.session
import pytest

from models.transport.refusals import ProviderRefusal, provider_error
from sidecar.backends.aws import Clients, QuotaUsedUp, Where, translated
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.bedrock_knowledge import BedrockBase, BedrockKnowledge
from sidecar.backends.errors import (
    MAX_ANSWER_BYTES,
    AnswerUnreadable,
    BackendDenied,
    BackendMissing,
    BackendMisused,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.context.ports import BackendError
from tests.stand_ins.aws import Aws, Fault, Raw, Reply, Slow
from tests.support.backends.aws_site import CANARY
from tests.support.waiting import until

ASKED = {
    "bedrock-agent-runtime": ("Retrieve", "Rerank"),
    "bedrock-agentcore": ("RetrieveMemoryRecords", "ListMemoryRecords", "ListEvents"),
    "s3": ("ListObjectsV2", "GetObject"),
}
KINDS: Mapping[str, type[BackendError]] = {
    "AccessDeniedException": BackendDenied,
    "BadGatewayException": BackendUnavailable,
    "ConflictException": BackendUnavailable,
    "DependencyFailedException": BackendUnavailable,
    "InternalServerException": BackendUnavailable,
    "InvalidInputException": BackendMisused,
    "InvalidObjectState": BackendDenied,
    "NoSuchBucket": BackendMissing,
    "NoSuchKey": BackendMissing,
    "ResourceNotFoundException": BackendMissing,
    "ServiceException": BackendUnavailable,
    "ServiceQuotaExceededException": QuotaUsedUp,
    "ThrottledException": BackendThrottled,
    "ThrottlingException": BackendThrottled,
    "ValidationException": BackendMisused,
}
MODELS: Mapping[str, str] = {
    "AccessDeniedException": "AccessDenied",
    "InternalServerException": "ModelUnavailable",
    "ModelErrorException": "ModelUnavailable",
    "ModelNotReadyException": "ModelUnavailable",
    "ModelTimeoutException": "ModelTimeout",
    "ResourceNotFoundException": "ModelNotFound",
    "ServiceQuotaExceededException": "Throttled",
    "ServiceUnavailableException": "ModelUnavailable",
    "ThrottlingException": "Throttled",
    "ValidationException": "InvalidRequest",
}


def declared(service: str, *operations: str) -> set[tuple[str, int]]:
    """Return the errors that the SDK's model of a service declares for operations, with their HTTP status."""
    model = botocore.session.get_session().get_service_model(service)
    shapes = [shape for name in operations for shape in model.operation_model(name).error_shapes]
    return {(shape.name, shape.metadata["error"]["httpStatusCode"]) for shape in shapes}


ALL = sorted({error for service, operations in ASKED.items() for error in declared(service, *operations)})


@pytest.mark.parametrize(("code", "status"), ALL)
def test_every_declared_error_of_a_backend_is_classified(code: str, status: int) -> None:
    said = {"Error": {"Code": code, "Message": CANARY}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = translated("kb", botocore.exceptions.ClientError(said, "Retrieve"))
    assert type(error) is KINDS[code]
    assert CANARY not in str(error)


@pytest.mark.parametrize(("code", "status"), sorted(declared("bedrock-runtime", "Converse", "InvokeModel")))
def test_every_declared_error_of_a_model_is_classified(code: str, status: int) -> None:
    assert type(provider_error(ProviderRefusal(status, code))).__name__ == MODELS[code]


@contextmanager
def asked(aws: Aws, clients: Clients, bounds: CallLimits) -> Iterator[BedrockKnowledge]:
    where = Where("eu-central-1", aws.url)
    base = BedrockKnowledge("handbook", BedrockBase("ABCDEFGHIJ", where, kind="classic"), clients, bounds)
    yield base
    base.close()
    clients.close()


FOUND = Reply({"retrievalResults": [{"content": {"type": "TEXT", "text": "Boats stand on blocks."}}]})


@pytest.mark.parametrize(("code", "status"), [("ExpiredTokenException", 403), ("UnrecognizedClientException", 403)])
async def test_expired_keys_are_denied_and_replaced_ones_are_used_without_a_restart(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    now_s = [1000.0]
    aws.script("Retrieve", *[Fault(code, status, CANARY)] * 3, FOUND)
    with asked(aws, Clients(lambda: now_s[0]), CallLimits(30.0)) as base:
        for passes_s in (0.0, 29.0, 2.0):
            now_s[0] += passes_s
            with pytest.raises(BackendDenied, match=code):
                await base.retrieve("boats", limit=5)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXCHANGED")
        assert (await base.retrieve("boats", limit=5)).passages
    keys = ["AKIAEXCHANGED" in call.headers["Authorization"] for call in aws.calls("Retrieve")]
    assert keys == [False, False, False, True], "sought anew once in half a minute, not at every refusal"


async def test_missing_keys_are_used_once_they_appear(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    aws.script("Retrieve", FOUND)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with asked(aws, Clients(lambda: now_s[0]), CallLimits(30.0)) as base:
        with pytest.raises(BackendDenied, match="Credentials"):
            await base.retrieve("boats", limit=5)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXCHANGED")
        now_s[0] += 31.0
        with pytest.raises(BackendDenied, match="Credentials"):
            await base.retrieve("boats", limit=5)
        assert (await base.retrieve("boats", limit=5)).passages


async def test_slowly_arriving_body_is_abandoned_at_the_deadline(aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Slow(over), FOUND)
    with asked(aws, Clients(), CallLimits(deadline_s=0.5, concurrency=2, may_hedge=False)) as base:
        with pytest.raises(BackendTimedOut):
            await base.retrieve("boats", limit=5)
        over.set()


async def test_endless_body_does_not_keep_its_thread(aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Slow(over), FOUND)
    with asked(aws, Clients(), CallLimits(deadline_s=1.0, concurrency=1, may_hedge=False)) as base:
        with pytest.raises(BackendTimedOut):
            await base.retrieve("boats", limit=5)
        await until(lambda: is_answered(base), patience_s=30.0)
        assert not over.is_set()
        over.set()


async def is_answered(base: BedrockKnowledge) -> bool:
    try:
        return bool((await base.retrieve("boats", limit=5)).passages)
    except BackendError:
        return False


async def test_body_beyond_its_bound_is_refused_and_not_kept(aws: Aws) -> None:
    aws.script("Retrieve", Raw(b" " * (MAX_ANSWER_BYTES + 1)))
    with asked(aws, Clients(), CallLimits(30.0)) as base, pytest.raises(AnswerUnreadable, match="AnswerTooLarge"):
        await base.retrieve("boats", limit=5)


async def test_score_beyond_a_floats_range_is_an_unreadable_answer(aws: Aws) -> None:
    body = b'{"retrievalResults": [{"content": {"text": "Boats."}, "score": 1' + b"0" * 400 + b"}]}"
    aws.script("Retrieve", Raw(body))
    with asked(aws, Clients(), CallLimits(30.0)) as base, pytest.raises(AnswerUnreadable, match="OverflowError"):
        await base.retrieve("boats", limit=5)


async def test_answer_nested_too_deep_is_unreadable(aws: Aws) -> None:
    aws.script("Retrieve", Raw(b'{"retrievalResults": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"))
    with asked(aws, Clients(), CallLimits(30.0)) as base, pytest.raises(AnswerUnreadable, match="RecursionError"):
        await base.retrieve("boats", limit=5)


async def test_body_that_breaks_off_is_requested_again(aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Slow(over), FOUND)
    with asked(aws, Clients(), CallLimits(60.0)) as base:
        asking = asyncio.create_task(base.retrieve("boats", limit=5))
        await until(lambda: aws.calls("Retrieve"))
        over.set()
        assert (await asking).passages


async def test_error_code_that_is_no_name_is_not_repeated(aws: Aws) -> None:
    aws.script("Retrieve", Fault(f"key {CANARY}", 403, CANARY))
    with asked(aws, Clients(), CallLimits(30.0)) as base, pytest.raises(BackendDenied, match="403") as caught:
        await base.retrieve("boats", limit=5)
    assert CANARY not in str(caught.value)
