"""Makes markdown safe to display: no HTML, no images, links only to the web, to mail and into the wiki.

Disallowed markup is displayed as text. Code spans and code blocks are not changed. The result is parsed again; if the parser
still finds disallowed markup, the whole text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from html import unescape as decoded

from markdown_it import MarkdownIt
from markdown_it.token import Token

from compiler.plan.text.markdown import escape

# Parsing hostile markdown takes quadratic time: a longer text with any risky sign is escaped as a whole.
MOST_PARSED_CHARS = 20_000
# For each bracket that begins no link the parser scans the rest of the text: if a text has more of them, all are escaped.
MOST_LOOSE_BRACKETS = 100

_WIKI = r"/wiki/(?:entity|topic|decision)/[a-z0-9-]+"
_ALLOWED = re.compile(rf"(?:https?://[^\s<>]+|mailto:[^\s<>]+|{_WIKI})", re.IGNORECASE)
_PLAIN_LINK = rf"\((?:{_WIKI}|https?://[^\s<>()\\&]+|mailto:[^\s<>()\\&]+)\)"
_RISKY = re.compile(rf"\x00|(?:(?<!\\)|\\\\)(?:<|!\[|\](?!{_PLAIN_LINK})\s*[(:])")
_CODED = re.compile(r"`|~~~|^(?: {4}| {0,3}\t)", re.MULTILINE)
_MASK = re.compile("\x00(\\d+)\x00")
_BARE = r"[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*"
_TARGET = re.compile(rf"\(\s*(?:<([^<>\n]*)>|({_BARE}))(?:\s+\"[^\"<>\\\n]*\")?\s*\)")
_STEP = re.compile(r"\\[^\n]|\x00\d+\x00|!?\[|\]\(|\][ \t]*:|\]|<", re.DOTALL)
_AUTOLINK = re.compile(r"<(?:https?://[^\s<>]*|mailto:[^\s<>]*|[\w.!#$%&'*+/=?^{|}~-]+@[A-Za-z0-9.-]+)>")
_OPENS_TAG = re.compile(r"<[A-Za-z/!?]")
_SPAN = re.compile(rf"\\[^\n]|{_AUTOLINK.pattern}|`+", re.DOTALL)
_SIGN = re.compile(r"\\([!-/:-@\[-`{-~])")


def harmless(markdown: str) -> str:
    """Return the markdown with HTML escaped, and images and links that are not allowed shown as text. Idempotent."""
    if not _RISKY.search(markdown):
        return markdown
    bare = markdown.replace("\x00", "")
    if len(bare) > MOST_PARSED_CHARS:
        return _plain(bare)
    made = outside_code(bare, _escaped)
    return made if _is_harmless(made) else _plain(bare)


def outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Return the markdown with `change` applied outside code: it sees a placeholder, \\x00N\\x00, for each piece of code."""
    bare = markdown.replace("\x00", "")
    if not _CODED.search(bare) or len(bare) > MOST_PARSED_CHARS:
        return change(bare)
    code: list[str] = []
    masked = _masked(bare, code)
    return _MASK.sub(lambda found: code[int(found[1])], change(masked))


def is_allowed(target: str) -> bool:
    """Return whether a link target is allowed: an http, https or mailto address, or a page of the wiki."""
    plain = _SIGN.sub(r"\1", decoded(target))
    return _ALLOWED.fullmatch(target) is not None and _ALLOWED.fullmatch(plain) is not None


def _escaped(masked: str) -> str:
    """Return masked markdown with HTML, images and disallowed links escaped."""
    pieces: list[str] = []
    opened: list[int] = []
    loose: list[int] = []
    done = 0
    while (found := _STEP.search(masked, done)) is not None:
        pieces.append(masked[done : found.start()])
        sign, done = found[0], found.end()
        if sign == "<":
            sign, done = _angle(masked, found)
        elif sign in {"[", "!["}:
            opened.append(len(pieces))
        elif sign.startswith("]"):
            opener = opened.pop() if opened else None
            target = _TARGET.match(masked, found.start() + 1) if sign == "](" else None
            if target is not None and opener is not None and pieces[opener] == "[" and _is_allowed_target(target):
                sign, done = masked[found.start() : target.end()], target.end()
            elif sign != "]":
                sign = f"\\{sign}"
                _close(pieces, opener)
            elif opener is not None:
                loose.append(opener)
        pieces.append(sign)
    loose += opened
    if len(loose) > MOST_LOOSE_BRACKETS:
        for opener in loose:
            _close(pieces, opener)
    return "".join((*pieces, masked[done:]))


def _close(pieces: list[str], opener: int | None) -> None:
    """Escape the bracket that opened a link or an image."""
    if opener is not None:
        pieces[opener] = pieces[opener].replace("[", "\\[")


def _is_allowed_target(target: re.Match[str]) -> bool:
    return is_allowed(target[1] if target[1] is not None else target[2])


def _angle(masked: str, found: re.Match[str]) -> tuple[str, int]:
    """Return an allowed autolink unchanged, or the angle bracket, escaped if it may open a tag; and the next position."""
    if link := _AUTOLINK.match(masked, found.start()):
        return link[0], link.end()
    return ("\\<" if _OPENS_TAG.match(masked, found.start()) else "<"), found.end()


def _masked(markdown: str, code: list[str]) -> str:
    """Return the markdown with a placeholder for each code block and code span; their texts are appended to `code`."""
    lines = markdown.split("\n")
    pieces: list[str] = []
    done = 0
    for start, end, is_code in _blocks(markdown):
        if start < done:
            continue
        pieces += lines[done:start]
        block = "\n".join(lines[start:end])
        pieces.append(_mark(block, code) if is_code else _without_spans(block, code))
        done = end
    return "\n".join((*pieces, *lines[done:]))


def _blocks(markdown: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the line range of each code block and each block of inline text: start, end (exclusive), whether it is code."""
    for token in _parser().parse(markdown):
        if token.map is not None and token.type in {"fence", "code_block", "inline"}:
            start, end = token.map
            yield start, end, token.type != "inline"


def _without_spans(block: str, code: list[str]) -> str:
    pieces: list[str] = []
    done = 0
    while (found := _SPAN.search(block, done)) is not None:
        pieces.append(block[done : found.start()])
        done = found.end()
        closing = _closing(block, found) if found[0].startswith("`") else None
        if closing is None:
            pieces.append(found[0])
            continue
        pieces.append(_mark(block[found.start() : closing], code))
        done = closing
    return "".join((*pieces, block[done:]))


def _closing(block: str, opening: re.Match[str]) -> int | None:
    """Return the end of the code span that a run of backticks opens, after the next run of the same length; None if there is
    none.
    """
    runs = re.finditer("`+", block[opening.end() :])
    return next((opening.end() + run.end() for run in runs if len(run[0]) == len(opening[0])), None)


def _mark(piece: str, code: list[str]) -> str:
    code.append(piece)
    return f"\x00{len(code) - 1}\x00"


def _plain(markdown: str) -> str:
    return "\n".join(map(escape, markdown.replace("\t", " ").split("\n")))


def _is_harmless(markdown: str) -> bool:
    every = (token for is_table in (False, True) for token in _judge(is_table=is_table).parse(markdown))
    return all(map(_may_stay, (one for token in every for one in (token, *(token.children or ())))))


def _may_stay(token: Token) -> bool:
    if token.type == "link_open":
        return is_allowed(str(token.attrGet("href")))
    return token.type not in {"html_block", "html_inline", "image"}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).disable(["inline", "text_join"], ignoreInvalid=True)


@cache
def _judge(*, is_table: bool) -> MarkdownIt:
    """Return a parser that accepts HTML and every link, to find remaining ones."""
    made = MarkdownIt("commonmark", {"html": True})
    made.validateLink = partial(_accept_any)  # type: ignore[method-assign]
    return made.enable("table") if is_table else made


def _accept_any(url: str) -> bool:
    return True
