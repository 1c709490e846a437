"""Other spellings of a name: derived keys, short forms of long names, typos. Pure rules on names.

Measured on real names (`python -m bench names`); rules that merged unrelated names there were left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.plan.names.naming import holds
from compiler.plan.names.themes import theme_of
from compiler.plan.places.gazetteer import Gazetteer
from compiler.plan.proposal import ProposedPage
from compiler.plan.text.markdown import alias_keys, plain_key
from compiler.plan.text.words import GENERIC, INSERTED, NO_NAMES

MAX_EDITS = 2

_NUMBERS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
}


def exact_keys(page: ProposedPage) -> tuple[str, ...]:
    """Return the alias keys of the page's title and aliases."""
    every = (page.title, *(alias.name for alias in page.aliases))
    return tuple(dict.fromkeys(key for name in every for key in alias_keys(name)))


def derived_keys(page: ProposedPage, gazetteer: Gazetteer) -> tuple[str, ...]:
    """Return the keys of other spellings of the title.

    These are the text before a comma, the name with or without its article, numbers as digits, and other names of a city.
    """
    key = plain_key(page.title)
    words = key.split()
    found = [cut_at_comma(page.title, gazetteer)]
    found.append(" ".join(words[1:]) if words[:1] == ["the"] and len(words) > 1 else f"the {key}")
    found.append(" ".join(_NUMBERS.get(word, word) for word in words))
    known = city(page.title, gazetteer)
    found.extend(sorted(gazetteer.names(known)) if known else ())
    exact = exact_keys(page)
    return tuple(one for one in dict.fromkeys(found) if one and one not in exact)


def cut_at_comma(title: str, gazetteer: Gazetteer) -> str:
    """Return the key of the text before the first comma, empty without one.

    Empty too if the rest changes the meaning: a number (`Berlin, April 2026`), or anything but a place after a city.
    """
    before, comma, after = title.partition(",")
    cut, rest = plain_key(before), plain_key(after)
    if not comma or not rest or cut.isdigit() or any(map(str.isdigit, rest)):
        return ""
    tail = plain_key(after.rpartition(",")[2])
    is_place = gazetteer.is_region(tail) or gazetteer.city(tail) > 0
    return cut if is_place or not gazetteer.city(cut) else ""


def city(title: str, gazetteer: Gazetteer) -> int:
    """Return the number of the city in the title, with or without its region: `Anaheim, CA` and `Anaheim CA`."""
    before, comma, after = title.partition(",")
    if comma:
        cut, qualifier = plain_key(before), plain_key(after.rpartition(",")[2])
        return gazetteer.city(cut, qualifier) if gazetteer.is_region(qualifier) else 0
    key = plain_key(title)
    head, _, tail = key.rpartition(" ")
    return gazetteer.city(key) or (gazetteer.city(head, tail) if head and gazetteer.is_region(tail) else 0)


def city_after_comma(title: str, gazetteer: Gazetteer) -> str:
    """Return the city after the last comma of a title: `Suerte, Austin`."""
    _, comma, after = title.rpartition(",")
    key = plain_key(after)
    return after.strip() if comma and not gazetteer.is_region(key) and gazetteer.city(key) else ""


def prefixes(page: ProposedPage, gazetteer: Gazetteer) -> tuple[str, ...]:
    """Return the beginnings of longer names for the same thing: the title's words, also with an article.

    None for a city or a theme (longer names mean something else), for a title that is only a kind of thing, or for one
    with a leading number.
    """
    key = plain_key(page.title)
    words = key.split()
    if theme_of(key) or not _is_telling(words) or words[0][0].isdigit() or gazetteer.is_known_city(key):
        return ()
    starts = [key, f"the {key}", *([" ".join(words[:2]), f"the {' '.join(words[:2])}"] if len(words) > 2 else [])]
    return tuple(dict.fromkeys(starts))


def longer_names(key: str, aliases: Iterable[str], gazetteer: Gazetteer) -> set[str]:
    """Return the longer names that a short one may stand for; several if it is ambiguous.

    In this order: the only one that starts with it; the only one that adds only kinds of things; the one that all others start
    with; all that start with it. If none starts with it, those that have its words in order. A name that adds a city or a number
    is a branch and does not count.
    """
    every = sorted({one for one in aliases if not _is_branch(_rest(key, one), gazetteer)})
    bare = {one: one.removeprefix("the ") for one in every}
    longer = [one for one in every if f"{bare[one]} ".startswith(f"{key} ") or one.startswith(f"{key} ")]
    if len({plain_key(one) for one in longer}) > 1:
        kinds = [one for one in longer if all(word in GENERIC for word in _rest(key, one))]
        shortest = min(longer, key=lambda one: (len(one), one))
        base = [shortest] if all(f"{one} ".startswith(f"{shortest} ") for one in longer) else []
        return set(kinds) if len(kinds) == 1 else set(base) or set(longer)
    if longer:
        return set(longer)
    return {one for one in every if _in_order(key.split(), plain_key(one).split())}


def is_misspelled(one: str, other: str) -> bool:
    """Return whether two keys differ only by a typo: at most two words differ, each by at most two edits, never in a digit."""
    ours, theirs = one.split(), other.split()
    if len(ours) != len(theirs):
        return one.replace(" ", "") == other.replace(" ", "")
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    return all(_is_typo(a, b) for a, b in pairs) and len(pairs) <= 2


def _is_typo(one: str, other: str) -> bool:
    if any(map(str.isdigit, one + other)) or min(len(one), len(other)) < 4:
        return False
    return _edits(one, other) <= (1 if min(len(one), len(other)) < 8 else MAX_EDITS)


def _edits(one: str, other: str) -> int:
    """Return the Levenshtein distance; a swap of two adjacent letters counts as one."""
    before: list[int] = []
    last: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, last, row = last, row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], before[j - 2] + 1)
    return row[-1]


def are_distinct(short: str, longer: str, texts: Iterable[str]) -> bool:
    """Return whether two names are of two things, like the Acropolis and the Acropolis Museum: the longer adds only a kind to the
    shorter, and one of the texts (plain keys) contains both.
    """
    added = longer.removeprefix(short).split() if f"{longer} ".startswith(f"{short} ") else []
    if not added or not all(word in GENERIC for word in added):
        return False
    return any(holds(longer, text) and holds(short, text.replace(longer, " . ")) for text in texts)


def _is_telling(words: list[str]) -> bool:
    telling = [word for word in words if word not in GENERIC and len(word) > 1]
    return bool(telling) and (len(words) > 1 or telling[0] not in NO_NAMES)


def _is_branch(rest: list[str], gazetteer: Gazetteer) -> bool:
    """Return whether the rest of a name contains a digit or ends in a city."""
    ends = (" ".join(rest[at:]) for at in range(len(rest)))
    return any(map(str.isdigit, "".join(rest))) or any(gazetteer.is_known_city(one) for one in ends)


def _rest(key: str, alias: str) -> list[str]:
    words = alias.removeprefix("the ").split() if not key.startswith("the ") else alias.split()
    return words[len(key.split()) :]


def _in_order(short: list[str], long: list[str]) -> bool:
    """Return whether the long name is the short one with added words that only say a kind or, after `by`, a brand."""
    at = 0
    after_by = False
    for word in long:
        if at < len(short) and word == short[at]:
            at += 1
        elif not (word in INSERTED or after_by or at == len(short)):
            return False
        after_by = word == "by"
    return at == len(short) and at >= 3
