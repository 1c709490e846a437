"""The calls that every client makes, in order, and the expected answers. Independent of client and address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]

GATE_CODE = "The gate code of the harbour flat is 4417."
ALLERGY = "Mara is allergic to walnuts."


@dataclass(frozen=True, slots=True)
class Case:
    """One call. `reason` is the ErrorInfo's, `names` the field that BadRequest must name, `finds` looks at the answer.

    A case `in_haste` is sent with a deadline that no answer can meet.
    """

    name: str
    method: str
    request: Json = field(default_factory=dict)
    code: str = "OK"
    reason: str = ""
    names: str = ""
    finds: Callable[[Json], str] | None = None
    has_token: bool = True
    in_haste: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client saw: the status, and the answer or the status details as the client itself decoded them."""

    code: str
    message: str = ""
    response: Json = field(default_factory=dict)
    details: Sequence[Json] = ()

    def detail(self, type_name: str) -> Json:
        """Return the first detail of that google.rpc type, or nothing."""
        return next((one for one in self.details if one["type"] == f"google.rpc.{type_name}"), {})


def problem(case: Case, outcome: Outcome) -> str:
    """Return what is wrong with the outcome, or an empty text."""
    if outcome.code != case.code:
        return f"wanted {case.code}, got {outcome.code}: {outcome.message}"
    info = outcome.detail("ErrorInfo")
    if case.reason and case.reason != info.get("reason"):
        return f"wanted the reason {case.reason}, got {info or 'no ErrorInfo'}"
    if info and info.get("domain") != "context-sidecar":
        return f"the reason is of another domain: {info}"
    named = [one.get("field") for one in outcome.detail("BadRequest").get("fieldViolations", ())]
    if case.names and named != [case.names]:
        return f"wanted the field {case.names}, got {named}"
    return case.finds(outcome.response) if case.finds else ""


def cases(thread_id: str) -> tuple[Case, ...]:
    """Return the calls, on a thread of their own."""
    turns = [
        {"clientTurnId": "t1", "role": "user", "text": GATE_CODE},
        {"clientTurnId": "t2", "role": "assistant", "text": "Noted."},
    ]
    append = {"threadId": thread_id, "title": "Interop", "turns": turns}
    retain = {"memories": [{"memoryId": f"allergy-{thread_id}", "text": ALLERGY}]}
    question = {
        "threadId": thread_id,
        "message": "Is Mara allergic to walnuts, and what is the gate code?",
        "modelId": "gpt-4o",
        "system": {"text": "Answer in one line."},
    }
    long = {**append, "turns": [{"clientTurnId": f"l{n}", "role": "user", "text": f"{n} " * 500} for n in range(1_000)]}
    context = "sidecar.v1.ContextService"
    assemble = f"{context}/AssembleContext"
    return (
        Case("health, without a token", "grpc.health.v1.Health/Check", has_token=False, finds=_serving),
        Case("turns are appended", f"{context}/AppendTurns", append, finds=_count("appendedCount", 2)),
        Case("and only once", f"{context}/AppendTurns", append, finds=_count("appendedCount", 0)),
        Case("a memory is retained", "sidecar.v1.MemoryService/Retain", retain, finds=_count("createdCount", 1)),
        Case("a turn's context is assembled", assemble, question, finds=_assembly),
        Case("no token", assemble, question, "UNAUTHENTICATED", "CREDENTIALS_MISSING", has_token=False),
        Case("another's owner", assemble, {**question, "ownerId": "eve"}, "PERMISSION_DENIED", "SCOPE_FORBIDDEN"),
        Case(
            "a field out of bounds",
            assemble,
            {**question, "responseReserveTokens": -1},
            "INVALID_ARGUMENT",
            "INVALID_ARGUMENT",
            names="response_reserve_tokens",
        ),
        Case("a deadline too near", f"{context}/AppendTurns", long, "DEADLINE_EXCEEDED", in_haste=True),
        Case("no such method", f"{context}/NoSuchMethod", code="UNIMPLEMENTED"),
    )


def _serving(response: Json) -> str:
    return "" if response.get("status") == "SERVING" else f"the service says {response.get('status')}"


def _count(name: str, wanted: int) -> Callable[[Json], str]:
    def finds(response: Json) -> str:
        return "" if response.get(name) == wanted else f"wanted {name} {wanted}, got {response.get(name)}"

    return finds


def _assembly(response: Json) -> str:
    """Return what is missing of: the fact said in the thread, the one remembered, the reports, receipt and budget."""
    assembly = response["assembly"]
    said = [message["text"] for message in assembly["messages"]]
    shown = "".join(block["text"] for block in assembly["systemBlocks"])
    statuses = {one["source"]: one["status"] for one in assembly["sources"]}
    budget = assembly["budget"]
    wrongs = {
        f"the thread is not in the messages: {said}": GATE_CODE not in said,
        "the memory is not in the blocks": ALLERGY not in shown,
        f"the sources say {statuses}": statuses.get("SOURCE_THREAD") != "SOURCE_STATUS_OK"
        or statuses.get("SOURCE_MEMORY") != "SOURCE_STATUS_OK",
        f"the budget does not hold: {budget}": not 0 < budget["usedTokens"] <= budget["poolTokens"],
        "there is no receipt": len(assembly["receiptId"]) != 36 or len(assembly["contentSha256"]) != 64,
    }
    return "; ".join(wrong for wrong, is_so in wrongs.items() if is_so)
