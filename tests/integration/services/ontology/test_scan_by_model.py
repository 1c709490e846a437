"""The optional model of the scan: its findings stand under the evidence rules of all others, and its failures take nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import UUID

import orjson
import pytest

from models.errors import ModelUnavailable
from models.language.language import ConverseAnswer, ConverseRequest, TokenUsage
from sidecar.services.day_ceiling import DayCeiling
from sidecar.services.ontology.model_signals import ScanModel, read_findings
from sidecar.services.ontology.scanning import Scans
from sidecar.services.ontology.suggesting import SeenText
from store.content.memories import NewMemory
from store.db.postgres import Pools
from tests.support.compiler.compiling import NOW, SCOPE, Clock, engine_on, write_and_compile

SAID = {
    "m1": "Our weekend began on the ferry Andorinha, which leaves at nine.",
    "m2": "Nobody had told us that the ferry Gaivota leaves at ten.",
    "m3": "Dona Odete manages Casa Lola with a firm hand.",
    "m4": "Old Tomás manages Bar do Cais since spring.",
}
FERRIES = [
    {"sentence": "Andorinha", "kind": "type", "word": "ferry", "names": ["Andorinha"]},
    {"sentence": "Gaivota", "kind": "type", "word": "ferry", "names": ["Gaivota"]},
    {"sentence": "Casa Lola", "kind": "relationship", "word": "manages", "names": ["Dona Odete", "Casa Lola"]},
    {"sentence": "Bar do Cais", "kind": "relationship", "word": "manages", "names": ["Tomás", "Bar do Cais"]},
]
INVENTED = [
    {"sentence": "Gaivota", "kind": "type", "word": "submarine", "names": ["Gaivota"]},
    {"sentence": "Andorinha", "kind": "type", "word": "submarine", "names": ["Andorinha"]},
    {"sentence": "Andorinha", "kind": "type", "word": "ferry", "names": ["Titanic"]},
    {"sentence": 99, "kind": "type", "word": "ferry", "names": ["Gaivota"]},
    {"sentence": "Casa Lola", "kind": "relationship", "word": "manages", "names": ["Casa Lola"]},
    "nonsense",
    {"kind": "type"},
]


class Scripted:
    """A model that answers with findings, the sentence of each named by a word of it; or fails."""

    def __init__(self, findings: list[Any], *, fails: bool = False) -> None:
        self.findings = findings
        self.fails = fails
        self.asked = 0

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        self.asked += 1
        if self.fails:
            raise ModelUnavailable("down")
        sentences = {one["text"]: one["n"] for one in orjson.loads(request.user)["sentences"]}
        told = [self._numbered(one, sentences) for one in self.findings]
        return ConverseAnswer(request.model_id, "", "end", TokenUsage(1, 1), {"findings": told})

    def _numbered(self, one: Any, sentences: dict[str, int]) -> Any:
        if not isinstance(one, dict) or not isinstance(one.get("sentence"), str):
            return one
        return {**one, "sentence": next(n for text, n in sentences.items() if one["sentence"] in text)}


def opened(pools: Pools, model: Scripted) -> Callable[[], AbstractAsyncContextManager[ScanModel]]:
    @asynccontextmanager
    async def one() -> AsyncIterator[ScanModel]:
        yield ScanModel(model, "scripted", DayCeiling(None, pools.background, Clock(), "ontology_scan"))

    return one


async def proposed(pools: Pools, model: Scripted | None) -> dict[str, list[str]]:
    """Return the quotes of what a scan proposes, by the term's slug."""
    await write_and_compile(pools, [NewMemory(text, key, NOW) for key, text in SAID.items()], engine_on(pools))
    scans = Scans(pools, now=Clock(), **({"model": opened(pools, model)} if model else {}))
    found = (await scans.scan(SCOPE.tenant_id)).change_set
    return {one.item.value["slug"]: [each.quote for each in one.evidence] for one in found.items} if found else {}


async def test_model_findings_need_their_words_in_the_sentence(pools: Pools) -> None:
    model = Scripted([*FERRIES, *INVENTED])
    found = await proposed(pools, model)
    assert model.asked == 1
    assert {"ferry", "manages"} <= set(found)
    assert "submarine" not in found
    assert set(found["ferry"]) == {SAID["m1"], SAID["m2"]}


async def test_scan_works_without_a_model_and_with_a_failing_one(pools: Pools) -> None:
    without = await proposed(pools, None)
    failing = Scripted(FERRIES, fails=True)
    assert await proposed(pools, failing) == without
    assert failing.asked == 1
    assert "ferry" not in without


@pytest.mark.parametrize("names", [["Andorinha"], ["Andorinha", "Andorinha"]])
def test_word_that_is_in_no_sentence_is_no_finding(names: list[str]) -> None:
    seen = [(SeenText(UUID(int=1), "m1", SAID["m1"], NOW), SAID["m1"])]
    told = {"findings": [{"sentence": 1, "kind": "type", "word": "tram", "names": names}]}
    assert not read_findings(told, seen)
