"""What a turn keeps of its time: as much as fitting took of late, and never more than half."""

from __future__ import annotations

import pytest

from sidecar.context.fitting_reserve import Reserve


def learned(each_s: float, items: int = 300) -> Reserve:
    reserve = Reserve()
    for _ in range(40):
        reserve.took(each_s * (items + 100), items=items)
    return reserve


def test_reserve_is_small_before_anything_is_measured() -> None:
    assert 0.01 < Reserve().seconds(3.0, 500) < 0.2


def test_reserve_grows_with_slowness_and_with_the_number_of_items() -> None:
    quick, slow = learned(0.00001), learned(0.0002)
    assert slow.seconds(3.0, 300) > quick.seconds(3.0, 300)
    assert slow.seconds(3.0, 300) > slow.seconds(3.0, 0)
    assert slow.seconds(3.0, 300) == pytest.approx(0.05 + 0.045 + 1.5 * 0.0002 * 400)


def test_one_slow_turn_among_many_does_not_change_the_reserve() -> None:
    reserve = learned(0.00001)
    before_s = reserve.seconds(3.0, 300)
    reserve.took(9.0, items=300)
    assert reserve.seconds(3.0, 300) == pytest.approx(before_s)


@pytest.mark.parametrize("time_s", [0.0, 0.01, 0.5, 3.0])
def test_reserve_is_at_most_half_of_the_time(time_s: float) -> None:
    assert learned(0.1).seconds(time_s, 1_000) == time_s / 2
