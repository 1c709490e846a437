"""Decodes bytes to text that every store accepts.

Encodings are never guessed: UTF-8 (with or without a byte order mark), or UTF-16 and UTF-32 with a mark. A wrong guess would put
unreadable words in a knowledge base unnoticed.
"""

import codecs
import re
import unicodedata

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SNIFFED_BYTES = 8192
_GARBAGE_SHARE = 0.02
_LEAST_ASCII_BYTES = 8
_RARE = re.compile("[\u3400-\u4dbf\ua000-\ua4cf]")
_KOREAN = re.compile("[\uac00-\ud7a3]")


class NotText(ValueError):
    """The bytes are not text in a known encoding."""


def decode(data: bytes, declared: str | None = None, *, is_whole: bool = True) -> str:
    """Return the text of the bytes, with newlines as \\n and without characters that a store refuses. Bytes that are not the
    whole may end within a character.

    A byte order mark wins over the declared encoding, which wins over UTF-8. Raises NotText with the first bad byte.
    """
    encoding, mark_bytes = encoding_of(data, declared)
    body = data[mark_bytes:]
    if not encoding.startswith(("utf-16", "utf-32")) and b"\x00" in body[:_SNIFFED_BYTES]:
        raise NotText("it holds NUL bytes and seems to be a binary file")
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(body, is_whole)
    except UnicodeDecodeError as error:
        at = error.start + mark_bytes
        raise NotText(f"byte {at} is not valid {encoding}; save the file as UTF-8") from None
    # Almost any bytes are valid UTF-16, so only the decoded characters show whether they are text.
    if encoding.startswith("utf-16") and _is_garbage(text[:_SNIFFED_BYTES], body[:_SNIFFED_BYTES]):
        raise NotText(f"it is not text in {encoding}; save the file as UTF-8")
    return clean(text).replace("\r\n", "\n").replace("\r", "\n")


def _is_garbage(text: str, body: bytes) -> bool:
    """Return whether the bytes after a UTF-16 mark are not UTF-16: they are plain ASCII, or decode to implausible characters.

    Implausible are unassigned, private-use and control characters, and rare Chinese characters among Korean ones.
    """
    if len(body) > _LEAST_ASCII_BYTES and body.isascii() and b"\x00" not in body:
        return True
    implausible = sum(unicodedata.category(char) in {"Cc", "Cn", "Co"} and not char.isspace() for char in text)
    few = len(text) * _GARBAGE_SHARE
    return implausible > few or (len(_RARE.findall(text)) > few and len(_KOREAN.findall(text)) > few)


def encoding_of(data: bytes, declared: str | None = None) -> tuple[str, int]:
    """Return the encoding of the bytes, and the length in bytes of the byte order mark to skip."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    return declared or "utf-8", 0


def clean(text: str) -> str:
    """Return the text with NUL and lone surrogates, which Postgres or UTF-8 cannot hold, replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def one_line(text: str, limit_chars: int) -> str:
    """Return the text with its white space collapsed, cut to the limit with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit_chars else line[: limit_chars - 1].rstrip() + "…"
