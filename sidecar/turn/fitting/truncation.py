"""Cuts the middle out of a text so that it fits a number of tokens, and puts a mark in its place.

Used only for a last exchange larger than the whole pool. The beginning and end are kept because a long message usually states
its subject and its request there.
"""

from __future__ import annotations

import unicodedata

from sidecar.turn.items import TokenCounter

CUT_MARK = "\n[… cut here to fit …]\n"

_MOST_COUNTS = 12
_MOST_FLAG_HALVES = 4096
_SNAP_LINE_CHARS, _SNAP_WORD_CHARS, _SNAP_LETTER_CHARS = 160, 32, 32


def cut_middle(text: str, limit_tokens: int, meter: TokenCounter, *, text_tokens: int) -> tuple[str, int]:
    """Return the text with its middle cut out, and its tokens: at most the limit, usually within 1/256 of it.

    `text_tokens` is the count of the whole text, above the limit. If the limit cannot hold the mark, the result is empty.
    At most 12 candidate lengths are counted, mostly near the limit, so that the time stays linear even for a megabyte of one
    letter.
    """
    best, best_tokens = CUT_MARK.strip(), meter.count([CUT_MARK.strip()])[0]
    if best_tokens > limit_tokens:
        return "", 0
    low, low_tokens, high, high_tokens = 0, best_tokens, len(text), text_tokens
    for attempt in range(_MOST_COUNTS):
        if high - low < 2 or limit_tokens - best_tokens <= limit_tokens // 256:
            break
        kept = _next_length(low, high, (limit_tokens - low_tokens) / max(1, high_tokens - low_tokens), attempt)
        shorter = _without_middle(text, kept)
        tokens = meter.count([shorter])[0]
        if tokens > limit_tokens:
            high, high_tokens = kept, tokens
        else:
            low, low_tokens = kept, tokens
            best, best_tokens = (shorter, tokens) if tokens >= best_tokens else (best, best_tokens)
    return best, best_tokens


def _next_length(low: int, high: int, share: float, attempt: int) -> int:
    """Return the length to try next: by linear interpolation, every third time by bisection."""
    guess = (low + high) // 2 if attempt % 3 == 2 else low + int((high - low) * share)
    return min(max(guess, low + 1), high - 1)


def _without_middle(text: str, kept_chars: int) -> str:
    """Return the beginning and end of the text, about `kept_chars` together, with the mark between them."""
    tail_chars = kept_chars // 2
    end = _end_of_head(text, kept_chars - tail_chars)
    return text[:end] + CUT_MARK + text[_start_of_tail(text, len(text) - tail_chars) :]


def _end_of_head(text: str, at: int) -> int:
    """Return the end of the head, at most `at`: after a nearby line or word end, never inside a grapheme."""
    for sign, reach in (("\n", _SNAP_LINE_CHARS), (" ", _SNAP_WORD_CHARS)):
        position = text.rfind(sign, at - min(reach, at // 8), at)
        if position >= 0:
            return position + 1
    for place in range(at, max(-1, at - _SNAP_LETTER_CHARS), -1):
        if not _is_inside_letter(text, place):
            return place
    return at


def _start_of_tail(text: str, at: int) -> int:
    """Return the start of the tail, at least `at`, by the same rule as `_end_of_head`."""
    tail_chars = len(text) - at
    for sign, reach in (("\n", _SNAP_LINE_CHARS), (" ", _SNAP_WORD_CHARS)):
        position = text.find(sign, at, at + min(reach, tail_chars // 8))
        if position >= 0:
            return position + 1
    for place in range(at, min(len(text) + 1, at + _SNAP_LETTER_CHARS)):
        if not _is_inside_letter(text, place):
            return place
    return at


def _is_inside_letter(text: str, at: int) -> bool:
    """Return whether a cut at `at` would split a grapheme: a letter and its accent, a flag, a joined emoji."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if unicodedata.category(after) in {"Mn", "Mc", "Me"} or "\u200d" in (before, after):
        return True
    if "\u1160" <= after <= "\u11ff" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return _is_flag_half(after) and _flag_halves_before(text, at) % 2 == 1


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    count = 0
    while count < _MOST_FLAG_HALVES and at - count > 0 and _is_flag_half(text[at - count - 1]):
        count += 1
    return count
