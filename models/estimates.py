"""What a text costs in tokenizers that are not public: so much per o200k token, and so much per character of each class.

Linear on purpose: the counts of pieces add up to the count of the whole, so a budget spent piece by piece holds for the
rendered bytes. The classes tell prose from code, numbers, JSON and other scripts: capitals, marks and digits are what makes
code and data dearer than prose, and each script has a weight of its own.

The weights were fitted in 2026-11 on 3,659 texts of 300 to 3,000 characters (English prose and chat, Markdown, Python,
JavaScript, C, SQL, shell, JSON, CSV, logs, 85 languages) against reconstructions of the tokenizers, so that a too low count
weighs almost six times a too high one. Left over, as estimate over truth on English prose and chat / code / JSON / the
worst of German, French, Spanish, Portuguese, Russian, Japanese, Korean, Chinese, Arabic and Hindi: Claude 3 to 4.6
1.14 / 1.07 / 1.06 / 0.91, Claude 4.7 and later 1.15 / 1.07 / 1.06 / 0.89, Mistral's two 1.10 / 1.07 / 1.05 / 0.98 and
1.04 / 1.06 / 1.04 / 1.00, Llama 3 1.04 / 1.06 / 1.03 / 0.95. A run of one letter can cost Claude 4.7 four times its
estimate. Nothing is public about Nova and models not in the table: they count as Claude 3, which is cautious.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import mul
from types import MappingProxyType
from typing import Final

from models.encodings import named_refusals


def _bytes(*ranges: tuple[int, int]) -> bytes:
    return bytes(value for low, high in ranges for value in range(low, high + 1))


# Counted in UTF-8: a character outside ASCII has one leading byte, and that byte tells the script well enough.
_ASCII: Final = (
    ("upper", _bytes((0x41, 0x5A))),
    ("lower", _bytes((0x61, 0x7A))),
    ("digit", _bytes((0x30, 0x39))),
    ("mark", _bytes((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))),
    ("space", b" "),
)
_WIDE: Final = (
    ("latin", _bytes((0xC2, 0xCB))),
    ("greek_cyrillic", _bytes((0xCC, 0xD5))),
    ("semitic", _bytes((0xD6, 0xDF))),
    ("indic", _bytes((0xE0, 0xE1))),
    ("east_asian", _bytes((0xE2, 0xEF))),
    ("astral", _bytes((0xF0, 0xF4))),
)
CLASSES: Final = tuple(name for name, _ in (*_ASCII, *_WIDE))
_NOT_LEADING = _bytes((0x00, 0xBF))
_NONE_WIDE = (0,) * len(_WIDE)


@dataclass(frozen=True, slots=True)
class Weights:
    """Thousandths of a token per o200k token and per character of each of CLASSES."""

    o200k: int
    classes: tuple[int, ...]

    def millitokens(self, o200k_tokens: int, class_counts: Iterable[int]) -> int:
        """Return the estimate in thousandths of a token, exactly additive over texts whose o200k counts add up."""
        return self.o200k * o200k_tokens + sum(map(mul, self.classes, class_counts))


WEIGHTS: Final = MappingProxyType({
    #                      o200k   upper lower digit mark space | latin gr+cyr semitic indic e.asian astral
    "claude_3": Weights(1170, (180, 0, 0, 130, 63, 800, 220, 433, 725, 460, 750)),
    "claude_4_7": Weights(1150, (675, 130, 0, 220, 63, 665, 226, 446, 690, 492, 667)),
    "mistral_32k": Weights(1140, (147, 0, 414, 244, 63, 1343, 240, 784, 1000, 457, 186)),
    "mistral_tekken": Weights(990, (102, 0, 556, 89, 63, 266, 114, 52, 160, 180, 2873)),
    "llama_3": Weights(1000, (0, 0, 0, 0, 63, 1053, 256, 356, 1256, 30, 1262)),
    "near_o200k": Weights(1100, (0,) * len(CLASSES)),
})  # fmt: skip


def class_counts(text: str) -> tuple[int, ...]:
    """Return how many characters of each of CLASSES the text has; about a nanosecond a byte and class.

    Raises UncountableText for a lone surrogate.
    """
    with named_refusals():
        raw = text.encode()
    ascii_counts = _occurrences(raw, _ASCII)
    if len(raw) == len(text):
        return ascii_counts + _NONE_WIDE
    return ascii_counts + _occurrences(raw.translate(None, _NOT_LEADING), _WIDE)


def _occurrences(raw: bytes, classes: tuple[tuple[str, bytes], ...]) -> tuple[int, ...]:
    # Deleting and comparing lengths runs in C; counting each character in Python would take fifty times as long.
    return tuple(len(raw) - len(raw.translate(None, members)) for _, members in classes)
