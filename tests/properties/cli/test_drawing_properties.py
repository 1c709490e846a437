"""Generated and hostile input for what `tests/unit/cli/test_drawing.py` tests by example."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli.shared import drawing
from sidecar.cli.shared.output import printable
from sidecar.client.answers import (
    Budget,
)
from tests.unit.cli.test_drawing import WIKI


@given(st.text())
def test_printable_text_keeps_everything_but_control_characters(text: str) -> None:
    cleaned = printable(text)
    assert len(cleaned) == len(text)
    assert all(
        new == old or (new == "\N{REPLACEMENT CHARACTER}" and (ord(old) < 32 or 127 <= ord(old) < 160))
        for new, old in zip(cleaned, text, strict=True)
    )
    assert not any((ord(one) < 32 and one not in "\n\t") or 127 <= ord(one) < 160 for one in cleaned)


tokens = st.integers(0, 2_000_000)


@given(st.lists(tokens, min_size=1, max_size=12), st.integers(1, 80))
def test_bars_are_adjacent_and_fill_the_whole(amounts: list[int], cells: int) -> None:
    parts = [drawing.BarPart(f"part {place}", amount) for place, amount in enumerate(amounts)]
    lines = list(drawing.bars(parts, sum(amounts), cells=cells))
    present = [part for part in parts if part.tokens]
    assert len(lines) == len(present)
    end = 0
    for line, part in zip(lines, present, strict=True):
        bar = line[line.index("%") + 3 :]
        ink = bar.lstrip(" ")
        start = len(bar) - len(ink)
        assert line.split("  ")[1].startswith(part.name)
        assert ink == "▏" or set(ink) == {"█"}
        assert len(bar) <= cells
        assert start == min(end, cells - 1)
        end = start + (0 if ink == "▏" else len(ink))
    assert not present or end >= cells - 1


@given(st.tuples(tokens, tokens, tokens, tokens, tokens), st.lists(tokens, max_size=6), tokens, tokens, tokens)
def test_shares_add_up_to_the_window_and_to_the_pool(
    spent: tuple[int, int, int, int, int], used: list[int], free: int, frame: int, outside: int
) -> None:
    pool = sum(used) + frame + free
    budget = Budget(sum(spent) + pool + outside, *spent, pool, sum(used) + frame, "o200k_base", is_exact=False)
    reports = [replace(WIKI, included_tokens=one) for one in used]
    assert sum(share.tokens for share in drawing.window_shares(budget)) == budget.window_tokens
    assert sum(share.tokens for share in drawing.pool_shares(budget, reports)) == budget.pool_tokens
    assert all(share.tokens >= 0 for share in drawing.window_shares(budget) + drawing.pool_shares(budget, reports))
