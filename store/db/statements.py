"""Tokenizes SQL as Postgres' lexer does, far enough to split it into statements.

Pure: text in, text out. It handles quotes, dollar quotes, comments and routine bodies, but no further grammar.
Rules: PostgreSQL manual, "Lexical Structure"; for routine bodies the word counting of psql's own splitter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<comment>   --[^\r\n]*+ )
    | (?P<block>     /\* )
    | (?P<quoted>    [eE]'(?:[^'\\]|\\.|'')*+'(?:\s*[\r\n]\s*'(?:[^'\\]|\\.|'')*+')*
                   | '(?:[^']|'')*+'
                   | "(?:[^"]|"")*+" )
    | (?P<open>      [eE]?' | " )
    | (?P<dollar>    \$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$ )
    | (?P<word>      [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+ )
    | (?P<number>    [0-9][A-Za-z0-9_.]*+ )
    | (?P<space>     \s++ )
    | (?P<other>     . )
    """,
    re.DOTALL | re.VERBOSE,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_ROUTINE = re.compile(r"create (or replace )?(function|procedure)\b")


class Unterminated(ValueError):
    """A quote or a comment is never closed; close it."""

    def __init__(self, line: int) -> None:
        super().__init__(f"{type(self).__doc__} (line {line})")
        self.line = line


@dataclass(frozen=True, slots=True)
class Token:
    """A token of SQL text; the tokens in order make up the whole text.

    Kinds: comment, block (a block comment), quoted, dollar, word, number, space, other.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its semicolon, and the line it begins on, from 1."""

    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of the text in order. Raises Unterminated."""
    position = 0
    while match := _TOKEN.match(text, position):
        kind = match.lastgroup or "other"
        position = _end(text, match, kind)
        yield Token(kind, match.start(), position)


def split(text: str) -> tuple[Statement, ...]:
    """Return the statements of the text in order, leaving out those that are empty or only comments.

    A semicolon inside parentheses or a routine's BEGIN ATOMIC … END does not end a statement. Raises Unterminated.
    """
    found: list[Statement] = []
    cutter = _Cutter()
    for token in tokens(text):
        piece = text[token.start : token.end]
        if not cutter.ends_at(token, piece):
            continue
        found.extend(cutter.statement(text))
        cutter = _Cutter()
    found.extend(cutter.statement(text))
    return tuple(found)


def _end(text: str, match: re.Match[str], kind: str) -> int:
    """Return the end of the token that `match` begins."""
    if kind == "block":
        return _block_comment_end(text, match.start())
    if kind == "dollar":
        closing = text.find(match[0], match.end())
        if closing < 0:
            raise Unterminated(_line(text, match.start()))
        return closing + len(match[0])
    if kind == "open":
        raise Unterminated(_line(text, match.start()))
    return match.end()


def _block_comment_end(text: str, start: int) -> int:
    """Return the end of the block comment; block comments nest."""
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise Unterminated(_line(text, start))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


class _Cutter:
    """Finds the start and end of one statement in a stream of tokens."""

    __slots__ = ("_bodies", "_end", "_head", "_parentheses", "_start")

    def __init__(self) -> None:
        self._start: int | None = None
        self._end = 0
        self._head = ""
        self._parentheses = 0
        self._bodies = 0

    def ends_at(self, token: Token, piece: str) -> bool:
        """Consume the next token; return whether it is the semicolon that ends the statement."""
        if piece == ";" and not self._parentheses and not self._bodies:
            return True
        if token.kind in {"space", "comment", "block"}:
            return False
        self._start = token.start if self._start is None else self._start
        self._end = token.end
        self._parentheses = max(0, self._parentheses + {"(": 1, ")": -1}.get(piece, 0))
        if token.kind == "word":
            self._take_word(piece.lower())
        return False

    def statement(self, text: str) -> Iterator[Statement]:
        """Yield the collected statement, unless it is empty."""
        if self._start is not None:
            yield Statement(text[self._start : self._end], _line(text, self._start))

    def _take_word(self, word: str) -> None:
        if len(self._head) < len("create or replace procedure "):
            self._head += word + " "
        if self._parentheses or not _ROUTINE.match(self._head):
            return
        if word == "begin" or (word == "case" and self._bodies):
            self._bodies += 1
        elif word == "end" and self._bodies:
            self._bodies -= 1
