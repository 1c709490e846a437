"""Reads the pinned memories separately when the memory source is slow or fails, since they must not depend on its search.

The read begins only then, so that a normal turn queries the database once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from sidecar.context.ports import BackendError, PinnedReader
from sidecar.turn.items import Item, SourceReport, Status
from store.errors import StoreError
from store.scope import Scope

READ_SEPARATELY = "its pinned memories were read separately"
# The search gets a third of the source's time from the first check, a third more once its query runs; this read gets a third.
_STEPS = 3
_SOUND = frozenset({Status.OK, Status.EMPTY, Status.SKIPPED})


async def read_beside(
    reader: PinnedReader,
    scope: Scope,
    search: asyncio.Task[SourceReport] | None,
    has_begun: Callable[[], bool],
    time_s: float,
) -> tuple[Item, ...] | None:
    """Return the pinned items once the search is late or has failed; None if it returned them, or they cannot be read.

    `search` is None if the source is not queried. `time_s` is the source's time limit in seconds.
    """
    while search is not None and not search.done():
        was_begun = has_begun()
        await asyncio.wait([search], timeout=time_s / _STEPS)
        if was_begun:
            break
    if search is not None and search.done() and is_whole(search):
        return None
    try:
        return await reader.pinned(scope)
    except (StoreError, BackendError, TimeoutError):
        return None


def read_items(task: asyncio.Task[tuple[Item, ...] | None] | None) -> tuple[Item, ...] | None:
    """Return the result of a `read_beside` task; None if there is no task, or it failed or is not finished."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    return task.result()


def is_whole(search: asyncio.Task[SourceReport]) -> bool:
    """Return whether a finished search is complete, so that it includes the pinned items."""
    if search.cancelled() or search.exception() is not None:
        return False
    report = search.result()
    return report.status in _SOUND and not report.is_partial


def with_pinned(report: SourceReport, pinned: tuple[Item, ...]) -> SourceReport:
    """Return the report with its pinned items replaced by these."""
    others = [item for item in report.items if not item.is_pinned]
    items = tuple(item._replace(rank=rank) for rank, item in enumerate([*pinned, *others]))
    reason = "; ".join(filter(None, (report.reason, READ_SEPARATELY if pinned else "")))
    return replace(report, items=items, reason=reason)
