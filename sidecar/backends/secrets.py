"""Secrets by reference: configuration names where one is kept, and what stands there is read when it is used.

So a secret is in no file of ours, no row, no log and no receipt; one that is kept in a file is exchanged without a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.backends.errors import BackendDenied


@dataclass(frozen=True, slots=True)
class Secret:
    """A reference: `env:NAME` or `file:/path`. Printing it shows the reference and never what it leads to."""

    reference: str
    environ: Mapping[str, str] = field(repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        kind, _, place = self.reference.partition(":")
        if kind not in {"env", "file"} or not place:
            raise ValueError("a secret is given as env:NAME or file:/path, never as itself")

    def reveal(self, backend: str) -> str:
        """Return the secret. Raises BackendDenied, which names the reference, when there is none."""
        kind, _, place = self.reference.partition(":")
        try:
            found = self.environ.get(place, "") if kind == "env" else Path(place).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            found = ""
        if not found or not found.isprintable():
            raise BackendDenied(backend, f"nothing usable at {self.reference}")
        return found
