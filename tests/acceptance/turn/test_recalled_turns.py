"""Recall through the API, on the default install: by meaning, in any language, and by words when need be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict

from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from tests.stand_ins.model_script import Behaviour, Gate, Late, Refuse, Say
from tests.stand_ins.model_server import model_server
from tests.support.databases import database_clone
from tests.support.places import ROOT
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import assembled, explained, report, said
from tests.support.store.embedding_world import until_embedded

LANGUAGES: dict[str, Any] = json.loads(
    (ROOT / "tests" / "support" / "store" / "languages.json").read_text(encoding="utf-8")
)
MODEL = "gpt-4o"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A sidecar with the embedder of the default install, which may take its time here."""
    home = tmp_path_factory.mktemp("recall")
    async with database_clone(migrated_template) as dsn:
        settings = await ready(dsn, home, embedder="minilm", embed_deadline_s=20.0)
        async with served(settings) as one:
            yield one


async def told(site: Site, *turns: str) -> Caller:
    """Return an owner of a thread of these turns, said by two people by name, each with its vector."""
    caller = site.caller(f"tenant-{uuid4().hex}")
    new = [
        pb.NewTurn(client_turn_id=str(place), role="user", speaker=("Nora", "Emil")[place % 2], text=text)
        for place, text in enumerate(turns)
    ]
    await caller.AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=new))
    await until_embedded(site.app.pools)
    return caller


def narrow(message: str, tokens: int = 160, **sources: bool) -> pb.AssembleContextRequest:
    """Return a question with little room for its context."""
    knobs = [
        profile_pb2.SourceKnobs(
            source=items_pb2.Source.Value(f"SOURCE_{name.upper()}"), enabled=sources.get(name, True), deadline_ms=20_000
        )
        for name in ("thread", "memory", "knowledge", "wiki")
    ]
    overrides = profile_pb2.Profile(sources=knobs, budget_tokens=tokens)
    return pb.AssembleContextRequest(message=message, thread_id="t", model_id=MODEL, overrides=overrides)


FILLER = tuple(f"Errand {number} is to buy {thing}." for number, thing in enumerate(("rope", "flour", "nails") * 12))


@pytest.mark.asyncio(loop_scope="module")
async def test_text_without_a_word_of_the_question_is_found_by_meaning(site: Site) -> None:
    caller = await told(site, "My tooth hurt so much that I had it pulled on Tuesday.", *FILLER)
    assembly = await assembled(caller, narrow("Did Nora see a dentist?"))
    assert "had it pulled" in str(assembly.system_blocks)
    best = max(assembly.items, key=lambda item: item.score)
    assert "had it pulled" in best.text


@pytest.mark.asyncio(loop_scope="module")
async def test_last_exchange_is_included_for_any_question(site: Site) -> None:
    caller = await told(site, "My tooth hurt.", *FILLER)
    assembly = await assembled(caller, narrow("Did Nora see a dentist?"))
    assert f"Nora: {FILLER[-1]}" in [message.text for message in assembly.messages], "two people speak in the thread"


@pytest.mark.asyncio(loop_scope="module")
async def test_receipt_lists_the_features_of_a_relevance(site: Site) -> None:
    caller = await told(site, "My tooth hurt so much that I had it pulled on Tuesday.", *FILLER)
    assembly = await assembled(caller, narrow("Did Nora see a dentist?"))
    receipt = await explained(caller, assembly.receipt_id)
    rows = [item for source in MessageToDict(receipt.details)["sources"] for item in source["items"]]
    features = dict(next(row["features"] for row in rows if row["rank"] == 0))
    assert {"cosine", "same_speaker", "length"} <= features.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_question_finds_its_text_in_its_own_language(site: Site, language: str) -> None:
    case = LANGUAGES[language]
    caller = await told(site, *case["turns"], *FILLER[:4])
    missed = []
    for question, gold in case["questions"]:
        assembly = await assembled(caller, narrow(question, 400))
        ranked = sorted(assembly.decisions, key=lambda one: -one.score)[:3]
        texts = {item.id: item.text for item in assembly.items}
        if not any(case["turns"][gold] in texts.get(one.item_id, "") for one in ranked):
            missed.append(question)
    assert missed == []


@pytest.mark.asyncio(loop_scope="module")
async def test_new_memory_is_found_by_meaning_a_moment_later(site: Site) -> None:
    caller = await told(site, "Hello.")
    await caller.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text="Emil is scared of heights.")]))
    await until_embedded(site.app.pools)
    assembly = await assembled(caller, narrow("Who of my friends is afraid of high places?"))
    assert "scared of heights" in str(assembly.system_blocks)


@pytest.mark.asyncio(loop_scope="module")
async def test_memory_is_dropped_for_the_visible_turns_it_was_drawn_from(site: Site) -> None:
    caller = await told(site, "I sold the sloop to a man from Bar. It was a Sunday.", *FILLER)
    turns = await caller.ListTurns(pb.ListTurnsRequest(thread_id="t", page_size=1))
    memory = memory_pb2.NewMemory(
        memory_id="sold", text="I sold the sloop to a man from Bar.", turn_ids=[turns.turns[0].turn_id]
    )
    await caller.Retain(memory_pb2.RetainRequest(memories=[memory]))
    await until_embedded(site.app.pools)
    assembly = await assembled(caller, narrow("Whom did Nora sell the sloop to?", 2_000))
    (fate,) = [one for one in assembly.decisions if one.item_id == "memory:sold"]
    assert fate.into_item_id == f"turn:{turns.turns[0].turn_id}"


@pytest.mark.parametrize(
    ("embeds", "why"),
    [(None, "no embedder is set up"), (Refuse(), "failed"), (Late(Gate(), Say("never")), "did not answer in time")],
    ids=["none", "failing", "hanging"],
)
async def test_without_vectors_recall_is_by_words_and_reported(
    database: str, tmp_path: Path, embeds: Behaviour | None, why: str
) -> None:
    with model_server() as provider:
        if embeds:
            provider.by_request = lambda _: embeds
        embedder = "openai:broken:4" if embeds else "none"
        settings = await ready(database, tmp_path, embedder=embedder, embedder_base_url=f"{provider.url}/v1")
        assembly = await boat_asked_for(settings, why)
    assert not assembly.degraded
    assert "by words alone" in report(assembly, items_pb2.SOURCE_THREAD).reason
    assert "The boat leaks." in str(assembly)


async def boat_asked_for(settings: Settings, why: str = "") -> pb.Assembly:
    """Return the answer of the first turn whose account of the thread says why; on a busy machine a refusal may come too late."""
    async with served(settings) as site:
        caller = site.caller()
        await caller.AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=said(("The boat leaks.", "Caulk it."))))
        while True:
            assembly = await assembled(caller, narrow("Does the boat leak?"))
            if why in report(assembly, items_pb2.SOURCE_THREAD).reason:
                return assembly
