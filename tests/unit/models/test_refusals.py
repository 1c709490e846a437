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
from models.transport.refusals import ProviderRefusal, provider_error, retry_after_s
from tests.support.each import each


@each(
    ("refusal", "kind"),
    [
        (ProviderRefusal(429, "ThrottlingException"), Throttled),
        (ProviderRefusal(429), Throttled),
        (ProviderRefusal(400, "ThrottledException"), Throttled),
        (ProviderRefusal(402, "ServiceQuotaExceededException"), Throttled),
        (ProviderRefusal(402, "", "Insufficient Balance"), Throttled),
        (ProviderRefusal(400, "", "Rate exceeded"), Throttled),
        (ProviderRefusal(429, "insufficient_quota"), Throttled),
        (ProviderRefusal(429, "ModelNotReadyException"), ModelUnavailable),
        (ProviderRefusal(424, "ModelErrorException"), ModelUnavailable),
        (ProviderRefusal(503, "ServiceUnavailableException"), ModelUnavailable),
        (ProviderRefusal(500, "InternalServerException"), ModelUnavailable),
        (ProviderRefusal(529), ModelUnavailable),
        (ProviderRefusal(408, "ModelTimeoutException"), ModelTimeout),
        (ProviderRefusal(403, "AccessDeniedException"), AccessDenied),
        (ProviderRefusal(403, "ExpiredTokenException"), AccessDenied),
        (ProviderRefusal(400, "UnrecognizedClientException"), AccessDenied),
        (ProviderRefusal(401), AccessDenied),
        (ProviderRefusal(404, "ResourceNotFoundException"), ModelNotFound),
        (ProviderRefusal(400, "ValidationException", "The provided model identifier is invalid."), ModelNotFound),
        (ProviderRefusal(400, "", 'model "qwen" not found, try pulling it first'), ModelNotFound),
        (ProviderRefusal(413), PromptTooLong),
        (ProviderRefusal(400, "content_filter", "The prompt triggered the content management policy."), PromptRefused),
        (ProviderRefusal(400, "content_policy_violation"), PromptRefused),
        (ProviderRefusal(400, "context_length_exceeded"), PromptTooLong),
        (ProviderRefusal(400, "ValidationException", "Input is too long for requested model."), PromptTooLong),
        (ProviderRefusal(400, "", "This model's maximum context length is 8192 tokens."), PromptTooLong),
        (ProviderRefusal(400, "", "the request exceeds the available context size"), PromptTooLong),
        (ProviderRefusal(400, "ValidationException", "no such field"), InvalidRequest),
        (ProviderRefusal(422), InvalidRequest),
        (ProviderRefusal(302), InvalidRequest),
    ],
)
def test_provider_refusal_becomes_the_right_error(refusal: ProviderRefusal, kind: type[ProviderError]) -> None:
    assert type(provider_error(refusal)) is kind


def test_error_has_the_delay() -> None:
    assert provider_error(ProviderRefusal(429, retry_after_s=3.0)).retry_after_s == 3.0
    assert provider_error(ProviderRefusal(503, retry_after_s=4.0)).retry_after_s == 4.0
    assert provider_error(ProviderRefusal(429)).retry_after_s is None


def test_exhausted_account_is_not_retried_within_a_call() -> None:
    assert provider_error(ProviderRefusal(429, "insufficient_quota")).retry_after_s == 3_600.0


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
        ({"retry-after": f"Wed, 21 Oct {'9' * 30} 07:28:00 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct 2015 07:28:00 +{'9' * 30}"}, None),
    ],
)
def test_a_delay_is_read_in_any_spelling(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_delay_may_be_a_future_date() -> None:
    seconds = retry_after_s({"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)})
    assert seconds is not None
    assert 3_000 < seconds <= 3_600


def test_refusal_message_is_short_on_one_line_without_long_quotes() -> None:
    quoted = ProviderRefusal(400, "bad", "the value\n'" + "my secret diary " * 5 + "' is wrong").detail
    assert quoted == "400 bad the value … is wrong"
    assert len(ProviderRefusal(400, "bad", "word " * 100_000).detail) < 300
    assert ProviderRefusal(400, "", "a\0\ud800").detail == "400 a\ufffd\ufffd"


def test_code_of_a_refusal_is_short_and_can_be_stored() -> None:
    error = provider_error(ProviderRefusal(400, "bad\0\ud800\n" + "x" * 1_000_000, "no"))
    assert error.detail == "400 bad\ufffd\ufffd " + "x" * 74 + "… no"
