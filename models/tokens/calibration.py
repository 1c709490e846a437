"""Calibrates token counts by the counts that providers report.

Pure: the caller stores a Calibration per owner and model, and updates it with one usage report at a time. A count that is too low
makes the provider refuse the request; a count that is too high silently loses context. The former is worse and is learned faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Final

# The limits of corrections. An exact tokenizer errs by the tokens that a provider adds, an estimate by the kind of text.
RATIO_BOUNDS: Final[Mapping[bool, tuple[float, float]]] = MappingProxyType({True: (0.95, 1.10), False: (0.7, 1.8)})
"""The minimum and maximum ratio for models with an exact tokenizer (True) and for estimated ones (False)."""
TRUSTED_AFTER: Final = 5

_RISE = 0.3
_FALL = 0.12
_ERROR_RATE = 0.1
# In shorter prompts, the few tokens of the provider's framing outweigh our error.
_LEAST_TOKENS = 64
_MOST_TOKENS = 1_000_000_000

_EXACT_HEADROOM = (0.005, 0.08)
_ESTIMATED_HEADROOM = (0.02, 0.12)
_COLD_HEADROOM = 0.08


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of a model: the ratio of the provider's tokens to ours, the remaining relative error, and the numbers of
    reports used and ignored.
    """

    ratio: float = 1.0
    error: float = 0.0
    report_count: int = 0
    ignored_count: int = 0

    @property
    def is_trusted(self) -> bool:
        """Whether the ratio is based on enough reports to be used."""
        return self.report_count >= TRUSTED_AFTER

    @property
    def trusted_ratio(self) -> float:
        """The ratio to multiply an estimate by: 1 until the learned ratio is based on enough reports."""
        return self.ratio if self.is_trusted else 1.0

    def as_fields(self) -> dict[str, float | int]:
        """Return the fields as a JSON object for the store."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """A prompt counted twice: by a meter that applied `ratio`, and by the provider (including cached input tokens)."""

    estimated_tokens: int
    reported_tokens: int
    ratio: float = 1.0


def learn(calibration: Calibration, usage: CalibrationSample, *, is_exact: bool) -> Calibration:
    """Return the calibration updated with one report.

    The ratio is an exponential moving average, faster upwards than downwards, within `RATIO_BOUNDS`. Implausible reports (too
    few tokens, or a ratio below half the minimum or above twice the maximum) are only counted.
    """
    bounds = RATIO_BOUNDS[is_exact]
    observed = _observed(usage, bounds)
    if observed is None:
        return Calibration(
            calibration.ratio, calibration.error, calibration.report_count, calibration.ignored_count + 1
        )
    rate = _RISE if observed > calibration.ratio else _FALL
    missed = abs(max(observed, bounds[0]) / calibration.ratio - 1.0)  # a ratio below the bounds needs no headroom
    weight = max(_ERROR_RATE, 1.0 / (calibration.report_count + 1))
    return Calibration(
        ratio=_within(calibration.ratio + rate * (_within(observed, bounds) - calibration.ratio), bounds),
        error=calibration.error + weight * (missed - calibration.error),
        report_count=calibration.report_count + 1,
        ignored_count=calibration.ignored_count,
    )


def headroom_ratio(calibration: Calibration, *, is_exact: bool) -> float:
    """Return the fraction of the window to keep free for counting errors.

    For exact counts it is 0.5 %, up to 8 % if the provider keeps counting more than we do. For estimates it is 8 % until the
    ratio is trusted, then twice the remaining error, between 2 % and 12 %.
    """
    if is_exact:
        excess = max(0.0, calibration.trusted_ratio - 1.0)
        return _within(excess + 2 * calibration.error if calibration.is_trusted else 0.0, _EXACT_HEADROOM)
    return _within(2 * calibration.error, _ESTIMATED_HEADROOM) if calibration.is_trusted else _COLD_HEADROOM


def calibration_from(fields: Mapping[str, object], *, is_exact: bool) -> Calibration:
    """Return a stored calibration; the initial one if any field is missing or out of bounds."""
    ratio, error = fields.get("ratio"), fields.get("error")
    reports, ignored = fields.get("report_count"), fields.get("ignored_count")
    sound = (
        _is_number(ratio, *RATIO_BOUNDS[is_exact])
        and _is_number(error, 0.0, 1e3)
        and all(isinstance(count, int) and _is_number(count, 0, 2**63) for count in (reports, ignored))
    )
    if not sound:
        return Calibration()
    return Calibration(float(str(ratio)), float(str(error)), int(str(reports)), int(str(ignored)))


def _observed(usage: CalibrationSample, bounds: tuple[float, float]) -> float | None:
    counts = (usage.estimated_tokens, usage.reported_tokens)
    if not all(_LEAST_TOKENS <= tokens <= _MOST_TOKENS for tokens in counts):
        return None
    observed = usage.ratio * usage.reported_tokens / usage.estimated_tokens
    return observed if bounds[0] / 2 <= observed <= bounds[1] * 2 else None


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _is_number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
