"""Markdown to blocks: what a reader of the rendered page would see, in order."""

import pytest

from sidecar.ingest.chunking.chunking import chunk
from sidecar.ingest.documents.document import DocumentText
from sidecar.ingest.documents.reader import read

GUIDE = b"""\
---
title: "Harbour guide"
tags: [boats]
---
# Guide

Intro with *em*, `code`, [docs](https://x.example/a), [near](b.md) and ![a pier](p.png).
Second line<br>third <script>alert(1)</script>end, [as said][ref].

## Fees

| Boat | Fee |
|---|---|
| small | 10 |
| *large* | 30 \\| 40 |

- one
- two
  1. in one
  2. in two

     more of it

     ```py
     x = 1
     ```
- three

```python
def f():
    return 1

```

> quoted
> text

<div><p>raw <b>html</b></p><script>bad()</script></div>

Setext
------
[ref]: https://ref.example/
The end.
"""


def of(text: str) -> DocumentText:
    return read("a.md", text.encode())


def shapes(document: DocumentText) -> list[tuple[str, tuple[str, ...], str]]:
    return [(block.kind, block.heading_path, block.text) for block in document.blocks]


def test_all_kinds_of_markdown_become_blocks() -> None:
    document = read("guide.md", GUIDE)
    assert (document.title, document.media_type) == ("Harbour guide", "text/markdown")
    fees = ("Guide", "Fees")
    intro = "Intro with em, code, docs (https://x.example/a), near and a pier. Second line\nthird end, as said"
    assert shapes(document) == [
        ("metadata", (), 'title: "Harbour guide"\ntags: [boats]'),
        ("heading", ("Guide",), "Guide"),
        ("paragraph", ("Guide",), f"{intro} (https://ref.example/)."),
        ("heading", fees, "Fees"),
        ("table", fees, "Boat | Fee\nsmall | 10\nlarge | 30 | 40"),
        ("list", fees, "- one\n- two\n  1. in one\n  2. in two\n    more of it\n    x = 1\n- three"),
        ("code", fees, "def f():\n    return 1"),
        ("paragraph", fees, "quoted text"),
        ("paragraph", fees, "raw html"),
        ("heading", ("Guide", "Setext"), "Setext"),
        ("paragraph", ("Guide", "Setext"), "The end."),
    ]


def test_offsets_point_into_the_documents_text() -> None:
    document = read("guide.md", GUIDE)
    assert [document.text[block.start : block.end] for block in document.blocks] == [b.text for b in document.blocks]


def test_title_is_the_first_top_level_heading_or_the_file_name() -> None:
    assert of("Intro.\n\n## Second\n\n# First\n").title == "First"
    assert read("notes/my plan.md", b"Only words.").title == "my plan"


def test_headings_nest_by_level_and_close_deeper_ones() -> None:
    paths = [block.heading_path for block in of("# A\n### B\n## C\n# D\n").blocks]
    assert paths == [("A",), ("A", "B"), ("A", "C"), ("D",)]


def test_rule_at_the_top_is_not_front_matter() -> None:
    assert [block.text for block in of("---\n\nWords.\n\n---\n\nMore.\n").blocks] == ["Words.", "More."]


def test_only_absolute_web_and_mail_targets_are_kept() -> None:
    text = "[b](/local) [c](mailto:x@y.example) <https://e.example>"
    assert of(text).text == "b c (mailto:x@y.example) https://e.example"


@pytest.mark.parametrize(
    "text",
    ["> " * 200 + "deep words", "".join(f"{'  ' * depth}- item {depth}\n" for depth in range(200)) + "deep words"],
    ids=["quotes", "lists"],
)
def test_excessive_nesting_is_read_as_plain_text_without_loss(text: str) -> None:
    assert of(text).text.split()[-2:] == ["deep", "words"]


def test_rendered_page_is_chunked() -> None:
    chunks = chunk(read("guide.md", GUIDE), count=lambda texts: [len(text.split()) for text in texts])
    assert "".join("".join(one.text for one in chunks).split()) == "".join(read("guide.md", GUIDE).text.split())


def test_paragraph_too_long_to_parse_is_kept_unchanged() -> None:
    long = "word " * 40_000
    document = read("long.md", f"# Title\n\n{long}\n".encode())
    assert long.strip() in document.text
