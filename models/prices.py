"""Models: their windows, output caps, tokenizers and prices, in one table.

State of 2026-11-21. Windows, caps and prices are the providers' published ones (OpenAI, Anthropic, Amazon Bedrock price
list), each price taken only where two listings agreed; None means not known, and then no money is shown. Prices are USD per
million tokens, on demand, in the standard tier; a cache write is the five-minute one. A model with a dearer tier for long
prompts has a price up to that length only. A provider's change is an edit here, and of this date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from models.errors import UnknownModel

UNKNOWN_TOKENIZER: Final = "claude_3"


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; None is unknown. `up_to_tokens` bounds the prompts it holds for."""

    input_usd: float
    output_usd: float
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None
    up_to_tokens: int | None = None

    def times(self, factor: float) -> Price:
        """Return the price multiplied, as a region's surcharge does."""
        read, write = self.cache_read_usd, self.cache_write_usd
        return replace(
            self,
            input_usd=self.input_usd * factor,
            output_usd=self.output_usd * factor,
            cache_read_usd=None if read is None else read * factor,
            cache_write_usd=None if write is None else write * factor,
        )


@dataclass(frozen=True, slots=True)
class Spending:
    """The tokens of one call. `input_tokens` holds the cached ones too, as providers report them together."""

    input_tokens: int
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `max_input_tokens` is given where the provider takes less than the window in one prompt.

    `regions` maps a Bedrock region prefix to the factor on the price there; a prefix not named has an unknown price.
    """

    name: str
    context_window_tokens: int
    max_output_tokens: int | None
    tokenizer: str
    price: Price | None = None
    regions: Mapping[str, float] = MappingProxyType({})
    max_input_tokens: int | None = None
    ids: tuple[str, ...] = ()

    def input_limit_tokens(self, response_reserve_tokens: int) -> int:
        """Return how many tokens a prompt may have when so many are kept for the answer."""
        room = self.context_window_tokens - response_reserve_tokens
        return room if self.max_input_tokens is None else min(room, self.max_input_tokens)


@dataclass(frozen=True, slots=True)
class ModelId:
    """A model id taken apart: the names to look up, the most telling first, and the Bedrock region prefix (or none)."""

    names: tuple[str, ...]
    region: str


_ARN_OR_PATH = re.compile(r"^.*/")
_REGION = re.compile(r"^(us-gov|us|eu|apac|au|jp|ca|global)\.(?=[a-z])")
_VENDOR = re.compile(r"^(anthropic|openai|amazon|meta|mistral)\.(?=[a-z])")
# Bedrock's `-v1:0`, `-v1`, gpt-oss's `-1:0`, and a provisioned window as `:48k` after them.
_VERSION = re.compile(r"(-v\d+(:\d+)?|-\d+:\d+)(:\d+k)?$")
_DATE = re.compile(r"([-@]20\d{6}|-20\d\d-\d\d-\d\d|-latest)$")


def model_id_of(text: str) -> ModelId:
    """Return an id without what does not change the model: ARN, path, region, version and date, and at last the vendor.

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
    """The models known, by every id they go by. `CATALOG` is the table below; settings may add to it."""

    by_id: Mapping[str, Model]

    def having(self, models: Iterable[Model]) -> Catalog:
        """Return a catalog with these models too; one of a name that is known replaces it."""
        return Catalog(MappingProxyType({**self.by_id, **_by_id(models)}))

    def find(self, model_id: str) -> Model | None:
        """Return the model, with its price as in the id's region, or None."""
        parsed = model_id_of(model_id)
        found = next((self.by_id[name] for name in parsed.names if name in self.by_id), None)
        if found is None or found.price is None or not parsed.region:
            return found
        factor = found.regions.get(parsed.region)
        return replace(found, price=None if factor is None else found.price.times(factor))

    def require(self, model_id: str, context_window_tokens: int | None = None) -> Model:
        """Return the model; a window given by hand wins over the table's, and makes do for a model that is not in it.

        Raises UnknownModel when there is no window.
        """
        found = self.find(model_id)
        if context_window_tokens is None:
            if found is None:
                raise UnknownModel(model_id, self._close_to(model_id))
            return found
        if found is None:
            return Model(self.name_of(model_id), context_window_tokens, None, UNKNOWN_TOKENIZER)
        return replace(found, context_window_tokens=context_window_tokens, max_input_tokens=None)

    def name_of(self, model_id: str) -> str:
        """Return the one name a model has whatever id it is called by; its barest id when it is not known."""
        found = self.find(model_id)
        return found.name if found else model_id_of(model_id).names[-1]

    def tokenizer_of(self, model_id: str) -> str:
        """Return the name of the model's encoding, or of the family its tokens are estimated as."""
        found = self.find(model_id)
        return found.tokenizer if found else UNKNOWN_TOKENIZER

    def _close_to(self, model_id: str) -> list[str]:
        # Ids are short; a megabyte sent in one's place must not be compared with the whole table.
        return get_close_matches(model_id_of(model_id[:200]).names[-1], list(self.by_id), n=3)


def cost_usd(model: Model, spending: Spending) -> float | None:
    """Return what a call costs in USD; None where a price it needs is not known."""
    price = model.price
    if price is None or (price.up_to_tokens is not None and spending.input_tokens > price.up_to_tokens):
        return None
    cached = spending.cache_read_tokens + spending.cache_write_tokens
    parts = (
        (max(0, spending.input_tokens - cached), price.input_usd),
        (spending.output_tokens, price.output_usd),
        (spending.cache_read_tokens, price.cache_read_usd),
        (spending.cache_write_tokens, price.cache_write_usd),
    )
    if any(tokens and usd is None for tokens, usd in parts):
        return None
    return sum(tokens * (usd or 0.0) for tokens, usd in parts) / 1_000_000


def _by_id(models: Iterable[Model]) -> dict[str, Model]:
    return {known_as: model for model in models for known_as in (model.name, *model.ids)}
