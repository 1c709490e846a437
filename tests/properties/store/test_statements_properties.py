"""Generated and hostile input for what `tests/unit/store/test_statements.py` tests by example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.db.statements import Unterminated, split, tokens
from tests.unit.store.test_statements import WHOLE_PIECES


@given(st.lists(st.sampled_from(WHOLE_PIECES), max_size=6))
def test_joined_statements_are_split_again(pieces: list[str]) -> None:
    found = split("".join(f"{piece}\n;" for piece in pieces))
    assert len(found) == len(pieces)
    assert all(piece.startswith(statement.text) for piece, statement in zip(pieces, found, strict=True))


SQL_LIKE_TEXT = st.lists(
    st.sampled_from(
        ["'", '"', "$$", "$a$", "--", "/*", "*/", ";", "\n", " ", "e", "E'", "\\", "(", ")", "a", "$", "é", "1"]
    )
).map("".join)


@given(st.one_of(SQL_LIKE_TEXT, st.text()))
def test_pieces_join_to_the_whole_text_or_a_quote_is_open(text: str) -> None:
    try:
        pieces = [text[token.start : token.end] for token in tokens(text)]
    except Unterminated as error:
        line = error.line
    else:
        line = 1
        assert "".join(pieces) == text
    assert 1 <= line <= text.count("\n") + 1


@given(st.one_of(SQL_LIKE_TEXT, st.text()))
def test_every_statement_is_in_the_text_at_its_line(text: str) -> None:
    try:
        found = split(text)
    except Unterminated:
        return
    for statement in found:
        assert statement.text.strip() == statement.text or not statement.text.isascii()
        rest = text.split("\n", statement.line - 1)[-1]
        assert statement.text in rest


def test_long_and_hostile_text_is_read_without_backtracking() -> None:
    with pytest.raises(Unterminated):
        split("'" + "a''" * 20_000)
    with pytest.raises(Unterminated):
        split("E'" + "\\'" * 20_000)
    assert len(split("(" * 20_000)) == 1
    assert len(split(";" * 20_000)) == 0
