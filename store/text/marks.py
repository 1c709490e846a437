"""The ranker's marks of a text: whether it is a question, and how many times and names it mentions.

They are stored when the text is written; computing them at recall costs a seventh of a turn over unseen texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Final, NamedTuple

RULE: Final = 1
"""The version of the rule. Raise it with each change of the rule: marks of other versions are ignored and made again."""

READ_CHARS: Final = 2_000
"""The number of characters read of a text."""

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
_SIGNS: Final = ".,;:!?()[]…\"“”'’"


class Marks(NamedTuple):
    """The marks of a text: 1 if it is a question, the number of times (0 to 2) and of names (0 to 3) that it mentions."""

    is_question: int
    times: int
    names: int


def written(marks: Marks) -> int:
    """Return the marks as one small number, with the rule's version."""
    return RULE << 5 | marks.is_question << 4 | marks.times << 2 | marks.names


MARKS: Final[Mapping[int | None, Marks]] = {
    written(one): one for one in map(Marks._make, product(range(2), range(_MOST_TIMES + 1), range(_MOST_NAMES + 1)))
}
"""The marks by their stored number. Numbers of other versions of the rule are missing."""


def marks_of(text: str) -> int:
    """Return the marks of a text, as stored."""
    head = text[:READ_CHARS]
    own_words = head.partition(" [")[0].rstrip()  # brackets hold shared attachments
    times = 0 if head.isascii() else sum(1 for _ in _TIME_UNSPACED.finditer(head))
    names, before = 0, "."
    for spelt in head.split():
        word = spelt.strip(_SIGNS)
        times += _is_time(word)
        # A capitalised word counts only inside a sentence.
        names += word[:1].isupper() and word[1:2].islower() and (before[-1].islower() or before[-1] == ",")
        before = spelt
        if times >= _MOST_TIMES and names >= _MOST_NAMES:
            break
    is_question = int(own_words.endswith(("?", "？")))
    return written(Marks(is_question, min(_MOST_TIMES, times), min(_MOST_NAMES, names)))


def _is_time(word: str) -> bool:
    if word[:1].isdigit():
        return (len(word) == 4 and word.isdigit()) or (word[-2:] in _ORDINALS and word[:-2].isdigit())
    return word.lower() in _TIMES
