"""What the console's pages draw, as far as it is pure: sentences and their memories, bars, curves, candidates, values."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from sidecar.http.console import turn_view
from sidecar.http.console.charts import share_chart
from sidecar.http.console.desk import PLACES
from sidecar.http.console.guard import name_of
from sidecar.http.console.sentences import marked
from sidecar.http.console.writing import SHOWN_KINDS, markdown, moment, place_of
from store.accounting.receipts import ReportedUsage, StoredReceipt
from store.compile.overview import Grown

LOLA = "Ate a beef empanada at Casa Lola in Austin with Mara."
MUSIC = "Casa Lola had live music, and Mara danced until two."
DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Ate a beef empanada in Austin. Mara danced until two.",
         "Ate a beef empanada in Austin.[1](#s-1) Mara danced until two.[2](#s-2)"),
        ("- live music, and Mara danced", "- live music, and Mara danced[2](#s-2)"),
        ("Nothing of this was ever remembered.", "Nothing of this was ever remembered."),
        ("# Casa Lola had live music", "# Casa Lola had live music"),
        ("| Casa Lola | live music |", "| Casa Lola | live music |"),
        ("Lola.", "Lola."),
        ("", ""),
    ],
)  # fmt: skip
def test_sentence_cites_the_memory_with_most_of_its_words(body: str, expected: str) -> None:
    assert marked(body, [LOLA, MUSIC], anchor="s") == expected


def test_link_with_a_full_stop_stays_whole() -> None:
    body = "Ate a beef empanada at [Casa. Lola](/wiki/entity/casa-lola) in Austin."
    assert marked(body, [LOLA], anchor="s") == f"{body}[1](#s-1)"


def test_section_without_texts_or_of_excessive_size_is_unchanged() -> None:
    assert marked(LOLA, [], anchor="s") == LOLA
    assert marked(LOLA, [""], anchor="s") == LOLA
    long = f"{LOLA} " * 1_000
    assert marked(long, [LOLA], anchor="s") == long


def grown(*pages: int) -> list[Grown]:
    return [Grown(DAY + timedelta(days=number), count, count // 2, 0) for number, count in enumerate(pages)]


def test_curve_spans_its_days_within_its_frame() -> None:
    assert share_chart(grown(4)) is None
    chart = share_chart(grown(*range(1, 1_000)))
    assert chart is not None
    assert (chart.first, chart.last, chart.most_pages) == (DAY, DAY + timedelta(days=998), 999)
    points = [tuple(map(float, one.split(","))) for one in chart.pages_points.split()]
    assert points[0][0] == 0
    assert points[-1] == (100.0, 2.0)
    assert len(points) <= 251
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in points)


def test_wiki_without_pages_causes_no_division_by_zero() -> None:
    assert Grown(DAY, 0, 0, 0).share == 0
    assert share_chart([Grown(DAY, 0, 0, 0), Grown(DAY + timedelta(days=1), 0, 0, 0)]) is not None


def item(number: int, decision: str, tokens: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"memory:{number}", "decision": decision, "reason": "priority 3", "form": "FULL", "tokens": tokens,
            "relevance": 0.5, "mark": "", "into": "", "provenance": [["memory", str(number), ""]]} | fields  # fmt: skip


def receipt(*rows: dict[str, Any], usage: ReportedUsage | None = None, duration_ms: float = 100.0) -> StoredReceipt:
    details = {"sources": list(rows), "timings": {"before_ms": 10.0, "asking_ms": 60.0}, "history": {"turns": []}}
    return StoredReceipt(
        UUID(int=1), "", "", "gpt-4o", False, duration_ms, details, datetime(2026, 3, 1, tzinfo=UTC), usage
    )


def row(source: str, *items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "source": source,
        "status": "OK",
        "reason": "",
        "latency_ms": 30.0,
        "attempts": 1,
        "items": list(items),
    } | fields


def test_offers_are_drawn_on_one_scale_as_kept_shortened_and_dropped() -> None:
    small = row("memory", item(1, "kept", 10), item(2, "shortened", 20), item(3, "over_budget", 0), offered_tokens=50)
    large = row("wiki", item(4, "kept", 100), offered_tokens=100)
    lines = turn_view.source_lines(receipt(small, large))
    assert [[(one.name, one.text, one.is_faint) for one in line.stripes] for line in lines] == [
        [("memory", "kept: 10 tokens", False), ("memory", "shortened: 20 tokens", True),
         ("dropped", "dropped: 20 tokens", False)],
        [("wiki", "kept: 100 tokens", False)],
    ]  # fmt: skip
    assert [one.width for one in lines[0].stripes] == [10.0, 20.0, 20.0]
    assert [one.at for one in lines[0].stripes] == [0.0, 10.0, 30.0]


def test_abandoned_source_is_drawn_for_the_time_it_was_waited_for() -> None:
    late = row("wiki", status="TIMEOUT", latency_ms=0.0, reason="no answer by its deadline")
    refused = row("memory", status="BREAKER_OPEN", latency_ms=0.0)
    lines = turn_view.source_lines(receipt(late, refused))
    assert [line.latency_ms for line in lines] == [60.0, 0.0]
    assert (lines[0].waited.at, lines[0].waited.width) == (10.0, 60.0)


def test_items_used_by_the_answer_are_counted_among_the_items_shown() -> None:
    rows = row("memory", item(1, "kept", 10), item(2, "kept", 30), item(3, "over_budget", 5))
    usage = ReportedUsage(1, 1, 0, 0, ("memory:2", "memory:3", "memory:unknown"))
    assert turn_view.use(receipt(rows, usage=usage)) == turn_view.Use(1, 2, 30, 40)
    assert turn_view.use(receipt(rows)) is None


def test_candidates_must_match_every_search_word() -> None:
    found = list(turn_view.candidates(receipt(row("memory", item(1, "kept", 10), item(2, "over_budget", 0)))))
    assert [turn_view.holds(one, "memory OVER budget") for one in found] == [False, True]
    assert all(turn_view.holds(one, "") for one in found)
    assert not any(turn_view.holds(one, "used by") for one in found)


def test_instant_is_shown_in_utc() -> None:
    east = timezone(timedelta(hours=5))
    assert '2026-03-01T07:00:00Z' in moment(datetime(2026, 3, 1, 12, tzinfo=east))  # fmt: skip
    assert moment(None) == "–"
    assert place_of("memory", "a&b=c") == "/from/memory?id=a%26b%3Dc"
    assert place_of("backend", "x") == ""
    assert {"memory", "page", "turn", "chunk"} == SHOWN_KINDS


@pytest.mark.parametrize(
    "text", ["<script>x</script>", "[x](javascript:alert(1))", "[x](data:text/html,x)", "![x](//evil)"]
)
def test_markdown_adds_no_markup_of_its_own(text: str) -> None:
    found = markdown(text)
    assert "<script" not in found
    assert "<img" not in found
    assert 'href="javascript' not in found
    assert 'href="data' not in found


def test_every_view_has_its_own_name_and_path() -> None:
    rows = [one for _, views in PLACES for one in views]
    assert len(dict(rows)) == len({place for _, place in rows}) == len(rows)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:7435", "localhost"),
        ("[::1]:7435", "::1"),
        ("EVIL.example", "evil.example"),
        ("", ""),
        ("[x", ""),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1].evil.com", ""),
        ("[::1]evil.com:80", ""),
        ("::1", ""),
        ("[localhost]", ""),
        ("localhost:7435:1", ""),
        ("localhost:x", ""),
        ("localhost@evil.com", ""),
        ("localhost/evil", ""),
    ],
)
def test_host_header_is_parsed(host: str, name: str) -> None:
    assert name_of(host) == name
