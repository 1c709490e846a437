"""The gazetteer for worker, preview, replay and demo. Loaded at the first lookup, off the event loop."""

from __future__ import annotations

from collections.abc import Collection

from compiler.planners import gazetteer


class PlacesOnDemand:
    """A gazetteer that is loaded at the first lookup, which takes a second or two."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return the number of the city with this name; 0 if there is none."""
        return gazetteer.load().city(key, qualifier)

    def names(self, city: int) -> Collection[str]:
        """Return the keys of all names of a city."""
        return gazetteer.load().names(city)

    def is_known_city(self, key: str) -> bool:
        """Return whether this is a city's main name, and the city is large or the name has more than one word."""
        return gazetteer.load().is_known_city(key)

    def is_region(self, key: str) -> bool:
        """Return whether this is the name or code of a country or a first-level region."""
        return gazetteer.load().is_region(key)
