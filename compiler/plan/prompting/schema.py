"""JSON schemas of a model's answers: every property required, no other allowed, as strict outputs demand.

Any answer with one of a plan's arrays is a plan (`PLAN`): it is read item by item, and only bad items are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from compiler.plan.edge_types import EDGE_TYPES
from compiler.plan.kinds import EndReason

Schema = Mapping[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_TYPE: Final[Schema] = {"type": "string", "enum": ["entity", "topic", "decision"]}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_SECTION = _object(slug=_TEXT, heading=_TEXT, body_md=_TEXT, source_refs=_TEXTS)
_PAGE: Final[Schema] = {
    "type": _TYPE,
    "slug": _TEXT,
    "title": _TEXT,
    "summary": _TEXT,
    "aliases": _TEXTS,
    "source_refs": _TEXTS,
    "sections": _array(_SECTION),
}
_NEW_PAGE = _object(**_PAGE)
_PAGE_UPDATE = _object(
    pageId=_TEXT,
    sections=_array(_object(slug=_TEXT, heading=_TEXT, proposed_body_md=_TEXT, source_refs=_TEXTS)),
    aliases=_TEXTS,
)
_MENTION = _object(
    alias=_TEXT,
    suggestedType={"anyOf": [_TYPE, {"type": "null"}]},
    context=_TEXT,
    source_ref=_TEXT,
)
_PROMOTION = _object(mentionId=_TEXT, reason=_TEXT, **_PAGE)
_LINK = _object(fromType=_TYPE, fromSlug=_TEXT, toType=_TYPE, toSlug=_TEXT, context=_TEXT)
_TYPED_LINK = _object(
    fromType=_TYPE,
    fromSlug=_TEXT,
    toType=_TYPE,
    toSlug=_TEXT,
    context=_TEXT,
    edgeType={"type": "string", "enum": ["", *EDGE_TYPES]},
    since=_TEXT,
    until=_TEXT,
    source_refs=_TEXTS,
)
_SUPERSESSION = _object(
    newer_ref=_TEXT,
    older_ref=_TEXT,
    reason={"type": "string", "enum": [*map(str, EndReason)]},
    quote=_TEXT,
)
_ROLLUP = _object(
    pageId=_TEXT,
    sectionSlug=_TEXT,
    heading=_TEXT,
    linked_page_slugs=_array(_object(type=_TYPE, slug=_TEXT)),
    source_refs=_TEXTS,
    observed_tags=_TEXTS,
    rationale=_TEXT,
)
_SECTION_PROMOTION = _object(
    pageId=_TEXT,
    sectionSlug=_TEXT,
    reason=_TEXT,
    parentSummary=_TEXT,
    topHighlights=_TEXTS,
    newPage=_NEW_PAGE,
)

LEAF: Final[Schema] = _object(
    pageUpdates=_array(_PAGE_UPDATE),
    newPages=_array(_NEW_PAGE),
    unresolvedMentions=_array(_MENTION),
    promotions=_array(_PROMOTION),
    pageLinks=_array(_TYPED_LINK),
    parentSectionUpdates=_array(_ROLLUP),
    sectionPromotions=_array(_SECTION_PROMOTION),
    supersessions=_array(_SUPERSESSION),
)


def governed_leaf(edge_types: Iterable[str]) -> Schema:
    """Return the schema of a leaf plan under an ontology: pages have an entity type, and links may have these edge types."""
    page = _object(**{**_PAGE, "entityType": _TEXT})
    update = _object(**{**_PAGE_UPDATE["properties"], "entityType": _TEXT})
    promotion = _object(**{**_PROMOTION["properties"], "entityType": _TEXT})
    named = {"type": "string", "enum": ["", *edge_types]}
    link = _object(**{**_TYPED_LINK["properties"], "edgeType": named})
    made = {"pageUpdates": update, "newPages": page, "promotions": promotion, "pageLinks": link}
    return _object(**{**LEAF["properties"], **{name: _array(one) for name, one in made.items()}})


ARRAYS = tuple(LEAF["properties"])
PLAN: Final[Schema] = {
    "type": "object",
    "anyOf": [{"properties": {name: {"type": "array"}}, "required": [name]} for name in ARRAYS],
}
_AGGREGATED = ("parentSectionUpdates", "sectionPromotions", "newPages")
AGGREGATION: Final[Schema] = _object(
    **{name: LEAF["properties"][name] for name in _AGGREGATED}, pageLinks=_array(_LINK)
)
