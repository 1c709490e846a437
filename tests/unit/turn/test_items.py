"""Items made from columns are those that were read from items, and no field is taken that an item has not."""

from __future__ import annotations

from itertools import count, repeat

import pytest

from sidecar.turn.items import Item, Source, columns_of, items_of
from tests.support.turn.turn_cases import an_item


def test_items_made_from_their_columns_are_equal() -> None:
    items = (an_item("one", "Ana moved", position=3), an_item("two", "Bruno walks", header="Remembered"))
    assert items_of(**columns_of(items)) == items


def test_a_field_without_a_column_has_its_default() -> None:
    made = items_of(id=["one", "two"], source=repeat(Source.WIKI), text=["a", "b"], rank=count(), relevance=[0.5, 0.25])
    assert made == (Item("one", Source.WIKI, "a", 0, 0.5), Item("two", Source.WIKI, "b", 1, 0.25))


def test_a_column_that_no_item_has_is_refused() -> None:
    with pytest.raises(TypeError, match="an item has no colour"):
        items_of(id=["one"], colour=["red"])
