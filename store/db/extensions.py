"""The Postgres extensions required of a server. Pure: `server_checks.available_extensions` provides the available ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtensionRequirement:
    """An extension and its minimum version (empty: any)."""

    extension: str
    version: tuple[int, ...] = ()

    def is_met(self, available: Mapping[str, str]) -> bool:
        """Return whether the extensions that a server can install (name to version) meet the requirement."""
        return self.extension in available and version_numbers(available[self.extension]) >= self.version


REQUIRED = (ExtensionRequirement("btree_gin"), ExtensionRequirement("pg_trgm"), ExtensionRequirement("unaccent"))
VECTOR = ExtensionRequirement(
    "vector", (0, 8)
)  # optional; this version is the first with half precision and iterative index scans


def version_numbers(text: str) -> tuple[int, ...]:
    """Return a version as comparable numbers: "0.8.6" is (0, 8, 6)."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", text))
