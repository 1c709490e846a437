"""The keys and kinds of pages, links and rulings; `compiler.plan.contract` re-exports them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PageType(StrEnum):
    """The kind of a page's subject; it determines the page's default sections."""

    ENTITY = "entity"
    TOPIC = "topic"
    DECISION = "decision"


class PromotionStatus(StrEnum):
    """The progress of a section towards a page of its own. PROMOTED and SUPPRESSED stay until an operator acts."""

    NONE = "none"
    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    SUPPRESSED = "suppressed"


class LinkKind(StrEnum):
    """The role of a link: an ordinary reference, or one half of a hierarchy's pair."""

    REFERENCE = "reference"
    PARENT_OF = "parent_of"
    CHILD_OF = "child_of"


class LinkOrigin(StrEnum):
    """The source of a link's evidence."""

    PLANNER = "planner"
    DETERMINISTIC = "deterministic"
    CO_MENTION = "co_mention"
    ROLLUP = "rollup"
    PROMOTION = "promotion"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, order=True)
class PageKey:
    """The name of a page within its scope."""

    type: PageType
    slug: str

    @property
    def path(self) -> str:
        """The target of links to the page."""
        return f"/wiki/{self.type}/{self.slug}"


class EndReason(StrEnum):
    """Why a memory ends: a newer one says that it was wrong, or that something else is true now."""

    CORRECTED = "corrected"
    CONTRADICTED = "contradicted"


class RulingKind(StrEnum):
    """The subject of a ruling."""

    TITLE = "title"
    NAME = "name"
    MERGED = "merged"
    SENTENCE = "sentence"


@dataclass(frozen=True, slots=True)
class Ruling:
    """An operator's decision that later compiles keep. If all of `memory_ids` are forgotten, so is the ruling.

    `text` is the page's title, a name of it (`ref` its key, `detail` its origin), or a sentence that the page must not contain
    (`ref` its key, `detail` its section's slug). MERGED means that the page was merged into `into`.
    """

    kind: RulingKind
    page: PageKey
    ref: str = ""
    text: str = ""
    detail: str = ""
    into: PageKey | None = None
    memory_ids: tuple[str, ...] = ()
