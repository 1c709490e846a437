"""The words and speakers of a forgotten turn are in no receipt of the later turns of its thread."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from sidecar.turn.receipt import receipt as receipt_rows
from store.accounting import receipts
from store.accounting.receipts import NewReceipt
from store.content import threads
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.tenancy import forgotten, tenants
from store.text.texts import short_hash, text_name
from tests.support.compiler.compiling import NOW

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
WORDS, QUESTION = "gate 4417", "And now?"


@pytest.fixture
async def turn_ids(pools: Pools) -> list[str]:
    """The ids of the two turns of a thread."""
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
    new = [NewTurn("1", "user", "My gate is 4417.", NOW, 5, 5, speaker="Zoe"), NewTurn("2", "user", "Hm.", NOW, 5, 5)]
    async with scoped(pools.background, SCOPE) as connection:
        opened = ThreadToOpen(thread_id="t", title="", fence_key_id="k")
        written = await threads.write(connection, SCOPE, opened, await threads.prepare(new), now=NOW)
    return [str(one) for one in written.turn_ids]


def a_receipt(turn_ids: list[str], thread_id: str = "t") -> NewReceipt:
    """Return a receipt of a later turn of the thread, which searched with the words of the earlier ones."""
    texts = {short_hash(text): text for text in (WORDS, QUESTION)}
    words, question = map(text_name, texts)
    turns = [
        {"id": f"turn:{one}", "text": "", "parts": "", "speaker": speaker}
        for one, speaker in zip(turn_ids, ("Zoe", "Ana"), strict=True)
    ]
    details: dict[str, Any] = {
        "asked": {"message": question},
        "reading": {"parts": [], "thread_words": words, "leaning": 1.0},
        "history": {"turns": turns, "summary": None},
        "sources": [],
    }
    return NewReceipt(SCOPE, uuid4(), "a", thread_id, "gpt-4o", False, 1.0, details, texts, NOW)


async def kept(pools: Pools, receipt: NewReceipt) -> tuple[list[str], tuple[str, ...]]:
    """Return the speakers in the stored receipt, and the words of its reading."""
    async with scoped(pools.background, SCOPE) as connection:
        stored = await receipts.get(connection, SCOPE, receipt.receipt_id)
        assert stored is not None
        hashes = list(receipt_rows.asked_hashes(stored.details))
        texts = await receipts.texts(connection, SCOPE, hashes, now=NOW)
    reading = receipt_rows.reading_of(stored.details, texts)
    assert reading is not None
    return [turn["speaker"] for turn in stored.details["history"]["turns"]], reading.thread_words


async def store(pools: Pools, receipt: NewReceipt) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await receipts.keep_texts(connection, SCOPE, receipt.texts, until=NOW + timedelta(days=7))
        await receipts.insert(connection, [receipt])


async def test_receipts_of_later_turns_lose_the_words_and_the_speaker_of_a_forgotten_turn(
    pools: Pools, turn_ids: list[str]
) -> None:
    receipt = a_receipt(turn_ids)
    await store(pools, receipt)
    assert await kept(pools, receipt) == (["Zoe", "Ana"], ("gate", "4417"))
    async with scoped(pools.background, SCOPE) as connection:
        await receipts.forget_texts(connection, SCOPE, (), [("turn", turn_ids[0])])
    assert await kept(pools, receipt) == (["", "Ana"], ())


async def test_receipts_of_other_threads_keep_their_words(pools: Pools, turn_ids: list[str]) -> None:
    other = a_receipt([str(uuid4()), str(uuid4())], "other")
    await store(pools, other)
    async with scoped(pools.background, SCOPE) as connection:
        await receipts.forget_texts(connection, SCOPE, (), [("turn", turn_ids[0])])
    assert await kept(pools, other) == (["Zoe", "Ana"], ("gate", "4417"))


def test_receipt_of_a_running_turn_is_written_without_them(turn_ids: list[str]) -> None:
    receipt = forgotten.without(a_receipt(turn_ids), lambda kind, ref: (kind, ref) == ("turn", turn_ids[0]))
    assert [turn["speaker"] for turn in receipt.details["history"]["turns"]] == ["", "Ana"]
    assert list(receipt.texts.values()) == [QUESTION]
