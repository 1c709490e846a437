"""Summaries of memories: what holds for any sources in any chain."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.decay.summary import (
    DECAY_SUMMARY_MAX_CLAIM_BYTES,
    DECAY_SUMMARY_TRUNCATION_SUFFIX,
    DecaySource,
    cut_claim,
    summarise,
)
from store.content.tiers import AuthorityTier

_START = datetime(2026, 1, 1, tzinfo=UTC)
_AUTHORITIES = st.one_of(
    st.sampled_from(["Derived", "Candidate", "Agent", "User", "user", "root", ""]), st.text(max_size=8)
)
_NAMES = st.lists(st.text(min_size=1, max_size=4), max_size=4).map(tuple)
_SOURCES = st.builds(
    DecaySource,
    id=st.text(min_size=1, max_size=4),
    claim=st.text(min_size=1, max_size=3000),
    confidence=st.floats(0, 1),
    authority=_AUTHORITIES,
    occurred_at=st.integers(0, 1000).map(lambda days: _START + timedelta(days=days)),
    domains=_NAMES,
    episodes=_NAMES,
    events=_NAMES,
    turn_ids=_NAMES,
    origin=st.sampled_from(["", "user", "tool", "webhook", "document"]),
)
_SEVERAL = st.lists(_SOURCES, min_size=2, max_size=8, unique_by=lambda one: one.id)


@given(_SEVERAL)
def test_summary_claims_no_more_than_its_sources(sources: list[DecaySource]) -> None:
    summary = summarise(sources)
    assert summary.confidence == min(one.confidence for one in sources)
    assert summary.authority in {one.authority for one in sources}
    rank = AuthorityTier.parse(summary.authority).trust_rank
    assert all(rank <= AuthorityTier.parse(one.authority).trust_rank for one in sources)
    if any(one.origin in {"tool", "webhook", "document"} for one in sources):
        assert summary.origin in {"tool", "webhook", "document"}


@given(_SEVERAL)
def test_summary_names_every_leaf_and_every_label_once(sources: list[DecaySource]) -> None:
    summary = summarise(sources)
    for name in ("domains", "episodes", "turn_ids"):
        wanted = {value for one in sources for value in getattr(one, name)}
        assert set(getattr(summary, name)) == wanted
        assert len(getattr(summary, name)) == len(wanted)
    assert set(summary.events) == {leaf for one in sources for leaf in (one.events or (one.id,))}


@given(st.builds(mul, st.text(min_size=1, max_size=12), st.integers(0, 200)))
def test_claim_fits_its_bytes_and_stays_valid_text(claim: str) -> None:
    cut = cut_claim(claim)
    assert len(cut.encode()) <= DECAY_SUMMARY_MAX_CLAIM_BYTES
    if cut != claim:
        assert len(claim.encode()) > DECAY_SUMMARY_MAX_CLAIM_BYTES
        assert claim.startswith(cut.removesuffix(DECAY_SUMMARY_TRUNCATION_SUFFIX))
        room = DECAY_SUMMARY_MAX_CLAIM_BYTES - len(DECAY_SUMMARY_TRUNCATION_SUFFIX.encode())
        assert len(cut.removesuffix(DECAY_SUMMARY_TRUNCATION_SUFFIX).encode()) > room - 4


@given(st.lists(_SOURCES, min_size=3, max_size=12, unique_by=lambda one: one.id), st.data())
def test_no_chain_of_summaries_raises_authority_or_loses_a_leaf(
    sources: list[DecaySource], data: st.DataObject
) -> None:
    pool = list(sources)
    while len(pool) > 1:
        count = data.draw(st.integers(2, len(pool)))
        some, pool = pool[:count], pool[count:]
        made = summarise(some)
        lowest = min(AuthorityTier.parse(one.authority) for one in some)
        assert AuthorityTier.parse(made.authority) == lowest
        pool.append(
            DecaySource(
                f"summary {len(pool)} {made.claim[:8]}",
                made.claim,
                made.confidence,
                made.authority,
                made.occurred_at,
                made.domains,
                made.episodes,
                made.events,
                made.turn_ids,
                made.origin,
            )
        )
    last = pool[0]
    assert last.confidence == min(one.confidence for one in sources)
    assert AuthorityTier.parse(last.authority) == min(AuthorityTier.parse(one.authority) for one in sources)
    assert set(last.events) == {leaf for one in sources for leaf in one.leaves}


@given(_SOURCES)
def test_one_source_given_twice_is_no_summary(source: DecaySource) -> None:
    with pytest.raises(ValueError, match="2 sources"):
        summarise([source, source])


_PROGRAM = """
from datetime import UTC, datetime
from compiler.decay.summary import DecaySource, summarise
when = datetime(2026, 1, 1, tzinfo=UTC)
sources = [
    DecaySource(f"m{n}", "Ünïcödé ß 京 " * n, n / 100, ("Agent", "weird", "User")[n % 3], when, ("b", "a", f"d{n}"), (f"e{n}",))
    for n in range(1, 40)
]
print(repr(summarise(sources)).encode())
"""


def test_summary_is_the_same_bytes_in_processes_of_other_seed_zone_and_locale() -> None:
    def run(**settings: str) -> bytes:
        environment = {**os.environ, **settings}
        return subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=True).stdout

    first = run(PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    assert first == run(PYTHONHASHSEED="77", TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
    assert b"weird" in first


_POLICY_PROGRAM = """
import locale, sys
locale.setlocale(locale.LC_ALL, "")
from datetime import UTC, datetime, timedelta
from operator import mul
from compiler.decay.policy import DecayPolicy, groups
from store.content.tiers import AgedCandidate
start = datetime(2026, 1, 31, 20, tzinfo=UTC)
names = ("b", "B", "ä", "a", "é", "_", "10", "9")
aged = [
    AgedCandidate(f"{name}{n}", f"{name} said it {n} times.", start + timedelta(hours=3 * (n % 5)), "", n % 3)
    for name in names for n in range(12)
]
aged = sorted({one.memory_id: one for one in aged}.values(), key=lambda one: hash(one.memory_id))
print(repr(groups(aged, DecayPolicy(most_sources=7, most_reads=1, most_share=90))).encode())
"""


def test_groups_are_the_same_in_processes_of_other_seed_zone_and_collation() -> None:
    def run(**settings: str) -> bytes:
        environment = {**os.environ, **settings}
        return subprocess.run(
            [sys.executable, "-c", _POLICY_PROGRAM], env=environment, capture_output=True, check=True
        ).stdout

    first = run(PYTHONHASHSEED="1", TZ="Pacific/Auckland", LC_ALL="C")
    assert first == run(PYTHONHASHSEED="99", TZ="America/Lima", LC_ALL="C.UTF-8")
    assert first.count(b"DecayGroup") > 3


def test_authority_is_the_least_trusted_sources_own_string() -> None:
    def source(number: int, authority: str) -> DecaySource:
        return DecaySource(f"m{number}", "x", 1.0, authority, _START)

    mixed = [source(1, "User"), source(2, "some Model"), source(3, "root"), source(4, "agent")]
    assert summarise(mixed).authority == "some Model"
    assert summarise([mixed[3], mixed[0]]).authority == "agent"
    assert summarise([mixed[2], mixed[0], mixed[1]]).authority == "root"


def test_cut_falls_on_no_character_and_the_suffix_is_inside_the_cap() -> None:
    room = DECAY_SUMMARY_MAX_CLAIM_BYTES - len(DECAY_SUMMARY_TRUNCATION_SUFFIX.encode())
    for character in ("é", "京", "🦩"):
        for offset in range(4):
            cut = cut_claim("x" * offset + character * DECAY_SUMMARY_MAX_CLAIM_BYTES)
            kept = cut.removesuffix(DECAY_SUMMARY_TRUNCATION_SUFFIX)
            assert set(kept) <= {"x", character}
            assert room - len(character.encode()) < len(kept.encode()) <= room
    whole = "y" * DECAY_SUMMARY_MAX_CLAIM_BYTES
    assert cut_claim(whole) == whole


def test_repeated_sources_count_once() -> None:
    one, two = (DecaySource(name, name, 1.0, "Agent", _START) for name in "ab")
    assert summarise([one, two, one, two, one]) == summarise([one, two])
