"""Themes: activities, interests and subjects that a text speaks of in lower case, whatever form of the word it uses.

A theme has one title in the wiki, so that its page does not hang on the language or the form that came first.
"""

from __future__ import annotations

from functools import cache, lru_cache

from compiler.plan.names.theme_words import THEME_LINES
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import FIRST_PERSON, NO_NAMES

_NO_THEME = "-"
_NO_NAMES = NO_NAMES | FIRST_PERSON
_SIGNS = "\"'“”‘’([{*_#-—–"


@lru_cache(maxsize=8192)
def themes_in(text: str) -> tuple[str, ...]:
    """Return the titles of the themes in a text, in order, each once. The longest form wins where two begin."""
    words = plain_key(_without_names(text)).split()
    forms = _forms()
    found: dict[str, None] = {}
    at = 0
    while at < len(words):
        longest = forms.get(words[at])
        taken = 1
        for count in range(min(longest[0], len(words) - at) if longest else 0, 0, -1):
            title = longest[1].get(" ".join(words[at : at + count])) if longest else None
            if title:
                found.update({title: None} if title != _NO_THEME else {})
                taken = count
                break
        at += taken
    return tuple(found)


def _without_names(text: str) -> str:
    """Return the text without runs of capitalised words: a form within a name is no theme (`Harry Potter`, `Park Avenue`)."""
    kept: list[str] = []
    run: list[str] = []
    for piece in (*text.split(), ""):
        is_name = _is_capital(piece.strip(_SIGNS))
        run.extend([piece] if is_name else [])
        if not is_name or not piece[-1].isalnum():
            kept.extend(run if len(run) < 2 else ["."])
            kept.extend([] if is_name else [piece])
            run = []
    return " ".join(kept)


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and plain_key(word) not in _NO_NAMES


def is_form(key: str) -> bool:
    """Return whether a plain key is a form of a theme."""
    first, _, _ = key.partition(" ")
    return first in _forms() and key in _forms()[first][1]


def theme_of(key: str) -> str:
    """Return the title of the theme whose title has this plain key; empty if there is none."""
    return _titles().get(key, "")


@cache
def _titles() -> dict[str, str]:
    return {plain_key(title): title for title, _ in _themes() if title != _NO_THEME}


@cache
def _forms() -> dict[str, tuple[int, dict[str, str]]]:
    """Return the forms by their first word, with the words of the longest one."""
    found: dict[str, dict[str, str]] = {}
    for title, forms in _themes():
        for form in forms:
            found.setdefault(form.split()[0], {}).setdefault(form, title)
    return {first: (max(len(form.split()) for form in forms), forms) for first, forms in found.items()}


@cache
def _themes() -> tuple[tuple[str, tuple[str, ...]], ...]:
    parts = (line.partition(":") for line in THEME_LINES)
    return tuple(
        (
            title,
            tuple(
                one
                for one in dict.fromkeys((plain_key(title), *(form.replace("_", " ") for form in forms.split())))
                if one
            ),
        )
        for title, _, forms in parts
    )
