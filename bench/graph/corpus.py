"""Generates a corpus of people, firms, places, books and choirs in ordinary sentences, and questions that need two or three
of its facts at once.

`world.json` holds names and sentences; `questions.json` the wordings of the questions, by the path from the name in the question
to the page that answers. Wordings marked `held` are never fitted on. Those of `later_questions.json` are all held back: they were
written before the last change to the words and features of relations, and asked only after it. The same seed gives the same
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
    """A question, the title of the page that answers it, and the number of facts that lead there.

    `is_held_back` excludes it from fitting; `is_later` says that it is one of `later_questions.json`.
    """

    text: str
    answer: str
    hops: int
    language: str
    is_held_back: bool
    is_by_hand: bool
    is_later: bool = False


@dataclass(slots=True)
class GraphCorpus:
    """The memories of one owner in one language, the questions to them, and remarks that name people but ask nothing."""

    owner: str
    language: str
    memories: list[ToldMemory] = field(default_factory=list)
    questions: list[GraphQuestion] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def corpora(seed: int, *, each: int = 2) -> list[GraphCorpus]:
    """Return a corpus for each language, with every wording asked of `each` names."""
    return [_Generator(seed, language).generate(each) for language in LANGUAGES]


class _Generator:
    """Generates one corpus."""

    def __init__(self, seed: int, language: str) -> None:
        self._rng = random.Random(f"{seed} {language}")
        self._language = language
        self._names: Mapping[str, Any] = _WORLD["names"][language]
        self._edges: dict[str, dict[str, list[str]]] = {}
        self._spouse: dict[str, str] = {}
        self._corpus = GraphCorpus(f"graph-{language}-{seed}", language)
        self._used: set[str] = set()

    def generate(self, each: int) -> GraphCorpus:
        """Return the corpus."""
        rng, names = self._rng, self._names
        families = rng.sample(names["families"], len(names["families"]))
        women, men = (rng.sample(names[one], _COUPLES) for one in ("women", "men"))
        wives = [f"{name} {family}" for name, family in zip(women, families, strict=False)]
        husbands = [f"{name} {family}" for name, family in zip(men, reversed(families), strict=False)]
        cities = rng.sample(names["cities"], _CITIES)
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
            self._state("located_in", thing, rng.choice(cities))
        for person, firm in zip(rng.sample(people, len(old_firms)), old_firms, strict=True):
            self._state("worked_at", person, firm)
        for kind, things in (("owns", shops), ("authored", books)):
            for person, thing in zip(rng.sample(wives, len(wives)), things, strict=False):
                self._state(kind, person, thing)
        for person, band in zip(rng.sample(people, len(bands)), bands, strict=True):
            self._state("member_of", person, band)
        names_by_kind = {
            PERSON: people,
            FIRM: [*firms, *old_firms],
            SHOP: shops,
            BAND: bands,
            BOOK: books,
            CITY: cities,
        }
        self._chat(names_by_kind)
        starts = {PERSON: people, SHOP: shops, BOOK: books}
        self._ask(starts, _QUESTIONS, each)
        for remark in _WORLD["remarks"][self._language]:
            self._corpus.remarks += [remark.format(x=name) for name in rng.sample(people, 3 * each)]
        rng.shuffle(self._corpus.memories)
        self._ask(starts, _LATER, each, is_later=True)
        return self._corpus

    def _coined(self, kind: str, count: int) -> list[str]:
        names: list[str] = []
        while len(names) < count:
            word = self._rng.choice(_WORLD["names"]["syllables"]) + self._rng.choice(_WORLD["names"]["endings"])
            if word not in self._used:
                self._used.add(word)
                names.append(self._rng.choice(self._names[kind]).format(word))
        return names

    def _state(self, kind: str, subject: str, target: str) -> None:
        """State a fact, in one or two memories."""
        self._edges.setdefault(kind, {}).setdefault(subject, []).append(target)
        self._edges.setdefault(f"-{kind}", {}).setdefault(target, []).append(subject)
        since, until, _ = _YEARS
        sentences = _WORLD["stated"][kind][self._language]
        for sentence in self._rng.sample(sentences, min(len(sentences), self._rng.choice((1, 1, 2)))):
            self._add(sentence.format(a=subject, b=target, since=since, until=until))

    def _chat(self, names_by_kind: Mapping[str, Sequence[str]]) -> None:
        """Add memories that share words with the questions but do not help to answer them."""
        keys = {PERSON: "p", FIRM: "f", SHOP: "s", BAND: "b", BOOK: "w", CITY: "c"}
        for kind, names in names_by_kind.items():
            for name in names:
                for sentence in self._rng.sample(_WORLD["chatter"][kind][self._language], _CHATTER[kind]):
                    dish = self._rng.choice(self._names["dishes"])
                    self._add(sentence.format(**{keys[kind]: name, "d": dish}))
        for project in self._names["projects"]:
            for sentence in _WORLD["chatter"]["project"][self._language] * 2:
                self._add(sentence.format(j=project, p=self._rng.choice(names_by_kind[PERSON])))

    def _add(self, text: str) -> None:
        at = _BEGINNING + timedelta(days=self._rng.randrange(_DAYS))
        self._corpus.memories.append(ToldMemory(text, at))

    def _ask(
        self, starts: Mapping[str, Sequence[str]], wordings: Mapping[str, Any], each: int, *, is_later: bool = False
    ) -> None:
        for chain, by_language in wordings.items():
            first, *edges = chain.split()
            unambiguous = [(name, ends) for name in starts[first] if len(ends := set(self._ends([name], edges))) == 1]
            for wording in by_language[self._language]:
                # In Portuguese the words around that for a spouse have its gender, and the wordings are for husbands.
                fit = [one for one in unambiguous if self._language == "en" or self._is_of_woman(one[0], edges)]
                for name, ends in self._rng.sample(fit, min(each, len(fit))):
                    text = wording["text"].format(x=name, year=_YEARS[2], spouse=self._spouse_word(name, edges))
                    flags = wording.get("held", False), wording.get("by_hand", False)
                    question = GraphQuestion(text, next(iter(ends)), len(edges), self._language, *flags, is_later)
                    self._corpus.questions.append(question)

    def _ends(self, names: Sequence[str], edges: Sequence[str]) -> Iterator[str]:
        """Yield the ends of the paths that follow edges of these types, in this order."""
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
