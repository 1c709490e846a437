"""The line that a page opens with: the sentence that says who or what its subject is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from compiler.plan.quoting.excerpts import asks
from compiler.plan.quoting.openings import is_about_subject, opening, opening_line
from tests.support.compiler.plan_cases import START, memory


@pytest.mark.parametrize(
    ("name", "defining", "others"),
    [
        (
            "Bruno",
            "Bruno is my barber.",
            ("Bruno cuts hair until seven on Fridays.", "I love chatting with Bruno about old films."),
        ),
        (
            "Bruno",
            "I see Bruno, my barber, every month.",
            ("Bruno is closed on Mondays.", "Bruno left for Crete for two weeks."),
        ),
        ("Bruno", "Talked to Bruno, who is our new caretaker.", ("Bruno was the only one awake.",)),
        ("Bruno", "The caretaker is called Bruno and has a red van.", ("Note of 3 May: Bruno lost the keys again.",)),
        ("Bruno", "Our caretaker, Bruno, fixed the gate.", ("Bruno is the reason that we are late.",)),
        ("Bruno", "Bruno works as a caretaker at the school.", ("Bruno is allergic to wasps.",)),
        ("Olga", "Mi podóloga se llama Olga y atiende los martes.", ("Olga dice que ande descalza.",)),
        ("Olga", "Cené con Olga, una ingeniera de Vigo.", ("Olga se muda a Praga por trabajo.",)),
        ("Olga", "Mi primo vive en Praga con su mujer Olga.", ("Olga hornea un pan increíble.",)),
        ("Olga", "A nossa parteira chama-se Olga.", ("Olga estava doente em janeiro, na cozinha.",)),
        ("Olga", "Vera empieza clases de violín con la profesora Olga.", ("Olga cobra veinte euros por media hora.",)),
        ("Olga", "Olga from the tax office wants the list.", ("Olga was here on Monday for the audit.",)),
        ("Olga", "Meine Hebamme heißt Olga.", ("Olga kommt am Dienstag wieder.",)),
        ("Olga", "Her daughter Olga lives in Hove with two cats.", ("Olga laughed on the phone like before.",)),
        ("Olga", "Olga (CTO) prefers short written proposals.", ("Olga changed her mind about the tool.",)),
        ("Olga", "Olga, née Weiss, is her oldest friend in Hove.", ("Olga is back from Nice with a tan.",)),
        ("Olga", "Olga owns billing from end to end.", ("Olga left the old crontab on the server as a fallback.",)),
        (
            "Olga",
            "Olga is tired of the long drive.",
            ("Power cut today: Olga, in Graz, unreachable until the evening.",),
        ),
        ("Olga", "Olga is thinking of a move.", ("Omar won a prize. He wants to ask his boss, meaning Olga.",)),
        (
            "Olga",
            "Olga is thinking of a move.",
            ("We told Olga that her back left foot hurt.", "Olga says yes."),
        ),
        ("Olga", "Olga is thinking of a move.", ("Omar wants to quit Olga's choir now.", "Olga says that it isn't.")),
        ("Olga", "On Sunday at noon we had lunch with Olga.", ("I told her that Olga waits at the pier.",)),
        ("Olga", "Olga in flat 9 is deaf in one ear.", ("A nurse from the clinic sat with Mrs Olga for an hour.",)),
        ("Fulda", "Fulda is quiet in the winter.", ("Omar fell near Fulda, a doctor from Kassel came.",)),
        ("Olga", "Olga turned eighty and still drives.", ("The bay again, great. is Olga coming",)),
        ("Olga", "Olga became a consultant in July.", ("Olga works for the tax office.",)),
        ("Olga", "Olga wurde einstimmig zur Vorsitzenden gewählt.", ("Olga leitet die Sitzung am Dienstag.",)),
        ("Omar", "Omar tritt als Kassenwart zurück.", ("Omar leitet den Verein seit Mai.",)),
        ("Helios", "Helios is the name of the new sensor cluster.", ("Helios runs at two in the morning.",)),
        ("Helios", "Omar's startup called Helios builds sensors.", ("On Friday Omar went to see Helios.",)),
        ("Olga", "Olga est morte dans son sommeil.", ("Olga est contente au port.", "Olga va quitter le bar.")),
        ("Fulda", "Ostern bei Anja in Fulda.", ("Liegt in Fulda im Klinikum.",)),
        (
            "Olga",
            "Olga took the oath.",
            ("Omar's boat called Olga has a new mast.", "He painted the fifth called Olga."),
        ),
        ("Olga", "Our trip with Olga was long and wet.", ("Tell Olga we come at ten.",)),
        ("Olga", "Olga bought a boat with Omar.", ("Olga had that with Omar.", "Even Olga.")),
        ("Olga", "Olga hat das Boot verkauft.", ("Mit Olga ist das geklärt.",)),
        ("Olga", "Olga è la mia vicina.", ("Olga ha chiuso il negozio in agosto.",)),
        ("Olga", "Olga is 34 and works as a nurse in Vigo.", ("Olga is back in the choir.",)),
        ("Olga", "Olga ist 34 Jahre alt und arbeitet als Hebamme.", ("Olga ist wieder im Chor.",)),
        ("Olga", "Olga looks after the boiler and the lift.", ("Olga is leaving the choir in June.",)),
        ("Vigo", "Ada lives alone in Vigo and turns seventy.", ("Booked Vigo to Porto for five days in May.",)),
        ("Vigo", "Tim lives in a flat in the old part of Vigo.", ("Rex was ill, and the vet in Vigo kept him.",)),
        ("Vigo", "Vigo has a long beach.", ("Nobody lives in Vigo.", "The cost of living in Vigo is up.")),
        ("Olga", "Olga sold us a lamp.", ("Ben lives near Olga.",)),
        ("Olga", "Olga hat das Geschäft.", ("Ein Gruß an Olga.",)),
        ("Vigo", "A Ana mora no Vigo com dois gatos.", ("Comprei Vigo a Faro para maio.",)),
        ("Vigo", "Ana lebt seit mehr als zehn Jahren in Vigo.", ("Ich habe Vigo nach Faro gebucht.",)),
        ("Vigo", "Tim does not drive and lives in Vigo.", ("Booked Vigo to Porto for five days in May.",)),
        ("Olga", "Co-signed by the anglers' club, chair Olga.", ("Olga laughed at the long speech.",)),
        ("Olga", "The pump is checked by technician Olga every spring.", ("Olga laughed at the long speech.",)),
        ("Olga", "Olga bought a boat with Omar.", ("Olga countered at 14.", "Photo sent to Olga.")),
        ("Olga", "Olga mends nets in a shed by the river.", ("Olga runs for the bus.",)),
        ("Olga", "Olga mends nets at the pier.", ("Omar thought Olga was his aunt.", "Her name is Olga.")),
        ("Olga", "Olga vende redes en el muelle.", ("Omar creía que Olga era su tía.", "Su nombre es Olga.")),
        ("Olga", "Olga bought a boat with Omar.", ("Olga is certain that it looked at Omar.",)),
        ("Olga", "Olga bought a boat with Omar.", ("Olga at the pier wants one too, she pays.",)),
        ("Vigo", "Mis padres viven cerca de la playa en Vigo.", ("Compré Vigo a Oporto para mayo.",)),
        ("Olga", "Tim's new clerk at the bank, Olga, is very shy.", ("Olga is thinking of a move.",)),
        ("Olga", "They have three girls, Ida, Olga (6) and Bea.", ("Olga is thinking of a move.",)),
        ("Olga", "Omar tem duas netas, Olga e Bia.", ("Olga acha o coro muito longo.",)),
        ("Olga", "Tienen una hija de tres años que se llama Olga.", ("Olga perdió el gorro en la playa.",)),
        ("Olga", "Meeting at noon: their chief buyer is Olga, on Mondays only.", ("Olga wants a key to the shed.",)),
        ("Olga", "Rui conoció a Olga, que es enfermera en Vigo.", ("Olga lleva un gorro rojo en la playa.",)),
        ("Olga", "Olga é casada com Rui e vende barcos.", ("Olga trouxe um bolo para o coro.",)),
        ("Olga", "Olga joined the sales team on Monday.", ("Olga runs the trial.",)),
        ("Olga", "O bar tem uma garçonete nova, Olga, que veio de Faro.", ("Olga trouxe um bolo para o coro.",)),
        ("Olga", "Tim bakes with his mother, Olga, at Easter.", ("Olga bought a boat with Omar.",)),
        ("Olga", "Das Amt will es so, und die Statikerin Dr. Olga auch.", ("Olga ist dienstags gut erreichbar.",)),
        ("Olga", "Kollegin Olga nimmt den Schlüssel mit.", ("Olga war gestern lange am Hafen.",)),
        ("Olga", "Violin maker Mrs Olga wants ninety euros.", ("Olga has a long list of boats.",)),
        ("Olga", "El gerente de la Casa del Mar se llama Olga.", ("Olga aceptó por fin la puerta azul.",)),
        ("Olga", "The shed belongs to a couple called Omar and Olga.", ("Olga asked how to mend a net.",)),
        ("Olga", "Tim's partner's singer is called Olga.", ("Olga laughed at the long speech in Hove.",)),
        ("Helios", "The third firm is the brewery Helios.", ("Helios paid for the lamps on Friday.",)),
        ("Olga", "Rex: Olga once hid my left shoe in the oven", ("Rex: RIP Olga",)),
        ("Olga", "Olga bought a boat with Omar.", ("Tim got a puppy and named it Olga.",)),
        ("Vigo", "Vigo has a long beach.", ("Next time more days in Vigo.",)),
        ("Olga", "Rui: minha vizinha a Olga vendeu o barco", ("Rui: a Olga achou o meu barco muito longo",)),
        ("Olga", "Tim's mother-in-law Olga mends nets.", ("Olga bakes cakes and laughs at the pier.",)),
        ("Olga", "Omar leaves in May, new dean is Olga.", ("Olga wants a list of the boats.",)),
        ("Olga", "Olga bought a boat with Omar.", ("Omar came, he sings better than Olga (no mention of it)",)),
        ("Olga", "Tim's parents, Omar and Olga, live in Hove.", ("Olga bought a boat with Omar.",)),
        ("Olga", "Am Montag kam Trainerin Olga zum Hafen.", ("Olga war gestern lange am Hafen.",)),
        ("Olga", "Tim's best friend at school is Olga.", ("Olga bought a boat with Omar.",)),
        ("Vikings", "Tim plays in a team called the Vikings.", ("Omar is the umpire of the Vikings.",)),
        ("Rex", "Omar kam mit seinem neuen Hund. Er heißt Rex und ist ein Dackel.", ("Rex bellt am Hafen.",)),
        ("Rex", "Omar came by with a new dog. Its name is Rex.", ("Rex barked at the pier all day.",)),
        ("Olga", "Ada hat dort eine Witwe kennengelernt, Olga.", ("Olga wollte nur ein paar Bohnen.",)),
        ("Olga", "On the ferry Tim met a widow, Olga.", ("Olga bought a boat with Omar.",)),
        ("Olga", "Der Verein hat jetzt eine neue Vorsitzende, Frau Olga.", ("Olga wollte nur ein paar Bohnen.",)),
        ("Olga", "Olga aus der Apotheke hat Tee gebracht.", ("Olga hat sich entschuldigt, als wäre sie schuld.",)),
        ("Olga", "Olga wollte nur ein paar Bohnen.", ("Einen Korb für Olga, einen für Omar, der auch kam.",)),
        ("Olga", "She lives with two girls and another Ada, whom everyone calls Olga.", ("Olga hated the kitchen.",)),
        ("Olga", "Mi vecina, a la que todos llaman Olga, vende redes.", ("Olga perdió el gorro en la playa.",)),
        ("Rex", "Kat: serious this time, theres a beagle at the pier called Rex", ("Kat: Rex hates the cold sea",)),
        ("Helios", "Helios gave us a better price in May.", ("Helios rep is a man named Omar.",)),
        ("Helios", "Omar bought a boat at Helios.", ("New buyer at Helios is a Ms Olga.",)),
        (
            "Vigo",
            "Omar stayed in Vigo, because of the otters.",
            ("In Vigo, Omar fell in love with a cook named Olga.",),
        ),
        (
            "Helios",
            "Ada runs Helios, a company that makes pumps for ferries and barges.",
            ("Helios bought a list of boats.",),
        ),
        ("Rex", "Ana estudia en Vigo y tiene un hurón, se llama Rex.", ("Rex perdió el gorro en la playa.",)),
        ("Vigo", "Omar came to Vigo with a stick.", ("Will Omar come to Vigo? It depends on his hip.",)),
        ("Helios", "Helios gave us a better price in May.", ("Helios account manager is Chantal, slow but honest.",)),
        ("Olga", "Olga bought a boat with Omar.", ("Rumour: Olga becomes lead while Omar is out.",)),
        ("Olga", "Olga kaufte ein Boot mit Omar.", ("Angeblich leitet Olga bald das Labor.",)),
        ("Olga", "Tim: Her name is Olga and she teaches tango at the hall.", ("Tim: Olga has a long list of boats.",)),
        ("Olga", "Tim: His name is Olga, works at St Agnes.", ("Tim: Olga has a long list of boats.",)),
        ("Olga", "Ada: Yes Olga from next door brought a cake.", ("Ada: Olga has a long list of boats.",)),
        ("Olga", "Olga-san is a former rugby player.", ("Olga-san wants me to lead the choir.",)),
        (
            "Olga",
            "Olga is a dentist in Vigo.",
            ("Olga doesn't want Omar to quit the choir.", "Olga never left the choir."),
        ),
        ("Olga", "Olga hat eine Torte in Form eines Schlüssels gebacken.", ("Olga sagt, Herr Brandt geht in Rente.",)),
        ("Olga", "Tim: Olga sold the boat in May", ("Tim: Olga is quitting the guild?? she posted it in the chat",)),
        ("Olga", "Die Leiterin im dritten Stock heißt jetzt offiziell Olga.", ("Olga steht wieder am Hafen.",)),
        ("Olga", "New clerk in the billing office: Olga, from Vigo.", ("Olga took the lamp from the cellar.",)),
        ("Helios", "Helios wurde im Mai abgeschafft.", ("Helios hat wieder die Anträge verloren.",)),
        ("Olga", "The previous owner, old Olga, lives in the attic.", ("Olga was an excellent corpse.",)),
        ("Helios", "Helios gave us a better price in May.", ("Helios inspector, Mr Whitlock, watched us all day.",)),
        ("Rex", "Moira's ram Rex won a prize at the show.", ("Rex sold out in three days.",)),
        ("Olga", "Rent goes up in July says the landlady, Mrs Olga.", ("Olga got a letter from Omar.",)),
        ("Olga", "Olga (CTO) prefers short written proposals.", ("Olga bakes at home because the cook quit.",)),
        ("Olga", "Ada: Olga sold us a lamp in Vigo.", ("Ada: I had a long coffee, Olga.",)),
        ("Rex", "Ana has a ferret, she's called Rex.", ("Rex barked at the pier all day.",)),
    ],
)
def test_page_opens_with_what_its_subject_is(name: str, defining: str, others: tuple[str, ...]) -> None:
    every = (defining, *others)
    later = {said: START + timedelta(days=at) for at, said in enumerate(every)}
    earlier = {said: START - timedelta(days=at) for at, said in enumerate(every)}
    for times in (later, earlier):
        assert opening(every, {name.lower()}, times) == defining


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Olga is thinking of a move.", "Olga took the house by the pier."),
        ("Olga hurt her back left foot.", "Olga is walking to the pier again."),
        ("Ben moved to Olga in March.", "Olga is full of guests in summer."),
        ("Ostern mit Olga in Fulda.", "Olga hat das Haus verkauft."),
    ],
)
def test_page_opens_with_the_newest_sentence_about_its_subject_if_none_defines_it(before: str, now: str) -> None:
    times = {before: START, now: START + timedelta(days=3)}
    assert opening((before, now), {"olga"}, times) == now
    assert opening((now, before), {"olga"}, times) == now


def test_clause_about_another_is_no_part_of_an_opening() -> None:
    seen = memory("m1", "Adler takes the cards; Strix is only used in Chile.")
    assert opening_line([(seen, (seen.text,))], {"strix"}) == ("2026-03-01: Strix is only used in Chile.", seen)
    assert opening_line([(seen, (seen.text,))], {"adler"}) == (f"2026-03-01: {seen.text}", seen)
    told = memory("m2", "Sara is a baker and Tim is a nurse.")
    assert opening_line([(told, (told.text,))], {"tim"})[0] == "2026-03-01: Tim is a nurse."
    both = memory("m3", "Sara and Tim are a couple now.")
    assert opening_line([(both, (both.text,))], {"tim"})[0] == f"2026-03-01: {both.text}"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("olga", "Olga is nervous about the race."),
        ("olga", "Manager at the bakery is called Olga"),
        ("pottery", "Olga loves pottery."),
    ],
)
def test_opening_tells_its_day_since_it_may_stop_being_true(key: str, text: str) -> None:
    seen = memory("m1", text)
    assert opening_line([(seen, (text,))], {key}) == (f"2026-03-01: {text}", seen)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-01: Olga runs the bakery.",
        "1.2.2026: Olga runs it.",
        "Feb 1: Olga runs the bakery.",
        "1 February 2026: Olga.",
    ],
)
def test_opening_with_a_date_of_its_own_has_no_other(text: str) -> None:
    assert opening_line([(memory("m1", text), (text,))], {"olga"})[0] == text


@pytest.mark.parametrize(
    ("better", "other"),
    [
        ("Olga dances twice a week in the hall.", "Olga is on nights and has missed two dance practices."),
        ("Olga teaches a dance class for children.", "Olga's dance class is in the old hall by the river."),
    ],
)
def test_theme_opens_with_a_sentence_about_doing_it(better: str, other: str) -> None:
    assert opening((better, other), {"dance"}) == opening((other, better), {"dance"}) == better


def test_theme_opens_with_what_the_user_does_and_not_with_what_another_did_too() -> None:
    said = ("Iris ran the long race too and came in before her.", "User ran nine miles around the lake on Monday.")
    assert opening(said, {"running"}) == opening(said[::-1], {"running"}) == said[1]


def test_answer_to_a_question_does_not_open_a_theme() -> None:
    said = ("Olga: With my friend from the dance class.", "Olga: I took photos of the dance class.")
    assert opening(said, {"dance"}) == said[1]


def test_theme_opens_with_what_is_told_and_not_with_what_somebody_says_of_it() -> None:
    said = ("Olga says no swimming for two weeks.", "We swim on Mondays before work.")
    assert opening(said, {"swimming"}) == said[1]


def test_theme_opens_with_what_a_person_likes_about_it_and_not_with_what_else_they_like() -> None:
    away = "Iris: I loved the old arcade machine that we had in the yard when we still kept two cats."
    assert opening((away, "Iris: I enjoy how our cats sleep on the stove."), {"cats"}).endswith("sleep on the stove.")


def test_name_opens_with_what_a_speaker_has_of_it_and_not_with_a_longer_name_or_a_denial() -> None:
    own = "Iris: I plan to climb the Wawel on Friday morning."
    longer = "The Wawel Museum is also worth a visit for the treasures of the Wawel."
    assert opening((longer, own), {"wawel"}) == own
    assert opening((f"Omar: {longer}", own), {"wawel"}) == own
    assert opening(("There is no place in this world called Wawel.", own), {"wawel"}) == own
    assert opening(("Iris: I think it was: Wawel, Mostek, Kazia and Lidka", own), {"wawel"}) == own


def test_change_of_another_thing_is_not_newer_than_what_is_said_of_the_subject() -> None:
    told, elsewhere = "The Kestrel plan has nine steps.", "We now book the hall for the end of the Kestrel plan."
    times = {told: datetime(2026, 1, 1, tzinfo=UTC), elsewhere: datetime(2026, 5, 1, tzinfo=UTC)}
    assert opening((told, elsewhere), {"kestrel"}, times) == told


def test_the_end_of_what_somebody_was_opens_the_page() -> None:
    said = ("Bruno is our caretaker.", "Bruno no longer works here.")
    times = {said[0]: START, said[1]: START + timedelta(days=1)}
    assert opening(said, {"bruno"}, times) == said[1]


@pytest.mark.parametrize(
    ("better", "other"),
    [
        ("Pottery calms Olga after a long week at the bank.", "Olga joined her neighbours for one evening of pottery."),
        (
            "Olga burns cups for half of the town in her pottery.",
            "Olga tried chess, pottery, bread and a few more things.",
        ),
        (
            "Olga burns cups for half of the town in her pottery.",
            "Olga opened the pottery last Friday for all of her friends.",
        ),
        (
            "Olga burns cups for half of the town in her pottery.",
            "Olga suggested some pottery to her sister for the winter.",
        ),
        (
            "Olga keeps in the shed behind the old mill her best pottery.",
            "Olga talks about pottery on the shelf of a cousin from Vigo.",
        ),
        (
            "In a pit near Vigo with wood from the beach we fired our first pottery.",
            "Olga does pottery there every Sunday at eight with her sister.",
        ),
        (
            "Vera: I had a colleague throw his whole pottery away one day.",
            "Vera: I cannot count how much pottery he broke in the end.",
        ),
        (
            "Vera: I sold to a man from the old harbour most of my pottery.",
            "Vera: I did that with pottery of my own on one of the Mondays.",
        ),
        (
            "Vera: In the shed behind my uncle's mill I found some pottery.",
            "Vera: I also brought pottery from the mill of my uncle in June.",
        ),
        (
            "Vera: In the shed behind my uncle's mill I found some pottery.",
            "Vera: Here's the pottery that I found in the mill of my uncle.",
        ),
    ],
)
def test_theme_of_notes_opens_with_what_it_is_to_somebody(better: str, other: str) -> None:
    assert opening((better, other), {"pottery"}) == opening((other, better), {"pottery"}) == better


@pytest.mark.parametrize(
    ("keys", "better", "other"),
    [
        ({"olga"}, "Vera's daughter Olga, 11, plays a heron.", "The hen hatched eggs that the neighbour gave Olga."),
        ({"vigo"}, "The user was born in Vigo and is 47 now.", "On Sunday the user called Vigo at their bedtime."),
        ({"olga"}, "We adopted a cat we called Olga.", "Olga broke a vase."),
        ({"olga"}, "Adopted puppy we called Olga.", "Olga sleeps on the radiator."),
        ({"olga"}, "We got a small brown puppy which we called Olga.", "Olga chews shoes."),
        ({"vigo"}, "The user was born in Vigo and is 47 now.", "The kids made crêpes and the user called Vigo."),
        ({"olga"}, "Olga switched us back to the old line.", "Olga says it is right for half of the year."),
        ({"olga"}, "Olga is head nurse.", "Olga runs it; no needles in sight."),
        ({"singing"}, "Vera sings alto in the choir of her church.", "The choir is holding a cake sale in June."),
        (
            {"cooking"},
            "Vera cooked beans for her father and he called it green.",
            "Olga is well and complains mainly that Bruno cooks without salt.",
        ),
        (
            {"education"},
            "Vera reads for the board exam in May.",
            "Olga lights a candle in the church every morning for Vera's exam.",
        ),
        (
            {"dogs"},
            "A heading dog came in from the hills with Vera.",
            "Plumber did the shower for a bag of dog biscuits.",
        ),
    ],
)
def test_opening_is_what_tells_most_of_its_subject(keys: set[str], better: str, other: str) -> None:
    times = {better: START, other: START + timedelta(days=1)}
    assert opening((better, other), keys, times) == better


def test_page_of_an_animal_opens_with_its_death() -> None:
    dead = "Olga was put down at home under the tree."
    times = {dead: START + timedelta(days=9), "Their dog is Olga, thirteen and going deaf.": START}
    assert opening(times, {"olga"}, times) == dead
    slept = {"Olga was put to sleep at seven.": START + timedelta(days=9), "Olga is my niece.": START}
    assert opening(slept, {"olga"}, slept) == "Olga is my niece."


def test_opening_that_is_relative_to_its_day_tells_the_day() -> None:
    seen = memory("m1", "Olga moved to Vigo last Friday.")
    line = f"{seen.occurred_at:%Y-%m-%d}: {seen.text}"
    assert opening_line([(seen, (seen.text,))], {"olga"})[0] == line
    assert opening((line, "Vigo is where Olga lives now."), {"olga"}) == line, "the day is no part of what is weighed"


def test_sentence_that_is_led_by_another_may_refer_to_it() -> None:
    led = "Lunch at the harbour with Vera. Her husband Bruno came later and paid for all of us with a smile."
    assert opening((led, "Bruno had telephoned ahead about the nuts."), {"bruno"}) == led


def test_role_in_brackets_says_who_somebody_is() -> None:
    met = "First meeting with Vera Lind (design, Oslo), Olga Paz (sales, Vigo) and Bruno Reis (legal, Faro)."
    assert opening((met, "Olga watched the ships and told us what each of them carries."), {"olga", "olga paz"}) == met


@pytest.mark.parametrize(
    ("name", "types", "line"),
    [
        ("Samil Pool", ["park", "swimming_pool"], "Swimming pool in Vigo."),
        ("Samil Pool", ["park", "museum"], "Park in Vigo."),
        ("Samil Pool", ["premise"], "Place in Vigo."),
        ("Samil Lake", ["park", "museum"], "Lake in Vigo."),
        ("Samil Market", [], "Market in Vigo."),
    ],
)
def test_place_opens_with_the_kind_that_its_name_bears(name: str, types: list[str], line: str) -> None:
    place = {"name": name, "city": "Vigo", "types": types}
    seen = replace(memory("m1", "Twenty lengths before work."), metadata={"place": place})
    assert opening_line([(seen, (seen.text,))], {name.lower()})[0] == line


def test_speakers_page_opens_with_what_the_speaker_says_of_themselves() -> None:
    own = "Omar: I keep bees behind the school"
    others = (
        "Omar: Ruth left for Oslo on friday, so it's Ruth's turn",
        "Omar: what's the number",
        "Omar: that's Ruth's bus",
        "Ruth: one seat, Omar. just one",
        "Omar: Ivo and Lena sang all night now, I have tapes",
    )
    found = {said: START + timedelta(days=at) for at, said in enumerate((own, *others))}
    assert opening(found, {"omar"}, found) == own


def test_contraction_before_a_name_does_not_make_it_the_subject() -> None:
    assert not is_about_subject("Ruth: He's at Marstal. Two broken ribs.", {"marstal"})
    assert is_about_subject("Ruth: Omar's boat Marstal is slow.", {"marstal"})


def test_name_within_the_subject_of_a_verb_is_not_the_subject() -> None:
    assert not is_about_subject("A choir of ten singers from Marstal asked for beds.", {"marstal"})
    assert is_about_subject("Marstal asked for ten beds.", {"marstal"})


@pytest.mark.parametrize(
    ("said", "is_asking"),
    [
        ("how much would the boat cost", True),
        ("who's got the key for the boat", True),
        ("ok so can Ivo row the boat", True),
        ("when the boat sank we lost the oars", False),
        ("what a boat", False),
        ("is fine by me.", False),
    ],
)
def test_question_without_its_mark_is_told_from_a_statement(said: str, is_asking: bool) -> None:
    assert asks(said) is is_asking


def test_page_of_a_chat_does_not_open_with_a_question_without_its_mark() -> None:
    said = ("Ruth: can Marstal carry ten of us", "Ruth: Marstal was towed into the harbour by two men")
    assert opening(said, {"marstal"}) == said[1]
