"""Generated and hostile input for what `tests/unit/turn/test_remote_texts.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.backends.asking import TokenBucket
from sidecar.sources.composite import by_rank
from sidecar.turn.items import Item, Source
from sidecar.turn.remote import readable, relevance

texts = st.text(max_size=40)


def item(name: str, rank: int) -> Item:
    return Item(name, Source.KNOWLEDGE, name, rank, 0.5)


@given(st.lists(texts, max_size=6), texts, st.integers(0, 500))
def test_relevance_is_between_0_and_1_and_never_grows_with_rank(words: list[str], text: str, rank: int) -> None:
    assert 0 < relevance(words, text, rank + 1) <= relevance(words, text, rank) <= 1


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
def test_rate_limiter_lets_no_more_through_than_its_rate(rate: float, pauses: list[float]) -> None:
    bucket, now, sent = TokenBucket(rate), 0.0, []
    for pause in pauses:
        now += pause
        sent.append(now + bucket.wait_s(now))
    for at in sent:
        assert sum(at <= one <= at + 1 for one in sent) <= max(1.0, rate) + rate + 1
