"""The prompts. The same batch gives the same bytes: no clock, no random id, no storage order.

External text (memories, page contents, proposals, names, headings) is shown as JSON lines. It cannot end its line, start a part
of the prompt or contain a mark that a chat template reads as the end of a turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compiler.plan import bounds
from compiler.plan.batch import AggregationView, LeafBatch
from compiler.plan.contract import BatchMemory, Draft, Mention, Page, Section
from compiler.plan.facts import past
from compiler.plan.names.lookup import choose_mentions
from compiler.plan.ontology import terms
from compiler.plan.prompting import schema, wording
from compiler.plan.prompting.handles import Handles, number
from compiler.plan.text.markdown import first_sentence, one_line

LEAF_VERSION = "leaf-4"
SECTION_VERSION = "section-2"
AGGREGATION_VERSION = "aggregation-3"

VERSIONS = (LEAF_VERSION, SECTION_VERSION, AGGREGATION_VERSION)

# Appended to the version of a prompt that has an ontology.
ONTOLOGY_VERSION = "ontology-1"

SUMMARY_CHARS = 200
QUOTES_SHOWN = 3

# Line separators, and the openings of chat templates' marks: <|im_start|>, <start_of_turn>, [INST].
_FRAMING = re.compile("[\x7f-\x9f\u2028\u2029<\uff1c]|\\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL))")

ALIASES_SHOWN = 8
TAGS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a model: `schema` is the schema of its answer (None for plain text) and `name` the schema's name; `version` is
    that of the wording.
    """

    system: str
    user: str
    version: str
    name: str = ""
    schema: Mapping[str, Any] | None = None
    handles: Handles = field(default_factory=Handles)


def leaf(batch: LeafBatch) -> Prompt:
    """Return the prompt for a leaf batch, with its handles."""
    pages = sorted(batch.pages, key=lambda page: page.key)
    mentions = choose_mentions(batch.mentions)
    quoted = {one.source.memory_id for mention in mentions for one in mention.sightings[-QUOTES_SHOWN:]}
    fresh = [memory.memory_id for memory in batch.memories]
    standing = [one for one in batch.standing if one.memory_id not in fresh]
    shown_again = [one.memory_id for one in standing]
    memories = number("R", [*fresh, *shown_again, *sorted(quoted - {*fresh, *shown_again})])
    handles = Handles(
        pages={f"P{at}": page.key for at, page in enumerate(pages, 1)},
        mentions=number("M", [mention.key for mention in mentions]),
        memories=memories,
    )
    by_id = {memory_id: handle for handle, memory_id in reversed(memories.items())}
    parts = [
        _part("PAGES", (_page(handle, page) for handle, page in zip(handles.pages, pages, strict=True))),
        _part(
            "HELD NAMES", (_mention(handle, one, by_id) for handle, one in zip(handles.mentions, mentions, strict=True))
        ),
        _part("MEMORIES", (_memory(handle, memory) for handle, memory in zip(memories, batch.memories, strict=False))),
    ]
    if standing:
        parts.insert(2, _part("EARLIER", (_memory(by_id[one.memory_id], one) for one in standing)))
    if batch.known is None:
        return Prompt(wording.LEAF, "\n\n".join(parts), LEAF_VERSION, "leaf_plan", schema.LEAF, handles)
    ontology = _part("ONTOLOGY", map(_json, terms.lines(batch.known)))
    return Prompt(
        f"{wording.LEAF}\n{wording.LEAF_ONTOLOGY}",
        "\n\n".join([ontology, *parts]),
        f"{LEAF_VERSION}+{ONTOLOGY_VERSION}",
        "leaf_plan",
        schema.governed_leaf(batch.known.edge_types()),
        handles,
    )


def section(draft: Draft) -> Prompt:
    """Return the prompt for a section's text; for a section without a slug, for the page's summary in one sentence."""
    wanted = {"page": draft.title, "section": draft.section.heading or "summary: one sentence that says what this is"}
    parts = [
        _part("SECTION", [_json(wanted)]),
        _part("STANDS", _texts(past.split(draft.existing_md)[0])),
        _part("PROPOSAL", _texts(draft.section.body_md[: bounds.SECTION_CHARS * (1 + bounds.CONTINUATIONS)])),
        _part(
            "MEMORIES",
            (_json({"date": one.occurred_at.date().isoformat(), "text": one.text}) for one in draft.memories),
        ),
    ]
    if not draft.asked:
        return Prompt(wording.SECTION, "\n\n".join(parts), SECTION_VERSION)
    guidance = _part("WANTED", [_json({"text": one}) for one in draft.asked])
    version = f"{SECTION_VERSION}+{ONTOLOGY_VERSION}"
    return Prompt(f"{wording.SECTION}\n{wording.SECTION_ONTOLOGY}", "\n\n".join([guidance, *parts]), version)


def aggregation(view: AggregationView) -> Prompt:
    """Return the prompt for an aggregation, with its handles."""
    pages = sorted(view.pages, key=lambda page: page.key)
    cited = {one for candidate in view.candidates for one in candidate.memory_ids if one in view.evidence}
    memories = number("R", sorted(cited))
    by_id = {memory_id: handle for handle, memory_id in memories.items()}
    handles = Handles(pages={f"P{at}": page.key for at, page in enumerate(pages, 1)}, memories=memories)
    shown = (
        {
            **_outline(handle, page),
            "hubness": page.hubness_score,
            "tags": sorted(tag.name for tag in page.tags)[:TAGS_SHOWN],
            "inbound_links": view.inbound.get(page.key, 0),
            "sections": [one.slug for one in page.sections if one.aggregation is None],
            "lists": [_list(one) for one in page.sections if one.aggregation is not None],
        }
        for handle, page in zip(handles.pages, pages, strict=True)
    )
    candidates = (
        {
            "kind": one.kind,
            "title": one.title,
            "section": one.section,
            "source_refs": [by_id[memory_id] for memory_id in one.memory_ids if memory_id in by_id],
            "tags": list(one.tags)[:TAGS_SHOWN],
        }
        for one in sorted(view.candidates, key=lambda one: (one.kind, one.slug, one.section))
    )
    parts = [_part("PAGES", map(_json, shown)), _part("CANDIDATES", map(_json, candidates))]
    return Prompt(
        wording.AGGREGATION, "\n\n".join(parts), AGGREGATION_VERSION, "aggregation_plan", schema.AGGREGATION, handles
    )


def _texts(markdown: str) -> list[str]:
    return [_json({"text": markdown})] if markdown.strip() else []


def _part(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(list(lines) or ["(none)"])])


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _FRAMING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _outline(handle: str, page: Page) -> dict[str, Any]:
    return {
        "id": handle,
        "type": str(page.key.type),
        "slug": page.key.slug,
        "title": page.title,
        "summary": first_sentence(page.summary, most_chars=SUMMARY_CHARS),
    }


def _page(handle: str, page: Page) -> str:
    aliases = sorted({alias.display for alias in page.aliases} - {page.title})[:ALIASES_SHOWN]
    return _json({**_outline(handle, page), "aliases": aliases, "sections": [one.slug for one in page.sections]})


def _list(section: Section) -> dict[str, Any]:
    known = section.aggregation
    return {
        "section": section.slug,
        "pages": len(section.children),
        "records": known.supporting_record_count if known else 0,
        "score": known.promotion_score if known else 0.0,
        "status": str(known.promotion_status) if known else "none",
        "chars": len(section.body_md),
    }


def _mention(handle: str, mention: Mention, by_id: Mapping[str, str]) -> str:
    seen = [
        {
            "ref": by_id.get(one.source.memory_id, ""),
            "date": one.seen_at.date().isoformat(),
            "quote": one_line(one.quote),
        }
        for one in mention.sightings[-QUOTES_SHOWN:]
    ]
    suggested = str(mention.suggested_type) if mention.suggested_type else None
    return _json({"id": handle, "name": mention.alias, "type": suggested, "seen": len(mention.sightings), "last": seen})


def _memory(handle: str, memory: BatchMemory) -> str:
    shown = {name: value for name, value in sorted(memory.metadata.items()) if _is_telling(value)}
    return _json({"ref": handle, "date": memory.occurred_at.date().isoformat(), "about": shown, "text": memory.text})


def _is_telling(value: object) -> bool:
    """Return whether a metadata value is small enough to be useful: no long texts, no nested dumps."""
    return value is not None and len(json.dumps(value, ensure_ascii=False, default=str)) <= 400
