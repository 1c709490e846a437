"""The ontology by commands: drafted, reviewed, approved, exported, imported and rolled back."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.support.served.commands import said, told
from tests.support.served.site import Site


async def test_ontology_is_governed_by_commands(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tell, say = partial(told, site, capsys, admin=True), partial(said, site, capsys, admin=True)
    assert "no ontology is in force" in (await say("ontology", "types"))[1]
    seeded = await tell("ontology", "draft", "--seed")
    drafted = seeded["change_set_id"]
    item = next(one for one in seeded["items"] if one["key"] == "work")
    edit = ("--accept", "--edit", '{"description": "Something made."}')
    edited = await tell("ontology", "review", drafted, item["item_id"], *edit)
    assert next(one for one in edited["items"] if one["key"] == "work")["decision"] == "accepted"
    assert "Something made." in (await say("ontology", "review", drafted))[1]
    assert drafted in (await say("ontology", "review", "--status", "open"))[1]
    stale, _ = await say("ontology", "approve", drafted, "--revision", "1")
    assert stale != 0
    (made,) = await tell("ontology", "approve", drafted, "--revision", str(edited["revision"]))
    assert made["version"] == 1
    changes = tmp_path / "boats.json"
    changes.write_text(json.dumps([{"kind": "entity_type", "action": "create", "term": {"name": "Boat"}}]))
    boats = await tell("ontology", "draft", str(changes))
    assert (boats["title"], boats["items"][0]["key"]) == ("boats", "boat")
    await tell("ontology", "approve", boats["change_set_id"])
    assert "boat" in (await say("ontology", "versions", "--since", "1"))[1]
    file = tmp_path / "ontology.jsonld"
    assert (await say("ontology", "export", "--format", "jsonld", "--version", "1", str(file)))[0] == 0
    code, _ = await say("ontology", "import", str(file))
    assert code != 0, "version 1 has nothing that version 2 lacks"
    (back,) = await tell("ontology", "rollback", "1")
    assert (back["version"], back["restores"]) == (3, 1)
    assert {one["slug"] for one in (await tell("ontology", "types"))["entity_types"]} >= {"person", "work"}
    assert len(await tell("ontology", "jobs")) == 3
    rejected = await tell("ontology", "draft", "--title", "Again", str(changes))
    assert (await tell("ontology", "review", rejected["change_set_id"], "--reject"))["status"] == "rejected"
    assert (await say("ontology", "scan"))[0] == 0


async def test_unusable_input_of_ontology_commands_is_named(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    changes = tmp_path / "broken.json"
    changes.write_text('{"kind": 1}')
    for arguments in (("draft",), ("draft", str(changes)), ("review", "set", "item"), ("approve", "nonsense")):
        assert (await said(site, capsys, "ontology", *arguments, admin=True))[0] != 0
    changes.write_text("[" * 100_000)
    assert (await said(site, capsys, "ontology", "draft", str(changes), admin=True))[0] == 2
    assert (await said(site, capsys, "ontology", "types"))[0] != 0, "an agent is refused"
