"""The fit of relevance to what was observed, and the small talk that it never sees."""

from __future__ import annotations

import runpy
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.training import calibration_files, fitting_worth, recordings, talks
from bench.training.fitting_worth import Row, Scale, calibrate, calibrated, without_marks
from bench.training.own_messages import talk_messages
from bench.training.recordings import Offered, Recorded, Recordings
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.fitted.curves import RelevanceCurve
from sidecar.turn.fitted.weights import RankerWeights
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.holding import KindMatch, holding_features


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
    match = KindMatch(odds, odds / 10, odds / 20)
    by_kind = {kind: holding_features(match, match, has_unknown_name=False, leaning=0.0)}
    sizes = np.full(len(odds), 30.0)
    return Row(
        group, "one", "Where?", np.zeros(4), [kind] * len(odds), odds, gold, sizes, by_kind, by_kind_of_words=by_kind
    )


def test_calibrated_relevances_sum_to_the_observed_ones_in_every_held_out_bin() -> None:
    curves = calibrate(drawn(1, 0.7, -0.5))
    unseen = drawn(2, 0.7, -0.5)
    found = fitting_worth.bins(unseen, [calibrated(curves, row) for row in unseen], "turn")
    edges = [(wanted, seen) for _, wanted, seen in found if seen >= 20]
    assert len(edges) >= 4
    assert all(0.7 <= seen / wanted <= 1.4 for wanted, seen in edges)
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


def test_written_module_loads_and_holds_the_numbers(tmp_path: Path) -> None:
    weights = RankerWeights(0.5, {"length": 1.25})
    curves = {"turn": RelevanceCurve(((-8.0, -7.0), (-2.0, -1.0)), lead=1.5)}
    scale = Scale(curves, {"turn": weights}, {"turn": weights})
    numbers = fitting_worth.Numbers(scale, weights, (0.25, -0.5), weights, weights, weights)
    file = tmp_path / "calibration.py"
    calibration_files.write(file, numbers, provenance="Made up.")
    written = runpy.run_path(str(file))
    assert written["CALIBRATION"] == scale.curves
    assert (written["HOLDS"], written["HOLDS_BY_WORDS"]) == (scale.holds, scale.holds_by_words)
    assert (written["MESSAGE"], written["MESSAGE_VECTOR"], written["ASKS"]) == (weights, (0.25, -0.5), weights)


def test_a_kind_with_little_evidence_is_left_out() -> None:
    odds, gold = np.zeros(100), np.arange(100) < 5
    assert calibrate([a_row("fact", odds, gold)]) == Scale({}, {}, {})


def test_kind_holds_an_answer_the_more_likely_the_better_its_best_candidate() -> None:
    rng = np.random.default_rng(8)
    own = [a_row("turn", np.append(rng.normal(-6, 1, 99), -1.0), np.arange(100) == 99) for _ in range(40)]
    stranger = [
        a_row("turn", rng.normal(-6, 1, 100), np.zeros(100, np.bool_), group=fitting_worth.STRANGER) for _ in range(40)
    ]
    scale = calibrate([*own, *stranger])
    chances = [scale.holds["turn"].probability(row.by_kind["turn"]) for row in (own[0], stranger[0])]
    assert chances[0] > 0.8
    assert chances[1] < 0.2
    tokens, found = fitting_worth.spent(own, scale, 0.0003)
    assert found == 1.0
    assert fitting_worth.spent(stranger, scale, 0.0003)[0] < tokens


def test_small_talk_held_back_is_none_that_was_fitted_on() -> None:
    for kind, least in (("small_talk", 160), ("asking", 60)):
        held = talk_messages(kind, "held")
        assert len({*held}) == len(held) >= least
        assert not {*held} & {*talk_messages("small_talk"), *talk_messages("asking")}


def test_held_out_people_are_not_fitted_on_and_their_answers_are_their_memories() -> None:
    fitted, held = talks.people("fitted"), talks.people("held")
    assert {one.name for one in fitted}.isdisjoint(one.name for one in held)
    for person in fitted + held:
        assert len({*person.memories}) == len(person.memories) >= 50
        for talk in person.talks:
            assert all(0 <= place < len(person.memories) for place in talk.answers)
            assert bool(talk.answers) == (talk.answered_in == talks.MEMORY)
            assert talk.thread[-1][0] == "assistant"


def a_recording(message: str = "Where does Anna live?") -> Recorded:
    """Return a message for which one turn of two holds the answer."""
    ids = ["t1", "t2"]
    found = Candidates(CandidateKind.TURN, ids, ["Anna lives in Lisbon", "It rains"], of_shares([0.9, 0.1], parts=1))
    vector = np.full(4, 0.5)
    reading = read(message, today=date(2026, 3, 1))
    return Recorded("turns", "one", message, vector, vector / 2, reading, (Offered(found, (5.0, 2.0), (True, False)),))


def test_a_recording_is_fitted_again_as_it_was_recorded(tmp_path: Path) -> None:
    kept = Recordings(tmp_path / "new", recordings.key_of(0.5, data=b"data", code=[Path(__file__)]))
    assert kept.read("dialogs") is None
    kept.write("dialogs", [a_recording()])
    (again,) = kept.read("dialogs") or []
    first, second = recordings.row(a_recording()), recordings.row(again)
    assert first.odds.tolist() == second.odds.tolist()
    assert second.gold.tolist() == [True, False]
    assert second.by_kind == first.by_kind
    assert (second.kinds, second.sizes.tolist()) == (["turn", "turn"], [5.0, 2.0])
    assert Recordings(None, "key").read("dialogs") is None


def test_recordings_of_other_data_scales_or_code_are_not_taken(tmp_path: Path) -> None:
    (code := tmp_path / "code.py").write_text("one")
    keys = {recordings.key_of(scale, data=data, code=[code]) for scale in (0.5, 1.0) for data in (b"a", b"b")}
    before = recordings.key_of(0.5, data=b"a", code=[code])
    code.write_text("two")
    assert len(keys | {recordings.key_of(0.5, data=b"a", code=[code])}) == 5
    assert before in keys


def test_kept_maps_are_those_that_were_fitted(tmp_path: Path) -> None:
    kept, maps = Recordings(tmp_path, "key"), {"locomo": (np.ones((4, 2)), np.zeros((2, 4)))}
    assert kept.read_maps(["locomo"]) is None
    kept.write_maps(maps)
    (question, answer) = (kept.read_maps(["locomo"]) or {})["locomo"]
    assert (question.shape, answer.shape, question.sum()) == ((4, 2), (2, 4), 8.0)


def test_a_message_is_also_shown_without_its_marks() -> None:
    assert without_marks("¿Dónde vive Ana?") == "dónde vive ana"
    asked = [replace(a_row("turn", np.zeros(1), np.zeros(1, np.bool_)), message=f"Where is {n}?") for n in "abcd"]
    thanks = [replace(one, group=fitting_worth.TALK, message="Thanks!") for one in asked]
    shown = [replace(one, unmarked=np.zeros(4)) for one in (*asked, *thanks)]
    by_mark = fitting_worth._message_model([*asked, *thanks], by_vector=True)[0].of["is_question"]
    assert fitting_worth._message_model(shown, by_vector=True)[0].of["is_question"] < by_mark
