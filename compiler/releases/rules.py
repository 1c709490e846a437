"""Matches release rules, makes copies, and rates the trust in them. Pure.

A copy has the trust of the least trusted source that its memory rests on. Only a rule with a reason gives it more.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from hashlib import sha256
from typing import Any

from compiler.plan.facts.facts import contradiction, read
from compiler.plan.facts.past import ORIGIN_KEYS, Origin, origin_of
from store.content.memories import Memory, NewMemory
from store.content.tiers import AuthorityTier, MemoryStatus
from store.tenancy.brain import ReleaseRule, RuleState, SharedDocument, SharedPiece

MAX_COMPARED = 20
_COPIED_KEYS = ("place", "tags", *ORIGIN_KEYS)


class TrustTier(IntEnum):
    """The trust in a statement of the Brain, by its kind of source. Knowledge and activity have the same tier."""

    EXTERNAL = 1
    KNOWLEDGE = 2
    ACTIVITY = 2
    COMPILED = 3
    RELATIONSHIP = 4
    OPERATIONAL = 5


def is_releasable(memory: Memory, *, now: datetime) -> bool:
    """Return whether a memory may be copied at all: it is accepted, in no summary, and still valid."""
    until = memory.validity.valid_until
    return memory.status is MemoryStatus.ACCEPTED and not memory.is_compressed and (until is None or until > now)


def rule_for(memory: Memory, rules: Iterable[ReleaseRule]) -> ReleaseRule | None:
    """Return the approved rule that releases the memory, of several the one with the highest tier; None if there is none."""
    found = [one for one in rules if one.state is RuleState.APPROVED and matches(one, memory)]
    return max(found, key=lambda one: (one.trust_tier, -found.index(one)), default=None)


def rule_for_document(document: SharedDocument, rules: Iterable[ReleaseRule]) -> ReleaseRule | None:
    """Return the approved rule that releases the document, of several the one with the highest tier; None if there is none."""
    found = [one for one in rules if one.state is RuleState.APPROVED and _names(one, document)]
    return max(found, key=lambda one: (one.trust_tier, -found.index(one)), default=None)


def _names(rule: ReleaseRule, document: SharedDocument) -> bool:
    return rule.knowledge_base == document.knowledge_base and rule.document_path in {"", document.path}


def document_trust(rule: ReleaseRule) -> int:
    """Return the tier of a copy of a document's piece: that of knowledge, or the rule's if that is higher."""
    return max(int(TrustTier.KNOWLEDGE), rule.trust_tier)


def copy_of_piece(document: SharedDocument, piece: SharedPiece, copy_id: str) -> NewMemory:
    """Return the copy of a piece of a document: its text, with a document as the origin.

    Title and headings are left out: they may change without the piece.
    """
    return NewMemory(
        piece.text,
        copy_id,
        occurred_at=document.updated_at,
        document_id=str(document.document_id),
        metadata={"origin": Origin.DOCUMENT.value},
        status=MemoryStatus.ACCEPTED,
        authority=AuthorityTier.DERIVED.name.title(),
    )


def asks_for_something(rule: ReleaseRule) -> bool:
    """Return whether the rule has a condition besides the authority: a rule without one would release every memory."""
    return bool(rule.tags or rule.memory_types or rule.metadata or rule.knowledge_base)


def matches(rule: ReleaseRule, memory: Memory) -> bool:
    """Return whether the memory meets the rule's conditions, compared exactly; a rule without conditions matches none."""
    if not asks_for_something(rule) or rule.knowledge_base:
        return False
    if AuthorityTier.parse(memory.authority) < AuthorityTier.parse(rule.least_authority):
        return False
    if rule.memory_types and memory.memory_type not in rule.memory_types:
        return False
    if rule.tags and not {*map(_exact, rule.tags)} & {*map(_exact, tags_of(memory))}:
        return False
    return all(_is_same(memory.metadata.get(key), value) for key, value in (rule.metadata or {}).items())


def tags_of(memory: Memory) -> tuple[str, ...]:
    """Return the memory's tags: those of its metadata, and its domains."""
    tags = memory.metadata.get("tags")
    many = tags if isinstance(tags, list | tuple) else [tags]
    return (*(one for one in many if isinstance(one, str)), *memory.domains)


def tier_of(memory: Memory) -> TrustTier:
    """Return the memory's tier: the lowest of its sources."""
    tiers = {Origin.TOOL: TrustTier.EXTERNAL, Origin.WEBHOOK: TrustTier.EXTERNAL, Origin.DOCUMENT: TrustTier.KNOWLEDGE}
    tier = AuthorityTier.parse(memory.authority)
    by_authority = {AuthorityTier.USER: TrustTier.RELATIONSHIP, AuthorityTier.AGENT: TrustTier.COMPILED}
    found = [by_authority.get(tier, TrustTier.EXTERNAL)]
    if (origin := origin_of(memory.metadata)) in tiers:
        found.append(tiers[origin])
    if memory.document_id:
        found.append(TrustTier.KNOWLEDGE)
    if memory.source_episodes or memory.source_events or (memory.turn_ids and tier is not AuthorityTier.USER):
        found.append(TrustTier.ACTIVITY)
    return min(found)


def trust_of(memory: Memory, rule: ReleaseRule) -> int:
    """Return the tier of a memory's copy: its own, or the rule's if that is higher."""
    return max(int(tier_of(memory)), rule.trust_tier)


def copy_of(memory: Memory, copy_id: str) -> NewMemory:
    """Return the copy of a memory: its text, validity, place and tags, without ids of its owner's threads and documents."""
    kept = {key: memory.metadata[key] for key in _COPIED_KEYS if key in memory.metadata}
    return NewMemory(
        memory.text,
        copy_id,
        occurred_at=memory.occurred_at,
        metadata=kept,
        memory_type=memory.memory_type,
        status=MemoryStatus.ACCEPTED,
        confidence=memory.confidence,
        authority=memory.authority,
        domains=memory.domains,
        valid_from=memory.validity.valid_from,
        stated_until=memory.validity.valid_until,
        valid_precision=memory.validity.valid_precision,
    )


def fingerprint(memory: Memory) -> bytes:
    """Return the SHA-256 of the contents of the memory's copy."""
    return fingerprint_of(copy_of(memory, ""))


def fingerprint_of(copied: NewMemory) -> bytes:
    """Return the SHA-256 of a copy without an id."""
    return sha256(repr(copied).encode("utf-8", "surrogatepass")).digest()


def contradicted(text: str, others: Mapping[str, str]) -> list[str]:
    """Return the ids of the texts that contradict this one: a sentence of either has another number, date, name or negation."""
    sentences = read(text)
    return [one for one, other in others.items() if _differ(sentences, read(other))]


def _differ(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return any(contradiction(old, other).kinds for old in one) or any(contradiction(old, one).kinds for old in other)


def _exact(text: str) -> str:
    """Return the text in Unicode normal form C; letters that only look alike stay different."""
    return unicodedata.normalize("NFC", text)


def _is_same(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == str(value).lower()
    return isinstance(value, str | int | float) and _exact(str(value)) == _exact(wanted)
