"""Generated and hostile input for what `tests/unit/models/test_prices.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.tokens.catalog import CATALOG, TokenSpending, cost_usd, model_id_of
from models.tokens.prices import Model, ModelWindow, Price


@given(st.text(max_size=60))
def test_any_model_id_is_parsed_without_an_error(text: str) -> None:
    parsed = model_id_of(text)
    assert parsed.names
    assert all(name in text.strip().lower() for name in parsed.names)
    assert CATALOG.name_of(text) == CATALOG.name_of(f" {text}")


@given(
    st.builds(TokenSpending, *[st.integers(0, 10**6)] * 4),
    st.builds(Price, *[st.floats(0.01, 100)] * 4),
)
def test_no_call_has_a_negative_cost(spent: TokenSpending, price: Price) -> None:
    assert (cost_usd(Model("m", ModelWindow(1), "llama_3", price), spent) or 0.0) >= 0.0
