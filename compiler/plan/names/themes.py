"""Themes: activities, interests and subjects, found in texts by their words in lower case, in any form.

A theme has one title in the wiki, so that its page does not depend on the language or the form that came first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.lexicon.theme_titles import THEME_TITLES
from compiler.plan.lexicon.theme_words import AREAS, EVERYDAY_GROUPS, MEASURE_GROUPS, THEME_GROUPS
from compiler.plan.names.ambiguous_names import is_theme_and_name, person_in
from compiler.plan.names.speakers import is_talk
from compiler.plan.text.german_nouns import determines, is_german, is_german_noun, is_german_theme
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import greeted
from compiler.plan.text.sentences import SPEAKER, sentences
from compiler.plan.text.words import CONNECTORS, FIRST_PERSON, INTERJECTIONS, NO_NAMES, PREDICATES, TITLES

_NO_THEME = "-"
_SHORTEST_COMPOUND = 8
_SHORTEST_PART = 4
# A shop or shelf is of no theme: `Buchladen`.
_SELLING = frozenset(["laden", "handlung", "handel", "geschaft", "verlag", "regal", "regale", "markt"])
_ASIDE = re.compile(r"\[[^\]]*\]?")
_LONGEST_SIMILE = 5
_LIKENING_WORDS = """
is are was were be been its thats theyre hes shes who feel feels felt look looks looked seem seems sound sounds become became
kinda sorta almost
"""
_PRONOUN_WORDS = """
i im ive id ill you youre youve we weve they theyre he she hes shes it its this that these those people everyone
"""
_FRAMES = """
go goes going went gone love loves loved loving like likes liked enjoy enjoys enjoyed enjoying start starts started starting
practice practices practiced practicing practise learn learns learning learned hobby hobbies fan passion passionate study
studies studying studied interested interest try tried trying do does doing did join joined
visit visited visiting toured find finds value values believes appreciate
appreciates appreciated explore explores explored exploring about struggling no than my our his her their
"""
_DOING = """
is are was were isnt has have had can cant could will would does do did may might seems feels helps helped brings brought makes
made gives gave means meant keeps kept puts needs takes teaches taught es son era tiene puede ayuda ist sind war hat kann hilft
e foi tem pode ajuda est sont etait peut aide
"""
_ADVERBS = frozenset(["really", "sure", "just", "always", "also", "truly", "definitely", "often"])
# A feast after one of these is a date: `leaves at Easter`, `bis Weihnachten`.
_DATING_WORDS = "at for until till by before after since bis vor nach seit zu an hasta ate para"
_DATING = frozenset(_DATING_WORDS.split())
_LIKENING = frozenset(_LIKENING_WORDS.split())
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())
_JOINING = INTERJECTIONS | frozenset(["and", "but", "because", "cause", "since", "how", "when", "y", "e", "und", "et"])
_NO_NAMES = NO_NAMES | FIRST_PERSON
# A title in quotation marks: its words are no themes (`A Dance with Dragons`).
_TITLE = re.compile(r"[\"“„«]([^\W\d_][^\"”“»]{2,60})[\"”“»]|(?<!\w)['‘]([^\W\d_][^'’]{2,60})['’](?!\w)")
_FEASTS = "Holidays and celebrations"
_FORM_OF = re.compile(r"\b(?:form|sign|symbol) of(?: (?:my|our|his|her|their|a|an))?$")
# What faith and rivers do as well: `Faith is a gift`.
_OF_IDEAS = frozenset(["is", "was", "helps", "helped", "gives", "gave", "means", "makes", "made", "keeps", "kept"])
# `We slept in the car` is not about cars, `teaching her to read` is no teaching.
_CAR, _TEACHING = "car", "teaching"
_ABOARD = re.compile(r"\b(?:(?:in|into|inside|from|out of) (?:the|a|my|our|his|her|their)|by)$")
_PUPILS = frozenset(["him", "her", "them", "me", "us", "himself", "herself", "myself"])
_TAUGHT = frozenset(["to", "how", "the", "a", "about"])
_SIGNS = "\"'“”‘’([{*_#-—–"
# An office before its bearer names a person and no theme: `la profesora Uribe`, `a coach called Mert`, `the teacher, Ms Ito`.
_OFFICE_WORDS = """
teacher tutor coach trainer nurse therapist dentist doctor professor chef painter writer author singer dancer pianist photographer
driver farmer guide pastor priest gardener student lehrer lehrerin trainerin profesor profesora maestro maestra entrenador
entrenadora medico medica cocinero cocinera professora treinador treinadora cozinheiro cozinheira professeur professeure
entraineur infirmier infirmiere
"""
_OFFICES = frozenset(_OFFICE_WORDS.split())
_CALLED = frozenset(["called", "named", "llamado", "llamada", "chamado", "chamada", "appele", "appelee", "namens"])
# `A service that books every seat`, `Ana parks the van`: verbs, of which the noun's plural is a theme.
_VERBS = frozenset(["books", "parks"])
_SUBJECTS = frozenset(["that", "which", "who", "he", "she", "it"])
_OBJECTS = frozenset(["a", "an", "the", "his", "her", "their", "every", "each", "all", "my", "our", "your", "us", "me"])


@dataclass(frozen=True, slots=True)
class _Form:
    """The meaning of a form: a theme and its group. A form that is not clear also has other meanings."""

    title: str
    group: int
    is_clear: bool = True


@dataclass(frozen=True, slots=True)
class _Found:
    """A form in a sentence, and whether it certainly means its theme there."""

    form: _Form
    is_meant: bool


@lru_cache(maxsize=8192)
def themes_in(text: str) -> tuple[str, ...]:
    """Return the titles of the themes in a text, in order, each once, without themes named only in square brackets.

    The longest form wins where two begin. A form with several meanings counts if the words around it, or another theme of the
    same group in its sentence, show that the theme is meant.
    """
    return tuple(dict.fromkeys(title for one in sentences(text) for title in _in_sentence(one)))


def _in_sentence(sentence: str) -> list[str]:
    untitled = _TITLE.sub(_untitled, sentence)
    text = plain_key(_ASIDE.sub(" . ", _without_names(untitled, is_german_text=is_german(plain_key(untitled).split()))))
    words = ["0" if one.isdigit() else one for one in text.split()]
    speaker = SPEAKER.match(sentence)
    begin = len(plain_key(speaker[1]).split()) if speaker else 0
    called = greeted(sentence)
    forms = _forms()
    is_german_text = is_german(words)
    found: list[_Found] = []
    at = begin if is_talk(sentence) and not is_ordinary(" ".join(words[:begin])) else 0
    while at < len(words):
        longest = forms.get(words[at]) if words[at] not in called else None
        taken = 1
        for count in range(min(longest[0], len(words) - at) if longest else 0, 0, -1):
            form = longest[1].get(" ".join(words[at : at + count])) if longest else None
            if form:
                taken = count
                if form.title != _NO_THEME and not _is_figure(words, at, at + count, form):
                    found.append(_Found(form, form.is_clear or _is_meant(words, at, at + count, begin)))
                break
        else:
            form = _of_compound(words[at]) if is_german_text else None
            found.extend([_Found(form, True)] if form else [])
        at += taken
    groups = {
        one.form.group: {other.form.title for other in found if other.form.group == one.form.group} for one in found
    }
    return [one.form.title for one in found if one.is_meant or len(groups[one.form.group]) > 1]


@lru_cache(maxsize=8192)
def _of_compound(word: str) -> _Form | None:
    """Return the theme of a German compound of a theme's noun and another noun: singing for `Chorfahrt` and `Kirchenchor`."""
    if len(word) < _SHORTEST_COMPOUND:
        return None
    for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        for part, other in ((word[:at], word[at:]), (word[at:], word[:at])):
            form = _forms().get(part, (0, {}))[1].get(part)
            is_theme = form is not None and form.is_clear and form.title != _NO_THEME and is_german_theme(part)
            if is_theme and other not in _SELLING and (is_german_noun(other) or part == word[at:]):
                return form
    return None


def _is_meant(words: list[str], start: int, end: int, begin: int) -> bool:
    """Return whether the words around a form with several meanings show that the theme is meant.

    Either a framing word stands before it, or a verb follows and no word before it could change its meaning (`Nature helps`, not
    `human nature is`). The utterance begins at word `begin`, after the speaker.
    """
    if not _framing().isdisjoint(words[max(0, start - 2) : start]):
        return True
    after = end + 1 if end < len(words) and words[end] in _ADVERBS else end
    is_bare = start in (0, begin) or words[start - 1] in _JOINING
    return is_bare and after < len(words) and words[after] in _doing()


def _is_figure(words: list[str], start: int, end: int, form: _Form) -> bool:
    """Return whether the words are a figure of speech, a date or a place: `feels like a family`, `until Easter`, `in the car`."""
    before = words[max(0, start - _LONGEST_SIMILE) : start]
    if words[start] in _VERBS and (not _SUBJECTS.isdisjoint(before[-1:]) or _has_object(words, start)):
        return True
    if form.title == _FEASTS and not _DATING.isdisjoint(before[-1:]):
        return True
    if _FORM_OF.search(" ".join(before)) or (words[start] == _CAR and _ABOARD.search(" ".join(before))):
        return True
    if (
        words[start] == _TEACHING
        and not _PUPILS.isdisjoint(words[end : end + 1])
        and _TAUGHT.issuperset(words[end + 1 : end + 2])
    ):
        return True
    if "like" in before and _likens(words, start - before[::-1].index("like") - 1, start):
        return True
    return (
        words[start - 1 : start] in (["a"], ["an"]) and words[end : end + 1] == ["of"] and form.group in MEASURE_GROUPS
    )


def _has_object(words: list[str], at: int) -> bool:
    """Return whether the second word of a sentence has an object after it: `Ana books a seat`."""
    return at == 1 and words[0] not in _OBJECTS and not _OBJECTS.isdisjoint(words[at + 1 : at + 2])


def _likens(words: list[str], at: int, start: int) -> bool:
    """Return whether the word `like` at `at` makes a simile of the form at `start`: after a verb of being or `kinda`, and without
    a subject of its own after it (`it feels like I paint more`).
    """
    before = words[max(0, at - 2) : at]
    is_simile = before[-1:] == ["just"] and _PRONOUNS.isdisjoint(before)
    is_simile |= not _LIKENING.isdisjoint(before[-1:])
    return is_simile and _PRONOUNS.isdisjoint(words[at + 1 : start])


def _without_names(text: str, *, is_german_text: bool) -> str:
    """Return the text without runs of two or more capitalised words, and without people whose name is a form: a form in a name is
    no theme (`Park Avenue`, `Faith asked the nurse`).
    """
    kept: list[str] = []
    run: list[str] = []
    before = ""
    pieces = (*text.split(), "")
    for at, piece in enumerate(pieces):
        is_joint = bool(run) and (piece in CONNECTORS or piece == "&") and _is_capital(pieces[at + 1].strip(_SIGNS))
        is_name = is_joint or _is_capital(piece.strip(_SIGNS))
        run.extend([piece] if is_name else [])
        if not is_name or not (is_joint or piece[-1].isalnum()):
            is_person = (
                bool(run)
                and not is_german_text
                and (_is_person(run, before, "" if is_name else piece) or _is_foreign(run, before))
            )
            if run and (office := _office(kept)):
                kept[office] = "."
            kept.extend(run if len(run) < 2 and not is_person else ["."])
            kept.extend([] if is_name else [piece])
            run, before = [], piece
    return " ".join(kept)


def _office(kept: list[str]) -> int:
    """Return the index, from the end, of the office before a name; 0 if none stands there."""
    at = -2 if plain_key(" ".join(kept[-1:])) in _CALLED | TITLES else -1
    return at if len(kept) >= -at and plain_key(kept[at]) in _OFFICES and kept[at][-1] not in ".!?:;" else 0


def _is_person(run: list[str], before: str, after: str) -> bool:
    """Return whether a capitalised word between two pieces of text is a person's name, `a nurse called Faith`, or may be one:
    `Faith started in May`.
    """
    starts = not before or before[-1] in ".!?:…"
    word = "".join(run).strip(f"{_SIGNS}.,;:!?…)")
    follows = plain_key(after)
    may_be = starts and follows in PREDICATES - _OF_IDEAS and is_theme_and_name(word) and not theme_of(plain_key(word))
    return may_be or (bool(word) and bool(person_in([word], plain_key(before), follows, is_initial=starts)))


def _is_foreign(run: list[str], before: str) -> bool:
    """Return whether a capitalised word within a sentence that is not German only looks like a German verb: `Oihan y Malen`."""
    word = "".join(run).strip(f"{_SIGNS}.,;:!?…)")
    return bool(before) and before[-1] not in ".!?:…" and word.endswith("en") and not is_ordinary(plain_key(word))


def _untitled(found: re.Match[str]) -> str:
    """Return quoted words, or a full stop in place of a title: several words that begin with a capital and end no sentence."""
    words = (found[1] or found[2]).split()
    is_title = len(words) > 1 and words[0][0].isupper() and words[-1][-1] not in ".!?…,"
    return " . " if is_title else found[0]


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and plain_key(word) not in _NO_NAMES and not determines(word.lower())


def area_of(sentence: str) -> str:
    """Return the area of life of the first theme in a sentence, as a heading; empty without a theme."""
    return next((AREAS[_areas()[title]] for title in themes_in(sentence)), "")


def is_form(key: str) -> bool:
    """Return whether a plain key is a form of a theme."""
    first, _, _ = key.partition(" ")
    return first in _forms() and key in _forms()[first][1]


def theme_of(key: str) -> str:
    """Return the title of the theme whose title has this plain key; empty if there is none."""
    return _titles().get(key, "")


def is_everyday(title: str) -> bool:
    """Return whether the theme belongs to everyday life, such as food, health or work, unlike crafts, sports and pastimes."""
    return _areas().get(title, -1) in EVERYDAY_GROUPS


@cache
def _framing() -> frozenset[str]:
    return frozenset(_FRAMES.split())


@cache
def _doing() -> frozenset[str]:
    return frozenset(_DOING.split())


@cache
def _titles() -> dict[str, str]:
    return {plain_key(form.title): form.title for _, form in _every() if form.title != _NO_THEME}


def title_in(theme: str, language: str) -> str:
    """Return a theme's title in a language; its English title if the language has none."""
    return THEME_TITLES.get(theme, {}).get(language, theme)


@cache
def _areas() -> dict[str, int]:
    return {form.title: form.group for _, form in reversed(_every())}


@cache
def _forms() -> dict[str, tuple[int, dict[str, _Form]]]:
    """Return the forms by their first word, with the number of words of the longest one."""
    found: dict[str, dict[str, _Form]] = {}
    for words, form in _every():
        found.setdefault(words.split()[0], {}).setdefault(words, form)
    return {first: (max(len(words.split()) for words in forms), forms) for first, forms in found.items()}


@cache
def _every() -> tuple[tuple[str, _Form], ...]:
    """Return every form as a plain key, with its meaning."""
    found: list[tuple[str, _Form]] = []
    for group, lines in enumerate(THEME_GROUPS):
        for title, _, forms in (line.partition(":") for line in lines):
            pairs = [(one.rstrip("?").replace("_", " "), not one.endswith("?")) for one in forms.split()]
            title_key = plain_key(title)
            named = [(title_key, True)] if title_key and title_key not in dict(pairs) else []
            found.extend((words, _Form(title, group, is_clear)) for words, is_clear in (*named, *pairs))
    return tuple(found)
