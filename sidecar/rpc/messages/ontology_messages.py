"""Writes values of an ontology as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sidecar.rpc.transport.validation import write_time
from sidecar.services.ontology.changes import TermDifference
from sidecar.services.ontology.governance import ChangeSetLine
from sidecar.services.ontology.term_reading import write_term
from sidecar.services.ontology.views import ChangeSetView, ItemView, term_of
from sidecar.v1 import ontology_pb2 as pb
from store.ontology.change_sets import ChangeSet
from store.ontology.evidence import Example
from store.ontology.reprocess_jobs import ReprocessJob
from store.ontology.terms import Ontology
from store.ontology.versions import OntologyVersion


def ontology(value: Ontology) -> pb.GetOntologyResponse:
    """Return the ontology as a message."""
    return pb.GetOntologyResponse(
        version=value.version,
        entity_types=[pb.OntologyEntityType(**write_term(one)) for one in value.entity_types],
        relationship_types=[pb.OntologyRelationshipType(**write_term(one)) for one in value.relationship_types],
        facet_templates=[pb.OntologyFacetTemplate(**write_term(one)) for one in value.facet_templates],
        mappings=[pb.OntologyMapping(**write_term(one)) for one in value.mappings],
    )


def version(value: OntologyVersion) -> pb.OntologyVersion:
    """Return a version as a message."""
    return pb.OntologyVersion(
        version=value.version,
        author=value.author,
        create_time=write_time(value.created_at),
        change_set_id=str(value.change_set_id or ""),
        restores=value.restores or 0,
    )


def difference(value: TermDifference) -> pb.OntologyDifference:
    """Return a term that differs as a message."""
    fields = [
        pb.OntologyFieldDifference(name=one.name, before_json=_json(one.before), after_json=_json(one.after))
        for one in value.fields
    ]
    return pb.OntologyDifference(kind=value.kind.value, key=value.key, change=value.change, fields=fields)


def change_set_line(line: ChangeSetLine) -> pb.OntologyChangeSet:
    """Return a change set of a list as a message."""
    counts = {"pending": line.pending_count, "accepted": line.accepted_count, "rejected": line.rejected_count}
    return _change_set(line.change_set, counts)


def change_set_view(view: ChangeSetView) -> pb.OntologyChangeSet:
    """Return a change set with its items as a message."""
    counts: dict[str, int] = {"pending": 0, "accepted": 0, "rejected": 0}
    for one in view.items:
        counts[one.item.decision.value] += 1
    message = _change_set(view.change_set, counts)
    message.base_version, message.problem = view.base_version, view.problem
    message.impact.update(view.impact)
    message.items.extend(map(_item, view.items))
    return message


def job(value: ReprocessJob) -> pb.OntologyJob:
    """Return a reprocess job as a message."""
    return pb.OntologyJob(
        job_id=str(value.job_id),
        from_version=value.from_version,
        to_version=value.to_version,
        status=value.status.value,
        attempt=value.attempt,
        done_pages=value.continuation_offset,
        error=value.error,
        create_time=write_time(value.created_at),
        finish_time=write_time(value.finished_at),
        change_set_id=str(value.change_set_id or ""),
        metrics={name: float(count) for name, count in value.metrics.items() if isinstance(count, int | float)},
    )


def _change_set(value: ChangeSet, counts: Mapping[str, int]) -> pb.OntologyChangeSet:
    return pb.OntologyChangeSet(
        change_set_id=str(value.change_set_id),
        origin=value.origin.value,
        title=value.title,
        status=value.status.value,
        revision=value.revision,
        drafted_by=value.drafted_by,
        draft_time=write_time(value.drafted_at),
        decided_by=value.decided_by,
        decide_time=write_time(value.decided_at),
        applied_version=value.applied_version or 0,
        item_counts=counts,
    )


def _item(view: ItemView) -> pb.OntologyChangeItem:
    item = view.item
    return pb.OntologyChangeItem(
        item_id=str(item.item_id),
        kind=item.subject_kind.value,
        action=item.action.value,
        key=term_of(item).key,
        proposed_json=_json(item.proposed),
        edited_json=_json(item.edited),
        decision=item.decision.value,
        decided_by=item.decided_by,
        edited_by=item.edited_by,
        origin=item.origin.value,
        rationale=item.rationale,
        confidence=item.confidence,
        frequency=item.frequency,
        difference=difference(view.difference),
        evidence=map(_evidence, view.evidence),
        uses=view.uses,
    )


def _evidence(example: Example) -> pb.OntologyEvidence:
    return pb.OntologyEvidence(
        owner_id=str(example.owner_id),
        memory_id=example.memory_id,
        source=example.source_kind,
        label=example.label,
        quote=example.quote,
        observe_time=write_time(example.observed_at),
    )


def _json(value: Any) -> str:
    """Return a value as JSON; empty for None."""
    return "" if value is None else orjson.dumps(value).decode()
