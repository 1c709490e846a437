"""What is known of places: a protocol for the gazetteer, and one that knows nothing.

The gazetteer's data is read elsewhere and comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Gazetteer(Protocol):
    """Names of cities. Keys are names without punctuation, folded (`plain_key`)."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return the number of the city called so, the largest where several are; 0 when none is.

        A `qualifier` (a region, a country, a code of either) chooses among them, and none that fits gives 0.
        """
        ...

    def names(self, city: int) -> Collection[str]:
        """Return the keys of all names of a city."""
        ...

    def is_known_city(self, key: str) -> bool:
        """Return whether a city is mainly called so, and is a large one or has a name of more than one word."""
        ...

    def is_region(self, key: str) -> bool:
        """Return whether a country or a first-level region is called so, or has this code."""
        ...


class NoPlaces:
    """Knows no place."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return 0."""
        return 0

    def names(self, city: int) -> Collection[str]:
        """Return nothing."""
        return ()

    def is_known_city(self, key: str) -> bool:
        """Return False."""
        return False

    def is_region(self, key: str) -> bool:
        """Return False."""
        return False


NO_PLACES = NoPlaces()
