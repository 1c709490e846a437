"""The numbers and dates of a word in one normal form: digits of any script, months, days and spelled-out numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from compiler.plan.facts.fact_words import DAYS, MAY_BE_NO_DATE, MONTHS, NUMBERS
from store.text.text_cache import cached_by_text
from store.text.texts import fold

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々〆\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]+"
)
_HAN_NUMBER = re.compile(
    "[零〇一二三四五六七八九十百千万萬億亿]{2,}|[零〇一二三四五六七八九十百千万萬億亿](?=[年月日号號時时点點分歳岁個个人円元番])"
)
COUNTED = re.compile(f"(?:{_HAN_NUMBER.pattern}|\\d+)[年月日号號時时点點分歳岁個个人円元番]?")
_MOST_DAY, _YEAR_DIGITS = 31, 4
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|er|re|e|o|a|º|ª|ste|te|de)", re.IGNORECASE)
_HAN_DIGITS = {
    sign: value
    for value, signs in enumerate(("零〇", "一", "二", "三", "四", "五", "六", "七", "八", "九"))
    for sign in signs
}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_RUN = re.compile(r"\d+")
_YEAR_FIRST = re.compile(r"(?<!\d)\d{4}[./-](\d{1,2})(?!\d)")
_MONTH = re.compile("([零〇一二三四五六七八九十]+|\\d{1,2})[月월]")
_JOINTS = ("", "und", "en", "e")


@cached_by_text(8_192)
def key(token: str) -> str:
    """Return a word for comparison: folded, with a plain apostrophe, without a possessive s."""
    word = fold(token).replace("’", "'")
    return word.removesuffix("'s")


def numbers(token: str, word: str, around: Sequence[str]) -> tuple[list[tuple[str, bool]], str]:
    """Return the numbers of a token, each with whether it is part of a date; and the token, if it is a date with separators.

    `word` is the token's `key`, `around` the token with its neighbours.
    """
    if UNSPACED.search(token):
        runs = [_bare(one) for one in _RUN.findall(token)]
        return [(one, False) for one in (*runs, *(str(_han(one)) for one in _HAN_NUMBER.findall(token)))], ""
    if any(sign.isdigit() for sign in token):
        return _digits(token, word)
    if word in NUMBERS:
        return _spelled(word, around), ""
    is_dated = word not in MAY_BE_NO_DATE or token[:1].isupper() or any(one[:1].isdigit() for one in around)
    if word in MONTHS and is_dated:
        return [(str(MONTHS[word]), True)], ""
    if word in DAYS and is_dated:
        return [(f"day {DAYS[word]}", True)], ""
    joined = _joined(word)
    return ([(str(joined), False)] if joined else []), ""


def may_count(token: str, word: str) -> bool:
    """Return whether `numbers` may find a number in a token, whatever its neighbours are."""
    is_word = token.isascii() and not any(map(str.isdigit, token)) and word not in NUMBERS
    return not is_word or word in MONTHS or word in DAYS or _joined(word) != 0


def _spelled(word: str, around: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the number of a word. In a number of two words (twenty-two), the first word has the sum and the second none."""
    values = [NUMBERS.get(key(one), 0) for one in around]
    at = next(place for place, one in enumerate(around) if key(one) == word)
    if at and _are_one(values[at - 1], values[at]):
        return []
    following = values[at + 1] if at + 1 < len(values) else 0
    return [(str(values[at] + following if _are_one(values[at], following) else values[at]), False)]


def _are_one(tens: int, ones: int) -> bool:
    return tens in range(20, 100, 10) and 0 < ones < 10


@lru_cache(maxsize=4096)
def _joined(word: str) -> int:
    """Return the number of a word compounded of two numbers, like zweiundzwanzig; 0 otherwise."""
    for cut in range(3, len(word) - 2):
        first = 1 if word[:cut] == "ein" else NUMBERS.get(word[:cut], 0)
        for joint in _JOINTS if first else ():
            rest = word[cut:].removeprefix(joint)
            if rest in NUMBERS and first != NUMBERS[rest]:
                return first * NUMBERS[rest] if NUMBERS[rest] >= 100 and not joint else first + NUMBERS[rest]
    return 0


def _digits(token: str, word: str) -> tuple[list[tuple[str, bool]], str]:
    if ordinal := _ORDINAL.fullmatch(token):
        return [(_bare(ordinal[1]), False)], ""
    parts = parts_of(token)
    if len(parts) in (2, 3) and _is_date(token, parts):
        return [(part, True) for part in parts], token
    if re.fullmatch(r"-?\d{1,3}(?:[,.]\d{3})+", token):
        return [(_bare(re.sub(r"[,.]", "", token)), False)], ""
    if not token.lstrip("-").isdigit():
        return [(word.replace(",", "."), False)], ""
    return [(_bare(token), False)], ""


def months(token: str, word: str) -> frozenset[str]:
    """Return the numbers of the months that a token names, or that it contains in a date that starts with its year."""
    named = {str(MONTHS[word])} if word in MONTHS else set()
    dated = {_bare(found[1]) for found in _YEAR_FIRST.finditer(token)}
    counted = {
        str(_han(one[1])) if one[1][0] in _HAN_DIGITS | _HAN_UNITS else _bare(one[1]) for one in _MONTH.finditer(token)
    }
    return frozenset(named | dated | counted)


def parts_of(token: str) -> tuple[str, ...]:
    """Return the numbers between the separators of a token."""
    return tuple(_bare(part) for part in re.split(r"[.,:/\-]", token) if part.isdigit())


def _is_date(token: str, parts: Sequence[str]) -> bool:
    """Return whether a token is a date written with separators: a year with a month, or also with a day."""
    if not re.search(r"[./\-]", token) or ":" in token or "," in token or token.startswith("-"):
        return False
    years = [part for part in parts if len(part) == _YEAR_DIGITS]
    small = [part for part in parts if len(part) <= 2 and 1 <= int(part) <= _MOST_DAY]
    return len(small) == len(parts) - len(years) and (len(years) == 1 or (len(parts) == 3 and not years))


def _bare(digits: str) -> str:
    sign = "-" if digits.startswith("-") else ""
    # Leading zeros are part of a code (0042); strip them only from numbers of two digits, which may be dates or counts.
    bare = digits.lstrip("-")
    return sign + (bare.lstrip("0") or "0" if len(bare) <= 2 else bare)


def _han(run: str) -> int:
    if not any(sign in _HAN_UNITS for sign in run):
        return int("".join(str(_HAN_DIGITS[sign]) for sign in run))
    total = part = digit = 0
    for sign in run:
        unit = _HAN_UNITS.get(sign)
        if unit is None:
            digit = _HAN_DIGITS[sign]
        elif unit >= 10**4:
            total, part, digit = total + (part + digit or 1) * unit, 0, 0
        else:
            part, digit = part + (digit or 1) * unit, 0
    return total + part + digit
