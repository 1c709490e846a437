"""Sentences that say that somebody or something has become another, or is no more what it was."""

from __future__ import annotations

import re

from compiler.plan.lexicon import definition_words
from compiler.plan.quoting.signs import ANY, NAME

# `Jon left the firm` ends an earlier definition of him; `Jon will retire` does not.
_BEGINS = re.compile(rf"(?:\S+ ){{0,1}}{NAME}")
_ENDED = re.compile(rf"\b(?:{'|'.join(one for every in definition_words.ENDINGS.values() for one in every)})\b")
_OTHERS = re.compile(rf"{NAME} .*\b(?:he|she|they|it|er|sie|ella|ele|ela|il|elle)\b")  # `she left`
_COMING = re.compile(rf"\b(?:{ANY['will be']})\b")
# `Jon says that she left`, `Jon never left`, `Jon wants her to leave`
_NOT_ENDED = re.compile(
    rf"\b(?:{ANY['but not']}|(?:wants?|wanted|asks?|asked|tells?|told|lets?|helped|made|persuaded|convinced)(?! to\b))\b"
)
# `Jon became a consultant`, `Jon wurde zur Vorsitzenden gewählt`; not `Jon became a problem`.
_BECAME = re.compile(
    rf"(?:\S+ )?{NAME} (?:(?:{ANY['becomes']}) (?:(?:{ANY['article']}) )?|(?:{ANY['is chosen']})(?: \S+){{0,2}}? (?:zum|zur) )"
    rf"(?!(?:{ANY['article']}|{ANY['no kind']}|{ANY['how much']})\b)(?=[a-z]{{3,}})"
)


def is_ended(text: str) -> bool:
    """Return whether marked words say that the name's bearer left, resigned or is no more."""
    ended = _ENDED.search(text) if _BEGINS.match(text) and not _COMING.search(text) else None
    before = text[: ended.start()] if ended else ""
    return ended is not None and not (_OTHERS.search(before) or _NOT_ENDED.search(before))


def has_become(text: str) -> bool:
    """Return whether marked words say what the name's bearer has become: `Jon became a consultant`."""
    return bool(_BECAME.match(text))
