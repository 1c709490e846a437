"""A page as a file: what a person reads is Markdown, what a program reads is plain."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

from compiler import vault
from store.browse import PageRow, PageWhole, SectionRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = PageRow(
    UUID(int=1), "entity", "c-lola", "C *Lola* [x]", r"Bar \*Lola\* here.", "active", None, 0, (), NOW, NOW, NOW
)
BODY = r"Near [**Suerte**](/wiki/entity/suerte), not \[there\](/wiki/entity/away)."


def test_a_file_shows_the_title_as_it_is_and_links_to_files() -> None:
    section = SectionRow(UUID(int=2), "notes", "What_is_ #1", BODY, 0, None, None)
    text = vault.markdown(PageWhole(PAGE, (section,), (), (), ()), None)
    front, _, body = text.removeprefix("---\n").partition("\n---\n")
    facts = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in front.split("\n"))}
    assert (facts["title"], facts["summary"]) == ("C *Lola* [x]", "Bar *Lola* here.")
    assert r"# C \*Lola\* \[x\]" in body
    assert r"Bar \*Lola\* here." in body
    assert "[**Suerte**](../entity/suerte.md)" in body
    assert r"\[there\](/wiki/entity/away)" in body
