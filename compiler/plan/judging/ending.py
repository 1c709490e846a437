"""Judges which memories a plan may end. Facts that only the rows have, such as trust, are judged when the plan is applied.

Only a model proposes them: there is no rule yet that finds contradictions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from compiler.plan import bounds
from compiler.plan.citing import UNKNOWN_MEMORY, Citable, source_of
from compiler.plan.contract import BatchMemory, EndMemory
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.proposal import ProposedEnd
from compiler.plan.text.change import shares_content

_SHORTEST_QUOTE = 4
_MOST_READ = 100


@dataclass(frozen=True, slots=True)
class EndStanding:
    """The stored facts of a memory: its rank of trust, the time from which it is valid, and the hash of its text."""

    trust_rank: int
    starts_at: datetime
    text_hash: bytes


def judge(proposed: Sequence[ProposedEnd], citable: Citable, builder: DecisionBuilder) -> None:
    """Collect the memories that end, each pair once, in order of their ids; reject the others one by one.

    Accepted are pairs of shown memories with a common word, where the newer one contains the quoted words. If the plan ends more
    than 10 memories, or proposes more than 100 pairs, all are rejected: a model that finds everything outdated is wrong.
    """
    accepted: dict[tuple[str, str], EndMemory] = {}
    for one in proposed[:_MOST_READ]:
        refused, passage = _read(one, citable)
        pair = (one.memory_id, one.superseded_id)
        if refused:
            builder.reject(refused, " ".join(pair))
            continue
        newer, older = (source_of(citable.memories[memory_id]) for memory_id in pair)
        accepted.setdefault(pair, EndMemory(newer, older, one.reason, passage))
    if len(proposed) > _MOST_READ or len({older_id for _, older_id in accepted}) > bounds.ENDS:
        for pair in sorted(accepted):
            builder.reject("too_many_supersessions", " ".join(pair))
        return
    builder.add(accepted[pair] for pair in sorted(accepted))


def refusal(
    item: EndMemory,
    standing: Mapping[str, EndStanding],
    undone: Collection[tuple[str, str]],
    *,
    most_trusted: int,
) -> str:
    """Return why the present rows forbid a plan to end the memory, empty if they allow it.

    Both memories must be unchanged since the plan read them. The plan's trust is that of the newer memory, at most
    `most_trusted`; the older memory may not have more. The newer memory must begin after the older one. Pairs that an operator
    undid (`undone`) are refused.
    """
    newer, older = standing.get(item.newer.memory_id), standing.get(item.older.memory_id)
    if newer is None or older is None:
        return "supersession_of_unknown"
    if (newer.text_hash, older.text_hash) != (item.newer.text_hash, item.older.text_hash):
        return "supersession_of_edited"
    if older.trust_rank > min(newer.trust_rank, most_trusted):
        return "supersession_above_trust"
    if newer.starts_at <= older.starts_at:
        return "supersession_by_older"
    return "supersession_undone" if item.pair in undone else ""


def _read(one: ProposedEnd, citable: Citable) -> tuple[str, str]:
    """Return why the proposal is refused, empty if it is not, and the quoted passage verbatim from the newer memory."""
    newer, older = (citable.memories.get(memory_id) for memory_id in (one.memory_id, one.superseded_id))
    if newer is None or older is None:
        return UNKNOWN_MEMORY, ""
    if newer.memory_id == older.memory_id:
        return "supersession_of_itself", ""
    passage = _passage(one.quote, newer)
    if not passage:
        return "supersession_without_evidence", ""
    return ("" if shares_content(newer.text, older.text) else "supersession_of_unrelated"), passage


def _passage(quote: str, memory: BatchMemory) -> str:
    """Return the quoted words as written in the memory's text, ignoring white space and case; empty if it lacks them."""
    words = quote.split()
    if sum(map(len, words)) < _SHORTEST_QUOTE:
        return ""
    text = " ".join(memory.text.split())
    sought = " ".join(words)[: bounds.EVIDENCE_CHARS].strip()
    found = re.search(re.escape(sought), text, re.IGNORECASE)
    return found[0] if found else ""
