"""The fence around what sources say: its tag, and the escaping that keeps content from leaving it.

Safety rests on the escaping alone, never on the tag being secret: no text that goes into a fence may hold anything that
reads as a fence's beginning, in whatever disguise. The tag keeps one scope's fences from looking like another's.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from uuid import UUID

_TAG_CHARS = 6
_OPENING = "context-"
_BREAK = "_"
_AT_ONCE = 16

_ANGLES = "<＜﹤‹〈⟨〈˂ᐸ❮❬≮⋖"
# What plainly goes on as something else is passed over here: markup and code are full of it.
_OPENER = re.compile(
    rf"[{_ANGLES}](?!/?[abd-z\d_=!?<>\"'(){{}}\[\].,;:+*])|&(?:amp;)*+(?:lt|#)|%3c|\\u003c|\\x3c", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:amp;)*+(?:#0*+(\d{1,7})|#x0*+([\da-f]{1,6})|(lt|[a-z][a-z\d]{1,30}(?=;)));?", re.IGNORECASE)
_SUSPECT = re.compile(rf"[{_ANGLES}&%\\]")
_CODED = re.compile(r"&[#al]|%3c|\\[ux]", re.IGNORECASE)
_ESCAPE = re.compile(r"(?:%|\\x)([\da-f]{2})|\\u([\da-f]{4})", re.IGNORECASE)
_PLAIN_TAG = re.compile(r"<[ /]{0,8}context-[^<>\n]{0,200}>", re.IGNORECASE)

_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
_ALIKE = {
    sign: plain
    for plain, signs in {
        "<": _ANGLES,
        "/": "⁄∕╱⧸\\∖⧵",
        "-": "‐‑‒–—―−⁃",
        "c": "сϲᴄ",
        "o": "оοօøᴏ",
        "n": "пոɴ",
        "t": "тτᴛ",
        "e": "еεєᴇ",
        "x": "хχ×",
    }.items()
    for sign in signs
}


def fence_tag(key: bytes, tenant_id: UUID | str, owner_id: UUID | str) -> str:
    """Return the tag of a scope's fences: six hexadecimal digits of an HMAC, the same for every thread of the scope."""
    scope = f"{len(str(tenant_id))}:{tenant_id}{owner_id}"
    return hmac.new(key, scope.encode(), hashlib.sha256).hexdigest()[:_TAG_CHARS]


def neutralised(texts: Sequence[str]) -> list[str]:
    """Return what `neutralise` makes of each text. A batch is looked at as one: hardly any holds what may open a fence."""
    safe: list[str] = []
    for start in range(0, len(texts), _AT_ONCE):
        batch = texts[start : start + _AT_ONCE]
        # A line's end between them: it stands in no encoded character, so nothing is hidden by the joining.
        safe += map(neutralise, batch) if _needs_care("\n".join(batch)) else batch
    return safe


def neutralise(text: str) -> str:
    """Return the text with nothing in it that reads as the beginning of a fence; the same text where nothing does.

    Full-width and look-alike signs, inserted invisible characters, accents, mixed case and encoded characters count as
    what they stand for. Such a beginning gets an underscore behind its angle bracket. Lone surrogates, which no
    encoding can carry, become U+FFFD.
    """
    return _broken(_encodable(text)) if _needs_care(text) else text


def strip_fences(text: str) -> str:
    """Return a turn's text without fence tags, as it is stored: what was rendered must not come back as said."""
    return neutralise(_PLAIN_TAG.sub("", text) if "<" in text else text)


def _needs_care(text: str) -> bool:
    """Return whether something in the text may read as a bracket, or cannot be encoded."""
    if text.isascii():
        return "<" in text or (("&" in text or "%" in text or "\\" in text) and _CODED.search(text) is not None)
    return _SUSPECT.search(text) is not None or _encodable(text) is not text


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _broken(text: str) -> str:
    """Return the text with each opening broken behind its bracket. Linear: a scan ends at the next bracket."""
    pieces: list[str] = []
    done = 0
    for match in _OPENER.finditer(text):
        sign, end = _next_sign(text, match.start())
        if sign == "<" and _opens_fence(text, end):
            pieces += (text[done:end], _BREAK)
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _opens_fence(text: str, at: int) -> bool:
    """Return whether what follows a bracket reads as `context-` or `/context-`. Spaces are allowed about the slash."""
    matched, has_slash, has_space = 0, False, False
    while at < len(text):
        signs, at = _next_sign(text, at)
        for sign in signs:
            if not matched and sign in " /":
                has_slash |= sign == "/"
                has_space |= sign == " "
            elif sign != _OPENING[matched]:
                return False
            elif matched == len(_OPENING) - 1:
                return has_slash or not has_space
            else:
                matched += 1
    return False


def _next_sign(text: str, at: int) -> tuple[str, int]:
    """Return what the character there stands for, decoded (nothing when it is invisible), and where the next begins."""
    char = text[at]
    if char == "&" and (entity := _ENTITY.match(text, at)):
        decimal, hexadecimal, name = entity.groups()
        return _plain(unescape(f"&{name};" if name else f"&#{decimal or int(hexadecimal, 16)};")), entity.end()
    if char in "%\\" and (escape := _ESCAPE.match(text, at)):
        return _plain(chr(int(escape[1] or escape[2], 16))), escape.end()
    return _plain(char), at + 1


@lru_cache(maxsize=4096)
def _plain(chars: str) -> str:
    """Return the signs that readers and parsers may take the characters for: no case, accents, widths or invisibles."""
    signs = []
    for char in unicodedata.normalize("NFKD", chars).casefold():
        if char in _ALIKE:
            signs.append(_ALIKE[char])
        elif char.isspace():
            signs.append(" ")
        elif unicodedata.category(char)[0] not in "MC" and char not in _FILLERS:
            signs.append(char)
    return "".join(signs)
