"""Collects the sources' items in one order, and rejects those that cannot compete before any token is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, lt

from sidecar.turn.fitting.fuse import best, is_calibrated, item_worths, order, relevances
from sidecar.turn.items import Decision, Fate, Item, Source, SourceReport, Status, fate_of
from sidecar.turn.message.reading import Prospects
from sidecar.turn.profile import Profile
from sidecar.turn.ranking.likeness import unlike
from sidecar.turn.ranking.worth import Spend, SpendRule, estimated_tokens

_WRITTEN_TOKENS = 12  # for an item's mark and its header with the day, which few items share

_fault, _is_pinned, _rank = map(attrgetter, ("fault", "is_pinned", "rank"))


@dataclass(frozen=True, slots=True)
class Offers:
    """The pinned items, the competing ones, best first, and the fates of the rejected ones."""

    pinned: list[Item]
    items: list[Item]
    refused: list[Fate]

    @property
    def seen(self) -> list[Item]:
        """The items that the caller's history already holds; duplicates of them are dropped."""
        return [fate.item for fate in self.refused if fate.decision is Decision.ALREADY_SEEN]


def gather(
    reports: Iterable[SourceReport],
    profile: Profile,
    seen_item_ids: frozenset[str],
    prospects: Prospects,
    recent_ids: frozenset[str] = frozenset(),
) -> Offers:
    """Return the offers under the profile. The result does not depend on the order of the reports or their items.

    Items that are not worth their tokens are rejected. `recent_ids` are those of the recent turns.
    """
    by_source: dict[Source, list[Item]] = {}
    refused: list[Fate] = []
    for report in reports:
        items = report.items
        if report.status is Status.TIMEOUT:
            late = [item for item in items if not item.is_pinned]
            refused += [Fate(item, Decision.LATE, "its source answered after the deadline") for item in late]
            items = tuple(item for item in items if item.is_pinned)  # pinned items were read separately, in time
        if any(map(_fault, items)):
            refused += [Fate(item, Decision.UNUSABLE, item.fault) for item in items if item.fault]
            items = tuple(item for item in items if not item.fault)
        by_source.setdefault(report.source, []).extend(items)
    pinned: list[Item] = []
    competing: list[Item] = []
    for source in Source:
        ranked = _in_own_order(by_source.get(source, []))
        if profile.knobs(source).enabled and any(map(_is_pinned, ranked)):
            pinned += [item for item in ranked if item.is_pinned]
            ranked = [item for item in ranked if not item.is_pinned]
        admitted = _admitted(source, ranked, profile, seen_item_ids, refused)
        competing += _worth_it(source, admitted, profile, prospects, refused)
    competing = _within_bound(competing, profile.rule, prospects.leaning, recent_ids, refused)
    if len(competing) > profile.max_items:
        chosen = best(competing, profile.max_items)
        rejected = Counter(map(id, competing)) - Counter(map(id, chosen))
        reason = f"past the {profile.max_items} items that the profile lets compete (max_items)"
        by_identity = {id(item): item for item in competing}
        refused += [Fate(by_identity[identity], Decision.BELOW_CUTOFF, reason) for identity in rejected.elements()]
        competing = chosen
    return Offers(pinned, order(competing, profile), refused)


def _in_own_order(items: list[Item]) -> list[Item]:
    """Return one source's items by rank, then by id. Items that share an id are ordered by their whole content."""
    ranks = list(map(_rank, items))
    if all(map(lt, ranks, ranks[1:])):
        return items
    if len({item.id for item in items}) == len(items):
        return sorted(items, key=lambda item: (item.rank, item.id))
    return sorted(items, key=lambda item: (item.rank, item.id, repr(item)))


def _admitted(
    source: Source, ranked: Sequence[Item], profile: Profile, seen_item_ids: frozenset[str], refused: list[Fate]
) -> list[Item]:
    """Return a source's items that may compete; add the fates of the others to `refused`."""
    knobs = profile.knobs(source)
    if not knobs.enabled:
        refused += [Fate(item, Decision.BELOW_CUTOFF, f"the profile leaves {source} out") for item in ranked]
        return []
    competing = ranked[: knobs.top_k]
    admitted = [item for item in competing if item.id not in seen_item_ids and item.text and not item.text.isspace()]
    if len(admitted) < len(competing):
        admitted_identities = set(map(id, admitted))
        refused += [_rejected(item, seen_item_ids) for item in competing if id(item) not in admitted_identities]
    reason = f"past the {knobs.top_k} items of {source} that may compete (top_k)"
    refused += [Fate(item, Decision.BELOW_CUTOFF, reason) for item in ranked[knobs.top_k :]]
    return admitted


def _worth_it(
    source: Source, items: list[Item], profile: Profile, prospects: Prospects, refused: list[Fate]
) -> list[Item]:
    """Return the items worth their tokens; add the fates of the others to `refused`.

    An item helps only if the message asks for anything, so its worth is multiplied by that probability. Workspace files always
    stay, because the user put them there, and so do items of a source without relevances, which cannot be judged.
    """
    rule = profile.rule
    if source is Source.WORKSPACE or not rule.least_worth or not is_calibrated(items, relevances(items)):
        return items
    items = [item for item in items if not _is_unlike(item, profile.spend, refused)]
    if prospects.asks < rule.least_asking:
        reason = f"the message asks for nothing here: {prospects.asks:.3f} is below {rule.least_asking:g}"
        refused += [Fate(item, Decision.BELOW_WORTH, reason) for item in items]
        return []
    kept, below = [], f"is below {rule.least_worth:g}"
    below_worth = Decision.BELOW_WORTH
    item_relevances = relevances(items)
    for item, relevance, worth in zip(items, item_relevances, item_worths(items, item_relevances), strict=True):
        expected_worth = prospects.asks * worth
        if expected_worth >= rule.least_worth and relevance >= rule.least_relevance:
            kept.append(item)
        elif expected_worth < rule.least_worth:
            reason = f"its worth of {expected_worth:.6f} {below}"
            refused.append(fate_of((item, below_worth, reason, None, 0, "", "", "")))
        else:
            reason = f"its relevance of {relevance:.3f} is below {rule.least_relevance:g}"
            refused.append(Fate(item, Decision.BELOW_WORTH, reason))
    return kept


def _within_bound(
    items: list[Item], rule: SpendRule, leaning: float, recent_ids: frozenset[str], refused: list[Fate]
) -> list[Item]:
    """Return the items that may be recalled for a message that leans on its thread, best worth first up to
    `SpendRule.judged_tokens`.

    An item past the bound is skipped, and its fate added to `refused`. Items that cannot be judged stay (see `_worth_it`). So do
    recent turns, which are sent in any case and use nothing of the bound.
    """
    judged = [item for item in items if item.features is not None and item.source is not Source.WORKSPACE]
    judged = [item for item in judged if item.source is not Source.THREAD or item.id not in recent_ids]
    if not leaning or not rule.least_worth or not judged:
        return items
    worth = item_worths(judged, relevances(judged))
    tokens = estimated_tokens([item.text for item in judged]) + _WRITTEN_TOKENS
    bound, taken, past = rule.judged_tokens(leaning), 0.0, set[int]()
    for place in sorted(range(len(judged)), key=lambda place: (-worth[place], judged[place].id)):
        if taken + tokens[place] > bound:
            past.add(id(judged[place]))
        else:
            taken += tokens[place]
    reason = f"past the {bound} tokens that a message leaning {leaning:.2f} on its thread may recall"
    refused += [Fate(item, Decision.BELOW_WORTH, reason) for item in judged if id(item) in past]
    return [item for item in items if id(item) not in past]


def _is_unlike(item: Item, spend: Spend, refused: list[Fate]) -> bool:
    """Return whether an item is too unlike the question; if so, add its fate to `refused`."""
    if reason := unlike(item, spend):
        refused.append(Fate(item, Decision.BELOW_WORTH, reason))
    return bool(reason)


def _rejected(item: Item, seen_item_ids: frozenset[str]) -> Fate:
    if item.id in seen_item_ids:
        return Fate(item, Decision.ALREADY_SEEN, "the caller's history already holds it")
    return Fate(item, Decision.BELOW_CUTOFF, "it has no text")
