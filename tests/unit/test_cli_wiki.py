"""What the wiki's commands write to disk and to the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sidecar.cli import wiki_drawing
from sidecar.cli.trouble import CommandFailed
from sidecar.cli.wiki_quarantine import drawn_retry
from sidecar.cli.wiki_upkeep import drawn_verification, write_file, written_density
from sidecar.client.wiki_answers import Density, PageWhole, RetryEffect, Verification, WikiPage, WikiSection, WikiSource

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DENSITY = Density(4, 3, 0.75, {"reference": 5}, {"planner": 2, "co_mention": 4}, 1, 2)


def test_a_file_of_the_vault_stays_in_its_folder(tmp_path: Path) -> None:
    write_file(tmp_path / "vault", "topic/austin.md", "# Austin\n")
    assert (tmp_path / "vault/topic/austin.md").read_text() == "# Austin\n"
    for path in ("../x.md", "topic/../../x.md", "/etc/x.md", "x.md", "a/b/c.md", "topic/..", "topic\\x.md/..", ""):
        with pytest.raises(CommandFailed):
            write_file(tmp_path / "vault", path, "x")
    assert [one.name for one in tmp_path.rglob("*.md")] == ["austin.md"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("a file")
    with pytest.raises(CommandFailed, match="name another folder"):
        write_file(tmp_path / "vault", "topic/austin.md", "x")
    with pytest.raises(CommandFailed, match="name another folder"):
        written_density(tmp_path / "vault", DENSITY, NOW)


def test_the_counts_are_kept_dated_and_never_overwritten(tmp_path: Path) -> None:
    target = written_density(tmp_path, DENSITY, NOW)
    assert target.name == "wiki-link-density-20260301T120000Z.md"
    text = target.read_text()
    assert "| density | 0.7500 |" in text
    assert "| origin: co_mention | 4 |" in text
    with pytest.raises(CommandFailed):
        written_density(tmp_path, DENSITY, NOW)


def test_a_page_shows_each_sections_sources_and_what_became_of_them() -> None:
    head = WikiPage("i", "topic", "austin", "/wiki/topic/austin", "Austin\x1b[2J", "A city.", "active", "", 2, ())
    sources = (
        WikiSource("m1", True, True, "Text."),
        WikiSource("m2", True, False, ""),
        WikiSource("m3", False, False, ""),
    )
    section = WikiSection("notes", "Notes", "A body.", 0, sources)
    shown = list(wiki_drawing.page(PageWhole(head, (section,), (), (), (), 0, 0, 0, ())))
    assert "  ← m1, m2 (edited since), m3 (forgotten)" in shown
    assert any("m1: Text." in line for line in shown)
    assert "\x1b" not in "".join(shown)


def test_a_summary_is_shown_without_its_escapes_and_a_title_cannot_turn_the_line_around() -> None:
    title, summary = "Casa \u202etac\u202c Lola", r"Place in St\. Louis \*and\* [beyond](/wiki/topic/beyond)."
    shown = WikiPage("p", "entity", "casa", "/wiki/entity/casa", title, summary, "active", "", 0, ())
    (line, told, *_) = wiki_drawing.page(PageWhole(shown, (), (), (), (), 0, 0, 0, ()))
    assert (line, told) == ("Casa \ufffdtac\ufffd Lola  (/wiki/entity/casa)", "Place in St. Louis *and* beyond.")


def test_memories_that_are_tried_again_are_counted_also_when_no_job_could_be_queued() -> None:
    assert list(drawn_retry(RetryEffect(2))) == ["2 to read again; the next compile does"]
    assert list(drawn_retry(RetryEffect(0))) == ["none of them is held back"]


def test_a_log_of_other_rules_is_said_to_be_none_of_a_fault() -> None:
    told = "\n".join(drawn_verification(Verification(False, 12, 7, (), 0, 5)))
    assert "not replayable by this version: 5 of 12 batches" in told
    assert "sidecar wiki rebuild --full" in told
    assert "different" not in told
    told = "\n".join(drawn_verification(Verification(False, 12, 7, ("page /wiki/topic/austin",), 0, 0)))
    assert told.startswith("different: 12 batches replayed, 7 pages compared")
