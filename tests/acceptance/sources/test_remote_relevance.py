"""Remote memories are judged by their texts: small talk recalls none, relevant hits stay, a malformed one is dropped alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2
from tests.stand_ins import hindsight as hindsight_stand_in
from tests.stand_ins.hindsight import FakeHindsight, Refusal
from tests.support.databases import database_clone
from tests.support.served.site import Site, ready, served
from tests.support.served.turns import asking, assembled, report

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER = "ada"
HIT = "Ada keeps the spare key to the boathouse under the third step."
MEANT = "My molar ached, and Dr. Weber pulled it out in April."
OTHERS = (
    "Thanks to Ben the invoice of March is paid.",
    "The allotment has a new fence, 17 metres long.",
    "Ada prefers trains to planes.",
    "Ben sings in a choir on Thursdays.",
)


class RecallsEverything(FakeHindsight):
    """A remote search that brings whatever it has, the best last: its order says nothing."""

    def recalled(self, bank: str, asked: object) -> tuple[int, object, dict[str, str]]:
        """Return every unit, newest first."""
        names = ("id", "text", "document_id", "mentioned_at", "occurred_start", "metadata")
        units = [{name: unit[name] for name in names} | {"type": "world"} for unit in self.units.get(bank, [])]
        return 200, {"results": units[::-1]}, {}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["none", "minilm"], name="site")
async def _site(
    request: pytest.FixtureRequest, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Site, FakeHindsight, bool]]:
    """A sidecar with one remote memory, by words alone and with the embedder of the default install."""
    home: Path = tmp_path_factory.mktemp("remote")
    fake = RecallsEverything()
    with hindsight_stand_in.serving(fake):
        fake.retain(OWNER, [{"content": text, "document_id": text} for text in (HIT, MEANT, *OTHERS)])
        backend = (
            f'[[hindsight]]\nname = "memories"\ntenant = "acme"\nurl = "{fake.url}"\nowners = {{ ada = "{OWNER}" }}\n'
        )
        (home / "backends.toml").write_text(backend + "deadline_s = 20\nhedge = false\n")
        async with database_clone(migrated_template) as dsn:
            settings = await ready(dsn, home, backends=home / "backends.toml", embedder=request.param)
            async with served(replace(settings, embed_deadline_s=20.0)) as site:
                yield site, fake, request.param != "none"


def question(text: str) -> pb.AssembleContextRequest:
    """Return a question under the default profile."""
    return asking(text, thread_id="")


def recalled(assembly: pb.Assembly) -> list[str]:
    return [item.text for item in assembly.items]


@pytest.mark.parametrize("message", ["Thanks!", "ok, danke dir", "What is 17*23?", "👍", "Good morning :)"])
async def test_small_talk_recalls_no_remote_memory(site: tuple[Site, FakeHindsight, bool], message: str) -> None:
    assembly = await assembled(site[0].caller("acme", OWNER), question(message))
    assert not assembly.degraded
    assert recalled(assembly) == []


async def test_relevant_hit_is_kept_at_any_rank_of_the_service(site: tuple[Site, FakeHindsight, bool]) -> None:
    assembly = await assembled(site[0].caller("acme", OWNER), question("Where is the spare key to the boathouse?"))
    assert HIT in recalled(assembly)
    assert next(item for item in assembly.items if item.text == HIT).rank == 0
    assert all(text not in recalled(assembly) for text in OTHERS[:2])


async def test_hit_by_meaning_is_kept_with_an_embedder(site: tuple[Site, FakeHindsight, bool]) -> None:
    assembly = await assembled(site[0].caller("acme", OWNER), question("Which dentist do I see about my tooth?"))
    first = min(assembly.decisions, key=lambda one: -one.score).item_id
    texts = {item.id: item.text for item in assembly.items}
    assert (texts.get(first) == MEANT) is site[2]


async def test_a_malformed_unit_falls_alone(site: tuple[Site, FakeHindsight, bool]) -> None:
    served_site, fake, _ = site
    unit = {"id": "u1", "text": HIT, "type": "world"}
    answer = {"results": [{"text": "no id"}, unit | {"mentioned_at": "yesterday-ish"}, unit]}
    fake.refusals.append(Refusal(200, json.dumps(answer).encode()))
    assembly = await assembled(
        served_site.caller("acme", OWNER), question("Please say: where is the boathouse's spare key?")
    )
    told = report(assembly, items_pb2.SOURCE_MEMORY)
    assert recalled(assembly) == [HIT]
    assert "memories: 1 unreadable, left out (no id)" in told.reason
    assert not assembly.degraded
