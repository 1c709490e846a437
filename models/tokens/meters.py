"""Meters count the tokens of texts for a given model.

A meter is exact if the model's encoding is public; otherwise it is an estimate with a learned ratio. In both cases counts add up:
for pieces that end in a newline and begin with neither white space nor a slash, their sum is at least the count of the whole.
Nothing here reads a clock or a setting; the only side effect is loading an encoding once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from types import MappingProxyType
from typing import Final, Protocol

from models.tokens.calibration import Calibration, headroom_ratio
from models.tokens.catalog import CATALOG, Catalog
from models.tokens.encodings import ENCODINGS, EncodingName, count, count_one
from models.tokens.estimates import WEIGHTS, class_counts

_NOTHING_LEARNED: Mapping[str, Calibration] = MappingProxyType({})
_EXACT: Final[Mapping[str, EncodingName]] = MappingProxyType({encoding: encoding for encoding in ENCODINGS})


@dataclass(frozen=True, slots=True)
class TextCounts:
    """The counts of a text: its tokens in two encodings, and its characters by class.

    The token counts are stored with the text. Every meter can compute its count from these counts.
    """

    o200k_base: int
    cl100k_base: int
    classes: tuple[int, ...]


class Meter(Protocol):
    """Counts tokens as one model does."""

    @property
    def name(self) -> str:
        """The tokenizer's name: an encoding's, or the family whose tokens are estimated."""

    @property
    def is_exact(self) -> bool:
        """Whether the counts are made with the model's own encoding."""

    @property
    def ratio(self) -> float:
        """The learned ratio applied to the counts; 1 if nothing was learned, and always for an exact meter."""

    @property
    def headroom_ratio(self) -> float:
        """The fraction of the window to keep free for counting errors, 0 to 1."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text. Raises UncountableText for a lone surrogate."""

    def count_one(self, text: str) -> int:
        """Return the tokens of one text, as `count` does."""

    def count_marked(self, marks: Sequence[str], lines: Sequence[str]) -> list[int]:
        """Return the count of each mark followed by its line. `models.tokens.known_counts` splits between the two."""

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        """Return the count of each text, given in pieces that are split where `models.tokens.known_counts` splits."""

    def from_stored(self, counts: TextCounts) -> int:
        """Return the result of `count_one` for the counted text, without tokenizing it."""


Counter = Callable[[Sequence[str], EncodingName], list[int]]
"""An exact counting function: `models.tokens.encodings.count`, or a cache in front of it."""


@dataclass(frozen=True, slots=True)
class ExactMeter:
    """Counts in a public encoding."""

    encoding: EncodingName
    headroom_ratio: float
    counter: Counter = field(default=count, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The encoding's name."""
        return self.encoding

    @property
    def is_exact(self) -> bool:
        """True."""
        return True

    @property
    def ratio(self) -> float:
        """Always 1: an exact count is never corrected. The headroom covers tokens that a provider adds."""
        return 1.0

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return self.counter(texts, self.encoding)

    def count_one(self, text: str) -> int:
        """Return the tokens of one text."""
        return self.counter([text], self.encoding)[0]

    def count_marked(self, marks: Sequence[str], lines: Sequence[str]) -> list[int]:
        """Return the tokens of each mark and its line."""
        return list(map(add, self.counter(marks, self.encoding), self.counter(lines, self.encoding)))

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        """Return the tokens of each text as the sum over its pieces."""
        return [sum(self.counter(pieces, self.encoding)) for pieces in texts]

    def from_stored(self, counts: TextCounts) -> int:
        """Return the stored count of this encoding."""
        return counts.cl100k_base if self.encoding == "cl100k_base" else counts.o200k_base


@dataclass(frozen=True, slots=True)
class EstimateMeter:
    """Estimates the tokens of a family without a public tokenizer, multiplied by a ratio in thousandths and rounded up."""

    family: str
    ratio_milli: int
    headroom_ratio: float
    counter: Counter = field(default=count, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family

    @property
    def is_exact(self) -> bool:
        """False."""
        return False

    @property
    def ratio(self) -> float:
        """The learned ratio in force."""
        return self.ratio_milli / 1000

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return list(map(self._tokens, self._weighed(texts)))

    def count_one(self, text: str) -> int:
        """Return the tokens of one text."""
        return self.count([text])[0]

    def count_marked(self, marks: Sequence[str], lines: Sequence[str]) -> list[int]:
        """Return the tokens of each mark and its line, rounded once for both."""
        return list(map(self._tokens, map(add, self._weighed(marks), self._weighed(lines))))

    def count_joined(self, texts: Sequence[Sequence[str]]) -> list[int]:
        """Return the tokens of each text, rounded once per text."""
        return [self._tokens(sum(self._weighed(pieces))) for pieces in texts]

    def from_stored(self, counts: TextCounts) -> int:
        """Return the estimate from the stored counts."""
        return self._tokens(WEIGHTS[self.family].of_counts(counts.o200k_base, counts.classes))

    def _weighed(self, texts: Sequence[str]) -> Iterable[int]:
        return map(WEIGHTS[self.family].of_text, texts, self.counter(texts, "o200k_base"))

    def _tokens(self, millitokens: int) -> int:
        # With integers only, since a rounding error could make the sum of the parts less than the whole.
        return -(-millitokens * self.ratio_milli // 1_000_000)


def meter_for(
    model_id: str,
    calibrations: Mapping[str, Calibration] = _NOTHING_LEARNED,
    *,
    catalog: Catalog = CATALOG,
    counter: Counter = count,
) -> Meter:
    """Return the meter of a model. The tokens of a model that is not in the catalog are estimated.

    `calibrations` are keyed by `calibration_key`. A calibration with too few reports has no effect.
    """
    learned = calibrations.get(calibration_key(model_id, catalog=catalog), Calibration())
    tokenizer = catalog.tokenizer_of(model_id)
    encoding = _EXACT.get(tokenizer)
    if encoding is not None:
        return ExactMeter(encoding, headroom_ratio(learned, is_exact=True), counter)
    ratio_milli = round(learned.trusted_ratio * 1000)
    return EstimateMeter(tokenizer, ratio_milli, headroom_ratio(learned, is_exact=False), counter)


def meter_named(name: str, *, ratio: float, headroom_ratio: float) -> Meter:
    """Return the meter named in a receipt, which counts as it did then. Raises KeyError for an unknown name."""
    encoding = _EXACT.get(name)
    if encoding is not None:
        return ExactMeter(encoding, headroom_ratio)
    return EstimateMeter(name if name in WEIGHTS else _unknown(name), round(ratio * 1000), headroom_ratio)


def _unknown(name: str) -> str:
    raise KeyError(name)


def calibration_key(model_id: str, *, catalog: Catalog = CATALOG) -> str:
    """Return the key of a model's calibration: the same for all its regions, vendors and dated versions."""
    return catalog.name_of(model_id)


def is_exact(model_id: str, *, catalog: Catalog = CATALOG) -> bool:
    """Return whether the model's tokens are counted in its own encoding instead of estimated."""
    return catalog.tokenizer_of(model_id) in _EXACT


def stored_counts(text: str) -> TextCounts:
    """Return the counts to store with a text. Raises UncountableText for a lone surrogate."""
    return TextCounts(count_one(text, "o200k_base"), count_one(text, "cl100k_base"), class_counts(text))


def recalled_counts(text: str, *, o200k_base: int, cl100k_base: int) -> TextCounts:
    """Return `stored_counts` of a text whose token counts were stored, without tokenizing it again."""
    return TextCounts(o200k_base, cl100k_base, class_counts(text))
