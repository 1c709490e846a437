"""The section of a page in which a sentence is quoted."""

from __future__ import annotations

import pytest

from compiler.plan.quoting.sections import arrange
from tests.support.compiler.plan_cases import memory


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Ulrike learned to ride a bike by the canal.", "sport_and_outdoors"),
        ("Ulrike is pregnant.", "health"),
        ("Ulrike takes her pills at seven in the morning, before coffee.", "overview"),
        ("Ulrike sent the signed contract. She brought beer too.", "overview"),
        ("Ulrike rang back. She went to the dentist in May.", "overview"),
        ("Ulrike went to Ghent in May. She rang back.", "visits"),
        ("Ulrike blood count went to 4.1 in May.", "overview"),
        ("Ulrike wants to sunset the old till.", "overview"),
        ("Ulrike paid her taxes in May.", "work_and_causes"),
    ],
)
def test_sentence_is_in_the_section_of_what_it_says_first(text: str, slug: str) -> None:
    assert [one.slug for one in arrange([(memory("m1", text), (text,))], None, {"ulrike"})] == [slug]
