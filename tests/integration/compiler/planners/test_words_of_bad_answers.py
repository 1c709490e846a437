"""A failed answer of a model may quote a memory: once it is forgotten, no row and no log holds the quotation."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from models.language.remote import RemoteModel
from sidecar.services.forgetting.targets import Target
from sidecar.services.memories import Memories
from store.content.memories import NewMemory
from store.db.postgres import Pools
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Cut, Decline, Garble, Raw, Refuse, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import NOW, SCOPE, Clock, fetch, wish, worker_on, write
from tests.support.compiler.model_engines import engine_with
from tests.support.store.held_words import holders

Bad = Callable[[str], Behaviour]


def _misread(word: str) -> Behaviour:
    """Return a plan every field of which holds the word where something else belongs."""
    section = {"slug": word, "heading": word, "proposed_body_md": f"{word} came.", "source_refs": [word]}
    page = {"slug": word, "type": word, "title": word, "sections": [section], "aliases": [word], "reason": word}
    update = {"pageId": word, "sections": [section], "aliases": [word]}
    mention = {"alias": word, "source_ref": word, "reason": word, "suggestedType": word}
    link = {"fromPageId": word, "toPageId": word, "context": word, "edge_type": word, "source_refs": [word]}
    plan = plan_answers.leaf(newPages=[page], pageUpdates=[update])
    extra: dict[str, Any] = {name: [mention] for name in ("unresolvedMentions", "promotions") if name in plan}
    return Say({**plan, **extra, **({"pageLinks": [link]} if "pageLinks" in plan else {}), word: word})


BAD: dict[str, Bad] = {
    "cut off": lambda word: Cut(f'{{"newPages": [{{"title": "{word}'),
    "malformed": lambda word: Garble(f'{{"newPages": "{word}'),
    "declined": lambda word: Decline(f"I will not speak of {word}."),
    "no object": lambda word: Say(f"The memories speak of {word}."),
    "of another shape": lambda word: Say({word: [word]}),
    "misread": _misread,
    "refused": lambda word: Refuse(400, "ValidationException", f"the prompt holds {word}"),
    "no answer of the format": lambda word: Raw(f"<html>{word}</html>".encode()),
    "an error page": lambda word: Raw(f"<html>{word}</html>".encode(), 500),
}


@pytest.mark.parametrize("how", BAD)
async def test_quotation_in_a_failed_answer_is_forgotten_with_the_memory(
    how: str, pools: Pools, model: RemoteModel, site: ModelServer, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    word = "".join(random.SystemRandom().choices("bdghjkpqvwxz", k=14))
    asked: list[Any] = []

    def answer(ask: Ask) -> Behaviour:
        asked.append(ask)
        return BAD[how](word)

    site.by_request = answer
    clock = Clock(NOW)
    rest = [NewMemory(f"Casa Lola had music on night {at}.", f"kept-{at}", NOW) for at in range(3)]
    await write(pools, [NewMemory(f"Casa Lola is where {word.title()} sang.", "told", NOW), *rest])
    await wish(pools)
    engine = engine_with(pools, model, clock=clock)
    for _ in range(6):
        await worker_on(pools, engine).drain_scope(SCOPE)
        clock.move(hours=1)
    assert asked, "the model was asked"
    await Memories(pools, now=clock).forgetting.forget(SCOPE, Target(memory_id="told"))
    assert await holders(database, {"word": word}) == {}
    assert word not in caplog.text.lower()
    assert await fetch(database, "SELECT count(*) FROM memories") == [(3,)]
