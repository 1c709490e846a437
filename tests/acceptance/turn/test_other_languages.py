"""Recall with the multilingual embedder: questions and texts of different languages find each other."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from tests.support.served.site import ready, served
from tests.support.served.turns import assembled
from tests.support.store.embedding_world import until_embedded

MEMORIES = {
    "best-man": "Jonas is my best man; he keeps the rings.",
    "rent": "Our landlady wants the rent by the third of each month.",
    "diet": "I have not eaten meat since January.",
    "ferry": "The ferry to Burano was an hour late.",
}
QUESTIONS = {
    "Wer ist mein Trauzeuge?": "best-man",
    "Bis wann müssen wir die Miete zahlen?": "rent",
    "Eu ainda como carne?": "diet",
    "¿Cuándo le pagamos el alquiler a la casera?": "rent",
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the engine is for Linux on x86-64"
)


async def test_a_question_finds_its_answer_in_another_language(database: str, tmp_path: Path) -> None:
    settings = await ready(database, tmp_path, embedder="multilingual", embed_deadline_s=20.0)
    async with served(settings) as site:
        caller = site.caller()
        new = [memory_pb2.NewMemory(memory_id=name, text=text) for name, text in MEMORIES.items()]
        await caller.Retain(memory_pb2.RetainRequest(memories=new))
        await until_embedded(site.app.pools)
        for question, answer in QUESTIONS.items():
            knobs = [profile_pb2.SourceKnobs(source=items_pb2.SOURCE_MEMORY, deadline_ms=20_000)]
            request = pb.AssembleContextRequest(
                message=question, model_id="gpt-4o", overrides=profile_pb2.Profile(sources=knobs)
            )
            told = await assembled(caller, request)
            assert max(told.items, key=lambda item: item.score).id == f"memory:{answer}", question
