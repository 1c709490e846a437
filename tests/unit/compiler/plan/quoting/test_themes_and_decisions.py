"""Themes, decisions and the first line of a page, without a model."""

from __future__ import annotations

import re

import pytest

from compiler.plan.contract import BatchMemory, CreatePage, PageType
from compiler.plan.judging import leaf
from compiler.plan.names.merge import Matches
from compiler.plan.names.spotting import runs
from compiler.plan.names.themes import themes_in
from compiler.plan.proposal import Proposal, ProposedPage
from compiler.plan.quoting.excerpts import excerpt
from compiler.plan.quoting.openings import opening
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory


def page_of(proposal: Proposal, title: str) -> ProposedPage:
    return next(one for one in proposal.new_pages if one.title == title)


def test_an_activity_in_lower_case_is_a_topic_when_it_returns_in_any_form() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "She painted a wide valley at dawn for her sister."),
            memory("m2", "The paintings hang above the long kitchen table."),
            memory("m3", "Hoje comecei a pintar outra vez depois do jantar."),
            memory("m4", "The kettle broke and the shop was closed again."),
        )
    )
    (page,) = proposal.new_pages
    assert (page.type, page.title) == (PageType.TOPIC, "Painting")
    assert page.sections[0].memory_ids == ("m1", "m2", "m3")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We went hiking with my kids", ("Hiking", "Children")),
        ("Me encanta la fotografía y mi perro duerme", ("Photography", "Dogs")),
        ("Wir waren klettern und danach schwimmen", ("Rock climbing", "Swimming")),
        ("Elle adore cuisiner des recettes", ("Cooking",)),
        ("A Harry Potter fan at Park Avenue", ()),
        ("Booked a family apartment, and flu jabs on 3 May", ()),
        ("Three rolls of film for the Nikon, and two kitchens on the books", ()),
        ("It's the dynamic nature of the job", ()),
        ("Sam: Nature really helps me to calm down", ("Nature",)),
        ("Wow, nature can be so loud", ("Nature",)),
        ("It is human nature to forget such names", ()),
        ("The nature of it is still not clear", ()),
        ("We signed up for three community projects", ("Community",)),
        ("Teenage mutant ninja turtles on tape", ()),
        ("It was calm, kinda like yoga", ()),
        ("The crew has become like family", ()),
        ("It is like walking through a forest", ()),
        ("Sounds like you paint every day", ("Painting",)),
        ("I just like yoga", ("Yoga",)),
        ("In high school we kept a band", ()),
        ("My school starts at eight and the homework is long", ("Education",)),
        ("I met them through friends from church", ()),
        ("He sold his viola and bought a cello", ("Cello",)),
        ("Our trip to the fjords was wet", ("Trips and vacations",)),
        ("I got the flu before the match", ("Illness",)),
        ("I'm running late for the bus", ()),
        ("I went running before work", ("Running",)),
        ("We swam, and running comes next", ("Swimming", "Running")),
        ("We flew in economy class", ()),
        ("A mountain of laundry and a family of spoons", ()),
        ("The crew feels like a family to them", ()),
        ("The lamp is a sign of our friendship", ()),
        ("Move the finance tables to the new server", ()),
        ("He talks about finance on most evenings", ("Finance",)),
        ("I like my family", ("Family",)),
        ("We watched kids' shows with a family friend", ()),
        ('Just finished "A Dance with Dragons" and slept', ()),
        ("Ich lese »Das Boot« und „Tanz der Teufel“ gern", ()),
        ('He said "we dance every single day." and left', ("Dance",)),
        ("Look at this [shares a picture: a dog on a beach]", ()),
        ("It is cheaper in the long run", ()),
        ("We took a long run along the canal", ("Running",)),
        ("The new timetable is working out for everybody", ()),
        ("I was working out before breakfast", ("Workouts",)),
        ("As a last resort we called the harbour office", ()),
        ("She adopted a new approach to invoices", ()),
        ("The second part is coming out in May", ()),
        ("Her coming out story moved us, and the pride parade too", ("LGBTQ+ life",)),
        ("I park my van behind the mill", ()),
        ("He tried to console me after the match", ()),
        ("We never miss a soap opera", ("TV shows",)),
        ("The Easter trail is ready", ("Holidays and celebrations",)),
        ("The trail was muddy", ("Hiking",)),
        ("The workshop needs a new roof", ()),
        ("She spoke at a workshop on glazes", ("Conferences and workshops",)),
        ("Wait behind the church before noon", ()),
        ("We went to church on Sunday", ("Religion",)),
        ("A escola de forró fecha em agosto", ()),
        ("Nina wrote it into the accident book", ()),
        ("The cello exam is in May", ("Cello",)),
        ("He built a canoe of cedar", ("Kayaking and canoeing",)),
        ("The status conference is in May", ()),
        ("She fell at the bouldering gym", ("Rock climbing",)),
        ("A family from Lima came for the dog", ("Dogs",)),
    ],
)
def test_themes_are_found_in_several_languages_and_not_within_names(text: str, found: tuple[str, ...]) -> None:
    assert themes_in(text) == found


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("We decided to rent the smaller boat because the harbour is narrow.", "Rent the smaller boat"),
        ("I'll go with the green tiles for the hallway.", "The green tiles for the hallway"),
        ("From now on I drink decaf after lunch.", "I drink decaf after lunch"),
        ("We decided to stop seeing each other because it is far.", "Stop seeing each other"),
        ("We agreed that every harbour must have a lamp by June.", "Every harbour must have a lamp by June"),
        ("Decision for Marmot: one cutover of all tables in May.", "One cutover of all tables in May"),
        ("Decidimos mudar para o Porto em setembro.", "Mudar para o Porto em setembro"),
        ("Ab jetzt trinke ich nur noch Kräutertee.", "Ab jetzt trinke ich nur noch Kräutertee"),
        ("I decided to walk to the office every day.", "Walk to the office every day"),
        ("Decided on a bench by the northern harbour: I will move to Faro in May.", "I will move to Faro in May"),
        ("We decided to paint the boat and sell it.", "Paint the boat and sell it"),
        ("We decided to cancel the order of last summer.", "Cancel the order of last summer"),
        ("The old boat leaks, we decided to get it repaired.", "The old boat leaks, we decided to get it repaired"),
        (
            "Decision: one quiet move of all the crates on the weekend of 20 and 21 June.",
            "One quiet move of all the crates on the weekend",
        ),
    ],
)
def test_one_memory_is_enough_for_a_decision_with_what_when_and_why(text: str, title: str) -> None:
    page = page_of(extractive.plan_leaf(batch(memory("m1", text))), title)
    bodies = {one.slug: one.body_md for one in page.sections}
    assert page.type is PageType.DECISION
    assert "2026" in bodies["context"]
    assert page.summary.startswith("2026-"), "the first line tells the day"
    assert ("rationale" in bodies) == ("because" in text)
    assert all(one.memory_ids == ("m1",) for one in page.sections)


@pytest.mark.parametrize(
    "text",
    [
        "Have you decided to rent the smaller boat?",
        "They decided to cancel the whole series.",
        "They've settled on a name for the boat but keep it.",
        "Felix asked who feeds the newts, and I said that he was in charge of them from now on.",
        "Omar: The doctor is watching her heart, so she's off work from now on.",
        "The van broke, so she takes the bus to the office from now on.",
        "If we decided to rent the boat, it would be late.",
        "I have to decide between the two boats.",
        "Omar: The harbour office decided to close the northern pier.",
        "Omar: Mom decided not to sell the house.",
        "Omar: Tarka decided to sell the smaller boat.",
        "I decided to have a quick lunch by the pier.",
        "We decided to go out for dinner with the neighbours.",
        "I decided to wear my heavy grey jacket.",
        "I decided to try my hand at the big drums.",
        "Some of what we earned was left after the long market day, and we decided to spend this money on boats for the school.",
        "Nina: Last summer we decided to rent the smaller boat.",
        "Letztes Jahr haben wir beschlossen, das kleine Boot zu mieten.",
        "After the match we decided to freshen up and go and watch another one.",
        "Nina: It was cold there, so I guess the managers decided to buy new heaters.",
        "Nina: Today I decided to spend some time with my cousins.",
        "Nina: I'll go with the second answer of the quiz book.",
        "We will do it on the first Monday of each quarter from now on.",
        "The mechanic replaced the seal and says once a year from now on.",
        "Rook paid the three bills at once and asked for a monthly bill from now on.",
        "Wants Horst to answer him in Dutch from now on.",
        "Ruth wants to swim in the lake every May from now on.",
        "We chose the paint colours over the phone with Ana.",
        "Ana chose a puppy over the weekend in Porto.",
        "Rui decided not to come to the party of his sister.",
        "Agreed on 20:30 as the last note of the evening.",
        "Nina: After all these years of looking at other people's boats in the harbour, I decided to build one.",
    ],
)
def test_a_question_or_a_decision_of_others_is_no_decision(text: str) -> None:
    proposal = extractive.plan_leaf(batch(memory("m1", text)))
    assert [one for one in proposal.new_pages if one.type is PageType.DECISION] == []


def test_tag_makes_a_commitment_in_the_first_sentence_a_decision() -> None:
    text = "The lease of the boathouse will not be renewed. The landlord will hear of it in May."
    tagged, plain = memory("m1", text, {"tags": ["decision"]}), memory("m1", text)
    assert titles_of_decisions(tagged) == ["The lease of the boathouse will not be renewed"]
    assert titles_of_decisions(plain) == []
    told = memory("m1", "The boathouse has a new door of red oak.", {"tags": ["decision"]})
    assert titles_of_decisions(told) == [], "the tag alone decides nothing"


def titles_of_decisions(one: BatchMemory) -> list[str]:
    proposal = extractive.plan_leaf(batch(one))
    return [page.title for page in proposal.new_pages if page.type is PageType.DECISION]


def test_what_only_answers_the_other_speaker_is_not_quoted() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Nina: My pottery wheel finally arrived from Spain. You must love the pottery fairs there!"),
            memory("m2", "Omar: I'm so glad you found a pottery wheel. Your pottery bowls deserve a better shelf."),
            memory("m3", "Nina: I glazed three pottery bowls on Sunday morning."),
            memory("m4", "Nina: I sold the first pottery bowls at the harbour market."),
        )
    )
    body = page_of(proposal, "Pottery").sections[0].body_md
    assert "wheel finally" in body
    assert "glad" not in body
    assert "deserve" not in body
    assert "must love" not in body


def test_praise_of_what_the_other_plans_is_not_quoted() -> None:
    said = "Omar: Nice! Moving to Faro is a great decision for the whole pottery."
    told = (
        "Nina: I want to open a small pottery in Faro next spring.",
        "Nina: The pottery bowls in my kitchen came from Faro.",
        "Nina: I glazed three large pottery jars on Sunday morning.",
    )
    memories = [memory(f"m{at}", text) for at, text in enumerate((*told, said))]
    page = page_of(extractive.plan_leaf(batch(*memories)), "Pottery")
    assert "great decision" not in page.sections[0].body_md
    assert "my kitchen" in page.sections[0].body_md


def test_a_lists_mark_is_not_part_of_a_line_or_an_opening() -> None:
    texts = ("2) Beatriz repaired the old tram bell.", "- Beatriz polished the brass of the tram.")
    every = [memory(f"m{at}", text) for at, text in enumerate(texts)]
    page = page_of(extractive.plan_leaf(batch(*every, memory("m9", "We met Beatriz at the depot."))), "Beatriz")
    lines = page.sections[0].body_md.split("\n")
    assert lines[:2] == ["- Beatriz repaired the old tram bell.", "- Beatriz polished the brass of the tram."]
    assert page.summary.startswith("2026-03-01: Beatriz")


def test_a_name_that_is_only_an_example_among_others_gets_no_page() -> None:
    said = "Authors like Vesna Koric, Ole Brandt and Ravi Sato write short books about harbours."
    again = "Quiet books by Vesna Koric, Ravi Sato and Ole Brandt sell well in every winter."
    assert extractive.plan_leaf(batch(memory("m1", said), memory("m2", again))).new_pages == ()
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Dinner with Vesna Koric, Ole Brandt and Ravi Sato at the harbour."),
            memory("m2", "Ole Brandt repaired the old engine of the boat."),
        )
    )
    assert [one.title for one in proposal.new_pages] == ["Ole Brandt"]


def test_a_theme_of_everyday_life_named_in_passing_is_no_topic() -> None:
    passing = (
        "Nina: I had my coffee on the long way to the northern office.",
        "Omar: Some people bring coffee to the meeting.",
        "Nina: I spilled coffee over the new leather chair.",
        "It was next to the coffee machine, as it seems.",
    )
    told = ("Omar: I love coffee from the small roastery.", "Nina: We roasted coffee in my kitchen yesterday.")
    every = [memory(f"m{at}", text) for at, text in enumerate((*passing, *told))]
    assert [one for one in extractive.plan_leaf(batch(*every[:4])).new_pages if one.title == "Coffee"] == []
    assert page_of(extractive.plan_leaf(batch(*every)), "Coffee").type is PageType.TOPIC
    crafts = [
        memory(f"m{at}", one.text.replace("coffee", "pottery")) for at, one in enumerate((*every[:1], *every[4:]))
    ]
    assert page_of(extractive.plan_leaf(batch(*crafts)), "Pottery").type is PageType.TOPIC


def test_notes_of_an_everyday_theme_make_a_topic_and_a_set_phrase_makes_none() -> None:
    notes = ("Nina adopted a dog in May.", "Nina walks the dog at dawn.", "Omar trains the dog of Nina.")
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(notes))))
    assert page_of(proposal, "Dogs").type is PageType.TOPIC
    said = (
        "Nina loves cooking for friends and family.",
        "Omar always invites family and friends in June.",
        "Nina enjoys the lake with friends and family.",
        "Omar usually sails with friends or family.",
    )
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(said))))
    assert [one for one in proposal.new_pages if one.title == "Family"] == []


def test_what_speakers_of_languages_without_pronouns_tell_is_their_own() -> None:
    said = (
        "Nina: Ayer por la mañana salí temprano a nadar en el lago.",
        "Nina: En el verano pienso siempre en nadar lejos.",
        "Omar: El domingo por fin volví a nadar con Nina.",
    )
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(said))))
    assert page_of(proposal, "Swimming").sections[0].memory_ids == ("m0", "m1", "m2")


def test_a_line_of_a_talk_that_names_a_theme_in_passing_is_not_quoted() -> None:
    said = (
        "Iris: I love painting old harbours on quiet Sundays.",
        "Iris: I painted the whole shed door green again.",
        "Iris: I sold a small painting to my new dentist.",
        "Iris: The walls were painted by a plumber from Split!",
    )
    page = page_of(extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(said)))), "Painting")
    assert page.sections[0].memory_ids == ("m0", "m1", "m2")


@pytest.mark.parametrize(
    ("key", "told", "aside"),
    [
        (
            "video games",
            "Ana plays video games with Rui.",
            "Ana is happy with her dog, computer games, bread and the sea.",
        ),
        ("family", "Ana misses her family in Faro.", "Ana helped a struggling family with food for the week."),
        ("family", "Ana plans a family reunion in Faro.", "Ana told friends and family about the new office."),
        ("community", "Ana gives much to her community.", "Ana talked about new roads with people from the community."),
        ("beach", "Ana runs along the beach before work.", "Ana hung a painting of the beach above her desk."),
        ("yoga", "Ana does yoga with Rui before breakfast.", "Ana congratulated Rui on his first week of yoga."),
        ("cooking", "She tried cooking with clay pots.", "Met Ana at the port. She tried cooking with clay pots."),
    ],
)
def test_a_note_that_names_a_theme_by_the_way_is_not_quoted(key: str, told: str, aside: str) -> None:
    assert excerpt(memory("m1", told), {key}) == (told,)
    assert excerpt(memory("m2", aside), {key}) == ()


def test_a_name_in_a_talk_that_no_sentence_is_about_is_no_page() -> None:
    passing = (
        "Nina: The large pool and the Marbella lounge were closed all winter.",
        "Omar: The cheese comes straight from a small farm in Marbella.",
    )
    every = [
        memory(f"m{at}", text)
        for at, text in enumerate(
            (*passing, "Nina: I flew to Marbella with two heavy cases.", "Omar: I grew up near Marbella in a mill.")
        )
    ]
    assert [one for one in extractive.plan_leaf(batch(*every[:3])).new_pages if one.title == "Marbella"] == []
    assert page_of(extractive.plan_leaf(batch(*every)), "Marbella").type is PageType.ENTITY


def test_a_place_on_the_way_is_no_page() -> None:
    every = ("Landed in Lima through Oslo at noon.", "The flight home through Oslo was late and cold.")
    three = (*every, "Oslo was full of skiers and bells.")
    pages = [
        [
            one.title
            for one in extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(texts)))).new_pages
        ]
        for texts in (every, three)
    ]
    assert ["Oslo" in titles for titles in pages] == [False, True]


def test_a_name_that_only_ends_one_phrase_is_no_page() -> None:
    phrase = ("She showed me a guide to the birds of Kenya.", "The clerk asked how the birds of Kenya were doing.")
    every = [memory(f"m{at}", text) for at, text in enumerate((*phrase, "He flies to Kenya next month with them."))]
    assert extractive.plan_leaf(batch(*every[:2])).new_pages == ()
    assert [one.title for one in extractive.plan_leaf(batch(*every)).new_pages] == ["Kenya"]


def test_a_name_that_only_begins_a_phrase_with_a_day_is_no_page() -> None:
    phrase = ("They tuned Ruby Tuesday in the barn.", "The choir sang Ruby Tuesday at noon.")
    every = [memory(f"m{at}", text) for at, text in enumerate((*phrase, "The mare in the barn is called Ruby."))]
    assert extractive.plan_leaf(batch(*every[:2])).new_pages == ()
    assert [one.title for one in extractive.plan_leaf(batch(*every)).new_pages] == ["Ruby"]


def test_a_few_letters_are_a_name_from_three_memories_on_also_in_the_plural() -> None:
    said = (
        "We talked a long while about AIs in the night train.",
        "The library trusts no AIs with its rare books.",
        "Omar reads long articles about AIs every morning.",
    )
    every = [memory(f"m{at}", text) for at, text in enumerate(said)]
    assert extractive.plan_leaf(batch(*every[:2])).new_pages == ()
    assert [one.title for one in extractive.plan_leaf(batch(*every)).new_pages] == ["AIs"]


def test_a_thing_and_the_museum_that_bears_its_name_are_two_pages() -> None:
    said = (
        "The Lemnos Museum tells the history of the old Lemnos.",
        "We visited Lemnos in heavy rain and saw the Lemnos Museum with two guides.",
        "Lemnos was hot and dry all week.",
    )
    every = [memory(f"m{at}", text) for at, text in enumerate(said)]
    proposal = extractive.plan_leaf(batch(*every))
    assert {one.title for one in proposal.new_pages} == {"Lemnos", "Lemnos Museum"}
    decision = leaf.decide(batch(*every), proposal, Matches())
    assert {one.page.title for one in decision.items if isinstance(one, CreatePage)} == {"Lemnos", "Lemnos Museum"}


def test_two_names_seen_once_each_are_no_subject() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "My favourite figure in it is Duke Ferro with the lamp."),
            memory("m2", "We had lunch at the old Duke before the long walk."),
        )
    )
    assert proposal.new_pages == ()


def test_a_page_does_not_open_with_an_answer_or_with_a_word_that_points_back() -> None:
    said = ("Unfortunately, no, Nina left.", "Nina and I watched it from there.", "We rowed to the island with Nina.")
    assert opening(said, {"nina"}) == said[2]


def test_a_page_opens_with_what_its_subject_is() -> None:
    said = ("We walked there with Nina twice.", "Nina is my cousin from Faro.", "Later that day Nina called.")
    assert opening(said, {"nina"}) == said[1]
    walks = ("The only walk I took besides Faro is the walk to Olhao.", "I grew up in Faro with two brothers.")
    assert opening(walks, {"faro"}) == walks[1]


def test_a_page_does_not_open_with_what_somebody_else_says_of_themselves() -> None:
    said = ("Nina: I had a long day after our chat, Omar.", "Omar: I repaired the old radio.")
    assert opening(said, {"omar"}) == said[1]


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("We met Beatriz there.", ["Beatriz"]),
        ("New York was cold.", []),
        ("It was cold in New York.", ["New York"]),
        ("I like City builders.", []),
        ("We got a puppy named Shadow.", ["Shadow"]),
        ("5\\. Avoid the sun.", []),
        ("I saw X and T1 play.", []),
        ("A Beatriz-related joke.", ["Beatriz"]),
    ],
)
def test_a_common_word_with_a_capital_is_no_certain_name(text: str, sure: list[str]) -> None:
    assert [one.name for one in runs(text) if not one.is_initial] == sure


def test_a_full_name_at_a_sentences_start_is_the_name_that_is_known_elsewhere() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Keiro Hanama stood at the gate with a painted sign."),
            memory("m2", "We walked the long path with Keiro at noon."),
            memory("m3", "Then Keiro cooked a pot of soup for us."),
        )
    )
    (page,) = proposal.new_pages
    assert page.title == "Keiro Hanama"
    assert {one for section in page.sections for one in section.memory_ids} == {"m1", "m2", "m3"}


def test_an_adverb_before_a_comma_is_no_form_of_address() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Personally, we never liked the old tram route."),
            memory("m2", "Personally, the new tram route is far too long."),
        )
    )
    assert [one.title for one in proposal.new_pages] == []


def test_what_a_person_likes_visits_and_who_is_related_has_its_own_section() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Beatriz loves the old tram along the river bank."),
            memory("m2", "Then Beatriz visited a lighthouse far up north."),
            memory("m3", "Yesterday Beatriz and her husband repaired the roof."),
            memory("m4", "Beatriz visited the glass factory with a guide."),
        )
    )
    sections = {one.slug: one.memory_ids for one in page_of(proposal, "Beatriz").sections}
    assert sections["preferences"] == ("m1",)
    assert sections["visits"] == ("m4",)
    assert "overview" in sections


def test_a_line_of_a_talk_names_its_speaker() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Nina: Hello. I bought new glaze for the pottery class."),
            memory("m2", "Nina: My pottery wheel finally arrived from Spain."),
            memory("m3", "Omar: Good evening. The pottery of Faro is the worst on the whole coast."),
        )
    )
    body = page_of(proposal, "Pottery").sections[0].body_md
    assert "- Nina: I bought new glaze" in body
    assert "- Omar: The pottery of Faro is the worst" in body, "an opinion is no fact"


def test_a_line_tells_its_day_where_it_counts_from_it() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Nina: I sold my first pottery bowls last Saturday."),
            memory("m2", "Nina: My pottery wheel stands in the cellar."),
            memory("m3", "Nina: We glazed the pottery bowls for the fair."),
        )
    )
    lines = page_of(proposal, "Pottery").sections[0].body_md.split("\n")
    assert re.fullmatch(r"- \d{4}-\d\d-\d\d: Nina: I sold my first pottery bowls last Saturday\.", lines[0])
    assert lines[1] == "- Nina: My pottery wheel stands in the cellar."


def test_what_a_person_does_stands_under_areas_of_life_and_the_rest_in_the_overview_then_under_months() -> None:
    filler = [memory(f"f{at:02}", f"Beatriz repaired the tall clock number {at} in the long hall.") for at in range(45)]
    proposal = extractive.plan_leaf(
        batch(
            *filler,
            memory("g1", "Beatriz swims in the cold lake before work."),
            memory("g2", "Then Beatriz locked the tower."),
            memory("g3", "Beatriz sorted the loose keys of the clock tower."),
        )
    )
    sections = {one.slug: one for one in page_of(proposal, "Beatriz").sections}
    assert "f00" in sections["overview"].memory_ids
    assert sections["sport_and_outdoors"].heading == "Sport and outdoors"
    assert sections["sport_and_outdoors"].memory_ids == ("g1",)
    assert "g3" in next(one.memory_ids for slug, one in sections.items() if slug.startswith("notes_"))


def test_what_a_thing_is_for_and_a_cash_book_are_no_areas_of_life() -> None:
    told = (
        "Metacam for dogs is in the lower drawer.",
        "Metacam asked for the cash book.",
        "Metacam ist allergisch gegen Kaninchen.",
    )
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(told))))
    sections = {one.slug: one.memory_ids for one in page_of(proposal, "Metacam").sections}
    assert sections == {"overview": ("m0", "m1"), "health": ("m2",)}


def test_a_reason_repeats_only_what_comes_after_why() -> None:
    proposal = extractive.plan_leaf(
        batch(memory("m1", "We decided to rent the smaller boat because the harbour is narrow."))
    )
    bodies = {one.slug: one.body_md for one in page_of(proposal, "Rent the smaller boat").sections}
    assert bodies["rationale"] == "- because the harbour is narrow."


@pytest.mark.parametrize(
    ("text", "theme"),
    [
        ("Callum leaves the choir at Easter.", "Holidays and celebrations"),
        ("Trainer der Alten Herren, nur bis Weihnachten.", "Holidays and celebrations"),
        ("Sent photos of the bread to everybody, even the landlord.", "Rent and housing"),
        ("A chef from the harbour gave a talk at the library.", "Cooking"),
        ("Hemos pagado la cocina nueva del piso.", "Cooking"),
        ("Le carburateur est sur la table de la cuisine.", "Food"),
        ("Silence dans la voiture jusqu'à Nantes.", "Cars"),
        ("We fly to Lagos in June.", "Lakes and rivers"),
        ("Bruno trains the dog of his aunt.", "Trains"),
        ("Nine pups of the Kyoto line, and one mouse escaped.", "Dogs"),
        ("We went to the graduation party of the neighbours.", "Education"),
        ("Olaria: no, not on Monday.", "Pottery"),
        ("I feel so calm, Olaria.", "Pottery"),
        ("La profesora Uribe llega a mayo.", "Teaching"),
        ("Her old teacher, Ms Ito, lives in Hull.", "Teaching"),
        ("The firm hired a singer called Mert.", "Singing"),
        ("It is the desk that books each seat.", "Books and reading"),
        ("Omar parks the van by the gate.", "Parks"),
        ("The shop wants its blog on another server.", "Writing"),
        ("Ruth lent the telescope to the bird club.", "Space and astronomy"),
        ("Pots & Ceramics moved the date to May.", "Pottery"),
    ],
)
def test_feast_as_a_date_and_a_person_are_no_themes(text: str, theme: str) -> None:
    assert theme not in themes_in(text)


def test_feast_and_a_landlord_with_a_lease_are_themes() -> None:
    assert "Holidays and celebrations" in themes_in("Easter brunch at Omar's with green eggs.")
    assert "Rent and housing" in themes_in("The landlord sent the lease.")


@pytest.mark.parametrize(
    ("text", "theme"),
    [
        ("Pottery: we meet on Monday.", "Pottery"),
        ("Omar wants to be a teacher. Ana is glad.", "Teaching"),
        ("She reads books every night.", "Books and reading"),
        ("The parks the city has are full.", "Parks"),
        ("She started a blog about moss.", "Writing"),
        ("We saw two planets by telescope.", "Space and astronomy"),
    ],
)
def test_label_of_a_note_and_nouns_without_a_name_are_themes(text: str, theme: str) -> None:
    assert theme in themes_in(text)


def test_title_of_a_decision_says_what_it_is_about() -> None:
    proposal = extractive.plan_leaf(batch(memory("m1", "Decided about the ferry: four days, Odile comes along.")))
    assert [one.title for one in proposal.new_pages] == ["The ferry: Four days"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Olga decided against the ferry course for now.", "Against the ferry course for now"),
        ("Wir haben uns gegen die Fähre im Herbst entschieden.", "Gegen die Fähre im Herbst"),
        ("We decided on the blue ferry.", "The blue ferry"),
        ("Kranz settled on 6,500 credits, to be paid in May.", "Kranz settled on 6,500 credits, to be paid in May"),
    ],
)
def test_title_of_a_decision_against_something_says_so(text: str, title: str) -> None:
    assert [one.title for one in extractive.plan_leaf(batch(memory("m1", text))).new_pages] == [title]


def test_decision_without_its_subject_is_no_page() -> None:
    text = "The restore worked. Will be done monthly from now on, with a rotating owner."
    assert extractive.plan_leaf(batch(memory("m1", text))).new_pages == ()


def test_car_is_a_reason_in_french_alone() -> None:
    english = extractive.plan_leaf(batch(memory("m1", "Decided to give up the car.")))
    assert "rationale" not in {one.slug for one in page_of(english, "Give up the car").sections}
    french = extractive.plan_leaf(batch(memory("m1", "Décision: vendre le bateau bleu, car il prend l'eau.")))
    (page,) = french.new_pages
    assert {one.slug: one.body_md for one in page.sections}["rationale"] == "- car il prend l'eau."


def test_like_is_a_preference_only_as_a_verb() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Aldon Pass, larches like candles in the evening."),
            memory("m2", "Then we walked up to Aldon Pass in the rain."),
            memory("m3", "Aldon Pass we like best in October."),
        )
    )
    sections = {one.slug: one.memory_ids for one in page_of(proposal, "Aldon Pass").sections}
    assert sections == {"overview": ("m1", "m2"), "preferences": ("m3",)}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Ivo is over the flu but has promised Ada he'll rest from now on.", "Ivo has promised Ada he'll rest"),
        ("We like the old shed but we'll use the barn from now on.", "We'll use the barn"),
        ("We eat anything but meat at home from now on.", "We eat anything but meat at home"),
        ("We'll skip everything but the Monday class from now on.", "We'll skip everything but the Monday class"),
        ("We no longer meet on Monday but on Tuesday from now on.", "We no longer meet on Monday but on Tuesday"),
        ("Ada: And I'm ringing you every Thursday from now on.", "I'm ringing you every Thursday"),
        ("We agreed on no bass after eight and he gave me some leeks.", "No bass after eight"),
        (
            "Ada decided against repairing the old van and is looking for a newer one with a budget of nine thousand.",
            "Against repairing the old van",
        ),
        ("We talked about the shed and decided to paint the fence.", "Paint the fence"),
        ("I asked how the boiler works and I decided to keep the boiler.", "Keep the boiler"),
        ("We agreed that the sales team and I will meet on Mondays.", "The sales team and I will meet on Mondays"),
        (
            "We decided to see the dentist once a year and the doctor twice a year from next January.",
            "See the dentist once a year and the doctor twice",
        ),
        ("We're full, but he eats with us on Sundays from now on.", "He eats with us on Sundays"),
        ("Decided not to sell the licence before 2028", "Not to sell the licence before 2028"),
        ("We chose Postgres over Mongo for the billing service.", "Postgres over Mongo for the billing service"),
        ("The boss wants us to be quick, but we test every release from now on.", "We test every release"),
        (
            "Ada decided against the plot by the river after the rains of April put the road under water.",
            "Against the plot by the river",
        ),
        (
            "Ada has decided to go back to town three days a week from January rather than full time.",
            "Go back to town three days a week from January",
        ),
        ("The landlord asked for more rent, so from now on we pay 900 euros a month.", "We pay 900 euros a month"),
        ("The vet says Luna is too heavy; from now on we feed her twice a day.", "We feed her twice a day"),
        ("The bank asked for a code, from now on I sign in by app.", "I sign in by app"),
        (
            "We decided to close the shop when it rains in March, April, and May.",
            "Close the shop when it rains in March",
        ),
        ("We agreed to meet on Fridays this term.", "We agreed to meet on Fridays this term"),
        ("If Ana is late, from now on we eat without her.", "If Ana is late we eat without her"),
        (
            "Decided to sell Dad's piano and replace it with a keyboard.",
            "Decided to sell Dad's piano and replace it with a keyboard",
        ),
        ("We asked for vegetarian meals from now on.", "We asked for vegetarian meals"),
        ("The landlord asked for quiet after ten and from now on I practise at noon.", "I practise at noon"),
        ("Decided to phone Ines once a month, Fridays, right after work.", "Phone Ines once a month"),
        ("We decided to move after our daughter, Nina, ends school.", "Move after our daughter"),
        ("Ada decided against the boat after one of its owners, Rook, came to see her.", "Against the boat"),
    ],
)
def test_title_of_a_decision_is_its_own_clause(text: str, title: str) -> None:
    assert [one.title for one in extractive.plan_leaf(batch(memory("m1", text))).new_pages] == [title]


def test_exclamation_is_no_context_of_a_decision() -> None:
    (found,) = extractive.plan_leaf(batch(memory("m1", "Let her! We decided to sell the boat in May."))).new_pages
    assert all("Let her" not in section.body_md for section in found.sections)
