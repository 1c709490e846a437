"""Decides which typed edges a message asks to follow, and how well a path over them answers it.

Walks begin at the pages that the message names. Its relation words (`store.text.relations`) give the edge types to follow, and
the period it names gives the time at which the edges must have held.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from sidecar.turn.message.periods import Period
from store.text.relations import asked_types, asks_past, may_mean_another
from store.text.texts import fold
from store.text.words import STOP_WORDS
from store.wiki.edge_paths import EdgeWay, NameInText, WalkQuery

MAX_REACHED: Final = 24
_MAX_WORDS, _MAX_NAME_WORDS = 80, 6
_MAX_WORD_CHARS = 200  # a million ligatures in a row are one word of 18 million letters
_MARKS: Final = ".,;:!?()[]{}…\"“”„«»'’‘`¿¡"
_POSSESSIVE = re.compile(r"['’]s?$")
_BEGINNING: Final = datetime(1, 1, 2, tzinfo=UTC)


class Walked(NamedTuple):
    """Features of the path of typed edges that leads to a text, for its relevance.

    `hops` is the number of edges; `asked` is the share of them whose type the message asks for; `met` is the share of the
    message's relation words that the edges explain; `evidence` is the smallest number of pieces of evidence of any edge;
    `coverage` is the share of the message's words held by the path's first name, the words for its types, and the text together.
    """

    hops: int
    asked: float
    met: float
    evidence: int
    coverage: float


@dataclass(frozen=True)
class MessageWords:
    """The first 80 words of a message as written, each up to 200 characters, from which names and relation words are read."""

    text: str

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The words without the punctuation around them."""
        parts = (part[:_MAX_WORD_CHARS].strip(_MARKS) for part in self.text.split())
        return tuple(islice(filter(None, parts), _MAX_WORDS))

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The folded words, without possessive endings."""
        return tuple(fold(_POSSESSIVE.sub("", word)) for word in self.written)

    def names(self) -> list[NameInText]:
        """Return the possible page names: every run of up to six words, except single stop words."""
        candidates = dict[tuple[str, int], NameInText]()
        for first in range(len(self.written)):
            for last in range(first, min(first + _MAX_NAME_WORDS, len(self.written))):
                head = " ".join(self.written[first:last])
                for end in dict.fromkeys((self.written[last], _POSSESSIVE.sub("", self.written[last]))):
                    name = fold(f"{head} {end}")
                    if last > first or (len(name) > 1 and name not in STOP_WORDS):
                        candidates.setdefault((name, first), NameInText(name, first, last))
        return list(candidates.values())


def walk_query(words: MessageWords, periods: Iterable[Period], *, now: datetime) -> WalkQuery | None:
    """Return the walk that the message asks for; None if it has no possible name, or no words but stop words.

    Edges must have held in the first named period that has a year; otherwise now, or at any time until now if the message asks
    about the past.
    """
    names = words.names()
    words_asked = [word for word in words.folded if word not in STOP_WORDS]
    if not names or not words_asked:
        return None
    period = next((one for one in periods if not one.is_yearly), None)
    since = until = now
    if period is not None:
        since = datetime.combine(period.first, time(), UTC)
        until = datetime.combine(period.last + timedelta(1), time(), UTC) - timedelta(microseconds=1)
    elif asks_past(words.folded):
        since = _BEGINNING
    return WalkQuery(names, list(asked_types(words.folded)), words_asked, since, until)


def best_ways(words: MessageWords, ways: Sequence[EdgeWay]) -> list[tuple[EdgeWay, Walked]]:
    """Return the best path to each reached page, best first, at most MAX_REACHED. Their coverage is still 0.

    The words of the first name do not count as asking for a type.
    """
    places_by_type = _asked(words.folded, {kind for way in ways for kind in way.types})
    best: dict[object, tuple[EdgeWay, Walked]] = {}
    for way in ways:
        name = _name_of(way)
        explained = frozenset[int]().union(*(places_by_type.get(kind, ()) for kind in way.types)) - name
        if not explained:
            continue
        share = sum(not places_by_type.get(kind, frozenset()) <= name for kind in way.types) / len(way.types)
        asking = frozenset[int]().union(*places_by_type.values()) - name
        asking -= {place for place in asking - explained if may_mean_another(words.folded[place])}
        met = len(explained) / len(asking)
        judged = (way, Walked(len(way.types), round(share, 4), round(met, 4), min(way.evidence_counts), 0.0))
        current = best.get(way.page_ids[-1])
        if current is None or _goodness(judged) > _goodness(current):
            best[way.page_ids[-1]] = judged
    return sorted(best.values(), key=lambda one: (*(-number for number in _goodness(one)), one[0].titles))[:MAX_REACHED]


def words_of(words: MessageWords, way: EdgeWay) -> frozenset[str]:
    """Return the folded words of the message that a path explains: the words of its first name, and the words for its types."""
    places = set(_name_of(way))
    for kind in way.types:
        places |= _asked(words.folded, way.types).get(kind, frozenset())
    return frozenset(words.folded[place] for place in places) | {
        part for place in places for part in re.findall(r"\w+", words.folded[place])
    }


def in_words(way: EdgeWay) -> str:
    """Return the path as text for a receipt: `Ana → works_at → Helios`. An edge followed backwards has a reversed arrow."""
    steps = zip(way.types, way.inward, way.titles[1:], strict=True)
    return way.titles[0] + "".join(
        f" ← {kind} ← {title}" if inward else f" → {kind} → {title}" for kind, inward, title in steps
    )


def _name_of(way: EdgeWay) -> frozenset[int]:
    return frozenset(range(way.first_word, way.last_word + 1))


def _asked(folded: tuple[str, ...], types: Iterable[str]) -> Mapping[str, frozenset[int]]:
    """Return for each type the indexes of the words that ask for it: its known relation words, and the words of its own name."""
    indexes = dict(asked_types(folded))
    for kind in types:
        parts = {part for part in kind.split("_") if part not in STOP_WORDS}
        own = frozenset(place for place, word in enumerate(folded) if word in parts)
        if own:
            indexes[kind] = indexes.get(kind, frozenset()) | own
    return indexes


def _goodness(judged: tuple[EdgeWay, Walked]) -> tuple[float, float, int]:
    """Return the sort key of a path: the product of asked and met, then fewer edges, then more evidence."""
    walked = judged[1]
    return walked.asked * walked.met, -walked.hops, walked.evidence
