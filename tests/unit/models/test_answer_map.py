"""The map from questions towards their answers: what ships, and how it is fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.recall.cases import Conversation
from bench.training.answers import RankedConversation, RankedQuestion, fit, low_rank
from models.embedding.answer_map import shortened, towards_answers
from models.embedding.minilm import MiniLM
from sidecar.turn.ranking.rank import NAMES

ENGLISH = ("What does she do for a living?", "Where did he spend his holidays?", "Which games do they like?")
OTHERS = ("猫はどこで寝ますか。", "Wie heißt der Bürgermeister?", "qwv 881 zzk")
TALK = Conversation("talk", (), (), ())


def test_questions_in_an_unfamiliar_form_are_turned_less() -> None:
    turned = np.linalg.norm(towards_answers(MiniLM().encode([*ENGLISH, *OTHERS]).tolist()), axis=1)
    assert turned.max() <= 1 + 1e-9
    assert turned[: len(ENGLISH)].min() > turned[len(ENGLISH) :].max()


def test_answer_that_resembles_no_question_comes_nearer() -> None:
    asked, told, other = MiniLM().encode(
        ["What does Nora do for a living?", "I grade papers until midnight.", "It rained on the tent."]
    )
    (turned,) = towards_answers([asked.tolist()])
    assert turned @ told > turned @ other


def test_only_long_rows_are_shortened_to_length_one() -> None:
    rows = shortened(np.array([[3.0, 0.0], [0.0, 20.0]]))
    assert rows.tolist() == [[0.6, 0.0], [0.0, 1.0]]


def test_fitted_map_leads_from_questions_to_their_answers() -> None:
    random = np.random.default_rng(3)
    vectors = np.linalg.norm(random.normal(size=(40, 12)), axis=1, keepdims=True) ** -1 * random.normal(size=(40, 12))
    question = random.normal(size=12)
    one = RankedQuestion(question / np.linalg.norm(question), np.zeros((40, len(NAMES))), np.eye(40)[7], gold=(7,))
    varied = replace(one, features=random.normal(size=one.features.shape))
    left, right = low_rank(fit([RankedConversation(TALK, vectors, (one, varied), ())]), 4)
    scores = vectors @ (one.vector @ left @ right)
    assert scores[7] > np.delete(scores, 7).mean() + scores.std()
