"""The form of a text that is judged as a candidate: its length, whether it is a question, and its counts of times and names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import numpy as np

_READ_CHARS: Final = 2_000
_REMEMBERED_CHARS: Final = 8_000  # bounds the cache: a single text may be a megabyte
_MOST_TIMES, _MOST_NAMES = 2, 3
_TIME_WORDS: Final = """
    yesterday today tomorrow tonight last next ago week weekend month year morning evening recently just since
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    gestern heute morgen letzte letzten letzter letztes nächste nächsten nächster nächstes woche monat jahr
    ontem hoje amanhã passado passada próximo próxima semana mês ano ayer hoy mañana pasado pasada año
    hier demain dernier dernière semaine mois
"""
_TIMES: Final = frozenset(_TIME_WORDS.split())
_TIME_UNSPACED = re.compile("昨日|今日|明日|先[週月]|今[週月年]|来[週月年]|去年|[0-9][年月日]")
_ORDINALS: Final = ("st", "nd", "rd", "th")
_MARKS: Final = ".,;:!?()[]…\"“”'’"


def form_of(text: str) -> tuple[float, float, float, float]:
    """Return a text's length (log of UTF-8 bytes), whether it is a question, and its counts of times (to 2) and names (to 3)."""
    return _form(text) if len(text) <= _REMEMBERED_CHARS else _form.__wrapped__(text)


@lru_cache(maxsize=20_000)
def _form(text: str) -> tuple[float, float, float, float]:
    head = text[:_READ_CHARS]
    said = head.partition(" [")[0].rstrip()  # brackets hold shared attachments
    times = 0 if head.isascii() else sum(1 for _ in _TIME_UNSPACED.finditer(head))
    names, before = 0, "."
    for written in head.split():
        word = written.strip(_MARKS)
        times += _is_time(word)
        # A capitalised word counts only inside a sentence.
        names += word[:1].isupper() and word[1:2].islower() and (before[-1].islower() or before[-1] == ",")
        before = written
        if times >= _MOST_TIMES and names >= _MOST_NAMES:
            break
    length = np.log(max(8, len(text.encode(errors="replace"))))
    return float(length), float(said.endswith(("?", "？"))), min(_MOST_TIMES, times), min(_MOST_NAMES, names)


def _is_time(word: str) -> bool:
    if word[:1].isdigit():
        return (len(word) == 4 and word.isdigit()) or (word[-2:] in _ORDINALS and word[:-2].isdigit())
    return word.lower() in _TIMES
