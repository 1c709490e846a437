"""Generated and hostile input for what `tests/unit/turn/fitting/test_history.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.fitting.history import fit_exchange, read
from sidecar.turn.fitting.truncation import CUT_MARK, cut_middle
from tests.support.turn.turn_cases import METER, count, grown


@given(st.integers(0, 10**6), st.integers(64, 400))
def test_any_exchange_fits_any_pool(seed: int, pool: int) -> None:
    history = read(grown(seed, 8).history, METER)
    exchange = fit_exchange(history, pool, METER)
    assert exchange.tokens <= pool
    assert sum(turn.tokens for turn in exchange.turns) == exchange.tokens
    last_unit = {turn.id for turn in history.exchange[-1].turns} if history.exchange else set()
    assert not history.exchange or exchange.turns[0].id == history.exchange[0].turns[0].id
    assert len(exchange.turns) < 2 or exchange.turns[-1].id in last_unit or exchange.gone


@given(st.text(alphabet="ab \n\u0301\u200d🇵🇹👩🏽éが", min_size=1, max_size=300), st.integers(8, 60))
def test_cut_keeps_the_limit_and_never_splits_a_letter(text: str, limit: int) -> None:
    tokens = count(text)
    if tokens <= limit:
        return
    cut, cut_tokens = cut_middle(text, limit, METER, text_tokens=tokens)
    assert count(cut) == cut_tokens <= limit
    if CUT_MARK in cut and len(text) < 64:
        head, tail = cut.split(CUT_MARK)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert not tail or tail[0] not in "\u0301\u200d"
