"""Secrets by reference: the configuration names the place where a secret is stored, and the secret is read on each use.

So no configuration file, row, log or receipt holds a secret, and a secret in a file can be rotated without a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.backends.errors import BackendDenied


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
        """Return the secret. Raises BackendDenied, naming the reference, if it is missing or unusable."""
        kind, _, place = self.reference.partition(":")
        try:
            secret = self.environ.get(place, "") if kind == "env" else Path(place).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            secret = ""
        if not secret or not secret.isprintable():
            raise BackendDenied(backend, f"no usable secret at {self.reference}")
        return secret
