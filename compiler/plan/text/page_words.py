"""The words that the compiler itself puts on a page (headings, dates), in the language of the quoted text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from compiler.plan.text.german_nouns import is_german
from compiler.plan.text.markdown import plain_key


@dataclass(frozen=True, slots=True)
class PageWords:
    """The headings of a decision's sections by slug, the beginning of the tag of its year, and how a day is written.

    `day` has the fields day, month and year; `months` are twelve names.
    """

    headings: Mapping[str, str]
    decisions: str
    day: str
    months: tuple[str, ...]

    def noted(self, when: datetime) -> str:
        """Return the sentence that gives the day on which a decision was noted."""
        return self.day.format(day=when.day, month=self.months[when.month - 1], year=when.year)


def words_of(text: str) -> PageWords:
    """Return the words of the text's language."""
    return _WORDS[language_of(text)]


def heading_in(heading: str, language: str) -> str:
    """Return the heading of a section, or a month and year, in a language; unchanged if there is no translation."""
    month, _, year = heading.partition(" ")
    if year.isdigit() and month in _WORDS["english"].months:
        return f"{_WORDS[language].months[_WORDS['english'].months.index(month)].capitalize()} {year}"
    return _HEADINGS.get(heading, {}).get(language, heading)


def language_of(text: str) -> str:
    """Return the language with most function words and endings in the text: english, german, spanish, portuguese or french.

    In a tie: German if `is_german`; else English if it is among the best; else Portuguese if it is and the text has its letters.
    Spanish is also one word behind Portuguese if the text has one of its diphthongs (`cierra`, `nueva`) and no Portuguese letter.
    """
    words = plain_key(text).split()
    found = {name: sum(map(own.__contains__, words)) for name, own in _FUNCTION_WORDS.items()}
    for name, ends in _ENDINGS.items():
        found[name] += len(ends.findall(text))
    most = max(found.values())
    best = [name for name, count in found.items() if count == most]
    is_near = "portuguese" in best and found["spanish"] >= most - 1 and not _PORTUGUESE.search(text)
    if is_near and "english" not in best and _DIPHTHONG.search(text):
        return "spanish"
    if len(best) == 1:
        return best[0]
    if is_german(words):
        return "german"
    if "english" in best and not ("portuguese" in best and _ONLY_PORTUGUESE.search(text)):
        return "english"
    return "portuguese" if "portuguese" in best and _PORTUGUESE.search(text) else best[0]


def _words(headings: str, decisions: str, day: str, months: str) -> PageWords:
    named = dict(zip(("decision", "rationale", "context"), headings.split(), strict=True))
    return PageWords(named, decisions, day, tuple(months.split()))


# Folded words that are typical of one of the languages, and typical endings of its words.
_FUNCTION_WORD_LISTS = {
    "english": "the and to we will is are of our for with from it that on not instead i have has was be as by at go an he she"
    " they you my your his her their this these but had were would who what when where before after about up out all in"
    " does did can could just there been him them us than then too very get got into over how because any"
    " some more if youre im its dont thats wants want needs need likes loves says made makes came went took bought works"
    " lives lived moved told asked gave found",
    "german": "der die das und wir ist sind nicht mit fur zum zur ich ein eine im den dem uns auf haben hat meine ab jetzt"
    " er sie wir war wird hatte hatten ware wurde"
    " wurden mir mich ihm ihn ihr kein keine heute gestern schon wieder"
    " wenn doch bei nach auch noch aus dass wie nur mehr sich vom von in du",
    "spanish": "el los las y en del hemos un una con nosotros se es lo al mas ahora adelante hoy hasta porque mi su por de la",
    "portuguese": "o os as e em do da dos das um uma com nao vamos agora diante ao mais foi hoje meu minha pelo pela por no na"
    " se de duas dois dele dela deles delas ela eles elas",
    "french": "le les et des du un une en est dans pour avec nous avons on ont sont je ne pas au aux sur mon cette ete il elle"
    " se ce qui sa chez lui leur sous jai ma de la",
}
_FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _FUNCTION_WORD_LISTS.items()}
_PORTUGUESE = re.compile(r"[ãõçêâ]|[àá]s", re.IGNORECASE)
_ONLY_PORTUGUESE = re.compile(r"[ãõ]", re.IGNORECASE)
_DIPHTHONG = re.compile(r"[bcdflmnprstvz]ie[bdglmnrst]|[bcdfhjlmnprstvz]ue[bdglmnrstv]", re.IGNORECASE)
_ENDINGS = {
    "german": re.compile(r"\b(?!\w*gü[eéií])[a-zß]*[äöüß][a-zäöüß]*\b"),
    "french": re.compile(r"\b(?:[cdjlmnst]|qu)['’]\w|\w(?:eaux?|eux|euse)\b|[èùœ]|\bà\b", re.IGNORECASE),
    "spanish": re.compile(r"(?:ci[oó]n|ones|ll[oa]s?|ñ\w+)\b", re.IGNORECASE),
    "portuguese": re.compile(r"(?:ção|ções|ão|ões|ais|eis|nh[oa]s?|lh[oa]s?|ç\w+|à|\w\wei)\b", re.IGNORECASE),
}
_WORDS = {
    "french": _words(
        "Décision Motif Contexte",
        "décisions-de",
        "Noté le {day} {month} {year}.",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    ),
    "english": _words(
        "Decision Rationale Context",
        "decisions-in",
        "Noted on {day} {month} {year}.",
        "January February March April May June July August September October November December",
    ),
    "german": _words(
        "Entscheidung Begründung Kontext",
        "entscheidungen",
        "Notiert am {day}. {month} {year}.",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    ),
    "spanish": _words(
        "Decisión Motivo Contexto",
        "decisiones-de",
        "Anotado el {day} de {month} de {year}.",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    ),
    "portuguese": _words(
        "Decisão Motivo Contexto",
        "decisões-de",
        "Anotado em {day} de {month} de {year}.",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    ),
}
_SECTIONS = """
Overview | Überblick | Resumen | Visão geral | Aperçu
Visits | Besuche | Visitas | Visitas | Visites
Preferences | Vorlieben | Preferencias | Preferências | Préférences
Relations | Beziehungen | Relaciones | Relações | Relations
Arts and crafts | Kunst und Handwerk | Artes y manualidades | Artes e ofícios | Arts et artisanat
Music | Musik | Música | Música | Musique
Books and learning | Bücher und Lernen | Libros y aprendizaje | Livros e aprendizado | Livres et savoir
Films and games | Filme und Spiele | Cine y juegos | Filmes e jogos | Films et jeux
Sport and outdoors | Sport und draußen | Deporte y aire libre | Esporte e ar livre | Sport et plein air
Nature and animals | Natur und Tiere | Naturaleza y animales | Natureza e animais | Nature et animaux
Food | Essen | Comida | Comida | Cuisine
Health | Gesundheit | Salud | Saúde | Santé
Family and community | Familie und Gemeinschaft | Familia y comunidad | Família e comunidade | Famille et communauté
Hopes | Hoffnungen | Deseos | Desejos | Espoirs
Work and causes | Arbeit und Anliegen | Trabajo y causas | Trabalho e causas | Travail et engagements
Travel | Reisen | Viajes | Viagens | Voyages
Later decisions | Spätere Entscheidungen | Decisiones posteriores | Decisões posteriores | Décisions ultérieures
"""
_HEADINGS = {
    names[0]: dict(zip(("english", "german", "spanish", "portuguese", "french"), names, strict=True))
    for names in (tuple(name.strip() for name in line.split("|")) for line in _SECTIONS.strip().split("\n"))
}
