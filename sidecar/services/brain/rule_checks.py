"""Validates a proposed release rule. Pure."""

from __future__ import annotations

from compiler.releases.rules import TrustTier, asks_for_something
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_count, read_name, read_text
from store.content.tiers import AuthorityTier
from store.tenancy.brain import ReleaseRule

MAX_CONDITIONS = 50
MAX_CONDITION_CHARS = 200
MAX_REASON_CHARS = 300
MAX_PATH_CHARS = 500


def check_rule(rule: ReleaseRule) -> None:
    """Raise InvalidArgument, naming the field, for a rule that may not be proposed."""
    read_name("name", rule.name)
    if not asks_for_something(rule):
        problem = "matches every memory"
        raise InvalidArgument("rule", problem, "name tags, memory_types or metadata, or a knowledge base")
    _check_document(rule)
    for field, values in (("tags", rule.tags), ("memory_types", rule.memory_types)):
        check_count(field, values, most=MAX_CONDITIONS)
        for value in values:
            read_text(field, value, min_chars=1, max_chars=MAX_CONDITION_CHARS)
    check_count("metadata", rule.metadata or {}, most=MAX_CONDITIONS)
    for key, value in (rule.metadata or {}).items():
        read_text("metadata", key, min_chars=1, max_chars=MAX_CONDITION_CHARS)
        read_text(f"metadata.{key}", value, min_chars=1, max_chars=MAX_CONDITION_CHARS)
    known = {tier.name.lower() for tier in AuthorityTier}
    if rule.least_authority.lower() not in known:
        raise InvalidArgument("least_authority", f"is {rule.least_authority[:40]!r}", f"send one of {sorted(known)}")
    if not 0 <= rule.trust_tier <= TrustTier.OPERATIONAL:
        raise InvalidArgument("trust_tier", f"is {rule.trust_tier}", "send 1 to 5, or 0 to raise nothing")
    read_text("reason", rule.reason, min_chars=1 if rule.trust_tier else 0, max_chars=MAX_REASON_CHARS)


def _check_document(rule: ReleaseRule) -> None:
    if rule.knowledge_base:
        read_name("knowledge_base", rule.knowledge_base)
        if rule.tags or rule.memory_types or rule.metadata:
            fix = "propose one rule for memories and another for documents"
            raise InvalidArgument("knowledge_base", "is set together with conditions for memories", fix)
    if rule.document_path:
        read_text("document_path", rule.document_path, min_chars=1, max_chars=MAX_PATH_CHARS)
        if not rule.knowledge_base:
            raise InvalidArgument("document_path", "is set without a base", "send its knowledge_base")
