"""The console's sessions: a random id in a cookie refers to a token that this process keeps.

The token is checked at every request, so a session ends when its token expires or is revoked. Nothing is written to disk.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

COOKIE = "sidecar_session"
_MOST = 1_000
_MOST_NOTES = 20  # the newest; a program that posts without looking at pages would gather them


@dataclass(frozen=True, slots=True)
class Note:
    """A message for the next page. If `undo` is set, a form that posts `fields` to it reverses the action."""

    text: str
    undo: str = ""
    undo_text: str = "Undo"
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ConsoleSession:
    """One sign-in: its API token, the CSRF token of its forms, the shown owner, and the messages for its next page."""

    token: str = field(repr=False)
    csrf_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    owner: str = ""
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=_MOST_NOTES))

    def take_notes(self) -> list[Note]:
        """Return the messages for the next page, and clear them."""
        taken = list(self.notes)
        self.notes.clear()
        return taken

    def is_csrf_token(self, token: str) -> bool:
        """Return whether a form sent this session's CSRF token."""
        return hmac.compare_digest(self.csrf_token.encode(), token.encode(errors="replace"))


class Sessions:
    """The sessions of one process, at most a thousand; a new session evicts the oldest."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, ConsoleSession] = OrderedDict()

    def open(self, token: str) -> str:
        """Return the id of a new session."""
        session_id = secrets.token_urlsafe(32)
        self._by_id[session_id] = ConsoleSession(token)
        while len(self._by_id) > _MOST:
            self._by_id.popitem(last=False)
        return session_id

    def get(self, session_id: str) -> ConsoleSession | None:
        """Return the session of an id, or None."""
        return self._by_id.get(session_id)

    def close(self, session_id: str) -> None:
        """End a session, if it exists."""
        self._by_id.pop(session_id, None)
