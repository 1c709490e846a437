"""Generated and hostile input for what `tests/unit/compiler/plan/text/test_markdown.py` tests by example."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from compiler.plan.text.markdown import (
    drop_bad_links,
    escape,
    linkify,
    plain_key,
    references,
    slug,
    strip_wikilinks,
    unescape,
)
from tests.unit.compiler.plan.text.test_markdown import UCHI


@given(st.text(max_size=200))
def test_a_slug_is_a_path_part_and_its_own_slug(title: str) -> None:
    made = slug(title)
    assert len(made) <= 80
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert slug(made) == made
    assert made or not any(map(str.isalpha, title))


@given(st.text(max_size=100))
def test_the_key_of_plain_ascii_is_the_key_of_any_text(text: str) -> None:
    ascii_only = "".join(one for one in text if one.isascii())
    assert plain_key(ascii_only) == plain_key(ascii_only + " é").removesuffix("e").strip()


MARKUP = st.sampled_from(
    ["Uchi", "[[Uchi]]", "[Uchi](/wiki/entity/uchi)", "[b](/wiki/entity/gone)", "/wiki/entity/uchi", "](", "![", "**"]
) | st.text(alphabet='[]()*/wikentyuchao \\|<>!"', max_size=12)


@given(st.lists(MARKUP, max_size=12).map("".join))
@example("Uchi, [b](/wiki/entity/gone) and [[Uchi]]")
def test_markdown_guards_terminate_and_are_idempotent(markdown: str) -> None:
    once = drop_bad_links(linkify(strip_wikilinks(markdown), {"uchi": UCHI}), {UCHI})
    assert drop_bad_links(linkify(strip_wikilinks(once), {"uchi": UCHI}), {UCHI}) == once
    assert set(references([once]).pages) <= {UCHI}


@given(st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=("Cs", "Cc")), max_size=200))
def test_escaped_text_shows_as_it_is(line: str) -> None:
    assert unescape(escape(line)) == line
