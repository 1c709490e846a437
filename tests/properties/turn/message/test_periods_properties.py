"""Generated and hostile input for what `tests/unit/turn/message/test_periods.py` tests by example."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.message.periods import read_periods
from tests.unit.turn.message.test_periods import TODAY


@given(st.text(max_size=80), st.dates(min_value=date(1000, 1, 1)))
def test_any_text_on_any_day_names_few_periods(text: str, today: date) -> None:
    periods = read_periods(f"{text} in May, on 2024-02-29, last month {text}", today)[0]
    assert len(periods) <= 4
    assert all(period.first <= period.last for period in periods)


@given(st.dates(min_value=date(1950, 1, 1), max_value=date(2090, 1, 1)))
def test_a_date_without_a_year_fits_that_day_of_every_year(day: date) -> None:
    (period,) = read_periods(f"on {day:%B} {day.day}", TODAY.replace(month=1, day=1))[0]
    years_later = [day + timedelta(round(365.25 * years)) for years in range(-3, 4)]
    assert all(max(period.nearness(near), period.nearness(near + timedelta(1))) == 2.0 for near in years_later)
