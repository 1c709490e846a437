"""What is remembered of a person is recalled only if it is like the question, however little else there is to choose from."""

from __future__ import annotations

import math
import platform
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from bench.spend.privacy import answers, pairs
from bench.training.fitting_worth import KNOWLEDGE, LIFE
from bench.training.own_messages import own_questions
from models.embedding.minilm import MiniLM
from models.embedding.multilingual import QUESTION_PREFIX, Multilingual
from models.embedding.neutral_sentences import SENTENCES
from models.embedding.vector_parts import MINILM, MULTILINGUAL, WITH_MINILM
from sidecar.turn.candidates import CandidateKind, Candidates, Features
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Decision, Item, Ref, Source, SourceReport, Status
from sidecar.turn.message.conversation import in_thread
from sidecar.turn.message.personal import OF_A_NAME, hold_name, personal_score
from sidecar.turn.message.reading import InThread, Reading, read
from sidecar.turn.message.telling_words import telling_words
from sidecar.turn.ranking.judging import judge
from sidecar.turn.ranking.likeness import (
    BARS,
    FEATURE,
    aloofness,
    background,
    blindness,
    levels,
    likenesses,
    likenesses_by_relevance,
    likenesses_by_words,
    unlike,
    with_thread,
)
from sidecar.turn.ranking.worth import Spend
from sidecar.turn.receipt.receipt_rows import written_features
from store.content.recalling import EarlierTurn
from tests.support.turn.turn_cases import a_profile, an_item, fitted

FROM, SLOPE, LEAST = BARS[MINILM]
BALANCED = a_profile(spend="balanced")
READING = replace(read("Which doctor do I see?", today=date(2026, 3, 1)), background=(0.2,))


def memory(likeness: float | None, source: Source = Source.MEMORY, **changes: object) -> Item:
    features = None if likeness is None else Features(likeness=likeness)
    return an_item("m", "Ana sees Dr. Weber.", source, relevance=0.9, features=features, **changes)


def found(
    cosines: list[list[float]], reading: Reading = READING, coverage: float = 0.0, texts: tuple[str, ...] = ()
) -> list[Item]:
    items = tuple(
        Item(f"{place}", Source.MEMORY, f"text {place}", place, 0.5, provenance=(Ref("memory", f"{place}"),))
        for place in range(len(cosines[0]))
    )
    evidence = of_shares([coverage] * len(items), parts=len(cosines))._replace(cosine=np.array(cosines))
    ids = [item.id for item in items]
    candidates = Candidates(CandidateKind.FACT, ids, texts or ids, evidence)
    report = SourceReport(Source.MEMORY, Status.OK, items, candidates=candidates)
    return sorted(judge([report], reading).reports[0].items, key=lambda item: item.id)


def judged(
    cosines: list[list[float]], reading: Reading = READING, coverage: float = 0.0, texts: tuple[str, ...] = ()
) -> list[dict[str, float]]:
    told = [item.features for item in found(cosines, reading, coverage, texts)]
    return [dict(written_features(one, is_whole=True)) for one in told if one]


def test_likeness_is_the_cosine_above_that_of_sentences_about_nothing() -> None:
    assert [one.get(FEATURE) for one in judged([[0.5, 0.1, math.nan]])] == [
        pytest.approx(0.3 - LEAST),
        pytest.approx(-0.1 - LEAST),
        None,
    ]
    assert all(FEATURE not in one for one in judged([[0.5]], replace(READING, background=())))


def test_background_is_the_mean_of_the_four_most_alike() -> None:
    sentences = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]])
    assert background(np.array([[1.0, 0.0]]), sentences) == (0.6,)


def test_the_best_part_of_a_question_counts() -> None:
    cosines = np.array([[0.5, 0.1], [0.1, 0.9]])
    assert likenesses(cosines, np.zeros((2, 2)), np.zeros(2), (0.2, 0.4)).round(3).tolist() == [0.3, 0.5]


def test_words_in_common_count_against_the_cosine_that_they_make() -> None:
    told = [judged([[0.5]], coverage=share)[0][FEATURE] for share in (0.0, 0.4, 1.0)]
    assert told == pytest.approx([0.3 - LEAST, 0.22 - LEAST, 0.1 - LEAST])


def test_page_reached_by_edges_is_as_like_the_question_as_its_path() -> None:
    led = np.array([0.0, 0.6, 0.7])
    assert likenesses(np.full((1, 3), 0.3), np.zeros((1, 3)), led, (0.2,)).round(3).tolist() == [0.1, 0.1, 0.7]


def test_a_memory_that_is_surely_relevant_is_like_the_question_whatever_it_asks_about() -> None:
    assert likenesses_by_relevance([0.5, 0.75, 0.8, 1.0]).round(6).tolist() == [-1.0, 0.0, 0.2, 1.0]
    assert likenesses_by_relevance([0.75, 1.0], 1.0).tolist() == [-1.0, 0.0], (
        "but for a language that the embedder does not know"
    )
    reading = replace(READING, has_vector=True, personal=-9.0)
    for cosine, share in ((0.8, 1.0), (0.3, 0.1)):
        item, *_ = found([[cosine, 0.0, 0.0]], reading, share)
        by_cosine = cosine - 0.2 - 0.2 * share - aloofness(-9.0, 0.0)
        assert item.features
        assert item.features.likeness == pytest.approx(max(by_cosine, 4 * item.relevance - 3), abs=1e-3)
        assert (by_cosine < 4 * item.relevance - 3) == (cosine == 0.8)


def test_the_thread_counts_only_for_a_message_that_leans_on_it() -> None:
    part = READING.parts[0]
    in_thread = replace(
        READING,
        parts=(part, part),
        background=(0.2, 0.2),
        thread=InThread({"weber": 0.5}, first_position=1, repeated=0.0),
    )
    alone, leaning = (
        judged([[0.1], [0.9]], replace(in_thread, parts=(replace(part, text=text),) * 2))[0][FEATURE]
        for text in ("Which doctor did Marta Lopez see in Porto in 2024?", "And who was that?")
    )
    assert alone == round(-0.1 - LEAST, 4)
    assert 0.7 - aloofness(0.0, 1.0) <= leaning <= 0.7 - LEAST


@pytest.mark.parametrize(("spend", "least"), [("frugal", 0.2), ("balanced", 0.0)])
def test_an_unlike_memory_or_page_is_not_recalled(spend: str, least: float) -> None:
    for source in (Source.MEMORY, Source.WIKI):
        assert "likeness" in unlike(memory(least - 0.01, source), Spend(spend))
        assert not unlike(memory(least, source), Spend(spend))
    for source in (Source.THREAD, Source.KNOWLEDGE, Source.TOOLS):
        assert not unlike(memory(-1.0, source), Spend(spend))
    assert not unlike(memory(None), Spend(spend))
    assert not unlike(memory(-1.0), Spend.FULL)


def test_its_decision_says_why() -> None:
    (fate,) = fitted(memory(-0.01), profile=BALANCED).fates
    assert (fate.decision, fate.reason) == (Decision.BELOW_WORTH, "its likeness of -0.010 is below 0")
    (pinned,) = fitted(memory(-0.01, is_pinned=True), profile=BALANCED).fates
    assert pinned.decision is Decision.KEPT
    (full,) = fitted(memory(-0.01)).fates
    assert full.decision is Decision.KEPT


def test_a_question_not_about_ones_own_life_needs_a_memory_more_like_it() -> None:
    (own,), (general,) = (judged([[0.5]], replace(READING, personal=personal)) for personal in (2.0, 0.0))
    assert own[FEATURE] - general[FEATURE] == pytest.approx(2 * SLOPE)
    told = [aloofness(personal, 0.0) - LEAST for personal in (9.0, FROM, FROM - 1.5, FROM - 10)]
    assert told == pytest.approx([0.0, 0.0, 1.5 * SLOPE, 10 * SLOPE])
    assert aloofness(FROM - 1.5, 1.0) == 0.08
    assert aloofness(FROM - 1.5, 0.5) == pytest.approx((1.5 * SLOPE + LEAST + 0.08) / 2)


def test_memory_that_says_more_of_a_name_in_the_question_shows_whose_life_it_is_about() -> None:
    texts = ("Pickle stopped eating what the vet sold.", "Pickle is pink.", "The tap drips.")
    asked = replace(read("What is Pickle eating?", today=date(2026, 3, 1)), background=(0.2,), personal=-1.0)
    both, name, other = judged([[0.5, 0.5, 0.5]], asked, texts=texts)
    assert both[FEATURE] - other[FEATURE] == pytest.approx(OF_A_NAME * SLOPE)
    assert name[FEATURE] == other[FEATURE]
    own = judged([[0.5, 0.5, 0.5]], replace(asked, personal=4.0), texts=texts)
    assert len({one[FEATURE] for one in own}) == 1


def test_names_are_whole_words_in_any_spelling_but_of_days_and_stop_words() -> None:
    reading = read("Which bills do the Hadleys, The Café and Theo pay on Monday?", today=date(2026, 11, 28))
    texts = [
        "HADLEY pays late.",
        "Theo's paid bill",
        "the CAFE pays",
        "Theodor pays",
        "Pay the Hadleyton bus",
        "Pay on Monday",
    ]
    assert hold_name(reading, texts).tolist() == [True, True, True, False, False, False]
    assert not hold_name(reading, ["Theo's cello", "the café pays"]).any()
    assert not hold_name(read("How do I boil an egg?", today=date(2026, 11, 28)), ["boil an egg"]).any()


def test_a_language_is_known_as_far_as_sentences_about_nothing_are_unlike_a_question() -> None:
    told = [round(blindness("Où est la clé ?", one), 2) for one in (0.0, 0.3, 0.35, 0.4, 0.9)]
    assert told == [0.0, 0.0, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("message", ["Πώς φτιάχνω τζατζίκι;", "מתי מתחיל החג?", "ทำต้มยำกุ้งยังไง", "Де мій ключ?"])
def test_no_language_of_another_script_is_known(message: str) -> None:
    assert blindness(message, 0.1) == 1.0
    assert blindness("What does τέχνη mean in English?", 0.1) == 0.0
    assert blindness("Tại sao điện thoại bị nóng?", 0.1) == 0.0
    assert blindness("42?", 0.1) == 0.0


def test_in_an_unknown_language_relevance_a_personal_question_and_its_words_count() -> None:
    (plain, relevant, told) = likenesses_by_words([0.5, 0.9, 0.5], [0.4, 0.4, 1.0], 0.3, 0.0)
    assert plain < 0 < relevant < told
    assert likenesses_by_words([0.5], [0.4], -1.0, 0.0) < 0 < likenesses_by_words([0.5], [0.4], 1.0, 0.0)
    assert likenesses_by_words([0.5], [0.4], 9.0, 0.0) == likenesses_by_words([0.5], [0.4], 6.0, 0.0)
    one, other = (likenesses_by_words([0.5], [0.4], personal, 1.0) for personal in (-4.0, 4.0))
    assert one == other, "a message that leans on its thread is not known by itself"


@pytest.mark.parametrize(
    ("question", "answer", "beside_it"),
    [
        (
            "Kiedy kończy się umowa najmu?",
            "Umowę najmu kończymy w październiku.",
            "Pociąg znowu spóźnił się dziś rano.",
        ),
        ("恵子さんの工房はどこですか。", "恵子さんの工房は五条坂にあります。", "今朝も電車が遅れました。"),
        ("Annemin doğum günü ne zaman?", "Annem doğum gününü mayısta kutluyor.", "Tren bu sabah yine gecikti."),
    ],
)
def test_answer_in_an_unknown_language_is_recognised_by_its_words(question: str, answer: str, beside_it: str) -> None:
    reading = replace(
        read(question, today=date(2026, 3, 1)), background=(0.6,), has_vector=True, blind=1.0, personal=1.0
    )
    texts = [answer, beside_it]
    evidence = of_shares([0.4, 0.0], parts=1)._replace(cosine=np.array([[0.5, 0.5]]))
    items = tuple(
        Item(f"{place}", Source.MEMORY, text, place, 0.5, provenance=(Ref("memory", f"{place}"),))
        for place, text in enumerate(texts)
    )
    report = SourceReport(
        Source.MEMORY, Status.OK, items, candidates=Candidates(CandidateKind.FACT, ["0", "1"], texts, evidence)
    )
    found = {item.text: item for item in judge([report], reading).reports[0].items}
    assert not unlike(found[answer], Spend.BALANCED)
    assert unlike(found[beside_it], Spend.BALANCED)
    known = {
        item.text: item.features
        for item in judge([report], replace(reading, background=(0.2,), blind=0.0, personal=4.0)).reports[0].items
    }
    likenesses_known = {features.likeness for features in known.values() if features and features.likeness}
    assert sorted(likenesses_known) == pytest.approx([0.22 - LEAST, 0.3 - LEAST]), (
        "by its cosine where it knows the language"
    )


def test_a_fifth_of_the_words_of_the_thread_counts_as_all_as_far_as_the_message_leans() -> None:
    own, thread = np.array([0.0, 0.3, 0.9]), np.array([0.1, 0.1, 0.5])
    assert with_thread(own, thread, 1.0).tolist() == pytest.approx([0.5, 0.5, 1.0])
    assert with_thread(own, thread, 0.5).tolist() == pytest.approx([0.25, 0.3, 0.9])
    assert with_thread(own, thread, 0.0).tolist() == own.tolist()


@pytest.mark.parametrize(("known", "is_recalled"), [(0.6, True), (0.25, False)])
def test_answer_in_an_unknown_language_is_recognised_by_the_words_of_its_thread(
    known: float, is_recalled: bool
) -> None:
    """If the embedder knows the thread's language, its words tell no more than its vector."""
    talk = (
        EarlierTurn(1, "user", "Lena hat gestern den Zeltplatz am Müritzsee gebucht, diesmal gleich für zwei Wochen."),
        EarlierTurn(2, "assistant", "Schön! Dann braucht ihr das große Zelt wieder, das war letztes Jahr verliehen."),
        EarlierTurn(3, "user", "Stimmt, hoffentlich ist es noch heil. Ich rufe dort heute Abend noch an."),
        EarlierTurn(4, "assistant", "Gute Idee, bei der Gelegenheit kannst du auch nach den Heringen fragen."),
    )
    answer, other = "Das große Zelt haben wir an Familie Osei verliehen.", "Zahnarzt Dr. Petri hat nur dienstags offen."
    message = replace(in_thread(read("Wer war das gleich?", today=date(2026, 3, 1)), talk), has_vector=True)
    reading = replace(message, background=(0.45, known), blind=1.0, personal=-0.8)
    coverage = np.array([[0.0, 0.0], [0.4, 0.0]])
    evidence = of_shares([0.0, 0.0], parts=2)._replace(
        coverage=coverage, joint_coverage=coverage, local_coverage=coverage, cosine=np.full((2, 2), 0.5)
    )
    items = tuple(
        Item(text, Source.MEMORY, text, place, 0.5, provenance=(Ref("memory", text),))
        for place, text in enumerate((answer, other))
    )
    candidates = Candidates(CandidateKind.FACT, [answer, other], [answer, other], evidence)
    judged = judge([SourceReport(Source.MEMORY, Status.OK, items, candidates=candidates)], reading)
    found = {item.text: item for item in judged.reports[0].items}
    assert judged.prospects.leaning > 0.5
    assert (not unlike(found[answer], Spend.BALANCED)) is is_recalled
    assert unlike(found[other], Spend.BALANCED)


@pytest.mark.parametrize(
    ("own", "general"),
    [
        ("When did my sister move to Lisbon?", "Which river is the longest in the world?"),
        ("Was hat mein Bruder zur Hochzeit gesagt?", "Wie hoch ist der Mont Blanc?"),
        ("¿Qué come mi hermana?", "¿Cuántos lados tiene un hexágono?"),
    ],
)
def test_questions_about_the_users_life_are_distinguished_from_general_knowledge(own: str, general: str) -> None:
    vectors = MiniLM().encode([own, general]).tolist()
    readings = [read(text, today=date(2026, 3, 1)) for text in (own, general)]
    first, second = (personal_score(*one, MINILM) for one in zip(readings, vectors, strict=True))
    assert first > 0.5 > second


def test_held_out_questions_about_the_users_life_score_above_general_ones(is_soak: bool) -> None:
    told = [*own_questions("held ")][:: 3 if is_soak else 6]
    readings = [read(text, today=date(2026, 3, 1)) for _, text in told]
    vectors = MiniLM().encode([text for _, text in told]).tolist()
    scores = [personal_score(*one, MINILM) for one in zip(readings, vectors, strict=True)]
    own, others = (
        [one for one, (group, _) in zip(scores, told, strict=True) if group == kind] for kind in (LIFE, KNOWLEDGE)
    )
    assert (np.array(own)[:, None] > np.array(others)).mean() >= 0.83


def test_telling_words_are_words_pairs_of_short_ones_beginnings_and_ends() -> None:
    assert telling_words(read("Wann zieht sie um?", today=date(2026, 3, 1))) == {
        *("wann", "zieht", "sie", "um"),
        *("wann..sie", "wann..um", "sie..um"),
        *("zie-", "-eht"),
    }
    many = telling_words(read(" ".join(f"a{n}" for n in range(999)), today=date(2026, 3, 1)))
    assert len(many) == 999 + 32 * 31 / 2
    assert telling_words(read("我吃鱼", today=date(2026, 3, 1))) == {"我", "吃", "鱼", "我吃", "吃鱼"}


def test_sentences_and_pairs_are_distinct_and_the_halves_disjoint() -> None:
    assert len(set(SENTENCES)) == 128
    told = [pair for group in ("pairs", "held", "second", "third") for pair in pairs(group)]
    assert len({one.memory for one in told}) == len({one.question for one in told}) == len(told) >= 100
    assert len({one.language for one in told}) >= 8
    assert not {one.memory for one in told} & {*SENTENCES}
    later = [f"{group} {kind}" for group in ("second", "third") for kind in ("answers", "reworded")]
    groups = ("answers", "held answers", *later)
    right = [one for group in groups for one in answers(group)]
    assert len({(one.memory, one.question) for one in right}) == len(right) >= 50
    fitted, held = ({message for _, message in own_questions(half)} for half in ("", "held "))
    assert not {*(one.question for one in told), *(one.question for one in right)} & (fitted | held)
    assert not fitted & held
    reworded = [{one.question for one in answers(half)} for half in ("reworded", "held reworded")]
    assert reworded[0] <= fitted
    assert reworded[1] <= held


def test_texts_of_another_language_are_raised_to_the_level_of_the_questions_own() -> None:
    sentences = np.zeros((len(SENTENCES), 3))
    sentences[:8, 0], sentences[8:16, 1] = 0.3, 0.1  # English, German
    (of_part,) = levels(np.array([[1.0, 1.0, 0.0]]), sentences)
    assert [of_part[language] for language in ("en", "de", "ja")] == pytest.approx([0.0, 0.2, 0.3])


def test_an_answer_in_another_language_is_as_like_the_question_as_one_in_its_own() -> None:
    texts = ["Der Zug kam heute Morgen zu spät, und ich habe es gesehen.", "It was in the box on the left."]
    reading = replace(READING, has_vector=True, embedder=MULTILINGUAL, levels=({"de": 0.0, "en": 0.2},), personal=4.0)
    evidence = of_shares([0.0, 0.0], parts=1)._replace(cosine=np.array([[0.5, 0.3]]))
    items = tuple(Item(text, Source.MEMORY, text, place, 0.5) for place, text in enumerate(texts))
    report = SourceReport(
        Source.MEMORY, Status.OK, items, candidates=Candidates(CandidateKind.FACT, texts, texts, evidence)
    )
    told = [item.features.likeness for item in judge([report], reading).reports[0].items if item.features]
    assert told == pytest.approx([0.3 - BARS[MULTILINGUAL].least] * 2)


def test_each_embedder_has_its_own_bar() -> None:
    assert aloofness(9.0, 0.0) == LEAST
    assert aloofness(9.0, 0.0, embedder=MULTILINGUAL) == BARS[MULTILINGUAL].least > LEAST
    assert set(BARS) == set(WITH_MINILM)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="its engine is for Linux on x86-64"
)
def test_multilingual_embedder_distinguishes_held_out_questions_far_better(is_soak: bool) -> None:
    told = [*own_questions("held ")][:: 4 if is_soak else 16]
    readings = [read(text, today=date(2026, 3, 1)) for _, text in told]
    vectors = Multilingual().others([QUESTION_PREFIX + text for _, text in told]).tolist()
    scores = [personal_score(*one, MULTILINGUAL) for one in zip(readings, vectors, strict=True)]
    own, others = (
        [one for one, (group, _) in zip(scores, told, strict=True) if group == kind] for kind in (LIFE, KNOWLEDGE)
    )
    assert (np.array(own)[:, None] > np.array(others)).mean() >= 0.95
