"""Counted work tells a square from a line."""

from __future__ import annotations

from tests.support.steps import grows_in_line


def pairs(size: int) -> int:
    count = 0
    for one in range(size):
        for other in range(one):
            count += other
    return count


def test_quadratic_work_is_distinguished_from_linear() -> None:
    assert not grows_in_line(pairs, 50)
    assert grows_in_line(lambda size: [pairs(3) for _ in range(size)], 50)
