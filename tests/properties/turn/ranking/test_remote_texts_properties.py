"""Generated and hostile input for what `tests/unit/turn/ranking/test_remote_texts.py` tests by example."""

from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from sidecar.backends.backend_caller import TokenBucket
from sidecar.sources.composite import by_rank
from sidecar.turn.items import Item, Source, SourceReport, Status
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.judging import judge
from sidecar.turn.ranking.remote_evidence import coverage, readable, with_evidence

texts = st.text(max_size=40)


def item(name: str, rank: int) -> Item:
    return Item(name, Source.KNOWLEDGE, name, rank, 0.5)


@given(texts, st.lists(texts, max_size=6))
def test_any_remote_text_gets_evidence_and_a_relevance(message: str, found: list[str]) -> None:
    reading = read(message, today=date(2026, 3, 1))
    items = tuple(item(f"{place}", place)._replace(text=text) for place, text in enumerate(found))
    (told,) = with_evidence([SourceReport(Source.KNOWLEDGE, Status.OK, items)], reading, None, {})
    judged = judge([told], reading).reports[0].items
    assert sorted(one.id for one in judged) == sorted(one.id for one in items)
    assert all(0 <= one.relevance <= 1 and one.features for one in judged)


@given(st.lists(texts, max_size=6), texts)
def test_coverage_is_a_share(words: list[str], text: str) -> None:
    assert 0 <= coverage(words, text) <= 1


@given(st.text())
def test_sanitised_text_can_be_stored_and_sanitising_is_idempotent(text: str) -> None:
    made = readable(text)
    made.encode()
    assert "\0" not in made
    assert readable(made) == made


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6), max_size=4))
def test_answers_are_merged_by_rank_with_each_item_once(answers: list[list[str]]) -> None:
    merged = by_rank([[item(name, rank) for rank, name in enumerate(answer)] for answer in answers])
    names = [one.id for one in merged]
    assert sorted(names) == sorted(set().union(*answers)) if answers else names == []
    assert [one.rank for one in merged] == list(range(len(merged)))
    best = {name: min(answer.index(name) for answer in answers if name in answer) for name in names}
    assert [best[name] for name in names] == sorted(best.values())


@given(st.floats(0.1, 100), st.lists(st.floats(0, 10), max_size=60))
def test_rate_limiter_admits_no_more_than_its_rate(rate: float, pauses: list[float]) -> None:
    bucket, now, sent = TokenBucket(rate), 0.0, []
    for pause in pauses:
        now += pause
        sent.append(now + bucket.wait_s(now))
    for at in sent:
        assert sum(at <= one <= at + 1 for one in sent) <= max(1.0, rate) + rate + 1
