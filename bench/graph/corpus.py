"""A generated corpus of people, firms, places, books and choirs, told in ordinary sentences, and questions that need two or three
of its facts at once.

`world.json` holds names and sentences, `questions.json` the wordings of the questions, by the way from the name that they give to
the page that answers. Wordings marked `held` are never fitted on. Those of `later_questions.json` are all held: they were written
when the words and features of relations were last changed, before the change, and asked after it. The same seed gives the same
corpus.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "pt")
PERSON, FIRM, SHOP, BAND, BOOK, CITY = "person", "firm", "shop", "band", "book", "city"

_WORLD: Mapping[str, Any] = json.loads(Path(__file__).with_name("world.json").read_text(encoding="utf-8"))
_QUESTIONS: Mapping[str, Any] = json.loads(Path(__file__).with_name("questions.json").read_text(encoding="utf-8"))
_LATER: Mapping[str, Any] = json.loads(Path(__file__).with_name("later_questions.json").read_text(encoding="utf-8"))
_COUPLES, _FIRMS, _OLD_FIRMS, _SHOPS, _BANDS, _BOOKS, _CITIES = 14, 26, 8, 14, 10, 14, 14
_CHATTER = {PERSON: 3, FIRM: 2, SHOP: 2, BAND: 2, BOOK: 4, CITY: 3}
_BEGINNING, _DAYS = datetime(2022, 1, 3, 9, tzinfo=UTC), 1_500
_YEARS = (2014, 2018, 2016)


@dataclass(frozen=True, slots=True)
class ToldMemory:
    """One memory of the corpus."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question, the title of the page that answers it, and how many facts lead there. It may be held back from fitting, or be
    one of those written later."""

    text: str
    answer: str
    hops: int
    language: str
    is_held_back: bool
    is_by_hand: bool
    is_later: bool = False


@dataclass(slots=True)
class GraphCorpus:
    """The memories of one owner in one language, the questions to them, and remarks that name people and ask for no page."""

    owner: str
    language: str
    memories: list[ToldMemory] = field(default_factory=list)
    questions: list[GraphQuestion] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def corpora(seed: int, *, each: int = 2) -> list[GraphCorpus]:
    """Return a corpus a language, with every wording asked of `each` names."""
    return [_Maker(seed, language).made(each) for language in LANGUAGES]


class _Maker:
    """Draws one corpus."""

    def __init__(self, seed: int, language: str) -> None:
        self._drawn = random.Random(f"{seed} {language}")
        self._language = language
        self._names: Mapping[str, Any] = _WORLD["names"][language]
        self._edges: dict[str, dict[str, list[str]]] = {}
        self._spouse: dict[str, str] = {}
        self._corpus = GraphCorpus(f"graph-{language}-{seed}", language)
        self._used: set[str] = set()

    def made(self, each: int) -> GraphCorpus:
        """Return the corpus."""
        drawn, names = self._drawn, self._names
        families = drawn.sample(names["families"], len(names["families"]))
        women, men = (drawn.sample(names[one], _COUPLES) for one in ("women", "men"))
        wives = [f"{name} {family}" for name, family in zip(women, families, strict=False)]
        husbands = [f"{name} {family}" for name, family in zip(men, reversed(families), strict=False)]
        cities = drawn.sample(names["cities"], _CITIES)
        firms, old_firms = self._coined("firms", _FIRMS), self._coined("firms", _OLD_FIRMS)
        shops, bands, books = (
            self._coined(kind, count) for kind, count in (("shops", _SHOPS), ("bands", _BANDS), ("books", _BOOKS))
        )
        for wife, husband in zip(wives, husbands, strict=True):
            self._spouse[wife], self._spouse[husband] = husband, wife
            self._state("married_to", wife, husband)
        people = [*wives, *husbands]
        for place, person in enumerate(people):
            self._state("works_at", person, firms[place % len(firms)])
        for thing in (*firms, *old_firms, *shops, *bands):
            self._state("located_in", thing, drawn.choice(cities))
        for person, firm in zip(drawn.sample(people, len(old_firms)), old_firms, strict=True):
            self._state("worked_at", person, firm)
        for kind, things in (("owns", shops), ("authored", books)):
            for person, thing in zip(drawn.sample(wives, len(wives)), things, strict=False):
                self._state(kind, person, thing)
        for person, band in zip(drawn.sample(people, len(bands)), bands, strict=True):
            self._state("member_of", person, band)
        told = {PERSON: people, FIRM: [*firms, *old_firms], SHOP: shops, BAND: bands, BOOK: books, CITY: cities}
        self._chat(told)
        starts = {PERSON: people, SHOP: shops, BOOK: books}
        self._ask(starts, _QUESTIONS, each)
        for remark in _WORLD["remarks"][self._language]:
            self._corpus.remarks += [remark.format(x=name) for name in drawn.sample(people, 3 * each)]
        drawn.shuffle(self._corpus.memories)
        self._ask(starts, _LATER, each, is_later=True)
        return self._corpus

    def _coined(self, kind: str, count: int) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            word = self._drawn.choice(_WORLD["names"]["syllables"]) + self._drawn.choice(_WORLD["names"]["endings"])
            if word not in self._used:
                self._used.add(word)
                found.append(self._drawn.choice(self._names[kind]).format(word))
        return found

    def _state(self, kind: str, subject: str, target: str) -> None:
        """State a fact, in one or two memories."""
        self._edges.setdefault(kind, {}).setdefault(subject, []).append(target)
        self._edges.setdefault(f"-{kind}", {}).setdefault(target, []).append(subject)
        since, until, _ = _YEARS
        sentences = _WORLD["stated"][kind][self._language]
        for sentence in self._drawn.sample(sentences, min(len(sentences), self._drawn.choice((1, 1, 2)))):
            self._tell(sentence.format(a=subject, b=target, since=since, until=until))

    def _chat(self, told: Mapping[str, Sequence[str]]) -> None:
        """Tell what has nothing to do with the questions but shares their words."""
        keys = {PERSON: "p", FIRM: "f", SHOP: "s", BAND: "b", BOOK: "w", CITY: "c"}
        for kind, names in told.items():
            for name in names:
                for sentence in self._drawn.sample(_WORLD["chatter"][kind][self._language], _CHATTER[kind]):
                    dish = self._drawn.choice(self._names["dishes"])
                    self._tell(sentence.format(**{keys[kind]: name, "d": dish}))
        for project in self._names["projects"]:
            for sentence in _WORLD["chatter"]["project"][self._language] * 2:
                self._tell(sentence.format(j=project, p=self._drawn.choice(told[PERSON])))

    def _tell(self, text: str) -> None:
        at = _BEGINNING + timedelta(days=self._drawn.randrange(_DAYS))
        self._corpus.memories.append(ToldMemory(text, at))

    def _ask(
        self, starts: Mapping[str, Sequence[str]], wordings: Mapping[str, Any], each: int, *, is_later: bool = False
    ) -> None:
        for chain, by_language in wordings.items():
            first, *edges = chain.split()
            told = [(name, ends) for name in starts[first] if len(ends := set(self._ends([name], edges))) == 1]
            for wording in by_language[self._language]:
                # In Portuguese the sentence around the word for a husband says which it is.
                fit = [one for one in told if self._language == "en" or self._is_of_woman(one[0], edges)]
                for name, ends in self._drawn.sample(fit, min(each, len(fit))):
                    text = wording["text"].format(x=name, year=_YEARS[2], spouse=self._spouse_word(name, edges))
                    flags = wording.get("held", False), wording.get("by_hand", False)
                    question = GraphQuestion(text, next(iter(ends)), len(edges), self._language, *flags, is_later)
                    self._corpus.questions.append(question)

    def _ends(self, names: Sequence[str], edges: Sequence[str]) -> Iterator[str]:
        """Yield where edges of these types lead, one after the other."""
        if not edges:
            yield from names
            return
        onward = {**self._edges.get(edges[0], {})}
        if edges[0] == "married_to":
            onward = {name: [other] for name, other in self._spouse.items()}
        yield from self._ends([target for name in names for target in onward.get(name, ())], edges[1:])

    def _spouse_word(self, name: str, edges: Sequence[str]) -> str:
        words = {"en": ("wife", "husband"), "pt": ("mulher", "marido")}
        return words[self._language][self._is_of_woman(name, edges)]

    def _is_of_woman(self, name: str, edges: Sequence[str]) -> bool:
        """Return whether the path from a name begins at a woman: in this corpus only women own or write things."""
        return edges[0].startswith("-") or name.split(maxsplit=1)[0] in self._names["women"]
