"""Serializes an answer for the cache, so that an answer that was paid for is not paid for twice.

The store keeps it under `models.language.language.answer_key`, with its scope and the memories it was shown.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from models.language.language import ConverseAnswer, TokenUsage


def answer_bytes(answer: ConverseAnswer) -> bytes:
    """Return an answer as JSON."""
    return json.dumps(asdict(answer)).encode()


def answer_from(content: bytes) -> ConverseAnswer:
    """Return the answer that `answer_bytes` wrote."""
    fields = json.loads(content)
    return ConverseAnswer(**fields | {"usage": TokenUsage(**fields["usage"])})
