"""The weight of pages: moved until the mean relevance tells the truth."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from bench.recall.training import Sample, with_pages, write
from sidecar.turn.fitted import weights
from sidecar.turn.fitted.weights import BY_VECTORS, BY_WORDS, RankerWeights
from sidecar.turn.ranking.rank import NAMES, PATH_NAMES

_UNUSED = {"is_passage", "is_fact", *PATH_NAMES}
PAGES = np.random.default_rng(7).random((200, len(NAMES))) * [name not in _UNUSED for name in NAMES]
PAGES[:, NAMES.index("is_page")] = 1


def sample(held: int, fold: str = "one") -> Sample:
    return Sample(PAGES, (np.arange(len(PAGES)) < held).astype(np.float64), frozenset({fold}))


def mean_relevance(weights: RankerWeights) -> float:
    logits = PAGES @ [weights.of.get(name, 0.0) for name in NAMES] + weights.bias
    return float((1 / (1 + np.exp(-logits))).mean())


@pytest.mark.parametrize("weights", [BY_VECTORS, BY_WORDS])
@pytest.mark.parametrize("held", [1, 60])
def test_mean_relevance_of_pages_is_the_share_that_adds_evidence(weights: RankerWeights, held: int) -> None:
    told = with_pages(weights, [sample(held)])
    assert mean_relevance(told) == pytest.approx(held / len(PAGES), rel=0.01)
    assert {**told.of, "is_page": 0} == {**weights.of, "is_page": 0}


def test_held_back_cases_do_not_move_the_weight() -> None:
    own, other = sample(1, "own"), sample(60, "other")
    assert with_pages(BY_VECTORS, [own, other], quarantined=frozenset({"own"})) == with_pages(BY_VECTORS, [other])


def test_without_pages_the_weight_keeps_its_distance_from_a_passages() -> None:
    assert with_pages(BY_VECTORS, []).of["is_page"] == pytest.approx(BY_VECTORS.of["is_page"])
    assert with_pages(BY_WORDS, []).of["is_page"] == pytest.approx(BY_WORDS.of["is_page"])


def test_written_weights_are_read_back_and_the_others_stay(tmp_path: Path) -> None:
    module = tmp_path / "weights.py"
    module.write_text(Path(weights.__file__).read_text())
    seeing, blind = RankerWeights(-1.5, {"coverage": 0.25, "cosine": 2.0}), RankerWeights(0.5, {"coverage": 1.0})
    write(module, seeing, blind, provenance="Made up, on no data.")
    written = runpy.run_path(str(module))
    for name, fitted in (("BY_VECTORS", seeing), ("BY_WORDS", blind), ("LEANING", weights.LEANING)):
        assert (written[name].bias, written[name].of) == (fitted.bias, fitted.of)
    assert "Made up, on no data." in written["__doc__"]
    assert module.read_text().count('"""') == Path(weights.__file__).read_text().count('"""')
