"""The fit of relevance to what was observed, and the small talk that it never sees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bench.calibrate import told_talk
from bench.recall import fitting_worth
from bench.recall.fitting_worth import Row, calibrate, calibrated
from sidecar.turn.curves import RelevanceCurve


def drawn(seed: int, slope: float, shift: float) -> list[Row]:
    """Return rows whose candidates hold evidence with other log odds than those given."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(40):
        odds = rng.normal(-4, 2, 200)
        gold = rng.random(200) < 1 / (1 + np.exp(-(slope * odds + shift)))
        rows.append(Row("turns", "one", "Where?", np.zeros(4), ["turn"] * 200, odds, gold))
    return rows


def test_calibrated_relevances_sum_up_to_what_was_observed_in_every_bin_of_rows_not_fitted_on() -> None:
    curves = calibrate(drawn(1, 0.7, -0.5))
    unseen = drawn(2, 0.7, -0.5)
    found = fitting_worth.bins(unseen, [calibrated(curves, row) for row in unseen], "turn")
    told = [(wanted, seen) for _, wanted, seen in found if seen >= 20]
    assert len(told) >= 4
    assert all(0.7 <= seen / wanted <= 1.4 for wanted, seen in told)
    wanted, seen = (sum(one[place] for one in found) for place in (1, 2))
    assert 0.9 <= seen / wanted <= 1.1


def test_a_curve_rises_so_that_the_order_within_a_kind_stays() -> None:
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 2, 2_000)
    gold = rng.random(2_000) < np.where(np.abs(odds) < 1, 0.5, 0.1)  # what is most likely holds less
    rows = [Row("turns", "one", "Where?", np.zeros(4), ["turn"] * 2_000, odds, gold)]
    observed = [after for _, after in calibrate(rows)["turn"].points]
    assert all(before <= after for before, after in pairwise(observed))


def test_one_far_ahead_of_the_others_is_likelier_and_the_order_stays() -> None:
    curve = RelevanceCurve(((-8.0, -7.0), (-2.0, -1.0)), lead=1.5)
    alone, ahead, among = (curve.observed(np.array(odds)) for odds in ([-4.0], [-4.0, -8.0], [-4.0, -4.1]))
    assert ahead[0] > among[0] > alone[0]
    odds = np.sort(np.random.default_rng(5).normal(-6, 3, 50))
    assert (np.diff(curve.observed(odds)) >= 0).all()


def test_a_kind_with_little_evidence_is_left_out() -> None:
    odds, gold = np.zeros(100), np.arange(100) < 5
    assert calibrate([Row("turns", "one", "Where?", np.zeros(4), ["page"] * 100, odds, gold)]) == {}


def test_small_talk_held_back_is_none_that_was_fitted_on() -> None:
    for kind, least in (("small_talk", 160), ("asking", 60)):
        held = told_talk(kind, "held")
        assert len({*held}) == len(held) >= least
        assert not {*held} & {*told_talk("small_talk"), *told_talk("asking")}
