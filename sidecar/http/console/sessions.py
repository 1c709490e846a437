"""The console's sessions: a random id in a cookie stands for a token that this process keeps.

The token is checked anew with every request, so that what ends it ends the session; nothing is written down.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

COOKIE = "sidecar_session"
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """What was just done, told on the next page; `undo` is where a form with `fields` takes it back, empty where none does."""

    text: str
    undo: str = ""
    undo_text: str = "Undo"
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ConsoleSession:
    """One sign-in: its token, the word that its forms must bear, the owner whose data are looked at, and what is to be told."""

    token: str = field(repr=False)
    form_word: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    owner: str = ""
    notes: list[Note] = field(default_factory=list)

    def take_notes(self) -> list[Note]:
        """Return what is to be told, once."""
        taken, self.notes = self.notes, []
        return taken

    def is_word(self, word: str) -> bool:
        """Return whether a form bears this session's word."""
        return hmac.compare_digest(self.form_word.encode(), word.encode(errors="replace"))


class Sessions:
    """The sign-ins of one process, the oldest making room for new ones past a thousand."""

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
        """End a session; one that is not there has ended already."""
        self._by_id.pop(session_id, None)
