"""Suggestions for an ontology from memories: kinds of things without a type, and phrases between names without a relationship.
Pure, without a model; the same input gives the same suggestions.

A kind is read from `NAME is a KIND` and similar patterns, in six languages; a phrase is the text between two names of a sentence.
To be suggested, a kind needs two names and a phrase two pairs of names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Protocol
from uuid import UUID

from compiler.plan.edge_types import EDGE_TYPES, is_edge_type
from compiler.plan.edges.phrases import PHRASES
from compiler.plan.text.sentences import sentences
from sidecar.services.ontology.term_reading import MAX_NAME_CHARS, slug_of
from store.ontology.evidence import MAX_EXAMPLES, MAX_QUOTE_CHARS
from store.ontology.terms import EntityType, Lifecycle, Ontology, RelationshipType, Term
from store.text.texts import fold
from store.text.words import STOP_WORDS

LEAST_NAMES = 2
MAX_SUGGESTIONS = 100
MAX_NAMES = 600
_PLACE = "place"
_MAX_PHRASE_WORDS = 5
_LEAST_CONFIDENCE, _STEP, _MOST_CONFIDENCE = 0.6, 0.04, 0.84


def is_no_kind(word: str) -> bool:
    """Return whether a folded word names neither a kind of thing nor a relationship, such as `lot` or `the`."""
    words = word.split()
    return word in _NO_KINDS or all(one in STOP_WORDS or len(one) < 3 for one in words)


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_END = (
    r"(?=[,.;:!?)–—]|$|\s(?:in|on|at|of|from|for|with|near|by|to|who|that|which|where|and|or|but|called|named|not)\b)"
)
_KINDS = (
    # English: the last word of the noun phrase.
    re.compile(
        rf"(?:,\s(?:an?|the)|\s(?:is|was)\s(?:an?|the|our|my|his|her|their))\s(?:[a-z'’-]+\s){{0,3}}?(?P<kind>[a-z]{{3,30}}){_END}"
    ),
    # Spanish, Portuguese, Italian, French: the first word after the article.
    re.compile(r"\s(?:es|era|é|è|est|était)\s(?:un[ao]?|uma?|une)\s(?P<kind>[a-zà-ÿ]{3,30})\b"),
    # German: the noun, after its adjectives.
    re.compile(r"\s(?:ist|war)\s(?:eine?)\s(?:[a-zäöüß]+e[rsn]?\s){0,3}(?P<kind>[A-ZÄÖÜ][a-zäöüß]{2,29})\b"),
)
_NO_KINDS = _listed(
    """
    bit lot fan kind sort type great good one few little best worst favorite favourite first last same thing stuff way
    big small new old nice lovely huge total real mess shame pity member part reason example must big deal
    cosa coisa chose cose ding sache bisschen poco pouco peu parte partie
    """
)
_STATED = tuple(re.compile(phrase, re.IGNORECASE) for _, _, phrase in PHRASES)
_PHRASE = re.compile(r"[a-zà-ÿ’' ]+")
_JOINS = _listed(
    "and or but nor with without plus y o e ou mas pero et mais und oder aber mit ed ma con com sem sin avec"
)
_PADDING = _listed("a an the his her their our my its now still also really just already is was are were has have had")


@dataclass(frozen=True, slots=True)
class TermSighting:
    """A sighting: the owner's memory, its sentence verbatim, and the words found in it."""

    owner_id: UUID
    memory_id: str
    source: str
    label: str
    quote: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Signal:
    """One sighting of the kind of a name, of a phrase between two names, or of a typed edge, as `word`.

    `names` are the names, folded; `full` is the word as written; `is_place` is set if the name is that of a place.
    """

    is_relationship: bool
    word: str
    full: str
    names: tuple[str, ...]
    sighting: TermSighting
    is_place: bool = False


class Sighted(Protocol):
    """The sightings of some names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, folded."""

    @property
    def sighting(self) -> TermSighting:
        """The memory and the sentence."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A term to propose, with a rationale, a confidence from 0 to 1, the number of its names, and at most five sightings."""

    term: Term
    rationale: str
    confidence: float
    frequency: int
    sightings: tuple[TermSighting, ...]


@dataclass(frozen=True, slots=True)
class SeenText:
    """A memory's text of an owner, to be searched for names."""

    owner_id: UUID
    memory_id: str
    text: str
    said_at: datetime


def names_pattern(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds at most 600 names in a text, longest first; None for no names."""
    usable = sorted({" ".join(name.split()) for name in names if 2 <= len(name) <= MAX_NAME_CHARS})[:MAX_NAMES]
    longest_first = sorted(usable, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if usable else None


def signals(seen: SeenText, names: re.Pattern[str], waiting: Collection[str]) -> list[Signal]:
    """Return the signals about names in a text; `waiting` are the folded names that have no page yet."""
    return [found for sentence in sentences(seen.text) for found in _signals(seen, sentence, names, waiting)]


def edge_signal(seen: SeenText, edge_type: str, source: str, target: str) -> Signal | None:
    """Return the signal of a typed edge that a memory states; None if the type is not a valid slug."""
    if not is_edge_type(edge_type):
        return None
    text_sentences = sentences(seen.text)
    sentence = next((one for one in text_sentences if source in one and target in one), "")
    full = EDGE_TYPES.get(edge_type, edge_type.replace("_", " "))
    # A title that this memory does not contain comes from another one, and would outlive that one in the label.
    label = f"{source} {full} {target}" if sentence else full
    sentence = sentence or next(iter(text_sentences), "")
    sighting = TermSighting(
        seen.owner_id, seen.memory_id, "edge", short(label), quote_of(sentence, 0, len(sentence)), seen.said_at
    )
    return Signal(True, edge_type.replace("_", " "), full, (fold(source), fold(target)), sighting)


def suggestions(sightings: Iterable[Signal], ontology: Ontology) -> list[Suggestion]:
    """Return at most 100 terms that the signals suggest and the ontology lacks, the most frequent first."""
    groups: dict[tuple[bool, str], list[Signal]] = defaultdict(list)
    for signal in sightings:
        groups[signal.is_relationship, signal.word].append(signal)
    known = _known_words(ontology)
    made = [
        _suggestion(signals, ontology)
        for (is_relationship, word), signals in groups.items()
        if word not in known[is_relationship] and _is_enough(signals)
    ]
    by_key: dict[tuple[bool, str], Suggestion] = {}
    for one in sorted(made, key=lambda one: (-one.frequency, one.term.key)):
        is_relationship = isinstance(one.term, RelationshipType)
        if one.term.key and one.term.key.replace("_", " ") not in known[is_relationship]:
            by_key.setdefault((is_relationship, one.term.key), one)
    return list(by_key.values())[:MAX_SUGGESTIONS]


def _signals(seen: SeenText, sentence: str, names: re.Pattern[str], waiting: Collection[str]) -> Iterator[Signal]:
    places = list(names.finditer(sentence))
    for place in places:
        found = next((kind for pattern in _KINDS if (kind := pattern.match(sentence, place.end()))), None)
        if found is not None:
            word = fold(found["kind"])
            if word not in _NO_KINDS and word not in STOP_WORDS:
                source = "mention" if fold(place[0]) in waiting else "page"
                where = (place.start(), found.end())
                yield _signal(seen, (word, found["kind"].lower()), (place[0],), sentence, (source, where))
    for one, other in pairwise(places):
        full = " ".join(sentence[one.end() : other.start()].split())
        word = _phrase(full)
        if word and fold(one[0]) != fold(other[0]):
            yield _signal(seen, (word, full), (one[0], other[0]), sentence, ("memory", (one.start(), other.end())))


def _signal(
    seen: SeenText,
    word: tuple[str, str],
    names: tuple[str, ...],
    sentence: str,
    about: tuple[str, tuple[int, int]],
) -> Signal:
    source, (start, end) = about
    label = f"{names[0]}: {word[1]}" if len(names) == 1 else f"{names[0]} {word[1]} {names[1]}"
    quote = quote_of(sentence, start, end)
    sighting = TermSighting(seen.owner_id, seen.memory_id, source, short(label), quote, seen.said_at)
    return Signal(len(names) > 1, word[0], word[1], tuple(map(fold, names)), sighting)


def _phrase(between: str) -> str:
    """Return the folded phrase between two names, the key of its sightings; empty if meaningless or read by a rule."""
    if not _PHRASE.fullmatch(between) or len(between.split()) > _MAX_PHRASE_WORDS:
        return ""
    if any(pattern.fullmatch(between) for pattern in _STATED):
        return ""
    every = fold(between).split()
    if not every or every[0] in _JOINS or every[-1] in _JOINS:
        return ""  # the phrase lists the two names, or is about somebody else
    words = [word for word in every if word not in _PADDING]
    return " ".join(words) if any(word not in STOP_WORDS and len(word) > 2 for word in words) else ""


def _is_enough(sightings: Sequence[Signal]) -> bool:
    memories = {(one.sighting.owner_id, one.sighting.memory_id) for one in sightings}
    return len(memories) >= LEAST_NAMES and len({one.names for one in sightings}) >= LEAST_NAMES


def confidence(frequency: int) -> float:
    """Return the confidence of a proposal that was seen with `frequency` names."""
    return round(min(_MOST_CONFIDENCE, _LEAST_CONFIDENCE + _STEP * frequency), 2)


def _suggestion(sightings: Sequence[Signal], ontology: Ontology) -> Suggestion:
    full = Counter(one.full for one in sightings)
    name = min(full, key=lambda text: (-full[text], text))
    word, frequency = sightings[0].word, len({one.names for one in sightings})
    term: Term
    if sightings[0].is_relationship:
        term = RelationshipType(slug=slug_of(word), name=name[:MAX_NAME_CHARS])
        rationale = f"{frequency} pairs of names are related by this phrase."
    else:
        slug = slug_of(word)
        has_place = any(one.slug == _PLACE and one.lifecycle is Lifecycle.APPROVED for one in ontology.entity_types)
        broad_type = (
            _PLACE
            if has_place and slug != _PLACE and sum(one.is_place for one in sightings) * 2 > len(sightings)
            else ""
        )
        term = EntityType(slug=slug, name=name[:1].upper() + name[1:], broad_type=broad_type)
        rationale = f"{frequency} names are described with this word."
    return Suggestion(term, rationale, confidence(frequency), frequency, chosen(sightings))


def chosen(sightings: Sequence[Sighted]) -> tuple[TermSighting, ...]:
    """Return the newest sightings, one per memory, those of different names first."""
    newest = sorted(sightings, key=lambda one: (-one.sighting.said_at.timestamp(), one.sighting.memory_id, one.names))
    firsts: dict[tuple[str, ...], Sighted] = {}
    for one in newest:
        firsts.setdefault(one.names, one)
    chosen: dict[tuple[UUID, str], TermSighting] = {}
    for one in (*firsts.values(), *newest):
        chosen.setdefault((one.sighting.owner_id, one.sighting.memory_id), one.sighting)
    return tuple(chosen.values())[:MAX_EXAMPLES]


def _known_words(ontology: Ontology) -> dict[bool, set[str]]:
    """Return the words that the terms have, folded: of entity types, and of relationship types (True)."""
    return {False: _words(ontology.entity_types), True: _words(ontology.relationship_types)}


def _words(terms: Sequence[EntityType | RelationshipType]) -> set[str]:
    found = set()
    for one in terms:
        inverse = (one.inverse,) if isinstance(one, RelationshipType) and one.inverse else ()
        for text in (one.slug.replace("_", " "), one.name, *one.aliases, *inverse):
            folded = fold(text)
            found |= {folded, " ".join(word for word in folded.split() if word not in _PADDING)}
    return found


def quote_of(sentence: str, start: int, end: int) -> str:
    """Return the sentence, or the part around `start` to `end`, verbatim and stripped, at most 280 characters."""
    if len(sentence) <= MAX_QUOTE_CHARS:
        return sentence
    first = max(0, min(start, len(sentence) - MAX_QUOTE_CHARS, max(0, (start + end - MAX_QUOTE_CHARS) // 2)))
    return sentence[first : first + MAX_QUOTE_CHARS].strip()


def short(label: str) -> str:
    """Return a label on one line, cut to the maximum length."""
    return " ".join(label.split())[: 2 * MAX_NAME_CHARS]
