"""Paged lists: yields the requested number of values, and fetches no more pages than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

_PAGE_SIZE = 200

limit_option = click.option(
    "--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many at most; 0 for all."
)


def every(list_page: Callable[..., Any], *, limit: int, **given: Any) -> Iterator[Any]:
    """Yield the values of a paged list, at most `limit` (0: all); `given` is passed to each call."""
    left, token = limit, ""
    while True:
        page = list_page(page_size=min(left, _PAGE_SIZE) if limit else _PAGE_SIZE, page_token=token, **given)
        yield from page.values
        left, token = left - len(page.values), page.next_page_token
        if not token or (limit and left <= 0):
            return
