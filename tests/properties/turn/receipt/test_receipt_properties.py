"""Generated and hostile input for what `tests/unit/turn/receipt/test_receipt.py` tests by example."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.fitting.fitting import fit
from sidecar.turn.items import Source
from sidecar.turn.receipt.difference import compare
from sidecar.turn.receipt.receipt import replay, write
from tests.support.turn.turn_cases import METER, a_fitting, an_item, grown
from tests.unit.turn.receipt.test_receipt import ASKED, receipt_of


@given(
    st.lists(
        st.none() | st.datetimes(timezones=st.sampled_from([UTC, None, timezone(timedelta(hours=-5, seconds=7))])),
        max_size=3,
    )
)
def test_every_time_survives_a_receipt(times: list[datetime | None]) -> None:
    items = [an_item(f"m{place}", f"fact {place}a", at=at) for place, at in enumerate(times)]
    rows = receipt_of(a_fitting(*items))["sources"][list(Source).index(Source.MEMORY)]["items"]
    assert [row.get("at") for row in rows] == [at.isoformat() if at else None for at in times]


@given(st.integers(0, 2**40), st.integers(1, 8))
def test_an_unchanged_receipt_gives_the_same_bytes_and_an_empty_difference(seed: int, size: int) -> None:
    question = grown(seed, size)
    result = fit(question, METER)
    written, texts = write(ASKED, question, result)
    again = replay(json.loads(json.dumps(written, allow_nan=False)), texts, fence_tag=question.fence_tag)
    assert fit(again, METER).rendering == result.rendering
    difference = compare(written, receipt_of(again))
    assert (difference.changes, difference.token_deltas, difference.first_changed_zone) == ((), {}, "")
