"""A PDF is read in a process of its own: the same as without, and ended when it takes too much."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfgen.canvas import Canvas

from sidecar.ingest.documents import confined, pdf
from sidecar.ingest.documents.confined import ProcessLimits
from sidecar.ingest.documents.document import ReadLimits
from sidecar.ingest.errors import TooLarge, UnreadableDocument

LIMITS = ReadLimits()


def guide(pages: int = 2) -> bytes:
    target = io.BytesIO()
    canvas = Canvas(target, invariant=1)
    canvas.setTitle("Führer – 港")
    for number in range(pages):
        canvas.drawString(72, 700, f"The harbour opens at dawn, page {number}.")
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def tireless(pages: int) -> bytes:
    """Return a small PDF whose every page is the same long drawing: reading it all takes minutes."""
    drawing = b"BT /F1 9 Tf " + b"1 0 0 1 9 9 Tm (a) Tj " * 20_000 + b"ET"
    kids = b" ".join(b"%d 0 R" % (5 + number) for number in range(pages))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F1 4 0 R>>>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages),
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *[page] * pages,
    ]
    file, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return (
        file + head + table + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(file))
    )


def test_reading_in_a_child_process_gives_the_same_document() -> None:
    assert confined.pdf_parts("guide.pdf", guide(), LIMITS) == pdf.parts("guide.pdf", guide(), LIMITS)


@pytest.mark.parametrize(
    ("data", "limits", "kind"),
    [
        (b"%PDF-1.7\nnothing", LIMITS, UnreadableDocument),
        (guide()[:400], LIMITS, UnreadableDocument),
        (guide(), ReadLimits(pages=1), TooLarge),
    ],
)
def test_refusal_crosses_the_process_boundary_unchanged(
    data: bytes, limits: ReadLimits, kind: type[UnreadableDocument | TooLarge]
) -> None:
    with pytest.raises(kind) as here:
        pdf.parts("böse\ud800.pdf", data, limits)
    with pytest.raises(kind) as apart:
        confined.pdf_parts("böse\ud800.pdf", data, limits)
    assert str(apart.value) == str(here.value)


def test_endless_reader_is_ended_and_named() -> None:
    with pytest.raises(TooLarge, match=r"slow\.pdf: it takes more than 1 s of processor time"):
        confined.pdf_parts("slow.pdf", tireless(2_000), LIMITS, ProcessLimits(cpu_s=1))


def test_reader_that_uses_all_memory_is_refused_and_named() -> None:
    with pytest.raises(TooLarge, match=r"wide\.pdf: it takes more than 64 MiB of memory"):
        confined.pdf_parts("wide.pdf", tireless(4), LIMITS, ProcessLimits(memory_bytes=64 << 20))
