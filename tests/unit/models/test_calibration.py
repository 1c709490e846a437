"""What usage reports teach: quickly upwards, slowly downwards, never from nonsense, never out of bounds."""

from __future__ import annotations

import pytest

from models.tokens.calibration import (
    TRUSTED_AFTER,
    Calibration,
    CalibrationSample,
    calibration_from,
    headroom_ratio,
    learn,
)


def learned(*ratios: float, start: Calibration | None = None, is_exact: bool = False) -> Calibration:
    """A calibration after reports of these true ratios, each estimated with the ratio then in force."""
    calibration = start or Calibration()
    for ratio in ratios:
        used = calibration.trusted_ratio
        calibration = learn(
            calibration, CalibrationSample(round(10_000 * used), round(10_000 * ratio), used), is_exact=is_exact
        )
    return calibration


@pytest.mark.parametrize("truth", [0.72, 0.85, 1.0, 1.15, 1.4, 1.61, 1.75])
def test_twenty_reports_bring_an_estimate_within_five_percent(truth: float) -> None:
    noise = (0.96, 1.04, 1.0, 0.98, 1.02)
    calibration = learned(*(truth * noise[turn % 5] for turn in range(20)))
    assert calibration.trusted_ratio == pytest.approx(truth, rel=0.05)


def test_too_low_a_count_is_corrected_faster_than_too_high_a_one() -> None:
    assert learned(1.2).ratio - 1.0 > 2 * (1.0 - learned(0.8).ratio) > 0


def test_a_ratio_is_used_only_after_enough_reports() -> None:
    for reports in range(1, TRUSTED_AFTER + 2):
        calibration = learned(*[1.5] * reports)
        assert calibration.is_trusted == (reports >= TRUSTED_AFTER)
        assert calibration.trusted_ratio == (calibration.ratio if calibration.is_trusted else 1.0)


def test_ratio_in_force_when_the_prompt_was_counted_is_divided_out() -> None:
    settled = Calibration(ratio=1.5, report_count=50)
    assert learn(settled, CalibrationSample(15_000, 15_000, ratio=1.5), is_exact=False).ratio == pytest.approx(1.5)


@pytest.mark.parametrize(
    "usage",
    [
        CalibrationSample(10_000, 0),
        CalibrationSample(10_000, -3),
        CalibrationSample(0, 10_000),
        CalibrationSample(10, 40),
        CalibrationSample(10_000, 900_000),
        CalibrationSample(900_000, 10_000),
        CalibrationSample(10**400, 10**400),
        CalibrationSample(1_000, 1_000, ratio=float("nan")),
        CalibrationSample(1_000, 1_000, ratio=-1.0),
    ],
)
def test_absurd_report_is_counted_and_ignored(usage: CalibrationSample) -> None:
    before = learned(1.2, 1.2)
    assert learn(before, usage, is_exact=False) == Calibration(
        before.ratio, before.error, before.report_count, before.ignored_count + 1
    )


def test_headroom_is_small_for_exact_counts_and_shrinks_as_estimates_prove_right() -> None:
    assert headroom_ratio(Calibration(), is_exact=True) == 0.005
    assert headroom_ratio(Calibration(), is_exact=False) == 0.08
    assert headroom_ratio(learned(*[1.0] * 4), is_exact=False) == 0.08
    assert headroom_ratio(learned(*[1.0] * 20), is_exact=False) == 0.02
    assert headroom_ratio(learned(*[0.9, 1.1] * 10), is_exact=False) > 0.1


def test_provider_that_adds_tokens_to_exact_counts_widens_their_headroom() -> None:
    assert headroom_ratio(learned(*[1.03] * 20, is_exact=True), is_exact=True) == pytest.approx(0.035, abs=0.01)
    assert headroom_ratio(learned(*[0.9] * 20, is_exact=True), is_exact=True) < 0.08


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"ratio": "1.2", "error": 0.0, "report_count": 9, "ignored_count": 0},
        {"ratio": 12.0, "error": 0.0, "report_count": 9, "ignored_count": 0},
        {"ratio": float("nan"), "error": 0.0, "report_count": 9, "ignored_count": 0},
        {"ratio": 1.2, "error": -1, "report_count": 9, "ignored_count": 0},
        {"ratio": 1.2, "error": 0.0, "report_count": 9.5, "ignored_count": 0},
        {"ratio": True, "error": 0.0, "report_count": 9, "ignored_count": 0},
        {"ratio": 1.2, "error": 0.0, "report_count": None, "ignored_count": 0},
    ],
)
def test_damaged_calibration_starts_over(fields: dict[str, object]) -> None:
    assert calibration_from(fields, is_exact=False) == Calibration()


@pytest.mark.parametrize(("is_exact", "least", "largest"), [(True, 0.95, 1.10), (False, 0.7, 1.8)])
def test_a_ratio_stays_within_the_bounds_of_its_tokenizer(is_exact: bool, least: float, largest: float) -> None:
    assert learned(*[2.1] * 60, is_exact=is_exact).ratio == pytest.approx(largest, abs=0.001)
    assert learned(*[0.5] * 60, is_exact=is_exact).ratio == pytest.approx(least, abs=0.001)
