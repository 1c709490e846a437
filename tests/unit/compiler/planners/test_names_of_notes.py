"""Which words of short notes are names, and which names are one."""

from __future__ import annotations

import pytest

from compiler.plan.names.naming import is_named
from compiler.plan.names.spotting import runs
from compiler.plan.names.themes import themes_in
from compiler.plan.quoting.excerpts import excerpt
from compiler.planners import extractive, gazetteer
from tests.support.compiler.plan_cases import at as at_place
from tests.support.compiler.plan_cases import batch, memory


def titles(*texts: str) -> set[str]:
    seen = (memory(f"m{at}", text, day=at) for at, text in enumerate(texts))
    return {one.title for one in extractive.plan_leaf(batch(*seen), gazetteer=gazetteer.load()).new_pages}


def names(text: str) -> list[str]:
    return [one.name for one in runs(text) if not (one.is_initial or one.is_noun)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ulrikes Hund ist krank.", ["Ulrike"]),
        ("Wir waren bei Ulrikes neuer Chefin.", ["Ulrike"]),
        ("Wir waren mit Lukas Schach spielen.", ["Lukas"]),
        ("Letztes Jahr waren wir nicht dort.", []),
        ("Wir sind bei Herrn Falkner gewesen.", ["Herr Falkner"]),
        ("Der Großhändler VXT liefert nicht am Montag.", ["VXT"]),
        ("Die Kritikerin Wanda Loos schreibt nicht.", ["Wanda Loos"]),
        ("We moved to easyVET in May.", ["easyVET"]),
        ("It used 40 kWh in May.", []),
        ("Adler takes cards; Strix takes none.", ["Strix"]),
        ("We flew to Trinidad and Tobago with Olga and Rui.", ["Trinidad and Tobago", "Olga", "Rui"]),
        ("The bread is from Krume and Co, or from R. Tarkin and Sons.", ["Krume and Co", "R. Tarkin and Sons"]),
        ("Das Dach macht jetzt Tarkin und Söhne.", ["Tarkin und Söhne"]),
        ("Die Mutter Ulrike ist krank.", ["Ulrike"]),
        ("Ihre Mutter Ulrike ist krank.", ["Ulrike"]),
        ("Wir waren mit seiner Tochter Ulrike dort.", ["Ulrike"]),
        ("Die Nutzerin heißt Ulrike.", ["Ulrike"]),
        ("Sie geht, obwohl Ulrike da Nachtdienst hat.", ["Ulrike"]),
        ("Sie geht, obwohl Ulrike da Training hat.", ["Ulrike"]),
        ("Ich habe mit Tochter Ulrike nicht gesprochen.", ["Ulrike"]),
        ("We ordered bread from Krume and Co in Berlin.", ["Krume and Co", "Berlin"]),
        ("Wir waren mit Ulrike Sonnenschein dort.", ["Ulrike Sonnenschein"]),
        ("Sie las viel über Mutter Teresa.", ["Mutter Teresa"]),
        ("Oskar und Partner kommen nicht.", []),
        ("We played Tom and Sons of Anarchy.", ["Tom", "Sons of Anarchy"]),
        ("Level 2 was hard.", []),
        ("Wir waren mit Ulrike Baumgarten dort.", ["Ulrike Baumgarten"]),
        ("Er will die Küche mit anderen Fronten.", []),
        ("He starts with an RYA Level 2 weekend.", ["RYA"]),
        ("Fomos ao ballet ver Romeu e Julieta.", ["Romeu e Julieta"]),
        ("We had lunch near Ilka's bakery.", ["Ilka's bakery"]),
        ("We had lunch near Ilka's house.", ["Ilka"]),
        ("We talked about Vigo's restaurant scene.", ["Vigo"]),
        ("Der Pfleger hat Ulrike Hustentropfen gebracht.", ["Ulrike"]),
        ("Oskar wurde Arzt, Ulrike Buchhändlerin.", ["Ulrike"]),
        ("Wir proben im Knabenchor St. Nikolai.", ["Knabenchor St. Nikolai"]),
        ("Omars Schwester Ulrike ist krank.", ["Omar", "Ulrike"]),
        ("Omars Vater Nuri ist krank.", ["Omar", "Nuri"]),
        ("Er las einen dicken Roman aus Oslo.", ["Oslo"]),
        ("Er sah den Roman auf dem Tisch.", []),
        ("Oskar und ihr Mann Nuri suchen ein Haus.", ["Nuri"]),
        ("Er hat schöne Bohnen und Mangold gesät.", []),
        ("La clase es del profesor Van der Aa los lunes.", ["Van der Aa"]),
        ("Van a la playa con Omar los lunes.", ["Omar"]),
        ("We stood on Main St. The shop was shut.", ["Main St"]),
    ],
)
def test_certain_names_of_a_note(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_note_names_whom_it_has_in_the_genitive_or_dative() -> None:
    text = "Ulrikes Hund frisst nicht."
    assert is_named("ulrike", text)
    assert excerpt(memory("m", text), {"ulrike"}) == (text,)
    assert is_named("herr falkner", "Termin bei Herrn Falkner.")
    assert not is_named("ulrike", "The Ulrikes are no family.")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("Latency is high today.", "Latency was fine in May."), set()),
        (("Rehearsal is at seven.", "Rehearsal has a new room."), set()),
        (("Manchmal ist es kalt hier.", "Manchmal hat er Hunger."), set()),
        (("Vielleicht kommt er nicht.", "Vielleicht ist er krank."), set()),
        (("Mientras viene el tren.", "Mientras tiene tiempo."), set()),
        (("62 Kilo wiegt er jetzt.", "Er muss 8 Kilo abnehmen.", "Er hat 2 Kilo verloren."), set()),
        (("Levei a mãe ao médico.", "Levei a mãe à praia do Guincho."), set()),
        (("Este ano vamos ao mar.", "O Ano Novo foi calmo.", "Contrato de um ano."), set()),
        (("Fatou a souri.", "Fatou a pleuré chez nous."), {"Fatou"}),
        (("Gudrun cleans on Tuesdays.", "Gudrun needs a stronger brush."), {"Gudrun"}),
        (("Sofia is the product manager.", "Sofia wants refunds by May."), {"Sofia"}),
        (("Gary Holt is fixing the roof.", "Gary quoted nine hundred."), {"Gary Holt"}),
        (("Vorsitzende ist Frauke Dierks.", "Frauke möchte neue Tore."), {"Frauke Dierks"}),
        (("Die Regatta war verregnet.", "Wir fahren nicht zur Regatta."), set()),
        (("The buyer is called Renata Prado.", "Renata offered a lower fee."), {"Renata Prado"}),
        (("Incident: the queue was full.", "Incident: a disk was lost.", "Incident closed."), set()),
        (("Trinkt bis zu sechs Tassen Kaffee.", "Trinkt jetzt drei Tassen.", "Trinkt nur noch Wasser."), set()),
        (
            (
                "Jeden Tag läuft sie.",
                "Hat dort jede Nacht geschlafen.",
                "Schläft sieben Stunden.",
                "In der Nacht wach.",
            ),
            set(),
        ),
        (("Birgit backt gern Brot.", "Birgit wandert im Harz.", "Birgit strickt Socken für uns."), {"Birgit"}),
        (("App routes are typed now.", "App routes moved to the web team.", "The app is slow."), set()),
    ],
)
def test_word_that_only_opens_sentences_is_a_name_by_what_it_does(texts: tuple[str, ...], found: set[str]) -> None:
    assert titles(*texts) == found


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (("We send them to Dr. Hagen Falkner.", "Dr. Falkner called about the knee."), "Hagen Falkner"),
        (
            (
                "El casero, señor Uribe, quiere subir el alquiler.",
                "Firmamos el contrato con Uribe.",
                "Señor Uribe agreed to it.",
            ),
            "Señor Uribe",
        ),
        (("Das Gerät wird von Herrn Falkner gewartet.", "Herr Falkner is the technician."), "Herr Falkner"),
        (
            ("We flew to the USA in May.", "The visa for the United States took long.", "Ana misses the USA."),
            "United States",
        ),
        (("Ana lebt in Deutschland.", "The tax in Germany is higher."), "Germany"),
        (("Professor Adeyemi heads the lab.", "Adeyemi wants the draft by May."), "Professor Adeyemi"),
        (("La pediatra es la doctora Sanchís.", "Doctora Sanchís pidió un análisis."), "Doctora Sanchís"),
        (("Dona Amélia do Café Lírio quer bolos.", "A Dona Amélia tem setenta anos."), "Dona Amélia"),
        (("Mr. Okumu came with a jigsaw.", "The Okumus brought soup.", "We sat behind the Okumus."), "Okumus"),
        (("Customer Vexel GmbH has an export.", "We lost Vexel in May."), "Vexel"),
        (("Mr. De Raedt came with a jigsaw.", "We saw De Raedt play darts."), "De Raedt"),
    ],
)
def test_forms_of_one_name_make_one_page(texts: tuple[str, ...], title: str) -> None:
    assert titles(*texts) == {title}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We met at St. Anne's Church and on Mt. Bural.", ["St. Anne's Church", "Mt. Bural"]),
        ("The shop is on Abbey St. The owner is Bo.", ["Abbey St", "Bo"]),
        ("J'ai vu Luc, et D'Artagnan chez L'Oréal.", ["Luc", "D'Artagnan", "L'Oréal"]),
        ("Qu'elle vienne. Un'altra pizza. C'est bon.", []),
        ("We met the Van der Lindens. Van Gogh was Dutch.", ["Van der Lindens", "Van Gogh"]),
        ("Van Marta y Luis al cine.", ["Marta", "Luis"]),
        ("La Dra. de Mirela llamó.", ["Dra", "Mirela"]),
        ("In Cape Town saw penguins.", ["Cape Town"]),
        ("We ate at Le Verre in La Serena. De Madrid a Lisboa.", ["Le Verre", "La Serena", "Madrid", "Lisboa"]),
        ("The grant of Tesla is NOK 11.8M.", ["Tesla"]),
        ("Thank God, Moira came. God bless her.", ["Moira"]),
    ],
)
def test_runs_of_capitalised_words_that_are_names(text: str, names: list[str]) -> None:
    assert [one.name for one in runs(text)] == names


def test_a_word_of_a_theme_within_a_name_is_no_theme() -> None:
    assert themes_in("O Hotel do Parque aceitou o orçamento.") == ()
    assert themes_in("The hotel has a pool.") == ("Hotels",)


def test_a_couple_and_a_city_with_a_surname_are_not_one() -> None:
    assert titles("Frau Falkner paid in cash.", "Herr Falkner paid by card.", "We met Anna Falkner there.") == set()
    assert titles("We met Dr. Hagen Porto.", "The office in Porto is closed.") == set()


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (("Ilka Brenner is our vet.", "Ilka charged 45 pounds.", "Called Ilka about the dog."), "Ilka Brenner"),
        (("Ilka was here.", "Ilka left early.", "The award goes to Ilka Brenner."), "Ilka Brenner"),
        (("We use Tarn for the maps.", "Tarn is slow today.", "The new Tarn Server is faster."), "Tarn"),
    ],
)
def test_person_is_titled_by_the_full_name_however_seldom_it_is_written(texts: tuple[str, ...], title: str) -> None:
    assert titles(*texts) == {title}


def test_page_of_two_memories_says_more_of_its_subject_than_its_name() -> None:
    passing = ("Lunch with Rui at the Ferrypost.", "The wedding will be at the Ferrypost in May.")
    assert titles(*passing) == set()
    assert titles(*passing, "The party at the Ferrypost went on until two.") == {"Ferrypost"}
    assert titles(passing[0], "The Ferrypost is closed on Mondays.") == {"Ferrypost"}
    assert titles(passing[0], "In May the Ferrypost closes for the winter.") == {"Ferrypost"}


def test_sentence_that_states_how_two_names_hang_together_tells_of_both() -> None:
    said = ("Ilka Brenner works at Ferrypost.", "Ilka Brenner left Ferrypost in May.")
    assert titles(*said) == {"Ilka Brenner", "Ferrypost"}


def test_two_memories_are_enough_for_a_name_that_their_metadata_tells() -> None:
    said = ("Lunch with Rui at the Ferrypost.", "The wedding will be at the Ferrypost in May.")
    seen = [memory(f"m{at}", text, {"entities": ["Ferrypost"]}, day=at) for at, text in enumerate(said)]
    assert [one.title for one in extractive.plan_leaf(batch(*seen)).new_pages] == ["Ferrypost"]


def test_short_form_of_a_place_that_bears_its_owners_name_is_no_name_of_its_own() -> None:
    said = ("Flat white at Ilka's on Main Street.", "Ilka's on Main Street had no milk.")
    seen = [memory(f"m{at}", text, at_place("Ilka's Coffee", "Vigo"), day=at) for at, text in enumerate(said)]
    assert "Ilka" not in [one.title for one in extractive.plan_leaf(batch(*seen)).new_pages]
    with_her = memory("m2", "Flat white with Ilka at Ilka's on Main Street.", at_place("Ilka's Coffee", "Vigo"), day=2)
    again = memory("m3", "Ilka sold a boat to Rui.", day=3)
    assert "Ilka" in [one.title for one in extractive.plan_leaf(batch(*seen, with_her, again)).new_pages]


def test_role_or_direction_alone_is_no_name() -> None:
    assert titles("She saw her GP.", "Her GP changed it.", "The GP swapped one.", "Her GP rang in May.") == set()
    assert (
        titles("The vet rang in May.", "Vet said it is fine.", "Vet wants to see him.", "Class East is loud.") == set()
    )


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("Bug: the queue was full.", "Bug: we lost a disk.", "Bug: I saw no vectors."), set()),
        (("Emergency: no heat.", "Emergency: the pipe burst.", "The emergency is over."), set()),
        (("At 53 the ARR is fine.", "New ARR of 38.", "The ARR rose."), set()),
        (("Our dog Bug is a spaniel.", "Bug was ill in May.", "Bug sleeps in the hall."), {"Bug"}),
        (("Go-live planned for May.", "Go-live moved to June.", "The go-live is near."), set()),
    ],
)
def test_label_or_verb_with_a_particle_is_no_name(texts: tuple[str, ...], found: set[str]) -> None:
    assert titles(*texts) == found


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (
            ("Koch wants to move to Berlin.", "Koch is tall.", "I met Koch at the Neues Museum."),
            {"Koch"},
        ),
        (("The site in Ghent opens in May.", "Ghent needs scanners.", "Ghent UAT result: two defects."), {"Ghent"}),
    ],
)
def test_name_keeps_its_page_beside_an_institution(texts: tuple[str, ...], found: set[str]) -> None:
    assert titles(*texts) == found


def test_month_is_part_of_a_name() -> None:
    texts = ("Owen plans a trip to Cape May in May.", "Cape May sounds wonderful.", "Owen came back from Cape May.")
    assert titles(*texts) == {"Cape May"}


def test_time_zone_is_no_city() -> None:
    assert (
        titles("The job runs in Europe/Lisbon.", "We set Europe/Lisbon for it.", "The depot in Lisbon is new.") == set()
    )


def test_owner_before_a_name_is_no_part_of_it() -> None:
    texts = ("Ana applied to UIP's DNP program.", "UIP's DNP program took Ana.", "UIP is in Faro.")
    assert titles(*texts) == {"Ana", "UIP"}
