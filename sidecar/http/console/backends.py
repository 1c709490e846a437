"""The sources: how they have been answering, which rest, and a question tried on the chosen ones."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.assembler import Question
from sidecar.errors import InvalidArgument
from sidecar.http.console.desk import Desk, Visit, route
from sidecar.rpc.fields import read_id as read_text_id
from sidecar.rpc.fields import read_text
from sidecar.rpc.identity import resolve_agent
from sidecar.telemetry import names
from sidecar.telemetry.figures import Figures
from sidecar.turn.items import Source

_DEADLINE_S = 10.0
_MAX_CHARS = 20_000
_ANSWERED = frozenset({"OK", "EMPTY"})


@dataclass(slots=True)
class SourceFigures:
    """How a source has answered since the process began."""

    name: str
    by_status: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    is_resting: bool = False

    @property
    def asked(self) -> int:
        """How often it was asked."""
        return sum(self.by_status.values())

    @property
    def failed(self) -> int:
        """How often it did not answer."""
        return sum(count for status, count in self.by_status.items() if status not in _ANSWERED)

    @property
    def mean_ms(self) -> float:
        """Its mean latency."""
        return 1000 * self.seconds / max(1, self.asked)


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about sources."""
    return [
        route(desk, "/sources", list_sources),
        route(desk, "/sources/try", try_question, methods=["POST"]),
    ]


async def list_sources(visit: Visit) -> Response:
    """Show the sources, and the form of a question to try."""
    rows = source_figures(visit.desk.figures, set(visit.desk.resting()))
    return visit.page("sources.html", rows=rows, sources=[*Source], scope=visit.scope)


def source_figures(figures: Figures, resting: set[str]) -> list[SourceFigures]:
    """Return each source's figures, from the process's own metrics."""
    rows: dict[str, SourceFigures] = {source.value: SourceFigures(source.value) for source in Source}
    base = names.SOURCE_DURATION.prometheus_name
    for family in figures.registry.collect():
        for sample in family.samples if family.name == base else ():
            row = rows[sample.labels["source"]]
            if sample.name == f"{base}_count":
                row.by_status[sample.labels["status"]] = int(sample.value)
            elif sample.name == f"{base}_sum":
                row.seconds += sample.value
    for name in resting & rows.keys():
        rows[name].is_resting = True
    return list(rows.values())


async def try_question(visit: Visit) -> Response:
    """Assemble the question with the chosen sources, and show the turn."""
    form = visit.form
    chosen = [source for source in Source if form.get(source.value) == "1"]
    if not chosen:
        raise InvalidArgument("sources", "are none", "choose at least one")
    enabled: dict[str, dict[str, bool]] = defaultdict(dict)
    for source in Source:
        enabled[source.value]["enabled"] = source in chosen
    question = Question(
        agent_id=resolve_agent(visit.identity, form.get("agent", "")) or "console",
        thread_id=read_text_id("thread", form.get("thread", ""), is_optional=True),
        space_id="",
        message=read_text("message", form.get("message", ""), min_chars=1, max_chars=_MAX_CHARS),
        client_turn_id="",
        model_id=read_text_id("model", form.get("model", "")),
        overrides={"sources": dict(enabled)},
    )
    due_s = visit.desk.clocks.steady_s() + _DEADLINE_S
    scope = visit.scope
    assembly = await visit.desk.assembler.assemble(question, scope, due_s=due_s)
    assert assembly.receipt_id is not None, "only a replay has none"
    if (settling := visit.desk.recorder.settling(scope, assembly.receipt_id)) is not None:
        await settling
    return RedirectResponse(f"/turns/{assembly.receipt_id}", 303)
