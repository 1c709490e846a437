"""PDF to blocks, from files made here: structure by size and place, and every way a file can be bad."""

import io
import zlib
from collections.abc import Sequence
from functools import partial

import pytest
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

from sidecar.ingest.documents import pdf, reader
from sidecar.ingest.documents.document import Content, ReadLimits
from sidecar.ingest.errors import TooLarge, UnreadableDocument

read = partial(reader.read, pdf_parts=pdf.parts)
STYLES = getSampleStyleSheet()
DAWN = "The harbour opens at dawn and closes at dusk, all year. " * 4


def furnish(canvas: Canvas, _template: object) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(72, 820, "The Harbour Handbook")
    canvas.drawString(72, 20, f"Page {canvas.getPageNumber()} of 4")


def made(*, title: str = "Harbour guide") -> bytes:
    target = io.BytesIO()
    story: list[object] = [
        Paragraph("Harbour guide", STYLES["Title"]),
        Paragraph("Fees", STYLES["Heading2"]),
        Paragraph(DAWN, STYLES["BodyText"]),
        Paragraph("A second <b>bold</b> paragraph.", STYLES["BodyText"]),
        Spacer(1, 12),
        Table([["Boat", "Fee"], ["Small", "10"]]),
    ]
    for number in range(3):
        story += [
            PageBreak(),
            Paragraph(f"Chapter {'ABC'[number]}", STYLES["Heading2"]),
            Paragraph(DAWN, STYLES["BodyText"]),
        ]
    SimpleDocTemplate(target, title=title, invariant=1).build(story, onFirstPage=furnish, onLaterPages=furnish)
    return target.getvalue()


def drawn(content: bytes) -> bytes:
    """Return a PDF of one page whose content stream is these operators, compressed."""
    packed = zlib.compress(content, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    file, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(file)
    return file + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def lines(texts: Sequence[str]) -> bytes:
    return b"BT /F1 12 Tf 14 TL 72 700 Td " + b"".join(b"(%s) Tj T* " % text.encode() for text in texts) + b"ET"


def test_headings_paragraphs_rows_and_pages_are_recognised() -> None:
    document = read("guide.pdf", made())
    assert (document.title, document.media_type) == ("Harbour guide", "application/pdf")
    fees = ("Harbour guide", "Fees")
    assert [(block.kind, block.page, block.heading_path, block.text) for block in document.blocks[:8]] == [
        ("heading", 1, ("Harbour guide",), "Harbour guide"),
        ("heading", 1, fees, "Fees"),
        ("paragraph", 1, fees, DAWN.strip()),
        ("paragraph", 1, fees, "A second bold paragraph."),
        ("paragraph", 1, fees, "Boat Fee"),
        ("paragraph", 1, fees, "Small 10"),
        ("heading", 2, ("Harbour guide", "Chapter A"), "Chapter A"),
        ("paragraph", 2, ("Harbour guide", "Chapter A"), DAWN.strip()),
    ]


def test_running_titles_and_page_numbers_are_left_out() -> None:
    text = read("guide.pdf", made()).text
    assert "Handbook" not in text
    assert "of 4" not in text


def test_word_split_at_a_line_end_is_joined() -> None:
    assert read("a.pdf", drawn(lines(["The har-", "bour is Anglo-", "Saxon and opens."]))).text == (
        "The harbour is Anglo- Saxon and opens."
    )


def test_missing_title_is_the_file_name() -> None:
    assert read("dir/plan.pdf", drawn(lines(["Words."]))).title == "plan"


def test_scanned_file_without_text_is_refused_by_name() -> None:
    document = read("scan.pdf", drawn(b"0 0 m 100 100 l S"))
    assert (document.content, document.blocks) == (Content.NO_TEXT_LAYER, ())


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.7", b"%PDF-1.7 garbage" * 999, b"no pdf at all", made()[:2000], drawn(b"[" * 200_000)]
)
def test_a_damaged_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=r"a\.pdf: the PDF is damaged"):
        read("a.pdf", data)


def test_limits_on_pages_and_text_hold() -> None:
    with pytest.raises(TooLarge, match="the PDF has 4 pages, the limit is 3"):
        read("a.pdf", made(), ReadLimits(pages=3))
    with pytest.raises(TooLarge, match="more than 100 characters"):
        read("a.pdf", made(), ReadLimits(text_chars=100))
