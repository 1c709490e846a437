"""The city in a postal address of any country, by the shape of the address.

Addresses are read from the end: country, region and postcode are recognised and removed; a street is never a city.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.plan.places.address_words import (
    CITY_STATES,
    COUNTRIES,
    REGIONS,
    STREET_ENDINGS,
    STREETS_FIRST,
    STREETS_LAST,
)
from compiler.plan.text.markdown import plain_key

MAX_CITY_WORDS = 5
MAX_ADDRESS_CHARS = 400

_PARTS = re.compile(r"\s*(?:[,;\n、·]|\s[-–]\s(?=[^\d\W]))\s*")
# 12045 · 1200-336 · 111 30 · 00-042 · 1071 XX · C1043AAZ · D-12045 · 〒600-8216
_LEADING_CODE = re.compile(
    r"^(?:〒\s*)?(?:[A-Z]{1,3}[- ])?"
    r"(?:\d{3}\s\d{2}|\d{2,5}-\d{2,4}|\d{4,8}(?:\s[A-Z]{2}(?=\s))?|[A-Z]\d{4}(?:[A-Z]{3})?)\s+(?=\D)"
)
# 78702-1234 · M6J 1G1 · SW1A 2AA · D02 XY45 · 131-0045 · 105 55 · 2000
_TRAILING_CODE = re.compile(
    r"\s*\b(?:\d{5}-\d{4}|\d{3}-\d{4}|\d{3}\s\d{2,3}|\d{5}-\d{3}|\d{4,7}|[A-Z]\d[A-Z]\s?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}"
    r"|[A-Z]\d[\dW]\s?[A-Z\d]{4})$"
)
_REGION_CODE = re.compile(r"(?:[A-Z]{2,4}|(?:[A-Z]\.\s?){2,4}|[A-Z][a-zé]{1,7}\.|B\.C\.S?\.?|Q\.R\.|N\.L\.)$")
_DISTRICT = re.compile(r"(?:\s+(?:\d{1,2}(?:er?|ème|e)?|[A-ZÆØÅ]|[Cc][Ee][Dd][Ee][Xx].*))+$")
_WARD = re.compile(r"(?:\s(?:Ward|District|County|Prefecture)|-(?:ku|gu|cho))$")
_AUTONOMOUS = re.compile(r"^(?:Cdad\.?|Ciudad)\s+Autónoma\s+de\s+", re.IGNORECASE)
_JAPANESE = re.compile(r"(?:(東京)都|(?:[^\s\d]{1,3}[道府県])?([^\s\d〒-]{1,6}?)市)")


def city_of_address(address: str) -> str:
    """Return the city of the address, empty if there is none."""
    japanese = _JAPANESE.search(address[:MAX_ADDRESS_CHARS])
    if japanese:
        return japanese[1] or japanese[2]
    parts = [part for part in _PARTS.split(address[:MAX_ADDRESS_CHARS].strip(" ,.")) if part]
    parts, country = _without_country(parts)
    if len(parts) < (1 if country else 2):
        return country if plain_key(country) in CITY_STATES else ""
    found = next((city for at in range(1, len(parts)) if (city := _after_code(parts[at]))), "")
    city = (found if found and not _coded_region(parts) else "") or next(_cities(parts, bool(country)), "")
    return city or (country if plain_key(country) in CITY_STATES else "")


def is_address(text: str) -> bool:
    """Return whether a text ends like an address, in a country or a postcode after at least two commas, and has a number."""
    parts = [part for part in _PARTS.split(text[-MAX_ADDRESS_CHARS:].strip(" ,.")) if part]
    if len(parts) < 3 or not any(map(str.isdigit, text)):
        return False
    return plain_key(parts[-1]) in COUNTRIES or any(
        _LEADING_CODE.match(part) or _TRAILING_CODE.search(part) for part in parts[-3:]
    )


def _without_country(parts: list[str]) -> tuple[list[str], str]:
    """Return the parts without the country at the end, and the country; an adjacent postcode is removed with it."""
    if not parts:
        return [], ""
    if len(parts) > 2 and plain_key(parts[-2]) in COUNTRIES and not _TRAILING_CODE.sub("", parts[-1]).strip():
        parts = parts[:-1]
    last = _LEADING_CODE.sub("", parts[-1]).strip()
    return (parts[:-1], last) if plain_key(last) in COUNTRIES else (parts, "")


def _coded_region(parts: list[str]) -> bool:
    """Return whether a part is a region's code with a postcode, as in `Austin, TX 78702`: the city is then before it."""
    stripped = [(part, _TRAILING_CODE.sub("", part)) for part in parts[1:]]
    return any(one != part and _REGION_CODE.fullmatch(one) for part, one in stripped)


def _after_code(part: str) -> str:
    """Return the city of a part like `1200-336 Lisboa`."""
    code = _LEADING_CODE.match(part)
    return _named(part[code.end() :]) if code and not _is_street(part[code.end() :]) else ""


def _cities(parts: list[str], has_country: bool) -> Iterator[str]:
    """Yield possible cities, likeliest first: from the end; regions only if nothing else is left."""
    regions = []
    for at in range(len(parts) - 1, -1, -1):
        part = _TRAILING_CODE.sub("", parts[at]).strip()
        bare = _REGION_CODE.sub("", part).rstrip(" -–")
        if not bare or _WARD.search(bare) or bare.lower().startswith("provincia de"):
            continue
        name = _named(bare)
        if not name or _is_street(bare) or (at == 0 and not has_country and len(parts) < 3):
            continue
        if _is_region(name):
            regions.append(name)
        else:
            if at == 0 and regions:
                yield from regions
            yield name
    yield from regions


def _is_region(name: str) -> bool:
    key = plain_key(name)
    return key in REGIONS or (key.endswith("shire") and " " not in key)


def _named(text: str) -> str:
    """Return the text as a city's name, empty if it cannot be one."""
    part = _AUTONOMOUS.sub("", text.rpartition("/")[2].strip())
    part = _DISTRICT.sub("", _REGION_CODE.sub("", part).strip(" -–") or part).strip(" .-–")
    words = part.split()
    is_name = 0 < len(words) <= MAX_CITY_WORDS and not any(map(str.isdigit, part)) and sum(map(str.isalpha, part)) > 1
    return part if is_name and "#" not in part else ""


def _is_street(part: str) -> bool:
    bare = _DISTRICT.sub("", part)
    words = plain_key(bare).split()
    if not words or any(map(str.isdigit, bare)):
        return bool(words)
    if len(words) > 1 and (words[0] in STREETS_FIRST or words[-1] in STREETS_LAST):
        return True
    return any(word.endswith(STREET_ENDINGS) and len(word) > 6 for word in words)
