"""The period that follows a statement of a typed edge: “since May 2021”, “from 2015 to 2019”, “since Q3 2024”."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from compiler.plan.edge_types import first_moment

_MONTHS: Final = (
    "january jan enero janeiro januar janvier gennaio",
    "february feb febrero fevereiro februar février febbraio",
    "march mar marzo março märz mars",
    "april apr abril avril aprile",
    "may mayo maio mai maggio",
    "june jun junio junho juni juin giugno",
    "july jul julio julho juli juillet luglio",
    "august aug agosto août",
    "september sep sept septiembre setembro septembre settembre",
    "october oct octubre outubro oktober octobre ottobre",
    "november nov noviembre novembro novembre",
    "december dec diciembre dezembro dezember décembre dicembre",
)
_ORDINALS: Final = (
    "first 1st ersten 1. primer 1er primeiro 1º premier primo",
    "second 2nd zweiten 2. segundo 2º deuxième 2e secondo",
    "third 3rd dritten 3. tercer 3er terceiro 3º troisième 3e terzo",
    "fourth 4th vierten 4. cuarto quarto 4º quatrième 4e",
)


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, " ".join(words).split()), key=len, reverse=True))


_DATE = rf"""
    (?: (?P<{{0}}_month> {_any(_MONTHS)} ) \.? \s+ (?:de\s+)?
      | (?: (?:the|dem|el|o|le|il) \s+ )?
        (?: [QT] (?P<{{0}}_quarter> [1-4] )
          | (?P<{{0}}_ordinal> {_any(_ORDINALS)} ) \s+ (?:quarter|quartal|trimestre) )
        \s+ (?: (?:of|de|del|do|du|di|des\ Jahres) \s+ )?
    )?
    (?P<{{0}}_year> (?:19|20)\d\d ) (?: [- ]? Q (?P<{{0}}_quarter_after> [1-4] ) )?
"""
_SINCE = re.compile(
    rf"^[\"”“»]? ,? \s* (?:since|from|desde|seit|depuis|dal|von) \s+ (?:en\s+)? {_DATE.format('since')}",
    re.IGNORECASE | re.VERBOSE,
)
_UNTIL = re.compile(
    rf"\s* ,? \s* (?:until|till|to|through|hasta|até|bis|jusqu['’]en|fino\ al|al|–|-) \s+ {_DATE.format('until')}",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class EdgePeriod:
    """The period of a statement, as dates and as YYYY, YYYY-MM or YYYY-Qn; None and empty where it names no date."""

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    since: str = ""
    until: str = ""


def period_after(rest: str) -> EdgePeriod:
    """Return the period with which the text after a statement begins. “from” without an end is a place or a source."""
    since = _SINCE.match(rest)
    until = _UNTIL.match(rest, since.end() if since else 0)
    if since and not until and since[0].strip(' ,"”“»').casefold().startswith(("from", "von")):
        return EdgePeriod()
    begins, ends = _date(since, "since"), _date(until, "until")
    return EdgePeriod(first_moment(begins), first_moment(ends), begins, ends)


def _date(found: re.Match[str] | None, name: str) -> str:
    if found is None:
        return ""
    year, month = found[f"{name}_year"], _place(_MONTHS, found[f"{name}_month"])
    quarter = found[f"{name}_quarter"] or found[f"{name}_quarter_after"] or _place(_ORDINALS, found[f"{name}_ordinal"])
    if month:
        return f"{year}-{month:02}"
    return f"{year}-Q{quarter}" if quarter else year


def _place(names: Sequence[str], name: str | None) -> int:
    """Return the number of a month or a quarter by its name, from 1; 0 for none."""
    return next((at for at, known in enumerate(names, 1) if name and name.casefold() in known.split()), 0)
