"""Generated and hostile input for what `tests/unit/rpc/transport/test_paging.py` tests by example."""

from __future__ import annotations

import base64
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.runtime.errors import InvalidArgument
from tests.unit.rpc.transport.test_paging import KEYS, LISTING, token_for


@given(
    st.tuples(
        st.datetimes(timezones=st.just(UTC)), st.text("aé\n'\"ж", max_size=200), st.integers(0, 2**62), st.uuids()
    )
)
def test_token_continues_after_the_last_row(keys: tuple[Any, ...]) -> None:
    token = token_for(LISTING, keys)
    assert LISTING.read(0, token).after == keys
    assert token.isascii()
    assert token.isprintable()


@given(st.data())
def test_token_changed_in_one_place_is_refused(data: st.DataObject) -> None:
    token = token_for(LISTING, KEYS)
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("Aa0-_z=é\0 "))
    changed = token[:place] + letter + token[place + 1 :]
    if changed == token or _same_bytes(changed, token):
        return
    with pytest.raises(InvalidArgument):
        LISTING.read(0, changed)


def _same_bytes(one: str, other: str) -> bool:
    """Say whether two tokens decode alike: the last letter of base64 may carry unused bits."""
    try:
        pad = "=" * (-len(one) % 4)
        return base64.urlsafe_b64decode(one + pad) == base64.urlsafe_b64decode(other + pad)
    except ValueError:
        return False
