"""Whatever a text holds, a parser that lets everything through finds nothing in it that is not allowed, and code stays."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from compiler.plan.text.markup import harmless, is_allowed, outside_code

PIECES = st.sampled_from(
    [
        *"[]()<>!`~\\\n\t &:#-*_|\"'=x1",
        "](", "![", "]:", "][", "\n\n", "    ", "> ", "- ", "1. ", "```", "``", "~~~", "<!--", "-->", "<b>", "</b>",
        "<img src=x>",
        "<?", "<![CDATA[", "javascript:a", "https://a.b", "mailto:a@b", "/wiki/entity/a", "data:x", "//a.b", "&#115;", "&lt;",
        "&colon;", "\\(", "\\)", "\\]", "\x00", "|--|--|\n", "---\n", "a\n===\n",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)
JUDGES = [MarkdownIt("commonmark", {"html": True}), MarkdownIt("commonmark", {"html": True}).enable("table")]
for judge in JUDGES:
    judge.validateLink = lambda url: True  # type: ignore[method-assign]


@given(TEXTS)
@example("| `x | [y](javascript:1)` |\n|--|--|\n| `x | [y](javascript:1)` |")
@example("[`a](b`](javascript:a)")
@example("- `a\n\n[x](javascript:a) `")
@example("<a `>[x](javascript:a)`")
@example("<http://a`b>[x](javascript:a)`")
def test_no_disallowed_markup_is_left(text: str) -> None:
    made = harmless(text)
    for judge in JUDGES:
        for token in (one for block in judge.parse(made) for one in (block, *(block.children or ()))):
            assert token.type not in {"html_block", "html_inline", "image"}
            assert token.type != "link_open" or is_allowed(str(token.attrGet("href")))


@given(TEXTS)
def test_cleaning_markup_is_idempotent(text: str) -> None:
    made = harmless(text)
    assert harmless(made) == made


@given(TEXTS)
def test_edit_that_changes_nothing_returns_the_text(text: str) -> None:
    assert outside_code(text, lambda outside: outside) == text.replace("\x00", "")
