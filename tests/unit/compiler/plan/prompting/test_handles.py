"""Handles that a model writes into its texts, where no reader could resolve them."""

from __future__ import annotations

import pytest

from compiler.plan.contract import PageKey, PageType
from compiler.plan.prompting.handles import Handles, without_handles

HANDLES = Handles(
    pages={"P1": PageKey(PageType.ENTITY, "suerte")}, mentions={"M1": "renee"}, memories={"R1": "m1", "R2": "m2"}
)
SHOWN = 'MEMORIES\n{"ref":"R1","text":"The first run (R1) was at eight."}'


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Swam at eight [R1].", "Swam at eight."),
        ("Swam (R1, R02) at eight [P1][M1].", "Swam at eight."),
        ("Swam [R1; R2 and P1]", "Swam"),
        ("The first run (R1) was early.", "The first run (R1) was early."),
        ("Bought an R1, and the lens (R9).", "Bought an R1, and the lens (R9)."),
        ("Swam (R1, with Dale).", "Swam (R1, with Dale)."),
    ],
)
def test_citations_are_removed_from_prose_and_nothing_else(written: str, kept: str) -> None:
    section = {"slug": "notes", "body_md": written, "source_refs": ["R1", "[R2]"]}
    answer = {"newPages": [{"title": "Run [R1]", "summary": written, "sections": [section]}], "n": 1}
    assert without_handles(answer, HANDLES, SHOWN) == {
        "newPages": [{"title": "Run [R1]", "summary": kept, "sections": [{**section, "body_md": kept}]}],
        "n": 1,
    }


def test_text_of_a_million_brackets_and_spaces_is_read_once() -> None:
    text = "[R1, " * 200_000 + " " * 1_000_000
    assert without_handles({"summary": text}, HANDLES, SHOWN) == {"summary": text}
