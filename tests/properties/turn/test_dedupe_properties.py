"""Generated and hostile input for what `tests/unit/turn/test_dedupe.py` tests by example."""

from __future__ import annotations

from sidecar.turn.fitting import fit
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, an_item, kept_ids, reports_of
from tests.unit.turn.test_dedupe import LONG


def test_many_copies_fold_into_one_with_bounded_comparisons() -> None:
    copies = [an_item(f"c{number}", LONG) for number in range(300)]
    near = [an_item(f"n{number}", f"{LONG} q{chr(97 + number % 26)}{chr(97 + number // 26)}") for number in range(300)]
    result = fit(
        a_fitting(profile=a_profile(sources={"memory": {"top_k": 1000}}), reports=reports_of(*copies, *near)), METER
    )
    assert kept_ids(result) == ["c0"]
