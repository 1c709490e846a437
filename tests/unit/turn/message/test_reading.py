"""What a message asks, whom it names, and what is courtesy."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from sidecar.turn.message.reading import Reading, folded_words, is_one_edit, read

TODAY = date(2026, 11, 21)
SPEAKERS = ("Caroline", "João Silva", "Sam")


def reading(message: str) -> Reading:
    return read(message, speakers=SPEAKERS, today=TODAY)


@pytest.mark.parametrize(
    "message",
    [
        "Hi there! I hope you are doing well. Could you please tell me, if you happen to remember: {} Thanks so much!",
        "[2026-11-02 14:03] User: {}\n\nPlease answer concisely. If you don't know the answer, say so.",
        "> an older message\nOk, do you remember {}",
        "Olá! {} Obrigado pela ajuda.",
    ],
)
def test_courtesies_do_not_change_the_reading(message: str) -> None:
    question = "where did we leave the spare key?"
    assert reading(message.format(question)).parts[0].words == reading(question).parts[0].words


@pytest.mark.parametrize(
    "question", ["When does Redis go to 7.4?", "Where do we sleep?", "thanks!", "What did Sam say?"]
)
def test_name_of_the_person_who_asks_does_not_change_the_reading(question: str) -> None:
    for asker in SPEAKERS:
        assert reading(f"{asker}: {question}") == reading(question)
        assert reading(f" {asker.lower()}:{question}") == reading(question)


@pytest.mark.parametrize("question", ["Where do I live?", "Wie heißt meine Tochter?", "Onde fica o meu carro?"])
def test_person_who_asks_about_themselves_is_named(question: str) -> None:
    assert reading(f"João Silva: {question}").named == {"joao silva"}


def test_a_name_before_nothing_is_the_message() -> None:
    assert reading("Sam:").named == {"sam"}
    assert reading("Samuel: when is it?").parts[0].text == "Samuel: when is it?"


@pytest.mark.parametrize("message", ["Thanks!", "Hello", "Please answer in one word."])
def test_message_of_courtesies_only_is_unchanged(message: str) -> None:
    assert reading(message).parts[0].text == message


@pytest.mark.parametrize(
    "message",
    [
        "Thanks so much for " + "walking me through the booking of the boat and " * 8 + "for your patience",
        "> " + "we left the spare key with the neighbour " * 8,
        "You are an assistant that " + "answers the questions of travellers and " * 8 + "never guesses",
    ],
)
def test_long_message_of_courtesies_or_quotes_only_is_one_part(message: str) -> None:
    assert [part.text for part in reading(message).parts] == [message.strip()]


def test_two_questions_are_read_apart_and_together() -> None:
    texts = [part.text for part in reading("What did the plumber cost? Where does the invoice lie?").parts]
    assert texts[1:] == ["What did the plumber cost?", "Where does the invoice lie?"]
    assert "plumber" in texts[0]
    assert "invoice" in texts[0]


@pytest.mark.parametrize(
    ("message", "second"),
    [
        ("What did the plumber cost and where does the invoice lie?", "where does the invoice lie?"),
        ("Wann war der Umzug nach Leipzig und wer hat beim Tragen geholfen?", "wer hat beim Tragen geholfen?"),
        ("Onde fica o hotel azul e quanto custa uma noite?", "quanto custa uma noite?"),
        ("東京で何を食べましたか。京都に行ったのはいつですか。", "京都に行ったのはいつですか。"),
    ],
)
def test_a_question_that_asks_two_things_is_split(message: str, second: str) -> None:
    assert reading(message).parts[-1].text == second


@pytest.mark.parametrize(
    "message", ["Who went to the fair with Ana and Rui?", "How do I get in, and who must stay in?"]
)
def test_conjunction_between_things_splits_nothing(message: str) -> None:
    assert len(reading(message).parts) == 1


def test_the_question_in_a_long_message_is_a_part_of_its_own() -> None:
    message = f"{'The log says that all is well. ' * 20}Which port does the gateway use?"
    assert reading(message).parts[-1].text == "Which port does the gateway use?"


@pytest.mark.parametrize("written", ["Caroline", "caroline", "Caroline's", "Carolline", "Craoline", "Carolin"])
def test_misspelt_speaker_is_recognised(written: str) -> None:
    found = reading(f"What did {written} paint last summer?")
    assert found.named == {"caroline"}
    assert "caroline" in found.words
    assert "aro" not in found.parts[0].text


@pytest.mark.parametrize("written", ["joao", "João", "Silva"])
def test_any_part_of_a_name_identifies_it(written: str) -> None:
    assert reading(f"Where does {written} work?").named == {"joao silva"}


@pytest.mark.parametrize("message", ["Is it the same?", "What about Sue?", "Did Pam call?"])
def test_words_close_to_a_short_name_identify_no_speaker(message: str) -> None:
    assert not reading(message).named


def test_time_named_in_a_question_is_read() -> None:
    assert reading("Where were we on 3 May 2025?").periods[0].first == date(2025, 5, 3)


@pytest.mark.parametrize(
    "message", ["a" * 1_000_000, "? " * 500_000, ". " * 500_000, "a.b" * 300_000, "\ud800 what?", "\0"]
)
def test_hostile_messages_are_read_quickly(message: str) -> None:
    assert reading(message).parts


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("anna", "anna", True), ("anna", "ana", True), ("anna", "hanna", True), ("anna", "anan", True), ("anna", "enna", True),
        ("anna", "nana", True), ("anna", "hannah", False), ("anna", "naan", False), ("", "a", True), ("ab", "cd", False),
    ],
)  # fmt: skip
def test_one_edit_inserts_deletes_replaces_or_swaps_a_letter(one: str, other: str, is_one: bool) -> None:
    assert is_one_edit(one, other) is is_one_edit(other, one) is is_one


@pytest.mark.parametrize("written", ["Muhammad", "Mohammed", "Mohamed", "Muhhamed's"])
def test_a_name_is_known_in_another_spelling(written: str) -> None:
    assert read(f"What does {written} like?", speakers=["Muhhamed", "Fahim Khan"], today=TODAY).named == {"muhhamed"}


@pytest.mark.parametrize("written", ["Korean", "Mahmoud", "Milan", "Nebraska"])
def test_a_word_that_only_resembles_a_name_is_not_taken_for_it(written: str) -> None:
    speakers = ["Karina", "Muhhamed", "Melanie", "Nebraas"]
    assert not read(f"Who likes {written} food?", speakers=speakers, today=TODAY).named


@pytest.mark.parametrize("when", ["on Tuesday", "in October", "on Mondays", "el Jueves pasado"])
def test_days_and_months_are_no_names(when: str) -> None:
    assert reading(f"What did we buy {when}?").names == ()
    assert reading(f"What did Marta buy {when}?").names == (("marta",),)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("What did Ana say?", {"ana lima", "ana reis"}),
        ("What did Ana Reis say?", {"ana reis"}),
        ("What do the Reis say?", {"ana reis"}),
        ("What did Jean-Luc and O'Brien agree on?", {"jean luc moreau", "sinead o brien"}),
        ("What did Will pay?", {"will"}),
        ("Kim's plan?", {"kim"}),
        ("Will the plan of Will work? Will it?", {"will"}),
        ("Will you pay the boss an advance?", {"the boss"}),
        ("Wo war der Hund von Max?", set()),
        ("What is the name of an apple?", set()),
    ],
)
def test_speakers_are_named_by_any_telling_part_of_their_names(message: str, named: set[str]) -> None:
    speakers = (
        "Ana Lima",
        "Ana Reis",
        "Jean-Luc Moreau",
        "Sinead O'Brien",
        "Will",
        "Kim",
        "The Boss",
        "Ursula von der Leyen",
        "An Ho",
    )
    assert read(message, speakers=speakers, today=TODAY).named == named


def test_the_cache_of_names_holds_no_message() -> None:
    names = ("Bob", "Ana")
    read("Bob: when is it?", speakers=names, today=TODAY)
    before = folded_words.cache_info().currsize
    read(f"{'A note that ends with a colon ' * 100}: when is it?", speakers=names, today=TODAY)
    assert folded_words.cache_info().currsize == before


@pytest.mark.parametrize(
    ("message", "is_of_days"),
    [
        ("What did I say last Tuesday?", True),
        ("What did Caroline say on 3 October?", True),
        ("What happened last week?", True),
        ("Worüber haben wir letzten Dienstag gesprochen?", True),
        ("¿De qué hablamos ayer?", True),
        ("昨日何を話しましたか", True),
        ("我昨天说了什么？", True),
        ("What happened last month?", False),
        ("What did I say today?", False),
        ("What is on tomorrow?", False),
        ("What did I say last night?", True),
        ("What happened on 14 December?", True),
        ("What did I say about the broken boiler of the house last Tuesday?", False),
        ("昨日の会議は何時に終わりましたか", False),
        ("What did I say?", False),
    ],
)
def test_message_that_names_hardly_more_than_days_is_of_them(message: str, is_of_days: bool) -> None:
    assert reading(message).is_of_days is is_of_days
    assert reading(message).asks_for_days is is_of_days


@pytest.mark.parametrize(
    ("message", "score", "asks"),
    [
        ("What did I say last Tuesday", 1.0, True),
        ("See you last Tuesday", -1.0, False),
        ("¿Qué dije ayer?", -1.0, True),
        ("昨日何を言った？", -1.0, True),
        ("What did I say?", 1.0, False),
    ],
)
def test_message_of_days_asks_for_them_by_its_score_or_its_question_mark(
    message: str, score: float, asks: bool
) -> None:
    assert replace(reading(message), score=score).asks_for_days is asks


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("田中さんは何と言いましたか", {"田中"}),
        ("昨日山本さんは来ましたか", {"山本 花子"}),
        ("佐藤先生の予定は？", {"佐藤一郎"}),
        ("王芳什么时候到？", {"王芳"}),
        ("민수가 뭐라고 했어?", {"민수"}),
        ("鈴木さんは何と言いましたか", set()),
        ("誰が来ますか", set()),
    ],
)
def test_speakers_are_named_in_scripts_without_spaces(message: str, named: set[str]) -> None:
    speakers = ("田中", "山本 花子", "佐藤一郎", "王芳", "민수")
    told = read(message, speakers=speakers, today=TODAY)
    assert told.named == {folded_words(name) for name in named}
    assert (told.names == (("鈴木",),)) is message.startswith("鈴木")


def test_japanese_names_with_a_form_of_address_are_names() -> None:
    assert reading("昨日、佐々木さんとマリアちゃんは来た？").names == (("々木",), ("マリ", "リア"))
    assert reading("奥さんとお母さんの誕生日は？").names == ()
    assert reading("田中先生の予定は？").names == (("田中",),)


@pytest.mark.parametrize("message", ["昨天王先生说了什么？", "请问陈先生什么时候到？", "我的先生喜欢喝什么？"])
def test_chinese_words_before_a_form_of_address_are_no_name(message: str) -> None:
    assert reading(message).names == ()


def test_asker_before_a_full_width_colon_does_not_change_the_reading() -> None:
    assert reading("Sam：デモはいつですか") == reading("デモはいつですか")
    assert reading("Sam： デモは10:30ですか") == reading("デモは10:30ですか")
