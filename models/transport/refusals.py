"""Maps a provider's refusal (HTTP status, code and message) to the error to raise.

The codes are those of Bedrock's service model, of AWS's signing layer and of OpenAI's API; compatible servers use the same
statuses with other texts. A message may quote our request, so it is truncated and long quotes are removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

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
from models.language.structured import kept_text

_THROTTLES: Final = {
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "ServiceQuotaExceededException",
    "RequestLimitExceeded",
    "rate_limit_exceeded",
    "insufficient_quota",
}
_DENIALS: Final = {
    "AccessDeniedException",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "UnrecognizedClientException",
    "invalid_api_key",
}
_FILTERS: Final = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
_NOT_READY: Final = {"ModelNotReadyException", "ModelErrorException", "ServiceUnavailableException"}
_TOO_LONG: Final = re.compile(
    r"context[ _](length|window|size)|maximum context|too many (input )?tokens|(input|prompt) is too long"
    r"|exceeds? the (available |maximum )?(context|number of tokens)",
    re.IGNORECASE,
)
_UNKNOWN_MODEL: Final = re.compile(
    r"model identifier is invalid|model .{0,200}(not found|does not exist)", re.IGNORECASE
)
_LONG_QUOTE: Final = re.compile(r"(['\"`]).{40,}?\1", re.DOTALL)
_SHOWN_CHARS: Final = 240
_CODE_CHARS: Final = 80
# A refusal is a sentence, so the rest of a whole page is not searched.
_READ_CHARS: Final = 2_000
_DAY_S: Final = 86_400.0
# An exhausted quota is not refilled within a call; an hour is longer than any deadline.
_QUOTA_WAIT_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class ProviderRefusal:
    """A provider's refusal."""

    status: int
    code: str = ""
    message: str = ""
    retry_after_s: float | None = None

    @property
    def detail(self) -> str:
        """The status, the code and the message, short enough for a log line."""
        text = _LONG_QUOTE.sub("…", kept_text(self.message[:_READ_CHARS]).replace("\n", " "))
        code = " ".join(kept_text(self.code[:_READ_CHARS]).split())
        shown = (_cut(code, _CODE_CHARS), _cut(text, _SHOWN_CHARS))
        return " ".join(part for part in (str(self.status), *shown) if part)


def provider_error(refusal: ProviderRefusal) -> ProviderError:
    """Return the error to raise for a refusal."""
    if _is_throttle(refusal):
        wait_s = _QUOTA_WAIT_S if refusal.code == "insufficient_quota" or refusal.status == 402 else None
        return Throttled(refusal.detail, retry_after_s=refusal.retry_after_s or wait_s)
    if refusal.code in _NOT_READY or refusal.status >= 500:
        return ModelUnavailable(refusal.detail, retry_after_s=refusal.retry_after_s)
    return _kind_of(refusal)(refusal.detail)


def why_unreadable(headers: Mapping[str, str], wanted: str) -> str:
    """Return why a response's body is not `wanted` (`JSON`): it may be compressed, although the request refuses that."""
    encoding = headers.get("content-encoding", "identity")
    return f"not {wanted}" if encoding == "identity" else f"compressed as {encoding[:20]!r}, which the request refused"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from the headers, 0 to a day; None without a header.

    Reads `retry-after-ms`, and `retry-after` as seconds or as an HTTP date (RFC 9110, section 10.2.3).
    """
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return _within_a_day(millis / 1000)
    text = headers.get("retry-after", "")
    seconds = _number(text)
    return _within_a_day(seconds) if seconds is not None else _seconds_until(text)


def _cut(text: str, most_chars: int) -> str:
    return text if len(text) <= most_chars else f"{text[:most_chars]}…"


def _is_throttle(refusal: ProviderRefusal) -> bool:
    is_named = refusal.code in _THROTTLES or "rate exceeded" in refusal.message[:_READ_CHARS].lower()
    return is_named or (refusal.status in {402, 429} and refusal.code not in _NOT_READY)


def _kind_of(refusal: ProviderRefusal) -> type[ProviderError]:
    if refusal.status == 408 or refusal.code == "ModelTimeoutException":
        return ModelTimeout
    if refusal.status in {401, 403} or refusal.code in _DENIALS:
        return AccessDenied
    text = refusal.message[:_READ_CHARS]
    if refusal.status == 413 or refusal.code == "context_length_exceeded" or _TOO_LONG.search(text):
        return PromptTooLong
    if refusal.code in _FILTERS:
        return PromptRefused
    if refusal.status == 404 or refusal.code == "model_not_found" or _UNKNOWN_MODEL.search(text):
        return ModelNotFound
    return InvalidRequest


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip(), re.ASCII) else None


def _seconds_until(text: str) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return _within_a_day((aware - datetime.now(UTC)).total_seconds())


def _within_a_day(seconds: float) -> float:
    return min(max(seconds, 0.0), _DAY_S)
