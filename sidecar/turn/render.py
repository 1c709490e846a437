"""The context as bytes: blocks of system text in zones, the turns as messages, and where a provider's cache pays.

Zones come by how often they change: stable (the wiki), slow (the summary of older turns), volatile. Inside a block the order
is canonical and marks are numbered in it, so what did not change is the same bytes. One fence a block, one header a group,
one mark an item: every further mark would cost what it marks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sidecar.turn.items import Form, Meter, Source, Zone
from sidecar.turn.ledger import Ledger
from sidecar.turn.pieces import BLOCKS, fence_lines, notice

_BY_TIME = frozenset({Source.MEMORY, Source.THREAD})
_LONG_AGO = float("-inf")


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """One block of system text. The first names the fence and has no source."""

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
    """A place after which a provider's prompt cache pays: how many blocks come before it, and how many of our tokens."""

    zone: Zone
    blocks_before: int
    tokens_before: int


@dataclass(frozen=True, slots=True)
class Rendering:
    """The finished context. `order` names the items in it by their places, `marks` how each is marked."""

    blocks: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    order: tuple[int, ...]
    marks: dict[int, str]
    tokens: int
    stable_prefix_tokens: int
    cache_points: tuple[CachePoint, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Page:
    """What rendering needs beside the items: the fence's tag, and when a cache pays.

    `tokens_before` are those of the prompt in front of our blocks, `cache_minimum_tokens` what a provider wants in all.
    """

    tag: str
    tokens_before: int
    cache_minimum_tokens: int


def render(ledger: Ledger, messages: Sequence[Message], page: Page, meter: Meter) -> Rendering:
    """Return the items that the ledger holds and the messages, rendered and counted as rendered."""
    drafts, order, marks = _draft_blocks(ledger, page.tag)
    counts = meter.count([text for _, _, text in drafts])
    points = _cache_points(drafts, counts, page)
    ends = {point.blocks_before for point in points}
    blocks = tuple(
        SystemBlock(zone, source, text, tokens, number in ends)
        for number, ((zone, source, text), tokens) in enumerate(zip(drafts, counts, strict=True), start=1)
    )
    return Rendering(
        blocks=blocks,
        messages=tuple(messages),
        order=tuple(order),
        marks=marks,
        tokens=sum(counts) + sum(message.tokens for message in messages),
        stable_prefix_tokens=sum(block.tokens for block in blocks if block.zone is Zone.STABLE),
        cache_points=points,
        sha256=_digest(blocks, messages),
    )


_Draft = tuple[Zone, Source | None, str]


def _draft_blocks(ledger: Ledger, tag: str) -> tuple[list[_Draft], list[int], dict[int, str]]:
    by_block: dict[int, list[int]] = {}
    for place in ledger.kept:
        by_block.setdefault(ledger.stock.pieces.blocks[place], []).append(place)
    drafts: list[_Draft] = [(Zone.STABLE, None, notice(tag))] if by_block else []
    order: list[int] = []
    marks: dict[int, str] = {}
    for number, places in sorted(by_block.items()):
        block = BLOCKS[number]
        ordered = _in_canonical_order(places, ledger)
        order += ordered
        marks.update((place, f"{block.letter}{count}") for count, place in enumerate(ordered, start=1))
        first, last = fence_lines(block, tag)
        drafts.append((block.zone, block.source, "".join([first, *_lines(ordered, marks, ledger), last])))
    return drafts, order, marks


def _lines(places: Sequence[int], marks: dict[int, str], ledger: Ledger) -> list[str]:
    pieces, forms, lead = ledger.stock.pieces, ledger.forms, Form.LEAD
    lines: list[str] = []
    group = None
    for place in places:
        if pieces.groups[place] != group:
            group = pieces.groups[place]
            lines.append(pieces.headers[group])
        body = pieces.lead[place] if forms[place] is lead else pieces.full[place]
        lines.append(f"[{marks[place]}] {body}\n")
    return lines


def _in_canonical_order(places: list[int], ledger: Ledger) -> list[int]:
    """Return the places of one block in an order that neither the question nor the ranking moves."""
    items, groups = ledger.stock.items, ledger.stock.pieces.groups
    chosen = [(items[place], place) for place in places]
    if chosen[0][0].source not in _BY_TIME:
        keys = [(item.header, item.position, item.id, place) for item, place in chosen]
        return [key[-1] for key in sorted(keys)]
    moments = {place: _moment(item.at) for item, place in chosen}
    opened: dict[int, float] = {}
    for place, moment in moments.items():
        opened[groups[place]] = min(moment, opened.get(groups[place], moment))
    timed = [
        (opened[groups[place]], item.header, moments[place], item.position, item.id, place) for item, place in chosen
    ]
    return [key[-1] for key in sorted(timed)]


def _moment(at: datetime | None) -> float:
    """Return seconds since 1970. A time without a zone is taken as UTC: a local one would make bytes depend on the host."""
    if at is None:
        return _LONG_AGO
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _cache_points(drafts: Sequence[_Draft], counts: Sequence[int], page: Page) -> tuple[CachePoint, ...]:
    """Return where the stable and the slow zone end, if enough tokens come before; one point where both end alike."""
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


def _digest(blocks: Sequence[SystemBlock], messages: Sequence[Message]) -> str:
    """Return the SHA-256 of all that is sent, each part behind its length, so that no two contexts hash alike."""
    digest = hashlib.sha256()
    for part in (*(block.text for block in blocks), *(part for message in messages for part in _parts(message))):
        data = part.encode(errors="surrogatepass")
        digest.update(len(data).to_bytes(8))
        digest.update(data)
    return digest.hexdigest()


def _parts(message: Message) -> tuple[str, ...]:
    parts = json.dumps(message.parts, sort_keys=True, ensure_ascii=False, default=str) if message.parts else ""
    return message.role, message.text, parts
