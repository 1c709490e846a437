"""What the browser finds: the demo with turns that were answered, an owner whose texts are hostile, and one with nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sidecar.client import AsyncSidecar, NewMemory, NewTurn, Stance
from sidecar.demo import corpus
from sidecar.process.app import App
from store.compile import ledger
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection

HOSTILE, NOBODY = "zoë <b>", "nobody"
SCRIPT = '<script>alert(1)</script><img src=x onerror="alert(1)">[x](javascript:alert(1))'
LONG = "ß" * 300
MIXED = "שלום עולם, 世界你好。 مرحبا بالعالم! Ünïcödé \u202edcba\u202c 👩‍👩‍👧‍👦"
QUESTIONS = ("Which tasks are still open?", "When does wave 5 run now, and who decides?", "Where was the best coffee?")
_PATIENT_MS = 60_000
_LOCAL = ("thread", "knowledge", "memory", "wiki")
_NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def fill(app: App, token: str) -> None:
    """Ask the demo's owner some questions and report what the answers used; write down what is hostile."""
    stance = Stance(owner_id=corpus.OWNER, deadline_s=120)
    async with AsyncSidecar(app.addresses[0], token, stance=stance) as client:
        for message in QUESTIONS:
            await _answered(client, message, corpus.THREAD)
        await _relate(client)
        await _speak(client.taking(Stance(owner_id=HOSTILE, deadline_s=120)))
    await _write(app)


async def _answered(client: AsyncSidecar, message: str, thread_id: str) -> None:
    patience: dict[str, Any] = {f"{source}.deadline_ms": _PATIENT_MS for source in _LOCAL}
    assembly = await client.assemble_context(
        message=message, model_id=corpus.MODEL, thread_id=thread_id, overrides=patience
    )
    used = [one.id for one in assembly.items[:3]]
    await client.report_usage(
        receipt_id=assembly.receipt_id,
        input_tokens=assembly.budget.used_tokens + 40,
        output_tokens=210,
        used_item_ids=used,
    )


async def _relate(client: AsyncSidecar) -> None:
    """State edges of two types, each with a period of its own."""
    found = (await client.list_pages(page_size=3)).values
    first, second, third = (one.slug for one in found)
    for year, (source, kind, target) in enumerate(
        [(first, "mentions", second), (second, "derived_from", third), (first, "derived_from", third)], start=2021
    ):
        begun, ended = datetime(year, 3, 1, tzinfo=UTC), datetime(year + 2, 6, 1, tzinfo=UTC)
        await client.write_edge(
            page=source, edge_type=kind, target=target, valid_from_time=begun, valid_until_time=ended
        )


async def _speak(client: AsyncSidecar) -> None:
    texts = (SCRIPT, LONG, MIXED, "x " * 40_000, "a" * 90_000)
    turns = [NewTurn(client_turn_id=f"t{number}", role="user", text=text) for number, text in enumerate(texts)]
    await client.append_turns(thread_id=SCRIPT[:60], title=f"{SCRIPT} {MIXED}", turns=turns)
    memories = [NewMemory(memory_id=f"{number} & <i>", text=text) for number, text in enumerate(texts[:4])]
    await client.retain(memories=memories)
    await _answered(client, f"{SCRIPT} {MIXED} ßßß", SCRIPT[:60])


async def _write(app: App) -> None:
    """Write pages with such texts, and memories that are held back, past what a compile would let through."""
    scope = Scope(tenant_uuid(corpus.TENANT), owner_uuid(HOSTILE))
    body = f"{SCRIPT}\n\n{MIXED}\n\n{'word ' * 20_000}\n\n| a | b |\n|---|---|\n| {LONG} | 1 |"
    sections = (NewSection("overview", SCRIPT, body, ("0 & <i>",)), NewSection("notes", LONG, MIXED, ("2 & <i>",)))
    async with scoped(app.pools.background, scope) as connection:
        for slug, title in (("script", SCRIPT), ("long", LONG), ("mixed", MIXED)):
            page = NewPage("entity", slug, title, f"{title} {title}", sections, (MIXED, SCRIPT))
            await pages.put_page(connection, scope, page, now=_NOW)
        held = [
            LedgerEntry(one, "", sha256(one.encode()).digest(), b"", _NOW, MemoryOutcome.QUARANTINED, SCRIPT[:40])
            for one in ("1 & <i>", "gone")
        ]
        await ledger.write(connection, scope, held, now=_NOW)
