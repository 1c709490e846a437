"""Generated and hostile input for what `tests/unit/ingest/documents/test_markdown_documents.py` tests by example."""

import pytest

from tests.support.steps import grows_in_line
from tests.unit.ingest.documents.test_markdown_documents import of


def test_long_text_is_read_in_stretches_without_loss_or_split_blocks() -> None:
    code = "# not a heading\n\nstill code\n" * 40
    section = "## Part {0}\n\nWords of part {0}.\n\n```\n" + code + "```\n\n"
    blocks = of("".join(section.format(number) for number in range(600))).blocks
    assert [block.kind for block in blocks] == ["heading", "paragraph", "code"] * 600
    assert {block.text for block in blocks if block.kind == "code"} == {code.strip()}
    assert blocks[-1].heading_path == ("Part 599",)


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("[", 1_000), ("![[", 1_000), ("a**b", 500), ("[a](", 1_000), ("`a``b", 500), ("<a ", 500), ("> a\n\n", 200),
        ("[a]: b\n", 200), ("<!-- ", 500), ("&#", 500), ("~~~\n", 501), ("# h\n", 200),
    ],
    ids=repr,
)  # fmt: skip
def test_hostile_marks_take_linear_time(unit: str, size: int) -> None:
    assert grows_in_line(lambda count: of(unit * count), size)


def test_wide_tables_and_long_front_matter_take_linear_time() -> None:
    assert grows_in_line(lambda count: of("|a" * count + "\n" + "|-" * count + "\n" + "|b" * count), 200)
    assert grows_in_line(lambda count: of("---\na: b\n" + "c: d\n" * count), 300)


@pytest.mark.parametrize("text", ["[" * 40_000, "&#" * 20_000, "|a" * 4_000 + "\n" + "|-" * 4_000])
def test_many_hostile_marks_are_read(text: str) -> None:
    assert len(of(text).text) >= len(text) // 2
