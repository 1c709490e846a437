"""An owner's export: what is in it, reading it back, and what happens meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli.content import owner_export
from sidecar.cli.root import run
from sidecar.cli.shared.failures import FAILED, OK, REFUSED, USAGE
from sidecar.client import NewMemory, NewTurn, Sidecar, Stance, ToolCall, ToolResult
from tests.support.served.site import Site
from tests.support.served.wiki_site import JOURNAL, WikiCaller, retain_journal, worked
from tests.support.waiting import PATIENCE_S

Command = Callable[..., Awaitable[tuple[int, str, str]]]

SAID = datetime(2026, 3, 1, 9, tzinfo=UTC)
SLASHED, FOREIGN = "team/42/mara ../x", "أحمد/田中"
TURNS = (
    NewTurn(client_turn_id="1/a", role="system", text="Answer in Portuguese."),
    NewTurn(client_turn_id="پیام ۲", role="user", text="  Which ferry?\r\n\u2028 ", speaker="Åsa"),
    NewTurn(
        client_turn_id="3", role="assistant", parts=[ToolCall("c1", "ferries", {"to": "Porto", "at": [9, 0.5, None]})]
    ),
    NewTurn(client_turn_id="4", role="tool", text="two", parts=[ToolResult("c1", "two ferries"), ToolResult("c1", "")]),
)
# Of two exports of one content, these differ: what the service sets, and what is not imported.
SET_BY_SERVICE = {"turn_id", "is_imported", "create_time", "update_time", "position"}
NOT_IMPORTED = {"compressed", "source_events", "source_episodes", "status_changes", "supersessions"}


@pytest.fixture
def command(site: Site, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command as an admin of the tenant, and returns its exit code, output and errors."""
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", admin=True))
    monkeypatch.setenv("SIDECAR_ADDRESS", site.app.addresses[0])

    async def typed(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(partial(run, arguments))
        heard = capsysbinary.readouterr()
        return code, heard.out.decode(), heard.err.decode()

    return typed


@pytest.fixture
def client(site: Site) -> Iterator[Sidecar]:
    """A client as an admin."""
    with Sidecar(site.app.addresses[0], site.token(admin=True)) as one:
        yield one


def acting(client: Sidecar, owner: str) -> Sidecar:
    return client.taking(Stance(owner_id=owner))


def fill(owner: Sidecar) -> None:
    """Write turns and memories with every field."""
    turns = [
        NewTurn(**{**_fields(turn), "said_time": SAID + timedelta(minutes=place)}) for place, turn in enumerate(TURNS)
    ]
    turn_ids = owner.append_turns(thread_id="trip/ö", title="Ferries / ferries", turns=turns).turn_ids
    owner.append_turns(thread_id="untitled", turns=[NewTurn(client_turn_id="1", role="user", text="Hello.")])
    day: dict[str, Any] = {"valid_from_time": SAID, "valid_precision": "day"}
    owner.retain(
        memories=[
            NewMemory(
                memory_id="m/1", text=" Takes the ferry.\n", turn_ids=turn_ids[1:3], authority="User", pinned=True
            ),
            NewMemory(
                memory_id="記憶", text="Maybe likes trams.", status="candidate", confidence=0.4, domains=["travel"]
            ),
            NewMemory(
                memory_id="m3", text="Hates trams.", status="rejected", metadata={"place": {"name": "Porto"}, "n": 3}
            ),
            NewMemory(memory_id="m4", text="Lived in Lisbon.", memory_type="principle", document_id="doc/1", **day),
            NewMemory(memory_id="m5", text="Lives by the sea.", valid_from_time=SAID, valid_precision="year"),
            *(NewMemory(memory_id=f"c{one}", text=f"Maybe {one}.", status="candidate") for one in range(2)),
        ]
    )
    moved = NewMemory(
        memory_id="m6", text="Lives inland.", valid_from_time=datetime(2026, 5, 7, tzinfo=UTC), valid_precision="day"
    )
    owner.supersede(superseded_ids=["m5"], edit=moved)
    owner.compress_memories(memory_ids=["c0", "c1"])


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines() if line]


def content(lines: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return what a round trip keeps, by kind, with turns named by their places."""
    places = {one["turn_id"]: (one["thread_id"], one["client_turn_id"]) for one in lines if one["sidecar"] == "turn"}
    kept: dict[str, list[dict[str, Any]]] = {"thread": [], "turn": [], "memory": []}
    for one in lines:
        if one["sidecar"] in kept:
            fields = {name: value for name, value in one.items() if name not in SET_BY_SERVICE | NOT_IMPORTED}
            if one["sidecar"] == "memory":
                fields["turn_ids"] = [places[turn_id] for turn_id in one["turn_ids"]]
                fields |= (
                    {"valid_precision": one["until_precision"]} if one["valid_until_time"] else {}
                )  # the finer of both
            kept[one["sidecar"]].append(fields)
    kept["memory"].sort(key=lambda one: one["memory_id"])
    return kept


async def exported(command: Command, file: Path, owner: str) -> list[dict[str, Any]]:
    code, out, err = await command("owner", "export", str(file), "--owner", owner, "--json")
    assert code == OK, err
    lines = read(file)
    assert {**json.loads(out), "sidecar": "end"} == {**lines[-1], "file": str(file)}
    return lines


async def imported(command: Command, file: Path, owner: str) -> None:
    for group in ("thread", "memory"):
        code, out, err = await command(group, "import", str(file), "--owner", owner)
        assert code == OK, (out, err)


async def test_exported_forgotten_and_imported_owner_has_the_same_content(
    client: Sidecar, command: Command, tmp_path: Path
) -> None:
    await asyncio.to_thread(fill, acting(client, SLASHED))
    first = await exported(command, tmp_path / "first.jsonl", SLASHED)
    assert (await command("owner", "forget", "--owner", SLASHED, "--yes"))[0] == OK
    await imported(command, tmp_path / "first.jsonl", FOREIGN)
    second = await exported(command, tmp_path / "second.jsonl", FOREIGN)
    assert content(second) == content(first)
    assert len(content(first)["memory"]) == 9
    ended = next(one for one in second if one.get("memory_id") == "m5")
    assert (ended["valid_from_time"], ended["valid_until_time"]) == ("2026-01-01T00:00:00Z", "2026-05-07T00:00:00Z")
    await imported(command, tmp_path / "second.jsonl", SLASHED)
    assert content(await exported(command, tmp_path / "third.jsonl", SLASHED)) == content(first)
    belief = await asyncio.to_thread(acting(client, FOREIGN).explain_memory, memory_id="m/1")
    assert [turn.thread_id for turn in belief.turns] == ["trip/ö", "trip/ö"]
    gone = await asyncio.to_thread(acting(client, FOREIGN).forget, thread_id="trip/ö")
    assert gone.memory_ids == ("m/1",)


async def test_an_import_into_the_same_owner_changes_nothing(client: Sidecar, command: Command, tmp_path: Path) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    await exported(command, tmp_path / "first.jsonl", "mara")
    code, out, _ = await command("thread", "import", str(tmp_path / "first.jsonl"), "--owner", "mara", "--json")
    assert (code, json.loads(out)["new"], json.loads(out)["known"]) == (OK, 0, 5)
    code, out, _ = await command("memory", "import", str(tmp_path / "first.jsonl"), "--owner", "mara", "--json")
    assert (code, json.loads(out)["created"], json.loads(out)["skipped"]) == (OK, 0, [])


async def test_memory_has_its_history_and_page_its_cited_memories(
    site: Site, client: Sidecar, command: Command, tmp_path: Path
) -> None:
    await retain_journal(WikiCaller(site))
    await worked(site)
    mara = acting(client, "mara")
    await asyncio.to_thread(mara.archive_page, page="suerte")
    await asyncio.to_thread(mara.set_memory_status, memory_id="m1", status="rejected", rule="not hers")
    await asyncio.to_thread(partial(mara.supersede, superseded_ids=["m2"], memory_id="m6", evidence="said so"))
    lines = await exported(command, tmp_path / "one.jsonl", "mara")
    memories = {one["memory_id"]: one for one in lines if one["sidecar"] == "memory"}
    assert [one["rule"] for one in memories["m1"]["status_changes"]] == ["not hers"]
    assert [one["evidence"] for one in memories["m2"]["supersessions"]] == ["said so"]
    pages = {one["slug"]: one for one in lines if one["sidecar"] == "page"}
    assert (pages["suerte"]["status"], pages["franklin-barbecue"]["status"]) == ("archived", "active")
    sources = [source for section in pages["franklin-barbecue"]["sections"] for source in section["sources"]]
    assert {one["memory_id"] for one in sources} == {"m3", "m4"}
    assert memories.keys() == JOURNAL.keys()


async def test_export_without_history_has_the_same_memories(client: Sidecar, command: Command, tmp_path: Path) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    file = tmp_path / "plain.jsonl"
    assert (await command("owner", "export", str(file), "--owner", "mara", "--no-history"))[0] == OK
    assert all("status_changes" not in one for one in read(file))
    assert content(read(file)) == content(await exported(command, tmp_path / "whole.jsonl", "mara"))


async def test_owner_that_has_nothing_has_an_export_that_imports_nothing(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    code, out, err = await command("owner", "export", str(file), "--owner", "nobody")
    assert (code, out, err) == (OK, f"{file}: 0 turns in 0 threads, 0 memories, 0 pages\n", "")
    assert [one["sidecar"] for one in read(file)] == ["owner", "end"]
    for group, noun in (("thread", "turns"), ("memory", "memories")):
        code, out, _ = await command(group, "import", str(file), "--owner", "nobody")
        assert (code, f"the export: it has no {noun}" in out) == (OK, True)


async def test_export_goes_to_standard_output_with_the_counts_beside_it(client: Sidecar, command: Command) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    code, out, err = await command("owner", "export", "-", "--owner", "mara")
    kinds = [json.loads(line)["sidecar"] for line in out.split("\n") if line]
    assert (code, kinds[0], kinds[-1], kinds.count("turn")) == (OK, "owner", "end", 5)
    assert err == "5 turns in 2 threads, 9 memories, 0 pages\n"
    assert (await command("owner", "export", "-", "--json"))[0] == USAGE


async def test_file_is_the_users_alone_and_an_old_one_stays_until_the_end(
    site: Site, client: Sidecar, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    folder = tmp_path / "exports"
    folder.mkdir()
    file = folder / "mara.jsonl"
    file.write_text("older")
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("other", admin=True))
    code, _, err = await command("owner", "export", str(file), "--tenant", "acme", "--owner", "mara")
    assert (code, "PERMISSION_DENIED" in err or "tenant" in err) == (REFUSED, True)
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", owner="noor"))
    assert (await command("owner", "export", str(file), "--owner", "mara"))[0] == REFUSED
    assert (file.read_text(), list(folder.iterdir())) == ("older", [file])
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", owner="mara"))
    assert (await command("owner", "export", str(file)))[0] == OK
    assert (stat.S_IMODE(file.stat().st_mode), list(folder.iterdir())) == (0o600, [file])
    for place in ("/dev/null", str(tmp_path / "absent" / "file")):
        code, _, err = await command("owner", "export", place)
        assert (code, "name another" in err) == (FAILED, True), err


async def test_export_that_is_killed_leaves_no_file_of_its_name(site: Site, client: Sidecar, tmp_path: Path) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    program = """
import os, signal, sys
from sidecar.cli.content import owner_export
from sidecar.cli.root import run
encoded = owner_export.encoded
def killed(line):
    if line["sidecar"] == "memory":
        os.kill(os.getpid(), signal.SIGKILL)
    return encoded(line)
owner_export.encoded = killed
run(sys.argv[1:])
"""
    folder = tmp_path / "exports"
    folder.mkdir()
    command = [sys.executable, "-c", program, "owner", "export", str(folder / "mara.jsonl"), "--owner", "mara"]
    environment = {**os.environ, "SIDECAR_TOKEN": site.token(admin=True), "SIDECAR_ADDRESS": site.app.addresses[0]}
    done = await asyncio.to_thread(subprocess.run, command, env=environment, check=False, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGKILL
    assert [one.suffix for one in folder.iterdir()] == [".part"]


async def test_value_that_moves_between_pages_of_a_list_is_exported_once(client: Sidecar) -> None:
    """Thread 0 and memory 0 would come last, and are written to, hence first, while the first page is being read."""
    mara = acting(client, "mara")

    def written(place: int, said: datetime) -> None:
        turn = NewTurn(client_turn_id=f"{said}", role="user", text=f"Hello {place}.", said_time=said)
        mara.append_turns(thread_id=f"t{place}", turns=[turn])
        mara.retain(memories=[NewMemory(memory_id=f"m{place}", text=f"Number {place}.", occurred_time=said)])

    def read_meanwhile() -> list[dict[str, Any]]:
        for place in range(6):
            written(place, SAID + timedelta(hours=place))
        lines = []
        for line in owner_export.lines(mara, {}, at_once=2):
            lines.append(line)
            if line.get("thread_id") == "t5" and line["sidecar"] == "turn":
                written(0, SAID + timedelta(days=1))
            if line.get("memory_id") == "m5":
                written(0, SAID + timedelta(days=2))
                mara.forget(memory_id="m3")
        return lines

    lines = await asyncio.to_thread(read_meanwhile)
    assert sorted(one["thread_id"] for one in lines if one["sidecar"] == "thread") == [
        f"t{place}" for place in range(6)
    ]
    memory_ids = sorted(one["memory_id"] for one in lines if one["sidecar"] == "memory")
    assert memory_ids == ["m0", "m1", "m2", "m4", "m5"]
    assert (lines[-1]["threads"], lines[-1]["turns"], lines[-1]["memories"]) == (6, 7, 5)


async def test_thread_or_page_that_vanishes_after_it_was_listed_is_left_out(site: Site, client: Sidecar) -> None:
    await retain_journal(WikiCaller(site))
    await worked(site)
    mara = acting(client, "mara")

    def read_meanwhile() -> list[dict[str, Any]]:
        for thread_id in ("t1", "t2"):
            mara.append_turns(thread_id=thread_id, turns=[NewTurn(client_turn_id="1", role="user", text="Hello.")])
        lines = []
        for line in owner_export.lines(mara, {}):
            lines.append(line)
            if line["sidecar"] == "turn":
                mara.forget(thread_id="t1" if line["thread_id"] == "t2" else "t2")
            if line["sidecar"] == "page" and line["slug"] == "casa-lola":
                mara.delete_page(page="suerte")
        return lines

    lines = await asyncio.to_thread(read_meanwhile)
    assert [one["sidecar"] for one in lines].count("thread") == 1
    slugs = [one["slug"] for one in lines if one["sidecar"] == "page"]
    assert "franklin-barbecue" in slugs
    assert "suerte" not in slugs
    assert lines[-1]["pages"] == len(slugs)


async def test_cut_off_export_is_imported_in_part_and_reported(
    client: Sidecar, command: Command, tmp_path: Path
) -> None:
    await asyncio.to_thread(fill, acting(client, "mara"))
    file = tmp_path / "mara.jsonl"
    lines = await exported(command, file, "mara")
    file.write_text("\n".join(map(json.dumps, lines[:6])))
    code, out, _ = await command("thread", "import", str(file), "--owner", "noor", "--json")
    assert (code, json.loads(out)["new"], "cut off" in json.loads(out)["skipped"][0]) == (FAILED, 3, True)
