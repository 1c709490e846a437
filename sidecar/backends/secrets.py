"""Secrets by reference: the configuration names the place where a secret is stored, and the secret is read on each use.

So no configuration file, row, log or receipt holds a secret, and a secret in a file can be rotated without a restart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from sidecar.backends.errors import BackendDenied

_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Secret:
    """A reference: `env:NAME` or `file:/path`. Printing it shows the reference, never the secret."""

    reference: str
    environ: Mapping[str, str] = field(repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        kind, _, place = self.reference.partition(":")
        if kind not in {"env", "file"} or not place:
            raise ValueError("a secret is given as env:NAME or file:/path, never as its value")

    def reveal(self, backend: str) -> str:
        """Return the secret, without white space around it. Raises BackendDenied, naming the reference, if it is missing or
        unusable.
        """
        kind, _, place = self.reference.partition(":")
        try:
            secret = self.environ.get(place, "").strip() if kind == "env" else _content(place)
        except (OSError, ValueError):
            secret = ""
        if not secret or not secret.isprintable():
            raise BackendDenied(backend, f"no usable secret at {self.reference}")
        return secret

    def header(self, backend: str) -> str:
        """Return the secret as the value of a header, which is ASCII. Raises BackendDenied."""
        secret = self.reveal(backend)
        if not secret.isascii():
            raise BackendDenied(backend, f"the secret at {self.reference} holds characters that a header cannot hold")
        return secret


def _content(path: str) -> str:
    """Return a file's text; empty if it is larger than any secret. A pipe without a writer is empty, and not waited for."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        content = file.read(_MOST_BYTES + 1) or b""
    return content.decode("utf-8-sig").strip() if len(content) <= _MOST_BYTES else ""
