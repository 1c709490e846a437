"""What the wiki's commands write to disk and to the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sidecar.cli.content import memory, profile, thread
from sidecar.cli.operations import audit, tools
from sidecar.cli.shared.failures import CommandFailed
from sidecar.cli.shared.output import Voice
from sidecar.cli.turns import listing
from sidecar.cli.wiki import drawing
from sidecar.cli.wiki.files import write_file, written_density
from sidecar.cli.wiki.quarantine import drawn_retry
from sidecar.cli.wiki.upkeep import drawn_import, drawn_verification
from sidecar.client.answers import AuditEntry, ProfileVersion
from sidecar.client.answers.wiki import (
    Aggregation,
    CompileJob,
    Density,
    PageRef,
    PageWhole,
    RetryEffect,
    Verification,
    WikiPage,
    WikiSection,
    WikiSource,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DENSITY = Density(4, 3, 0.75, {"reference": 5}, {"planner": 2, "co_mention": 4}, 1, 2)


def test_a_file_of_the_vault_stays_in_its_folder(tmp_path: Path) -> None:
    write_file(tmp_path / "vault", "topic/austin.md", "# Austin\n")
    assert (tmp_path / "vault/topic/austin.md").read_text() == "# Austin\n"
    for path in ("../x.md", "topic/../../x.md", "/etc/x.md", "x.md", "a/b/c.md", "topic/..", "topic\\x.md/..", ""):
        with pytest.raises(CommandFailed):
            write_file(tmp_path / "vault", path, "x")
    assert [one.name for one in tmp_path.rglob("*.md")] == ["austin.md"]


def test_vault_file_replaces_a_link_and_never_writes_through_one(tmp_path: Path) -> None:
    vault, away = tmp_path / "vault", tmp_path / "away"
    away.mkdir()
    (away / "austin.md").write_text("mine")
    write_file(vault, "topic/austin.md", "# Old\n")
    (vault / "topic/austin.md").unlink()
    (vault / "topic/austin.md").symlink_to(away / "austin.md")
    (vault / "topic/.austin.md.part").symlink_to(away / "austin.md")  # as an export that was killed would leave a file
    write_file(vault, "topic/austin.md", "# Austin\n")
    assert not (vault / "topic/austin.md").is_symlink()
    (vault / "entity").symlink_to(away)
    with pytest.raises(CommandFailed, match="a link to another folder"):
        write_file(vault, "entity/austin.md", "x")
    assert (away / "austin.md").read_text() == "mine"
    assert sorted(one.name for one in vault.rglob("*.md*")) == ["austin.md"]


def test_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("a file")
    with pytest.raises(CommandFailed, match="name another folder"):
        write_file(tmp_path / "vault", "topic/austin.md", "x")
    with pytest.raises(CommandFailed, match="name another folder"):
        written_density(tmp_path / "vault", DENSITY, NOW)


def test_counts_are_saved_by_date_and_never_overwritten(tmp_path: Path) -> None:
    target = written_density(tmp_path, DENSITY, NOW, owner="ma|ra")
    assert target.name == "wiki-link-density-20260301T120000Z.md"
    text = target.read_text()
    assert "| density | 0.7500 |" in text
    assert "| origin: co_mention | 4 |" in text
    assert "| owner | ma\\|ra |" in text
    assert written_density(tmp_path, DENSITY, NOW).name == "wiki-link-density-20260301T120000Z-2.md"
    assert target.read_text() == text


def test_page_shows_the_sources_of_each_section_and_their_fate() -> None:
    head = WikiPage("i", "topic", "austin", "/wiki/topic/austin", "Austin", "A city.", "active", "", 2, (), "")
    sources = (
        WikiSource("m1", True, True, "Text."),
        WikiSource("m2", True, False, ""),
        WikiSource("m3", False, False, ""),
    )
    section = WikiSection("notes", "Notes", "A body.", 0, sources)
    shown = list(drawing.page(PageWhole(head, (section,), (), (), (), 0, 0, 0, ())))
    assert "  ← m1, m2 (edited since), m3 (forgotten)" in shown
    assert any("m1: Text." in line for line in shown)


def test_pages_and_summaries_without_memories_show_the_pages_they_list() -> None:
    head = WikiPage("i", "topic", "texas", "/wiki/topic/texas", "Texas", "A state.", "active", "", 2, (), "")
    austin, waco = (PageRef(slug, f"/wiki/topic/{slug}", slug.title()) for slug in ("austin", "waco"))
    both = WikiSection(
        "cities", "Cities", "A list.", 0, (WikiSource("m1", True, True, ""),), source_pages=(austin, waco)
    )
    none = WikiSection("notes", "Notes", "Said by nobody.", 1, ())
    shown = list(drawing.page(PageWhole(head, (both, none), (), (), (), 0, 0, 0, (), summary_pages=(austin,))))
    assert [line for line in shown if line.startswith("  ←")] == [
        "  ← from pages: /wiki/topic/austin",
        "  ← m1",
        "  ← from pages: /wiki/topic/austin, /wiki/topic/waco",
        "  ← no source",
    ]


def test_list_section_shows_how_near_it_is_to_a_page_of_its_own() -> None:
    head = WikiPage("i", "topic", "texas", "/wiki/topic/texas", "Texas", "", "active", "", 1, (), "")
    known = Aggregation(("a", "b"), 9, (), "none", 0.45, "")
    section = WikiSection("places", "Places", "A list.", 0, (), None, known)
    shown = list(drawing.page(PageWhole(head, (section,), (), (), (), 0, 0, 0, ())))
    assert "  [none, score 0.450 (candidate), 2 pages]" in shown


LISTS: tuple[Callable[[Any], Iterable[Any]], ...] = (
    drawing.pages, drawing.hits, drawing.citations, drawing.mentions, drawing.quarantined,
    drawing.jobs, listing.draw, thread._draw_threads, memory._draw_memories, profile._draw_history,
    tools._draw_backends,
)  # fmt: skip


@pytest.mark.parametrize("draw", LISTS, ids=lambda one: one.__name__)
def test_empty_list_prints_a_sentence_instead_of_an_empty_table(draw: Callable[[Any], Iterable[Any]]) -> None:
    (told,) = draw([])
    assert isinstance(told, str)
    assert told.startswith("No ")


def test_summary_is_shown_unescaped_and_a_title_cannot_reverse_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    title, summary = "Casa \u202etac\u202c Lola", r"Place in St\. Louis \*and\* [beyond](/wiki/topic/beyond)."
    shown = WikiPage("p", "entity", "casa", "/wiki/entity/casa", title, summary, "active", "", 0, (), "person")
    Voice(is_json=False).show(PageWhole(shown, (), (), (), (), 0, 0, 0, ()), drawing.page)
    line, lead, *more = capsys.readouterr().out.splitlines()
    assert "type: person" in more
    assert (line, lead) == ("Casa \ufffdtac\ufffd Lola  (/wiki/entity/casa)", "Place in St. Louis *and* beyond.")


def test_retried_memories_are_counted_even_if_no_job_could_be_queued() -> None:
    assert list(drawn_retry(RetryEffect(2))) == ["2 to read again; the next compile reads them"]
    assert list(drawn_retry(RetryEffect(0))) == ["none of them is quarantined"]


def test_log_of_other_rules_is_reported_as_no_fault() -> None:
    told = "\n".join(drawn_verification(Verification(False, 12, 7, (), 0, 5)))
    assert "not replayable by this version: 5 of 12 batches" in told
    assert "sidecar wiki rebuild --full" in told
    assert "different" not in told
    told = "\n".join(drawn_verification(Verification(False, 12, 7, ("page /wiki/topic/austin",), 2, 0)))
    assert told.startswith("not comparable: 12 batches replayed")
    assert "may explain the differences; `sidecar wiki rebuild --full`" in told
    told = "\n".join(drawn_verification(Verification(False, 3, 7, (), 1, 0, 4, "an answer is gone")))
    assert "cannot be replayed from batch 4 on: an answer is gone" in told
    told = "\n".join(drawn_verification(Verification(False, 12, 7, ("page /wiki/topic/austin",), 0, 0)))
    assert told.startswith("different: 12 batches replayed, 7 pages compared")


def test_chain_of_jobs_is_shown_as_one() -> None:
    def ran(**metrics: object) -> CompileJob:
        return CompileJob("j", "succeeded", "bootstrap_import", 1, 0, "", "", metrics)

    chain = [ran(records_read=100, pages_created=25, cap_hit="new_pages"), ran(records_read=0, pages_created=17)]
    told, more, table = drawing.job(chain[1], chain[:1])
    assert (told.startswith("succeeded: job j"), more) == (True, "together with the 1 before it:")
    names, counts = ([str(cell) for cell in column.cells] for column in table.columns)
    assert dict(zip(names, counts, strict=True)) == {"records_read": "100", "pages_created": "42"}
    assert len(list(drawing.job(ran()))) == 1


def test_job_shows_the_items_that_its_plans_left_out() -> None:
    counts = ({"unknown_memory": 3}, {"unknown_memory": 1, "page_without_name": 2})
    chain = [CompileJob("j", "succeeded", "admin", 1, 0, "", "", {"rejections": one}) for one in counts]
    assert list(drawing.job(chain[1], chain[:1]))[-1] == (
        "left out of the plans: page_without_name (2), unknown_memory (4)"
    )


def test_edges_that_wait_are_those_of_the_last_job_of_a_chain() -> None:
    chain = [CompileJob("j", "succeeded", "admin", 1, 0, "", "", {"edges_waiting": count}) for count in (7, 2, 0)]
    assert [line[:7] for line in drawing.job(chain[1], chain[:1])][-1:] == ["2 edges"]
    assert len(list(drawing.job(chain[2], chain[:2]))) == 1


def test_only_the_first_of_many_skipped_records_are_shown() -> None:
    facts = {
        "records": 1,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "refused": 0,
        "skipped": ["x"] * 25,
        "job_id": "",
    }
    first, *told = drawn_import(facts)
    assert first.startswith("1 record: ")
    assert told == ["skipped x"] * 20 + ["… 5 more were skipped; --json lists all"]
    *_, last = drawn_import(facts | {"refused": 25})
    assert last.startswith("25 refused: correct them")


def test_job_and_audit_entry_are_listed_with_their_ids(capsys: pytest.CaptureFixture[str]) -> None:
    job_id, owner, method = str(uuid4()), str(uuid4()), "sidecar.v1.ContextService/AssembleContext"
    job = CompileJob(job_id, "succeeded", "admin", 1, 0, "", "")
    entry = AuditEntry(NOW, "admin", "ada", "", "rpc", method, owner, f"memory_id={owner}", "OK")
    Voice(is_json=False).show([job], drawing.jobs)
    Voice(is_json=False).show([entry], audit.draw)
    text = capsys.readouterr().out
    assert f"{job_id}  succeeded" in text
    assert f"rpc  ContextService/AssembleContext  {owner}  memory_id={owner}  OK" in text


def test_a_profile_of_the_tenant_is_named_without_a_gap() -> None:
    written = [ProfileVersion(level, ref, 3, {}, "ada") for level, ref in (("tenant", ""), ("agent", "helper"))]
    assert [next(profile._draw_version(one)) for one in written] == [
        "tenant is now version 3",
        "agent helper is now version 3",
    ]
