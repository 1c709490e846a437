"""Converts Markdown (CommonMark with tables) to parts. Raw HTML keeps its text but loses its tags and scripts.

The absolute target of a link follows the link's text, so that search finds it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sidecar.ingest.documents import plain, webpage
from sidecar.ingest.documents.document import NO_END, DocumentPart

# The parser drops deeper nesting; such a segment is read as plain text, so that nothing is lost.
_NESTING = 60
_SEGMENT_CHARS = (
    256 * 1024
)  # the parser's tokens take a hundred times the text's memory, so long texts are parsed in segments
_LARGEST_SEGMENT_CHARS = 2 * _SEGMENT_CHARS
# The parser's time grows with the square of the brackets in one paragraph.
_MOST_BRACKETS = 500
_LARGEST_INLINE_CHARS = 100_000

_PARSER = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"]).disable("inline")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}[ \t]")
_FRONT_MATTER = re.compile(r"---[ \t]*\n([\w-]+[ \t]*:(?:.*\n){1,200}?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+)$", re.MULTILINE)
_TARGET = re.compile(r"(?:https?://|mailto:)\S+")
_UNSEEN_TAG = re.compile(r"<(/?)(?:script|style|template)\b", re.IGNORECASE)


def parts(text: str, *, most: int = NO_END) -> tuple[str, list[DocumentPart]]:
    """Return the title (empty if neither the front matter nor a first-level heading gives one) and the parts in order.

    A text of more than `most` parts is not read to its end.
    """
    front = _FRONT_MATTER.match(text)
    document_parts = [DocumentPart("metadata", front[1])] if front else []
    for segment in _segments(text[front.end() :] if front else text):
        document_parts.extend(_segment_parts(segment))
        if len(document_parts) > most:
            break
    front_title = _FRONT_TITLE.search(front[1]) if front else None
    if front_title:
        return front_title[1].strip().strip("\"'"), document_parts
    return next((part.text for part in document_parts if part.level == 1), ""), document_parts


def _segments(text: str) -> Iterator[str]:
    """Yield the text in segments that begin at a heading or an ordinary paragraph, outside fenced code."""
    start, at, fence, is_after_blank = 0, 0, "", False
    while len(text) - start > _SEGMENT_CHARS and at < len(text):
        newline = text.find("\n", at)
        line_end = newline + 1 if newline >= 0 else len(text)
        mark = _FENCE.match(text, at, line_end)
        if mark:
            fence = _after_fence(fence, mark[1])
        elif not fence and at - start > _SEGMENT_CHARS and _is_fresh_start(text, at, is_after_blank):
            yield text[start:at]
            start = at
        is_after_blank = text[at:line_end].isspace()
        at = line_end
    yield text[start:]


def _after_fence(fence: str, mark: str) -> str:
    if not fence:
        return mark
    return "" if mark.startswith(fence) else fence


def _is_fresh_start(text: str, at: int, is_after_blank: bool) -> bool:
    return _HEADING.match(text, at) is not None or (is_after_blank and text[at].isalpha())


def _segment_parts(segment: str) -> Iterator[DocumentPart]:
    if len(segment) > _LARGEST_SEGMENT_CHARS:
        yield from plain.parts(segment)
        return
    tokens = _parsed(segment)
    if max((token.level for token in tokens), default=0) >= _NESTING - 1:
        yield from plain.parts(segment)
        return
    yield from _token_parts(iter(tokens))


def _parsed(segment: str) -> list[Token]:
    """Return the block tokens. An inline token has children, unless it is too long or has too many brackets to parse."""
    references: dict[str, Any] = {}
    tokens = _PARSER.parse(segment, references)
    for token in tokens:
        source = token.content
        if token.type == "inline" and len(source) <= _LARGEST_INLINE_CHARS and source.count("[") <= _MOST_BRACKETS:
            token.children = []
            _PARSER.inline.parse(source, _PARSER, references, token.children)
    return tokens


def _token_parts(tokens: Iterator[Token]) -> Iterator[DocumentPart]:
    for token in tokens:
        match token.type:
            case "heading_open":
                yield DocumentPart("heading", _words(next(tokens)), int(token.tag[1]))
            case "inline":
                yield DocumentPart("paragraph", _words(token))
            case "bullet_list_open" | "ordered_list_open":
                yield DocumentPart("list", "\n".join(_list_lines(token, tokens)))
            case "table_open":
                yield DocumentPart("table", "\n".join(_table_rows(tokens)))
            case "fence" | "code_block":
                yield DocumentPart("code", token.content)
            case "html_block":
                yield from webpage.parts(token.content)[1]


def _list_lines(opening: Token, tokens: Iterator[Token]) -> Iterator[str]:
    """Yield the lines of a list, with markers and with inner lists indented. Consumes the tokens up to the list's end."""
    depth, marker = 1, ""
    for token in tokens:
        if token.type == opening.type.replace("open", "close") and token.level == opening.level:
            return
        indent = "  " * (depth - 1)
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                depth += 1
            case "bullet_list_close" | "ordered_list_close":
                depth -= 1
            case "list_item_open":
                marker = f"{token.info}{token.markup} " if token.info else "- "
            case "inline":
                yield f"{indent}{marker or '  '}{_words(token)}"
                marker = ""
            case "fence" | "code_block":
                yield from (f"{indent}  {line}" for line in token.content.rstrip().split("\n"))
            case "html_block":
                yield from (f"{indent}  {part.text}" for part in webpage.parts(token.content)[1])


def _table_rows(tokens: Iterator[Token]) -> Iterator[str]:
    cells: list[str] = []
    for token in tokens:
        match token.type:
            case "table_close":
                return
            case "inline":
                cells.append(_words(token))
            case "tr_close":
                yield " | ".join(cells)
                cells = []


def _words(token: Token) -> str:
    """Return the text of an inline token without its marks."""
    return "".join(_pieces(token.children)) if token.children else token.content


def _pieces(children: Sequence[Token]) -> Iterator[str]:
    unseen, targets = 0, [""]
    for child in children:
        match child.type:
            case "html_inline":
                tag = _UNSEEN_TAG.match(child.content)
                unseen = max(0, unseen + (-1 if tag[1] else 1)) if tag else unseen
                yield "\n" if child.content.lower().startswith("<br") else ""
            case "link_open":
                targets.append("" if child.markup == "autolink" else str(child.attrGet("href") or ""))
            case "link_close":
                yield from _target(targets.pop())
            case "softbreak":
                yield " "
            case "hardbreak":
                yield "\n"
            case _ if not unseen:
                yield child.content


def _target(href: str) -> Iterator[str]:
    if _TARGET.fullmatch(href):
        yield f" ({href})"
