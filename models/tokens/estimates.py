"""Estimates token counts of tokenizers that are not public, from o200k tokens and characters of each class.

The estimate is linear, so that the counts of pieces add up to the count of the whole, and a budget spent piece by piece holds for
the rendered bytes. The classes distinguish prose from code, data and other scripts: capitals, marks and digits make code and
JSON cost more than prose, and each script has its own weight.

The weights were fitted in 2026-11 to 3,659 texts of 300 to 3,000 characters and reconstructions of the tokenizers, with one token
too few counting as much as six too many. The remaining ratio of estimate to true count, by kind of text:

                       prose code JSON Markdown German French Spanish Russian Japanese Korean Chinese Arabic
    Claude 3 to 4.6     1.15 1.08 1.04     1.10   0.91   1.04    1.05    1.20     1.32   0.99    1.11   1.05
    Claude 4.7 and on   1.17 1.08 1.05     1.09   0.88   1.03    1.04    1.15     1.32   1.00    1.10   1.05
    Mistral, 32k words  1.10 1.08 1.05     1.10   0.98   1.05    1.04    1.19     1.12   0.98    1.14   1.06
    Mistral, Tekken     1.05 1.07 1.05     1.06   1.04   1.06    1.07    1.20     1.18   1.21    1.00   1.18
    Llama 3             1.04 1.06 1.04     1.04   0.95   1.05    1.06    1.45     1.06   1.02    1.00   1.46

Two to four texts in a hundred are estimated more than a tenth too low. The worst are Kannada in Claude (0.6), Armenian in
Llama (0.4) and a run of one letter in Claude 4.7 (a quarter). Nova, Llama 4, Claude 5.5 and models not in the table have
no public tokenizer at all and use a related family. `near_o200k` is for OpenAI's unpublished encodings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from models.tokens.encodings import named_refusals


def _bytes(*ranges: tuple[int, int]) -> bytes:
    return bytes(value for low, high in ranges for value in range(low, high + 1))


# Characters are counted in UTF-8: a non-ASCII character has one leading byte, which identifies the script well enough. `other`
# holds the scripts of East Asia, and typographic signs.
_MEMBERS: Final = MappingProxyType({
    "upper": _bytes((0x41, 0x5A)),
    "digit": _bytes((0x30, 0x39)),
    "mark": _bytes((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": b" ",
    "latin": _bytes((0xC2, 0xCB)),
    "greek_cyrillic": _bytes((0xCC, 0xD5)),
    "semitic": _bytes((0xD6, 0xDF)),
    "indic": _bytes((0xE0, 0xE1)),
    "other": _bytes((0xE2, 0xEF)),
    "astral": _bytes((0xF0, 0xF4)),
})  # fmt: skip
_NARROW: Final = ("upper", "digit", "mark", "space")
_BEYOND: Final = tuple(name for name in _MEMBERS if name not in _NARROW)
_ASCII = _bytes((0x00, 0x7F))

CLASSES: Final = ("ascii", *_NARROW, *_BEYOND)


@dataclass(frozen=True, slots=True)
class TokenWeights:
    """Weights in thousandths of a token: per o200k token, per ASCII character, and per character of the named classes."""

    o200k: int
    ascii: int
    narrow: tuple[tuple[str, int], ...]
    beyond: tuple[tuple[str, int], ...]

    def of_text(self, text: str, o200k_tokens: int) -> int:
        """Return a text's estimate in thousandths of a token. Raises UncountableText for a lone surrogate."""
        with named_refusals():
            raw = text.encode()
        total = self.o200k * o200k_tokens + _weighed(raw, self.narrow)
        if len(raw) == len(text):
            return total + self.ascii * len(raw)
        beyond = raw.translate(None, _ASCII)
        return total + self.ascii * (len(raw) - len(beyond)) + _weighed(beyond, self.beyond)

    def of_counts(self, o200k_tokens: int, class_counts: Iterable[int]) -> int:
        """Return the result of `of_text` from the text's `class_counts`."""
        counts = dict(zip(CLASSES, class_counts, strict=True))
        by_class = sum(counts[name] * weight for name, weight in (*self.narrow, *self.beyond))
        return self.o200k * o200k_tokens + self.ascii * counts["ascii"] + by_class


def class_counts(text: str) -> tuple[int, ...]:
    """Return the number of characters of each of CLASSES in the text. Raises UncountableText for a lone surrogate."""
    with named_refusals():
        raw = text.encode()
    return (_count(raw, _ASCII), *(_count(raw, _MEMBERS[name]) for name in (*_NARROW, *_BEYOND)))


def _weighed(raw: bytes, classes: tuple[tuple[str, int], ...]) -> int:
    return sum(weight * _count(raw, _MEMBERS[name]) for name, weight in classes)


def _count(raw: bytes, members: bytes) -> int:
    # Deleting and comparing lengths runs in C; counting in Python takes fifty times as long.
    return len(raw) - len(raw.translate(None, members))


def _family(o200k: int, ascii_weight: int, *by_class: int) -> TokenWeights:
    """Return the weights of a family from a row of the table. Classes of weight 0 are left out, so that they are not counted."""
    named = [(name, weight) for name, weight in zip((*_NARROW, *_BEYOND), by_class, strict=True) if weight]
    narrow = tuple(pair for pair in named if pair[0] in _NARROW)
    return TokenWeights(o200k, ascii_weight, narrow, tuple(pair for pair in named if pair not in narrow))


WEIGHTS: Final = MappingProxyType({
    #                      o200k ascii  upper digit mark space latin gr/cyr semitic indic   other astral
    "claude_3": _family(    1170,    0,   180,    0, 130,   63,  800,   220,    433,  725,    460,   750),
    "claude_4_7": _family(  1287,   95,   495,    0,   0,    0,  477,   166,    391,  620,    382,   332),
    "mistral_32k": _family( 1140,    0,   147,  414, 244,   63, 1343,   240,    784, 1000,    457,   186),
    "mistral_tekken": _family(990,   0,   102,  556,  89,   63,  266,   114,     52,  160,    180,  2873),
    "llama_3": _family(     1000,    0,     0,    0,   0,   63, 1053,   256,    356, 1256,     30,  1262),
    "near_o200k": _family(  1100,    0,     0,    0,   0,    0,    0,     0,      0,    0,      0,     0),
})  # fmt: skip
