"""The fence around what sources say: its tag, and the escaping that keeps content from leaving it or imitating its neighbours.

Safety rests on the escaping alone, never on the tag being secret. What a text may not imitate stands in `forgeries`; here an
underscore is put where it breaks an imitation, and a body's lines after its first are indented, so that nothing but what the
fence itself writes starts a line.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

from sidecar.turn.forgeries import FENCES, IN_FENCES, IN_MESSAGES, ROLES
from sidecar.turn.lenient import LOOK_ALIKES, read, read_with_places

_TAG_CHARS = 6
_BREAK = "_"
_REMEMBERED, _REMEMBERED_CHARS = 8_192, 2_000
_MOST_PASSES = 4  # one is enough but where two imitations overlap

_OPENERS = re.compile(rf"[<\[\]&%\\=+{re.escape(LOOK_ALIKES['<'] + LOOK_ALIKES['['] + LOOK_ALIKES[']'])}]")
_COLONS = re.compile(rf"[:>{LOOK_ALIKES[':']}{LOOK_ALIKES['>']}]")
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_PLAIN_TAG = re.compile(r"<[ /]{0,8}context-[^<>\n]{0,200}>", re.IGNORECASE)


def fence_tag(key: bytes, tenant_id: UUID | str, owner_id: UUID | str) -> str:
    """Return the tag of a scope's fences: six hexadecimal digits of an HMAC, the same for every thread of the scope."""
    scope = f"{len(str(tenant_id))}:{tenant_id}{owner_id}"
    return hmac.new(key, scope.encode(), hashlib.sha256).hexdigest()[:_TAG_CHARS]


def bodies(texts: Sequence[str]) -> list[str]:
    """Return each text as it may stand behind a mark: neutralised and indented, without white space around it.

    Short ones are remembered, since the same come turn after turn.
    """
    return [_remembered(text) if len(text) <= _REMEMBERED_CHARS else _body(text) for text in texts]


def neutralise(text: str) -> str:
    """Return the text with nothing in it that reads as a part of what stands around it; the same text where nothing does.

    Full-width and look-alike signs, inserted invisible characters, accents, mixed case and encoded characters count as
    what they stand for. An imitation is broken by an underscore behind its bracket, or before its role. Lone surrogates,
    which no encoding can carry, become U+FFFD.
    """
    text = _encodable(text)
    return text if _is_plain(text) else _broken(text, IN_FENCES)


def neutralise_message(text: str) -> str:
    """Return a message of the thread without fences and tokens of chat templates: it may speak of marks and roles."""
    text = _encodable(text)
    return _broken(text, IN_MESSAGES) if _OPENERS.search(text) else text


def strip_fences(text: str) -> str:
    """Return a turn's text without fence tags, as it is stored: what was rendered must not come back as said."""
    text = _encodable(_PLAIN_TAG.sub("", text) if "<" in text else text)
    return _broken(text, FENCES) if _OPENERS.search(text) else text


def indented(body: str) -> str:
    """Return the body with every line but its first one space in, whatever ends its lines; lines of spaces are empty."""
    lines = body.splitlines()
    return (
        "\n".join([lines[0], *(f" {line}" if line.strip() else "" for line in lines[1:])]) if len(lines) > 1 else body
    )


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> str:
    return _body(text)


def _body(text: str) -> str:
    return indented(neutralise(text).strip())


def _is_plain(text: str) -> bool:
    """Return whether nothing in the text can open, encode or begin an imitation: most are told by a glance."""
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
    """Return the text with an underscore in each imitation."""
    for _ in range(_MOST_PASSES):
        if not forged.search(read(text)):
            break
        reading = read_with_places(text)
        ends = [match.end() for match in forged.finditer(reading.signs)]
        # Behind a bracket, which may be encoded; before anything else, which may be, too.
        cuts = {
            reading.ends[end - 1] if end and reading.signs[end - 1] in "<[]" else reading.starts[end] for end in ends
        }
        places = [0, *sorted(cuts), len(text)]
        text = _BREAK.join([text[start:end] for start, end in pairwise(places)])
    return text
