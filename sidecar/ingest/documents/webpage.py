"""Converts HTML to parts: the visible text, without scripts, styles, navigation and hidden elements.

The parser reports events and builds no tree, so that a page nested a hundred thousand deep can be read.
"""

import re
from collections.abc import Mapping

from lxml import etree

from sidecar.ingest.documents.document import NO_END, DocumentPart

_DROPPED = frozenset({
    "audio", "canvas", "embed", "iframe", "nav", "noscript", "object", "script", "select", "style", "svg", "template",
    "video",
})  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu"})
_FLOW = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hr", "legend", "li", "main", "p",
    "pre", "section", "summary", "table", "td", "th", "title", "tr", *_HEADINGS, *_LISTS,
})  # fmt: skip
_BREAK = "\x1f"
_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]{0,512}?(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_-]{1,20})""", re.IGNORECASE
)
_WEB_ENCODING = re.compile(
    r"iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|shift_jis|euc-(?:jp|kr)|gb(?:2312|k|18030)|big5", re.IGNORECASE
)
_FEED_CHARS = 1 << 16


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding named in the page's first 2,048 bytes, if it is a web encoding other than UTF-8."""
    match = _DECLARED.search(data[:2048])
    name = match[1].decode("ascii").lower() if match else ""
    if name in {"iso-8859-1", "latin1", "us-ascii", "ascii"}:
        return "windows-1252"  # as browsers do
    return name if _WEB_ENCODING.fullmatch(name) else None


def parts(text: str, *, most: int = NO_END) -> tuple[str, list[DocumentPart]]:
    """Return the page's title (empty if it has none) and its parts in order.

    A page of more than `most` parts is not read to its end.
    """
    page = _Page()
    parser = etree.HTMLParser(target=page, huge_tree=True)
    try:
        for at in range(0, len(text), _FEED_CHARS):
            parser.feed(text[at : at + _FEED_CHARS])
            if len(page.parts) > most:
                break
        parser.close()
    except etree.XMLSyntaxError:  # the page has only comments or spaces
        page.close()
    return page.title, page.parts


class _Page:
    """Collects the parts of one page from the parser's events."""

    def __init__(self) -> None:
        self.title = ""
        self.parts: list[DocumentPart] = []
        self._text: list[str] = []
        self._dropped_depth = 0
        self._pre_depth = 0
        self._numbers: list[int | None] = []  # one per open list: the next number, None for bullets
        self._marker = ""
        self._lines: list[str] = []
        self._table_depth = 0
        self._rows: list[list[str]] | None = None  # None outside tables and inside those used for layout

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._dropped_depth or tag in _DROPPED or _is_hidden(attributes):
            self._dropped_depth += 1
            return
        if tag in _FLOW:
            self._open(tag, attributes)
        elif tag == "br":
            self._text.append("\n" if self._pre_depth else _BREAK)
        elif tag == "img":
            self._text.append(f" {attributes.get('alt', '')} ")

    def end(self, tag: str) -> None:
        if self._dropped_depth:
            self._dropped_depth -= 1
        elif tag in _FLOW:
            self._close(tag)

    def data(self, data: str) -> None:
        if not self._dropped_depth:
            self._text.append(data)

    def comment(self, _text: str) -> None:
        """Comments are not content."""

    def pi(self, _target: str, _data: str | None = None) -> None:
        """Processing instructions are not content."""

    def close(self) -> None:
        self._end_block()
        self._end_table()
        self._end_list()

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HEADINGS or tag in _LISTS or tag == "pre" or (tag == "table" and self._table_depth):
            self._end_table()  # a table that holds these is used for layout
        self._part_at(tag)
        if tag == "table":
            self._table_depth += 1
            self._rows = [] if self._table_depth == 1 and not self._numbers else None
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in _LISTS:
            self._numbers.append(_first_number(attributes) if tag == "ol" else None)
        elif tag == "li":
            self._begin_item()
        elif tag == "pre":
            self._pre_depth += 1

    def _close(self, tag: str) -> None:
        if tag == "title":
            title = self._taken()
            self.title = self.title or title
        elif tag in _HEADINGS:
            self._end_block("heading", _HEADINGS[tag])
        elif tag == "pre" and self._pre_depth:
            self._pre_depth -= 1
            self._end_code()
        elif tag in {"td", "th"} and self._rows:
            self._rows[-1].append(self._taken())
        else:
            self._part_at(tag)
        if tag == "table":
            self._table_depth = max(0, self._table_depth - 1)
            self._end_table()
        elif tag in _LISTS and self._numbers:
            self._numbers.pop()
            if not self._numbers:
                self._end_list()

    def _part_at(self, tag: str) -> None:
        if self._rows is not None and tag in {"p", "div"}:
            self._text.append(" ")  # paragraphs of a cell stay in their cell
        else:
            self._end_block()

    def _begin_item(self) -> None:
        number = self._numbers[-1] if self._numbers else None
        self._marker = "- " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1

    def _taken(self) -> str:
        lines = "".join(self._text).split(_BREAK)
        self._text.clear()
        return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))

    def _end_block(self, kind: str = "paragraph", level: int = 0) -> None:
        if self._pre_depth:
            return
        text = self._taken()
        if not text:
            return
        if self._numbers:
            self._add_line(text)
        elif self._rows is not None:
            self._rows.append([text])
        elif kind == "heading":
            self.parts.append(DocumentPart("heading", text, level))
        else:
            self.parts.append(DocumentPart("paragraph", text))

    def _add_line(self, text: str) -> None:
        indent = "  " * min(len(self._numbers) - 1, 8)
        self._lines.append(f"{indent}{self._marker or '  '}{text}")
        self._marker = ""

    def _end_code(self) -> None:
        code = "".join(self._text).replace(_BREAK, "\n")
        self._text.clear()
        if self._numbers:
            self._lines.append(code)
        else:
            self.parts.append(DocumentPart("code", code))

    def _end_table(self) -> None:
        rows, self._rows = self._rows, None
        text = "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows or () if any(row))
        if text:
            self.parts.append(DocumentPart("table", text))

    def _end_list(self) -> None:
        text = "\n".join(self._lines)
        self._lines.clear()
        if text:
            self.parts.append(DocumentPart("list", text))


def _first_number(attributes: Mapping[str, str]) -> int:
    start = attributes.get("start", "")
    return int(start) if start.isdecimal() and len(start) <= 6 else 1


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("role") == "navigation"
