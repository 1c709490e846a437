"""Generated and hostile input for what `tests/unit/cli/test_commands.py` tests by example."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli.shared.paging import batches, every
from sidecar.client import Page


@given(st.lists(st.integers(0, 30)), st.integers(1, 7), st.integers(1, 50))
def test_batches_keep_order_and_bounds(sizes: list[int], most: int, most_chars: int) -> None:
    cut = list(batches(sizes, lambda size: size, most=most, most_chars=most_chars))
    assert [size for batch in cut for size in batch] == sizes
    assert all(batch and len(batch) <= most and (len(batch) == 1 or sum(batch) <= most_chars) for batch in cut)
    for batch, following in pairwise(cut):
        assert len(batch) == most or sum(batch) + following[0] > most_chars, "the next value would have found room"


@given(st.integers(0, 900), st.integers(0, 450))
def test_limit_fetches_exactly_so_many_values_and_no_extra_page(there: int, limit: int) -> None:
    calls: list[int] = []

    def list_page(*, page_size: int, page_token: str, **given: Any) -> Page[int]:
        calls.append(page_size)
        start = int(page_token or 0)
        end = min(there, start + page_size)
        return Page(tuple(range(start, end)), str(end) if end < there else "")

    wanted = min(there, limit) if limit else there
    assert list(every(list_page, limit=limit)) == list(range(wanted))
    assert len(calls) == max(1, -(-wanted // 200))
    assert all(1 <= size <= 200 for size in calls)
    assert not limit or sum(calls) <= limit
