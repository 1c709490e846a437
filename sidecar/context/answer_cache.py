"""Caches the sources' recent answers, which are served when a source fails on the same question."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from sidecar.context.ports import SourceQuery
from sidecar.turn.items import Source, SourceReport, Status
from store.scope import Scope

_STALE_AFTER_S = 60.0
_STALE_ANSWERS = 512
_STALE_CHARS = 16_000_000


class AnswerKey(NamedTuple):
    """The key of a cached answer; `question` is the folded text of the message with its days."""

    source: Source
    scope: Scope
    profile_version: str
    template_id: str
    agent_id: str
    space_id: str
    question: str


def answer_key(source: Source, scope: Scope, profile_version: str, query: SourceQuery) -> AnswerKey:
    """Return the key of the source's answer to a query under a version of the profile."""
    moments = () if query.is_now else (f"as of {query.as_of}", f"known at {query.known_at}")
    days = [str(query.now.tzinfo), *(start.isoformat() for start, _ in query.times)]
    text = " ".join((*query.text.casefold().split(), *query.thread_words, *moments, *days))
    return AnswerKey(source, scope, profile_version, query.template_id, query.agent_id, query.space_id, text)


class AnswerCache:
    """Caches good answers for one minute (TTL). A cached answer that replaces a failure is marked STALE."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[AnswerKey, tuple[float, SourceReport]] = OrderedDict()
        self._chars = 0
        self._forgotten: OrderedDict[Scope | UUID, float] = OrderedDict()
        self._all_forgotten_s = -math.inf

    def forget(self, whose: Scope | UUID | None) -> None:
        """Drop the answers of an owner or of a tenant, or all with None. Answers to queries that are already running will not be
        cached either.
        """
        if whose is None:
            self._all_forgotten_s = self._clock()
        else:
            self._forgotten[whose] = self._clock()
            self._forgotten.move_to_end(whose)
        while len(self._forgotten) > _STALE_ANSWERS:
            self._all_forgotten_s = max(self._all_forgotten_s, self._forgotten.popitem(last=False)[1])
        for key in [key for key in self._kept if whose in {None, key.scope, key.scope.tenant_id}]:
            self._chars -= _chars(self._kept.pop(key)[1])

    def keep(self, report: SourceReport, key: AnswerKey, *, began_s: float) -> None:
        """Cache the answer to a query that started at `began_s`, unless a forget came later."""
        if report.source is Source.THREAD:
            return  # a conversation must be read from the store, never from a cache
        forgotten_s = (self._forgotten.get(whose, -math.inf) for whose in (key.scope, key.scope.tenant_id))
        if began_s <= max(self._all_forgotten_s, *forgotten_s):
            return
        if key in self._kept:
            self._chars -= _chars(self._kept.pop(key)[1])
        self._kept[key] = (self._clock(), report)
        self._chars += _chars(report)
        while len(self._kept) > _STALE_ANSWERS or self._chars > _STALE_CHARS:
            self._chars -= _chars(self._kept.popitem(last=False)[1][1])

    def instead_of(self, failed: SourceReport, key: AnswerKey, *, top_k: int) -> SourceReport:
        """Return the cached answer, marked STALE and cut to `top_k` items; the failure itself if there is none."""
        kept_at, report = self._kept.get(key, (-math.inf, failed))
        if self._clock() - kept_at > _STALE_AFTER_S:
            return failed
        reason = f"a cached answer, {self._clock() - kept_at:.0f} s old, was used: {failed.reason}"
        pinned = sum(item.is_pinned for item in report.items)
        items = report.items[: pinned + top_k]
        candidates = report.candidates and report.candidates.only({item.id for item in items})
        return replace(
            failed, status=Status.STALE, items=items, reason=reason, candidates=candidates, reranked=report.reranked
        )


def _chars(report: SourceReport) -> int:
    return sum([len(item.text) + len(item.lead) for item in report.items])
