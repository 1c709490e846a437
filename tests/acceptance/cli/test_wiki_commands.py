"""The wiki's commands against a served sidecar: commands, output and exit codes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli.root import run
from tests.support.served.site import Site
from tests.support.served.wiki_site import JOURNAL, worked

Command = Callable[..., Any]


@pytest.fixture
def command(site: Site, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command as an admin of the tenant for its owner, and returns its exit code, output and errors."""
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", admin=True))
    monkeypatch.setenv("SIDECAR_ADDRESS", site.app.addresses[0])

    async def typed(*arguments: str, as_json: bool = True, group: str = "wiki") -> tuple[int, Any, str]:
        options = ["--json"] if as_json else []
        code = await asyncio.to_thread(partial(run, [group, *arguments, "--owner", "mara", *options]))
        heard = capsysbinary.readouterr()
        out = heard.out.decode()
        return code, json.loads(out) if as_json and out else out, heard.err.decode()

    return typed


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A file of journal records, one of them broken."""
    file = tmp_path / "journal.jsonl"
    lines = [
        json.dumps({"id": memory_id, "text": text, "place": {"name": place, "city": "Austin"}, "tags": ["food"]})
        for memory_id, (text, place) in JOURNAL.items()
    ]
    file.write_text("\n".join([*lines, '{"id": "broken"}']))
    return file


async def test_journal_is_imported_and_compiled_into_pages(
    site: Site, command: Command, journal: Path, tmp_path: Path
) -> None:
    code, facts, _ = await command("import", str(journal))
    assert (code, facts["created"], facts["refused"], len(facts["skipped"])) == (1, 6, 1, 1)
    _, preview, _ = await command("compile", "--dry-run")
    assert preview["preview"]["memory_count"] == 6
    following = asyncio.create_task(command("watch"))
    await worked(site)
    code, job, _ = await following
    assert (code, job["status"], job["metrics"]["records_read"]) == (0, "succeeded", 6)
    code, shown, _ = await command("show", "casa lola", as_json=False)
    assert code == 0
    assert "Casa Lola  (/wiki/entity/casa-lola)" in shown
    assert {"← m1", "← m2"} <= {line.strip() for line in shown.splitlines()}
    _, hits, _ = await command("search", "empan")
    assert hits[0]["page"]["slug"] == "casa-lola"
    _, cited, _ = await command("cite", "m3")
    assert {one["page"]["slug"] for one in cited} >= {"franklin-barbecue"}
    _, graph, _ = await command("graph")
    assert {"casa-lola", "suerte"} <= {node["slug"] for node in graph["nodes"]}
    for name in ("list", "mentions", "jobs", "lint", "density", "reads", "backfill", "quarantine"):
        code, text, _ = await command(name, as_json=False)
        assert (code, bool(text)) == (0, True), name
    code, facts, _ = await command("export", str(tmp_path / "vault"))
    files = {one.relative_to(tmp_path / "vault").as_posix() for one in (tmp_path / "vault").rglob("*.md")}
    assert facts["files"] == len(files)
    assert "entity/casa-lola.md" in files
    await command("density", "--append", str(tmp_path / "metrics"))
    assert len(list((tmp_path / "metrics").glob("wiki-link-density-*.md"))) == 1


async def test_waiting_import_reports_the_end_of_its_compile_in_one_document(
    site: Site, command: Command, journal: Path
) -> None:
    importing = asyncio.create_task(command("import", str(journal), "--wait"))
    while not importing.done():
        await worked(site)
        await asyncio.wait([importing], timeout=0.05)
    code, facts, _ = await importing
    assert (code, facts["created"], facts["job"]["status"]) == (1, 6, "succeeded"), "a line was refused"
    journal.write_text("\n".join(journal.read_text().splitlines()[:-1]))
    code, facts, _ = await command("import", str(journal), "--wait")
    assert (code, facts["unchanged"], facts["job_id"]) == (0, 6, ""), "nothing is new, so there is nothing to wait for"


async def test_edges_of_pages_that_are_not_there_are_skipped_and_named(
    site: Site, command: Command, journal: Path, tmp_path: Path
) -> None:
    await command("import", str(journal))
    await worked(site)
    paths = ("/wiki/entity/casa-lola", "/wiki/entity/nowhere", "/wiki/entity/suerte")
    file = tmp_path / "edges.json"
    edges = [{"@type": "Edge", "edge_type": "located_in", "source": paths[0], "target": target} for target in paths[1:]]
    file.write_text(json.dumps(edges))
    code, facts, _ = await command("import", str(file), group="graph")
    assert (code, facts["stated"], len(facts["skipped"])) == (1, 1, 1), facts
    assert "/wiki/entity/nowhere: There is no such page" in facts["skipped"][0]
    code, text, _ = await command("import", str(file), group="graph", as_json=False)
    assert text.splitlines()[0] == "stated 1 edge, skipped 1"


async def test_file_that_cannot_be_written_is_a_one_line_error(command: Command, tmp_path: Path) -> None:
    for group in ("graph", "ontology"):
        code, error, said = await command("export", str(tmp_path / "nowhere" / "file"), group=group)
        assert (code, "name another file" in error["error"]["message"]) == (1, True), group
        assert said.count("\n") == 1


async def test_detail_that_is_not_there_is_a_failure(command: Command) -> None:
    code, answer, _ = await command("query", "--detail", "nope", group="brain")
    assert (code, [one["status"] for one in answer["details"]]) == (1, ["invalid"])


async def test_acts_report_their_effect_and_reads_change_nothing(site: Site, command: Command, journal: Path) -> None:
    await command("import", str(journal))
    await worked(site)
    code, alias, _ = await command("alias", "suerte", "The Masa Place")
    assert (code, alias.get("alias")) == (0, "the masa place"), alias
    code, would, _ = await command("reset", "--full", "--dry-run")
    assert code == 0
    assert would["page_count"] >= 3
    code, page, _ = await command("archive", "the masa place")
    assert (code, page["status"]) == (0, "archived")
    _, pages, _ = await command("list")
    assert len(pages) == would["page_count"] - 1
    code, effect, _ = await command("retry", "--all")
    assert (code, effect["memory_count"], effect["job"]) == (0, 0, None)
    code, effect, _ = await command("rollback", "co_mention", "--yes")
    assert (code, effect["evidence_count"] >= 0) == (0, True)
    for path in ("/wiki/entity/casa-lola", None):
        code, effect, _ = await command("delete", "casa lola", "--yes")
        assert (code, effect["deleted"]) == (0, path)
    code, error, said = await command("show", "casa lola")
    assert (code, error["error"]["code"]) == (1, "NOT_FOUND")
    assert said.count("\n") == 1
    rebuilding = asyncio.create_task(command("rebuild", "--full", "--yes"))
    while not rebuilding.done():
        await worked(site)
        await asyncio.wait([rebuilding], timeout=0.05)
    code, job, said = await rebuilding
    assert (code, job["status"]) == (0, "succeeded"), said
    _, pages, _ = await command("list")
    assert len(pages) == would["page_count"]


async def test_wrong_usage_is_a_one_line_error(command: Command, tmp_path: Path) -> None:
    for arguments in (
        ("show", " "),
        ("search", " "),
        ("watch", "nonsense"),
        ("cancel", "nonsense"),
        ("cite", "a\nb"),
        ("retry", "a\nb"),
    ):
        code, _, said = await command(*arguments, as_json=False)
        assert (code, said.count("\n")) == (2, 1), arguments
    (tmp_path / "empty.jsonl").write_text("")
    code, _, said = await command("import", str(tmp_path / "empty.jsonl"), as_json=False)
    assert "Traceback" not in said


async def test_edges_are_shown_as_they_were_known(site: Site, command: Command, journal: Path) -> None:
    async def graph(*arguments: str) -> tuple[int, Any]:
        code, out, _ = await command(*arguments, group="graph")
        return code, out

    await command("import", str(journal))
    await worked(site)
    before = datetime.now(UTC).isoformat()
    code, edge = await graph("set", "suerte", "mentions", "franklin-barbecue", "--since", "2024-01-01")
    assert (code, edge["edge_type"]) == (0, "mentions")
    for asked in (
        ("edges", "suerte"),
        ("query", "suerte", "mentions"),
        ("path", "suerte", "franklin-barbecue", "--type", "mentions"),
    ):
        for known, holds in (((), True), (("--known-at", before), False)):
            code, found = await graph(*asked, *known)
            edges = [one for path in found for one in path.get("edges", [path])]
            assert (code, "mentions" in {one["edge_type"] for one in edges}) == (0, holds), (asked, known)
    code, shown = await graph("rollback", "mentions", "--dry-run")
    assert (code, shown["evidence_count"]) == (0, 0), "what an operator stated is none of the rules'"
