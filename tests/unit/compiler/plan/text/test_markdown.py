"""Slugs, keys and markdown guards."""

from __future__ import annotations

import pytest

from compiler.plan.contract import PageKey, PageType
from compiler.plan.text.markdown import (
    alias_key,
    alias_keys,
    bold_names,
    drop_bad_links,
    escape,
    first_sentence,
    linkify,
    page_key,
    plain_key,
    references,
    slug,
    strip_wikilinks,
    unlinked,
)

AUSTIN = PageKey(PageType.TOPIC, "austin")
UCHI = PageKey(PageType.ENTITY, "uchi")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Austin, Texas", "austin-texas"),
        ("Momofuku Daishō", "momofuku-daisho"),
        ("Lady Bird Lake Hike & Bike Trail", "lady-bird-lake-hike-bike-trail"),
        ("Jo's", "jos"),
        ("Москва", "moskva"),
        ("Σπύρος", "spyros"),
        ("Łódź", "lodz"),
        ("Straße", "strasse"),
        ("***", ""),
        ("", ""),
    ],
)
def test_a_slug_is_made_of_the_title(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_titles_in_other_scripts_have_slugs_of_their_own() -> None:
    made = {slug(title) for title in ("東京", "大阪", "東京タワー", "서울", "القاهرة", "กรุงเทพ")}
    assert len(made) == 6
    assert "" not in made


def test_keys_fold_case_accents_and_width() -> None:
    assert alias_key("Chef João") == "chef joao"
    assert plain_key("St. Regis") == plain_key("st regis") == "st regis"
    assert alias_keys("Hello, Kristof") == ("hello, kristof", "hello kristof")
    assert alias_keys("Ｕｃｈｉ") == ("uchi",)


@pytest.mark.parametrize(
    ("markdown", "stripped"),
    [
        ("see [[Austin]] and [[topic/uchi|Uchi]]", "see Austin and Uchi"),
        ("[[a|[[b]]]]", "b"),
        ("no links [x](y)", "no links [x](y)"),
        ("[[]]", ""),
    ],
)
def test_wikilinks_are_replaced_by_their_words(markdown: str, stripped: str) -> None:
    assert strip_wikilinks(markdown) == stripped


def test_first_bold_name_of_a_known_page_becomes_a_link() -> None:
    known = {"austin": AUSTIN, "uchi": UCHI}
    body = r"**Uchi** in **Austin**, **Nobody**, \**Uchi**, [**Uchi**](/wiki/entity/uchi)"
    linked = linkify(body, known)
    assert linked == (
        r"[**Uchi**](/wiki/entity/uchi) in [**Austin**](/wiki/topic/austin), **Nobody**, \**Uchi**, [**Uchi**](/wiki/entity/uchi)"
    )
    assert linkify(linked, known) == linked


@pytest.mark.parametrize("name", ["NY*", "C_D _E_", "Uchi [new]", "a<b", "*NSYNC*", "back\\slash", "`tick`"])
def test_name_with_markdown_characters_is_found_as_shown(name: str) -> None:
    bold = f"**{escape(name)}**"
    assert bold_names([f"We saw {bold}."]) == (alias_key(name),)
    linked = linkify(f"We saw {bold}.", {alias_key(name): UCHI})
    assert linked == f"We saw [{bold}](/wiki/entity/uchi)."
    assert linkify(linked, {alias_key(name): UCHI}) == linked
    assert drop_bad_links(linked, ()) == f"We saw {bold}."


def test_a_page_does_not_link_to_itself() -> None:
    assert linkify("**Uchi**", {"uchi": UCHI}, own=UCHI) == "**Uchi**"


def test_longer_names_are_not_shadowed_by_shorter_ones() -> None:
    known = {"austin": AUSTIN, "austin activities": PageKey(PageType.TOPIC, "austin-activities")}
    assert linkify("**Austin Activities**", known) == "[**Austin Activities**](/wiki/topic/austin-activities)"


@pytest.mark.parametrize(
    "bad",
    [
        "[x](/wiki/entity/nobody)",
        "[x](/wiki/person/uchi)",
        "[x](/wiki/entity/)",
        '[x](/wiki/entity/Uchi "title")',
        "[x](</wiki/entity/nobody>)",
        "[x](/wiki/entity/uchi/../../admin)",
    ],
)
def test_links_to_unknown_pages_become_text(bad: str) -> None:
    assert drop_bad_links(f"a {bad} b [y](/wiki/entity/uchi)", {UCHI}) == "a x b [y](/wiki/entity/uchi)"


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("- [**Suerte**](/wiki/entity/suerte) — Restaurant.", "- Suerte — Restaurant."),
        ("Ana saw [Rui](/wiki/entity/rui) in **Faro**.", "Ana saw Rui in **Faro**."),
        (r"[a \[draft\]](/wiki/topic/a-draft)", r"a \[draft\]"),
        ("[elsewhere](https://example.org/wiki/x) and [1]", "[elsewhere](https://example.org/wiki/x) and [1]"),
        ("no link", "no link"),
    ],
)
def test_links_to_pages_become_their_words(markdown: str, plain: str) -> None:
    assert unlinked(markdown) == plain


def test_escaped_text_is_not_parsed() -> None:
    hostile = "[[x]] [a](/wiki/entity/b) **bold** <script> `code`"
    escaped = escape(hostile)
    assert strip_wikilinks(escaped) == escaped
    assert bold_names([escaped]) == ()
    assert references([escaped]).pages == ()


@pytest.mark.parametrize(
    ("summary", "first"),
    [
        ("BBQ joint in Austin, TX. Opened in 2009.", "BBQ joint in Austin, TX."),
        ("Dr. No is a film", "Dr. No is a film"),
        ("寿司屋。安い。", "寿司屋。"),
        ("word " * 60, "word " * 30 + "word…"),
    ],
)
def test_a_summary_is_cut_to_its_first_sentence(summary: str, first: str) -> None:
    assert first_sentence(summary) == first


@pytest.mark.parametrize(("kind", "name"), [("person", "x"), ("entity", ""), ("entity", "../x"), ("entity", "Uchi")])
def test_a_malformed_page_has_no_key(kind: str, name: str) -> None:
    assert page_key(kind, name) is None
