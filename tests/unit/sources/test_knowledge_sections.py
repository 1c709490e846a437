"""The line above a chunk says what neither its document's title nor its own first line says."""

from __future__ import annotations

from uuid import UUID

from sidecar.sources.knowledge import section_of
from store.content.documents import RecalledChunk
from store.text.texts import Signature
from tests.support.each import each

SIGNATURE = Signature(1, 0, b"")


def a_chunk(heading: str, text: str = "Quiet from ten.", page: int | None = None) -> RecalledChunk:
    return RecalledChunk(UUID(int=1), UUID(int=2), "House rules", "rules.md", heading, page, 0, text, SIGNATURE)


@each(
    ("chunk", "section"),
    [
        (a_chunk(""), ""),
        (a_chunk("House rules"), ""),
        (a_chunk("House rules > Noise"), "Noise"),
        (a_chunk("Noise > At night"), "Noise > At night"),
        (a_chunk("House rules > Noise", "Noise\n\nQuiet from ten."), ""),
        (a_chunk("House rules > Noise", "## Noise\n\nQuiet from ten."), ""),
        (a_chunk("House rules > Noise > At night", "At night\nQuiet."), "Noise"),
        (a_chunk("Noise", "Noise is forbidden."), "Noise"),
        (a_chunk("House rules of the block"), "House rules of the block"),
        (a_chunk("", page=3), "page 3"),
        (a_chunk("House rules > Noise", page=3), "Noise, page 3"),
    ],
)
def test_section_repeats_neither_the_title_nor_the_first_line(chunk: RecalledChunk, section: str) -> None:
    assert section_of(chunk) == section
