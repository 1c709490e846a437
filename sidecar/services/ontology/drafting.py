"""Items of a change set, made from a caller's request or from the terms that an ontology lacks. Pure, except for item ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology import changes
from sidecar.services.ontology.term_reading import choice, read_term, write_term
from sidecar.services.validation import read_text
from store.ontology.change_sets import ChangeAction, ChangeItem, ChangeOrigin
from store.ontology.terms import Ontology, Term, TermKind, kind_of

MAX_RATIONALE_CHARS = 500


@dataclass(frozen=True, slots=True)
class WantedChange:
    """A change as sent by a caller. `kind` and `action` are names; `term` is JSON; an update may leave out unchanged fields.

    `key` names the term of an update, a deprecation or a removal.
    """

    kind: str
    action: str
    term: Mapping[str, Any]
    key: str = ""
    rationale: str = ""


def item(base: Ontology, wanted: WantedChange, field: str) -> ChangeItem:
    """Return the item of a change sent by a caller. Raises InvalidArgument."""
    kind = choice(f"{field}.kind", wanted.kind, TermKind)
    action = choice(f"{field}.action", wanted.action, ChangeAction)
    read_text(f"{field}.rationale", wanted.rationale, max_chars=MAX_RATIONALE_CHARS)
    known = changes.find(base, kind, wanted.key) if wanted.key else None
    if action is not ChangeAction.CREATE and known is None:
        problem = f"is {wanted.key[:80]!r}, and there is no such term" if wanted.key else "is missing"
        raise InvalidArgument(f"{field}.key", problem, "send the key of a term in force (sidecar ontology types)")
    if action is ChangeAction.CREATE and wanted.key:
        raise InvalidArgument(f"{field}.key", "is set for a term that is to be created", "leave it out")
    if action in {ChangeAction.DEPRECATE, ChangeAction.REMOVE}:
        assert known is not None, "only a known term is deprecated"
        return replace(new_item(action, known, known, ChangeOrigin.OPERATOR), rationale=wanted.rationale)
    term = read_term(kind, {**(write_term(known) if known else {}), **wanted.term}, field=f"{field}.term")
    if known is not None and term.key != known.key:
        raise InvalidArgument(f"{field}.term", f"has the key {term.key}", f"keep {known.key}: keys do not change")
    there = known or changes.find(base, kind, term.key)
    return replace(new_item(action, term, there, ChangeOrigin.OPERATOR), rationale=wanted.rationale)


def new_item(action: ChangeAction, term: Term, there: Term | None, origin: ChangeOrigin) -> ChangeItem:
    return ChangeItem(
        item_id=uuid4(),
        position=0,
        subject_kind=kind_of(term),
        action=action,
        proposed=write_term(term),
        fingerprint=changes.fingerprint(action, term),
        origin=origin,
        before=changes.digest(there),
    )


def items_of(base: Ontology, proposed: Ontology, origin: ChangeOrigin) -> list[ChangeItem]:
    """Return the items that add the terms that `base` lacks. An import also changes the terms that differ."""
    known = {(kind_of(term), term.key): term for term in base.terms}
    items = []
    for term in proposed.terms:
        there = known.get((kind_of(term), term.key))
        if there is None or (origin is ChangeOrigin.IMPORT and there != term):
            action = ChangeAction.CREATE if there is None else ChangeAction.UPDATE
            items.append(new_item(action, term, there, origin))
    return items
