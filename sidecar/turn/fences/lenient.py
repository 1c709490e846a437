"""Reads a text leniently: decodes encoded characters and folds look-alikes, widths, accents and invisible characters.

Used only to detect imitations; no text is stored or sent in this form. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from html.entities import html5

ENCODED_BREAK = "\v"
"""Represents an encoded line break in a reading; a plain one is a newline."""

_MOST_ROUNDS = 8  # nested encodings take one round each; no accidental text nests this deep
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
LOOK_ALIKES = {
    "<": "＜﹤‹〈⟨〈˂ᐸ❮❬≮⋖",
    ">": "＞﹥›〉⟩〉˃ᐳ❯❭≯⋗",
    "[": "［【〔〖⟦❲⁅⦋",
    "]": "］】〕〗⟧❳⁆⦌",
    "|": "｜¦∣│┃ǀ❘❙⏐∥‖║",
    ":": "：﹕︰∶꞉ː˸։׃፡",
    "#": "＃﹟♯⋕",
    "/": "⁄∕╱⧸\\∖⧵",
    "-": "‐‑‒–—―−⁃",
    "_": "▁＿‗",
    "a": "аαᴀ",
    "b": "ЬʙвƄ",
    "c": "сϲᴄ",
    "d": "ԁᴅ",
    "e": "еεєᴇ",
    "f": "ꜰϝ",
    "g": "ɡɢ",
    "h": "һʜн",
    "i": "іιıɪ",
    "j": "јᴊ",
    "k": "кκᴋ",
    "l": "ӏʟ",
    "m": "мᴍ",
    "n": "пոɴ",
    "o": "оοօøᴏ",
    "p": "рρᴘ",
    "r": "гʀ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υᴜս",
    "v": "ѵνᴠ",
    "w": "ԝωᴡ",
    "x": "хχ×",
    "y": "уγʏ",
    "z": "ᴢ",
}
_PLAIN = {sign: plain for plain, signs in LOOK_ALIKES.items() for sign in signs}
_UNCLOSED = "|".join(sorted((name for name in html5 if not name.endswith(";")), key=len, reverse=True))
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_ENCODED = re.compile(
    rf"""&(?P<ampersand>(?:amp;|\#0*+38;|\#[xX]0*+26;)++)
    |&(?:\#0*+(?P<decimal>\d{{1,7}})|\#[xX]0*+(?P<hexadecimal>[\da-fA-F]{{1,6}})
        |(?P<name>[a-zA-Z][a-zA-Z\d]{{1,30}}(?=;)|{_UNCLOSED}));?
    |%(?P<percent>(?:25)++)
    |(?P<bytes>(?:%(?!25)[\da-fA-F]{{2}})+|(?:(?<!\\)\\++[xX][\da-fA-F]{{2}})+|(?:=[2-7][\dA-F])+)
    |(?<!\\)\\++(?:
        u(?P<pair>[dD][89abAB][\da-fA-F]{{2}}\\++u[dD][c-fC-F][\da-fA-F]{{2}})
        |u(?P<four>[\da-fA-F]{{4}}) |[uUx]\{{0*+(?P<braced>[\da-fA-F]{{1,6}})\}} |U00(?P<eight>[\da-fA-F]{{6}})
        |N\{{(?P<called>[A-Za-z\d\ -]{{1,60}})\}} |(?P<octal>0?(?:74|133|174|43|72))
        |0{{0,4}}(?P<css>3[acAC]|5[bB]|7[cC]|23)\ ? |(?P<control>[nrtfv]))
    |%[uU](?P<web>[\da-fA-F]{{4}}) |\+(?P<seven>ADw|AFs|AHw|ACM|ADo)-? |(?P<break><[bB][rR]\ ?/?>)""",
    re.VERBOSE,
)
_BYTE = re.compile(r"[\da-fA-F]{2}(?=[%\\=]|$)")
_MAY_BE_ENCODED = re.compile(r"&[#a-zA-Z]|%[\da-fA-F]{2}|%[uU]|\\[uUxXN0-7nrtfv]|=[2-7][\dA-F]|\+A[DFHC]|<[bB][rR]")
_SEVEN = {"ADw": "<", "AFs": "[", "AHw": "|", "ACM": "#", "ADo": ":"}


class _Signs(dict[int, str]):
    """Maps a character's code to the signs that it may be read as. Filled on demand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        signs = "\n" if char in _BREAKS else "".join(map(_sign, unicodedata.normalize("NFKD", char).casefold()))
        self[code] = signs
        return signs


def _sign(char: str) -> str:
    if char in _PLAIN:
        return _PLAIN[char]
    if char.isspace():
        return " "
    if char in _FILLERS or unicodedata.category(char)[0] in "MC":
        return ""
    return str(unicodedata.digit(char)) if char.isdigit() else char


_SIGNS = _Signs()
_SIGNS[ord("\ue000")] = ENCODED_BREAK


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text as read. `starts` and `ends` hold the offsets in the original text at which each sign's origin starts and ends."""

    signs: str
    starts: list[int]
    ends: list[int]


def read(text: str) -> str:
    """Return the text as read."""
    return _decoded(text).translate(_SIGNS)


def read_with_places(text: str) -> DecodedText:
    """Return the text as read, with each sign's offsets in the original text."""
    chars, starts, ends = text, list(range(len(text))), list(range(1, len(text) + 1))
    for _ in range(_MOST_ROUNDS):
        pieces: list[str] = []
        from_starts: list[int] = []
        from_ends: list[int] = []
        done = 0
        for match in _ENCODED.finditer(chars):
            pieces.append(chars[done : match.start()])
            from_starts += starts[done : match.start()]
            from_ends += ends[done : match.start()]
            for char, start, end in _decoded_chars(match):
                pieces.append(char)
                from_starts.append(starts[start])
                from_ends.append(ends[end - 1])
            done = match.end()
        if not done:
            break
        chars = "".join([*pieces, chars[done:]])
        starts, ends = from_starts + starts[done:], from_ends + ends[done:]
    signs = [_SIGNS[ord(char)] for char in chars]
    return DecodedText(
        "".join(signs),
        [start for start, of_char in zip(starts, signs, strict=True) for _ in of_char],
        [end for end, of_char in zip(ends, signs, strict=True) for _ in of_char],
    )


def _decoded(text: str) -> str:
    for _ in range(_MOST_ROUNDS):
        if not _MAY_BE_ENCODED.search(text):
            break
        decoded = _ENCODED.sub(lambda match: "".join([char for char, _, _ in _decoded_chars(match)]), text)
        if decoded == text:
            break
        text = decoded
    return text


def _decoded_chars(match: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the characters that a match encodes, each with its start and end. Line breaks become U+E000."""
    kind, start, end = match.lastgroup, match.start(), match.end()
    assert kind is not None, "every alternative has a name"
    code = match[kind]
    if kind == "bytes":
        yield from _of_bytes(code, start)
        return
    for char in _CHARACTERS[kind](code):
        yield "\ue000" if char in _BREAKS else char, start, end


def _of_bytes(code: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the characters of encoded UTF-8 bytes; an invalid byte yields the character of its value."""
    digits = list(_BYTE.finditer(code))
    data = bytes(int(match[0], 16) for match in digits)
    place = 0
    for char in data.decode(errors="surrogateescape"):
        last = place + (1 if "\ud800" <= char <= "\udfff" else len(char.encode())) - 1
        began = digits[place - 1].end() if place else 0
        shown = "\ue000" if char in _BREAKS else chr(data[place]) if "\ud800" <= char <= "\udfff" else char
        yield shown, start + began, start + digits[last].end()
        place = last + 1


def _of_code(code: int) -> str:
    return unescape(f"&#{code};")


def _called(name: str) -> str:
    try:
        return unicodedata.lookup(name.strip())
    except KeyError:
        return ""


_CHARACTERS: Mapping[str, Callable[[str], str]] = {
    "decimal": lambda code: _of_code(int(code)),
    "hexadecimal": lambda code: _of_code(int(code, 16)),
    "name": lambda code: html5.get(f"{code};") or html5.get(code, f"&{code};"),
    "four": lambda code: _of_code(int(code, 16)),
    "ampersand": lambda _: "&",
    "percent": lambda _: "%",
    "web": lambda code: _of_code(int(code, 16)),
    "pair": lambda code: bytes.fromhex(code[:4] + code[-4:]).decode("utf-16-be"),
    "braced": lambda code: _of_code(int(code, 16)),
    "eight": lambda code: _of_code(int(code, 16)),
    "called": _called,
    "octal": lambda code: chr(int(code, 8)),
    "css": lambda code: chr(int(code, 16)),
    "control": lambda code: _NAMED[code],
    "seven": lambda code: _SEVEN[code],
    "break": lambda code: "\n",
}
