"""The arithmetic of the pool."""

from __future__ import annotations

from functools import partial

import pytest

from sidecar.runtime.errors import PoolTooSmall
from sidecar.turn.fitting.pool import PromptTokens, TokenPool, pool_of
from sidecar.turn.profile import DEFAULTS
from tests.support.turn.turn_cases import METER, PieceMeter, a_profile

SPENT = PromptTokens(system_tokens=100, tool_tokens=50, response_reserve_tokens=200, message_tokens=25)


def test_the_pool_is_the_window_less_every_term() -> None:
    pool = pool_of(a_profile(), window_tokens=1000, spent=SPENT, meter=PieceMeter(headroom_ratio=0.0205))
    assert pool == TokenPool(
        window_tokens=1000,
        system_tokens=100,
        tool_tokens=50,
        response_reserve_tokens=200,
        message_tokens=25,
        headroom_tokens=21,
        budget_tokens=DEFAULTS.budget_tokens,
        pool_tokens=604,
    )


def test_headroom_is_rounded_up_despite_float_errors() -> None:
    pool = pool_of(a_profile(), window_tokens=1000, spent=PromptTokens(), meter=PieceMeter(headroom_ratio=0.07))
    assert pool.headroom_tokens == 70


def test_million_token_window_is_not_filled_unless_a_profile_says_so() -> None:
    wide = partial(pool_of, window_tokens=1_000_000, spent=PromptTokens(), meter=METER)
    assert DEFAULTS.recall_tokens == 12_000
    assert a_profile(spend="full").recall_tokens == 128_000
    assert a_profile(budget_tokens=400_000).recall_tokens is None
    assert wide(a_profile()).pool_tokens == 1_000_000  # the last exchange is bounded by the window alone
    assert wide(a_profile(budget_tokens=400_000)).pool_tokens == 400_000


def test_a_budget_caps_the_pool_and_never_raises_it() -> None:
    for budget, expected in ((300, 300), (5000, 625), (None, 625)):
        pool = pool_of(a_profile(budget_tokens=budget), window_tokens=1000, spent=SPENT, meter=METER)
        assert pool.pool_tokens == expected


@pytest.mark.parametrize(
    ("window", "spent", "budget", "term", "tokens", "left"),
    [
        (400, SPENT, None, "response_reserve_tokens", 200, 25),
        (1000, PromptTokens(message_tokens=5000), None, "message_tokens", 5000, -4000),
        (1000, PromptTokens(system_tokens=940), None, "system_tokens", 940, 60),
        (63, PromptTokens(), None, "window_tokens", 63, 63),
        (1000, SPENT, 0, "budget_tokens", 0, 0),
        (0, PromptTokens(), None, "window_tokens", 0, 0),
    ],
)
def test_a_pool_under_64_tokens_is_refused_naming_the_largest_term(
    window: int, spent: PromptTokens, budget: int | None, term: str, tokens: int, left: int
) -> None:
    with pytest.raises(PoolTooSmall) as refused:
        pool_of(a_profile(budget_tokens=budget), window_tokens=window, spent=spent, meter=METER)
    assert refused.value.largest_tokens == tokens
    assert refused.value.pool_tokens == left
    assert term in str(refused.value)
    assert f"leaves {left} for context, which needs 64" in str(refused.value)
    assert ("make it larger" in str(refused.value)) == (term in {"budget_tokens", "window_tokens"})


def test_pool_of_64_tokens_is_accepted() -> None:
    assert pool_of(a_profile(), window_tokens=64, spent=PromptTokens(), meter=METER).pool_tokens == 64
