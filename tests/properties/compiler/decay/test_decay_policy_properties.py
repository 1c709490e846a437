"""Which candidates a policy takes: the least read, no more text than its share, and nothing more when it runs again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from compiler.decay.policy import DecayPolicy, groups
from store.content.tiers import AgedCandidate

START = datetime(2026, 1, 31, 20, tzinfo=UTC)
CONTEXTS = 40

texts = st.text("ab é", min_size=1, max_size=30)
candidates = st.lists(st.tuples(texts, st.integers(0, CONTEXTS), st.integers(0, 80)), max_size=40).map(
    lambda rows: [
        AgedCandidate(f"m{place}", text, START + timedelta(days=day), "", reads, CONTEXTS)
        for place, (text, reads, day) in enumerate(rows)
    ]
)
policies = st.builds(
    DecayPolicy, most_sources=st.integers(2, 9), most_reads=st.integers(0, 100), most_share=st.integers(0, 100)
)


def size(some: list[AgedCandidate]) -> int:
    return sum(len(one.text.encode()) for one in some)


def taken(aged: list[AgedCandidate], policy: DecayPolicy) -> list[AgedCandidate]:
    ids = {one for group in groups(aged, policy) for one in group.source_ids}
    return [one for one in aged if one.memory_id in ids]


@given(candidates, policies, st.integers(0, 200))
@example([AgedCandidate(f"m{n}", "a b", START, "", 0, CONTEXTS) for n in range(9)], DecayPolicy(most_share=60), 6)
def test_summaries_never_replace_more_text_than_the_share(
    aged: list[AgedCandidate], policy: DecayPolicy, behind: int
) -> None:
    given_rows = [replace(one, bytes_behind=behind) for one in aged]
    gone = taken(given_rows, policy)
    if gone:
        assert 100 * (behind + size(gone)) <= policy.most_share * (behind + size(aged))


@given(candidates, policies)
def test_second_run_compresses_nothing_more(aged: list[AgedCandidate], policy: DecayPolicy) -> None:
    first = taken(aged, policy)
    left = [replace(one, bytes_behind=size(first)) for one in aged if one not in first]
    assert taken(left, policy) == []


@given(candidates, policies)
def test_candidate_that_was_read_too_often_stays(aged: list[AgedCandidate], policy: DecayPolicy) -> None:
    assert all(100 * one.reads <= policy.most_reads * CONTEXTS for one in taken(aged, policy))


def test_least_read_are_compressed_first_then_least_salient_then_oldest() -> None:
    rows = [("Ann met Ben on 4 May.", 1), ("Dan has a boat.", 0), ("a b c d e.", 2), ("Rope, more rope.", 0)]
    aged = [
        AgedCandidate(f"m{place}", text, START + timedelta(hours=place), "", reads, CONTEXTS)
        for place, (text, reads) in enumerate(rows)
    ]
    share = [one.memory_id for one in taken(aged, DecayPolicy(most_share=55))]
    assert share == ["m1", "m3"]
    assert [one.memory_id for one in taken(aged, DecayPolicy(most_share=100))] == ["m0", "m1", "m2", "m3"]
