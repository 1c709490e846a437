"""Finds decisions that a later one reverses: `We gave up the cutover in May`, of `One cutover of all tables in May`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from compiler.plan.contract import Page, PageKey
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.quoting.openings import OLDEST
from compiler.plan.text.change import content_words
from compiler.plan.text.markdown import one_line, plain_key, unescape
from compiler.plan.text.sentences import undated

LATER = "later_decisions"
"""The slug of the section in which a decision lists those that take it back."""

LATER_HEADING = "Later decisions"

MIN_SHARED = 2

_REVERSING = re.compile(
    r"\b(?:g[ai]ve up|giving up|dropped|scrapped|cancel\w*|call(?:ed|ing) off|abandon\w*|revers\w+|revok\w+|overturn\w+|withdrew"
    r"|t(?:ake|ook) back|chang(?:ed|ing) (?:my|our|his|her|their) minds?|no longer|(?:am|are|is|was|will) not|wont|arent|isnt"
    r"|not to|against|instead|after all"
    r"|ya no|en (?:vez|lugar) de|descart\w+|anul\w+|cambi(?:e|amos|o) de (?:idea|opinion)|desist\w+|renunci\w+"
    r"|ja nao|em vez de|afinal|mud(?:ei|amos|ou) de ideias?"
    r"|abgesagt|verworfen|doch nicht|nicht|kein\w*|aufgegeben|stattdessen|zuruckgenommen|widerrufen|gestrichen"
    r"|annul\w+|renonc\w+|au lieu de|chang\w+ d ?avis|ne \w+ (?:plus|pas))\b"
)
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|en|s|e)$")


def reversals(decisions: Sequence[Page], times: Mapping[str, datetime]) -> Iterator[tuple[Page, tuple[Page, ...]]]:
    """Yield each reversed decision with the later decisions that reverse it, in order of path.

    A later decision reverses an earlier one of the same person if it has a word for a reversal (`gave up`, `instead`), and at
    least two and at least half of the words of the earlier one's title. `times` maps memories to when they happened.
    """
    pages = {page.key: page for page in sorted(decisions, key=lambda one: one.key)}
    said = {key: _said(page) for key, page in pages.items()}
    when = {key: _when(page, times) for key, page in pages.items()}
    reversing: dict[str, list[PageKey]] = {}
    for key, sentence in said.items():
        if _REVERSING.search(plain_key(sentence)):
            for root in _roots(f"{pages[key].title} {sentence}"):
                reversing.setdefault(root, []).append(key)
    for key, page in pages.items():
        wanted = _roots(page.title)
        shared = Counter(other for root in sorted(wanted) for other in reversing.get(root, ()))
        least = max(MIN_SHARED, len(wanted) / 2)
        later = tuple(
            pages[other]
            for other, count in sorted(shared.items())
            if count >= least and when[other] > when[key] > OLDEST and _decider(said[other]) == _decider(said[key])
        )
        if later:
            yield page, later


def _said(page: Page) -> str:
    return undated(one_line(unescape(page.summary)))


def _when(page: Page, times: Mapping[str, datetime]) -> datetime:
    """Return when the page's sentence was said; OLDEST if its memories are unknown."""
    return max((times[one.memory_id] for one in page.summary_sources if one.memory_id in times), default=OLDEST)


def _decider(said: str) -> str:
    """Return the plain key of the speaker, or of the name that the sentence begins with; empty for the writer's own decision."""
    if speaker := speaker_of(said):
        return plain_key(speaker)
    opens = next(iter(runs(said)), None)
    name = plain_key(opens.name) if opens is not None else ""
    return name if name and plain_key(said).startswith(f"{name} decided") else ""


def _roots(text: str) -> frozenset[str]:
    """Return the content words of a text without endings and numbers."""
    return frozenset(_ENDING.sub("", word) for word in content_words(text) if not word.isdigit())
