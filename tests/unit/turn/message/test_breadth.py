"""A question that one text answers makes those far behind the best less likely, and one that many answer makes them likelier."""

from __future__ import annotations

import math
import runpy
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from bench.training.breadth import MOST_TEXTS, Breadths, Counted, fitted, module
from models.embedding.minilm import MiniLM
from models.embedding.vector_parts import MINILM
from sidecar.turn.message.breadth import MOST_BREADTH, BreadthWeights, breadth
from sidecar.turn.message.breadth_by_vector import BREADTHS
from sidecar.turn.message.conversation import in_thread
from sidecar.turn.message.reading import read
from store.content.recalling import EarlierTurn
from tests.unit.turn.ranking.test_rank import BEST, GOOD, POOR, READING, One, candidate, ranked

NARROW = ("When does the tenancy end?", "What did I pay for the sofa?", "Where did Ines put the spare key?")
BROAD = ("Which films have I seen this year?", "What hobbies does Ines have?", "Which places did we visit on foot?")


def test_a_question_for_one_thing_is_narrower_than_any_for_a_list() -> None:
    told = [breadth(BREADTHS[MINILM], vector.tolist()) for vector in MiniLM().encode([*NARROW, *BROAD])]
    assert max(told[: len(NARROW)]) < min(told[len(NARROW) :])
    assert all(-MOST_BREADTH <= one <= MOST_BREADTH for one in told)


def test_written_module_loads_and_holds_the_weights(tmp_path: Path) -> None:
    breadths = {MINILM: BreadthWeights(0.1, (1.0, -0.25))}
    file = tmp_path / "breadth_by_vector.py"
    file.write_text(module(breadths, 7))
    assert runpy.run_path(str(file))["BREADTHS"] == breadths


def test_breadth_counts_less_the_less_the_embedder_knows_the_language() -> None:
    weights = BreadthWeights(0.1, (1.0, 0.0))
    told = [breadth(weights, (0.3, 1.0), blind) for blind in (0.0, 0.5, 1.0)]
    assert told == pytest.approx([0.4, 0.2, 0.0])
    assert breadth(weights, (9.0, 0.0)) == pytest.approx(math.log(2))


def test_distant_candidates_gain_for_broad_questions_and_leading_ones_for_narrow() -> None:
    narrow, usual, broad = (
        ranked(candidate(BEST), candidate(GOOD), candidate(POOR), reading=replace(READING, breadth=wide)).relevances
        for wide in (-MOST_BREADTH, 0.0, MOST_BREADTH)
    )
    assert narrow[0] >= usual[0] > broad[0]
    assert narrow[2] < usual[2] < broad[2]


def test_a_message_that_leans_wholly_on_its_thread_has_no_breadth_of_its_own() -> None:
    message = read("and the second one?", today=date(2026, 5, 4))
    reading = in_thread(message, (EarlierTurn(1, "user", "Our boat leaked all winter."),))
    texts = [One((POOR, one)) for one in (BEST, GOOD, POOR)]
    told = [ranked(*texts, reading=replace(reading, breadth=wide)) for wide in (-MOST_BREADTH, 0.0)]
    assert told[0].leaning == 1.0
    assert told[0].relevances == told[1].relevances


def drawn(conversation: str, rng: np.random.Generator, weight: float) -> list[Counted]:
    vectors = rng.normal(0, 0.3, (300, 4))
    counts = 1 + rng.poisson(np.exp(0.5 + weight * vectors[:, 0]))
    return [Counted("one", conversation, *told) for told in zip(vectors, counts.tolist(), strict=True)]


def test_fit_recovers_the_true_weights_and_average_breadth_is_zero() -> None:
    questions = drawn("one", np.random.default_rng(1), 1.0)
    weights = fitted(questions)
    assert weights.vector[0] > 5 * max(map(abs, weights.vector[1:]))
    told = [breadth(weights, one.vector.tolist()) for one in questions]
    assert abs(float(np.mean(told))) < 0.02
    assert fitted([replace(one, count=10 * MOST_TEXTS) for one in questions]).vector == pytest.approx(
        [0.0] * 4, abs=1e-3
    )


def test_a_question_is_judged_by_numbers_fitted_without_its_conversation() -> None:
    rng = np.random.default_rng(2)
    breadths = Breadths([*drawn("up", rng, 1.0), *drawn("down", rng, -1.0)])
    vector = np.array([1.0, 0.0, 0.0, 0.0])
    up, down, other = (breadths.of(name, vector, 0.0) for name in ("up", "down", "no conversation"))
    assert up < other < down
