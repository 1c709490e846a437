"""Generated and hostile input for what `tests/unit/compiler/releases/test_release_rules.py` tests by example."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from compiler.releases.rules import contradicted, matches, tier_of, trust_of
from store.content.memories import Memory
from store.tenancy.brain import ReleaseRule
from tests.unit.compiler.releases.test_release_rules import PLAIN, RULE

ORIGINS: dict[str, int] = {"user": 4, "tool": 1, "webhook": 1, "document": 2}
AUTHORITIES: dict[str, int] = {"User": 4, "Agent": 3, "Candidate": 1, "Derived": 1, "root": 1}

texts = st.text(max_size=12)
some_tags = st.lists(st.text("ab", max_size=2), max_size=3)
memories = st.builds(
    lambda authority, origin, document, turns, events, tags: replace(
        PLAIN,
        authority=authority,
        metadata={"origin": origin, "tags": tags},
        document_id=document,
        turn_ids=turns,
        source_events=events,
    ),
    st.sampled_from(sorted(AUTHORITIES)),
    st.sampled_from(sorted(ORIGINS)),
    st.sampled_from(["", "d"]),
    st.sampled_from([(), ("t",)]),
    st.sampled_from([(), ("e",)]),
    some_tags,
)


@given(memories)
def test_memory_is_trusted_as_the_lowest_of_its_sources(memory: Memory) -> None:
    lowest = [AUTHORITIES[memory.authority], ORIGINS[memory.metadata["origin"]]]
    lowest += [2] if memory.document_id or memory.source_events else []
    lowest += [2] if memory.turn_ids and memory.authority != "User" else []
    assert tier_of(memory) == min(lowest)


@given(memories, st.integers(0, 5))
def test_only_a_rule_raises_a_tier_and_none_lowers_it(memory: Memory, tier: int) -> None:
    assert trust_of(memory, replace(RULE, trust_tier=tier)) == max(tier_of(memory), tier)


@given(memories, some_tags, st.sampled_from(["derived", "agent", "user"]))
def test_rule_without_conditions_matches_nothing_and_each_condition_takes_away(
    memory: Memory, tags: list[str], least: str
) -> None:
    assert not matches(ReleaseRule(UUID(int=2), "all", least_authority=least), memory)
    by_tags = replace(RULE, tags=tuple(tags), least_authority=least)
    narrower = replace(by_tags, memory_types=("fact",), metadata={"origin": "user"})
    assert not tags or not matches(narrower, memory) or matches(by_tags, memory)
    if tags and matches(by_tags, memory):
        assert set(tags) & set(memory.metadata["tags"])


@given(texts, st.dictionaries(texts, texts, max_size=3))
def test_any_texts_are_compared(text: str, others: dict[str, str]) -> None:
    assert set(contradicted(text, others)) <= set(others)
