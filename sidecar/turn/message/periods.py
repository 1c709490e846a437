"""Finds the periods (ranges of days) that a question names, and what it asks besides them.

Uses only the words and the user's date. Supports English, German, Portuguese, Spanish, French, Japanese and Chinese.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import chain
from typing import Final

from store.text.languages import language_of

_MONTHS: Final = (
    "january jan januar janeiro enero janvier",
    "february feb februar fevereiro febrero février fevrier",
    "march mar märz maerz março marco marzo mars",
    "april apr abril avril",
    "may mai maio mayo",
    "june jun juni junho junio juin",
    "july jul juli julho julio juillet",
    "august aug agosto août aout",
    "september sep sept setembro septiembre septembre",
    "october oct oktober outubro octubre octobre",
    "november nov novembro noviembre novembre",
    "december dec dezember dezembro diciembre décembre decembre",
)
_NUMBER_OF: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
# Words that usually mean something else; a day, a year or a preposition next to one makes it a month.
_DOUBTFUL: Final = frozenset(["may", "march", "mar", "mars", "jan", "sep", "sept", "marco", "mai"])
_DAYS_AGO: Final = {
    "today": 0, "heute": 0, "hoje": 0, "hoy": 0, "aujourd'hui": 0, "今日": 0, "今天": 0,
    "tomorrow": -1, "amanhã": -1, "明日": -1, "明天": -1, "day after tomorrow": -2, "übermorgen": -2, "depois de amanhã": -2,
    "pasado mañana": -2, "après-demain": -2, "後天": -2, "后天": -2, "明後日": -2,
    "this morning": 0, "this afternoon": 0, "this evening": 0, "tonight": 0, "ce matin": 0, "ce soir": 0, "今朝": 0,
    "day before yesterday": 2, "yesterday": 1, "gestern": 1, "ontem": 1, "ayer": 1, "hier": 1, "昨日": 1, "昨天": 1,
    "vorgestern": 2, "antes de ontem": 2, "anteontem": 2, "anteayer": 2, "antes de ayer": 2, "avant-hier": 2,
    "一昨日": 2, "前天": 2, "大前天": 3,
}  # fmt: skip
_NIGHTS_AGO: Final = {"last night": 1, "letzte nacht": 1, "antes de anoche": 2, "anoche": 1, "昨夜": 1, "昨晚": 1}
_WITH_HIER_AS_HERE: Final = frozenset(["de", "nl"])
_WEEKS_AGO: Final = {
    "this week": 0, "diese woche": 0, "dieser woche": 0, "esta semana": 0, "cette semaine": 0, "今週": 0, "这周": 0,
    "last week": 1, "letzte woche": 1, "letzten woche": 1, "letzter woche": 1, "vorige woche": 1, "vorigen woche": 1,
    "semana passada": 1, "semana pasada": 1, "semaine dernière": 1, "先週": 1, "上周": 1, "上上周": 2,
    "next week": -1, "nächste woche": -1, "nächsten woche": -1, "nächster woche": -1, "próxima semana": -1, "semana que vem": -1,
    "semaine prochaine": -1, "来週": -1, "下周": -1,
}  # fmt: skip
_MONTHS_AGO: Final = {
    "this month": 0, "diesen monat": 0, "este mês": 0, "este mes": 0, "ce mois": 0, "今月": 0, "这个月": 0,
    "last month": 1, "letzten monat": 1, "mês passado": 1, "mes pasado": 1, "mois dernier": 1, "先月": 1, "上个月": 1,
    "上上个月": 2,
    "next month": -1, "nächsten monat": -1, "próximo mês": -1, "próximo mes": -1, "mois prochain": -1, "来月": -1, "下个月": -1,
}  # fmt: skip
_WEEKENDS_AGO: Final = {
    "this weekend": 0, "dieses wochenende": 0, "diesem wochenende": 0, "este fim de semana": 0, "este fin de semana": 0,
    "ce week-end": 0, "今週末": 0, "这个周末": 0,
    "last weekend": 1, "letztes wochenende": 1, "letzten wochenende": 1, "fim de semana passado": 1,
    "fin de semana pasado": 1, "week-end dernier": 1, "先週末": 1, "上周末": 1,
    "next weekend": -1, "nächstes wochenende": -1, "nächsten wochenende": -1, "próximo fim de semana": -1,
    "próximo fin de semana": -1, "week-end prochain": -1, "来週末": -1, "下周末": -1,
}  # fmt: skip
_YEARS_AGO: Final = {
    "this year": 0, "dieses jahr": 0, "diesem jahr": 0, "este ano": 0, "este año": 0, "cette année": 0, "今年": 0,
    "last year": 1, "letztes jahr": 1, "letzten jahr": 1, "ano passado": 1, "año pasado": 1, "année dernière": 1, "去年": 1,
    "next year": -1, "nächstes jahr": -1, "nächsten jahr": -1, "próximo ano": -1, "próximo año": -1, "année prochaine": -1,
    "来年": -1, "明年": -1,
}  # fmt: skip

_WEEKDAYS: Final = (
    "monday montag segunda lunes lundi",
    "tuesday dienstag terça martes mardi",
    "wednesday mittwoch quarta miércoles mercredi",
    "thursday donnerstag quinta jueves jeudi",
    "friday freitag sexta viernes vendredi",
    "saturday samstag sonnabend sábado samedi",
    "sunday sonntag domingo dimanche",
)
_NUMBERS: Final = (
    "a,an,one,ein,eine,einem,einer,einen,un,una,um,uma,une", "two,a couple of,zwei,dos,dois,duas,deux",
    "three,drei,tres,três,trois", "four,vier,cuatro,quatro,quatre", "five,fünf,cinco,cinq", "six,sechs,seis",
    "seven,sieben,siete,sete,sept", "eight,acht,ocho,oito,huit", "nine,neun,nueve,nove,neuf", "ten,zehn,diez,dez,dix",
    "eleven,elf,once,onze", "twelve,zwölf,doce,doze,douze",
)  # fmt: skip
_UNITS: Final = {
    1: "days day tagen tag días día dias dia jours jour",
    7: "weeks week wochen woche semanas semana semaines semaine",
    30: "months month monaten monat meses mes mês mois",
    365: "years year jahren jahr años año anos ano ans an",
}
_NAMES = "|".join(sorted(_NUMBER_OF, key=len, reverse=True))
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th|\.|er)?"
_YEAR = r"(?:,? (?:de |del )?(?P<{0}>(?:19|20)\d\d))?"
_DAY_FIRST = re.compile(rf"\b{_DAY.format('day')} (?:of |de )?(?P<month>{_NAMES})\b{_YEAR.format('year')}")
_MONTH_FIRST = re.compile(rf"\b(?P<month>{_NAMES})\.? {_DAY.format('day')}(?!\d){_YEAR.format('year')}")
_MONTH_ALONE = re.compile(
    rf"(?P<lead>\b(?:in|of|on|during|since|until|early|late|mid|im|em|en|de|le|last|next|letzten) )?"
    rf"\b(?P<month>{_NAMES})\b{_YEAR.format('year')}"
)
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_EAST = re.compile(r"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>1[0-2]|[1-9])月(?:(?P<day>[1-3]?\d)日)?")
_YEAR_ALONE = re.compile(r"(?<![\d-])(?:19|20)\d\d(?![\d-])")
_NUMBERED: Final = re.compile(r"\b(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>(?:19|20)\d\d)\b")
_NUMBERED_SHORT: Final = re.compile(r"\b(?:am|vom|zum|bis|seit) (?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\d)")
_WEEKDAY_OF: Final = {name: day for day, names in enumerate(_WEEKDAYS) for name in names.split()}
_WEEKDAY = rf"(?P<{{0}}>{'|'.join(_WEEKDAY_OF)})"
_PARTS_OF_DAY: Final = {
    "de": "früh|morgen|vormittag|mittag|nachmittag|abend|nacht",
    "en": "morning|noon|afternoon|evening|night",
    "fr": "matin|midi|après-midi|soir|nuit",
    "pt": "manhã|tarde|noite",
    "es": "mañana|tarde|noche",
}
# A German part of a day continues its day's word: "Dienstagabend".
_END = rf"(?:\b|(?=(?:{_PARTS_OF_DAY['de']})\b))"
_LAST_WEEKDAY = re.compile(
    rf"\b(?:last|past|letzte[nr]?|vorige[nr]?|vergangene[nr]?|pasado|últim[ao]) {_WEEKDAY.format('after')}{_END}"
    r"(?! (?:of|in|im)\b)"
    rf"|\b{_WEEKDAY.format('before')}(?:-feira)? (?:pasado|passad[ao]|dernier)\b"
)
# Without another word for a time, such a day is the latest one before today; with "this", it is that of this week.
_NOT_NEXT = rf"{_END}(?! (?:of|in|im|que viene|que vem|próxim[ao]|prochain)\b)"
_ON_WEEKDAY = re.compile(
    rf"\b(?:on|am|el|no|le|(?P<this>this|diesen|este|ce)) {_WEEKDAY.format('day')}{_NOT_NEXT}"
    rf"|\b(?:na|(?P<esta>esta)) {_WEEKDAY.format('feira')}-feira{_NOT_NEXT}"
)
_COUNTS: Final = {name: count for count, names in enumerate(_NUMBERS, 1) for name in names.split(",")}
_UNIT_DAYS: Final = {name: days for days, names in _UNITS.items() for name in names.split()}
_AMOUNT = rf"(?P<{{0}}>\d{{{{1,2}}}}|{'|'.join(_COUNTS)}) (?P<{{1}}>{'|'.join(_UNIT_DAYS)})"
_AGO = re.compile(
    rf"\b{_AMOUNT.format('count', 'unit')} ago\b"
    rf"|\b(?:vor|hace|há|il y a) {_AMOUNT.format('number', 'measure')}\b"
)
_PERIOD: Final = "\0"
_PART = "|".join(_PARTS_OF_DAY.values())
_PERIOD_WITH_PARTS: Final = re.compile(
    rf"(?:\b(?:{_PART}) (?:(?:of|on|vom|am|de|del|du|do|da) (?:the )?)?)?{_PERIOD}"
    rf"(?: ?(?:(?:in the|at|am|in der|por la|de la|de|da|à) )?(?:{_PART})\b"
    r"|の?(?:早上|上午|中午|下午|晚上|午前|午後|夕方|[朝昼夜晩]))?"
)
_AFTER_DAYS, _YEAR_DAYS = 31, 365.25
_WEEK_DAYS, _YEARS, _LEAP_DAY = 7, 5, (2, 29)


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, inclusive. If `is_yearly`, no year was named: the same days of any year."""

    first: date
    last: date
    is_yearly: bool = False

    def nearness(self, day: date) -> float:
        """Return how well a text of this day fits, 0 to 2: 2 for a named day and the three after it, 1 inside a longer period.

        People report an event after it happened, so the 31 days after the period fit a little; days before it do not (0).
        """
        after = (day - self.last).days
        if self.is_yearly:
            years = round((after + self._length_days / 2 - _AFTER_DAYS / 2) / _YEAR_DAYS)
            after -= round(years * _YEAR_DAYS)
        if after < -self._length_days or after > _AFTER_DAYS:
            return 0.0
        if self._length_days < 2:
            return 2.0 if after <= 3 else 1.0 if after <= 10 else 0.5
        return 1.0 if after <= 0 else 0.4

    def __str__(self) -> str:
        """Return the days as receipts show them."""
        days = [day.isoformat()[5:] if self.is_yearly else day.isoformat() for day in (self.first, self.last)]
        return " to ".join(dict.fromkeys(days)) + (" of any year" if self.is_yearly else "")

    @property
    def is_short(self) -> bool:
        """Whether it has at most a week."""
        return self._length_days < _WEEK_DAYS

    def ranges(self) -> tuple[tuple[date, date], ...]:
        """Return its first and last day; without a year, those of the five latest years up to this one, the latest first."""
        if not self.is_yearly:
            return ((self.first, self.last),)
        years = [self.first.year - ago for ago in range(_YEARS) if self.first.year - ago > 0]
        return tuple(
            (self.first.replace(year=year), self.last.replace(year=year))
            for year in years
            if (self.first.month, self.first.day) != _LEAP_DAY or isleap(year)
        )

    def holds(self, day: date) -> bool:
        """Return whether it contains a day; without a year, that day of any year."""
        return any(first <= day <= last for first, last in self.ranges())

    @property
    def _length_days(self) -> int:
        return (self.last - self.first).days


def day_of(moment: datetime, zone: tzinfo | None) -> date:
    """Return the day of an instant in the user's time zone. Midnight in UTC is a day without a time, and keeps that day."""
    try:
        is_day = not (moment.second or moment.microsecond) and moment.astimezone(UTC).time() == time.min
        return moment.astimezone(UTC if is_day else zone).date()
    except OverflowError:  # at an end of the calendar
        return moment.date()


def times_of(periods: Iterable[Period], zone: tzinfo | None) -> tuple[tuple[datetime, datetime], ...]:
    """Return the half-open ranges of time in which the texts of the periods' days are (see `day_of`)."""
    return tuple(chain.from_iterable(_times(*days, zone) for period in periods for days in period.ranges()))


def _times(first: date, last: date, zone: tzinfo | None) -> Iterator[tuple[datetime, datetime]]:
    start, midnight = datetime.combine(first, time.min, zone), datetime.combine(first, time.min, UTC)
    yield start, datetime.combine(last + timedelta(1), time.min, zone)
    if midnight < start:  # west of UTC
        yield midnight, midnight + timedelta(microseconds=1)


def read_periods(text: str, today: date) -> tuple[tuple[Period, ...], str]:
    """Return the first four periods that a text names, and the text in lower case without the words that name its periods and
    parts of their days ("evening").
    """
    found, rest = list[Period](), text.lower().replace("’", "'")
    for pattern in (_ISO, _NUMBERED, _NUMBERED_SHORT, _DAY_FIRST, _MONTH_FIRST, _EAST, _MONTH_ALONE):
        for match in pattern.finditer(rest):
            found += _dated(match, today)
        rest = pattern.sub(lambda match: _PERIOD if _is_month(match) else match[0], rest)
    for pattern, period_of in (
        (_YEAR_ALONE, _named_year), (_RELATIVE, _relative), (_LAST_WEEKDAY, _latest), (_AGO, _ago), (_ON_WEEKDAY, _on)
    ):  # fmt: skip
        if pattern is _ON_WEEKDAY and found:
            continue
        is_here = pattern is _RELATIVE and language_of(rest) in _WITH_HIER_AS_HERE
        matches = [match for match in pattern.finditer(rest) if not (is_here and match[0] == "hier")]
        found += [period_of(match, today) for match in matches]
        for match in reversed(matches):
            rest = f"{rest[: match.start()]}{_PERIOD}{rest[match.end() :]}"
    return tuple(dict.fromkeys(found))[:4], _PERIOD_WITH_PARTS.sub(" ", rest)


def _is_month(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    alone = groups.get("day") is None and groups.get("year") is None
    return not (alone and groups["month"] in _DOUBTFUL and not groups.get("lead"))


def _dated(match: re.Match[str], today: date) -> Iterator[Period]:
    if not _is_month(match):
        return
    groups = match.groupdict()
    month = _NUMBER_OF.get(groups["month"]) or int(groups["month"])
    if not 1 <= month <= 12:
        return
    is_yearly, day = not groups.get("year"), int(groups.get("day") or 0)
    year = _latest_year_with(month, day, today) if is_yearly else int(groups["year"])
    first = date(year, month, 1)
    last = _month_end(first)
    if 1 <= day <= last.day:
        yield Period(first.replace(day=day), first.replace(day=day), is_yearly)
    elif not day:
        yield Period(first, last, is_yearly)


def _latest_year_with(month: int, day: int, today: date) -> int:
    """Return this year, or for 29 February the latest leap year up to it."""
    return today.year - (today.year % 4 if (month, day) == (2, 29) else 0)


def _named_year(match: re.Match[str], today: date) -> Period:
    return _year(today, today.year - int(match[0]))


def _relative(match: re.Match[str], today: date) -> Period:
    period_of, ago = _SPAN_OF[match[0]]
    return period_of(today, ago)


def _latest(match: re.Match[str], today: date) -> Period:
    """Return the latest such day of the week before today."""
    weekday = _WEEKDAY_OF[next(filter(None, match.groups()))]
    return _day(today, (today.weekday() - weekday - 1) % 7 + 1)


def _on(match: re.Match[str], today: date) -> Period:
    """Return the latest such day before today, or with "this" that of the present week."""
    named = match.groupdict()
    if not (named["this"] or named["esta"]):
        return _latest(match, today)
    return _day(today, today.weekday() - _WEEKDAY_OF[named["day"] or named["feira"]])


def _ago(match: re.Match[str], today: date) -> Period:
    count, unit_days = match["count"] or match["number"], _UNIT_DAYS[match["unit"] or match["measure"]]
    middle, slack = today - timedelta((_COUNTS.get(count) or int(count)) * unit_days), timedelta(unit_days // 2)
    return Period(middle - slack, middle + slack)


def _day(today: date, ago: int) -> Period:
    return Period(today - timedelta(ago), today - timedelta(ago))


def _night(today: date, ago: int) -> Period:
    return Period(today - timedelta(ago), today - timedelta(ago - 1))


def _week(today: date, ago: int) -> Period:
    monday = today - timedelta(today.weekday() + 7 * ago)
    return Period(monday, monday + timedelta(6))


def _weekend(today: date, ago: int) -> Period:
    saturday = today + timedelta(5 - today.weekday() - 7 * ago)
    return Period(saturday, saturday + timedelta(1))


def _month(today: date, ago: int) -> Period:
    months = today.year * 12 + today.month - 1 - ago
    first = date(months // 12, months % 12 + 1, 1)
    return Period(first, _month_end(first))


def _year(today: date, ago: int) -> Period:
    return Period(date(today.year - ago, 1, 1), date(today.year - ago, 12, 31))


def _month_end(first: date) -> date:
    return (first + timedelta(31)).replace(day=1) - timedelta(1)


def _whole(phrase: str) -> str:
    """Return the pattern of a phrase as whole words: a player is no Spanish yesterday. Scripts without spaces have no words."""
    return rf"\b{re.escape(phrase)}\b" if phrase[0] < "\u3000" else re.escape(phrase)


_SPAN_OF: Final = {
    phrase: (period_of, ago)
    for phrases, period_of in (
        (_DAYS_AGO, _day),
        (_NIGHTS_AGO, _night),
        (_WEEKS_AGO, _week),
        (_MONTHS_AGO, _month),
        (_WEEKENDS_AGO, _weekend),
        (_YEARS_AGO, _year),
    )
    for phrase, ago in phrases.items()
}
# The longest first: a weekend is not its week.
_RELATIVE: Final = re.compile("|".join(_whole(phrase) for phrase in sorted(_SPAN_OF, key=len, reverse=True)))
