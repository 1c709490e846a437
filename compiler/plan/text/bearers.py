"""Finds what a sentence says of the bearer of a name (`my sister Ana`, `Ana from work`), to tell several bearers apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from compiler.plan.lexicon import bearer_words, kin_words
from compiler.plan.text.markdown import plain_key
from store.text.calendar_words import CALENDAR_WORDS
from store.text.text_cache import cached_by_text
from store.text.words import STOP_WORDS

_MARK = "\x01"
_WORD = re.compile(r"[^\W\d_][\w-]*")
_NEAR = frozenset(["wife", "husband", "sister", "brother", "daughter", "son"])
_CHILDREN = frozenset(["son", "daughter"])
_OFTEN = 2
_LINE = re.compile(r"^- (?:\d{4}-\d\d-\d\d: )?")  # a line of a page
_OCCUPATION = re.compile(
    r"[^\W\d_]{3,}(?:ist|ista|istin|ician|keeper|worker|maker|mate|fighter|leiter|leiterin|meister|meisterin)"
)
# `The teacher Ana likes is kind` says nothing of Ana.
_LIKED = re.compile(r"\s\w+s(?: (?:with|at|to|for|about|in|from))? (?:is|was|has|had|will|can|says|said|came|left)\b")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}): ")
_POSSESSIVES = sorted({word for line in kin_words.POSSESSIVES.values() for word in line.partition(":")[2].split()})
_OWNERS = rf"(?:the\s)?user['’]s|{'|'.join(_POSSESSIVES)}"
_OF_USER = "d[ao] usuári[ao]|del? (?:la )?usuari[ao]|de l['’]utilisat(?:eur|rice)|der nutzerin|des nutzers|of the user"
_ARTICLES = "an?|another|eine?[mnr]?|una?|uma?|une?|uno"
_IS = "is|ist|es|é|est|è"
_BEARS = "are|is|are called|is called|are named|is named|se llaman?|se chamam?|heißen|heißt"
_USERS = frozenset(["user", "the user", "usuario", "usuaria", "nutzer", "nutzerin", "utilizador", "utilizadora"])
_THE = "the|der|die|den|dem|das|el|la|o|a|le|lo|il"
_DEFINITE = frozenset(_THE.split("|"))
_DETERMINER = re.compile(rf"(?!Mia)(?i:{_OWNERS}|{_ARTICLES}|{_THE}|{'|'.join(bearer_words.THEIRS.split())})|.*['’]s?")
# Words that may stand before or after a name to tell its bearer.
_MARKING_WORDS = """
from aus del de do da du dr dra prof mr mrs ms sr sra srta frau herr doctor doktor doutor doctora doutora
"""
_MARKING = frozenset(_MARKING_WORDS.split())
# Words before `'s` that own nothing: `It's Ana`, `today's Ana`.
_CONTRACTED = (
    STOP_WORDS | CALENDAR_WORDS | {"let", "everybody", "everyone", "everything", "nobody", "somebody", "someone"}
)


class BearerKind(StrEnum):
    """What the bearer of a name is: a relative of the owner, somebody else that the owner knows, an animal, somebody's (`Sam's
    Rex`), or a child of somebody else (`Sam's twins, Leo and Max`).
    """

    KIN = "kin"
    STRANGER = "stranger"
    BEAST = "beast"
    OWNED = "owned"
    CHILD = "child"


class BearerRole(NamedTuple):
    """What the bearer of a name is, by a sentence. A label tells them from others (`Ana from work`, `Grandma Lena`)."""

    bearer: BearerKind
    noun: str
    is_label: bool = False
    speaker: str = ""


def are_several(roles: Collection[BearerRole]) -> bool:
    """Return whether the roles are those of several bearers: two relatives, an animal and a person, a relative and a stranger, or
    two that belong to different people. Other labels do not count.
    """
    if len({one.noun for one in roles if one.bearer is BearerKind.OWNED}) > 1:
        return True
    told = {one for one in roles if not one.is_label}
    kin = {(one.speaker, one.noun) for one in told if one.bearer is BearerKind.KIN}
    is_of_kin = any((speaker, other) for speaker, noun in kin for by, other in kin if by == speaker and other != noun)
    bearers = {one.bearer for one in told}
    return is_of_kin or len(bearers) > 1


def are_labelled(short: Collection[BearerRole], full: Collection[BearerRole], count: int) -> bool:
    """Return whether a first name alone is not short for a full name, which `count` memories have. Either its roles have a label
    that tells its bearer from others, or they are those of a relative, and the full name is said often and of no relative.
    """
    is_kin = any(one.bearer is BearerKind.KIN and not one.is_label for one in short)
    is_known = any(one.bearer is BearerKind.KIN for one in full)
    is_apart = any(one.is_label and one.noun and one.bearer is BearerKind.STRANGER for one in short)
    return (is_kin and not is_known and count >= _OFTEN) or is_apart


def is_of_another(roles: Iterable[BearerRole], known: Collection[BearerRole]) -> bool:
    """Return whether a sentence with these roles labels a bearer of the name who is not the one with the `known` roles."""
    labels = [one for one in roles if one.is_label]
    return any(_differ(one, other) for one in labels for other in known if not other.is_label)


def _differ(label: BearerRole, known: BearerRole) -> bool:
    """Return whether a label is not that of the known bearer. Children call the owner's mother `Grandma Ana`."""
    if label.bearer is BearerKind.CHILD:
        return known.bearer is BearerKind.KIN and known.noun in _CHILDREN
    if label.bearer is BearerKind.OWNED:
        return known.bearer in (BearerKind.KIN, BearerKind.STRANGER)
    if label.bearer is not known.bearer or label.bearer is not BearerKind.KIN:
        return label.bearer is not known.bearer
    return label.speaker == known.speaker and _of_children(label.noun) != _of_children(known.noun)


def _of_children(kind: str) -> str:
    words = kind.removeprefix("grand").removesuffix("-in-law")
    return {"aunt": "sister", "uncle": "brother"}.get(words, words)


@lru_cache(maxsize=8192)
def roles(name: str, sentence: str) -> frozenset[BearerRole]:
    """Return what a sentence says about the bearer of a name."""
    if name not in sentence or not _may_tell(sentence):
        return frozenset()
    sentence = _LINE.sub("", sentence)
    spoken = _SPEAKER.match(sentence)
    speaker, said = (plain_key(spoken[1]), sentence[spoken.end() :]) if spoken else ("", sentence)
    marked = _marked(name, said)
    introduced = tuple(_introductions(marked)) or tuple(_children(marked))
    return frozenset(one._replace(speaker=speaker) for one in introduced or _labels(marked))


def told(names: Iterable[str], every: Iterable[str]) -> frozenset[BearerRole]:
    """Return what the sentences say about the bearer of one of the names."""
    names = tuple(names)
    having = ((name, sentence) for sentence in every for name in names if name in sentence)
    return frozenset(one for name, sentence in having for one in roles(name, sentence))


def without_others(quoted: Sequence[str], names: Collection[str], known: Collection[BearerRole]) -> tuple[str, ...]:
    """Return the sentences without those that label another bearer of the names than the one with the `known` roles."""
    return tuple(one for one in quoted if not is_of_another(told(names, (one,)), known))


def _marked(name: str, said: str) -> str:
    return re.sub(rf"(?<![\w'’-]){re.escape(name)}(?![\w-])", _MARK, said)


@cached_by_text(8192)
def _may_tell(sentence: str) -> bool:
    words = set(_WORD.findall(sentence.casefold()))
    return (
        not words.isdisjoint(_telling())
        or any(map(_OCCUPATION.fullmatch, words))
        or "'s " in sentence
        or "’s " in sentence
    )


def _introductions(marked: str) -> Iterator[BearerRole]:
    every = ((found, at > 0) for at, pattern in enumerate(_introducing()) for found in pattern.finditer(marked))
    for found, is_after in every:
        owner, article, noun = found["owner"] or "", found["article"], found["noun"].casefold()
        if article and not is_after and _LIKED.match(marked, found.end()):
            continue
        is_own = bool(owner) and (owner.casefold() not in _theirs() or not found.start())
        is_own |= bool(found["user"]) or bool(article and not found["between"] and noun in _relatives())
        if noun in _beasts():
            yield BearerRole(BearerKind.BEAST, "")
        elif is_own and noun in _relatives():
            # `La abuela Ana` may be the grandmother of the owner's children, whom the owner calls mother.
            yield BearerRole(BearerKind.KIN, _relatives()[noun], is_label=not (owner or found["user"]) and not is_after)
        elif _is_stranger(noun) and (is_own or (article and not is_after)):  # `Ana is a nurse` may be said of a sister
            yield BearerRole(BearerKind.STRANGER, "", is_label=bool(article) and _is_definite(article, noun))


def _children(marked: str) -> Iterator[BearerRole]:
    """Yield the role of a child of somebody who is not the owner: `Sam's sons, Leo and Max`, `los gemelos de Ana, Leo y Max`."""
    for found in _of_others().finditer(marked):
        if plain_key(found["owner"] or found["parent"]) not in _USERS:
            yield BearerRole(BearerKind.CHILD, "", is_label=True)


def _is_definite(article: str, noun: str) -> bool:
    """Return whether an article is a definite one: `a` is one in Portuguese."""
    key = article.casefold()
    return key in _DEFINITE and (key != "a" or noun not in _english_strangers())


def _labels(marked: str) -> Iterator[BearerRole]:
    every = (one for one in _labelled().finditer(marked) if not (one["before"] and _LIKED.match(marked, one.end() + 1)))
    for found in every:
        labels = ("before", "noun", "group", "owning", "title", "aside")
        before, after, group, owning, title, aside = (found[one].casefold() if found[one] else "" for one in labels)
        kind = _relatives().get(before, "")
        is_determined = _is_determined(marked[: found.start()])
        if kind and not is_determined:
            yield BearerRole(BearerKind.KIN, kind, is_label=True)
        elif after in _beasts():
            yield BearerRole(BearerKind.BEAST, "", is_label=True)
        elif group and plain_key(group) not in STOP_WORDS:
            yield BearerRole(BearerKind.STRANGER, plain_key(group), is_label=True)
        elif aside in _beasts():
            yield BearerRole(BearerKind.BEAST, "", is_label=True)
        elif title and not (title in _relatives() and is_determined):  # `meine Frau Ana`
            yield BearerRole(BearerKind.STRANGER, "", is_label=True)
        elif _is_stranger(after or aside):
            yield BearerRole(BearerKind.STRANGER, after or aside, is_label=True)
        elif _is_stranger(before) and not is_determined:
            yield BearerRole(BearerKind.STRANGER, before, is_label=True)
        elif owning in _theirs() or (owning and plain_key(owning) not in _CONTRACTED):
            yield BearerRole(BearerKind.OWNED, plain_key(owning), is_label=True)


def _is_determined(before: str) -> bool:
    """Return whether a possessive or an article may belong to the noun after a text: `my older`, `Sam's`."""
    return any(map(_DETERMINER.fullmatch, before.split()[-2:]))


def is_kin_of_somebody(name: str, sentence: str) -> bool:
    """Return whether a sentence says whose husband, wife, brother, sister or child the bearer of a name is."""
    return name in sentence and _may_tell(sentence) and bool(_near().search(_marked(name, sentence)))


def is_beast(name: str, sentence: str) -> bool:
    """Return whether a sentence says that the bearer of a name is an animal."""
    return any(one.bearer is BearerKind.BEAST for one in roles(name, sentence))


@cache
def _near() -> re.Pattern[str]:
    near = [re.escape(word) for word, kind in _relatives().items() if kind in _NEAR]
    kinds = "|".join((*near, *bearer_words.PARTNERS.split()))
    called = rf"(?:,|\s(?:is\s)?(?:{'|'.join(bearer_words.CALLED.split())}))?"
    owner = rf"(?:['’]s|\b(?:{_OWNERS}|{'|'.join(_theirs())}))"
    before = rf"{owner}\s(?:\w+\s)?(?:{kinds}){called}\s{_MARK}(?!['’](?!s\b)|\s(?-i:[A-Z]))"
    after = rf"{_MARK}\s(?:{_IS})\s(?:(?:\S+\s){{0,2}})(?:{kinds})(?![\w-])"
    of_name = rf"\b(?:{kinds})\s(?:de|von|of|di)\s[^\W\d_][\w-]*,\s{_MARK}"
    return re.compile(rf"{before}|{after}|{of_name}", re.IGNORECASE)


@cache
def _of_others() -> re.Pattern[str]:
    """Return the pattern of a list of somebody's children. A single one may be the owner's, whom a note calls by name."""
    kinds = "|".join(bearer_words.CHILDREN.split())
    name = r"[^\W\d_a-zß-ÿ][\w-]*"
    others = rf"(?:{name}(?: \(\d+\))?(?:, | (?:and|y|e|und|et) ))*"
    called = rf"(?:,? (?:(?i:{'|'.join(bearer_words.CALLED.split())}|{_BEARS}))?|, )\s?{others}{_MARK}(?!['’](?!s\b))"
    return re.compile(
        rf"(?<![\w'’-])(?P<owner>{name}(?: {name})?)['’]s? (?:[\w-]+ ){{0,2}}(?i:{kinds}){called}"
        rf"|\b(?i:{kinds}) (?:de|da|do|von|of|di|del) (?P<parent>{name}){called}"
    )


@cache
def _introducing() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of introductions: `my sister Ana`, `the dog Rex`, `a colleague called Ana`; `Ana, my aunt`."""
    called, theirs = "|".join(bearer_words.CALLED.split()), "|".join(sorted(_theirs()))
    owned = rf"(?P<owner>(?!Mia\b)(?i:{_OWNERS}|{theirs}))|(?P<article>(?i:{_ARTICLES}|{_THE}))"
    noun, user = r"(?P<noun>[^\W\d_][\w-]*)", rf"(?P<user>\s(?i:{_OF_USER}))?"
    before = (
        rf"(?:(?<![\w'’-])(?:{owned})|['’]s?)\s(?P<between>(?:(?!(?i:{called})\s)[\w'’-]+\s){{0,2}}?){noun}{user}"
        rf"(?:,?\s(?:who\sis\s)?(?i:{called}|{_IS})|,)?(?:\s(?:o|a))?\s{_MARK}(?!['’](?!s\b)|\s[^\W\d_a-zß-ÿ])"
    )
    after = (
        rf"{_MARK}(?:,|\s(?:{_IS}))\s(?:(?:{owned})\s)?(?P<between>{between}){noun}(?!['’-]){user}"
        for between in ("", r"[\w'’-]+\s")
    )
    return (re.compile(before), *map(re.compile, after))


@cache
def _labelled() -> re.Pattern[str]:
    """Return the pattern of a label: `Grandma Lena`, `Rex the dog`, `Ana from work`, `Ana aus dem Chor`."""
    return re.compile(
        rf"(?<!\w)(?P<title>(?:Dr|Dra|Prof|Mr|Mrs|Ms|Sr|Sra|Srta)\.?|Frau|Herr|Doctor|Doktor|Doutor|Doctora|Doutora)\s(?={_MARK})"
        rf"|(?<![\w'’-])(?P<owning>[^\W\d_a-zß-ÿ][\w-]*(?=['’])|his|her|their)(?:['’]s?)?\s(?={_MARK})"
        rf"|{_MARK}\s\((?:(?i:{_OWNERS}|{_THE}|{_ARTICLES})\s(?:\w+\s)??)?(?P<aside>[^\W\d_][\w-]*)"
        rf"|(?<![\w'’-])(?P<before>[^\W\d_][\w-]*)\s(?={_MARK}(?!\s[^\W\d_a-zß-ÿ]))"
        rf"|{_MARK}\s(?:the|der|die|el|la|o|a|le|il)\s(?P<noun>[^\W\d_][\w-]*)"
        rf"|(?:^|(?<=[,.;:]\s)|(?<=\b(?:at|to|by|in|de|et|da|do|an|zu)\s)|(?<=\b(?:and|for|und|mit|von|con|com)\s)|(?<=\bwith\s))"
        rf"{_MARK}\s(?:from|aus\s(?:dem|der)|del|de\sla|do|da|du|de\sl['’])\s"
        rf"(?:(?:the|my|our|his|her|their|mein\w*|unser\w*)\s)?(?P<group>[^\W\d_A-Z][\w-]*|(?<=de[mr]\s)[^\W\d_][\w-]*)"
    )


@cache
def _relatives() -> dict[str, str]:
    """Return the kind of relative that each word stands for."""
    found: dict[str, str] = {}
    kind = ""
    for line in kin_words.KIN.strip().split("\n"):
        if not line.startswith(" "):
            kind = line.split()[0]
            continue
        found |= {word: kind for part in line.split("|") for word in part.split()[1:]}
    for line in bearer_words.RELATIVES.strip().split("\n"):
        kind, _, words = line.partition(":")
        found |= dict.fromkeys(words.split(), kind)
    return found


@cache
def _telling() -> Set[str]:
    """Return the words without which no sentence tells who a bearer is."""
    others = frozenset((*bearer_words.PARTNERS.split(), *bearer_words.CHILDREN.split()))
    return _relatives().keys() | _beasts() | _strangers() | _MARKING | others


@cache
def _beasts() -> frozenset[str]:
    return frozenset(bearer_words.BEASTS.split())


@cache
def _strangers() -> frozenset[str]:
    return _english_strangers() | frozenset(bearer_words.STRANGERS.split())


@cache
def _english_strangers() -> frozenset[str]:
    return frozenset(bearer_words.STRANGERS_ENGLISH.split())


def _is_stranger(noun: str) -> bool:
    """Return whether a noun tells what somebody does who is no relative."""
    return noun in _strangers() or bool(_OCCUPATION.fullmatch(noun))


@cache
def _theirs() -> frozenset[str]:
    return frozenset(bearer_words.THEIRS.split())
