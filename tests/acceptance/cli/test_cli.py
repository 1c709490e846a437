"""The command line against a sidecar in another process: commands, output and exit codes."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from sidecar.cli.root import run
from store.scope import owner_uuid
from tests.support.places import ROOT
from tests.support.served.command_line import Served, migrated, outcome, serving
from tests.support.waiting import until_blocking

DATA = ROOT / "sidecar" / "demo" / "data"


@pytest.fixture(scope="module")
def served(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A sidecar on a unix socket over a migrated database of the module's own."""
    home = tmp_path_factory.mktemp("served")
    with migrated(migrated_template, home) as environment, serving(environment, home / "serve.log") as one:
        yield one


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document."""
        return json.loads(self.out)


class Terminal:
    """Runs commands against the served sidecar for one owner of the test's own."""

    def __init__(self, capsys: pytest.CaptureFixture[str], owner: str) -> None:
        self._capsys = capsys
        self.owner = owner

    def __call__(self, *arguments: str, owner: str = "") -> Spoken:
        code = run([*arguments, "--tenant", "acme", "--owner", owner or self.owner])
        heard = self._capsys.readouterr()
        assert "Traceback" not in heard.err
        return Spoken(code, heard.out, heard.err)

    def json(self, *arguments: str) -> Any:
        """Return the document of a command that must succeed."""
        spoken = self(*arguments, "--json")
        assert spoken.code == 0, spoken.err
        return spoken.document


@pytest.fixture
def sidecar(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Terminal:
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SIDECAR_ADDRESS", served.environment["SIDECAR_LISTEN"])
    monkeypatch.delenv("SIDECAR_TOKEN", raising=False)
    return Terminal(capsys, request.node.name[:100])


def untitled_pdf() -> bytes:
    target = io.BytesIO()
    canvas = Canvas(target, invariant=1)  # its title is "untitled", as this program writes it
    canvas.drawString(72, 700, "The harbour opens at dawn.")
    canvas.save()
    return target.getvalue()


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A conversation with a tool call, as JSONL."""
    call = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Lisbon"}'}}
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "user", "content": "My gate code is 4417."},
        {"id": "2", "role": "assistant", "content": "", "tool_calls": [call]},
        {"id": "3", "role": "tool", "tool_call_id": "c1", "content": "22 degrees"},
        {"id": "4", "role": "assistant", "content": "Noted; it is warm."},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(json.dumps(message) for message in messages))
    return file


def _assembled(sidecar: Terminal, chat: Path, *options: str) -> Any:
    sidecar.json("thread", "import", str(chat), "--thread", "t1")
    return sidecar.json("assemble", "What is my gate code?", "--thread", "t1", "--model", "gpt-4o", *options)


def test_served_sidecar_is_healthy(sidecar: Terminal, served: Served) -> None:
    done = outcome(["health", "--address", served.environment["SIDECAR_LISTEN"]], {})
    assert (done.returncode, done.stdout, done.stderr) == (0, "SERVING\n", "")


def test_audit_without_an_owner_lists_the_entries_of_every_owner(
    sidecar: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    sidecar.json("memory", "list")
    about = str(owner_uuid(sidecar.owner))

    def is_listed() -> bool:  # an entry is written after its call
        assert run(["audit", "--tenant", "acme", "--json"]) == 0
        return (about, "sidecar.v1.MemoryService/ListMemories") in {
            (one["owner_id"], one["method"]) for one in json.loads(capsys.readouterr().out)
        }

    until_blocking(is_listed)
    assert {one["owner_id"] for one in sidecar.json("audit")} == {about}


class TestThreads:
    def test_import_reports_new_turns_and_a_second_import_reports_none(self, sidecar: Terminal, chat: Path) -> None:
        first = sidecar.json("thread", "import", str(chat), "--thread", "t1", "--title", "Gate")
        assert first == {"threads": ["t1"], "turns": 4, "new": 4, "known": 0, "refused": 0, "skipped": []}
        second = sidecar("thread", "import", str(chat), "--thread", "t1")
        assert second.out == "4 turns in 1 thread: 0 new, 4 known\n"
        assert "using this machine's dev key" in second.err
        listed = sidecar.json("thread", "list")
        assert [(one["thread_id"], one["turn_count"], one["title"]) for one in listed] == [("t1", 4, "Gate")]

    def test_interrupted_import_continues(self, sidecar: Terminal, chat: Path, tmp_path: Path) -> None:
        half = tmp_path / "half.jsonl"
        half.write_text("\n".join(chat.read_text().splitlines()[:2]))
        sidecar.json("thread", "import", str(half), "--thread", "t1")
        whole = sidecar.json("thread", "import", str(chat), "--thread", "t1")
        assert (whole["new"], whole["known"]) == (2, 2)

    def test_thread_is_shown_as_written(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        shown = sidecar("thread", "show", "t1").out
        assert re.search(r"── 1 .*, 1, \d+ tokens\nuser: My gate code is 4417\.", shown)
        assert 'assistant: calls forecast {"city": "Lisbon"}' in shown
        assert "tool: 22 degrees" in shown
        assert [turn["position"] for turn in sidecar.json("thread", "show", "t1", "--limit", "2")] == [1, 2]

    def test_many_turns_are_sent_in_batches(self, sidecar: Terminal, tmp_path: Path) -> None:
        file = tmp_path / "long.jsonl"
        file.write_text(
            "\n".join(json.dumps({"id": str(n), "role": "user", "content": f"turn {n}"}) for n in range(1203))
        )
        assert sidecar.json("thread", "import", str(file), "--thread", "long")["new"] == 1203
        positions = [turn["position"] for turn in sidecar.json("thread", "show", "long", "--limit", "0")]
        assert positions == list(range(1, 1204))

    def test_unreadable_parts_are_named_and_the_rest_is_imported(self, sidecar: Terminal, tmp_path: Path) -> None:
        file = tmp_path / "odd.jsonl"
        file.write_text('{"role": "user", "content": "Olá"}\n{"role": "user"\n{"role": "wizard", "content": "x"}\n')
        spoken = sidecar("thread", "import", str(file), "--thread", "odd")
        assert spoken.code == 1
        assert "1 turn in 1 thread: 1 new, 0 known" in spoken.out
        assert "2 refused: correct them in the file and run the same command again" in spoken.out
        assert f"{file}, line 2" in spoken.out
        assert f"{file}, line 3" in spoken.out

    def test_thread_that_is_not_there_is_not_found(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        for spoken in (sidecar("thread", "show", "nope"), sidecar("thread", "show", "t1", owner="somebody-else")):
            assert (spoken.code, spoken.out) == (1, "")
            assert "list the threads with: sidecar thread list" in spoken.err
        spoken = sidecar("thread", "show", "nope", "--json")
        assert (spoken.code, spoken.document["error"]["code"]) == (1, "NOT_FOUND")

    def test_turn_of_a_thread_without_turns_says_so(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        asked = ("assemble", "Hi", "--model", "gpt-4o")
        new = sidecar(*asked, "--thread", "nope")
        assert (new.code, "The thread 'nope' has no turns yet" in new.err) == (0, True)
        for options in ((), ("--thread", "t1")):
            assert "has no turns yet" not in sidecar(*asked, *options).err

    def test_one_thread_name_for_several_threads_is_refused_and_nothing_is_written(
        self, sidecar: Terminal, tmp_path: Path
    ) -> None:
        file = tmp_path / "two.jsonl"
        file.write_text(
            "\n".join(json.dumps({"id": n, "messages": [{"role": "user", "content": n}]}) for n in ("a", "b"))
        )
        spoken = sidecar("thread", "import", str(file), "--thread", "t1")
        assert spoken.code == 2
        assert "has 2 conversations" in spoken.err
        assert sidecar.json("thread", "list") == []

    def test_file_that_is_no_export_is_a_one_line_error(self, sidecar: Terminal, tmp_path: Path) -> None:
        file = tmp_path / "image.png"
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
        spoken = sidecar("thread", "import", str(file))
        assert spoken.code == 1
        assert spoken.err.splitlines()[-1].startswith(f"sidecar: {file}")


@pytest.fixture
def candidates(tmp_path: Path) -> Path:
    """Six candidates of a year ago, as JSONL."""
    file = tmp_path / "candidates.jsonl"
    lines = [
        {"id": f"c{at}", "text": f"Number {at}.", "status": "candidate", "occurred_at": f"2025-01-0{at}T10:00:00Z"}
        for at in range(1, 7)
    ]
    file.write_text("\n".join(json.dumps(one) for one in lines))
    return file


class TestDecay:
    def test_jobs_are_explained_scheduled_run_and_listed(self, sidecar: Terminal, candidates: Path) -> None:
        sidecar.json("memory", "import", str(candidates))
        [group] = sidecar.json("decay", "explain", "--age-days", "0", "--most-share", "100")
        assert group["memory_ids"] == [f"c{at}" for at in range(1, 7)]
        assert sidecar.json("decay", "jobs") == [], "explaining writes nothing"
        later = ("--at", "9000-01-01", "--kind", "candidate_compression", "c1", "c2")
        [job] = sidecar.json("decay", "schedule", *later)
        assert (job["state"], job["source_ids"]) == ("pending", ["c1", "c2"])
        [ended] = sidecar.json("decay", "run", job["job_id"])
        assert (ended["state"], bool(ended["result_id"])) == ("completed", True)
        assert sidecar.json("decay", "run", job["job_id"]) == [ended], "it stays as it ended"
        assert [one["state"] for one in sidecar.json("decay", "jobs")] == ["completed"]

    def test_run_ends_when_nothing_is_due(self, sidecar: Terminal) -> None:
        assert sidecar.json("decay", "run") == []
        assert "No jobs." in sidecar("decay", "run").out

    def test_thread_is_closed_into_an_episode(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        assert [one["thread_id"] for one in sidecar.json("decay", "close", "t1")] == ["t1"]
        assert sidecar("decay", "close", "nope").code == 1

    def test_policy_out_of_bounds_is_a_usage_error(self, sidecar: Terminal) -> None:
        for option, value in (("--most-sources", "0"), ("--age-days", "-5"), ("--most-share", "101")):
            spoken = sidecar("decay", "explain", option, value)
            assert spoken.code == 2
            assert option.strip("-").replace("-", "_") in spoken.err.replace("-", "_")


class TestForget:
    def test_memory_document_thread_span_and_word_are_forgotten(
        self, sidecar: Terminal, chat: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        planned = sidecar.json("forget", "memory", "mem-0001", "--dry-run")
        assert (planned["is_dry_run"], planned["memory_ids"]) == (True, ["mem-0001"])
        assert sidecar.json("forget", "memory", "mem-0001")["memory_ids"] == ["mem-0001"]
        assert "forgotten: nothing" in sidecar("forget", "memory", "mem-0001").out
        monkeypatch.setattr("sys.stdin", io.StringIO())
        assert sidecar("forget", "thread", "t1").code == 2, "it asks first, and there is no terminal"
        assert "forgotten: 4 turns, 1 thread" in sidecar("forget", "thread", "t1", "--yes").out
        assert "forgotten: nothing" in sidecar("forget", "thread", "t1", "--yes").out
        hits = [one["confirm_id"] for one in sidecar.json("forget", "word", "Lisbon")["hits"]]
        assert hits[0] in sidecar("forget", "word", "Lisbon").out
        gone = sidecar.json("forget", "word", "Lisbon", "--confirm", hits[0])
        assert gone["memory_ids"] == [hits[0].removeprefix("memory:")]
        assert sidecar.json("forget", "range", "2000-01-01", "2100-01-01", "--yes")["memory_ids"]
        assert sidecar.json("memory", "list") == []

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (("memory", ""), "MEMORY is empty"),
            (("document", "", "--yes"), "DOCUMENT is empty"),
            (("thread", "", "--yes"), "THREAD is empty"),
            (("word", ""), "WORD is empty"),
            (("word", "a"), "too short"),
            (("word", "Lisbon", "--confirm", "memory:nope"), "confirmed_ids[0]"),
            (("range", "2026-03-04", "2026-03-01", "--yes"), "until_time"),
            (("range", "soon", "later"), "not a time"),
        ],
    )
    def test_bad_input_is_a_usage_error(self, sidecar: Terminal, arguments: tuple[str, ...], problem: str) -> None:
        spoken = sidecar("forget", *arguments)
        assert spoken.code == 2
        assert problem in spoken.err


class TestMemories:
    def test_memories_are_imported_once_listed_shown_and_forgotten(self, sidecar: Terminal) -> None:
        count = len((DATA / "memories.jsonl").read_text().splitlines())
        first = sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        assert (first["memories"], first["created"], first["skipped"]) == (count, count, [])
        again = sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        assert (again["created"], again["updated"], again["known"]) == (0, 0, count)
        assert len(sidecar.json("memory", "list", "--limit", "0")) == count
        assert "mem-0001" in sidecar("memory", "list", "--limit", "0").out
        assert sidecar.json("memory", "get", "mem-0001")["metadata"]["place"]["city"] == "Lisbon"
        assert 'place: {"' in sidecar("memory", "get", "mem-0001").out
        assert sidecar("memory", "forget", "mem-0001").out == "forgotten: mem-0001\n"
        assert sidecar("memory", "forget", "mem-0001").out == "forgotten: nothing\n"
        gone = sidecar("memory", "get", "mem-0001")
        assert gone.code == 1
        assert gone.out == ""

    def test_listed_memories_are_imported_for_another_owner_unchanged(self, sidecar: Terminal, tmp_path: Path) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        sidecar.json("memory", "pin", "mem-0002")
        listed = sidecar.json("memory", "list", "--limit", "0")
        (tmp_path / "listed.json").write_text(json.dumps(listed))
        sidecar.json("memory", "import", str(tmp_path / "listed.json"), "--owner", "another")
        again = sidecar.json("memory", "list", "--limit", "0", "--owner", "another")
        own = {"create_time", "update_time"}
        assert [one | dict.fromkeys(own) for one in again] == [one | dict.fromkeys(own) for one in listed]

    def test_file_with_bad_lines_is_imported_in_part_and_repeated_when_mended(
        self, sidecar: Terminal, tmp_path: Path
    ) -> None:
        file = tmp_path / "part.jsonl"
        lines = ['{"text": "The oven is hot."}', "nonsense", '{"text": ""}', '{"text": "The till is open."}']
        for group, noun in (("memory", "memories"), ("wiki", "records")):
            file.write_text("\n".join(lines))
            spoken = sidecar(group, "import", str(file))
            assert spoken.code == 1
            first, second, third, last, *_ = spoken.out.splitlines()
            assert first.startswith(f"2 {noun}: 2 created, 0 updated")
            assert second.startswith(f"skipped {file}, line 2: ")
            assert third.startswith(f"skipped {file}, line 3: ")
            assert last.startswith("2 refused: correct them in the file")
            file.write_text("\n".join([lines[0], '{"text": "The flour is in."}', lines[3]]))
            mended = sidecar.json(group, "import", str(file))
            assert (mended[noun], mended["created"], mended["refused"]) == (3, 1, 0)

    def test_file_of_the_other_kind_is_refused_and_nothing_is_written(self, sidecar: Terminal, chat: Path) -> None:
        for group in ("memory", "wiki"):
            spoken = sidecar(group, "import", str(chat))
            assert (spoken.code, "`sidecar thread import`" in spoken.err) == (1, True)
        assert sidecar.json("memory", "list") == []
        spoken = sidecar("thread", "import", str(DATA / "memories.jsonl"), "--json")
        assert (spoken.code, spoken.document["error"]["kind"]) == (1, "NotConversations")
        assert sidecar.json("thread", "list") == []

    def test_a_memory_is_superseded_explained_and_restored(self, sidecar: Terminal) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        words = ("--text", "Lives in Porto.", "--from", "2026-03-03", "--evidence", "said so")
        effect = sidecar.json("memory", "supersede", "mem-0001", *words)
        newer, [older] = effect["memory"]["memory_id"], effect["superseded"]
        assert (older["memory_id"], older["until_precision"]) == ("mem-0001", "day")
        assert "until 2026-03-03" in sidecar("memory", "get", "mem-0001").out
        assert f"{newer} corrected: mem-0001 (said so)" in sidecar("memory", "why", newer).out
        assert newer in {one["memory_id"] for one in sidecar.json("memory", "list", "--as-of", "2026-04")}
        assert newer not in {one["memory_id"] for one in sidecar.json("memory", "list", "--as-of", "2026-02")}
        assert sidecar.json("memory", "list", "--known-at", "2020") == []
        assert sidecar.json("memory", "restore", "mem-0001")["valid_until_time"] is None
        assert sidecar("memory", "supersede", "mem-0001").code == 2
        assert "not a time" in sidecar("memory", "list", "--as-of", "soon").err

    def test_a_memory_is_pinned_shown_as_such_and_unpinned(self, sidecar: Terminal) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        assert sidecar.json("memory", "pin", "mem-0001")["pinned"] is True
        assert [one["memory_id"] for one in sidecar.json("memory", "list", "--pinned")] == ["mem-0001"]
        assert "pinned" in sidecar("memory", "get", "mem-0001").out.splitlines()[0]
        assert "pinned" in sidecar("memory", "list", "--pinned").out
        assert sidecar.json("memory", "unpin", "mem-0001")["pinned"] is False
        assert sidecar.json("memory", "list", "--pinned") == []

    def test_candidate_is_accepted_rejected_and_has_a_history(self, sidecar: Terminal, candidates: Path) -> None:
        sidecar.json("memory", "import", str(candidates))
        assert sidecar.json("memory", "accept", "c1", "--rule", "said twice")["status"] == "accepted"
        assert sidecar.json("memory", "reject", "c2")["status"] == "rejected"
        history = sidecar.json("memory", "history", "c1")
        assert [(one["new_status"], one["rule"]) for one in history["changes"]] == [("accepted", "said twice")]
        assert "said twice" in sidecar("memory", "history", "c1").out
        assert sidecar("memory", "accept", "nope").code == 1
        assert sidecar("memory", "compress", "c3", "c1").code == 1, "c1 is accepted"
        summary = sidecar.json("memory", "compress", "c3", "c4")
        assert (summary["memory_type"], summary["text"]) == ("summary", "Number 3.\nNumber 4.")
        assert sidecar.json("memory", "compress", "c3", "c4")["memory_id"] == summary["memory_id"]

    def test_owner_does_not_see_anothers_memories(self, sidecar: Terminal) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        assert sidecar("memory", "get", "mem-0001", owner="somebody-else").code == 1


class TestKnowledge:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "docs"
        (folder / "deep").mkdir(parents=True)
        (folder / "gate.md").write_text("# Gate\n\nThe gate code changes every Monday.\n")
        (folder / "deep" / "parking.txt").write_text("Parking is behind the house.\n")
        (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
        (folder / "photo.png").write_bytes(b"\x89PNG")
        return folder

    def test_files_without_text_or_of_other_kinds_are_reported(self, sidecar: Terminal, folder: Path) -> None:
        (folder / "broken.pdf").write_bytes(untitled_pdf())
        (folder / "empty.md").write_bytes(b" \n")
        rubbish = codecs.BOM_UTF16_LE + bytes(Random(1).choices(range(0xD8), k=400))
        (folder / "rubbish.txt").write_bytes(rubbish)
        spoken = sidecar("ingest", str(folder), "--kb", "odd", "--json")
        facts = spoken.document
        assert spoken.code == 1
        assert (facts["created"], facts["empty"], facts["other_kinds"]) == (3, ["empty.md"], ["photo.png"])
        assert [one.partition(":")[0] for one in facts["failed"]] == ["rubbish.txt"]
        text = sidecar("ingest", str(folder), "--kb", "odd").out
        assert "left out, since no reader knows their kind: .png 1" in text
        assert "empty.md: there is no text in it" in text
        assert sidecar("ingest", str(folder / "empty.md"), "--kb", "odd").code == 1

    def test_importing_an_empty_file_fails(self, sidecar: Terminal, tmp_path: Path) -> None:
        file = tmp_path / "nothing.jsonl"
        file.write_text("\n")
        for group, problem in (
            ("memory", "no memories found"),
            ("thread", "no turns found"),
            ("wiki", "no records found"),
        ):
            spoken = sidecar(group, "import", str(file))
            assert (spoken.code, problem in spoken.err) == (1, True), spoken.err

    def test_empty_token_is_refused_and_never_replaced(
        self, sidecar: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for token in ("", " \n"):
            spoken = sidecar("thread", "list", "--token", token)
            assert (spoken.code, "it is empty" in spoken.err) == (3, True), spoken.err
        monkeypatch.setenv("SIDECAR_TOKEN", "")
        spoken = sidecar("thread", "list")
        assert (spoken.code, "unset SIDECAR_TOKEN" in spoken.err) == (3, True), spoken.err

    def test_tree_is_ingested_and_a_broken_document_stops_no_other(self, sidecar: Terminal, folder: Path) -> None:
        spoken = sidecar("ingest", str(folder), "--kb", "house", "--assign-template", "default", "--json")
        assert spoken.code == 1
        facts = spoken.document
        assert (facts["documents"], facts["created"], len(facts["failed"])) == (3, 2, 1)
        assert facts["failed"][0].startswith("broken.pdf: ")
        assert facts["failed"][0].count("broken.pdf") == 1
        (folder / "broken.pdf").unlink()
        again = sidecar("ingest", str(folder), "--kb", "house")
        assert again.out.splitlines() == [
            "2 documents for house: 0 created, 0 updated, 2 unchanged, 0 failed",
            "  left out, since no reader knows their kind: .png 1",
        ]
        assembly = sidecar.json("assemble", "When does the gate code change?", "--model", "gpt-4o")
        assert "every Monday" in str(assembly["system_blocks"])

    def test_odd_files_of_a_tree_are_read_or_reported_and_stop_no_other(
        self, sidecar: Terminal, tmp_path: Path
    ) -> None:
        folder = tmp_path / "odd"
        folder.mkdir()
        (folder / "LIESMICH").write_text("日本語の文書。" * 2000)  # a letter stands across the end of what is looked at
        (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Coffee\n\nBlack.\n")
        (folder / "gate.md").write_text("# Gate\n\nIt is open.\n")
        (folder / "huge.log").write_bytes(b"")
        os.truncate(folder / "huge.log", 1 << 42)
        facts = sidecar("ingest", str(folder), "--kb", "odd-files", "--json").document
        assert (facts["created"], facts["other_kinds"]) == (2, [])
        named, huge = facts["failed"]
        assert named == "caf\udce9.md: its name is not valid Unicode; rename it"
        assert huge.startswith("huge.log: it has 4,398,046,511,104 bytes, the limit is ")
        assert "huge.log: it has 4,398" in sidecar("ingest", str(folder), "--kb", "odd-files").out

    def test_tree_without_documents_is_an_error(self, sidecar: Terminal, tmp_path: Path) -> None:
        (tmp_path / "photo.png").write_bytes(b"\x89PNG")
        spoken = sidecar("ingest", str(tmp_path), "--kb", "house")
        assert spoken.code == 1
        assert "no documents found; name Markdown, text, CSV, HTML or PDF files" in spoken.err

    def test_agent_may_not_write_the_tenants_knowledge(self, sidecar: Terminal, folder: Path) -> None:
        assert run(["token", "--tenant", "acme", "--owner", sidecar.owner, "--json"]) == 0
        token = json.loads(sidecar._capsys.readouterr().out)["token"]
        spoken = sidecar("ingest", str(folder), "--kb", "house", "--token", token)
        assert spoken.code == 3
        assert (
            spoken.err
            == "sidecar: This call needs the role admin; use an admin's token (`sidecar token --role admin`).\n"
        )

    def test_space_needs_a_token_that_holds_it(self, sidecar: Terminal) -> None:
        minting = ["token", "--tenant", "acme", "--owner", sidecar.owner, "--json"]
        tokens = []
        for spaces in ([], ["--space", "harbour", "--space", "attic"]):
            assert run([*minting, *spaces]) == 0
            tokens.append(json.loads(sidecar._capsys.readouterr().out)["token"])
        asking = ("assemble", "keys", "--model", "gpt-4o", "--space", "harbour", "--token")
        refused = sidecar(*asking, tokens[0])
        assert (refused.code, "sidecar token --space" in refused.err) == (3, True)
        assert sidecar(*asking, tokens[1]).code == 0


class TestTurns:
    def test_assembly_is_drawn_with_sources_bars_and_receipt(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        shown = sidecar("assemble", "What is my gate code?", "--thread", "t1", "--model", "gpt-4o").out
        assert "user: My gate code is 4417." in shown
        assert re.search(r"(?m)^thread +OK +[\d.]+ ", shown)
        assert re.search(r"(?m)^  reserve +[\d,]+ +[\d.]+%  +█", shown)
        assert re.search(r"(?m)^receipt [0-9a-f-]{36}$", shown)

    def test_context_alone_can_be_printed(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("thread", "import", str(chat), "--thread", "t1")
        shown = sidecar("assemble", "Hi", "--thread", "t1", "--model", "gpt-4o", "--context-only").out
        assert "user: My gate code is 4417." in shown
        assert "receipt" not in shown

    def test_json_budget_adds_up(self, sidecar: Terminal, chat: Path) -> None:
        budget = _assembled(sidecar, chat, "--budget", "500")["budget"]
        assert budget["used_tokens"] <= budget["pool_tokens"] <= 500

    def test_receipt_is_explained_and_replayed_and_two_are_compared(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        question = ["assemble", "Where do I drink coffee in Lisbon?", "--thread", "t1", "--model", "gpt-4o"]
        large = sidecar.json(*question, "--budget", "3000")["receipt_id"]
        small = sidecar.json(*question, "--budget", "300")["receipt_id"]
        explained = sidecar.json("explain", large)
        assert explained["message"] == question[1]
        assert {one["decision"] for one in explained["decisions"]} >= {"kept"}
        drawn = sidecar("explain", large, "--source", "memory").out
        assert question[1] in drawn
        assert re.search(r"(?m)^memory +\S+ +kept ", drawn)
        replayed = sidecar.json("replay", large, "--budget", "300")
        assert replayed["assembly"]["budget"]["pool_tokens"] == 300
        assert replayed["diff"]["changes"]
        assert "Nothing differs" in sidecar("replay", large).out
        compared = sidecar.json("diff", large, small)
        assert compared["token_deltas"]["memory"] < 0
        assert re.search(r"memory: -[\d,]+ tokens", sidecar("diff", large, small).out)

    def test_replay_takes_knobs_by_source(self, sidecar: Terminal, chat: Path) -> None:
        sidecar.json("memory", "import", str(DATA / "memories.jsonl"))
        receipt = sidecar.json("assemble", "Where do I drink coffee?", "--model", "gpt-4o", "--budget", "2000")[
            "receipt_id"
        ]
        knobs = [
            "--top-k",
            "memory=1",
            "--priority",
            "memory=1",
            "--allocation",
            "pooled",
            "--set",
            "wiki.enabled=false",
        ]
        replayed = sidecar.json("replay", receipt, *knobs)
        kept = [one for one in replayed["assembly"]["decisions"] if one["source"] == "memory" and one["tokens"]]
        assert len(kept) <= 1

    def test_receipt_of_another_owner_is_not_found(self, sidecar: Terminal, chat: Path) -> None:
        receipt = _assembled(sidecar, chat)["receipt_id"]
        assert sidecar("explain", receipt, owner="somebody-else").code == 1

    def test_unknown_source_of_a_receipt_is_refused_with_the_known_ones(self, sidecar: Terminal, chat: Path) -> None:
        receipt = _assembled(sidecar, chat)["receipt_id"]
        spoken = sidecar("explain", receipt, "--source", "memories")
        assert (spoken.code, "memory" in spoken.err) == (2, True)
        assert sidecar("explain", receipt, "--source", "memory").code == 0

    def test_no_reports_are_said_to_be_none(self, sidecar: Terminal) -> None:
        assert sidecar("wiki", "reports").out == "No sentence was reported as wrong.\n"

    def test_unknown_model_is_named(self, sidecar: Terminal) -> None:
        spoken = sidecar("assemble", "Hi", "--model", "moon-1")
        assert spoken.code == 2
        assert "moon-1" in spoken.err
        assert sidecar("assemble", "Hi", "--model", "moon-1", "--window", "8000", "--json").code == 0

    def test_usage_is_reported(self, sidecar: Terminal, chat: Path) -> None:
        receipt = _assembled(sidecar, chat)["receipt_id"]
        effect = sidecar.json("usage", "report", receipt, "--input", "120", "--output", "9")
        assert effect["expected_input_tokens"] > 0
        assert sidecar.json("explain", receipt)["usage"]["input_tokens"] == 120
        assert "ratio is now" in sidecar("usage", "report", receipt, "--input", "120").out


class TestProfiles:
    def test_knobs_are_set_kept_and_rolled_back(self, sidecar: Terminal) -> None:
        level = ["--level", "agent", "--ref", sidecar.owner]
        first = sidecar.json("profile", "set", *level, "knowledge.top_k=20", "allocation=pooled")
        assert first["profile"] == {"allocation": "pooled", "knowledge.top_k": 20}
        sidecar.json("profile", "set", *level, "knowledge.top_k=5", "wiki.enabled=false", "allocation=")
        found = sidecar.json("profile", "get", *level)
        assert found["profile"] == {"knowledge.top_k": 5, "wiki.enabled": False}
        merged = sidecar.json("profile", "get", "--agent", sidecar.owner)["profile"]
        assert (merged["knowledge.top_k"], merged["wiki.enabled"]) == (5, False)
        assert "wiki.enabled=false" in sidecar("profile", "get", *level).out
        sidecar.json("profile", "rollback", str(first["version"]), *level)
        assert sidecar.json("profile", "get", *level)["profile"] == first["profile"]
        assert [one["version"] for one in sidecar.json("profile", "history", *level)] == [3, 2, 1]
        assert "knowledge.top_k=20" in sidecar("profile", "history", *level).out

    def test_knobs_are_read_from_a_file_too(self, sidecar: Terminal, tmp_path: Path) -> None:
        file = tmp_path / "knobs.json"
        file.write_text('{"knowledge": {"top_k": 7}, "budget_tokens": 4000}')
        level = ["--level", "agent", "--ref", sidecar.owner]
        assert sidecar.json("profile", "set", *level, "--file", str(file), "wiki.top_k=3")["profile"] == {
            "budget_tokens": 4000,
            "knowledge.top_k": 7,
            "wiki.top_k": 3,
        }

    def test_value_out_of_bounds_is_refused_by_name(self, sidecar: Terminal) -> None:
        spoken = sidecar("profile", "set", "--level", "agent", "--ref", "a", "knowledge.top_k=5000")
        assert spoken.code == 2
        assert "top_k" in spoken.err
