"""The pool: the tokens left for context after the rest of the prompt and the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sidecar.runtime.errors import PoolTooSmall
from sidecar.turn.items import TokenCounter
from sidecar.turn.profile import Profile

LEAST_POOL_TOKENS = 64


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """The tokens of the prompt that are not available for context: system prompt, tool definitions, answer, user message."""

    system_tokens: int = 0
    tool_tokens: int = 0
    response_reserve_tokens: int = 0
    message_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenPool:
    """The terms of the pool, in tokens. `budget_tokens` is the profile's cap on the result."""

    window_tokens: int
    system_tokens: int
    tool_tokens: int
    response_reserve_tokens: int
    message_tokens: int
    headroom_tokens: int
    budget_tokens: int | None
    pool_tokens: int


def pool_of(profile: Profile, *, window_tokens: int, spent: PromptTokens, meter: TokenCounter) -> TokenPool:
    """Return the pool: window − system − tools − answer − message − headroom, at most the profile's `budget_tokens`.

    Headroom is the meter's `headroom_ratio` of the window, rounded up. Raises PoolTooSmall under 64 tokens.
    """
    terms = {
        "system_tokens": spent.system_tokens,
        "tool_tokens": spent.tool_tokens,
        "response_reserve_tokens": spent.response_reserve_tokens,
        "message_tokens": spent.message_tokens,
        "headroom_tokens": math.ceil(round(window_tokens * meter.headroom_ratio, 6)),
    }
    left = window_tokens - sum(terms.values())
    cap = profile.budget_tokens
    pool = TokenPool(window_tokens, **terms, budget_tokens=cap, pool_tokens=left if cap is None else min(left, cap))
    if pool.pool_tokens < LEAST_POOL_TOKENS:
        raise _too_small(pool, terms, left)
    return pool


def _too_small(pool: TokenPool, terms: dict[str, int], left: int) -> PoolTooSmall:
    largest = max(terms, key=lambda name: terms[name])
    term, tokens = largest, terms[largest]
    if pool.budget_tokens is not None and left >= LEAST_POOL_TOKENS:
        term, tokens = "budget_tokens", pool.budget_tokens
    elif not tokens:
        term, tokens = "window_tokens", pool.window_tokens
    return PoolTooSmall(pool.pool_tokens, term, tokens, least_tokens=LEAST_POOL_TOKENS)
