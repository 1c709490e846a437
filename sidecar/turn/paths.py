"""Decides which typed edges a message asks to be followed, and how well a way over them answers it.

The names of the message are where walks may begin, its words of relation (`store.text.relations`) say which types they should
follow, and the period it names says when the edges must have held.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from typing import Final, NamedTuple

from sidecar.turn.periods import Period
from store.text.relations import asked_types, asks_past, may_mean_another
from store.text.texts import fold
from store.text.words import STOP_WORDS
from store.wiki.ways import EdgeWay, NameInText, WalkQuery

MAX_REACHED: Final = 24
_MAX_WORDS, _MAX_NAME_WORDS = 80, 6
_MARKS: Final = ".,;:!?()[]{}…\"“”„«»'’‘`¿¡"
_POSSESSIVE = re.compile(r"['’]s?$")
_BEGINNING: Final = datetime(1, 1, 2, tzinfo=UTC)


class Walked(NamedTuple):
    """How the typed edges lead to a text: features of its relevance.

    `hops` is the number of edges; `asked` the share of them whose type the message asks for; `met` the share of the words with
    which it asks for types that the edges explain; `evidence` the fewest pieces of evidence of one of them; `coverage` the share
    of the message's words that the name at which the way begins, the words for its types, and the text hold together.
    """

    hops: int
    asked: float
    met: float
    evidence: int
    coverage: float


@dataclass(frozen=True)
class MessageWords:
    """A message's words as written, from which names and words of relation are read; the first 80 of them."""

    text: str

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The words without the marks around them."""
        return tuple(word for word in (one.strip(_MARKS) for one in self.text.split()) if word)[:_MAX_WORDS]

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The words, folded, without a possessive's ending."""
        return tuple(fold(_POSSESSIVE.sub("", word)) for word in self.written)

    def names(self) -> list[NameInText]:
        """Return what may be a page's name: every run of up to six words but single stop words."""
        found = dict[tuple[str, int], NameInText]()
        for first in range(len(self.written)):
            for last in range(first, min(first + _MAX_NAME_WORDS, len(self.written))):
                head = " ".join(self.written[first:last])
                for end in dict.fromkeys((self.written[last], _POSSESSIVE.sub("", self.written[last]))):
                    name = fold(f"{head} {end}")
                    if last > first or (len(name) > 1 and name not in STOP_WORDS):
                        found.setdefault((name, first), NameInText(name, first, last))
        return list(found.values())


def walk_query(words: MessageWords, periods: Iterable[Period], *, now: datetime) -> WalkQuery | None:
    """Return the walk that the message asks for; None if it has no name or no word that a type could be asked with.

    Edges must have held in the first period it names with a year; else now, or ever before if it asks for what is over.
    """
    names = words.names()
    own = [word for word in words.folded if word not in STOP_WORDS]
    if not names or not own:
        return None
    named = next((one for one in periods if not one.is_yearly), None)
    since = until = now
    if named is not None:
        since = datetime.combine(named.first, time(), UTC)
        until = datetime.combine(named.last + timedelta(1), time(), UTC) - timedelta(microseconds=1)
    elif asks_past(words.folded):
        since = _BEGINNING
    return WalkQuery(names, list(asked_types(words.folded)), own, since, until)


def best_ways(words: MessageWords, ways: Sequence[EdgeWay]) -> list[tuple[EdgeWay, Walked]]:
    """Return the best way to each page that is reached, best first, at most MAX_REACHED; coverage is not judged yet.

    Words of a name do not ask for a type.
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
        known = best.get(way.page_ids[-1])
        if known is None or _goodness(judged) > _goodness(known):
            best[way.page_ids[-1]] = judged
    return sorted(best.values(), key=lambda one: (*(-number for number in _goodness(one)), one[0].titles))[:MAX_REACHED]


def words_of(words: MessageWords, way: EdgeWay) -> frozenset[str]:
    """Return the folded words of the message that a way explains: of the name at which it begins, and for its types."""
    places = set(_name_of(way))
    for kind in way.types:
        places |= _asked(words.folded, way.types).get(kind, frozenset())
    return frozenset(words.folded[place] for place in places) | {
        part for place in places for part in re.findall(r"\w+", words.folded[place])
    }


def in_words(way: EdgeWay) -> str:
    """Return the way in words, for a receipt: `Ana → works_at → Helios`; an edge followed backwards has its arrow so."""
    steps = zip(way.types, way.inward, way.titles[1:], strict=True)
    return way.titles[0] + "".join(
        f" ← {kind} ← {title}" if inward else f" → {kind} → {title}" for kind, inward, title in steps
    )


def _name_of(way: EdgeWay) -> frozenset[int]:
    return frozenset(range(way.first_word, way.last_word + 1))


def _asked(folded: tuple[str, ...], types: Iterable[str]) -> Mapping[str, frozenset[int]]:
    """Return the places of the words that ask for a type: words known for it, or those in its own name."""
    found = dict(asked_types(folded))
    for kind in types:
        parts = {part for part in kind.split("_") if part not in STOP_WORDS}
        own = frozenset(place for place, word in enumerate(folded) if word in parts)
        if own:
            found[kind] = found.get(kind, frozenset()) | own
    return found


def _goodness(judged: tuple[EdgeWay, Walked]) -> tuple[float, float, int]:
    """Return the order of ways: asked and met together, then fewer edges, then evidence."""
    walked = judged[1]
    return walked.asked * walked.met, -walked.hops, walked.evidence
