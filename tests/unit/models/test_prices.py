"""The table: found by any id a model goes by, refused with the fix when it is not there, and honest about money."""

from __future__ import annotations

import pytest

from models.errors import UnknownModel
from models.tokens.catalog import CATALOG, TokenSpending, cost_usd, model_id_of
from models.tokens.encodings import ENCODINGS
from models.tokens.estimates import WEIGHTS
from models.tokens.prices import MODELS, ModelWindow


@pytest.mark.parametrize(
    ("model_id", "name", "region"),
    [
        ("gpt-4o", "gpt-4o", ""),
        (" GPT-4o-2024-08-06 ", "gpt-4o", ""),
        ("openai/gpt-5-mini-2025-08-07", "gpt-5-mini", ""),
        ("gpt-5.1-chat-latest", "gpt-5.1-chat", ""),
        ("gpt-4-0613", "gpt-4", ""),
        ("o3-2025-04-16", "o3", ""),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b", ""),
        ("us-gov.openai.gpt-oss-20b-1:0", "gpt-oss-20b", "us-gov"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", ""),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku", ""),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet", ""),
        ("anthropic.claude-3-haiku-20240307-v1:0:48k", "claude-3-haiku", ""),
        ("apac.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4", "apac"),
        ("eu.anthropic.claude-opus-4-6-v1", "claude-opus-4-6", "eu"),
        ("global.anthropic.claude-opus-5-5", "claude-opus-5-5", ""),
        ("bedrock/us.amazon.nova-pro-v1:0", "nova-pro", "us"),
        ("amazon.nova-2-lite-v1:0", "nova-2-lite", ""),
        ("us.meta.llama4-maverick-17b-instruct-v1:0", "llama4-maverick-17b-instruct", "us"),
        ("mistral.mistral-large-2402-v1:0", "mistral-large-2402", ""),
        ("mistral.mistral-7b-instruct-v0:2", "mistral-7b-instruct", ""),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0",
            "claude-opus-4-1",
            "us",
        ),
    ],
)
def test_model_is_found_by_every_known_id(model_id: str, name: str, region: str) -> None:
    assert CATALOG.require(model_id).name == name
    assert model_id_of(model_id).region == region


@pytest.mark.parametrize("model_id", ["", "gpt-4oo", "gpt-5-minimal", "claude", "us.", "x" * 1_000_000, "\x00", "모델"])
def test_an_unknown_model_is_refused_with_the_field_and_the_fix(model_id: str) -> None:
    with pytest.raises(UnknownModel, match=r"model_id .*send context_window_tokens.*--window") as refusal:
        CATALOG.require(model_id)
    assert len(str(refusal.value)) < 500


def test_unknown_model_is_refused_with_close_names() -> None:
    with pytest.raises(UnknownModel, match=r"close: gpt-4o-mini"):
        CATALOG.require("gpt-4o-mimi")


def test_window_given_by_hand_serves_an_unknown_model_and_overrides_the_table() -> None:
    unknown = CATALOG.require("acme-llm", 32_000)
    assert (unknown.name, unknown.window.context_tokens, unknown.price) == ("acme-llm", 32_000, None)
    assert CATALOG.require("gpt-5", 64_000).window == ModelWindow(64_000)
    assert CATALOG.require("gpt-5", 64_000).tokenizer == "o200k_base"


def test_prompt_leaves_room_for_the_answer_within_the_models_prompt_limit() -> None:
    assert CATALOG.require("gpt-4o").window.input_limit_tokens(4_000) == 124_000
    assert CATALOG.require("gpt-5").window.input_limit_tokens(4_000) == 272_000
    assert CATALOG.require("gpt-5").window.input_limit_tokens(200_000) == 200_000


def test_every_row_is_sound() -> None:
    keys = [key for model in MODELS for key in model.ids or (model.name,)]
    assert len(keys) == len(set(keys))
    for model in MODELS:
        window = model.window
        assert 0 < (window.max_output_tokens or 1) <= window.context_tokens
        assert (window.max_input_tokens or 1) <= window.context_tokens
        assert model.tokenizer in ENCODINGS or model.tokenizer in WEIGHTS
        assert all(CATALOG.require(key).name == model.name for key in model.ids or (model.name,))


def test_every_price_is_sound() -> None:
    for price in filter(None, (model.price for model in MODELS)):
        assert 0 < price.input_usd <= price.output_usd
        assert price.cache_read_usd is None or 0 < price.cache_read_usd < price.input_usd
        assert price.cache_write_usd is None or price.input_usd < price.cache_write_usd
        assert all(1.0 <= factor < 1.5 for _, factor in price.regions)


def test_a_call_costs_what_its_tokens_cost() -> None:
    sonnet = CATALOG.require("claude-sonnet-4-5")
    spent = TokenSpending(
        input_tokens=100_000, output_tokens=2_000, cache_read_tokens=80_000, cache_write_tokens=10_000
    )
    assert cost_usd(sonnet, spent) == pytest.approx((10_000 * 3 + 2_000 * 15 + 80_000 * 0.3 + 10_000 * 3.75) / 1e6)


def test_a_call_within_a_geography_costs_its_surcharge() -> None:
    spent = TokenSpending(1_000_000, 0)
    assert cost_usd(CATALOG.require("global.anthropic.claude-opus-5"), spent) == pytest.approx(5.0)
    assert cost_usd(CATALOG.require("eu.anthropic.claude-opus-5"), spent) == pytest.approx(5.5)
    assert cost_usd(CATALOG.require("us.amazon.nova-pro-v1:0"), spent) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("model_id", "spent"),
    [
        ("eu.amazon.nova-pro-v1:0", TokenSpending(10)),
        ("us-gov.anthropic.claude-opus-5", TokenSpending(10)),
        ("gpt-oss-120b", TokenSpending(10)),
        ("gpt-6-sol", TokenSpending(10)),
        ("o3-pro", TokenSpending(10, cache_read_tokens=5)),
        ("gpt-5.5", TokenSpending(272_001)),
        ("claude-haiku-5-5", TokenSpending(100_001)),
    ],
)
def test_no_cost_is_shown_without_a_known_price(model_id: str, spent: TokenSpending) -> None:
    assert cost_usd(CATALOG.require(model_id), spent) is None


def test_the_default_model_of_a_compile_is_priced() -> None:
    model = CATALOG.require("openai.gpt-oss-120b-1:0")
    assert (model.tokenizer, model.window) == ("o200k_harmony", ModelWindow(128_000, 16_384))
    assert cost_usd(model, TokenSpending(1_000_000, 1_000_000)) == pytest.approx(0.75)
