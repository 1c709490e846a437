"""Questions in Portuguese, German and Japanese over text in the same language, by words alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from store.content import memories
from store.content.memories import NewMemory
from store.content.recalling import RecallQuery
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import query_words
from tests.support.places import ROOT

CASES: dict[str, Any] = json.loads(
    (ROOT / "tests" / "support" / "store" / "languages.json").read_text(encoding="utf-8")
)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("language", CASES)
async def test_nearly_every_question_finds_its_text_in_the_first_five(pools: Pools, language: str) -> None:
    scope = Scope(UUID(int=1), UUID(int=11))
    texts, questions = CASES[language]["turns"], CASES[language]["questions"]
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
        new = [NewMemory(text, memory_id=f"m{place}") for place, text in enumerate(texts)]
        await memories.retain(connection, scope, new, now=NOW)
    missed = []
    async with scoped(pools.turn, scope, read_only=True) as connection:
        for question, gold in questions:
            found = await memories.recall(connection, scope, RecallQuery(tuple(query_words(question)), 5))
            if f"m{gold}" not in {memory.memory_id for memory in found.texts}:
                missed.append(question)
    assert len(missed) <= len(questions) // 5, missed
