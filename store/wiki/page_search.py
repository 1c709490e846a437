"""Interactive page search by words, word prefixes and names, with one calibrated score.

Each signal is scaled to 0 to 1 before they are combined, so that a name in the question counts much, but does not outrank
the page that the question is about. Recall for turns is in `pages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold, query_words
from store.wiki import browse
from store.wiki.browse import PageRow, page_row

_sql = queries.load(__file__)

MOST_FOUND = 200
MAX_NAME_WORDS = 6

_TEXT_SHARE = 0.6
_MAX_KEY_CHARS = 200
_MAX_RUNS = 120


@dataclass(frozen=True, slots=True)
class Words:
    """A page's match of a question's words: BM25, and the share of the question's weight it covers, 0 to 1."""

    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Name:
    """A matching name of a page: `way` is whole, beginning or similar, `likeness` 0 to 1."""

    alias: str
    way: str
    likeness: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A page found. `score`, 0 to 1, combines `text` and `name`; `alias` is the name that matched best, or empty."""

    page: PageRow
    score: float
    text: float
    name: float
    alias: str


async def search(connection: Connection, scope: Scope, question: str, *, page_type: str = "") -> list[Hit]:
    """Return at most 200 active pages, best first. Archived pages are never found; an empty question finds nothing."""
    words, key = query_words(question), fold(question)[:_MAX_KEY_CHARS]
    if not key:
        return []
    by_words = await _sql.pages_by_words(connection, **scope.key, words=words, limit=MOST_FOUND) if words else []
    by_name = await _sql.pages_by_name(connection, **scope.key, key=key, names=name_runs(key), limit=MOST_FOUND)
    texts = {row["found_id"]: Words(row["score"], row["coverage"]) for row in by_words}
    names: dict[UUID, list[Name]] = {}
    for row in by_name:
        names.setdefault(row["found_id"], []).append(Name(row["alias"], row["way"], row["likeness"]))
    fused = fuse(texts, names, key)
    rows = await browse.active_pages(connection, scope, fused)
    hits = [_hit(page_row(row), fused) for row in rows if row["type"] == page_type or not page_type]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.page.hubness_score, hit.page.path))[:MOST_FOUND]


def name_runs(key: str) -> list[str]:
    """Return the runs of up to six words of a folded question that may be names of pages, the whole question first."""
    words = [word.strip("?!.,;:()[]\"'“”‘’«»") for word in key.split()]
    words = [word for word in words if word]
    runs = (" ".join(words[i : i + n]) for n in range(MAX_NAME_WORDS, 0, -1) for i in range(len(words) - n + 1))
    return list(dict.fromkeys((key, " ".join(words)[:_MAX_KEY_CHARS], *runs)))[:_MAX_RUNS]


def fuse(
    texts: Mapping[UUID, Words], names: Mapping[UUID, Sequence[Name]], key: str
) -> dict[UUID, tuple[float, float, float, str]]:
    """Return for each page its combined score, its score by words, its score by name, and the name that matched.

    By words: coverage, reduced by up to two fifths if BM25 is below the best found. By name: 1 for the whole question, less
    for a part of it, a prefix or a similar name. The combined score is three fifths words and two fifths name.
    """
    best = max((one.score for one in texts.values()), default=1.0) or 1.0
    fused = {}
    for page_id in texts.keys() | names.keys():
        found = texts.get(page_id)
        text = found.coverage * (0.6 + 0.4 * found.score / best) if found else 0.0
        name, alias = max(((_strength(one, key), one.alias) for one in names.get(page_id, ())), default=(0.0, ""))
        fused[page_id] = (_TEXT_SHARE * text + (1 - _TEXT_SHARE) * name, text, name, alias)
    return fused


def _strength(name: Name, key: str) -> float:
    """Return the score of a name, 0 to 1: 1 for the whole question; for a part, its share of the words, at least a half."""
    if name.way == "beginning":
        return 0.5 + 0.4 * name.likeness
    if name.way == "similar":
        return 0.8 * name.likeness
    return 1.0 if name.alias == key else 0.5 + 0.5 * min(1.0, len(name.alias.split()) / max(1, len(key.split())))


def _hit(page: PageRow, fused: Mapping[UUID, tuple[float, float, float, str]]) -> Hit:
    score, text, name, alias = fused[page.page_id]
    return Hit(page, score, text, name, alias)
