"""Counts tokens exactly in OpenAI's encodings, offline.

`toktok` counts. It is linear on hostile input, and releases the interpreter lock. `tiktoken` is the reference that it is tested
against. Its ranks come from a file in an installed wheel, are checked by the SHA-256 that tiktoken itself expects, and stay in
memory, so nothing is downloaded, written, or read from the environment. The text of special tokens is counted as plain text. The
only known difference is a letter new in Unicode 17 right before an English contraction, which counts one less.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import toktok

from models.errors import RankFileUnusable, TokenizerPanicked, UncountableText

if TYPE_CHECKING:
    from tiktoken import Encoding

EncodingName: TypeAlias = Literal["o200k_base", "o200k_harmony", "cl100k_base"]
ENCODINGS: Final[tuple[EncodingName, ...]] = ("o200k_base", "o200k_harmony", "cl100k_base")

_UNBOUNDED = 1_000_000_000
# A batch call starts a thread; for fewer texts, single calls are cheaper.
_BATCH_FROM = 8

# o200k_harmony differs from o200k_base only in special tokens, which are never used here: one copy in memory serves both.
_RANKS: Final[dict[EncodingName, str]] = {
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
    "cl100k_base": "cl100k_base",
}
_SHA256: Final = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
# The patterns by which each encoding splits text before merging. Tests compare them with tiktoken's.
_WORD = r"[^\r\n\p{L}\p{N}]?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS: Final = {
    "o200k_base": rf"{_WORD}{_UPPER}*{_LOWER}+{_TAIL}|{_WORD}{_UPPER}+{_LOWER}*{_TAIL}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++"
    r"|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}


def count(texts: Sequence[str], encoding: EncodingName) -> list[int]:
    """Return the exact number of tokens of each text, in linear time. Releases the interpreter lock.

    Raises UncountableText for a lone surrogate.
    """
    if len(texts) < _BATCH_FROM:
        return [count_one(text, encoding) for text in texts]
    with named_refusals():
        # One thread: a turn must not take the cores of concurrent turns.
        counts: list[int] = toktok.batch_count(texts, _RANKS[encoding], threads=1)
    return counts


def count_one(text: str, encoding: EncodingName) -> int:
    """Return the exact number of tokens of one text, as `count` does."""
    with named_refusals():
        total: int = toktok.truncate(text, _UNBOUNDED, _RANKS[encoding])[1]
    return total


def warm(encodings: Sequence[EncodingName] = ENCODINGS) -> None:
    """Load the encodings, which takes about half a second and 60 MB per rank file, so that no turn waits for that."""
    for encoding in encodings:
        count_one("warm", encoding)


def reference_count(text: str, encoding: EncodingName) -> int:
    """Return the number of tokens counted by tiktoken.

    Raises UncountableText, and TokenizerPanicked near a megabyte of whitespace, where tiktoken's native code panics.
    """
    with named_refusals():
        # tiktoken silently replaces lone surrogates; refuse them, as `count` does.
        text.encode()
        return len(reference(encoding).encode_ordinary(text))


@cache
def reference(encoding: EncodingName) -> Encoding:
    """Return tiktoken's encoding without its special tokens, built in memory. Raises RankFileUnusable."""
    from tiktoken import Encoding

    ranks = _RANKS[encoding]
    return Encoding(ranks, pat_str=_PATTERNS[ranks], mergeable_ranks=_parsed(rank_file(ranks)), special_tokens={})


def rank_file(name: str) -> bytes:
    """Return the unpacked rank file of `o200k_base` or `cl100k_base`, verified. Raises RankFileUnusable."""
    try:
        content = gzip.decompress(_packed(name).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise RankFileUnusable(f"{name}: {type(error).__name__}") from error
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise RankFileUnusable(f"{name}: wrong sha256")
    return content


def _packed(name: str) -> Path:
    # Importing the package would load its native module needlessly.
    spec = find_spec("bpe_openai")
    if spec is None or not spec.submodule_search_locations:
        raise RankFileUnusable(f"{name}: bpe-openai is not installed")
    return Path(spec.submodule_search_locations[0], "data", f"{name}.tiktoken.gz")


def _parsed(content: bytes) -> dict[bytes, int]:
    pairs = (line.split() for line in content.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def named_refusals() -> AbstractContextManager[object]:
    """Return a context that converts errors of a native tokenizer to UncountableText or TokenizerPanicked."""
    return _NamedRefusals()


class _NamedRefusals:
    # This is a class because a panic derives from BaseException, and its type cannot be imported for an except clause.
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, UnicodeEncodeError):
            raise UncountableText(error.object[error.start], error.start) from None
        if kind is not None and kind.__name__ == "PanicException":
            raise TokenizerPanicked from error
