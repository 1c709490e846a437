"""Turns: the list, one turn, the same turn with other knobs, and the differences between two turns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console import turn_view
from sidecar.http.console.desk import Desk, Visit, after, read_id, route
from sidecar.http.console.writing import aside
from sidecar.runtime.errors import InvalidArgument, NotFound, TextsDropped
from sidecar.services.costs import account_cost
from sidecar.turn.items import Source
from sidecar.turn.profile import InvalidKnob
from sidecar.turn.ranking.worth import Spend
from sidecar.turn.receipt.difference import compare
from store.accounting.costs import Filters, TurnAccount
from store.accounting.receipts import StoredReceipt
from store.scope import Scope

_ROWS = 50
_CANDIDATES = 500
_MESSAGES = 100
_MOST_FITTED = 2_000
_MOST_CHARS = 30_000
_MOST_DIGITS = 9


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about turns."""
    return [
        route(desk, "/", _home),
        route(desk, "/turns", list_turns),
        route(desk, "/turns/{receipt_id}", show_turn),
        route(desk, "/turns/{receipt_id}/diff", show_difference),
    ]


async def _home(visit: Visit) -> Response:
    return RedirectResponse("/turns", 303)


async def list_turns(visit: Visit) -> Response:
    """Show the newest turns that pass the filters."""
    filters = read_filters(visit)
    found = await visit.services.costs.turns(visit.scope, filters, limit=_ROWS + 1, before=after(visit, UUID))
    rows = [(row, account_cost(row)) for row in found[:_ROWS]]
    last = rows[-1][0] if len(found) > _ROWS else None
    query = {name: value for name, value in visit.query.items() if name != "after"}
    values = {"filters": filters, "query": query, "sources": [*Source], "is_older": "after" in visit.query}
    return await visit.page("turns.html", rows=rows, last=last, **values)


def read_filters(visit: Visit) -> Filters:
    """Return the filters of the query; invalid ones are left out."""
    query = visit.query
    least = query.get("slower_ms", "")
    return Filters(
        thread_id=query.get("thread", "")[:200],
        agent_id=visit.filtered_agent(query.get("agent", "")[:200]),
        model_id=query.get("model", "")[:200],
        failed_source=query.get("failed", "")[:40],
        degraded_only=query.get("degraded") == "1",
        least_ms=float(least) if least.isdecimal() and len(least) < 10 else 0.0,
    )


async def show_turn(visit: Visit) -> Response:
    """Show a turn: waterfall, bars, candidates, context; with other knobs if the query has some."""
    scope = visit.scope
    receipt, earlier = await _receipt(visit, scope, read_id(visit, "receipt_id"))
    overrides = read_overrides(visit.query)
    trouble, replayed, original = "", None, None
    is_fitted = visit.query.get("whole") == "1" or turn_view.count(receipt) <= _MOST_FITTED
    try:
        original = await visit.desk.replayer.replay(scope, receipt, {}) if is_fitted else None
        replayed = await visit.desk.replayer.replay(scope, receipt, overrides) if overrides else None
    except TextsDropped as error:
        trouble = str(error)
    except (InvalidKnob, InvalidArgument) as error:
        trouble = f"{error.field} {error.problem}"
    return await visit.page(
        "turn.html",
        receipt=receipt,
        account=await _account(visit, scope, receipt.receipt_id),
        earlier=earlier,
        asked=await visit.desk.replayer.asked(scope, receipt),
        shown=original.assembly.fitted.rendering if original else None,
        is_fitted=is_fitted,
        replayed=replayed,
        replayed_pool=turn_view.fitted_stripes(replayed.assembly.fitted) if replayed else [],
        overrides=overrides,
        spends=list(Spend),
        trouble=trouble,
        most_chars=None if visit.query.get("whole") == "1" else _MOST_CHARS,
        most_messages=_MESSAGES,
        **await aside(partial(_drawn, visit, receipt)),
    )


def _drawn(visit: Visit, receipt: StoredReceipt) -> dict[str, Any]:
    """Return the part of the page that needs only the receipt: rows, bars and candidates."""
    return {
        "lines": turn_view.source_lines(receipt),
        "skipped": turn_view.skipped(receipt),
        "fitting": turn_view.fitting_stripe(receipt),
        "window": turn_view.window_stripes(receipt.details["pool"]),
        "pool": turn_view.pool_stripes(receipt),
        "use": turn_view.use(receipt),
        **_candidates(visit, receipt),
    }


def _candidates(visit: Visit, receipt: StoredReceipt) -> dict[str, Any]:
    """Return a page of the candidates with the searched words: those in the context first, then by relevance."""
    find, skip = visit.query.get("find", "")[:200], visit.query.get("skip", "")
    matches = [one for one in turn_view.candidates(receipt) if turn_view.holds(one, find)]
    matches.sort(key=lambda one: (one.decision not in {"kept", "shortened"}, -(one.relevance or 0.0)))
    begin = int(skip) if skip.isdecimal() and len(skip) < _MOST_DIGITS else 0
    more = begin + _CANDIDATES if len(matches) > begin + _CANDIDATES else None
    return {"candidates": matches[begin : begin + _CANDIDATES], "found": len(matches), "find": find, "more": more}


async def _account(visit: Visit, scope: Scope, receipt_id: UUID) -> tuple[TurnAccount, float | None] | None:
    """Return the turn's tokens and cost; None if it has no account."""
    account = await visit.services.costs.turn(scope, receipt_id)
    return None if account is None else (account, account_cost(account))


def read_overrides(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the knobs that the query sets."""
    overrides: dict[str, Any] = {}
    if (budget := query.get("budget", "")).isdecimal() and len(budget) < _MOST_DIGITS:
        overrides["budget_tokens"] = int(budget)
    if (spend := query.get("spend", "")) in set(Spend):
        overrides["spend"] = spend
    of_sources: dict[str, dict[str, int]] = {}
    for source in Source:
        for knob in ("top_k", "priority"):
            value = query.get(f"{source.value}.{knob}", "")
            if value.isdecimal() and len(value) < 6:
                of_sources.setdefault(source.value, {})[knob] = int(value)
    return overrides | ({"sources": of_sources} if of_sources else {})


async def show_difference(visit: Visit) -> Response:
    """Show the differences between a turn and the one before it in its thread."""
    scope = visit.scope
    receipt, earlier = await _receipt(visit, scope, read_id(visit, "receipt_id"))
    if earlier is None:
        raise NotFound("earlier turn")
    before, _ = await _receipt(visit, scope, earlier.receipt_id)
    difference = await aside(partial(compare, before.details, receipt.details))
    pools = {"earlier_pool": turn_view.pool_stripes(before), "later_pool": turn_view.pool_stripes(receipt)}
    return await visit.page("difference.html", receipt=receipt, before=before, difference=difference, **pools)


async def _receipt(visit: Visit, scope: Scope, receipt_id: UUID) -> tuple[StoredReceipt, StoredReceipt | None]:
    """Return a receipt and the one before it in its thread."""
    service, reach = visit.services.receipts, visit.identity.reach
    receipt = await service.get(scope, receipt_id, reach=reach)
    if not receipt.thread_id:
        return receipt, None
    place = (receipt.created_at, receipt.receipt_id)
    before = await service.page(scope, thread_id=receipt.thread_id, reach=reach, limit=1, before=place)
    return receipt, before[0] if before else None
