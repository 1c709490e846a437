"""Names in memories, by rule: from metadata, known names, and runs of capitalised words in the text.

Runs only work in scripts with capitals; metadata and known names work in every script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from compiler.plan.contract import BatchMemory
from compiler.plan.facts.past import Origin, origin
from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.ambiguous_names import is_ambiguous, is_attributive, is_theme_and_name, person_in
from compiler.plan.names.locating import city_of, place_name
from compiler.plan.names.lower_case import has_deliberate_capitals, introduced, is_shouted, small_names
from compiler.plan.names.same_names import is_genitive, joint_of_place, surname, titles_in, words_before_name
from compiler.plan.names.speakers import is_talk, speaker_of
from compiler.plan.names.themes import themes_in
from compiler.plan.text.german_nouns import (
    determines,
    is_before_name,
    is_german,
    is_german_compound,
    is_german_noun,
    is_thing,
    name_in,
    stands_before,
    without_noun,
    word_before,
)
from compiler.plan.text.kin import kin_in
from compiler.plan.text.markdown import MAX_NAME_CHARS, one_line, plain_key
from compiler.plan.text.tokens import NO_TOKEN, bare, bare_key, is_capital, is_honoured, is_quoted, tokens_of
from compiler.plan.text.words import (
    ADDRESSES,
    ALWAYS_CAPITAL,
    CONNECTORS,
    INNER_OPENERS,
    NAME_OPENERS,
    NAMING,
    NO_NAMES,
    NOTE_LABELS,
    NUMBERED,
)
from store.text.text_cache import cached_by_text

MAX_RUN_WORDS = 6
MAX_LABEL_WORDS = 5


class NameKind(StrEnum):
    """The kind of a name: a person, a place, a city, a theme, or unknown."""

    PERSON = "person"
    PLACE = "place"
    CITY = "city"
    THEME = "theme"
    THING = "thing"


@dataclass(frozen=True, slots=True)
class Spotted:
    """A name in a memory. `is_told` means certain, as from metadata; `is_initial` that it may be a common word with a capital;
    `is_noun` that it may be a noun of a German text.
    """

    name: str
    kind: NameKind = NameKind.THING
    is_told: bool = False
    is_initial: bool = False
    is_noun: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Known names by first word, each as its words, longest first; names in scripts without spaces are kept apart."""

    by_first: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    unspaced: tuple[str, ...] = ()


_PEOPLE = ("speaker", "people", "person", "persons", "participants", "author")
_PLACES = ("places", "venues")
_THINGS = ("entities", "organizations", "organisations", "companies", "projects", "pets")
_KINDS = {
    "person": NameKind.PERSON,
    "people": NameKind.PERSON,
    "place": NameKind.PLACE,
    "venue": NameKind.PLACE,
    "city": NameKind.CITY,
}
_JOINING = frozenset([",", "'", "’", "&", "-", "/", "–", "(", "*", "_", "[", "#", "@", "$", "%"])
_OPENING = frozenset(["'", "’", "-", "–", "(", "*", "_", "["])
_BETWEEN = frozenset([";"])
# `Weil Frau Odenthal den Kater nahm`; `van den Berg` is Dutch.
_GERMAN_ARTICLES = frozenset(["den", "dem", "das", "des"])
_GERMAN_AND = frozenset(["und", "oder"])
_APART = frozenset(["&"])
_PARTING = frozenset([",", ";", ":", ".", "!", "?", "(", ")", "\n", "–", "—"])
# Particles of verbs that are written as one word: `Go-live`, `Check-in`.
_PARTICLES = frozenset(["back", "down", "in", "live", "off", "on", "out", "over", "through", "up"])


def declared(memory: BatchMemory) -> Iterator[Spotted]:
    """Yield the names in the memory's metadata, and the speaker before a colon at the text's start, else the owner's kin."""
    speaker = speaker_of(memory.text)
    if not speaker and origin(memory) is Origin.USER:
        yield from (Spotted(one.name, NameKind.PERSON, is_told=True) for one in kin_in(memory.text))
    if speaker and (speaker[0].isupper() or not is_ordinary(plain_key(speaker))) and is_talk(memory.text):
        yield Spotted(speaker, NameKind.PERSON, is_told=True)
    if not memory.metadata:
        return
    for keys, kind in ((_PEOPLE, NameKind.PERSON), (_PLACES, NameKind.PLACE), (_THINGS, NameKind.THING)):
        for key in keys:
            yield from _listed(memory.metadata.get(key), kind)
    yield from _listed(place_name(memory), NameKind.PLACE)
    yield from _listed(city_of(memory), NameKind.CITY)


def themed(memory: BatchMemory) -> Iterator[Spotted]:
    """Yield the themes of the memory's text."""
    return (Spotted(title, NameKind.THEME, is_told=True) for title in themes_in(memory.text))


def begins_told(one: Spotted, told: Iterable[Spotted], text: str) -> bool:
    """Return whether a name that the text only has with a possessive sign begins a told name: `at Jo's`, of `Jo's Coffee`."""
    is_begun = any(other.is_told and other.name.startswith((f"{one.name}'s ", f"{one.name}’s ")) for other in told)
    return is_begun and not re.search(rf"(?<!\w){re.escape(one.name)}(?![\w'’])", text)


def known_names(names: Iterable[str]) -> Known:
    """Return the names, given as plain keys, in the form that `spotted` searches."""
    by_first: dict[str, set[tuple[str, ...]]] = {}
    unspaced = set()
    for name in names:
        words = tuple(name.split())
        if words and len(words) <= MAX_RUN_WORDS:
            by_first.setdefault(words[0], set()).add(words)
        if words and not name.isascii() and len(words) == 1 and name.lower() == name.upper():
            unspaced.add(name)
    ordered = {first: tuple(sorted(found, key=lambda one: (-len(one), one))) for first, found in by_first.items()}
    return Known(ordered, tuple(sorted(unspaced)))


def spotted(text: str, known: Known) -> list[Spotted]:
    """Return the names in a text: known ones, longest first, then runs of capitalised words in the rest.

    A known name within a longer run does not count, so that a run means the same whichever names are known; nor does one partly
    in lower case of which no word is in a run (`Big chungus`): a text before the name was known would not have it.
    """
    tokens = tokens_of(text)
    is_deliberate = has_deliberate_capitals(text)
    spans = list(_spans(tokens, is_deliberate=is_deliberate))
    certain = {bare_key(one.name) for _, _, one in spans if not (one.is_initial or one.is_noun)}
    nouns = {bare_key(one.name) for _, _, one in spans if one.is_noun}
    places = [at for at, token in enumerate(tokens) if token[0].isalnum()]
    keys = [bare_key(tokens[at]) for at in places]
    found: list[Spotted] = []
    for at, key in enumerate(keys):
        words = next((one for one in known.by_first.get(key, ()) if tuple(keys[at : at + len(one)]) == one), ())
        if not words:
            continue
        start, end = places[at], places[at + len(words) - 1] + 1
        shared = [(begin, stop) for begin, stop, _ in spans if begin < end and start < stop]
        if not shared and len(words) == 1 and is_ambiguous(words[0]):
            continue
        written = [one for one in tokens[start:end] if one.lower() != one.upper() and one not in CONNECTORS]
        is_written = shared or all(one[0].isupper() for one in written)
        if not is_written or _is_parted(tokens[start:end]) or _is_within(tokens, start, end):
            continue
        if not any(begin <= start and end <= stop and end - start < stop - begin for begin, stop in shared):
            name = " ".join(words)
            kind = next((one.kind for begin, stop, one in spans if (begin, stop) == (start, end)), NameKind.THING)
            is_initial = name not in certain | nouns
            found.append(Spotted(_written(tokens[start:end]), kind, is_initial=is_initial, is_noun=name in nouns))
            tokens[start:end] = [NO_TOKEN] * (end - start)
            keys[at : at + len(words)] = [NO_TOKEN] * len(words)
    found.extend(Spotted(name) for name in known.unspaced if name in text)
    found.extend(one for _, _, one in _spans(tokens, is_deliberate=is_deliberate))
    return [*found, *_small(text)]


@cached_by_text(4096)
def runs(text: str) -> tuple[Spotted, ...]:
    """Return the runs of capitalised words in a text, without words that are capitalised only because they start a sentence."""
    every = _spans(tokens_of(text), is_deliberate=has_deliberate_capitals(text))
    return (*(one for _, _, one in every), *_small(text))


def _small(text: str) -> list[Spotted]:
    certain = introduced(text)
    return [Spotted(name, is_initial=name not in certain) for name in small_names(text)]


def _listed(value: object, kind: NameKind) -> Iterator[Spotted]:
    if value is None:
        return
    if isinstance(value, str):
        name = one_line(value)
        if 1 < len(name) <= MAX_NAME_CHARS and plain_key(name):
            yield Spotted(name, kind, is_told=True)
    elif isinstance(value, Mapping):
        yield from _listed(value.get("name"), _KINDS.get(str(value.get("type", "")).lower(), kind))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _listed(one, kind)


def _spans(tokens: Iterable[str], *, is_deliberate: bool) -> Iterator[tuple[int, int, Spotted]]:
    """Yield the names made of runs of capitalised words, each with the index of its first token and that after its last.

    If capitals are deliberate, one at the start of a sentence tells as much as one within it.
    """
    run: list[str] = []
    starts = initial = True
    before = called = ""
    every = (*tokens, ".")
    is_german_text = is_german(token.lower() for token in every)
    for at, token in enumerate(every):
        if token != NO_TOKEN and is_capital(token):
            if not run:
                initial, called = starts and not is_deliberate, before
            run.append(token)
        elif run and token.lower() in CONNECTORS:
            run.append(token)
        elif run:
            is_named = called in NAMING or called in ADDRESSES or (called == ":" and _is_labelled(every, at, run))
            is_named |= is_quoted(every, at - len(run), at) and not any(is_ordinary(plain_key(one)) for one in run[:1])
            person = person_in(run, called, token, is_initial=initial)
            if person and not (is_german_text and is_theme_and_name(person)):
                yield at - len(person.split()), at, Spotted(person, NameKind.PERSON)
            elif not (is_shouted(run) or is_attributive(run[-1], token) or _is_note_label(run, token)):
                is_numbered = len(run) > 1 and token[:1].isdigit() and run[-1].lower() in NUMBERED
                words = run[:-1] if is_numbered else run
                found = _named(words, at - len(run), is_initial=initial, is_named=is_named)
                yield from _in_german(found, every) if is_german_text else found
            run = []
        before = token.lower() if token not in _JOINING else before
        if token not in _JOINING:
            starts = token != NO_TOKEN and not token[0].isalnum() and token not in _BETWEEN
        elif token not in _OPENING:
            starts = False


def _named(run: list[str], at: int, *, is_initial: bool, is_named: bool = False) -> Iterator[tuple[int, int, Spotted]]:
    """Yield the run that begins at token `at` as a name, without common words at its ends; nothing if no other words are left.

    Within a sentence, a capitalised common word belongs to the name (Under Armour), unless it is always capitalised.
    """
    start, end = 0, len(run)
    titles = titles_in(run)
    if titles:
        start, is_named = titles[-1] + 1, True
    elif is_initial and (before := words_before_name(run)):
        start, is_named = before, True
    while end > start and (_is_capitalised(run[end - 1]) or run[end - 1].lower() in CONNECTORS):
        end -= 1
    is_stripping = _is_common if is_initial else _is_capitalised
    while start < end and (is_stripping(run[start]) or run[start].lower() in CONNECTORS):
        openers = NAME_OPENERS if is_initial and not start else NAME_OPENERS | INNER_OPENERS
        if run[start] in openers and start + 1 < end and _is_opened(run[start], run[start + 1]):
            break
        start += 1
    if is_initial and start == 0 and run[1:2] == ["the"] and end > 2:
        start = 2
    words = run[start:end]
    if words and len(words) <= MAX_RUN_WORDS and not all(map(_is_common, words)) and not _is_no_name(words):
        opens, common = is_initial and start == 0, len(words) == 1 and plain_key(bare(words[0])) in COMMON_WORDS
        if is_named or not (opens and common):
            words[:1] = ["Herr"] if words[0] == "Herrn" else words[:1]
            name = " ".join([*words[:-1], bare(words[-1])])
            if joint := joint_of_place(words):
                yield from _named(run[: start + joint], at, is_initial=is_initial, is_named=is_named)
                yield from _named(run[start + joint + 1 : end], at + start + joint + 1, is_initial=False)
                return
            is_named |= bool(surname(plain_key(name))) or is_honoured(words[-1])
            yield at + start, at + end, Spotted(name, is_initial=(opens or common) and not is_named)


def _is_labelled(tokens: Sequence[str], end: int, run: Sequence[str]) -> bool:
    """Return whether the run that ends before token `end` is alone after a label: no word of its clause follows it."""
    length = end - len(run) - 1
    if length > MAX_LABEL_WORDS:
        return False
    label = tokens[:length]
    is_short = all(word[:1].isalnum() or word in _JOINING for word in label if word)
    if len(run) < 2 and all(word == NO_TOKEN or word[0].isupper() for word in label):
        return False  # a speaker, whose first word may be any word
    return is_short and not tokens[end][:1].isalpha() and COMMON_WORDS.isdisjoint(map(plain_key, run))


def _is_note_label(run: Sequence[str], after: str) -> bool:
    """Return whether the run is the label of a note: `Bug: the queue was full`."""
    return after == ":" and plain_key(run[0]) in NOTE_LABELS


def _is_opened(first: str, word: str) -> bool:
    """Return whether a name may begin with `New` or `Van` before this word: not before a role or a common word (`New DBA`)."""
    if first == "Van" and word in ("de", "den", "der"):
        return True
    return word.lower() not in CONNECTORS and not word.isupper() and plain_key(word) not in COMMON_WORDS


def _in_german(found: Iterable[tuple[int, int, Spotted]], tokens: Sequence[str]) -> Iterator[tuple[int, int, Spotted]]:
    """Yield the names of a German text without its common nouns: `Malte`, of `mit Malte Schach gespielt`.

    Doubtful (`is_noun`) are runs of nouns alone, and single words that are compounds, open a sentence, follow an article or are
    joined to a noun (`Bohnen und Mangold`).
    """
    for first, last, one in found:
        words = list(map(without_noun, one.name.split()))
        words = words[
            : next(
                (at for at, word in enumerate(words) if at and word in _GERMAN_ARTICLES and words[at - 1] != "van"),
                len(words),
            )
        ]
        after = (*words, *tokens[last : last + 2])
        owner = next((at for at, word in enumerate(words, 1) if is_genitive(word, after[at:])), 0)
        if owner:
            yield first, first + owner, replace(one, name=" ".join(words[:owner])[:-1], is_initial=False)
            if words[owner + 1 :] and stands_before(plain_key(words[owner])):
                owned = replace(one, name=" ".join(words[owner + 1 :]), is_initial=False)
                yield from _in_german([(first + owner + 1, last, owned)], tokens)
            continue
        keys = [plain_key(word) for word in words]
        opens = int(first > 0 and len(words) > 1 and is_before_name(tokens[first - 1].lower(), keys[0]))
        start, end = name_in(words[opens:], keys[opens:], is_initial=one.is_initial)
        start, end = start + opens, end + opens
        words, keys = words[start:end], keys[start:end]
        if all(is_german_noun(key) or key in NO_NAMES for key in keys):
            if any(map(is_german_noun, keys)):
                yield first, last, replace(one, is_initial=True, is_noun=True)
            continue
        begin = first + start
        is_initial = one.is_initial and not start
        before = word_before(tokens, begin)
        is_noun = len(words) == 1 and (is_initial or determines(before) or is_german_compound(keys[0]))
        is_noun |= len(words) == 1 and before in _GERMAN_AND and is_thing(plain_key(tokens[begin - 2]))
        found_name = replace(one, name=" ".join(words), is_initial=is_initial, is_noun=is_noun)
        yield begin, last - (len(one.name.split()) - end), found_name


def _is_no_name(words: list[str]) -> bool:
    """Return whether a single word is no name: too short (one character, also in `X-ray`, or two with one that is no letter),
    or a verb with a particle (`Go-live`).
    """
    begin, _, end = words[0].partition("-")
    is_short = (
        (len(begin) == 1 and end.islower()) or len(words[0]) < 2 or (len(words[0]) == 2 and not words[0].isalpha())
    )
    is_phrasal_verb = end in _PARTICLES and (begin in ("Go", "Check") or is_ordinary(plain_key(begin)))
    return len(words) == 1 and (is_short or is_phrasal_verb)


def _is_within(tokens: list[str], start: int, end: int) -> bool:
    """Return whether these tokens are part of a longer name, with or without a connector between."""
    after = end + 1 if end < len(tokens) and tokens[end].lower() in CONNECTORS else end
    before = start - 2 if start and tokens[start - 1].lower() in CONNECTORS else start - 1
    is_owner = bare(tokens[end - 1]) != tokens[end - 1]
    return (not is_owner and after < len(tokens) and _is_telling(tokens[after])) or (
        before >= 0 and _is_telling(tokens[before]) and bare(tokens[before]) == tokens[before]
    )


def _is_parted(tokens: Sequence[str]) -> bool:
    """Return whether a stop and a word in lower case part the words: `Detta, from the cold` is not `Detta-from-the-cold`."""
    return any(one in _PARTING and other.islower() for one, other in pairwise(tokens))


def _is_telling(token: str) -> bool:
    return token != NO_TOKEN and is_capital(token) and not _is_common(token)


def _written(tokens: list[str]) -> str:
    """Return the tokens of a name as text: signs are joined to the word before."""
    name = "".join(f" {token}" if token[0].isalnum() or token in _APART else token for token in tokens[:-1])
    return f"{name} {bare(tokens[-1])}".strip()


@lru_cache(maxsize=8192)
def _is_common(word: str) -> bool:
    """Return whether the word is not part of a name, or is a connector; of `Monday's`, the part before the apostrophe counts."""
    return word.lower() in CONNECTORS or any(
        plain_key(part) in NO_NAMES for part in (word, word.partition("'")[0], word.partition("’")[0])
    )


@lru_cache(maxsize=8192)
def _is_capitalised(word: str) -> bool:
    """Return whether the word is not a name but always capitalised: I, a day, a month, a title."""
    return plain_key(word.partition("'")[0].partition("’")[0]) in ALWAYS_CAPITAL
