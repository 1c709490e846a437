"""The fit of relevance to what was observed, and the small talk that it never sees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bench.calibrate import told_talk
from bench.recall import fitting_worth
from bench.recall.fitting_worth import Row, Scale, calibrate, calibrated
from sidecar.turn.curves import RelevanceCurve
from sidecar.turn.holding import holding_features, probability


def drawn(seed: int, slope: float, shift: float) -> list[Row]:
    """Return rows whose candidates hold evidence with other log odds than those given."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(40):
        odds = rng.normal(-4, 2, 200)
        gold = rng.random(200) < 1 / (1 + np.exp(-(slope * odds + shift)))
        rows.append(a_row("turn", odds, gold))
    return rows


def a_row(kind: str, odds: NDArray[np.float64], gold: NDArray[np.bool_], *, group: str = "turns") -> Row:
    """Return a row of one kind that a message brought."""
    told = {kind: holding_features(odds, odds / 10, odds / 20, has_unknown_name=False, leaning=0.0)}
    sizes = np.full(len(odds), 30.0)
    return Row(group, "one", "Where?", np.zeros(4), [kind] * len(odds), odds, gold, sizes, told)


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
    rows = [a_row("turn", *part) for part in zip(np.split(odds, 20), np.split(gold, 20), strict=True)]
    observed = [after for _, after in calibrate(rows).curves["turn"].points]
    assert all(before <= after for before, after in pairwise(observed))


def test_one_far_ahead_of_the_others_is_likelier_and_the_order_stays() -> None:
    curve = RelevanceCurve(((-8.0, -7.0), (-2.0, -1.0)), lead=1.5)
    alone, ahead, among = (curve.observed(np.array(odds)) for odds in ([-4.0], [-4.0, -8.0], [-4.0, -4.1]))
    assert ahead[0] > among[0] > alone[0]
    odds = np.sort(np.random.default_rng(5).normal(-6, 3, 50))
    assert (np.diff(curve.observed(odds)) >= 0).all()


def test_a_kind_with_little_evidence_is_left_out() -> None:
    odds, gold = np.zeros(100), np.arange(100) < 5
    assert calibrate([a_row("fact", odds, gold)]) == Scale({}, {})


def test_kind_holds_an_answer_the_more_likely_the_better_its_best_candidate() -> None:
    rng = np.random.default_rng(8)
    own = [a_row("turn", np.append(rng.normal(-6, 1, 99), -1.0), np.arange(100) == 99) for _ in range(40)]
    stranger = [
        a_row("turn", rng.normal(-6, 1, 100), np.zeros(100, np.bool_), group=fitting_worth.STRANGER) for _ in range(40)
    ]
    scale = calibrate([*own, *stranger])
    chances = [probability(scale.holds["turn"], row.told["turn"]) for row in (own[0], stranger[0])]
    assert chances[0] > 0.8
    assert chances[1] < 0.2
    tokens, found = fitting_worth.spent(own, scale, 0.0003)
    assert found == 1.0
    assert fitting_worth.spent(stranger, scale, 0.0003)[0] < tokens


def test_small_talk_held_back_is_none_that_was_fitted_on() -> None:
    for kind, least in (("small_talk", 160), ("asking", 60)):
        held = told_talk(kind, "held")
        assert len({*held}) == len(held) >= least
        assert not {*held} & {*told_talk("small_talk"), *told_talk("asking")}
