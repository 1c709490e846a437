"""Titles and headings in the language of what a page says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.plan.batch import AggregationView
from compiler.plan.contract import Alias, Page, PageKey, PageType, Section, TitlePage, WriteAlias
from compiler.plan.judging import aggregation
from compiler.plan.judging.rejudging import is_judged
from compiler.plan.lexicon.theme_titles import THEME_TITLES
from compiler.plan.names.merge import Matches
from compiler.plan.names.themes import theme_of
from compiler.plan.proposal import Proposal
from compiler.plan.quoting.sections import arrange
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.page_words import heading_in, language_of
from tests.support.compiler.plan_cases import memory, source

GERMAN = "- Ich lerne jetzt töpfern.\n- Die Vase ist im Ofen zersprungen."
ENGLISH = "- The first bowl cracked in the kiln.\n- We glazed it with the blue one.\n- It was too thick for the oven."


def pottery(body: str, title: str = "Pottery", *names: Alias) -> Page:
    section = Section("overview", "Overview", body)
    return Page(
        PageKey(PageType.TOPIC, "pottery"),
        title,
        "",
        aliases=(Alias("pottery", "Pottery"), *names),
        sections=(section,),
    )


def named(page: Page) -> list[TitlePage | WriteAlias]:
    decision = aggregation.decide(AggregationView((page,)), Proposal(), Matches())
    return [item for item in decision.items if isinstance(item, TitlePage | WriteAlias)]


def titled(page: Page) -> list[TitlePage]:
    return [item for item in named(page) if isinstance(item, TitlePage)]


def test_theme_is_titled_in_the_language_of_most_of_its_lines() -> None:
    page = pottery(GERMAN)
    assert titled(page) == [TitlePage(page.key, "Keramik")]
    assert titled(replace(page, title="Keramik")) == []
    more = pottery(f"{GERMAN}\n{ENGLISH}", "Keramik")
    assert titled(more) == [TitlePage(page.key, "Pottery")]


def test_title_in_a_language_cites_all_memories_of_the_theme_whenever_given() -> None:
    """Not on what opened the page at that moment. Languages of one line give no name, and a former title none that stays."""
    every = (source("m1"), source("m2"))
    page = pottery(GERMAN)
    page = replace(page, aliases=(replace(page.aliases[0], sources=every),), summary_sources=every[:1])
    assert named(page) == [TitlePage(page.key, "Keramik", every)]
    early = Alias("keramik", "Keramik", sources=every[:1])
    later = replace(page, title="Keramik", aliases=(*page.aliases, early))
    assert named(later) == [WriteAlias(page.key, replace(early, sources=every))]
    assert named(replace(later, aliases=(*page.aliases, replace(early, sources=every)))) == []
    more = pottery(f"{GERMAN}\n{ENGLISH}")
    more = replace(more, aliases=page.aliases)
    assert named(more) == [WriteAlias(page.key, replace(early, sources=every))]
    french = Alias("poterie", "Poterie", sources=every)
    assert [item for item in named(replace(later, aliases=(*later.aliases, french))) if item not in named(later)] == [
        WriteAlias(page.key, Alias("poterie", "Pottery"))
    ]
    assert named(replace(page, title="Keramik", aliases=(*page.aliases, replace(early, origin="import")))) == []


def test_title_by_hand_stays() -> None:
    assert titled(pottery(GERMAN, "Clay", Alias("clay", "Clay", "manual"))) == []


def test_theme_in_another_language_is_still_one() -> None:
    assert not is_judged(pottery(GERMAN, "Keramik"))


def test_country_is_titled_as_its_memories_name_it() -> None:
    key = PageKey(PageType.ENTITY, "germany")
    body = Section("overview", "Overview", "- Wir ziehen nach Deutschland.\n- In Deutschland ist es nicht kalt.")
    names = (Alias("germany", "Germany"), Alias("deutschland", "Deutschland"))
    page = Page(key, "Germany", "", aliases=names, sections=(body,))
    assert titled(page) == [TitlePage(key, "Deutschland")]
    assert titled(replace(page, aliases=names[:1])) == []


def test_every_title_is_of_a_theme() -> None:
    assert [title for title in THEME_TITLES if theme_of(plain_key(title)) != title] == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Aprendo cerámica los sábados con mi vecina.", "spanish"),
        ("Nous avons acheté une voiture pour le voyage.", "french"),
        ("Der Kater ist bei uns.", "german"),
        ("A loja não abre no sábado.", "portuguese"),
        ("Decidimos trocar a farinha porque o pão é melhor.", "portuguese"),
        ("Decidí no beber vino hasta el verano porque duermo mejor.", "spanish"),
        ("La vecina riega las plantas cuando no estamos.", "spanish"),
        ("Refusé l'offre de Nantes.", "french"),
        ("Retour à la chorale.", "french"),
        ("Un certain M. Kaba, horloger à Nantes, me propose de travailler pour lui.", "french"),
        ("The shop is closed over the holidays.", "english"),
        ("Priscilla wants a dog.", "english"),
        ("Vati hätte es gefallen.", "german"),
        ("Gülay is back.", "english"),
        ("Ana es vegetariana.", "spanish"),
        ("Mi amigo es lingüista.", "spanish"),
        ("Nuria vuelve dos jueves por barco.", "spanish"),
        ("Ele quer dos primos mais tempo.", "portuguese"),
    ],
)
def test_language_of_a_line(text: str, language: str) -> None:
    assert language_of(text) == language


def test_sections_are_headed_in_the_language_of_their_first_line() -> None:
    text = "Ulrike ist die neue Hebamme und hat nur am Dienstag Zeit."
    (section,) = arrange([(memory("m1", text), (text,))], None, {"ulrike"})
    assert (section.slug, section.heading) == ("overview", "Überblick")
    page = Page(PageKey(PageType.ENTITY, "ulrike"), "Ulrike", "", sections=(Section("overview", "Overview", "- x"),))
    (kept,) = arrange([(memory("m1", text), (text,))], page, {"ulrike"})
    assert kept.heading == "Overview"
    assert heading_in("March 2026", "german") == "März 2026"
