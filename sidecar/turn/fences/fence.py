"""The fence around content from sources: its tag, and the escaping that keeps content from closing or imitating it.

Safety rests on the escaping alone, not on the tag being secret. `forgeries` lists the patterns that no text may imitate.
This module inserts an underscore to break an imitation and indents all lines of a body but its first, so that only the
fence itself starts a line.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

from sidecar.turn.fences.forgeries import FENCES, IN_FENCES, IN_MESSAGES, ROLES
from sidecar.turn.fences.lenient import LOOK_ALIKES, read, read_with_places

_TAG_DIGITS = 6
_BREAK = "_"
_CACHE_SIZE, _CACHED_CHARS = 8_192, 2_000
_MOST_PASSES = 4  # one is enough unless two imitations overlap

_OPENERS = re.compile(rf"[<\[\]&%\\=+{re.escape(LOOK_ALIKES['<'] + LOOK_ALIKES['['] + LOOK_ALIKES[']'])}]")
_COLONS = re.compile(rf"[:>{LOOK_ALIKES[':']}{LOOK_ALIKES['>']}]")
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_PLAIN_TAG = re.compile(r"<[ /]{0,8}context-[^<>\n]{0,200}>", re.IGNORECASE)


def fence_tag(key: bytes, tenant_id: UUID | str, owner_id: UUID | str) -> str:
    """Return the fence tag of a scope: six decimal digits of an HMAC, the same for all its threads.

    Tokenizers take digits in threes, so every tag costs the same; with letters, budgets would depend on the key.
    """
    scope = f"{len(str(tenant_id))}:{tenant_id}{owner_id}"
    number = int.from_bytes(hmac.digest(key, scope.encode(), hashlib.sha256)) % 10**_TAG_DIGITS
    return f"{number:0{_TAG_DIGITS}}"


def bodies(texts: Sequence[str]) -> list[str]:
    """Return each text neutralised, indented and stripped, ready to follow a mark.

    Short texts are cached, since the same ones recur turn after turn.
    """
    return [_cached_body(text) if len(text) <= _CACHED_CHARS else _body(text) for text in texts]


def neutralise(text: str) -> str:
    """Return the text with every imitation of a fence, mark, role or template token broken; unchanged if it has none.

    Full-width and look-alike signs, invisible characters, accents, mixed case and encoded characters count as the plain
    characters they imitate. An underscore after the bracket, or before the role, breaks an imitation. Lone surrogates
    become U+FFFD.
    """
    text = _encodable(text)
    return text if _is_plain(text) else _broken(text, IN_FENCES)


def neutralise_message(text: str) -> str:
    """Return a thread message with fences and chat-template tokens broken. Marks and roles are allowed."""
    text = _encodable(text)
    return _broken(text, IN_MESSAGES) if _OPENERS.search(text) else text


def strip_fences(text: str) -> str:
    """Return a turn's text to store, without fence tags, so that rendered context does not come back as a turn."""
    text = _encodable(_PLAIN_TAG.sub("", text) if "<" in text else text)
    return _broken(text, FENCES) if _OPENERS.search(text) else text


def indented(body: str) -> str:
    """Return the body with each line but the first indented by one space, for any line ending; blank lines become empty."""
    lines = body.splitlines()
    return (
        "\n".join([lines[0], *(f" {line}" if line.strip() else "" for line in lines[1:])]) if len(lines) > 1 else body
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_body(text: str) -> str:
    return _body(text)


def _body(text: str) -> str:
    return indented(neutralise(text).strip())


def _is_plain(text: str) -> bool:
    """Return whether the text certainly holds no imitation. This cheap check settles most texts."""
    if _OPENERS.search(text):
        return False
    if text.isascii() and not _CONTROLS.search(text):
        return not ROLES.search(text.lower())
    return not _COLONS.search(text)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _broken(text: str, forged: re.Pattern[str]) -> str:
    """Return the text with an underscore inserted into each imitation."""
    for _ in range(_MOST_PASSES):
        if not forged.search(read(text)):
            break
        reading = read_with_places(text)
        ends = [match.end() for match in forged.finditer(reading.signs)]
        # Cut after a bracket, before anything else; either may be encoded.
        cuts = {
            reading.ends[end - 1] if end and reading.signs[end - 1] in "<[]" else reading.starts[end] for end in ends
        }
        places = [0, *sorted(cuts), len(text)]
        text = _BREAK.join([text[start:end] for start, end in pairwise(places)])
    return text
