"""The gazetteer for whoever compiles: worker, preview, replay and demo alike. Read when first asked, off the event loop."""

from __future__ import annotations

from collections.abc import Collection

from compiler.planners import gazetteer


class PlacesOnDemand:
    """Knows what the gazetteer knows; the first question takes a second or two, and the memory of the whole."""

    def city(self, key: str, qualifier: str = "") -> int:
        """Return the number of the city called so; 0 when none is."""
        return gazetteer.load().city(key, qualifier)

    def names(self, city: int) -> Collection[str]:
        """Return the keys of all names of a city."""
        return gazetteer.load().names(city)

    def is_known_city(self, key: str) -> bool:
        """Return whether a city is mainly called so, and is a large one or has a name of more than one word."""
        return gazetteer.load().is_known_city(key)

    def is_region(self, key: str) -> bool:
        """Return whether a country or a first-level region is called so, or has this code."""
        return gazetteer.load().is_region(key)
