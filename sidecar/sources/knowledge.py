"""The knowledge source: chunks of documents in the bases assigned to the template, the agent or the space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.ingest.chunked import HEADING_GAP
from sidecar.turn.evidence import TextPositions, evidence_of, unknown_words
from sidecar.turn.items import Item, Ref, Source, items_of
from sidecar.turn.rank import CandidateKind, Candidates
from store.content import documents
from store.content.documents import RecalledChunk
from store.db.postgres import Pool, tenant_scoped
from store.scope import Scope

_MOST_EACH = 60


class KnowledgeSource:
    """Searches the assigned bases of the built-in store. Without an assigned base it searches none, never all."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` chunks that may answer, best first. Raises SourceSkipped if no base is assigned."""
        asked_by = {"template_id": query.template_id, "agent_id": query.agent_id, "space_id": query.space_id}
        async with tenant_scoped(self._pool, scope.tenant_id, read_only=True) as connection:
            limits.begin()
            bases = await documents.assigned_bases(connection, scope.tenant_id, **asked_by)
            if not bases:
                raise SourceSkipped("no knowledge base is assigned to this template, agent or space")
            if not query.words and not query.meaning:
                return SourceAnswer()
            wanted = query.wanted(min(_MOST_EACH, limits.top_k))
            found = await documents.recall(connection, scope.tenant_id, bases, wanted)
        chunks = found.texts
        standing = TextPositions([chunk.document_id for chunk in chunks], [chunk.position for chunk in chunks])
        evidence = evidence_of(found, wanted, query.parts, standing)
        items = _items(chunks, evidence.coverage[0].tolist())
        candidates = Candidates(
            kind=CandidateKind.PASSAGE,
            ids=[item.id for item in items],
            texts=[chunk.text for chunk in chunks],
            evidence=evidence,
            marks=[chunk.marks for chunk in chunks],
            unknown=unknown_words(found, wanted),
        )
        return SourceAnswer(items, notes=query.notes, candidates=candidates).first(limits.top_k)


def _items(chunks: Sequence[RecalledChunk], coverage: Sequence[float]) -> tuple[Item, ...]:
    sections, texts = zip(*map(under_headings, chunks), strict=True) if chunks else ((), ())
    document_ids, chunk_ids = [str(one.document_id) for one in chunks], [str(one.chunk_id) for one in chunks]
    return items_of(
        id=[f"chunk:{chunk_id}" for chunk_id in chunk_ids],
        source=repeat(Source.KNOWLEDGE),
        text=texts,
        rank=count(),
        relevance=coverage,
        header=[one.title for one in chunks],
        provenance=[
            (Ref("document", document_id, one.path), Ref("chunk", chunk_id, str(one.position)))
            for document_id, chunk_id, one in zip(document_ids, chunk_ids, chunks, strict=True)
        ],
        signature=[one.signature for one in chunks],
        position=[one.position for one in chunks],
        group=document_ids,
        section=sections,
    )


def under_headings(found: RecalledChunk) -> tuple[str, str]:
    """Return the headings above a chunk with its page, and its text, without repeats.

    The document's title stands above the headings, and the headings above the text, which often begins with the last of them.
    """
    headings = found.heading.split(HEADING_GAP) if found.heading else []
    first, _, rest = found.text.partition("\n")
    says = first.strip("# ") in {found.title, *headings[-1:]} and bool(rest.strip())
    if headings[:1] == [found.title]:
        del headings[0]
    page = f"page {found.page}" if found.page is not None else ""
    return ", ".join(filter(None, (HEADING_GAP.join(headings), page))), rest.lstrip() if says else found.text
