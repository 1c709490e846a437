"""Generated and hostile input for what `tests/contract/models/test_meters.py` tests by example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tokens.known_counts import KnownCounts
from models.tokens.meters import EstimateMeter, ExactMeter, recalled_counts, stored_counts
from tests.contract.models.test_meters import METERS
from tests.properties.models.test_encodings_properties import texts

openings = st.characters(exclude_categories=("Cs", "Cn")).filter(lambda sign: not sign.isspace() and sign != "/")


lines = st.builds(lambda opening, rest: f"{opening}{rest}\n", openings, texts)


@pytest.mark.parametrize("unit", [" ", "a", "A", "\n", "\t", "0", "的", "\0", "😀"])
def test_megabyte_of_one_character_costs_no_more_than_its_parts(unit: str) -> None:
    megabyte = unit * (1_000_000 // len(unit.encode()))
    part = unit * (len(megabyte) // 8)
    for meter in (ExactMeter("o200k_base", 0.0), EstimateMeter("claude_4_7", 1000, 0.0)):
        assert 0 < meter.count_one(megabyte) <= 8 * meter.count_one(part) + 8


@given(pieces=st.lists(lines, max_size=8))
def test_pieces_cost_no_less_than_the_whole(pieces: list[str]) -> None:
    for meter in METERS:
        whole, parts = meter.count_one("".join(pieces)), sum(meter.count(pieces))
        assert whole <= parts, meter
        assert not meter.is_exact or whole == parts, meter


@given(batch=st.lists(texts, max_size=10))
def test_meter_counts_alike_one_by_one_in_a_batch_and_from_stored_counts(batch: list[str]) -> None:
    stored = [stored_counts(text) for text in batch]
    for meter in METERS:
        counts = meter.count(batch)
        assert counts == [meter.count_one(text) for text in batch], meter
        assert counts == [meter.from_stored(kept) for kept in stored], meter
    assert stored == [
        recalled_counts(text, o200k_base=kept.o200k_base, cl100k_base=kept.cl100k_base)
        for text, kept in zip(batch, stored, strict=True)
    ]


@given(st.lists(texts, max_size=6), st.integers(1, 9_999))
def test_a_line_costs_the_same_in_pieces_as_whole(bodies: list[str], number: int) -> None:
    lines = [body.strip() for body in bodies]
    pieces = [(f"[k{number}]", f" {line}\n") for line in lines if line]
    block = ["<context-abc123>\n", *(piece for pair in pieces for piece in pair), "</context-abc123>\n"]
    known = KnownCounts()
    for meter in (
        *METERS,
        ExactMeter("o200k_base", 0.0, known.count),
        EstimateMeter("claude_3", 1100, 0.0, known.count),
    ):
        joined = [*pieces, block, ()]
        assert meter.count_joined(joined) == meter.count(["".join(of_text) for of_text in joined])
        marks, behind = [mark for mark, _ in pieces], [line for _, line in pieces]
        assert meter.count_marked(marks, behind) == meter.count(["".join(pair) for pair in pieces])
