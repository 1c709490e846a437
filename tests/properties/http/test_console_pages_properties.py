"""Generated input for what `tests/unit/http/test_console_pages.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.http.console import turn_view
from sidecar.http.console.sentences import marked
from tests.unit.http.test_console_pages import item, receipt, row


@given(st.text(), st.lists(st.text(), max_size=3))
def test_citation_marks_remove_no_text(body: str, memories: list[str]) -> None:
    found = marked(body, memories, anchor="s")
    for number in range(1, 4):
        found = found.replace(f"[{number}](#s-{number})", "")
    left = body
    for number in range(1, 4):
        left = left.replace(f"[{number}](#s-{number})", "")
    assert found == left


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e9, allow_nan=False))
def test_no_stripe_exceeds_its_bar(kept: int, offered: int, duration_ms: float) -> None:
    lines = turn_view.source_lines(
        receipt(row("memory", item(1, "kept", kept), offered_tokens=offered), duration_ms=duration_ms)
    )
    for stripe in (lines[0].waited, *lines[0].stripes):
        assert stripe.at >= 0
        assert stripe.at + stripe.width <= 100.5
