"""What a rule releases, what a copy holds, and how far it is trusted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from compiler.releases.rules import (
    contradicted,
    copy_of,
    fingerprint,
    is_releasable,
    rule_for,
)
from store.content.memories import Memory
from store.content.tiers import MemoryStatus
from store.content.validity import Validity
from store.tenancy.brain import ReleaseRule, RuleState
from tests.support.compiler.compiling import NOW

PLAIN = Memory("m1", "The gate code is 4417.", NOW, "", {"tags": ["shared"]}, (), NOW, NOW, authority="User")
RULE = ReleaseRule(UUID(int=1), "shared", ("shared",), state=RuleState.APPROVED)


@pytest.mark.parametrize(
    ("changes", "is_it"),
    [
        ({}, True),
        ({"status": MemoryStatus.CANDIDATE}, False),
        ({"status": MemoryStatus.REJECTED}, False),
        ({"is_compressed": True}, False),
        ({"validity": Validity(valid_until=NOW)}, False),
        ({"validity": Validity(valid_until=NOW + timedelta(days=1))}, True),
    ],
)
def test_memory_that_is_not_accepted_or_has_ended_is_not_copied(changes: dict[str, Any], is_it: bool) -> None:
    assert is_releasable(replace(PLAIN, **changes), now=NOW) is is_it


def test_only_an_approved_rule_releases_and_the_one_that_trusts_most_decides() -> None:
    high = replace(RULE, rule_id=UUID(int=9), trust_tier=5)
    for state in (RuleState.PROPOSED, RuleState.WITHDRAWN):
        assert rule_for(PLAIN, [replace(high, state=state)]) is None
    assert rule_for(PLAIN, [RULE, high]) == high


def test_copy_holds_nothing_of_the_owners_things() -> None:
    private = {"tags": ["shared"], "place": {"city": "Lisbon"}, "phone": "555", "thread": "t", "people": ["Eve"]}
    memory = replace(
        PLAIN, metadata=private, document_id="diary", turn_ids=("t1",), is_pinned=True, source_events=("e",)
    )
    copy = copy_of(memory, "c1")
    assert copy.metadata == {"tags": ["shared"], "place": {"city": "Lisbon"}}
    assert (copy.memory_id, copy.document_id, copy.turn_ids, copy.is_pinned) == ("c1", "", (), None)
    assert (copy.source_events, copy.source_episodes) == (None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Other."},
        {"authority": "Agent"},
        {"metadata": {"tags": ["else"]}},
        {"confidence": 0.5},
        {"domains": ("x",)},
    ],
)
def test_fingerprint_changes_only_with_the_content_of_a_copy(changes: dict[str, Any]) -> None:
    assert fingerprint(replace(PLAIN, **changes)) != fingerprint(PLAIN)
    assert fingerprint(replace(PLAIN, memory_id="other", updated_at=NOW + timedelta(days=1))) == fingerprint(PLAIN)


def test_another_number_name_or_negation_in_one_sentence_is_a_contradiction() -> None:
    others = {
        "number": "The gate code is 9921.",
        "same": "The gate code is 4417, as ever.",
        "else": "The harbour opens at nine.",
    }
    assert contradicted("The gate code is 4417.", others) == ["number"]
    assert contradicted("Helios is in Lisbon.", {"no": "Helios is not in Lisbon."}) == ["no"]
