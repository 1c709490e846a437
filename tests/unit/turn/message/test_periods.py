"""Times that a question names, and the days that fit them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from sidecar.turn.message.periods import day_of, read_periods, times_of

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on May 3, 2023", "2023-05-03", "2023-05-03"),
        ("on the 3rd of May 2023", "2023-05-03", "2023-05-03"),
        ("am 3. Mai 2023", "2023-05-03", "2023-05-03"),
        ("a 3 de maio de 2023", "2023-05-03", "2023-05-03"),
        ("vers le 3 mai 2023", "2023-05-03", "2023-05-03"),
        ("2023年5月3日に", "2023-05-03", "2023-05-03"),
        ("since 2023-05-03", "2023-05-03", "2023-05-03"),
        ("on February 29", "2024-02-29", "2024-02-29"),
        ("am 28. Februar", "2026-02-28", "2026-02-28"),
        ("in July 2023", "2023-07-01", "2023-07-31"),
        ("back in 2022", "2022-01-01", "2022-12-31"),
        ("yesterday", "2026-11-20", "2026-11-20"),
        ("最後は昨日", "2026-11-20", "2026-11-20"),
        ("letzte Woche", "2026-11-09", "2026-11-15"),
        ("in der vorigen Woche", "2026-11-09", "2026-11-15"),
        ("Wie war letztes Wochenende?", "2026-11-14", "2026-11-15"),
        ("este fin de semana", "2026-11-21", "2026-11-22"),
        ("what we spent last year", "2025-01-01", "2025-12-31"),
        ("no mês passado", "2026-10-01", "2026-10-31"),
        ("two weeks ago", "2026-11-04", "2026-11-10"),
        ("yesterday's dinner", "2026-11-20", "2026-11-20"),
        ("last weekend", "2026-11-14", "2026-11-15"),
        ("Wo war ich vorgestern?", "2026-11-19", "2026-11-19"),
        ("一昨日の夕食", "2026-11-19", "2026-11-19"),
        ("aujourd’hui", "2026-11-21", "2026-11-21"),
        ("Qui ai-je vu hier ?", "2026-11-20", "2026-11-20"),
        ("the day before yesterday", "2026-11-19", "2026-11-19"),
        ("avant-hier", "2026-11-19", "2026-11-19"),
        ("am 12.10.2026", "2026-10-12", "2026-10-12"),
        ("last Tuesday", "2026-11-17", "2026-11-17"),
        ("last Saturday", "2026-11-14", "2026-11-14"),
        ("this past Friday", "2026-11-20", "2026-11-20"),
        ("am letzten Mittwoch", "2026-11-18", "2026-11-18"),
        ("el jueves pasado", "2026-11-19", "2026-11-19"),
        ("el pasado domingo", "2026-11-15", "2026-11-15"),
        ("na terça-feira passada", "2026-11-17", "2026-11-17"),
        ("no último sábado", "2026-11-14", "2026-11-14"),
        ("lundi dernier", "2026-11-16", "2026-11-16"),
        ("six days ago", "2026-11-15", "2026-11-15"),
        ("a couple of weeks ago", "2026-11-04", "2026-11-10"),
        ("a year ago", "2025-05-23", "2026-05-22"),
        ("vor zwei Wochen", "2026-11-04", "2026-11-10"),
        ("vor 3 Tagen", "2026-11-18", "2026-11-18"),
        ("hace tres días", "2026-11-18", "2026-11-18"),
        ("há duas semanas", "2026-11-04", "2026-11-10"),
        ("antes de ayer", "2026-11-19", "2026-11-19"),
        ("il y a sept jours", "2026-11-14", "2026-11-14"),
        ("in Sept", "2026-09-01", "2026-09-30"),
        ("il y a un mois", "2026-10-07", "2026-11-06"),
        ("on Tuesday", "2026-11-17", "2026-11-17"),
        ("am Samstag", "2026-11-14", "2026-11-14"),
        ("¿Qué dije el martes?", "2026-11-17", "2026-11-17"),
        ("na terça-feira", "2026-11-17", "2026-11-17"),
        ("on Saturday the 3rd of October 2026", "2026-10-03", "2026-10-03"),
        ("on Tuesday last week", "2026-11-09", "2026-11-15"),
        ("last night", "2026-11-20", "2026-11-21"),
        ("letzte Nacht", "2026-11-20", "2026-11-21"),
        ("this morning", "2026-11-21", "2026-11-21"),
        ("the day after tomorrow", "2026-11-23", "2026-11-23"),
        ("What is on tomorrow?", "2026-11-22", "2026-11-22"),
        ("明日の予定", "2026-11-22", "2026-11-22"),
        ("nächste Woche", "2026-11-23", "2026-11-29"),
        ("next weekend", "2026-11-28", "2026-11-29"),
        ("no próximo mês", "2026-12-01", "2026-12-31"),
        ("next year", "2027-01-01", "2027-12-31"),
        ("am 3.10.", "2026-10-03", "2026-10-03"),
        ("o que eu disse antes de ontem", "2026-11-19", "2026-11-19"),
        ("antes de anoche", "2026-11-19", "2026-11-20"),
        ("大前天我说了什么", "2026-11-18", "2026-11-18"),
        ("上上周我说了什么", "2026-11-02", "2026-11-08"),
        ("上上个月", "2026-09-01", "2026-09-30"),
        ("am Montag letzter Woche", "2026-11-09", "2026-11-15"),
        ("am Montag nächster Woche", "2026-11-23", "2026-11-29"),
        ("this Friday", "2026-11-20", "2026-11-20"),
        ("this Sunday", "2026-11-22", "2026-11-22"),
        ("este domingo", "2026-11-22", "2026-11-22"),
        ("esta sexta-feira", "2026-11-20", "2026-11-20"),
        ("Was war am Dienstagabend?", "2026-11-17", "2026-11-17"),
        ("am Sonnabendvormittag", "2026-11-14", "2026-11-14"),
        ("letzten Freitagnachmittag", "2026-11-20", "2026-11-20"),
    ],
)
def test_time_in_a_question_is_read_as_days(text: str, first: str, last: str) -> None:
    (period,) = read_periods(text, TODAY)[0]
    assert (period.first.isoformat(), period.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "may I ask?",
        "did we march there",
        "version 3.5 of 20 parts",
        "99 May",
        "31 February 2023",
        "Which player does Choy like?",
        "What is said in the cahier?",
        "Was steht hier im Vertrag?",
        "99.10.2026 and 1.13.2026",
        "on Tuesdays",
        "the last Tuesdays",
        "am Dienstagabends",
        "on the last Friday of the month",
        "Termin vor Woche 12",
        "Release 3.10. is out",
        "on the second attempt",
        "na segunda reunião",
        "el martes que viene",
        "na terça-feira que vem",
        "le lundi prochain",
        "el lunes próximo",
    ],
)
def test_text_without_a_time_yields_none(text: str) -> None:
    assert read_periods(text, TODAY)[0] == ()


@pytest.mark.parametrize(
    ("text", "day", "nearness"),
    [
        ("on May 3, 2023", "2023-05-03", 2.0),
        ("on May 3, 2023", "2023-05-05", 2.0),
        ("on May 3, 2023", "2023-05-10", 1.0),
        ("on May 3, 2023", "2023-05-02", 0.0),
        ("on May 3, 2023", "2024-05-03", 0.0),
        ("on May 3", "2023-05-03", 2.0),
        ("on May 3", "2024-05-03", 2.0),
        ("on February 29", "2024-02-29", 2.0),
        ("on February 29", "2020-02-29", 2.0),
        ("in August", "2023-08-31", 1.0),
        ("in August", "2023-09-10", 0.4),
        ("in August", "2023-07-31", 0.0),
        ("in December", "2024-01-05", 0.4),
    ],
)
def test_nearness_to_a_period_is_full_within_it_and_falls_off_after(text: str, day: str, nearness: float) -> None:
    (period,) = read_periods(text, TODAY)[0]
    assert period.nearness(date.fromisoformat(day)) == nearness


@pytest.mark.parametrize(
    ("text", "days", "shown"),
    [
        ("on 3 May 2023", "2023-05-03", "2023-05-03"),
        ("last week", "2026-11-11", "2026-11-09 to 2026-11-15"),
        ("on 3 May", "2022-05-03 2026-05-03", "05-03 of any year"),
        ("on February 29", "2024-02-29", "02-29 of any year"),
    ],
)
def test_period_holds_its_days_and_is_shown_by_them(text: str, days: str, shown: str) -> None:
    (period,) = read_periods(text, TODAY)[0]
    assert str(period) == shown
    assert all(period.holds(date.fromisoformat(day)) for day in days.split())
    assert not period.holds(date(2021, 12, 31))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What did I say last Tuesday?", "what did i say ?"),
        ("Was war am 3. Oktober 2026?", "was war am ?"),
        ("昨日何を話しましたか", "何を話しましたか"),
        ("a week ago", ""),
        ("What happened on Tuesday evening?", "what happened ?"),
        ("What happened yesterday afternoon?", "what happened ?"),
        ("Was passierte am Freitagnachmittag?", "was passierte ?"),
        ("Was passierte gestern Abend?", "was passierte ?"),
        ("¿Qué pasó el martes por la noche?", "¿qué pasó ?"),
        ("O que aconteceu ontem à tarde?", "o que aconteceu ?"),
        ("Que s'est-il passé hier soir ?", "que s'est-il passé ?"),
        ("What happened on the morning of 3 October?", "what happened on the ?"),
        ("昨日の夜何を話しましたか", "何を話しましたか"),
        ("Which evening did we meet last week?", "which evening did we meet ?"),
    ],
)
def test_words_that_name_a_period_are_left_out(text: str, rest: str) -> None:
    assert " ".join(read_periods(text, TODAY)[1].split()) == rest


def test_days_and_times_follow_the_time_zone() -> None:
    late, berlin = datetime(2026, 10, 24, 23, 0, tzinfo=UTC), ZoneInfo("Europe/Berlin")
    assert (day_of(late, UTC), day_of(late, berlin)) == (date(2026, 10, 24), date(2026, 10, 25))
    for zone in ("America/Los_Angeles", "Pacific/Kiritimati"):
        midnight, asked = (
            datetime(2026, 10, 25, tzinfo=UTC),
            times_of(read_periods("on 25 October 2026", TODAY)[0], ZoneInfo(zone)),
        )
        assert day_of(midnight, ZoneInfo(zone)) == date(2026, 10, 25), "it stands for a day without a time"
        assert any(start <= midnight < end for start, end in asked), zone
    last = datetime.max.replace(tzinfo=UTC)
    assert day_of(last, ZoneInfo("Pacific/Auckland")) == date(9999, 12, 31)
    ((start, end),) = times_of(read_periods("on 25 October 2026", TODAY)[0], berlin)
    assert end.astimezone(UTC) - start.astimezone(UTC) == timedelta(hours=25), "clocks go back on that day"
    leap = times_of(read_periods("on February 29", TODAY)[0], UTC)
    assert [start.date().isoformat() for start, _ in leap] == ["2024-02-29", "2020-02-29"]
