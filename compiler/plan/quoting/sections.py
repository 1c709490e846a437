"""Arranges quoted sentences in the sections of a page: what a person does and likes, areas of life, an overview, months."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from compiler.plan.contract import BatchMemory, Page
from compiler.plan.lexicon.theme_words import AREAS
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.themes import area_of, theme_of
from compiler.plan.proposal import ProposedSection
from compiler.plan.quoting.excerpts import line
from compiler.plan.text.kin import kin_in, kind_of
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.page_words import heading_in, language_of
from compiler.plan.text.persons import speaks_of_self
from compiler.plan.text.sentences import sentences
from compiler.plan.text.words import CONNECTORS

OVERVIEW = "overview"
OVERVIEW_CHARS = 2_400
AREA_WORDS = 7
"""A sentence is about an area of life if these first words name one of its themes; later ones name it in passing."""
MONTHS = "notes_"

_OF_PEOPLE = (
    (
        "relations",
        re.compile(
            r"\b(?:(?:is|are|was|were|as|s) (?:\w+ )?(?:married|engaged|friends|siblings|cousins|a couple)"
            r"|(?:my|his|her|their) (?:\w+ )?(?:wife|husband|partner|girlfriend|boyfriend|sister|brother|mom|mother"
            r"|dad|father|son|daughter|cousin|aunt|uncle|grandma|grandmother|grandpa|grandfather|niece|nephew|boss|roommate))\b"
        ),
    ),
    (
        "visits",
        re.compile(
            r"\b(?:visit(?:s|ed)?|(?:is|am|are|was|were|been|loves?|enjoys?|keeps?) visiting"
            r"|went to(?! \d)|(?:road |solo )?trip to|travel(?:l?ed|s) to|returned from|(?:got|came) back from"
            r"|stay(?:ed|ing) (?:at|in)|flew to|toured)\b"
        ),
    ),
    (
        "preferences",
        re.compile(
            r"^(?:\S+ ){1,4}(?:loves?|likes|enjoys?|prefers?|hates?|dislikes?|fan of|passionate about|allergic)\b"
            r"|^(?:\S+ ){0,3}(?:i|we|they|you|do|dont|doesnt|didnt|really|also|both|all|always|to|would|d|kids|parents) like\b"
            r"|\b(?:my|his|her) (?:all time )?favou?rites?\b|^(?:\S+ )?favou?rite\b|\bis my favou?rite\b"
        ),
    ),
)
# Words after a name that is not the subject of a verb: `Metacam for dogs`.
_NO_VERBS = CONNECTORS | frozenset(
    [
        "for",
        "from",
        "in",
        "at",
        "on",
        "with",
        "to",
        "by",
        "and",
        "fur",
        "mit",
        "bei",
        "aus",
        "zum",
        "und",
        "con",
        "para",
        "y",
        "pour",
    ]
)


def arrange(
    excerpts: Iterable[tuple[BatchMemory, tuple[str, ...]]], page: Page | None, keys: Collection[str]
) -> tuple[ProposedSection, ...]:
    """Return sections for the sentences about the subject with these keys.

    A person's visits, preferences and relations have sections of their own, and so has each area of life in which the person
    does something. The rest goes to the overview until it is full, then to one section per month.

    A line already on the page stays where it is.
    """
    bodies = {one.slug: one.body_md.split("\n") for one in (page.sections if page else ()) if one.aggregation is None}
    sizes = {slug: sum(len(one) + 1 for one in lines) for slug, lines in bodies.items()}
    places = {one: slug for slug, lines in bodies.items() for one in lines}
    new: dict[str, dict[str, None]] = {}
    cited: dict[str, dict[str, None]] = {}
    headings = {one.slug: one.heading for one in (page.sections if page else ())}
    for memory, found in excerpts:
        for sentence in found:
            one = line(sentence, memory)
            slug = places.get(one) or _place(memory, sentence, keys, _Room(sizes, headings))
            if one not in places:
                places[one] = slug
                sizes[slug] = sizes.get(slug, 0) + len(one) + 1
            new.setdefault(slug, {})[one] = None
            cited.setdefault(slug, {})[memory.memory_id] = None
    return tuple(
        ProposedSection(slug, headings.get(slug, ""), "\n".join(lines), tuple(cited[slug]), is_verbatim=True)
        for slug, lines in new.items()
    )


def is_of_words(slug: str) -> bool:
    """Return whether `arrange` chooses this section by a sentence's words alone, unlike the section of a month."""
    areas = (area.lower().replace(" ", "_") for area in AREAS)
    return slug in (OVERVIEW, *areas, *(one for one, _ in _OF_PEOPLE))


@dataclass(frozen=True, slots=True)
class _Room:
    """The sizes of a page's sections in characters, and the headings of the chosen sections."""

    sizes: Mapping[str, int]
    headings: dict[str, str]


def _place(memory: BatchMemory, sentence: str, keys: Collection[str], room: _Room) -> str:
    slug, heading = _slug_and_heading(memory, sentence, keys, room)
    if slug not in room.headings:
        room.headings[slug] = heading_in(heading, language_of(sentence.removeprefix(f"{speaker_of(sentence)}: ")))
    return slug


def _slug_and_heading(memory: BatchMemory, sentence: str, keys: Collection[str], room: _Room) -> tuple[str, str]:
    is_own = _is_of_subject(sentence, keys)
    sentence = _without_kin(sentence, keys)
    first = next(iter(sentences(sentence.removeprefix(f"{speaker_of(sentence)}: "))), "")
    own = _theme(first) if is_own else ""
    area = area_of(" ".join(first.split()[:AREA_WORDS])) if is_own and not own else ""
    if not own and not area and room.sizes.get(OVERVIEW, 0) < OVERVIEW_CHARS:
        return OVERVIEW, OVERVIEW.capitalize()
    heading = own.capitalize() or area or f"{memory.occurred_at:%B %Y}"
    month = f"{MONTHS}{memory.occurred_at:%Y_%m}"
    return own or (month if heading[-1].isdigit() else heading.lower().replace(" ", "_")), heading


def _without_kin(sentence: str, keys: Collection[str]) -> str:
    """Return the sentence without the words for kin that mean the subject: they would choose the wrong section."""
    kinds = {kind_of(key) for key in keys} - {""}
    for one in reversed(kin_in(sentence) if kinds else ()):
        sentence = f"{sentence[: one.start]}{sentence[one.end :]}" if one.kind in kinds else sentence
    return sentence


def _theme(sentence: str) -> str:
    """Return the section for a person's visits, preferences or relations; empty for anything else."""
    text = plain_key(sentence)
    return next((slug for slug, words in _OF_PEOPLE if words.search(text)), "")


def _is_of_subject(sentence: str, keys: Collection[str]) -> bool:
    """Return whether the subject with these keys is no theme, and is the grammatical subject of the sentence."""
    speaker = speaker_of(sentence)
    text = plain_key(sentence.removeprefix(f"{speaker}: "))
    is_own = plain_key(speaker) in keys and speaks_of_self(text.split())
    after = (text.removeprefix(f"{key} ").split(" ", 1)[0] for key in keys if text.startswith(f"{key} "))
    is_told = any(word not in _NO_VERBS for word in after)
    return (is_own or is_told) and not any(map(theme_of, keys))
