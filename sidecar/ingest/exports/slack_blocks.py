"""Reads the text of Slack's blocks, in which apps write their messages.

The result has the marks of a message's text (`<@U1>`, `<https://x.example|plan>`, `&lt;`), so both are shown in the same way.
"""

import html
from collections.abc import Iterator, Mapping
from typing import Any

from sidecar.ingest.exports.conversation import word

_CONTROLS = frozenset({"actions", "input", "button", "divider"})
_JOINTS = {"rich_text_section": "", "rich_text_quote": "", "rich_text_preformatted": "", "context": " "}
_MARKS = {
    "user": ("<@", "user_id", ">"),
    "channel": ("<#", "channel_id", ">"),
    "usergroup": ("<!subteam^", "usergroup_id", ">"),
    "broadcast": ("<!", "range", ">"),
    "emoji": (":", "name", ":"),
    "date": ("", "fallback", ""),
}


def text_of(blocks: object) -> str:
    """Return the text of a list of blocks, each on a line of its own, without buttons and inputs."""
    return "\n".join(filter(None, (_text(block).strip() for block in objects(blocks))))


def has_layout(blocks: object) -> bool:
    """Return whether an app laid the blocks out. Slack shows these in place of the message's text, which only notifies."""
    return any(block.get("type") != "rich_text" for block in objects(blocks))


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; none for another value."""
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _text(piece: Mapping[str, Any]) -> str:
    kind = word(piece.get("type"))
    if kind in _CONTROLS:
        return ""
    if kind in _MARKS:
        before, key, after = _MARKS[kind]
        return f"{before}{word(piece.get(key))}{after}"
    if kind in {"text", "link"}:
        raw = html.escape(word(piece.get("text")), quote=False)
        return f"<{word(piece.get('url'))}|{raw}>" if kind == "link" else raw
    shown = [_worded(piece.get(key)) for key in ("title", "text", "alt_text")]
    inside = [_text(one) for key in ("fields", "elements") for one in objects(piece.get(key))]
    return _JOINTS.get(kind, "\n").join(filter(None, (*shown, *inside)))


def _worded(value: object) -> str:
    return word(value.get("text")) if isinstance(value, Mapping) else word(value)
