"""A page as a file: what a person reads is Markdown, what a program reads is plain."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from compiler.operations import vault
from store.wiki.browse import AliasRow, PageRef, PageRow, PageWhole, SectionRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = PageRow(
    UUID(int=1), "entity", "c-lola", "C *Lola* [x]", r"Bar \*Lola\* here.", "active", None, 0, (), NOW, NOW, NOW
)
BODY = r"Near [**Suerte**](/wiki/entity/suerte), not \[there\](/wiki/entity/away)."


def test_vault_file_shows_the_plain_title_and_links_to_files() -> None:
    section = SectionRow(UUID(int=2), "notes", "What_is_ #1", BODY, 0, None, None)
    text = vault.markdown(PageWhole(PAGE, (section,), (), (), ()), None)
    front, _, body = text.removeprefix("---\n").partition("\n---\n")
    facts = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in front.split("\n"))}
    assert (facts["title"], facts["summary"]) == ("C *Lola* [x]", "Bar *Lola* here.")
    assert r"# C \*Lola\* \[x\]" in body
    assert r"Bar \*Lola\* here." in body
    assert "[**Suerte**](../entity/suerte.md)" in body
    assert r"\[there\](/wiki/entity/away)" in body


def test_front_matter_names_the_pages_of_a_list() -> None:
    listed = (PageRef(UUID(int=3), "entity", "suerte", "Suerte"),)
    sections = (
        SectionRow(UUID(int=2), "places", "Places", "A list.", 0, None, {}, pages=listed),
        SectionRow(UUID(int=4), "notes", "Notes", "A note.", 1, None, None),
    )
    text = vault.markdown(PageWhole(PAGE, sections, (), (), ()), None)
    assert '\nfrom_pages: {"places": ["entity/suerte"]}\n' in text


@pytest.mark.parametrize(
    "sign", ["\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\x1b", "\n", "😀"]
)
def test_front_matter_is_yaml_whatever_a_title_holds(sign: str) -> None:
    title = f'A "{sign}": {{b}} # c'
    text = vault.markdown(PageWhole(replace(PAGE, title=title), (), (), (), ()), None)
    line = next(one for one in text.split("\n") if one.startswith("title: "))
    assert json.loads(line.removeprefix("title: ")) == title
    assert re.fullmatch(
        "[\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\U00010000-\U0010ffff]+", line
    )


def test_front_matter_names_a_name_with_two_keys_once() -> None:
    rows = tuple(AliasRow(key, "O'Brien's", "compiler", NOW, ()) for key in ("o'brien's", "obriens"))
    text = vault.markdown(PageWhole(PAGE, (), rows, (), ()), None)
    assert "aliases: [\"O'Brien's\"]" in text
