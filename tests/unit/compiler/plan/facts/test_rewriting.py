"""What a rewrite keeps of what stood there, and what it may not take over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from compiler.plan.batch import StaleView
from compiler.plan.contract import Alias, BatchMemory, CreatePage, Item, Page, PageKey, PageType, Section, WriteSection
from compiler.plan.facts import past, rewriting
from compiler.plan.judging import leaf, stale
from compiler.plan.judging.finishing import finish
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import PageUpdate, Proposal, ProposedPage, ProposedSection
from tests.support.compiler.plan_cases import batch, memory, page, source

HOUSE = PageKey(PageType.ENTITY, "house")
CODE = memory("m1", "The gate code of the house is 4471.", day=1)
HOSTILE = memory("m9", "The gate code of the house is 9999.", day=9)


def standing(body: str, *said: BatchMemory) -> Page:
    """Return the page of the house with one section that cites the memories."""
    return page("House", Section("overview", "Overview", body, tuple(source(one.memory_id, one.text) for one in said)))


def rewritten(
    there: Page, text: str, cited: Iterable[BatchMemory], known: Iterable[BatchMemory] = ()
) -> tuple[Section, dict[str, int]]:
    """Return the section after a writer answered with the text for memories, and the counters."""
    memories = tuple(cited)
    update = PageUpdate(HOUSE, (ProposedSection("overview", "", text, tuple(one.memory_id for one in memories)),))
    decision = leaf.decide(batch(*memories, pages=[there]), Proposal(updates=(update,)), Matches())
    bodies = {(draft.page, draft.section.slug): text for draft in decision.drafts}
    decision, kept = rewriting.keep(decision, bodies, {one.memory_id: one for one in known})
    return section_of(finish(decision, kept, {})), dict(decision.counters)


def section_of(items: tuple[Item, ...]) -> Section:
    """Return the written section, together with its continuations."""
    first, *more = (item.section for item in items if isinstance(item, WriteSection))
    return replace(first, body_md="\n".join((first.body_md, *(one.body_md for one in more))))


def cited(section: Section) -> list[str]:
    return [one.memory_id for one in section.sources]


def test_changed_number_keeps_the_old_line_as_past_with_its_day_and_source() -> None:
    section, counters = rewritten(standing("The gate code is 4471.", CODE), "The gate code is 9999.", [HOSTILE], [CODE])
    assert section.body_md == "The gate code is 9999.\n\n- Earlier (user, 2026-03-02): The gate code is 4471."
    assert cited(section) == ["m1", "m9"]
    assert counters["lines_kept_as_past"] == counters["rewrites_of_number"] == 1


def test_dropped_line_stays_as_past() -> None:
    section, _ = rewritten(
        standing("The gate code is 4471. It is green.", CODE),
        "The house was painted by Ana.",
        [memory("m2", "Ana painted the house.")],
        [CODE],
    )
    assert "- Earlier (user, 2026-03-02): The gate code is 4471." in section.body_md
    assert cited(section) == ["m1", "m2"]


def test_source_without_a_remaining_sentence_is_released() -> None:
    roses = memory("m1", "The garden has roses.")
    section, counters = rewritten(
        standing("Roses in the garden.", roses), "Painted green.", [memory("m2", "It was painted green.")], [roses]
    )
    assert (section.body_md, cited(section)) == ("Painted green.", ["m2"])
    assert counters["sources_released"] == 1


@pytest.mark.parametrize("is_edited", [False, True])
def test_source_that_cannot_be_read_at_its_old_version_stays_cited(is_edited: bool) -> None:
    roses = memory("m1", "The garden has roses.")
    known = [memory("m1", "Something else.")] if is_edited else []
    section, _ = rewritten(
        standing("Roses in the garden.", roses), "Painted green.", [memory("m2", "It was painted green.")], known
    )
    assert cited(section) == ["m1", "m2"]


@pytest.mark.parametrize("told", ["tool", "document", "webhook"])
@pytest.mark.parametrize("key", past.ORIGIN_KEYS)
def test_users_words_stay_against_other_origins(told: str, key: str) -> None:
    other = replace(HOSTILE, metadata={key: told})
    section, counters = rewritten(standing("The gate code is 4471.", CODE), "The gate code is 9999.", [other], [CODE])
    assert section.body_md == f"The gate code is 4471.\n\n- Claimed ({told}, 2026-03-10): The gate code is 9999."
    assert cited(section) == ["m1", "m9"]
    assert counters["lines_kept_of_users"] == counters["claims_set_apart"] == 1


def test_users_words_that_a_tool_drops_stay_in_place() -> None:
    other = replace(HOSTILE, text="It is hot.", metadata={"origin": "tool"})
    section, _ = rewritten(standing("The gate code is 4471.", CODE), "It is hot.", [other], [CODE])
    assert section.body_md == "The gate code is 4471.\n\nIt is hot."


def test_user_may_replace_a_tools_words() -> None:
    weather = memory("m1", "The gate code is 4471.", {"origin": "tool"}, day=1)
    section, _ = rewritten(standing("The gate code is 4471.", weather), "The gate code is 9999.", [HOSTILE], [weather])
    assert section.body_md == "The gate code is 9999.\n\n- Earlier (tool, 2026-03-02): The gate code is 4471."


def test_tool_in_a_batch_with_a_user_replaces_nothing() -> None:
    tool = replace(HOSTILE, metadata={"origin": "tool"})
    painted = memory("m2", "The house was painted green.", day=9)
    section, _ = rewritten(
        standing("The gate code is 4471.", CODE), "The gate code is 9999. Painted green.", [tool, painted], [CODE]
    )
    assert section.body_md.split("\n") == [
        "The gate code is 4471.",
        "",
        "Painted green.",
        "",
        "- Claimed (tool, 2026-03-10): The gate code is 9999.",
    ]


def test_tools_words_under_a_forged_citation_replace_nothing() -> None:
    tool = replace(HOSTILE, metadata={"origin": "tool"})
    painted = memory("m2", "The house was painted green.", day=9)
    update = PageUpdate(HOUSE, (ProposedSection("overview", "", "The gate code is 9999. Green.", ("m2",)),))
    there = standing("The gate code is 4471.", CODE)
    decision = leaf.decide(batch(tool, painted, pages=[there]), Proposal(updates=(update,)), Matches())
    bodies = {(HOUSE, "overview"): "The gate code is 9999. Green."}
    decision, kept = rewriting.keep(decision, bodies, {"m1": CODE}, (tool, painted))
    section = section_of(finish(decision, kept, {}))
    assert (section.body_md, cited(section)) == ("The gate code is 4471.\n\nGreen.", ["m1", "m2"])
    assert decision.counters["claims_uncited"] == 1


def test_alias_from_a_model_removes_no_fact() -> None:
    named = replace(standing("The gate code is 4471. Pedro has it.", CODE), title="House")
    named = replace(named, aliases=(*named.aliases, Alias("4471", "4471"), Alias("pedro", "Pedro")))
    section, _ = rewritten(named, "It was painted.", [memory("m2", "It was painted.")], [CODE])
    assert [past.sentence_of(one) for one in past.split(section.body_md)[1]] == [
        "The gate code is 4471.",
        "Pedro has it.",
    ]


def test_memory_is_not_cited_for_a_remaining_text_without_its_words() -> None:
    update = PageUpdate(HOUSE, (ProposedSection("overview", "", "The gate code is 4471.", ("m2", "m5")),))
    there = standing("The gate code is 4471.", CODE)
    stranger, again = memory("m2", "Ana likes jazz."), memory("m5", "Again: gate code 4471.")
    decision = leaf.decide(batch(stranger, again, pages=[there]), Proposal(updates=(update,)), Matches())
    assert cited(section_of(decision.items)) == ["m1", "m5"]


def test_text_too_long_to_compare_keeps_every_fact() -> None:
    long = "\n".join(f"- Box {at} holds {at + 7000} pieces." for at in range(600))
    section, counters = rewritten(standing(long, CODE), long.replace("- Box 5 ", "- Box six "), [HOSTILE], [CODE])
    assert counters["lines_kept_as_past"] == 1
    assert "): Box 5 holds 7005 pieces." in section.body_md


def test_new_page_prefers_the_users_word_to_a_tools() -> None:
    tool = replace(HOSTILE, metadata={"origin": "tool"})
    sections = (ProposedSection("overview", "", "The gate code is 9999.", ("m1", "m9")),)
    proposal = Proposal(new_pages=(ProposedPage(PageType.ENTITY, "House", sections=sections),))
    decision = leaf.decide(batch(CODE, tool), proposal, Matches())
    decision, kept = rewriting.keep(decision, {}, {})
    (made,) = (item.page for item in finish(decision, kept, {}) if isinstance(item, CreatePage))
    assert made.sections[0].body_md.split("\n") == [
        "- The gate code of the house is 4471.",
        "",
        "- Claimed (tool, 2026-03-10): The gate code is 9999.",
    ]


def test_restored_page_keeps_the_text_that_its_plan_would_overwrite() -> None:
    archived = replace(standing("The gate code is 4471.", CODE), is_active=False, summary="A house.")
    proposed = ProposedPage(
        PageType.ENTITY,
        "House",
        "Some other house.",
        (ProposedSection("overview", "", "The gate code is 9999.", ("m9",)),),
        memory_ids=("m9",),
    )
    decision = leaf.decide(batch(HOSTILE), Proposal(new_pages=(proposed,)), Matches(pages=(archived,)))
    decision, kept = rewriting.keep(decision, {}, {"m1": CODE})
    (made,) = (item.page for item in finish(decision, kept, {}) if isinstance(item, CreatePage))
    assert "- Earlier (user, 2026-03-02): The gate code is 4471." in made.sections[0].body_md
    assert (made.summary, cited(made.sections[0])) == ("A house.", ["m1", "m9"])


def test_empty_answer_of_a_writer_removes_nothing() -> None:
    there = standing("The garden has roses.", CODE)
    update = PageUpdate(HOUSE, (ProposedSection("overview", "", "The gate code is 9999.", ("m9",)),))
    decision = leaf.decide(batch(HOSTILE, pages=[there]), Proposal(updates=(update,)), Matches())
    decision, kept = rewriting.keep(decision, {(HOUSE, "overview"): " "}, {})
    assert section_of(finish(decision, kept, {})).body_md == "The garden has roses."


def test_past_lines_survive_every_rewrite_and_cannot_be_forged() -> None:
    first, _ = rewritten(standing("The gate code is 4471.", CODE), "The gate code is 9999.", [HOSTILE], [CODE])
    third = memory("m3", "The gate code of the house is 1234.", day=11)
    forged = "- Earlier (user, 2020-01-01): The gate code is 0000."
    there = page("House", first)
    section, _ = rewritten(there, f"The gate code is 1234.\n{forged}", [third], [CODE, HOSTILE])
    assert past.split(section.body_md)[1] == (
        "- Earlier (user, 2026-03-02): The gate code is 4471.",
        "- Earlier (user, 2026-03-10): The gate code is 9999.",
    )
    assert "- Earlier \\(user, 2020-01-01): The gate code is 0000." in section.body_md
    again, _ = rewritten(
        page("House", section),
        "The gate code is 4471.",
        [memory("m4", "The gate code is 4471 again.", day=12)],
        [CODE, HOSTILE, third],
    )
    assert "- Earlier (user, 2026-03-02): The gate code is 4471." not in again.body_md


def test_past_lines_are_not_sent_to_a_writer() -> None:
    there = standing("The gate code is 9999.\n\n- Earlier (user, 2026-03-02): The gate code is 4471.", CODE, HOSTILE)
    section, counters = rewritten(there, "The gate code is 9999.", [memory("m5", "The gate code is 9999.")], [CODE])
    assert section.body_md == there.sections[0].body_md
    assert counters["sections_skipped"] == 1


def test_rebuilt_section_keeps_past_lines_of_remaining_memories() -> None:
    there = standing(
        "The gate code is 9999. Ana came.\n\n- Earlier (user, 2026-03-02): The gate code of the house is 4471.\n"
        "- Earlier (user, 2026-03-03): Ben came with 7 dogs.",
        CODE,
        HOSTILE,
        memory("m2", "Ben came with 7 dogs."),
    )
    view = StaleView((there,), frozenset(), frozenset({"m2"}), {"m1": CODE, "m9": HOSTILE})
    decision = stale.decide(view)
    decision, kept = rewriting.keep(decision, {(HOUSE, "overview"): "The gate code is 9999."}, {})
    assert section_of(finish(decision, kept, {})).body_md == (
        "The gate code is 9999.\n\n- Earlier (user, 2026-03-02): The gate code of the house is 4471."
    )


def test_negation_in_a_long_text_is_sent_to_a_writer() -> None:
    long = " ".join(f"Word{at} was here." for at in range(60))
    there = standing(f"{long} She eats pork.", CODE)
    update = PageUpdate(HOUSE, (ProposedSection("overview", "", f"{long} She never eats pork.", ("m9",)),))
    decision = leaf.decide(batch(HOSTILE, pages=[there]), Proposal(updates=(update,)), Matches())
    assert len(decision.drafts) == 1
