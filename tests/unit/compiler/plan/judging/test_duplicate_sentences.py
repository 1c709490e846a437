"""A sentence stands once on a page without a model, and each memory that says it is cited there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from compiler.plan.batch import LeafBatch, StaleView
from compiler.plan.contract import BatchMemory, CreatePage, Page, WriteSection
from compiler.plan.judging import finishing, leaf, stale
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import PageUpdate, Proposal, ProposedSection
from compiler.plan.quoting.excerpts import excerpt
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory, page, section

TOLD = memory("m1", "Ana lives in Leeds. Ana is engaged to Sam.")
AGAIN = memory("m2", "Ana is engaged to Sam.", day=3)
VISIT = memory("m3", "Ana is engaged to a stranger.", day=4)


def quoted(slug: str, body: str, *memory_ids: str) -> ProposedSection:
    return ProposedSection(slug, slug.capitalize(), body, memory_ids, is_verbatim=True)


def written(standing: Page, *sections: ProposedSection, of: LeafBatch) -> dict[str, tuple[str, list[str]]]:
    """Return the written sections by slug: the body, and the memories that it cites."""
    proposal = Proposal(updates=(PageUpdate(standing.key, sections),))
    items = leaf.decide(replace(of, pages=(standing,)), proposal, Matches()).items
    found = (item.section for item in items if isinstance(item, WriteSection))
    return {one.slug: (one.body_md, [cited.memory_id for cited in one.sources]) for one in found}


@pytest.mark.parametrize(
    "line", ["- Ana is engaged to Sam.", "- Ana is engaged to Sam!", "- **Ana** is engaged to Sam."]
)
def test_line_that_is_in_another_section_is_cited_there(line: str) -> None:
    standing = page("Ana", section("- Ana is engaged to Sam.", "m1", name="relations"))
    found = written(standing, quoted("notes_2026_03", line, "m2"), of=batch(TOLD, AGAIN))
    assert found == {"relations": ("- Ana is engaged to Sam.", ["m1", "m2"])}


def test_content_of_a_longer_line_is_not_repeated() -> None:
    standing = page("Ana", section("- Ana lives in Leeds. Ana is engaged to Sam.", "m1"))
    found = written(standing, quoted("relations", "- Ana is engaged to Sam.", "m2"), of=batch(TOLD, AGAIN))
    assert found == {"overview": ("- Ana lives in Leeds. Ana is engaged to Sam.", ["m1", "m2"])}


def test_line_of_another_day_and_line_that_says_more_are_kept() -> None:
    standing = page("Ana", section("- 2026-03-01: Ana called today.\n- Ana lives in Leeds.", "m1"))
    more = "- 2026-03-04: Ana called today.\n- Ana lives in Leeds. Sam does too."
    found = written(standing, quoted("notes_2026_03", more, "m2"), of=batch(TOLD, AGAIN))
    assert found["notes_2026_03"] == (more, ["m2"])


def test_of_two_proposed_sections_the_more_telling_one_has_the_line() -> None:
    line = "- Ana is engaged to Sam."
    months = quoted("notes_2026_03", f"{line}\n- Ana lives in Leeds.", "m1", "m2")
    found = written(page("Ana"), months, quoted("relations", line, "m1"), of=batch(TOLD, AGAIN))
    assert found == {"relations": (line, ["m1", "m2"]), "notes_2026_03": ("- Ana lives in Leeds.", ["m1"])}


def test_rebuilt_section_does_not_take_the_lines_of_the_others() -> None:
    seen = (TOLD, AGAIN, VISIT, memory("m4", "Ana lives at 4 Mill Lane.", day=5))
    standing = made(seen)
    assert {one.slug: one.body_md for one in standing.sections} == {
        "overview": "- Ana lives in Leeds.\n- Ana lives at 4 Mill Lane.",
        "relations": "- Ana is engaged to Sam.\n- Ana is engaged to a stranger.",
    }
    left = {one.memory_id: one for one in seen if one is not VISIT}
    view = StaleView((standing,), frozenset(), frozenset({"m3"}), left)
    decision = stale.decide(view, is_quoting=True)
    bodies = {(one.page, one.section.slug): extractive.write_section(one) for one in decision.drafts}
    rebuilt = [one for one in finishing.finish(decision, bodies, {}) if isinstance(one, WriteSection)]
    assert [(one.section.slug, one.section.body_md) for one in rebuilt] == [("relations", "- Ana is engaged to Sam.")]


def made(seen: Iterable[BatchMemory]) -> Page:
    """Return Ana's page of these memories."""
    of = batch(*seen)
    found = leaf.decide(of, extractive.plan_leaf(of), Matches()).items
    return next(one.page for one in found if isinstance(one, CreatePage) and one.page.title == "Ana")


def test_line_that_two_sections_hold_already_stays_in_its_own_when_both_are_rebuilt() -> None:
    line = "- Ana is engaged to Sam."
    both = page("Ana", section(line, "m2", "m3"), section(line, "m2", "m3", name="relations"))
    view = StaleView((both,), frozenset(), frozenset({"m3"}), {"m2": AGAIN})
    drafts = stale.decide(view, is_quoting=True).drafts
    assert [(one.section.slug, extractive.write_section(one)) for one in drafts] == [("relations", line)]


def test_speakers_name_makes_no_sentence_of_a_sign() -> None:
    assert excerpt(memory("m", "Wilhelmine: 🙏"), {"wilhelmine"}) == ()
