"""Renders the context: blocks of system text in zones, the turns as messages, and the provider's cache points.

Zones are ordered by how often they change: stable (the wiki), slow (the summary of older turns), volatile. Inside a block
the order is canonical and marks are numbered in it, so unchanged content gives the same bytes. To save tokens there is one
fence per block, one header per group and one mark per item.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sidecar.turn.items import Form, Source, TokenCounter, Zone
from sidecar.turn.ledger import Ledger
from sidecar.turn.pieces import BLOCKS, fence_lines, notice

_BY_TIME = frozenset({Source.MEMORY, Source.THREAD})
_LONG_AGO, _NEVER = float("-inf"), float("inf")


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """One block of system text. The first block is the notice about the fence and has no source."""

    zone: Zone
    source: Source | None
    text: str
    tokens: int
    is_cache_point: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the history as it is sent."""

    turn_id: str
    role: str
    text: str
    parts: tuple[dict[str, Any], ...]
    tokens: int
    was_cut: bool


@dataclass(frozen=True, slots=True)
class CachePoint:
    """A position where a provider's prompt cache is worth setting: the blocks and context tokens before it."""

    zone: Zone
    blocks_before: int
    tokens_before: int


@dataclass(frozen=True, slots=True)
class Rendering:
    """The finished context. `order` lists its items by place in the stock; `marks` maps each place to its mark."""

    blocks: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    order: tuple[int, ...]
    marks: dict[int, str]
    tokens: int
    stable_prefix_tokens: int
    cache_points: tuple[CachePoint, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options of rendering.

    `tag` is the fence's tag, `tokens_before` the tokens of the prompt before our blocks, `cache_minimum_tokens` the shortest
    prefix that the provider caches.
    """

    tag: str
    tokens_before: int
    cache_minimum_tokens: int


def render(ledger: Ledger, messages: Sequence[Message], page: RenderOptions, meter: TokenCounter) -> Rendering:
    """Return the ledger's items and the messages, rendered and counted as rendered."""
    drafts, order, marks = _draft_blocks(ledger, page.tag)
    counts = meter.count_joined([lines for _, _, lines in drafts])
    points = _cache_points(drafts, counts, page)
    ends = {point.blocks_before for point in points}
    blocks = tuple(
        SystemBlock(zone, source, "".join(lines), tokens, number in ends)
        for number, ((zone, source, lines), tokens) in enumerate(zip(drafts, counts, strict=True), start=1)
    )
    sent = [part for message in messages for part in message_parts(message)]
    return Rendering(
        blocks=blocks,
        messages=tuple(messages),
        order=tuple(order),
        marks=marks,
        tokens=sum(counts) + sum(message.tokens for message in messages),
        stable_prefix_tokens=sum(block.tokens for block in blocks if block.zone is Zone.STABLE),
        cache_points=points,
        sha256=digest([*(block.text for block in blocks), *sent]),
    )


_Draft = tuple[Zone, Source | None, list[str]]


def _draft_blocks(ledger: Ledger, tag: str) -> tuple[list[_Draft], list[int], dict[int, str]]:
    by_block: list[list[int]] = [[] for _ in BLOCKS]
    blocks = ledger.stock.pieces.blocks
    for place in ledger.kept:
        by_block[blocks[place]].append(place)
    drafts: list[_Draft] = [(Zone.STABLE, None, [notice(tag)])] if ledger.kept else []
    order: list[int] = []
    marks: dict[int, str] = {}
    for block, places in zip(BLOCKS, by_block, strict=True):
        if not places:
            continue
        ordered = _in_canonical_order(places, ledger)
        order += ordered
        first, last = fence_lines(block, tag)
        drafts.append((block.zone, block.source, [first, *_lines(ordered, block.letter, marks, ledger), last]))
    return drafts, order, marks


def _lines(places: Sequence[int], letter: str, marks: dict[int, str], ledger: Ledger) -> list[str]:
    """Return the lines of one block (an item's in two pieces), and record each item's mark in `marks`."""
    pieces, forms, lead = ledger.stock.pieces, ledger.forms, Form.LEAD
    groups, headers, full, short = pieces.groups, pieces.headers, pieces.full_lines, pieces.lead_lines
    lines: list[str] = []
    group = None
    for number, place in enumerate(places, start=1):
        if groups[place] != group:
            group = groups[place]
            lines.append(headers[group])
        marks[place], bracketed = _mark(letter, number)
        lines += (bracketed, short[place] if forms[place] is lead else full[place])
    return lines


@lru_cache(maxsize=8192)
def _mark(letter: str, number: int) -> tuple[str, str]:
    """Return an item's mark, bare and in brackets."""
    return f"{letter}{number}", f"[{letter}{number}]"


def _in_canonical_order(places: list[int], ledger: Ledger) -> list[int]:
    """Return the places of one block in an order independent of question and ranking."""
    items, groups, headers = ledger.stock.items, ledger.stock.pieces.groups, ledger.stock.pieces.headers
    chosen = [items[place] for place in places]
    of_group = [groups[place] for place in places]
    if chosen[0].source in _BY_TIME:
        moments = [_moment(item.at) for item in chosen]
        opened: dict[int, float] = {}
        for group, moment in zip(of_group, moments, strict=True):
            if moment < opened.get(group, _NEVER):
                opened[group] = moment
        ordered = sorted(opened, key=lambda group: (opened[group], headers[group]))
    else:
        moments = [_LONG_AGO] * len(chosen)
        ordered = sorted(set(of_group), key=headers.__getitem__)
    ranks = {group: rank for rank, group in enumerate(ordered)}
    keys = [
        (ranks[group], moment, item.position, item.id, place)
        for group, moment, item, place in zip(of_group, moments, chosen, places, strict=True)
    ]
    return [key[-1] for key in sorted(keys)]


def _moment(at: datetime | None) -> float:
    """Return seconds since 1970. A time without a zone is taken as UTC, so that bytes do not depend on the host."""
    if at is None:
        return _LONG_AGO
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _cache_points(drafts: Sequence[_Draft], counts: Sequence[int], page: RenderOptions) -> tuple[CachePoint, ...]:
    """Return the ends of the stable and slow zones that have enough tokens before them; one point if both coincide."""
    points: list[CachePoint] = []
    for zone in (Zone.STABLE, Zone.SLOW):
        blocks = sum(
            drafted is not Zone.VOLATILE and (drafted is zone or zone is Zone.SLOW) for drafted, _, _ in drafts
        )
        tokens = sum(counts[:blocks])
        pays = page.tokens_before + tokens >= page.cache_minimum_tokens
        if blocks and pays and not (points and points[-1].blocks_before == blocks):
            points.append(CachePoint(zone, blocks, tokens))
    return tuple(points)


def digest(texts: Iterable[str]) -> str:
    """Return the hexadecimal SHA-256 of the texts, each prefixed by its length so that different sequences differ."""
    hashed = hashlib.sha256()
    for text in texts:
        data = text.encode(errors="surrogatepass")
        hashed.update(len(data).to_bytes(8))
        hashed.update(data)
    return hashed.hexdigest()


def message_parts(message: Message) -> tuple[str, str, str]:
    """Return the texts of a message that enter its digest."""
    parts = json.dumps(message.parts, sort_keys=True, ensure_ascii=False, default=str) if message.parts else ""
    return message.role, message.text, parts
