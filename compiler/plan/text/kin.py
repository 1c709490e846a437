"""Finds the owner's kin in a text: words for kin used as names (`Mum`), and after a possessive (`my sister`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from compiler.plan.lexicon import kin_words
from compiler.plan.text.german_nouns import is_german_noun
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import NO_NAMES
from store.text.text_cache import cached_by_text

_NAME = r"[^\W\d_a-zß-ÿ][\w-]+(?: [^\W\d_a-zß-ÿ][\w-]+)?"
_IS = "is|was|ist|war|est|es|é|è|era"
_CALLED = "is called|is named|heißt|heisst|s['’]appelle|se llama|se chama|chama-se|si chiama"
_AFTER = re.compile(rf"(?:\s+(?:{_CALLED}))?\s+({_NAME})")
_IN_BRACKETS = re.compile(rf"\s\(({_NAME})\)")
_BEFORE = re.compile(rf"(?:^|[.!?;:]\s+)({_NAME})\s+(?:{_IS})\s+(?:(?:a|o)\s+)?$")
_OTHERS = re.compile(r"['’]s?\s+$")
_NEXT = re.compile(r"[\s-]+(in[\s-]+law\b|\w+)")
_THEIRS = re.compile(r"['’]s?\s+(?:\w+\s+)?(\w+)")
_CAPITAL = re.compile(r" ([^\W\d_a-zß-ÿ][\w-]+)")
_PARENTS = frozenset(["mother", "father"])
_OF = re.compile(r"\s+(?:von|of|de|do|da|di|du)\s+[^\W\d_a-z]")


class Kin(NamedTuple):
    """A word for kin in a text: its kind (`sister`), the name made of it, and its position."""

    kind: str
    name: str
    start: int
    end: int


@cached_by_text(4096)
def kin_in(text: str) -> tuple[Kin, ...]:
    """Return the owner's kin that a text names, in order; not the kin of others (`her Mum`, `Sam's sister`)."""
    found = [*_owned(text), *_named(text)]
    return tuple(sorted(found, key=lambda one: one.start))


def kinds_in(text: str) -> frozenset[str]:
    """Return the kinds of kin that a text names."""
    return frozenset(one.kind for one in kin_in(text))


def kind_of(key: str) -> str:
    """Return the kind of kin that a plain key names (`mother` for `mum` and `my mother`); empty if it names none."""
    return _kinds().get(key, "")


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the plain keys of all names of a kind of kin, the canonical one first."""
    return tuple(key for key, one in _kinds().items() if one == kind)


def all_keys() -> tuple[str, ...]:
    """Return the plain keys of all names of kin, in a fixed order."""
    return tuple(_kinds())


def is_owned(key: str) -> bool:
    """Return whether a plain key names kin with a possessive: `my sister`."""
    return " " in key and bool(kind_of(key))


@cached_by_text(4096)
def introductions(text: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a kind of kin and a name that a text states: `my sister Ana`, `Ana is my sister`, `Mum (Ana)`."""
    found = []
    for one in kin_in(text):
        beside = _IN_BRACKETS.match(text, one.end)
        names = [beside[1]] if beside else []
        if is_owned(plain_key(one.name)):
            before, after = _BEFORE.search(text[: one.start]), _AFTER.match(text[one.end :])
            is_plain = text[one.end : one.end + 1] not in ("'", "’")
            names += [after[1] if after else "", before[1] if before and is_plain else ""]
        found += [(one.kind, name) for name in map(_personal, names) if name]
    return tuple(dict.fromkeys(found))


def is_of_kin(name: str, text: str) -> bool:
    """Return whether a text has a name only as that of somebody's kin: `Anders's mother came`."""
    kin = _any(_words()["english"])
    whole = re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return bool(whole) and len(whole) == len(
        re.findall(rf"(?<!\w){re.escape(name)}['’]s? (?:\w+ )?(?:{kin})(?!\w)", text)
    )


def _personal(name: str) -> str:
    """Return the leading words of a name, up to the first word that cannot be part of a personal name."""
    kept: list[str] = []
    for word in name.split():
        key = plain_key(word)
        if key in NO_NAMES or is_german_noun(key) or kind_of(key):
            break
        kept.append(word)
    return " ".join(kept)


def _owned(text: str) -> Iterator[Kin]:
    folded = text.lower() if len(text.lower()) == len(text) else text
    for language, pattern in _patterns().items():
        for found in pattern.finditer(folded):
            word = found[2]
            kind = _words()[language][word]
            after = _NEXT.match(folded, found.end())
            owned = _THEIRS.match(folded, found.end())
            if after and (after[1] in _NOT_AFTER or after[0].endswith("law")):
                continue
            if owned and owned[1] in _words()[language]:
                continue
            yield Kin(kind, _display(language, kind, word), found.start(), found.end())


def _named(text: str) -> Iterator[Kin]:
    for found in _capitals().finditer(text):
        before = text[: found.start()]
        words = before.split()
        last = words[-1].strip("(\"'„“«").casefold() if words else ""
        is_article = last in ("a", "o") and found[1] in _ambiguous()
        kind = _named_kinds()[found[1]]
        if kind in _PARENTS and _is_longer(text[found.end() :]):
            continue
        is_other = _OTHERS.search(before) or (last in _NOT_BEFORE and not is_article) or _OF.match(text[found.end() :])
        if not is_other and text[found.end() : found.end() + 1] not in ("!", "?") and not _is_called(text, found):
            name = _display("portuguese", kind, found[1].casefold()) if found[1] in _ambiguous() else found[1]
            yield Kin(kind, name, found.start(), found.end())
    for found in _small().finditer(text):
        written = found[1].capitalize()
        yield Kin(_named_kinds()[written], written, found.start(1), found.end(1))


def _is_longer(after: str) -> bool:
    """Return whether a word for a parent begins a longer name, by the text after it: `Pai Kitchen`, and not `Mama Kuchen`."""
    following = _CAPITAL.match(after)
    key = plain_key(following[1]) if following else ""
    return bool(key) and key not in NO_NAMES and not is_german_noun(key)


def _is_called(text: str, found: re.Match[str]) -> bool:
    """Return whether a name that opens a text is only a form of address: `Opa, tudo bem`."""
    return not text[: found.start()].strip() and text[found.end() : found.end() + 1] == ","


def _display(language: str, kind: str, word: str) -> str:
    feminine, masculine = kin_words.POSSESSIVES[language].partition(":")[0].split()
    noun = word.capitalize() if language == "german" else word
    return f"{feminine if _genders()[kind] == 'f' else masculine} {noun}"


_NOT_AFTER = frozenset(kin_words.NOT_AFTER.split())
_NOT_BEFORE = frozenset(kin_words.NOT_BEFORE.split())


@cache
def _genders() -> dict[str, str]:
    heads = " ".join(line for line in kin_words.KIN.strip().split("\n") if not line.startswith(" ")).split()
    return dict(zip(heads[::2], heads[1::2], strict=True))


@cache
def _words() -> dict[str, dict[str, str]]:
    """Return the kind of each word, by language."""
    found: dict[str, dict[str, str]] = {language: {} for language in kin_words.POSSESSIVES}
    kind = ""
    for line in kin_words.KIN.strip().split("\n"):
        if not line.startswith(" "):
            kind = line.split()[0]
            continue
        for language, *words in (part.split() for part in line.split("|")):
            found[language].update(dict.fromkeys(words, kind))
    return found


@cache
def _named_kinds() -> dict[str, str]:
    """Return the kind of each word that is a name without a possessive."""
    return {**_listed(kin_words.NAMES), **_ambiguous()}


@cache
def _ambiguous() -> dict[str, str]:
    return _listed(kin_words.AMBIGUOUS)


def _listed(table: str) -> dict[str, str]:
    lines = (line.split(":") for line in table.strip().split("\n"))
    return {name: kind for kind, names in lines for name in names.split()}


@cache
def _kinds() -> dict[str, str]:
    """Return the kind that each plain key names, in a fixed order."""
    owned = (
        (plain_key(_display(language, kind, word)), kind)
        for language, words in _words().items()
        for word, kind in words.items()
    )
    named = ((plain_key(name), kind) for name, kind in _listed(kin_words.NAMES).items())
    found: dict[str, str] = {}
    for key, kind in (*owned, *named):
        found.setdefault(key, kind)
    return found


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the pattern for a possessive with a word for kin, by language: `meines Bruders` too."""
    found = {}
    for language, words in _words().items():
        possessives = "|".join(kin_words.POSSESSIVES[language].partition(":")[2].split())
        ending = "e?s?" if language == "german" else ""
        found[language] = re.compile(rf"\b({possessives})\s+({_any(words)}){ending}(?!\w)")
    return found


@cache
def _capitals() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’-])({_any(_named_kinds())})s?(?![\w-])")


@cache
def _small() -> re.Pattern[str]:
    small = [name.casefold() for name in _listed(kin_words.NAMES)]
    before = "|".join(kin_words.BEFORE.split())
    return re.compile(rf"(?<!\w)(?i:{before})\s+({_any(small)})(?![\w-])")


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
