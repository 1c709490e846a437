"""What Postgres extensions are asked of a server. Pure: the answer comes from `postgres.available_extensions`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtensionRequirement:
    """An extension, and the version it needs at least (empty: any)."""

    extension: str
    version: tuple[int, ...] = ()

    def is_met(self, available: Mapping[str, str]) -> bool:
        """Whether a server that could install these extensions (name to version) has what is needed."""
        return self.extension in available and version_numbers(available[self.extension]) >= self.version


REQUIRED = (ExtensionRequirement("btree_gin"), ExtensionRequirement("pg_trgm"), ExtensionRequirement("unaccent"))
VECTOR = ExtensionRequirement(
    "vector", (0, 8)
)  # optional; from this version on with half precision and iterative index scans


def version_numbers(text: str) -> tuple[int, ...]:
    """Return a version as numbers that compare: "0.8.6" is (0, 8, 6)."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", text))
