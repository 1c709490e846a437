"""The view of a stored turn: the waterfall, the bars, every candidate. Pure: from a receipt to rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.tokens.catalog import CATALOG, TokenSpending, cost_usd
from sidecar.turn.fitting.fitting import Fitted
from sidecar.turn.items import Source
from sidecar.turn.receipt.receipt_rows import decided_items
from store.accounting.costs import TurnAccount
from store.accounting.receipts import StoredReceipt

_WINDOW = (
    "system_tokens",
    "tool_tokens",
    "response_reserve_tokens",
    "message_tokens",
    "headroom_tokens",
    "pool_tokens",
)
_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Stripe:
    """A segment of a bar, in percent of its length."""

    name: str
    at: float
    width: float
    text: str
    is_faint: bool = False


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One source of a turn: its answer, and the decisions on the offered tokens as stripes of a bar."""

    name: str
    status: str
    reason: str
    latency_ms: float
    attempts: int
    counts: Mapping[str, int]
    offered_tokens: int
    tokens: int
    cost_usd: float | None
    waited: Stripe
    stripes: tuple[Stripe, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """The numbers of items in the context and of those that the answer used as reported, and the tokens of both."""

    used: int
    shown: int
    used_tokens: int
    shown_tokens: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate or turn of the thread, with its decision."""

    source: str
    item_id: str
    decision: str
    reason: str
    form: str
    tokens: int
    relevance: float | None
    mark: str
    into: str
    refs: tuple[tuple[str, str, str], ...]
    was_used: bool
    trust: str = ""


def source_lines(receipt: StoredReceipt) -> list[SourceLine]:
    """Return a line for each queried source."""
    details = receipt.details
    before_ms = details.get("timings", {}).get("before_ms", 0.0)
    whole_ms = max(receipt.duration_ms, 0.001)
    model = CATALOG.find(receipt.model_id)
    most_tokens = max((row.get("offered_tokens", 0) for row in details["sources"]), default=0)
    turns = details["history"]["turns"]
    items: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for source, item in decided_items(details):
        items[source.value].append(item)
    return [
        SourceLine(
            name=row["source"],
            status=row["status"],
            reason=row["reason"],
            latency_ms=_waited_ms(row, receipt),
            attempts=row["attempts"],
            counts={name: row.get(f"{name}_count", 0) for name in ("offered", "included", "shortened", "dropped")},
            offered_tokens=row.get("offered_tokens", 0),
            tokens=row.get("included_tokens", 0),
            cost_usd=cost_usd(model, TokenSpending(row.get("included_tokens", 0))) if model else None,
            waited=_within(row["source"], before_ms / whole_ms, _waited_ms(row, receipt) / whole_ms),
            stripes=_offer_stripes(
                row, items[row["source"]], turns if row["source"] == Source.THREAD else (), most_tokens
            ),
        )
        for row in details["sources"]
        if row["status"] != "SKIPPED"
    ]


def skipped(receipt: StoredReceipt) -> list[tuple[str, str]]:
    """Return the sources that were not queried, with the reasons."""
    return [(row["source"], row["reason"]) for row in receipt.details["sources"] if row["status"] == "SKIPPED"]


def fitting_stripe(receipt: StoredReceipt) -> Stripe:
    """Return the time of the fitting, as a stripe."""
    timings = receipt.details.get("timings", {})
    began = (timings.get("before_ms", 0.0) + timings.get("asking_ms", 0.0)) / max(receipt.duration_ms, 0.001)
    return _within("fit", began, 1 - began)


def window_stripes(pool: Mapping[str, int]) -> list[Stripe]:
    """Return the window's tokens by use, as stripes of one bar."""
    parts = [(name.removesuffix("_tokens").replace("_", " "), pool[name]) for name in _WINDOW]
    return _stacked(parts, pool["window_tokens"])


def pool_stripes(receipt: StoredReceipt) -> list[Stripe]:
    """Return the pool's tokens by use, as stripes: each source, the frame, and the free rest."""
    pool = receipt.details["pool"]
    of_sources = [(row["source"], row.get("included_tokens", 0)) for row in receipt.details["sources"]]
    return pool_bar(of_sources, pool["used_tokens"], pool["pool_tokens"])


def fitted_stripes(fitted: Fitted) -> list[Stripe]:
    """Return the pool's tokens by use for a turn that was fitted again."""
    of_sources = [(share.source.value, share.included_tokens) for share in fitted.shares]
    return pool_bar(of_sources, fitted.rendering.tokens, fitted.pool.pool_tokens)


def account_stripes(account: TurnAccount) -> list[Stripe]:
    """Return the tokens of a turn's request as stripes of one bar: each source, the frame, and the prompt."""
    parts = [*account.source_tokens.items(), ("frame", account.frame_tokens), ("message", account.prompt_tokens)]
    return _stacked(parts, max(1, sum(many for _, many in parts)))


def bar_of(name: str, part: float, whole: float) -> Stripe:
    """Return a part of a whole as a bar of one stripe; a part of 0 is invisible."""
    return Stripe(name, 0.0, round(_PERCENT * part / whole, 3) if whole > 0 else 0.0, name)


def pool_bar(of_sources: list[tuple[str, int]], used_tokens: int, pool_tokens: int) -> list[Stripe]:
    """Return a pool as stripes."""
    frame = used_tokens - sum(tokens for _, tokens in of_sources)
    return _stacked([*of_sources, ("frame", frame), ("free", pool_tokens - used_tokens)], pool_tokens)


def count(receipt: StoredReceipt) -> int:
    """Return the number of candidates, without the thread's turns."""
    return sum(1 for _ in decided_items(receipt.details))


def candidates(receipt: StoredReceipt) -> Iterator[Candidate]:
    """Yield every candidate with its decision, then the thread's turns."""
    used = set(receipt.usage.used_item_ids) if receipt.usage else set()
    for source, item in decided_items(receipt.details):
        yield _candidate(source.value, item, used)
    for turn in receipt.details["history"]["turns"]:
        if turn["decision"]:
            yield Candidate(
                Source.THREAD.value, turn["id"], turn["decision"], turn["reason"], "", turn["included_tokens"], None,
                "", "", (), turn["id"] in used,
            )  # fmt: skip


def holds(one: Candidate, words: str) -> bool:
    """Return whether a candidate's row contains all of the words."""
    row = f"{one.source} {one.item_id} {one.decision.replace('_', ' ')} {one.reason} {one.mark}".lower()
    row += " used by the answer" if one.was_used else ""
    return all(word in row for word in words.lower().split())


def _candidate(source: str, item: Mapping[str, Any], used: set[str]) -> Candidate:
    return Candidate(
        source=source,
        item_id=item["id"],
        decision=item["decision"],
        reason=item["reason"],
        form=item["form"] or "",
        tokens=item["tokens"],
        relevance=item["relevance"],
        mark=item["mark"],
        into=item["into"],
        refs=tuple((kind, ref, label) for kind, ref, label in item["provenance"]),
        was_used=item["id"] in used,
        trust=_trust(item),
    )


def _trust(item: Mapping[str, Any]) -> str:
    """Return a memory's trust as text; empty for a memory that is not in doubt, and for other items."""
    confidence, authority = item.get("confidence"), item.get("authority", "")
    if confidence is None or (confidence == 1 and authority in {"Agent", "User"}):
        return ""
    return f"confidence {confidence:.2g}, authority {authority}"


def _waited_ms(row: Mapping[str, Any], receipt: StoredReceipt) -> float:
    """Return the turn's wait for a source in milliseconds: the whole duration for an abandoned source, which reports none."""
    latency_ms: float = row["latency_ms"]
    return latency_ms or (
        receipt.details.get("timings", {}).get("asking_ms", 0.0) if row["status"] == "TIMEOUT" else 0.0
    )


def use(receipt: StoredReceipt) -> Use | None:
    """Return the items that the answer used; None until they are reported."""
    if receipt.usage is None:
        return None
    in_context = [one for one in candidates(receipt) if one.decision in {"kept", "shortened"}]
    used = [one for one in in_context if one.was_used]
    return Use(len(used), len(in_context), sum(one.tokens for one in used), sum(one.tokens for one in in_context))


def _offer_stripes(
    row: Mapping[str, Any], items: Iterable[Mapping[str, Any]], turns: Iterable[Mapping[str, Any]], most_tokens: int
) -> tuple[Stripe, ...]:
    """Return the offered tokens by decision (whole, shortened, dropped), on a scale that all sources share."""
    got: Counter[str] = Counter()
    for item in items:
        got[item["decision"]] += item["tokens"]
    for turn in turns:
        got[turn["decision"] or ""] += turn["included_tokens"]
    kept, shortened, offered = got["kept"], got["shortened"], row.get("offered_tokens", 0)
    parts = ((row["source"], "kept", kept), (row["source"], "shortened", shortened))
    stripes, at, whole = [], 0, max(1, most_tokens, kept + shortened)
    for name, what, many in (*parts, ("dropped", "dropped", offered - kept - shortened)):
        if many > 0:
            stripe = _within(name, at / whole, many / whole)
            text = f"{what}: {many:,} tokens"
            stripes.append(Stripe(name, stripe.at, stripe.width, text, is_faint=what == "shortened"))
            at += many
    return tuple(stripes)


def _stacked(parts: list[tuple[str, int]], whole: int, *, unit: str = "tokens") -> list[Stripe]:
    stripes, at = [], 0
    for name, many in parts:
        if many > 0:
            stripe = _within(name, at / max(1, whole), many / max(1, whole))
            stripes.append(Stripe(name, stripe.at, stripe.width, f"{name}: {many:,} {unit}"))
        at += max(0, many)
    return stripes


def _within(name: str, at: float, width: float) -> Stripe:
    """Return a stripe with shares from 0 to 1, clamped to its bar and wide enough to be visible."""
    begin = min(max(at, 0.0), 0.995)
    return Stripe(name, round(begin * _PERCENT, 3), round(max(0.005, min(width, 1 - begin)) * _PERCENT, 3), name)
