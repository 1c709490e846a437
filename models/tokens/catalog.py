"""Finds a model by any of its ids, and computes the cost of its calls.

An id may contain a region, vendor, version and date that do not change the model. These are removed step by step, with a look-up
in the table of `models/tokens/prices.py` after each step. An unknown model is never guessed by similarity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from models.errors import UnknownModel
from models.tokens.prices import MODELS, UNKNOWN_TOKENIZER, Model, ModelWindow


@dataclass(frozen=True, slots=True)
class ModelId:
    """A parsed model id: the names to look up, the most specific first, and the Bedrock region prefix (or none)."""

    names: tuple[str, ...]
    region: str


@dataclass(frozen=True, slots=True)
class TokenSpending:
    """The tokens of one call. `input_tokens` includes cached ones, as in `ReportUsage`."""

    input_tokens: int
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


_ARN_OR_PATH = re.compile(r"^.*/")
_REGION = re.compile(r"^(us-gov|us|eu|apac|au|jp|ca|global)\.(?=[a-z])")
_VENDOR = re.compile(r"^(anthropic|openai|amazon|meta|mistral)\.(?=[a-z])")
# Bedrock's `-v1:0`, `-v1`, gpt-oss's `-1:0`, each optionally followed by a provisioned window such as `:48k`.
_VERSION = re.compile(r"(-v\d+(:\d+)?|-\d+:\d+)(:\d+k)?$")
_DATE = re.compile(r"([-@]20\d{6}|-20\d\d-\d\d-\d\d|-\d{4}|-latest)$")


@lru_cache(maxsize=1024)
def model_id_of(text: str) -> ModelId:
    """Parse an id by removing the parts that do not change the model: ARN, path, region, version and date, finally the vendor.

    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` has region `us` and the last name `claude-sonnet-4-5`.
    """
    bare = _ARN_OR_PATH.sub("", text.strip().lower())
    prefix = _REGION.match(bare)
    region = prefix[1] if prefix else ""
    full = _REGION.sub("", bare)
    unversioned = _VERSION.sub("", full)
    undated = _DATE.sub("", unversioned)
    names = (full, unversioned, undated, *(_VENDOR.sub("", name) for name in (full, unversioned, undated)))
    return ModelId(tuple(dict.fromkeys(names)), "" if region == "global" else region)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The known models by all their ids. `CATALOG` holds the models of the table."""

    by_id: Mapping[str, Model]

    def find(self, model_id: str) -> Model | None:
        """Return the model, with its price in the id's region, or None."""
        parsed = model_id_of(model_id)
        model = next((self.by_id[name] for name in parsed.names if name in self.by_id), None)
        if model is None or model.price is None or not parsed.region:
            return model
        return replace(model, price=model.price.within(parsed.region))

    def require(self, model_id: str, context_window_tokens: int | None = None) -> Model:
        """Return the model. A given window overrides the table's, and is enough for a model that is not in the table.

        Raises UnknownModel if neither gives a window.
        """
        model = self.find(model_id)
        if context_window_tokens is not None:
            window = ModelWindow(context_window_tokens)
            return replace(model, window=window) if model else Model(self.name_of(model_id), window, UNKNOWN_TOKENIZER)
        if model is None:
            raise UnknownModel(model_id, self._close_to(model_id))
        return model

    def name_of(self, model_id: str) -> str:
        """Return the model's canonical name; for an unknown model, the id without its prefixes and suffixes."""
        model = self.find(model_id)
        return model.name if model else model_id_of(model_id).names[-1]

    def tokenizer_of(self, model_id: str) -> str:
        """Return the name of the model's encoding, or of the family by which its tokens are estimated."""
        model = self.find(model_id)
        return model.tokenizer if model else UNKNOWN_TOKENIZER

    def output_cap_tokens(self, model_id: str, wanted_tokens: int) -> int:
        """Return the output cap for a call: `wanted_tokens`, limited to the model's maximum if that is known."""
        model = self.find(model_id)
        limit = None if model is None else model.window.max_output_tokens
        return wanted_tokens if limit is None else min(wanted_tokens, limit)

    def cost_usd_of(self, model_id: str, spending: TokenSpending) -> float | None:
        """Return the cost of a call in USD; None if the model or its price is unknown."""
        model = self.find(model_id)
        return None if model is None else cost_usd(model, spending)

    def _close_to(self, model_id: str) -> list[str]:
        # Ids are short; a megabyte of text must not be compared with the whole table.
        return get_close_matches(model_id_of(model_id[:200]).names[-1], list(self.by_id), n=3)


def cost_usd(model: Model, spending: TokenSpending) -> float | None:
    """Return the cost of a call in USD; None if a needed price is unknown."""
    usd, unpriced_tokens = known_cost(model, spending, prompt_tokens=spending.input_tokens)
    return None if model.price is None or unpriced_tokens else usd


def known_cost(model: Model | None, spending: TokenSpending, *, prompt_tokens: float) -> tuple[float, int]:
    """Return the cost in USD of the tokens with a known price, and the number of the others.

    The spending may be the sum of calls: `prompt_tokens` is the length of a prompt, by which a price may be limited.
    """
    price = model.price if model is not None else None
    if price is None or (price.up_to_tokens is not None and prompt_tokens > price.up_to_tokens):
        return 0.0, spending.input_tokens + spending.output_tokens
    cached = spending.cache_read_tokens + spending.cache_write_tokens
    parts = (
        (max(0, spending.input_tokens - cached), price.input_usd),
        (spending.output_tokens, price.output_usd),
        (spending.cache_read_tokens, price.cache_read_usd),
        (spending.cache_write_tokens, price.cache_write_usd),
    )
    usd = sum(tokens * price_usd for tokens, price_usd in parts if price_usd is not None) / 1_000_000
    return usd, sum(tokens for tokens, price_usd in parts if price_usd is None)


def _by_id(models: Iterable[Model]) -> dict[str, Model]:
    return {model_id: model for model in models for model_id in model.ids or (model.name,)}


CATALOG: Final = Catalog(MappingProxyType(_by_id(MODELS)))
