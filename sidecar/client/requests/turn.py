"""The requests of an agent's turn: one frozen class per RPC, with its name.

Fields have the contract's names; tenant and owner come from the client. The service validates values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sidecar.client.answers.turn import Appended, Assembly, Receipt, Retained, UsageEffect
from sidecar.client.decoding import Inner, Whole
from sidecar.client.encoding import NewMemory, NewTurn
from sidecar.client.knobs import Knobs
from sidecar.client.requests.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleContext(Request[Assembly]):
    """Assemble one turn's context. `system` and `tools` are texts to be counted, or tokens already counted.

    Memories are ranked by their validity at `as_of_time`, and only those known at `known_at_time` are recalled; None means now.

    `time_zone` is the user's, such as America/Los_Angeles: days in the message and the dates of recalled texts are its days.

    `detail` is context, items (with the items' texts) or decisions (also with every candidate's decision). The receipt has all
    of it in any case.
    """

    reads = Inner("assembly")
    message: str
    model_id: str
    thread_id: str = ""
    agent_id: str = ""
    space_id: str = ""
    client_turn_id: str = ""
    context_window_tokens: int = 0
    system: str | int | None = None
    tools: str | int | None = None
    response_reserve_tokens: int | None = None
    overrides: Knobs | None = None
    seen_item_ids: Sequence[str] = ()
    request_id: str = ""
    as_of_time: datetime | None = None
    known_at_time: datetime | None = None
    detail: str = "context"
    time_zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUsage(Request[UsageEffect]):
    """Report the provider's counts for an assembly, and the items that the answer used.

    The first report has the counts of the assembly's first call: estimates are learned from them. A later one replaces it in the
    costs, so after several rounds of tools report the sums.
    """

    reads = Whole(UsageEffect)
    receipt_id: str
    input_tokens: int
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    used_item_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendTurns(Request[Appended]):
    """Write turns to a thread, at most 1,000; existing turns are not changed."""

    reads = Whole(Appended)
    deadline_s = 120.0
    thread_id: str
    turns: Sequence[NewTurn]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainAssembly(Request[Receipt]):
    """Return a complete stored receipt."""

    reads = Inner("receipt")
    receipt_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain(Request[Retained]):
    """Write memories, at most 1,000; the same id with another text is an edit."""

    reads = Whole(Retained)
    deadline_s = 120.0
    memories: Sequence[NewMemory]
