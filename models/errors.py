"""The errors of the models package.

ModelsError
├── UnknownModel            a model without a known window
├── UncountableText         a lone surrogate
├── TokenizerError
│   ├── RankFileUnusable
│   └── TokenizerPanicked
├── EmbedderError
│   ├── EmbedderUnusable
│   ├── EmbedderFailed
│   ├── EmbedderClosed
│   └── VectorsUnusable
├── CallError               a remote call without an answer; `.report` has the details
│   ├── CallTimedOut
│   ├── BreakerOpen
│   └── AttemptsFailed      `.__cause__` is the last attempt's error
└── ProviderError           no usable answer from a model provider, after `.attempts` requests
    ├── Throttled           `.retry_after_s`
    ├── ModelUnavailable    `.retry_after_s`
    ├── ModelTimeout
    ├── CredentialsMissing
    ├── AccessDenied
    ├── ModelNotFound
    ├── InvalidRequest
    │   ├── PromptTooLong
    │   └── PromptRefused
    └── AnswerUnusable      a paid answer that cannot be used; see `.answer`
        ├── OutputTruncated
        ├── MalformedOutput
        └── ModelRefused

Messages name fields, positions and endpoints, never a caller's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

from models.language.language import ConverseAnswer
from models.transport.endpoint import CallReport


class ModelsError(Exception):
    """The models package could not complete the operation."""

    def __init__(self, detail: str = "") -> None:
        message = " ".join(cleandoc(type(self).__doc__ or type(self).__name__).split())
        super().__init__(f"{message} ({detail})" if detail else message)
        self.detail = detail


class UnknownModel(ModelsError):
    """model_id is no model that this release knows; send context_window_tokens with it (on the command line, --window)."""

    def __init__(self, model_id: str, close: Sequence[str] = ()) -> None:
        shown = repr(model_id if len(model_id) <= 120 else f"{model_id[:120]}…")
        super().__init__(f"got {shown}" + (f", close: {', '.join(close)}" if close else ""))
        self.model_id = model_id


class UncountableText(ModelsError):
    """The text holds half of a surrogate pair, which no encoding can represent; remove it, or replace it with U+FFFD."""

    def __init__(self, character: str, position: int) -> None:
        super().__init__(f"U+{ord(character):04X} at character {position}")
        self.position = position


class TokenizerError(ModelsError):
    """A tokenizer could not count."""


class RankFileUnusable(TokenizerError):
    """An encoding's rank file is missing or altered; reinstall `bpe-openai` in the pinned version."""


class TokenizerPanicked(TokenizerError):
    """The tokenizer failed in its native code; split the text and count the parts."""


class EmbedderError(ModelsError):
    """An embedder returned no vectors."""


class EmbedderUnusable(EmbedderError):
    """The embedder's files are missing or altered; reinstall its packages in the pinned versions, or set another embedder."""


class EmbedderFailed(EmbedderError):
    """The embedder could not compute a vector; restart the service, and check that it has enough memory."""


class EmbedderClosed(EmbedderError):
    """The embedder has been closed; start the service again."""


class VectorsUnusable(EmbedderError):
    """The provider's vectors do not match the request; check the embedding model's id and its dimensions."""


class CallError(ModelsError):
    """A remote call got no answer."""

    def __init__(self, report: CallReport, detail: str = "") -> None:
        super().__init__(detail or f"{report.endpoint}: {report.attempts} attempts, breaker {report.breaker}")
        self.report = report


class CallTimedOut(CallError):
    """The remote endpoint did not answer before the deadline; retry later, or allow more time."""


class BreakerOpen(CallError):
    """The remote endpoint kept failing, so its circuit breaker is open; retry after the delay in the report."""


class AttemptsFailed(CallError):
    """The remote endpoint failed, and another attempt is not allowed or would not help; the cause says why."""


class ProviderError(ModelsError):
    """The model provider returned no usable answer."""

    def __init__(self, detail: str = "", *, attempts: int = 1, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.attempts = attempts
        self.retry_after_s = retry_after_s


class Throttled(ProviderError):
    """The provider throttled the call; retry after the delay that it gave, or raise the account's quota for the model."""


class ModelUnavailable(ProviderError):
    """The provider failed or could not be reached; retry later, and check its address and status if this continues."""


class ModelTimeout(ProviderError):
    """The model did not answer before the deadline; send less at once, or allow more time."""


class CredentialsMissing(ProviderError):
    """No credentials for the provider were found; set the key named in the settings, or credentials of the AWS default chain."""


class AccessDenied(ProviderError):
    """The provider refused the credentials; renew them if they have expired, and allow them to call this model."""


class ModelNotFound(ProviderError):
    """The provider has no such model here; check the model id, the region and the address."""


class InvalidRequest(ProviderError):
    """The provider rejected the request for the reason in the detail; a retry will not help."""


class PromptTooLong(InvalidRequest):
    """The prompt does not fit the model's window; send fewer memories at once, or choose a model with a larger window."""


class PromptRefused(InvalidRequest):
    """The provider's filter refused the prompt; check the text, or choose a model with another filter."""


class AnswerUnusable(ProviderError):
    """The model's answer was paid for, but cannot be used."""

    def __init__(self, answer: ConverseAnswer, detail: str = "") -> None:
        super().__init__(detail or f"stop reason {answer.stop_reason}", attempts=answer.attempts)
        self.answer = answer


class OutputTruncated(AnswerUnusable):
    """The answer was cut at the output limit; send less at once, such as half the batch, instead of raising the limit."""


class MalformedOutput(AnswerUnusable):
    """The answer is not the requested JSON object, even after repair; send less, or choose another model."""


class ModelRefused(AnswerUnusable):
    """The model or its guardrail declined to answer; check the text that was sent, or choose another model."""
