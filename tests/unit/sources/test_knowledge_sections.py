"""Above a chunk stand its document's title and its headings, each once."""

from __future__ import annotations

from uuid import UUID

from sidecar.sources.knowledge import under_headings
from store.content.documents import RecalledChunk
from store.text.texts import Signature
from tests.support.each import each

SIGNATURE = Signature(1, 0, b"")


def a_chunk(heading: str, text: str = "Quiet from ten.", page: int | None = None) -> RecalledChunk:
    return RecalledChunk(UUID(int=1), UUID(int=2), "House rules", "rules.md", heading, page, 0, text, None, SIGNATURE)


@each(
    ("chunk", "section", "text"),
    [
        (a_chunk(""), "", "Quiet from ten."),
        (a_chunk("House rules"), "", "Quiet from ten."),
        (a_chunk("House rules", "House rules\n\nQuiet from ten."), "", "Quiet from ten."),
        (a_chunk("House rules > Noise"), "Noise", "Quiet from ten."),
        (a_chunk("Noise > At night"), "Noise > At night", "Quiet from ten."),
        (a_chunk("House rules > Noise", "Noise\n\nQuiet from ten."), "Noise", "Quiet from ten."),
        (a_chunk("House rules > Noise", "## Noise\n\nQuiet from ten."), "Noise", "Quiet from ten."),
        (a_chunk("House rules > Noise > At night", "At night\nQuiet."), "Noise > At night", "Quiet."),
        (a_chunk("House rules > Noise", "House rules\n\nNoise\n\nQuiet from ten."), "Noise", "Quiet from ten."),
        (a_chunk("House rules > Noise", "House rules\n\nNoise\n\nNoise\n\nDrums."), "Noise", "Noise\n\nDrums."),
        (a_chunk("Noise", "Noise is forbidden.\nDrums too."), "Noise", "Noise is forbidden.\nDrums too."),
        (a_chunk("Noise", "Noise"), "Noise", "Noise"),
        (a_chunk("", page=3), "page 3", "Quiet from ten."),
        (a_chunk("House rules > Noise", page=3), "Noise, page 3", "Quiet from ten."),
    ],
)
def test_title_and_heading_are_once_above_a_chunk(chunk: RecalledChunk, section: str, text: str) -> None:
    assert under_headings(chunk) == (section, text)
