"""Splits text into sentences by rules, in any script, for documents that are split into passages and memories that are cited.

Pure. A missed boundary only makes a sentence longer, but a false one separates a fact from its subject, so every doubtful
case (abbreviation, initial, ordinal, a lower-case letter after the stop) is not a boundary.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

# In scripts without a space after the full stop, the sign alone ends a sentence; . ! ? … need the space.
_STOP = regex.compile(
    r"""(?: (?P<spaced> [.!?…]++ )
          | (?: [[\p{Sentence_Terminal}]--[.!?．]] | ．(?!\d) ) [.!?…\p{Sentence_Terminal}]*+ )
        ["'“”’\p{Pe}\p{Pf}]*+ (?P<space>\s*+)""",
    regex.VERBOSE | regex.VERSION1,
)
_EXTENDER = regex.compile(r"[\p{M}\p{Grapheme_Extend}\u200d]")
_WORD_BEFORE = regex.compile(r"[\p{L}\p{M}\p{N}.]++$")
_DOTTED = regex.compile(r"(?:\p{L}{1,2}\.)+\p{L}{1,2}")  # e.g, U.S, z.B
_LONGEST_ABBREVIATION = 16
_APOSTROPHES = "'’"

_ABBREVIATIONS = frozenset(
    {  # English; German, French, Spanish, Portuguese, Italian, Dutch; Russian
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "sr",
        "jr",
        "st",
        "rev",
        "hon",
        "gen",
        "col",
        "maj",
        "capt",
        "lt",
        "sgt",
        "gov",
        "sen",
        "vs",
        "etc",
        "al",
        "approx",
        "est",
        "fig",
        "figs",
        "eq",
        "eqs",
        "sec",
        "ch",
        "vol",
        "dept",
        "univ",
        "inc",
        "ltd",
        "co",
        "corp",
        "ave",
        "blvd",
        "rd",
        "av",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "cf",
        "ca",
        "nr",
        "str",
        "bzw",
        "usw",
        "evtl",
        "ggf",
        "inkl",
        "zzgl",
        "bd",
        "hr",
        "fr",
        "mme",
        "mlle",
        "mgr",
        "sra",
        "dra",
        "eng",
        "profa",
        "mt",
        "ste",
        "srta",
        "dña",
        "ud",
        "uds",
        "pág",
        "págs",
        "núm",
        "sig",
        "dott",
        "ing",
        "avv",
        "dhr",
        "mevr",
        "blz",
        "г",
        "гг",
        "ул",
        "им",
        "стр",
        "рис",
        "тыс",
        "млн",
        "млрд",
        "руб",
        "см",
        "др",
        "проф",
        "акад",
    }
)
_BEFORE_NUMBERS = frozenset({"no", "nos", "art", "abs", "ed", "p", "pp", "nr", "vol", "ch", "sec"})
_ORDINAL_FOLLOWER = regex.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Quartal)\b"
)
_SHORTEST_CHARS = 20
_LONGEST_NUMBER = 3  # "12." at the start of a line is a list item


def sentence_spans(
    text: str, start: int, end: int, *, shortest_chars: int = _SHORTEST_CHARS
) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each sentence of text[start:end], without the spaces between, in order.

    Sentences shorter than `shortest_chars` (default 20) are joined to the next one ("No. Yes.").
    """
    begin = start
    for stop in _STOP.finditer(text, start, end):
        at = stop.end()
        if at - begin >= shortest_chars and at < end and _ends_sentence(text, begin, stop):
            yield begin, stop.start("space")
            begin = at
    if begin < end:
        yield begin, end


def _ends_sentence(text: str, begin: int, stop: regex.Match[str]) -> bool:
    following = text[stop.end()]
    if _EXTENDER.match(following):  # an accent belongs to the character before it
        return False
    if stop["spaced"] is None:
        return True
    if not stop["space"] or following.islower():
        return False
    if stop["spaced"] != ".":
        return True
    if stop.start() - begin < _LONGEST_NUMBER and text[begin : stop.start()].isdigit():
        return False
    return not _is_abbreviation(text, stop)


def _is_abbreviation(text: str, stop: regex.Match[str]) -> bool:
    before = _WORD_BEFORE.search(text[max(0, stop.start() - _LONGEST_ABBREVIATION) : stop.start()])
    if before is None:
        return False
    word = before[0].lower()
    if len(word) == 1 and before.start() and before.string[before.start() - 1] in _APOSTROPHES:  # isn't, Jo's
        return False
    if word.isdigit():
        return len(word) <= 2 and _ORDINAL_FOLLOWER.match(text, stop.end()) is not None  # am 3. Mai
    following = text[stop.end()]
    if word == "eng" and before[0].islower():  # German: narrow
        return False
    if (len(word) == 1 and word != "i") or word in _ABBREVIATIONS:  # J. Smith, but "you and I."
        return True
    return _DOTTED.fullmatch(word) is not None or (word in _BEFORE_NUMBERS and following.isdigit())
