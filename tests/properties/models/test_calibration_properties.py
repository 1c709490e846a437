"""Generated and hostile input for what `tests/unit/models/test_calibration.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.tokens.calibration import (
    RATIO_BOUNDS,
    Calibration,
    CalibrationSample,
    calibration_from,
    headroom_ratio,
    learn,
)
from tests.unit.models.test_calibration import learned

usages = st.builds(
    CalibrationSample,
    estimated_tokens=st.integers(-5, 10**12),
    reported_tokens=st.integers(-5, 10**12),
    ratio=st.floats(allow_nan=True, allow_infinity=True),
)


@given(st.lists(usages, max_size=40), st.booleans())
def test_no_reports_move_the_ratio_out_of_bounds(reports: list[CalibrationSample], is_exact: bool) -> None:
    least, largest = RATIO_BOUNDS[is_exact]
    calibration = Calibration()
    for report in reports:
        calibration = learn(calibration, report, is_exact=is_exact)
        assert least <= calibration.ratio <= largest
        assert 0.0 <= calibration.error < 10
        assert 0.0 < headroom_ratio(calibration, is_exact=False) <= 0.12
        assert 0.0 < headroom_ratio(calibration, is_exact=True) <= 0.08
    assert calibration.report_count + calibration.ignored_count == len(reports)


@given(st.builds(learned, *[st.floats(0.4, 3.0)] * 3))
def test_a_calibration_survives_being_stored(calibration: Calibration) -> None:
    assert calibration_from(calibration.as_fields(), is_exact=False) == calibration
