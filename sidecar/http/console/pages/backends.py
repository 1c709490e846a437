"""The sources: their statistics, open breakers and switches, and a question tried on some of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.context.assembler import TurnRequest
from sidecar.http.console.desk import Desk, Visit, read_id, route
from sidecar.http.console.turn_view import Candidate, candidates, source_lines
from sidecar.rpc.auth.identity import resolve_agent
from sidecar.runtime.errors import InvalidArgument, TextsDropped
from sidecar.services.validation import read_id as read_text_id
from sidecar.services.validation import read_text
from sidecar.telemetry import names
from sidecar.telemetry.figures import Figures
from sidecar.turn.items import Source
from store.accounting.receipts import StoredReceipt
from store.scope import Scope

_DEADLINE_S, _PATIENT_MS = 10.0, 8_000
_MAX_CHARS = 5_000
_SHOWN_ITEMS = 20
_ANSWERED = frozenset({"OK", "EMPTY"})
_MODEL = "gpt-4o"


@dataclass(slots=True)
class SourceFigures:
    """A source's statistics since the process started; `buckets` counts its answers by upper bound of latency, in seconds."""

    name: str
    by_status: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    buckets: dict[float, float] = field(default_factory=lambda: defaultdict(float))
    is_resting: bool = False

    @property
    def asked(self) -> int:
        """The number of its queries."""
        return sum(self.by_status.values())

    @property
    def failed(self) -> int:
        """The number of queries that it did not answer."""
        return sum(count for status, count in self.by_status.items() if status not in _ANSWERED)

    @property
    def mean_ms(self) -> float:
        """Its mean latency."""
        return 1000 * self.seconds / max(1, self.asked)

    @property
    def p95_ms(self) -> float | None:
        """The bound of the histogram that holds 95 of 100 answers; None if they were slower than its last bound."""
        bounds = sorted(bound for bound, count in self.buckets.items() if count >= 0.95 * self.asked)
        return 1000 * bounds[0] if bounds and bounds[0] != float("inf") else None


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about sources."""
    return [
        route(desk, "/sources", list_sources),
        route(desk, "/sources/switch", switch_source, methods=["POST"]),
        route(desk, "/sources/backend", switch_backend, methods=["POST"]),
        route(desk, "/sources/try", try_question, methods=["POST"]),
        route(desk, "/sources/tried/{receipt_id}", show_tried),
    ]


async def list_sources(visit: Visit) -> Response:
    """Show the sources, and the form to try a question; to an admin, also their statistics and switches."""
    if visit.is_admin:
        rows = source_figures(visit.desk.watch.figures, set(visit.desk.resting()))
    else:  # the statistics are those of all tenants, which no call shows to agents
        rows = [SourceFigures(source.value) for source in Source]
    stand = await visit.services.profiles.source_switches(visit.identity.tenant_id)
    switches = await visit.services.backends.switches(visit.identity.tenant_id)
    values = {
        "stand": stand,
        "switches": switches,
        "resting": visit.desk.switches.resting(),
        "sources": [*Source],
        "scope": visit.scope,
    }
    return await visit.page("sources.html", rows=rows, model=_MODEL, **values)


def source_figures(figures: Figures, resting: set[str]) -> list[SourceFigures]:
    """Return the statistics of each source, from the metrics of all processes of the service."""
    rows: dict[str, SourceFigures] = {source.value: SourceFigures(source.value) for source in Source}
    base = names.SOURCE_DURATION.prometheus_name
    for family in figures.families():
        for sample in family.samples if family.name == base else ():
            row = rows.get(_source_of(sample.labels))
            if row is not None:
                _take(row, sample.name.removeprefix(base), sample.labels, sample.value)
    for name in resting & rows.keys():
        rows[name].is_resting = True
    return list(rows.values())


def _source_of(labels: Mapping[str, str]) -> str:
    return next((value for name, value in labels.items() if name.endswith("source")), "")


def _take(row: SourceFigures, kind: str, labels: Mapping[str, str], value: float) -> None:
    """Add one sample of the histogram to a source's statistics."""
    if kind == "_count":
        status = next((one for name, one in labels.items() if name.endswith("status")), "")
        row.by_status[status] = row.by_status.get(status, 0) + int(value)
    elif kind == "_sum":
        row.seconds += value
    elif kind == "_bucket":
        row.buckets[float(labels["le"])] += value


async def try_question(visit: Visit) -> Response:
    """Assemble the question with the chosen sources, and show the answer of each."""
    form = visit.form
    chosen = [source for source in Source if form.get(source.value) == "1"]
    if not chosen:
        raise InvalidArgument("sources", "is empty", "choose at least one")
    patience = {"deadline_ms": _PATIENT_MS} if form.get("patient") == "1" else {}
    question = TurnRequest(
        agent_id=resolve_agent(visit.identity, form.get("agent", "")) or "console",
        thread_id=read_text_id("thread", form.get("in_thread", ""), is_optional=True),
        space_id="",
        message=read_text("message", form.get("message", ""), min_chars=1, max_chars=_MAX_CHARS),
        client_turn_id="",
        model_id=read_text_id("model", form.get("model", "")),
        overrides={"sources": {one.value: {"enabled": one in chosen} | patience for one in Source}},
    )
    scope = visit.scope
    async with visit.desk.trying:
        due_s = visit.desk.clocks.steady_s() + _DEADLINE_S
        assembly = await visit.desk.assembler.assemble(question, scope, due_s=due_s)
    assert assembly.receipt_id is not None, "only a replay has none"
    return RedirectResponse(f"/sources/tried/{assembly.receipt_id}", 303)


async def show_tried(visit: Visit) -> Response:
    """Show a turn's sources side by side: the status and the items of each."""
    scope, receipt_id = visit.scope, read_id(visit, "receipt_id")
    receipt = await visit.services.receipts.get(scope, receipt_id, reach=visit.identity.reach)
    offered: dict[str, list[Candidate]] = defaultdict(list)
    for one in candidates(receipt):
        offered[one.source].append(one)
    return await visit.page(
        "tried.html",
        receipt=receipt,
        asked=await visit.desk.replayer.asked(scope, receipt),
        lines=source_lines(receipt),
        offered=offered,
        texts=await _texts(visit, scope, receipt),
        most=_SHOWN_ITEMS,
    )


async def _texts(visit: Visit, scope: Scope, receipt: StoredReceipt) -> dict[str, str]:
    """Return the texts of a turn's candidates by id; empty once they are no longer stored."""
    try:
        replayed = await visit.desk.replayer.replay(scope, receipt, {})
    except TextsDropped:
        return {}
    return {item.id: item.text for report in replayed.assembly.reports for item in report.items}


async def switch_source(visit: Visit) -> Response:
    """Switch a source off or on for the visitor's tenant."""
    visit.require_admin()
    name, is_on = visit.form.get("source", ""), visit.form.get("on") == "1"
    author = visit.identity.subject
    await visit.services.profiles.switch_source(visit.identity.tenant_id, name, is_on=is_on, author=author)
    state = "queried again" if is_on else "no longer queried"
    visit.tell(
        f"{name} is {state} by the turns of this tenant.", undo="/sources/switch", source=name, on=_flag(not is_on)
    )
    return RedirectResponse("/sources", 303)


async def switch_backend(visit: Visit) -> Response:
    """Switch a configured backend off or on for the visitor's tenant."""
    visit.require_admin()
    name, is_on = visit.form.get("backend", ""), visit.form.get("on") == "1"
    reason, author = visit.form.get("reason", ""), visit.identity.subject
    await visit.services.backends.switch(visit.identity.tenant_id, name, is_off=not is_on, reason=reason, author=author)
    state = "queried again" if is_on else "no longer queried"
    visit.tell(f"The backend {name} is {state}.", undo="/sources/backend", backend=name, on=_flag(not is_on))
    return RedirectResponse("/sources", 303)


def _flag(is_on: bool) -> str:
    return "1" if is_on else "0"
