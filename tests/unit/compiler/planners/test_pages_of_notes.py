"""Pages without a model over short notes as people and teams write them, in several languages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from compiler.plan.batch import LeafBatch, StaleView
from compiler.plan.contract import BatchMemory, CreatePage, Page, PageKey, PageType, WriteSummary
from compiler.plan.judging import leaf, stale
from compiler.plan.names import spotting
from compiler.plan.names.merge import Matches
from compiler.plan.names.speakers import is_talk, speaker_of
from compiler.plan.names.spotting import known_names, runs, spotted
from compiler.plan.names.themes import themes_in
from compiler.plan.quoting.decisions import decisions
from compiler.plan.quoting.excerpts import excerpt, line
from compiler.plan.quoting.openings import opening
from compiler.plan.text.german_nouns import is_german
from compiler.planners import extractive
from tests.support.compiler.noted_pages import lines, made
from tests.support.compiler.plan_cases import START, memory


def names(text: str) -> list[str]:
    return [one.name for one in runs(text)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Seine Frau Ilse ist wieder da.", "Ilse"),
        ("Ich habe ihrer Frau Ilse geholfen.", "Ilse"),
        ("Die Frau Ilse ist nicht da.", "Frau Ilse"),
        ("Der Kater Mio ist seit gestern weg.", "Mio"),
        ("Der Schwager Emre ist wieder da.", "Emre"),
        ("Die Kursleiterin Emre ist wieder da.", "Emre"),
    ],
)
def test_german_word_for_somebody_is_no_part_of_their_name(text: str, name: str) -> None:
    assert names(text) == [name]


def test_foreign_name_with_the_form_of_a_german_verb_is_no_theme() -> None:
    assert not themes_in("Los gemelos se llaman Oihan y Malen.")
    assert not themes_in("Tim moved to Essen in May.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Dinner at the Wig and Gown.", ["Wig and Gown"]),
        ("The Wig and Gown has hard chairs.", ["Wig and Gown"]),
        ("The Moor and Aune clinics closed.", ["Moor", "Aune"]),
        ("Ada: DOCTOR NILS", ["Ada"]),
        ("Investor Nils Aune wants the numbers.", ["Nils Aune"]),
        ("Casamento da Luísa em maio.", ["Luísa"]),
    ],
)
def test_name_of_an_inn_or_after_what_somebody_does_and_what_is_shouted(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_lane_for_bikes_is_no_cycling() -> None:
    assert not themes_in("Presupuesto del carril bici: 400 euros.")
    assert not themes_in("The bike lane ends at the pier.")


@pytest.mark.parametrize(
    "text", ["Ada: noooo", "Ada: lmao", "Ada: how is the boat", "Ada: That's a relief.", "Ada: lovely"]
)
def test_reaction_says_nothing_of_its_speaker(text: str) -> None:
    assert excerpt(memory("m1", text), {"ada"}) == ()


def test_person_who_is_only_addressed_is_not_quoted() -> None:
    assert excerpt(memory("m1", "Ben: I cannot eat the fish tonight, Ada."), {"ada"}) == ()
    assert excerpt(memory("m1", "Ben: I flew with my mother to Austin, Texas."), {"texas"}) != ()
    assert excerpt(memory("m1", "Ben: I met our new baker, Ada."), {"ada"}) != ()


@pytest.mark.parametrize(
    "texts",
    [
        ("Ada, the designer of the app, agrees with her.", "Ada moved to Utrecht in April."),
        ("Ben: Ada rang about the leak in the roof at ten.", "Ben: Ada says that it was not on the plan of the roof."),
        ("rang ada about the boat and the nets", "ada lent me her long net", "the big net broke, ada came by"),
    ],
)
def test_name_that_only_opens_sentences_or_is_in_lower_case_has_a_page_if_it_is_used_as_a_person(
    texts: tuple[str, ...],
) -> None:
    texts = tuple(one.replace("Ada", "Priyanka").replace("ada", "priyanka") for one in texts)
    assert "Priyanka" in made(*texts)


def test_noun_in_lower_case_is_no_name() -> None:
    assert not made("the swarm left the hive at noon", "Swarm gathered on a tree.", "queen accepted, swarm is calm")


@pytest.mark.parametrize(
    ("title", "texts", "said"),
    [
        ("Oskar Brandt", ("Oskar Brandt is Lynx's DBA.", "We gave Oskar Brandt the old desk."), "Lynx's DBA"),
        ("Milan", ("Milan is the lead.", "Yesterday Milan called about the van."), "Milan is the lead."),
        ("Ada", ("Lunch with Ada Voss. She's vegetarian.", "Then Ada said goodnight."), "Ada Voss. She's vegetarian."),
        (
            "Ilse",
            ("Gestern war Ilse da. Sie ist Hebamme.", "Wir fahren zu Ilse."),
            "Gestern war Ilse da. Sie ist Hebamme.",
        ),
        ("Nuria", ("Ayer vino Nuria. Es celíaca.", "Hoy Nuria trajo pan."), "Ayer vino Nuria. Es celíaca."),
        ("Wren", ("We took Wren to the lake.", "Wren's recital is on May 9."), "Wren's recital is on May 9."),
    ],
)
def test_page_holds_what_its_subject_is_and_what_goes_on_about_it(
    title: str, texts: tuple[str, ...], said: str
) -> None:
    found = [one for one in made(*texts).values() if said in lines(one)]
    assert found, f"no page of {title} says it"


@pytest.mark.parametrize(
    "text",
    [
        "Ada came by. Ben said that the roof leaks.",
        "Ada came by. Rui Falcão trabalhou na padaria.",
        "Ada came by. We cooked for six.",
        "Ada came by. It rained all day.",
        "Ada came by. Is the roof tight?",
    ],
)
def test_sentence_about_another_does_not_go_on_about_the_subject(text: str) -> None:
    assert excerpt(memory("m", text), {"ada"}) == ("Ada came by.",)


def test_sentence_that_begins_with_a_pronoun_keeps_the_one_before_it() -> None:
    text = "Brightwell Foods wants short slots. Their contact is Helen Osei."
    assert excerpt(memory("m", text), {"helen osei"}) == (text,)
    talk = "Nina: I met Helen Osei at the old mill."
    assert excerpt(memory("m", f"{talk} She likes tea."), {"helen osei"}) == (talk,)


def test_label_is_no_speaker_and_its_sentence_stands_on_the_page_of_whom_it_tells() -> None:
    assert speaker_of("Lynxia migration owner: Imani.") == ""
    assert not is_talk("Landlord: Mr Petersen, by text only.")
    assert is_talk("Nina: I met him.")
    assert not is_talk("Climbing: Nina has joined the squad as well.")
    assert not is_talk("Dinner: the guests were late.")
    assert is_talk("Grace: well, Nina has joined the squad.")
    for said in (
        "I'll bring the cake.",
        "i'd love that",
        "We're at the station.",
        "I'd love that.",
        "The boat is lovely, wow.",
    ):
        assert is_talk(f"Nina: {said}")
    found = made("Lynxia migration owner: Imani.", "Imani called the vendor about Lynxia.", "Imani is out on Monday.")
    assert sorted(found) == ["Imani", "Lynxia"]
    assert "Lynxia migration owner: Imani." in lines(found["Imani"])
    assert names("New DBA: Oskar Brandt starts Monday") == ["Oskar Brandt"]


def test_name_behind_a_label_is_one_but_not_the_first_word_that_a_speaker_says() -> None:
    assert (
        not next(iter(runs("Boiler guy: Stefan, 07700 900123"))).is_initial
        or names("Boiler guy: Stefan, 1")[0] == "Boiler"
    )
    assert [(one.name, one.is_initial) for one in runs("Boiler guy: Stefan, comes Friday")][-1] == ("Stefan", False)
    assert [(one.name, one.is_initial) for one in runs("Nina: Stefan, look at this")][-1] == ("Stefan", True)


def test_what_a_word_is_does_not_hang_on_the_names_that_are_known() -> None:
    for known in ((), ("nina",)):
        found = spotted("Nina: Anyways, enough of that", known_names(known))
        assert [one.is_initial for one in found if one.name == "Anyways"] == [True]
    nouns = spotted("Wir waren am Kalkhof.", known_names(("kalkhof",)))
    assert [(one.name, one.is_noun) for one in nouns] == [("Kalkhof", True)]


def test_english_with_words_that_are_german_too_is_not_german() -> None:
    assert not is_german(["the", "computer", "system", "needs", "training", "in", "this", "situation"])
    assert not is_german(["he", "named", "him", "moon", "because", "of", "the", "gray", "fur"])
    assert is_german(["wir", "waren", "am", "kalkhof"])


def test_opening_is_the_newest_of_the_sentences_that_say_what_the_subject_is() -> None:
    old, new = "Ada is the lead of Lynx.", "Ada is the head of data now."
    times = {old: START, new: START.replace(year=2027)}
    assert opening((old, new), {"ada"}, times) == new
    assert opening((old, new), {"ada"}, {old: times[new], new: times[old]}) == old
    left = "Ada left the company in May."
    assert opening((old, left), {"ada"}, {old: START, left: times[new]}) == left
    passing = "Ada brought cake and coffee for everybody."
    assert opening((old, passing), {"ada"}, {old: START, passing: times[new]}) == old, (
        "a definition stays before an event"
    )


def test_opening_tells_who_somebody_is_in_any_order_of_words() -> None:
    passing = "Dr. Okafor wants to see me in six months."
    times = dict.fromkeys(("Dentist is Dr. Okafor on Pine Street.", "Dentist: Dr. Okafor, Pine Street."), START)
    for one in times:
        assert opening((one, passing), {"okafor"}, {**times, passing: START.replace(year=2027)}) == one
    for who, later in (
        ("Mi hija Carlota tiene siete años.", "Carlota quiere aprender ajedrez."),
        ("Carlota leads the workshop.", "Carlota wants Saturdays off from April."),
        ("La pediatra es la doctora Carlota.", "Carlota dice que esperemos al otoño."),
    ):
        assert opening((who, later), {"carlota"}, {who: START, later: START.replace(year=2027)}) == who


def test_newer_memory_of_an_equal_line_opens_the_page_in_whatever_order_they_come() -> None:
    texts = ("We hired Ada last week.", "Ada is the lead of Lynx.", "Ada is the head of data.")
    seen = tuple(memory(f"m{at}", text, day=at) for at, text in enumerate(texts))
    page = made_in(seen)
    best = f"2026-03-03: {texts[2]}"
    assert page.summary == best
    for last in range(3):
        first = tuple(one for at, one in enumerate(seen) if at != last)
        before = made_in(first)
        times = {one.memory_id: one.occurred_at for one in seen}
        later = LeafBatch((seen[last],), pages=(before,), said_at=times)
        items = leaf.decide(later, extractive.plan_leaf(later), Matches()).items
        assert [item.summary for item in items if isinstance(item, WriteSummary)] == ([best] if last == 2 else [])


def test_line_of_an_earlier_day_does_not_replace_the_same_line() -> None:
    lake = "Lunch at the lake with Ada and the kids."
    seen = (memory("m2", "Then Ada called him about the key."), *(memory(f"m{at}", lake, day=at) for at in (3, 1)))
    later = LeafBatch(seen[2:], pages=(made_in(seen[:2]),), said_at={one.memory_id: one.occurred_at for one in seen})
    items = leaf.decide(later, extractive.plan_leaf(later), Matches()).items
    assert [item for item in items if isinstance(item, WriteSummary)] == []


def made_in(seen: Iterable[BatchMemory]) -> Page:
    """Return the only page that the memories make."""
    together = LeafBatch(tuple(seen))
    decision = leaf.decide(together, extractive.plan_leaf(together), Matches())
    (page,) = [item.page for item in decision.items if isinstance(item, CreatePage) and item.page.title == "Ada"]
    return page


def test_page_whose_opening_is_forgotten_opens_with_the_best_that_is_left() -> None:
    texts = ("We hired Ada last week.", "Ada is the lead of Lynx.", "Ada is the head of data.")
    seen = {f"m{at}": memory(f"m{at}", text, day=at) for at, text in enumerate(texts)}
    page = made_in(seen.values())
    left = {name: one for name, one in seen.items() if name != "m2"}
    decision = stale.decide(StaleView((page,), frozenset(), frozenset({"m2"}), left), is_quoting=True)
    (draft,) = [draft for draft in decision.drafts if draft.section.slug == ""]
    assert extractive.write_section(draft) == f"2026-03-02: {texts[1]}"
    assert [one.memory_id for one in draft.section.sources] == ["m1"]


@pytest.mark.parametrize(
    ("text", "is_dated"),
    [
        ("Ada now owns the queue.", True),
        ("Ada is on call on Friday.", True),
        ("The limit of Lynx was raised to 120.", True),
        ("Ilse wohnt jetzt in Bremen.", True),
        ("Nuria ya no trabaja los lunes.", True),
        ("O Renan mudou para a loja nova.", True),
        ("Ada has two brothers.", False),
        ("El taller abre los sábados por la mañana.", False),
        ("El taller abre mañana.", True),
    ],
)
def test_line_tells_its_day_where_it_tells_of_a_change_or_counts_from_it(text: str, *, is_dated: bool) -> None:
    found = memory("m", text)
    assert line(text, found).startswith("- 2026-03-01: ") is is_dated


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (
            ("Nils Aberg kam gestern zum Essen.", "Nils zieht im März um.", "Wir besuchen Nils Aberg."),
            "Nils Aberg",
        ),
        (
            ("Nuria Soler lleva la tienda.", "Hoy Nuria ha formado a Noa.", "Es la tienda de Nuria Soler."),
            "Nuria Soler",
        ),
        (
            ("Soo-jin Bae joined us from Leeds.", "The pager goes to Soo-jin on Friday.", "Ask Soo-jin Bae."),
            "Soo-jin Bae",
        ),
    ],
)
def test_first_name_and_full_name_are_one_person(texts: tuple[str, ...], title: str) -> None:
    found = made(*texts)
    assert len(found[title].memory_ids) == 1
    assert {one for section in found[title].sections for one in section.memory_ids} == {"m0", "m1", "m2"}


def test_title_before_a_name_ends_no_sentence() -> None:
    assert [(one.name, one.is_initial) for one in runs("Talked to Dr. Holmberg at noon.")][-1] == ("Holmberg", False)
    assert names("Nachfolgerin ist Frau Dr. Yilmaz.")[-1] == "Yilmaz"


def test_recurring_name_that_only_opens_sentences_gets_a_page() -> None:
    found = made("Petra is back from leave.", "Petra wants smaller pull requests.", "Llama Petra el jueves.")
    assert list(found) == ["Petra"]
    assert made("Viewed the flat on the hill.", "Viewed another flat nearby.", "Viewed a third flat today.") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mit Malte Schach gespielt, er hat gewonnen.", ["Malte"]),
        ("Im Garten die Hecke geschnitten, 40 Minuten gebraucht.", []),
        ("Verdacht auf Lungenentzündung, zum Glück nicht bestätigt.", []),
        ("Der Balkon ist gestrichen und trocken.", []),
        ("Die Kiebitz-Abschaltung ist verschoben.", ["Kiebitz"]),
        ("Lieblingsessen von Tilda ist Reis mit Ei.", ["Tilda"]),
        ("Die Praxis von Kollege Aberg ist zu.", ["Aberg"]),
        ("Schach-AG von Malte ist freitags nach der Schule.", ["Malte"]),
        ("Ana y Luis fueron al cine.", ["Ana", "Luis"]),
        ("Casamento da Luísa Campos em abril.", ["Luísa Campos"]),
        ("The API limit is 50.", []),
    ],
)
def test_common_nouns_are_no_names(text: str, found: list[str]) -> None:
    every = runs(text)
    assert [one.name for one in every if one.name in found] == found
    assert all(one.is_initial or one.is_noun for one in every if one.name not in found)


def test_german_noun_needs_three_memories_and_a_common_one_gets_no_page() -> None:
    thrice = ("Die Pacht vom Kalkhof ist bezahlt.", "Am Kalkhof ist es schön.", "Wir waren heute am Kalkhof.")
    assert made(*thrice[:2]) == {}
    assert list(made(*thrice)) == ["Kalkhof"]
    assert made(*(f"Das Zimmer {at} ist nicht frei." for at in range(4))) == {}
    always = (
        "Der Grimbel hält noch einen Winter.",
        "Im Garten den Grimbel geöffnet.",
        "Das Dach ist grün, der Grimbel nass.",
    )
    assert made(*always) == {}
    assert (
        made("Sie möchte nur Kirschkuchen und Leute, die sie mag.", "Malte und vier Leute aus dem Chor helfen.") == {}
    )


def test_german_name_ends_before_an_article_and_a_letter_before_a_word_is_no_name() -> None:
    assert "Frau Odenthal" in names("Umzug vorgezogen, weil Frau Odenthal den Schlüssel schon hatte.")
    assert names("Arthritis was what the X-ray showed.") == ["Arthritis"]


@pytest.mark.parametrize(
    ("text", "title", "headings", "noted"),
    [
        (
            "Decision: we'll go with NATS instead of Kafka.",
            "NATS instead of Kafka",
            "Context",
            "Noted on 1 March 2026.",
        ),
        (
            "Decided to shard the build into 4 jobs 🎉",
            "Shard the build into 4 jobs",
            "Context",
            "Noted on 1 March 2026.",
        ),
        ("Entschieden: wir fahren nach Bornholm.", "Wir fahren nach Bornholm", "Kontext", "Notiert am 1. März 2026."),
        (
            "Beschluss: das Werk wird am 30. Juni zugesperrt.",
            "Das Werk wird am 30. Juni zugesperrt",
            "Kontext",
            "Notiert am 1.",
        ),
        ("Von jetzt an gehen wir zu Fuß.", "Von jetzt an gehen wir zu Fuß", "Kontext", "Notiert am 1. März 2026."),
        ("Wir haben uns für Postgres 16 entschieden.", "Postgres 16", "Kontext", "Notiert am 1. März 2026."),
        (
            "Hemos decidido dejar de vender pan congelado.",
            "Dejar de vender pan congelado",
            "Contexto",
            "Anotado el 1 de marzo",
        ),
        (
            "Decidimos não vender mais flores artificiais.",
            "Não vender mais flores artificiais",
            "Contexto",
            "Anotado em 1 de",
        ),
    ],
)
def test_decision_has_a_short_title_and_the_words_of_its_language(
    text: str, title: str, headings: str, noted: str
) -> None:
    (page,) = decisions(memory("m", text))
    assert page.title == title
    (context,) = [one for one in page.sections if one.slug == "context"]
    assert (context.heading, context.body_md.removeprefix("- ")[: len(noted)]) == (headings, noted)


def test_henceforth_within_a_sentence_keeps_what_it_is_about() -> None:
    (page,) = decisions(memory("m", "Chorfahrt ist ab jetzt donnerstags um halb acht."))
    assert page.title == "Chorfahrt ist donnerstags um halb acht"
    assert list(decisions(memory("m", "Noa lleva el Instagram desde hoy."))) == []


def test_decision_is_no_page_of_a_name() -> None:
    before = Page(next(iter(made_decision())), "Postgres 16", "")
    later = LeafBatch((memory("m9", "Lynx runs on Postgres 16 since May."),), pages=(before,))
    assert extractive.plan_leaf(later).updates == ()


def made_decision() -> list[PageKey]:
    (page,) = decisions(memory("m", "Wir haben uns für Postgres 16 entschieden."))
    assert page.type is PageType.DECISION
    found = LeafBatch((memory("m", "Wir haben uns für Postgres 16 entschieden."),))
    decision = leaf.decide(found, extractive.plan_leaf(found), Matches())
    return [item.page.key for item in decision.items if isinstance(item, CreatePage)]


def test_compounds_of_a_theme_and_words_for_a_kitchen_garden_are_of_the_theme() -> None:
    assert themes_in("Die Chorfahrt ist am Donnerstag.") == ("Singing",)
    assert themes_in("Der Klavierunterricht ist zu teuer.") == ("Piano",)
    assert themes_in("Die Probe ist am Donnerstag.") == themes_in("Der Buchladen ist am Markt.") == ()
    assert themes_in("La huerta da calabazas.") == themes_in("A horta está seca.") == ("Gardening",)


class _Tokens(tuple[str, ...]):
    """Tokens that count how many are read in slices."""

    read = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        _Tokens.read += len(found) if isinstance(place, slice) else 1
        return found


def test_a_text_of_many_labels_is_read_once_and_not_anew_from_its_start_for_each() -> None:
    tokens = _Tokens(["Note", ":"] * 500)
    assert not any(spotting._is_labelled(tokens, at, ["Note"]) for at in range(9, 999, 2))
    assert _Tokens.read <= len(tokens)


def test_name_of_many_turns_has_a_page() -> None:
    realtor = (
        "Ada: The realtor came, a woman named Tarka with a very small dog.",
        "Ada: Nils and Tarka are moving in together, in Clovis.",
        "Ada: Mom laughed. She likes Tarka.",
        "Ada: Nils is furious, he called Tarka a vulture to her face.",
    )
    assert "vulture" in lines(made(*realtor)["Tarka"])
    assert "Tarka" not in made(*realtor[2:])


def test_name_that_begins_three_turns_has_a_page() -> None:
    turns = (
        "Ada: Opal is in heaven with her kitten.",
        "Ada: Opal lost a tooth in the garden.",
        "Ada: Opal's birthday is near.",
    )
    assert "tooth" in lines(made(*turns)["Opal"])
    assert "Pizza" not in made(*(one.replace("Opal", "Pizza") for one in turns))


def test_speaker_does_not_choose_the_language_of_a_heading() -> None:
    pages = made(
        "Priscilla: Happy new year Wes!", "Priscilla: I want to sell the old house.", "Priscilla: I miss my dog."
    )
    assert {one.heading for one in pages["Priscilla"].sections} == {"Overview"}
