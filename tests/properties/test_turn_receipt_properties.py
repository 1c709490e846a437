"""Generated and hostile input for what `tests/unit/test_turn_receipt.py` tests by example."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.difference import compare
from sidecar.turn.fitting import fit
from sidecar.turn.receipt import replay, write
from tests.unit.test_turn_receipt import ASKED, receipt_of
from tests.unit.turn_cases import METER, grown


@given(st.integers(0, 2**40), st.integers(1, 8))
def test_an_unchanged_receipt_gives_the_same_bytes_and_an_empty_difference(seed: int, size: int) -> None:
    question = grown(seed, size)
    result = fit(question, METER)
    written, texts = write(ASKED, question, result)
    again = replay(json.loads(json.dumps(written, allow_nan=False)), texts, fence_tag=question.fence_tag)
    assert fit(again, METER).rendering == result.rendering
    difference = compare(written, receipt_of(again))
    assert (difference.changes, difference.token_deltas, difference.first_changed_zone) == ((), {}, "")
