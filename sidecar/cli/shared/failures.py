"""Exit codes of commands, and the one-line text of an error. No stack trace is shown on a terminal."""

from __future__ import annotations

import sys
from typing import Any

_MOST_CHARS = 1_000

OK, FAILED, USAGE, REFUSED, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130

# The error classes with texts for users, by module. An error can only come from a loaded module, so modules that are not
# loaded are ignored.
_TREES = (
    ("sidecar.cli.shared.failures", "CommandFailed"),
    ("sidecar.client.errors", "SidecarCallError"),
    ("sidecar.client.knobs", "UnknownKnob"),
    ("sidecar.client.knobs", "UnusableKnob"),
    ("sidecar.runtime.errors", "SidecarError"),
    ("store.errors", "StoreError"),
    ("models.errors", "ModelsError"),
)
_EXITS = {
    "CallRefused": REFUSED,
    "TokenMissing": REFUSED,
    "TokenEmpty": REFUSED,
    "DevTokensOff": REFUSED,
    "DevKeyUnsafe": REFUSED,
    "CallUnavailable": UNAVAILABLE,
    "DatabaseUnavailable": UNAVAILABLE,
    "DatabaseRefused": FAILED,
    "Interrupted": INTERRUPTED,
    "ConfirmationMissing": USAGE,
    "RequestUnusable": USAGE,
    "TargetUnusable": USAGE,
    "UnknownKnob": USAGE,
    "UnusableKnob": USAGE,
    "InvalidArgument": USAGE,
    "SettingInvalid": USAGE,
}


class CommandFailed(Exception):
    """The command could not complete its work; the text says how to continue."""


class NotThere(CommandFailed):
    """The object that the command names does not exist."""

    code = "NOT_FOUND"


class Interrupted(CommandFailed):
    """Ctrl-C ended the command; the text reports the completed work."""


class TokenMissing(CommandFailed):
    """token: none was given and this machine has no dev key; pass --token, set SIDECAR_TOKEN, or start `sidecar serve`
    here once."""

    def __str__(self) -> str:
        """Return the docstring on one line."""
        return " ".join((type(self).__doc__ or "").split())


class TokenEmpty(CommandFailed):
    """token: it is empty, so the command that should have created it failed; give a token, or unset SIDECAR_TOKEN to use
    this machine's dev key."""

    def __str__(self) -> str:
        """Return the docstring on one line."""
        return " ".join((type(self).__doc__ or "").split())


class ConfirmationMissing(CommandFailed):
    """yes: this cannot be undone, and there is no terminal to ask at; add --yes to agree."""

    def __str__(self) -> str:
        """Return the docstring."""
        return str(type(self).__doc__)


def user_errors() -> tuple[type[Exception], ...]:
    """Return the classes of errors with texts for users."""
    return tuple(getattr(sys.modules[module], name) for module, name in _TREES if module in sys.modules)


def exit_code(error: Exception) -> int:
    """Return the exit code for an error: that of its nearest class with one, or else 1."""
    return next((_EXITS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _EXITS), FAILED)


def line_of(error: Exception) -> str:
    """Return the error on one line: the field, if there is one, the problem, and the fix."""
    text = clipped(" ".join(str(error).split()))
    field = getattr(error, "field", "")
    wait_s = getattr(error, "retry_after_s", None)
    named = f"{field}: {text}" if field and field not in text else text
    return f"{named} Try again in {wait_s:g} s." if wait_s else named


def clipped(text: str) -> str:
    """Return the text as valid UTF-8, with the middle of a very long text cut: a message may repeat the user's input."""
    whole = text.encode(errors="backslashreplace").decode()
    if len(whole) <= _MOST_CHARS:
        return whole
    return f"{whole[: _MOST_CHARS // 2]} … {whole[-_MOST_CHARS // 2 :]}"


def facts_of(error: Exception) -> dict[str, Any]:
    """Return the error's facts for JSON output."""
    names = ("code", "reason", "field", "retry_after_s")
    facts = {name: getattr(error, name) for name in names if getattr(error, name, None)}
    return {"error": {"kind": type(error).__name__, "message": line_of(error), **facts}}
