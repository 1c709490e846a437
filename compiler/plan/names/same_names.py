"""Different forms of the same name: a surname after a title, a German genitive, and the names of a country."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from compiler.plan.lexicon.country_names import COUNTRY_NAMES
from compiler.plan.lexicon.definition_words import ROLES
from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.text.german_nouns import is_german, is_german_compound, is_german_noun
from compiler.plan.text.kin import keys_of, kind_of
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import ADDRESSES, CONNECTORS, GENERIC, NO_NAMES, OCCASIONS, SHORT_TITLES, TITLES
from store.text.text_cache import cached_by_text

_TITLED = re.compile(
    rf"\b(?i:{'|'.join(sorted((TITLES | ADDRESSES | {'herrn'}), key=len, reverse=True))})\.? (?:(?:Dr|Prof|med|Ing)\.? ){{0,2}}"
    r"([^\W\d_a-z][\w'’-]+)(?! [^\W\d_a-zà-ÿ])"
)
_FEMALE_WORDS = """
frau mrs ms miss madame mme signora senora senorita sra dona senhora doctora doutora dra tante tia zia aunt auntie
"""
_MALE_WORDS = "herr herrn mr monsieur m signor senor sr don senhor doutor dom uncle onkel oncle tio zio"
_FEMALE, _MALE = frozenset(_FEMALE_WORDS.split()), frozenset(_MALE_WORDS.split())
_ADDRESSED = re.compile(rf"\b({'|'.join(sorted(_FEMALE | _MALE))}) (?:(?:dr|prof) )*(\w+)")
_WORD = re.compile(r"[^\W\d_][\w-]*")
_ADJECTIVE = re.compile(r"[a-zäöüß]{2,}(?:e|er|es|en|em)")
_SHORTEST = 3
# Names that end in s by themselves.
_ENDING_IN_S_WORDS = """
agnes alexis andreas boris carlos charles chris christos dennis denis dolores doris elias els francis frances gus hannes hans
ignas ines iris jacques jakobus james jannis jens johannes jonas jos jules julius kais klaas klaus kris lars laurens lis lois
louis lucas luis lukas magnus marcos marcus marius markus marlies mathias mathis matthias mats mercedes moses nicholas nicolas
niels niklas nikolas nils phyllis rasmus silas stavros thies thomas tobias tomas titus ursus athens brussels cannes laos nantes
paris texas tunis
"""
_FULL_NAME = 2
_PROJECTS = frozenset(["project", "projekt", "proyecto", "projeto", "projet", "progetto", "operation"])
_ENDING_IN_S = frozenset(_ENDING_IN_S_WORDS.split())


@cached_by_text(4096)
def titled(text: str) -> frozenset[str]:
    """Return the folded surnames that stand after a title or form of address in a text: `reuter`, of `Dr. Reuter`."""
    return frozenset(plain_key(name) for name in _TITLED.findall(text))


def is_titled(key: str, texts: Iterable[str]) -> bool:
    """Return whether a word, as a plain key, is a surname after a title in one of the texts."""
    return any(key in titled(text) for text in texts)


@cached_by_text(4096)
def _addressed(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of a form of address that tells a gender and the word that it stands before, as plain keys."""
    return frozenset((one[1], one[2]) for one in _ADDRESSED.finditer(plain_key(text)))


def is_other_gender(surname_key: str, key: str, texts: Iterable[str]) -> bool:
    """Return whether the texts have a surname only after a form of address of another gender than that with which a plain key
    begins: `Frau Dr. Reuter` is not `Herr Reuter`.
    """
    said = {word for text in texts for word, name in _addressed(text) if name == surname_key}
    first = key.partition(" ")[0]
    own, other = (_MALE, _FEMALE) if first in _MALE else (_FEMALE, _MALE)
    return first in own and bool(said & other) and not said & own


def surname(key: str) -> str:
    """Return the surname of a plain key that begins with a form of address, the name of a project of one that begins with that
    word; empty for any other.
    """
    first, _, rest = key.partition(" ")
    is_project = first in _PROJECTS and bool(rest) and not is_ordinary(rest)
    return rest if (first in ADDRESSES or is_project) and " " not in rest else ""


def words_before_name(run: Sequence[str]) -> int:
    """Return how many words at the start of a sentence's capitalised words stand before a name: 2 for an occasion (`Casamento da
    Luísa`), 1 for what somebody does before a full name (`Investor Ana Lima`), else 0.
    """
    first = plain_key(run[0])
    if len(run) <= _FULL_NAME:
        return 0
    is_joint = run[1].lower() in CONNECTORS or (first in ADDRESSES and run[2].lower() in CONNECTORS)
    return 2 if is_joint and first in OCCASIONS else int(not is_joint and first in ROLES)


def titles_in(run: Sequence[str]) -> list[int]:
    """Return the indexes of the titles before a name, with their stops or without (`Headteacher Mrs Reuter`)."""
    return [at for at, word in enumerate(run[:-1]) if plain_key(word) in (TITLES if word[-1] == "." else SHORT_TITLES)]


def joint_of_place(words: Sequence[str]) -> int:
    """Return the index at which a person's name ends before where they are from: that of `do` in `Dona Amélia do Café Lírio`, of
    `of` in `Ana Lima of Helios`; else 0.
    """
    every = range(1, len(words) - 1)
    if of := next((at for at in every if words[at] == "of"), 0):
        last = plain_key(words[of - 1])
        is_person = of >= _FULL_NAME and not (is_ordinary(last) or last in GENERIC or last in CONNECTORS)
        return of if is_person else 0
    if plain_key(words[0]) not in ADDRESSES:
        return 0
    kinds = GENERIC - CONNECTORS
    return next((at for at in every if words[at].lower() in CONNECTORS and plain_key(words[at + 1]) in kinds), 0)


def is_genitive(word: str, after: Collection[str]) -> bool:
    """Return whether a word of a German text is a name in the genitive, by the up to two tokens after it: `Annas neuer Hund`."""
    key = plain_key(word)
    if not word[:1].isupper() or not word.endswith("s") or word.endswith("ss") or len(key) <= _SHORTEST:
        return False
    stems = (key, key[:-1], key[:-2])
    if key in _ENDING_IN_S or word.isupper() or is_german_compound(key):
        return False
    if any(is_german_noun(one) or one in NO_NAMES for one in stems) or any(map(is_ordinary, stems)):
        return False
    following = list(after)
    if following and _ADJECTIVE.fullmatch(following[0]):
        following = following[1:]
    noun = plain_key(following[0]) if following and following[0][:1].isupper() else ""
    return bool(noun) and (is_german_noun(noun) or is_german_compound(noun))


@cached_by_text(4096)
def genitives(text: str) -> frozenset[str]:
    """Return the folded names in the genitive in a German text, without their s; none for a text in another language."""
    words = _WORD.findall(text)
    if not any(word.endswith("s") and word[0].isupper() for word in words) or not is_german(map(str.lower, words)):
        return frozenset()
    return frozenset(plain_key(word)[:-1] for at, word in enumerate(words) if is_genitive(word, words[at + 1 : at + 3]))


def country(key: str) -> str:
    """Return the plain key of the English name of the country that a plain key names; empty if it names none."""
    return _countries().get(key, "")


def main_key(key: str) -> str:
    """Return the canonical plain key of a name's subject: a country's English name, the same word for all words for a relative,
    else the key itself.
    """
    kind = kind_of(key)
    return keys_of(kind)[0] if kind else country(key) or key


def main_name(name: str) -> str:
    """Return the English name of the country that a name stands for; the name itself if it stands for none."""
    return country_in(name, "english")


def country_in(name: str, language: str) -> str:
    """Return the usual name in a language of the country that a name stands for; the name itself if it stands for none."""
    country_key = country(plain_key(name))
    return next((one[language][0] for one in COUNTRY_NAMES if plain_key(one["english"][0]) == country_key), name)


@cache
def _countries() -> dict[str, str]:
    every = (
        (plain_key(name), plain_key(one["english"][0])) for one in COUNTRY_NAMES for of in one.values() for name in of
    )
    return {name: own for name, own in every if len(name) > 1}
