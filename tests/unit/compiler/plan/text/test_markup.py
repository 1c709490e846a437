"""Markdown of pages can do no harm where it is shown, and code in it stays as it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from markdown_it import MarkdownIt

from compiler.operations import vault
from compiler.plan.contract import CreatePage, PageKey, PageType
from compiler.plan.judging import finishing, leaf
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import Proposal, ProposedPage, ProposedSection
from compiler.plan.text.markup import MOST_LOOSE_BRACKETS, harmless
from sidecar.http.console.writing import markdown
from store.wiki.browse import PageRow, PageWhole, SectionRow
from tests.support.compiler.plan_cases import batch, memory

SHOWN_AS_TEXT = {
    "[x](javascript:alert(1))": "[x](javascript:alert(1))",
    "[x](<javascript:alert(1)>)": "[x](&lt;javascript:alert(1)&gt;)",
    "[x](java&#115;cript:alert(1))": "[x](javascript:alert(1))",
    "[x](\tJAVASCRIPT:alert(1))": "[x](\tJAVASCRIPT:alert(1))",
    "[x](vbscript:a)": "[x](vbscript:a)",
    "[x](data:text/html,a)": "[x](data:text/html,a)",
    "[x](file:///etc/passwd)": "[x](file:///etc/passwd)",
    "[x](//evil.example)": "[x](//evil.example)",
    "[x](/logout)": "[x](/logout)",
    "<javascript:alert(1)>": "&lt;javascript:alert(1)&gt;",
    "<img src=x onerror=alert(1)>": "&lt;img src=x onerror=alert(1)&gt;",
    "<!-- hidden -->": "&lt;!-- hidden --&gt;",
    "<a\nhref=x>": "&lt;a\nhref=x&gt;",
    "<svg/onload=alert(1)>": "&lt;svg/onload=alert(1)&gt;",
    "![a](https://evil.example/pixel.png)": "![a](https://evil.example/pixel.png)",
    "![a](/wiki/entity/uchi)": "![a](/wiki/entity/uchi)",
    "[![a](javascript:b)](https://ok.example)": "![a](javascript:b)",
    "\\\\<b>": "\\&lt;b&gt;",
    "`<b>": "`&lt;b&gt;",
}
KEPT = (
    "[x](https://ok.example/a_(b))",
    '[x](http://ok.example "title")',
    "[x](mailto:a@b.example)",
    "[**Uchi**](/wiki/entity/uchi)",
    "<https://ok.example>",
    "<a@b.example>",
    "`<b> [x](javascript:a) [[x]] **Uchi** ![a](b)`",
    "`` ` <b> ``",
    "```html\n<b>[x](javascript:a)\n```",
    "````\n```\n<b>\n````",
    "~~~\n<b>\n~~~",
    "    <b>indented code",
    "> ```\n> <b>\n> ```",
    "1 < 2 and a <3",
    "&lt;b&gt;",
)


@pytest.mark.parametrize("hostile", SHOWN_AS_TEXT)
def test_disallowed_markup_is_shown_as_text(hostile: str) -> None:
    made = harmless(hostile)
    assert SHOWN_AS_TEXT[hostile] in markdown(made)
    assert harmless(made) == made


@pytest.mark.parametrize(
    "defined",
    ["[x]\n\n[x]: javascript:a", "[y][x]\n\n[x]:\njavascript:a", "> [x]: javascript:a\n\n[x]", "[x]\n\n[x]: /u '<b>'"],
)
def test_links_by_reference_are_text(defined: str) -> None:
    assert "<a" not in markdown(harmless(defined))


@pytest.mark.parametrize("kept", KEPT)
def test_code_and_allowed_markup_are_unchanged(kept: str) -> None:
    assert harmless(kept) == kept


@pytest.mark.parametrize("kept", [one for one in KEPT if "`" in one or "~~~" in one or "indented" in one])
def test_a_stored_page_keeps_its_code(kept: str) -> None:
    said = memory("m1", "Uchi serves sushi.")
    sections = (ProposedSection("overview", "", f"Uchi.\n\n{kept}", ("m1",)),)
    decision = leaf.decide(
        batch(said), Proposal(new_pages=(ProposedPage(PageType.ENTITY, "Bar", sections=sections),)), Matches()
    )
    (made,) = (
        item.page for item in finishing.finish(decision, {}, {"uchi": UCHI}, [UCHI]) if isinstance(item, CreatePage)
    )
    assert made.sections[0].body_md == f"Uchi.\n\n{kept}"


UCHI = PageKey(PageType.ENTITY, "uchi")
ATTACK = '<img src=x onerror="alert(1)"> [x](javascript:alert(2)) ![p](https://evil.example/p.png)'


def open_html(text: str) -> str:
    """Return the text as a program shows it that lets HTML and every link through."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return str(parser.render(text))


def test_no_part_of_a_stored_page_holds_markup_from_a_model() -> None:
    said = memory("m1", "Uchi serves sushi.")
    proposed = ProposedPage(
        PageType.ENTITY, "Uchi", ATTACK, (ProposedSection("overview", ATTACK, ATTACK, ("m1",)),), memory_ids=("m1",)
    )
    items = finishing.finish(leaf.decide(batch(said), Proposal(new_pages=(proposed,)), Matches()), {}, {})
    (made,) = (item.page for item in items if isinstance(item, CreatePage))
    for text in (made.summary, made.sections[0].body_md):
        shown = open_html(text)
        assert "alert(1)" in shown
        assert not re.search("<(?!/?p>)", shown)


def test_console_and_export_show_no_markup_of_pages_stored_earlier() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    page = PageRow(UUID(int=1), "entity", "uchi", "<b>Uchi</b>", ATTACK, "active", None, 0, (), at, at, at)
    body = f"{ATTACK}\n\n`<b>` [Uchi](/wiki/entity/uchi)"
    section = SectionRow(UUID(int=2), "overview", "<img onerror=a>", body, 0, None, None)
    exported = vault.markdown(PageWhole(page, (section,), (), (), ()), None).split("---\n", 2)[2]
    for shown in (markdown(body), open_html(exported)):
        assert not re.search('<img|<b>|href="javascript', shown)
        assert "javascript:alert(2)" in shown
        assert "<code>&lt;b&gt;</code>" in shown
    assert 'href="../entity/uchi.md"' in open_html(exported)


def test_brackets_that_begin_no_link_are_escaped_if_they_are_many() -> None:
    few, many = ("[ " * count + "<b>" for count in (MOST_LOOSE_BRACKETS, MOST_LOOSE_BRACKETS + 1))
    assert harmless(few) == few.replace("<", "\\<")
    assert harmless(many) == many.replace("<", "\\<").replace("[", "\\[")
    for text in (many, "[" * 200 + "a" + "]" * 200 + "<b>", "![[a](" * 200):
        made = harmless(text)
        assert harmless(made) == made
        assert "\\[" in made
