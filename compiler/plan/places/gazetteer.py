"""The gazetteer's protocol, and an empty gazetteer.

The gazetteer's data is read elsewhere and passed in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Gazetteer(Protocol):
    """Names of cities. Keys are names without punctuation, folded (`plain_key`)."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return the number of the city with this name, the largest if there are several; 0 if there is none.

        A `qualifier` (a region, a country, or a code of either) chooses among them; 0 if none fits.
        """
        ...

    def names(self, city: int) -> Collection[str]:
        """Return the keys of all names of a city."""
        ...

    def is_known_city(self, key: str) -> bool:
        """Return whether this is a city's main name, and the city is large or the name has more than one word."""
        ...

    def is_region(self, key: str) -> bool:
        """Return whether this is the name or code of a country or a first-level region."""
        ...


class NoPlaces:
    """A gazetteer without places."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return 0."""
        return 0

    def names(self, city: int) -> Collection[str]:
        """Return an empty collection."""
        return ()

    def is_known_city(self, key: str) -> bool:
        """Return False."""
        return False

    def is_region(self, key: str) -> bool:
        """Return False."""
        return False


NO_PLACES = NoPlaces()
