"""Generated and hostile input for what `tests/unit/compiler/plan/edges/test_edge_statements.py` tests by example."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from compiler.plan.edge_types import EDGE_TYPES
from compiler.plan.edges.statements import statements
from tests.unit.compiler.plan.edges.test_edge_statements import NAMES, STATED

PIECES = st.sampled_from([*NAMES, "I", *(text.rstrip(".") for text, _ in STATED)]) | st.text(max_size=12)


@given(
    st.lists(PIECES, max_size=12).map(" ".join) | st.lists(PIECES, max_size=12).map(". ".join),
    st.lists(st.sampled_from(NAMES) | st.text(min_size=1, max_size=12), max_size=6),
)
@example("Maria works at Helios Labs. I'm a nurse at Helios Labs.", ["Maria", "Helios Labs"])
def test_any_text_gives_known_types_between_given_names(text: str, names: list[str]) -> None:
    for one in statements(text, names, speaker="I"):
        assert one.type in EDGE_TYPES
        assert {one.subject, one.object} <= {*names, "I"}
