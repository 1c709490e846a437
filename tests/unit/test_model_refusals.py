"""What a provider's refusal means, by status, code and message; and when it wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from models.errors import (
    AccessDenied,
    InvalidRequest,
    ModelNotFound,
    ModelTimeout,
    ModelUnavailable,
    PromptRefused,
    PromptTooLong,
    ProviderError,
    Throttled,
)
from models.transport.refusals import Refusal, provider_error, retry_after_s
from tests.unit.each import each


@each(
    ("refusal", "kind"),
    [
        (Refusal(429, "ThrottlingException"), Throttled),
        (Refusal(429), Throttled),
        (Refusal(400, "ThrottledException"), Throttled),
        (Refusal(402, "ServiceQuotaExceededException"), Throttled),
        (Refusal(400, "", "Rate exceeded"), Throttled),
        (Refusal(429, "insufficient_quota"), Throttled),
        (Refusal(429, "ModelNotReadyException"), ModelUnavailable),
        (Refusal(424, "ModelErrorException"), ModelUnavailable),
        (Refusal(503, "ServiceUnavailableException"), ModelUnavailable),
        (Refusal(500, "InternalServerException"), ModelUnavailable),
        (Refusal(529), ModelUnavailable),
        (Refusal(408, "ModelTimeoutException"), ModelTimeout),
        (Refusal(403, "AccessDeniedException"), AccessDenied),
        (Refusal(403, "ExpiredTokenException"), AccessDenied),
        (Refusal(400, "UnrecognizedClientException"), AccessDenied),
        (Refusal(401), AccessDenied),
        (Refusal(404, "ResourceNotFoundException"), ModelNotFound),
        (Refusal(400, "ValidationException", "The provided model identifier is invalid."), ModelNotFound),
        (Refusal(400, "", 'model "qwen" not found, try pulling it first'), ModelNotFound),
        (Refusal(413), PromptTooLong),
        (Refusal(400, "content_filter", "The prompt triggered the content management policy."), PromptRefused),
        (Refusal(400, "content_policy_violation"), PromptRefused),
        (Refusal(400, "context_length_exceeded"), PromptTooLong),
        (Refusal(400, "ValidationException", "Input is too long for requested model."), PromptTooLong),
        (Refusal(400, "", "This model's maximum context length is 8192 tokens."), PromptTooLong),
        (Refusal(400, "", "the request exceeds the available context size"), PromptTooLong),
        (Refusal(400, "ValidationException", "no such field"), InvalidRequest),
        (Refusal(422), InvalidRequest),
        (Refusal(302), InvalidRequest),
    ],
)
def test_a_refusal_is_raised_as(refusal: Refusal, kind: type[ProviderError]) -> None:
    assert type(provider_error(refusal)) is kind


def test_the_delay_goes_with_the_error() -> None:
    assert provider_error(Refusal(429, retry_after_s=3.0)).retry_after_s == 3.0
    assert provider_error(Refusal(503, retry_after_s=4.0)).retry_after_s == 4.0
    assert provider_error(Refusal(429)).retry_after_s is None


def test_an_empty_account_is_not_asked_again_within_a_call() -> None:
    assert provider_error(Refusal(429, "insufficient_quota")).retry_after_s == 3_600.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "999999999"}, 86_400.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "٧"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_a_delay_is_read_in_any_spelling(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_delay_may_be_a_date_to_come() -> None:
    seconds = retry_after_s({"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)})
    assert seconds is not None
    assert 3_000 < seconds <= 3_600


def test_a_message_is_shown_short_on_one_line_and_without_long_quotes() -> None:
    quoted = Refusal(400, "bad", "the value\n'" + "my secret diary " * 5 + "' is wrong").detail
    assert quoted == "400 bad the value … is wrong"
    assert len(Refusal(400, "bad", "word " * 100_000).detail) < 300
    assert Refusal(400, "", "a\0\ud800").detail == "400 a\ufffd\ufffd"
