"""Generated and hostile input for what `tests/unit/turn/fences/test_fence.py` tests by example."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.fences.fence import bodies, indented, neutralise
from tests.unit.turn.fences.test_fence import DISGUISES, ORDINARY, plainly

# "x < context-free" is ordinary, although a reader who drops spaces takes it for more.
TAME = [text for text in ORDINARY if "<context-" not in plainly(text)]


@given(
    st.lists(st.sampled_from([*DISGUISES, *TAME, "<", "/", "context", "-", "\u200b", "&", "\u0301", " "]), max_size=12)
)
def test_neutralising_is_idempotent(pieces: list[str]) -> None:
    safe = neutralise("".join(pieces))
    assert neutralise(safe) == safe
    assert "<context-" not in plainly(safe)
    assert "</context-" not in plainly(safe)
    safe.encode()


@given(
    st.lists(
        st.text(max_size=8)
        | st.sampled_from([*DISGUISES, *ORDINARY, "<", "/context-", "context-", "&", "lt;", "\ud83d"]),
        max_size=40,
    )
)
def test_texts_neutralised_together_equal_each_alone(texts: list[str]) -> None:
    assert bodies(texts) == [indented(neutralise(text).strip()) for text in texts]


@given(st.text(max_size=60))
def test_any_text_can_be_sent_and_changes_only_by_insertions(text: str) -> None:
    safe = neutralise(text)
    safe.encode()
    assert safe.replace("_", "").replace("\ufffd", "") == "".join(
        c for c in text if c not in "_\ufffd" and unicodedata.category(c) != "Cs"
    )


@pytest.mark.parametrize(
    "unit", ["<", "</", "<context", "<context-", "&amp;", "&#0", "&lt", "< ", "<\u200b", "\\", "%3"]
)
def test_floods_of_brackets_take_linear_time(unit: str) -> None:
    assert len(neutralise(unit * 5_000)) >= 5_000
    neutralise("<" + unit * 5_000)
