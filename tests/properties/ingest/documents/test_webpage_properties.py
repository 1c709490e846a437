"""Generated and hostile input for what `tests/unit/ingest/documents/test_webpage.py` tests by example."""

import pytest

from tests.support.steps import grows_in_line
from tests.unit.ingest.documents.test_webpage import of


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("<div>", 20_000), ("<ul><li>", 10_000), ("<table><tr><td>", 6_000), ("<b>", 20_000), ("<p>", 20_000),
        ("<", 20_000), ("<pre>", 10_000), ("<h1>", 10_000), ("x ", 100_000), ("<p a='x'>", 20_000),
    ],
)  # fmt: skip
def test_hostile_pages_take_linear_time_and_keep_their_words(unit: str, size: int) -> None:
    assert of(unit * size + " words").text.endswith("words")
    assert grows_in_line(lambda count: of(unit * count + " words"), 500)
