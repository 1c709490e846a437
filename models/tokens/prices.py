"""The table of the models' windows, output caps, tokenizers and prices, as of 2026-11-21.

Sources: a public listing of models and prices read in November 2026, Anthropic's own pages for the Claude 5 family, and general
knowledge for older models. None means unknown or not settled; then no cost is shown. Prices are in USD per million tokens, on
demand, in the standard tier, for any region; the price of a cache write is that of the five-minute cache. If long prompts cost
more, the price applies only up to a length. If two sources give different windows, the smaller one is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

UNKNOWN_TOKENIZER: Final = "claude_3"

Regions: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ModelWindow:
    """A model's limits in tokens. `max_input_tokens` is set if a prompt may not fill the whole window."""

    context_tokens: int
    max_output_tokens: int | None = None
    max_input_tokens: int | None = None

    def input_limit_tokens(self, response_reserve_tokens: int) -> int:
        """Return the maximum size of a prompt with `response_reserve_tokens` kept free for the answer."""
        room = self.context_tokens - response_reserve_tokens
        return room if self.max_input_tokens is None else min(room, self.max_input_tokens)


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in USD per million tokens; None is unknown. They apply to prompts of at most `up_to_tokens`.

    `regions` maps Bedrock region prefixes to factors on the price. With any other prefix, the price is unknown.
    """

    input_usd: float
    output_usd: float
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None
    regions: Regions = ()
    up_to_tokens: int | None = None

    def within(self, region: str) -> Price | None:
        """Return the price with a Bedrock region prefix; None if unknown."""
        factor = dict(self.regions).get(region)
        if factor is None:
            return None
        read, write = self.cache_read_usd, self.cache_write_usd
        return replace(
            self,
            input_usd=self.input_usd * factor,
            output_usd=self.output_usd * factor,
            cache_read_usd=None if read is None else read * factor,
            cache_write_usd=None if write is None else write * factor,
        )


@dataclass(frozen=True, slots=True)
class Model:
    """A model. `tokenizer` is an encoding or a family of `models/tokens/estimates.py`. It is found by `ids`, or its name."""

    name: str
    window: ModelWindow
    tokenizer: str
    price: Price | None = None
    ids: tuple[str, ...] = ()


_US: Regions = (("us", 1.0),)
_US_PLUS: Regions = (("us", 1.1),)
_LEVEL: Regions = (("us", 1.0), ("eu", 1.0), ("apac", 1.0))
# Since Claude 4.5, a call restricted to a geography costs a tenth more than an unrestricted one.
_PLUS: Regions = (("us", 1.1), ("eu", 1.1), ("apac", 1.1), ("au", 1.1), ("jp", 1.1))

_GPT_4O = ModelWindow(128_000, 16_384)
_GPT_4_1 = ModelWindow(1_047_576, 32_768)
_GPT_5 = ModelWindow(400_000, 128_000, 272_000)
_GPT_5_4 = ModelWindow(1_050_000, 128_000, 922_000)
_O_SERIES = ModelWindow(200_000, 100_000)
_200K = ModelWindow(200_000, 64_000)
_1M = ModelWindow(1_000_000, 128_000)
_LONG = 272_000

# fmt: off
_OPENAI = (
    Model("gpt-3.5-turbo", ModelWindow(16_385, 4_096), "cl100k_base", Price(0.5, 1.5)),
    Model("gpt-4", ModelWindow(8_192, 8_192), "cl100k_base", Price(30, 60)),
    Model("gpt-4-turbo", ModelWindow(128_000, 4_096), "cl100k_base", Price(10, 30)),
    Model("gpt-4o", _GPT_4O, "o200k_base", Price(2.5, 10, 1.25)),
    Model("gpt-4o", ModelWindow(128_000, 4_096), "o200k_base", Price(5, 15), ids=("gpt-4o-2024-05-13",)),
    Model("gpt-4o-mini", _GPT_4O, "o200k_base", Price(0.15, 0.6, 0.075)),
    Model("gpt-4.1", _GPT_4_1, "o200k_base", Price(2, 8, 0.5)),
    Model("gpt-4.1-mini", _GPT_4_1, "o200k_base", Price(0.4, 1.6, 0.1)),
    Model("gpt-4.1-nano", _GPT_4_1, "o200k_base", Price(0.1, 0.4, 0.025)),
    Model("gpt-5", _GPT_5, "o200k_base", Price(1.25, 10, 0.125)),
    Model("gpt-5-mini", _GPT_5, "o200k_base", Price(0.25, 2, 0.025)),
    Model("gpt-5-nano", _GPT_5, "o200k_base", Price(0.05, 0.4, 0.005)),
    Model("gpt-5-codex", _GPT_5, "o200k_base", Price(1.25, 10, 0.125)),
    Model("gpt-5-pro", _GPT_5, "o200k_base", Price(15, 120)),
    Model("gpt-5-chat", _GPT_4O, "o200k_base", Price(1.25, 10, 0.125)),
    Model("gpt-5.1", _GPT_5, "o200k_base", Price(1.25, 10, 0.125)),
    Model("gpt-5.1-chat", _GPT_4O, "o200k_base", Price(1.25, 10, 0.125)),
    Model("gpt-5.1-codex", _GPT_5, "o200k_base", Price(1.25, 10, 0.125), ids=("gpt-5.1-codex", "gpt-5.1-codex-max")),
    Model("gpt-5.1-codex-mini", _GPT_5, "o200k_base", Price(0.25, 2, 0.025)),
    Model("gpt-5.2", _GPT_5, "o200k_base", Price(1.75, 14, 0.175), ids=("gpt-5.2", "gpt-5.2-codex")),
    Model("gpt-5.2-chat", _GPT_4O, "o200k_base", Price(1.75, 14, 0.175)),
    Model("gpt-5.2-pro", _GPT_5, "o200k_base", Price(21, 168)),
    Model("gpt-5.3-chat", _GPT_4O, "o200k_base", Price(1.75, 14, 0.175)),
    Model("gpt-5.3-codex", _GPT_5, "o200k_base", Price(1.75, 14, 0.175)),
    Model("gpt-5.4", _GPT_5_4, "o200k_base", Price(2.5, 15, 0.25, regions=_US_PLUS, up_to_tokens=_LONG)),
    Model("gpt-5.4-mini", _GPT_5, "o200k_base", Price(0.75, 4.5, 0.075)),
    Model("gpt-5.4-nano", _GPT_5, "o200k_base", Price(0.2, 1.25, 0.02)),
    Model("gpt-5.4-pro", _GPT_5_4, "o200k_base", Price(30, 180, up_to_tokens=_LONG)),
    Model("gpt-5.5", _GPT_5_4, "o200k_base", Price(5, 30, 0.5, regions=_US_PLUS, up_to_tokens=_LONG)),
    Model("gpt-5.5-pro", _GPT_5_4, "o200k_base", Price(30, 180, up_to_tokens=_LONG)),
    Model("gpt-5.6-sol", _GPT_5_4, "o200k_base", ids=("gpt-5.6-sol", "gpt-5.6")),
    Model("gpt-5.6-terra", _GPT_5_4, "o200k_base"),
    Model("gpt-5.6-luna", _GPT_5_4, "o200k_base"),
    Model("gpt-6-astra", _GPT_5_4, "near_o200k"),
    Model("gpt-6-sol", _GPT_5_4, "near_o200k"),
    Model("gpt-6-luna", _GPT_5_4, "near_o200k"),
    Model("gpt-6.1-sol", _GPT_5_4, "near_o200k"),
    Model("gpt-6.1-terra", _GPT_5_4, "near_o200k"),
    Model("o1", _O_SERIES, "o200k_base", Price(15, 60, 7.5)),
    Model("o1-mini", ModelWindow(128_000, 65_536), "o200k_base", Price(1.1, 4.4, 0.55)),
    Model("o1-pro", _O_SERIES, "o200k_base", Price(150, 600)),
    Model("o3", _O_SERIES, "o200k_base", Price(2, 8, 0.5)),
    Model("o3-mini", _O_SERIES, "o200k_base", Price(1.1, 4.4, 0.55)),
    Model("o3-pro", _O_SERIES, "o200k_base", Price(20, 80)),
    Model("o4-mini", _O_SERIES, "o200k_base", Price(1.1, 4.4, 0.275)),
    # Models with open weights run anywhere; only Bedrock's ids imply a price.
    Model("gpt-oss-120b", ModelWindow(131_072), "o200k_harmony"),
    Model("gpt-oss-20b", ModelWindow(131_072), "o200k_harmony"),
    Model("gpt-oss-120b", ModelWindow(128_000, 16_384), "o200k_harmony", Price(0.15, 0.6), ids=("openai.gpt-oss-120b",)),
    Model("gpt-oss-20b", ModelWindow(128_000, 16_384), "o200k_harmony", Price(0.07, 0.3), ids=("openai.gpt-oss-20b",)),
)

_ANTHROPIC = (
    Model("claude-3-haiku", ModelWindow(200_000, 4_096), "claude_3", Price(0.25, 1.25, 0.03, 0.3, _LEVEL)),
    Model("claude-3-sonnet", ModelWindow(200_000, 4_096), "claude_3", Price(3, 15, regions=_LEVEL)),
    Model("claude-3-opus", ModelWindow(200_000, 4_096), "claude_3", Price(15, 75, 1.5, 18.75, _LEVEL)),
    Model("claude-3-5-haiku", ModelWindow(200_000, 8_192), "claude_3", Price(0.8, 4, 0.08, 1, _LEVEL)),
    Model("claude-3-5-sonnet", ModelWindow(200_000, 8_192), "claude_3", Price(3, 15, 0.3, 3.75, _LEVEL)),
    Model("claude-3-7-sonnet", _200K, "claude_3", Price(3, 15, 0.3, 3.75, _LEVEL)),
    Model("claude-sonnet-4", _200K, "claude_3", Price(3, 15, 0.3, 3.75, _LEVEL),
          ids=("claude-sonnet-4", "claude-sonnet-4-0")),
    Model("claude-opus-4", ModelWindow(200_000, 32_000), "claude_3", Price(15, 75, 1.5, 18.75, _LEVEL),
          ids=("claude-opus-4", "claude-opus-4-0")),
    Model("claude-opus-4-1", ModelWindow(200_000, 32_000), "claude_3", Price(15, 75, 1.5, 18.75, _LEVEL)),
    Model("claude-sonnet-4-5", _200K, "claude_3", Price(3, 15, 0.3, 3.75, _PLUS)),
    Model("claude-haiku-4-5", _200K, "claude_3", Price(1, 5, 0.1, 1.25, _PLUS)),
    Model("claude-opus-4-5", _200K, "claude_3", Price(5, 25, 0.5, 6.25, _PLUS)),
    Model("claude-sonnet-4-6", ModelWindow(1_000_000, 64_000), "claude_3", Price(3, 15, 0.3, 3.75, _PLUS)),
    Model("claude-opus-4-6", _1M, "claude_3", Price(5, 25, 0.5, 6.25, _PLUS)),
    Model("claude-opus-4-7", _1M, "claude_4_7", Price(5, 25, 0.5, 6.25, _PLUS)),
    Model("claude-opus-4-8", _1M, "claude_4_7", Price(5, 25, 0.5, 6.25, _PLUS)),
    Model("claude-opus-5", _1M, "claude_4_7", Price(5, 25, 0.5, 6.25, _PLUS)),
    Model("claude-opus-5-5", _1M, "claude_4_7", Price(4, 20, 0.2, 5, _PLUS)),
    Model("claude-sonnet-5", _1M, "claude_4_7", Price(2, 10, 0.2, 2.5, _PLUS)),
    Model("claude-sonnet-5-5", _1M, "claude_4_7", Price(2, 10, 0.1, 2.5, _PLUS)),
    Model("claude-haiku-5-5", _1M, "claude_4_7", Price(0.1, 0.5, 0.01, 0.125, _PLUS, up_to_tokens=100_000)),
    Model("claude-fable-5", _1M, "claude_4_7", Price(10, 50, 1, 12.5, _PLUS)),
    Model("claude-fable-5-1", _1M, "claude_4_7", Price(10, 50, 0.25, 12.5, _PLUS)),
    Model("claude-mythos-5", _1M, "claude_4_7", Price(10, 50, 1, 12.5, _US_PLUS)),
    Model("claude-mythos-5-1", _1M, "claude_4_7", Price(10, 50, 0.25, 12.5, _US_PLUS)),
)

_AMAZON = (
    Model("nova-micro", ModelWindow(128_000, 10_000), UNKNOWN_TOKENIZER, Price(0.035, 0.14, 0.00875, regions=_US)),
    Model("nova-lite", ModelWindow(300_000, 10_000), UNKNOWN_TOKENIZER, Price(0.06, 0.24, 0.015, regions=_US)),
    Model("nova-pro", ModelWindow(300_000, 10_000), UNKNOWN_TOKENIZER, Price(0.8, 3.2, 0.2, regions=_US)),
    Model("nova-premier", ModelWindow(1_000_000, 10_000), UNKNOWN_TOKENIZER, Price(2.5, 12.5, 0.625, regions=_US)),
    Model("nova-2-lite", ModelWindow(1_000_000, 64_000), UNKNOWN_TOKENIZER, Price(0.3, 2.5, 0.075, regions=_US_PLUS)),
    Model("nova-2-pro-preview", ModelWindow(1_000_000, 64_000), UNKNOWN_TOKENIZER),
)

_META = (
    Model("llama3-8b-instruct", ModelWindow(8_192, 2_048), "llama_3", Price(0.3, 0.6, regions=_US)),
    Model("llama3-70b-instruct", ModelWindow(8_192, 2_048), "llama_3", Price(2.65, 3.5, regions=_US)),
    Model("llama3-1-8b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.22, 0.22, regions=_US)),
    Model("llama3-1-70b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.72, 0.72, regions=_US)),
    Model("llama3-1-405b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(2.4, 2.4, regions=_US)),
    Model("llama3-2-1b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.1, 0.1, regions=_US)),
    Model("llama3-2-3b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.15, 0.15, regions=_US)),
    Model("llama3-2-11b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.16, 0.16, regions=_US)),
    Model("llama3-2-90b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.72, 0.72, regions=_US)),
    Model("llama3-3-70b-instruct", ModelWindow(128_000, 4_096), "llama_3", Price(0.72, 0.72, regions=_US)),
    Model("llama4-scout-17b-instruct", ModelWindow(3_500_000, 8_192), "llama_3", Price(0.17, 0.66, regions=_US)),
    Model("llama4-maverick-17b-instruct", ModelWindow(1_000_000, 8_192), "llama_3", Price(0.24, 0.97, regions=_US)),
)

_MISTRAL = (
    Model("mistral-7b-instruct", ModelWindow(32_000, 4_096), "mistral_32k", Price(0.15, 0.2)),
    Model("mixtral-8x7b-instruct", ModelWindow(32_000, 4_096), "mistral_32k", Price(0.45, 0.7)),
    Model("mistral-small-2402", ModelWindow(32_000, 4_096), "mistral_32k", Price(1, 3)),
    Model("mistral-large-2402", ModelWindow(32_000, 4_096), "mistral_32k", Price(4, 12)),
    Model("mistral-large-2407", ModelWindow(128_000, 8_191), "mistral_32k", Price(2, 6)),
    Model("pixtral-large-2502", ModelWindow(128_000), "mistral_32k", Price(2, 6, regions=_LEVEL)),
    Model("mistral-large-3-675b-instruct", ModelWindow(256_000, 32_000), "mistral_tekken", Price(0.5, 1.5)),
    Model("ministral-3-3b-instruct", ModelWindow(128_000, 8_000), "mistral_tekken", Price(0.1, 0.1)),
    Model("ministral-3-8b-instruct", ModelWindow(128_000, 8_000), "mistral_tekken", Price(0.15, 0.15)),
    Model("ministral-3-14b-instruct", ModelWindow(128_000, 8_000), "mistral_tekken", Price(0.2, 0.2)),
    Model("magistral-small-2509", ModelWindow(128_000, 40_000), "mistral_tekken", Price(0.5, 1.5)),
)
# fmt: on

MODELS: Final = (*_OPENAI, *_ANTHROPIC, *_AMAZON, *_META, *_MISTRAL)
