"""Reads lists page by page, and sends values in batches: as many calls as needed, each within its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

V = TypeVar("V")

BATCH_COUNT = 500
BATCH_CHARS = 4_000_000  # well below the message limit, even at four bytes per character
PAGE_SIZE = 200

limit_option = click.option(
    "--limit", type=click.IntRange(min=0), default=50, show_default=True, help="The maximum number; 0 for all."
)


def every(list_page: Callable[..., Any], *, limit: int, at_once: int = PAGE_SIZE, **options: Any) -> Iterator[Any]:
    """Yield the values of a paged list, at most `limit` (0: all), in pages of `at_once`; `options` is passed to each call."""
    left, token = limit, ""
    while True:
        page = list_page(page_size=min(left, at_once) if limit else at_once, page_token=token, **options)
        yield from page.values
        left, token = left - len(page.values), page.next_page_token
        if not token or (limit and left <= 0):
            return


def batches(
    values: Iterable[V], chars: Callable[[V], int], *, most: int = BATCH_COUNT, most_chars: int = BATCH_CHARS
) -> Iterator[list[V]]:
    """Yield batches in order, each with at most `most` values and `most_chars` characters; a longer value is alone."""
    batch: list[V] = []
    held_chars = 0
    for value in values:
        size = chars(value)
        if batch and (len(batch) >= most or held_chars + size > most_chars):
            yield batch
            batch, held_chars = [], 0
        batch.append(value)
        held_chars += size
    if batch:
        yield batch
