"""Fits a turn: collects offers, finds duplicates, prices pieces, keeps recent turns, allocates the pool, and renders.

An assembly and its replay run the same `fit`, so they cannot differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

from sidecar.turn.fitting import history
from sidecar.turn.fitting.budget import PoolDemand, Shared, share
from sidecar.turn.fitting.dedupe import relate
from sidecar.turn.fitting.history import Exchange, History, TurnFate
from sidecar.turn.fitting.ledger import Ledger, NoRoom, Step, Stock
from sidecar.turn.fitting.messages import role_of, sendable
from sidecar.turn.fitting.offers import Offers, gather
from sidecar.turn.fitting.pieces import price, write
from sidecar.turn.fitting.pool import PromptTokens, TokenPool, pool_of
from sidecar.turn.fitting.render import Message, Rendering, RenderOptions, render
from sidecar.turn.items import (
    Decision,
    Fate,
    Form,
    HistorySummary,
    HistoryTurn,
    Item,
    Ref,
    Source,
    SourceReport,
    TokenCounter,
    fate_of,
)
from sidecar.turn.message.reading import MessageReading, Prospects
from sidecar.turn.profile import Profile
from store.text.texts import Signature

SUMMARY_ID = "thread-summary"
SUMMARY_HEADER = "Earlier in this thread"
_LEAST_POOL_TOKENS = 2_000  # in a smaller pool a summary displaces more evidence than it adds
_SUMMARY_SHARE = 16
DEFAULT_CACHE_MINIMUM_TOKENS = 1024

_FORMS = (Form.FULL, Form.SUMMARY, Form.LEAD, None)

# Matches no other text: duplicates of a summary are found by lineage, not by wording.
_UNIQUE_SIGNATURE = Signature(-1, 0, b"")


@dataclass(frozen=True, slots=True)
class Fitting:
    """The input of a turn's fitting, except the meter."""

    profile: Profile
    window_tokens: int
    spent: PromptTokens = field(default_factory=PromptTokens)
    reports: tuple[SourceReport, ...] = ()
    history: tuple[HistoryTurn, ...] = ()
    summary: HistorySummary | None = None
    seen_item_ids: frozenset[str] = frozenset()
    fence_tag: str = "000000"
    cache_minimum_tokens: int = DEFAULT_CACHE_MINIMUM_TOKENS
    reading: MessageReading | None = None

    @property
    def prospects(self) -> Prospects:
        """The prospects of recall as the message was read; if it was not, they are certain."""
        return Prospects(self.reading.asks, self.reading.holds, self.reading.leaning) if self.reading else Prospects()


@dataclass(frozen=True, slots=True)
class Share:
    """One source's offers and its share of the context: counts of items (for the thread, also turns), and tokens.

    included + shortened + dropped = offered. A turn of the history that was found by search too counts once. `included_tokens`
    includes its fence and headers; `offered_tokens` is the full text of all competing items.
    """

    source: Source
    offered_count: int = 0
    included_count: int = 0
    shortened_count: int = 0
    dropped_count: int = 0
    included_tokens: int = 0
    offered_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A turn's context with every decision that led to it. Fates of items in the context come first, in its order."""

    pool: TokenPool
    tokenizer: str
    is_exact: bool
    rendering: Rendering
    fates: tuple[Fate, ...]
    turn_fates: tuple[TurnFate, ...]
    shares: tuple[Share, ...]
    steps: tuple[Step, ...]
    is_exchange_cut: bool

    @property
    def has_found_nothing(self) -> bool:
        """Whether the context has no items other than pinned ones."""
        return not any(fate.form and not fate.item.is_pinned for fate in self.fates)


def fit(question: Fitting, meter: TokenCounter) -> Fitted:
    """Return the context that fits the question's pool. Raises PoolTooSmall."""
    profile = question.profile
    pool = pool_of(profile, window_tokens=question.window_tokens, spent=question.spent, meter=meter)
    turns = question.history if profile.knobs(Source.THREAD).enabled else ()
    thread = history.read(sendable(turns, question.fence_tag, meter), meter)
    recent_ids = thread.recent_ids(profile.history_tail_tokens)
    offers = gather(question.reports, profile, question.seen_item_ids, question.prospects, recent_ids)
    recall_tokens = min(pool.pool_tokens, profile.recall_tokens or pool.pool_tokens)
    stock = _stock(question, offers, thread, meter, pool_tokens=recall_tokens)
    # A ratio learned from usage reports may make the notice too large for the smallest pool; then no item goes in either.
    has_notice = stock.prices.notice <= pool.pool_tokens // 2
    room_tokens = pool.pool_tokens - stock.prices.notice if has_notice else pool.pool_tokens
    ledger = Ledger(stock, room_tokens)
    ledger.pin(pool.pool_tokens // 2 if has_notice else 0)
    exchange = history.fit_exchange(thread, ledger.left_tokens, meter)
    # A cut exchange takes the whole pool; the few tokens that the cut frees stay unused.
    ledger.left_tokens = max(0, min(ledger.left_tokens - thread.exchange_tokens, recall_tokens)) if has_notice else 0
    shared = share(PoolDemand(stock, exchange, thread.older, recall_tokens), profile, ledger)
    before = question.spent.system_tokens + question.spent.tool_tokens
    page = RenderOptions(question.fence_tag, before, question.cache_minimum_tokens, has_notice)
    rendering = _rendered(shared.ledger, _messages(exchange, thread, shared), page, pool, meter)
    fates = _fates(shared.ledger, rendering, offers)
    turn_fates = tuple(history.fates(thread, exchange, shared.older_count))
    return Fitted(
        pool=pool,
        tokenizer=meter.name,
        is_exact=meter.is_exact,
        rendering=rendering,
        fates=fates,
        turn_fates=turn_fates,
        shares=_shares(shared.ledger, offers, turn_fates),
        steps=tuple(shared.ledger.steps),
        is_exchange_cut=bool(exchange.cut or exchange.gone),
    )


def _stock(question: Fitting, offers: Offers, thread: History, meter: TokenCounter, *, pool_tokens: int) -> Stock:
    """Return the priced stock: the pinned items, the others, then the thread's summary."""
    summary = _summary_item(question, meter, pool_tokens)
    if summary and summary.fault:
        offers.refused.append(Fate(summary, Decision.UNUSABLE, summary.fault))
        summary = None
    items = [*offers.pinned, *offers.items, *([summary] if summary else [])]
    seen = offers.seen
    said = {turn.id: turn.text for turn in question.history}  # without the names that are sent
    turns = {turn.id: said[turn.id] for unit in (*thread.exchange, *thread.older) for turn in unit.turns}
    pieces = write(items, has_summary=summary is not None)
    return Stock(
        items=items,
        has_summary=summary is not None,
        seen=seen,
        pieces=pieces,
        prices=price(pieces, question.fence_tag, meter),
        kinship=relate([*items, *seen], turns),
        turns=turns,
        pinned_count=len(offers.pinned),
    )


def _summary_item(question: Fitting, meter: TokenCounter, pool_tokens: int) -> Item | None:
    """Return the newest lines of the thread's summary that fit its share of the pool, as an item that stands for their turns."""
    summary, profile = question.summary, question.profile
    is_wanted = profile.thread_summary and profile.knobs(Source.THREAD).enabled and pool_tokens >= _LEAST_POOL_TOKENS
    if summary is None or not is_wanted or not summary.text.strip():
        return None
    lines = summary.text.splitlines()
    first = 0 if summary.fault else _first_that_fits(lines, pool_tokens // _SUMMARY_SHARE, meter)
    if first == len(lines):
        return None
    turn_ids = _turns_of_lines(summary.turn_ids, first, len(lines))
    return Item(
        id=SUMMARY_ID,
        source=Source.THREAD,
        text="\n".join(lines[first:]),
        rank=0,
        relevance=0.0,
        header=SUMMARY_HEADER,
        provenance=tuple(Ref("turn", turn_id) for turn_id in turn_ids) or (Ref("thread", SUMMARY_ID),),
        stands_for=turn_ids,
        signature=_UNIQUE_SIGNATURE,
        fault=summary.fault,
    )


def _first_that_fits(lines: Sequence[str], left_tokens: int, meter: TokenCounter) -> int:
    """Return the index of the oldest of the newest lines that fit together; the number of lines if none fits."""
    first = len(lines)
    for tokens in reversed(meter.count([f"{line}\n" for line in lines])):
        if tokens > left_tokens:
            break
        left_tokens -= tokens
        first -= 1
    return first


def _turns_of_lines(turn_ids: Sequence[str], first: int, count: int) -> tuple[str, ...]:
    """Return the turns of the lines from `first` on; a summary's turns are those of its last lines, one per line.

    With more turns than lines, it is unknown which line holds which turn, so the result is empty.
    """
    if len(turn_ids) > count:
        return ()
    return tuple(turn_ids[max(0, first - count + len(turn_ids)) :])


def _messages(exchange: Exchange, thread: History, shared: Shared) -> list[Message]:
    """Return the turns of the window as messages, oldest first."""
    older = [turn for unit in reversed(thread.older[: shared.older_count]) for turn in unit.turns]
    return [Message(turn.id, role_of(turn), turn.text, turn.parts, turn.tokens) for turn in (*older, *exchange.turns)]


def _rendered(
    ledger: Ledger, messages: Sequence[Message], page: RenderOptions, pool: TokenPool, meter: TokenCounter
) -> Rendering:
    """Return the rendered context. While it exceeds the pool, the items added last are removed."""
    rendering = render(ledger, messages, page, meter)
    while rendering.tokens > pool.pool_tokens and ledger.kept:
        ledger.withdraw(rendering.tokens - pool.pool_tokens)
        rendering = render(ledger, messages, page, meter)
    return rendering


def _fates(ledger: Ledger, rendering: Rendering, offers: Offers) -> tuple[Fate, ...]:
    """Return every item's fate: items in the context in its order, then the others, best first, then the rejected ones."""
    stock, marks, tokens, stages = ledger.stock, rendering.marks, ledger.tokens, ledger.kept
    items, full, whole, lead = stock.items, stock.pieces.full, Decision.KEPT, Form.LEAD
    kept = [
        _shortened_fate(ledger, index, marks[index])
        if (form := ledger.forms[index]) is lead
        else fate_of((items[index], whole, stages[index], form, tokens[index], marks[index], "", full[index]))
        for index in rendering.order
    ]
    absent = [index for index, form in enumerate(ledger.forms) if form is None]
    return (*kept, *[_absent_fate(ledger, index) for index in absent], *offers.refused)


def _shortened_fate(ledger: Ledger, index: int, mark: str) -> Fate:
    item, reason, lead = ledger.stock.items[index], ledger.kept[index], ledger.stock.pieces.lead[index]
    if refusal := ledger.refusals.get(index):
        reason = f"{reason}; for the rest {_words(refusal)}"
    return Fate(item, Decision.SHORTENED, reason, Form.LEAD, ledger.tokens[index], mark, "", lead)


def _absent_fate(ledger: Ledger, index: int) -> Fate:
    item, by, refusal = ledger.stock.items[index], ledger.representative(index), ledger.refusals.get(index)
    if by:
        return Fate(item, Decision.DEDUPED_INTO, f"{by.id} {by.how}", into=by.id)
    return Fate(item, Decision.OVER_BUDGET, f"{refusal.stage}: {_words(refusal)}" if refusal else "there was no room")


def _words(refusal: NoRoom) -> str:
    is_pool = refusal.cost_tokens > refusal.left_tokens
    left = (
        f"{refusal.left_tokens} were left in the pool" if is_pool else f"{refusal.left_to_source_tokens} to its source"
    )
    return f"it needs {refusal.cost_tokens} tokens and {left}"


def _counted_turns(ledger: Ledger, turn_fates: Sequence[TurnFate]) -> list[TurnFate]:
    """Return the turns that count as turns: all but those in the context as recalled items."""
    recalled = {item.id for item, form in zip(ledger.stock.items, ledger.forms, strict=True) if form is not None}
    return [fate for fate in turn_fates if fate.turn.id not in recalled]


def _shares(ledger: Ledger, offers: Offers, turn_fates: Sequence[TurnFate]) -> tuple[Share, ...]:
    """Return every source's share; the thread's includes its turns."""
    counted = _counted_turns(ledger, turn_fates)
    in_history = {fate.turn.id for fate in counted}
    is_new = [item.source is not Source.THREAD or item.id not in in_history for item in ledger.stock.items]
    by_form = Counter(compress(zip(ledger.sources, ledger.forms, strict=True), is_new))
    dropped = Counter([fate.item.source for fate in offers.refused if fate.item.id not in in_history])
    turns = Counter([fate.decision for fate in counted])
    kept, cut = turns[Decision.KEPT], turns[Decision.SHORTENED]
    by_form[Source.THREAD, Form.FULL] += kept
    by_form[Source.THREAD, Form.LEAD] += cut
    dropped[Source.THREAD] += len(counted) - kept - cut
    offered = dict.fromkeys(Source, 0)
    for source, tokens in compress(zip(ledger.sources, ledger.stock.prices.full, strict=True), is_new):
        offered[source] += tokens
    offered[Source.THREAD] += sum([fate.turn.tokens for fate in counted])
    included = dict(ledger.spent)
    included[Source.MEMORY] += ledger.pinned_tokens
    included[Source.THREAD] += sum([fate.tokens for fate in turn_fates])
    shares = []
    for source in Source:
        whole, summary, shortened, absent = [by_form.get((source, form), 0) for form in _FORMS]
        whole, absent = whole + summary, absent + dropped.get(source, 0)
        count = whole + shortened + absent
        shares.append(Share(source, count, whole, shortened, absent, included[source], offered[source]))
    return tuple(shares)
