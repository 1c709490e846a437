"""Knowledge: chunks of the documents in the bases assigned to the template, the agent or the space."""

from __future__ import annotations

from sidecar.sources import Answer, Limits, Query, Skipped
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.rank import Candidate, Kind
from store import documents
from store.documents import StoredChunk
from store.postgres import Pool, tenant_scoped
from store.scope import Scope

_MOST_EACH = 60


class KnowledgeSource:
    """Searches the assigned bases of the built-in store. No base assigned means nothing asked, never all."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` chunks that may answer, best first. Raises Skipped when no base is assigned."""
        asked_by = {"template_id": query.template_id, "agent_id": query.agent_id, "space_id": query.space_id}
        async with tenant_scoped(self._pool, scope.tenant_id, read_only=True) as connection:
            bases = await documents.assigned_bases(connection, scope.tenant_id, **asked_by)
            if not bases:
                raise Skipped("no knowledge base is assigned to this template, agent or space")
            if not query.words and not query.meaning:
                return Answer()
            wanted = query.wanted(query.words, min(_MOST_EACH, limits.top_k))
            found = await documents.recall(connection, scope.tenant_id, bases, wanted)
        evidence = evidence_of(found, query.parts, query.words, lambda one: (one.document_id, one.position))
        pairs = list(zip(found.matches, evidence, strict=True))[: limits.top_k]
        return Answer(
            tuple(_item(match.text, told, rank) for rank, (match, told) in enumerate(pairs)), notes=query.notes
        )


def _item(found: StoredChunk, evidence: tuple[Evidence, ...], rank: int) -> Item:
    section = f" › {found.heading}" if found.heading else ""
    page = f", page {found.page}" if found.page is not None else ""
    chunk_id = str(found.chunk_id)
    return Item(
        id=f"chunk:{chunk_id}",
        source=Source.KNOWLEDGE,
        text=found.text,
        rank=rank,
        relevance=evidence[0].coverage,
        header=f"{found.title}{section}{page}",
        provenance=(
            Ref("document", str(found.document_id), found.path),
            Ref("chunk", chunk_id, str(found.position)),
        ),
        signature=found.signature,
        position=found.position,
        candidate=Candidate(Kind.PASSAGE, found.text, evidence),
    )
