"""The knowledge source: chunks of documents in the bases assigned to the template, the agent or the space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.ingest.chunking.chunk_reader import HEADING_GAP
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import TextPositions, evidence_of, unknown_words
from sidecar.turn.items import Item, Ref, Source, items_of
from store.content import documents
from store.content.documents import RecalledChunk
from store.db.postgres import Pool, tenant_scoped
from store.scope import Scope

_MOST_EACH = 60


class KnowledgeSource:
    """Searches the assigned bases of the built-in store. Without an assigned base, it searches none."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` chunks that may answer, best first. Raises SourceSkipped if no base is assigned."""
        caller = {"template_id": query.template_id, "agent_id": query.agent_id, "space_id": query.space_id}
        async with tenant_scoped(self._pool, scope.tenant_id, read_only=True) as connection:
            limits.begin()
            bases = await documents.assigned_bases(connection, scope.tenant_id, **caller)
            if not bases:
                raise SourceSkipped("no knowledge base is assigned to this template, agent or space")
            if not query.words and not query.meaning:
                return SourceAnswer()
            wanted = query.wanted(min(_MOST_EACH, limits.top_k))
            recalled = await documents.recall(connection, scope.tenant_id, bases, wanted)
        chunks = recalled.texts
        positions = TextPositions([chunk.document_id for chunk in chunks], [chunk.position for chunk in chunks])
        evidence = evidence_of(recalled, wanted, query.parts, positions)
        items = _items(chunks, evidence.coverage[0].tolist())
        candidates = Candidates(
            kind=CandidateKind.PASSAGE,
            ids=[item.id for item in items],
            texts=[chunk.text for chunk in chunks],
            evidence=evidence,
            marks=[chunk.marks for chunk in chunks],
            unknown=unknown_words(recalled, wanted),
        )
        return SourceAnswer(items, notes=query.notes, candidates=candidates).first(limits.top_k)


def _items(chunks: Sequence[RecalledChunk], coverage: Sequence[float]) -> tuple[Item, ...]:
    sections, texts = zip(*map(under_headings, chunks), strict=True) if chunks else ((), ())
    document_ids, chunk_ids = [str(chunk.document_id) for chunk in chunks], [str(chunk.chunk_id) for chunk in chunks]
    return items_of(
        id=[f"chunk:{chunk_id}" for chunk_id in chunk_ids],
        source=repeat(Source.KNOWLEDGE),
        text=texts,
        rank=count(),
        relevance=coverage,
        header=[chunk.title for chunk in chunks],
        provenance=[
            (Ref("document", document_id, chunk.path), Ref("chunk", chunk_id, str(chunk.position)))
            for document_id, chunk_id, chunk in zip(document_ids, chunk_ids, chunks, strict=True)
        ],
        signature=[chunk.signature if text == chunk.text else None for chunk, text in zip(chunks, texts, strict=True)],
        position=[chunk.position for chunk in chunks],
        group=document_ids,
        section=sections,
    )


def under_headings(chunk: RecalledChunk) -> tuple[str, str]:
    """Return the headings above a chunk with its page, and its text, without repetitions.

    The title is left out of the headings, and first lines of the text that repeat the title or a heading: all of these are
    rendered above one another.
    """
    headings = chunk.heading.split(HEADING_GAP) if chunk.heading else []
    text, above = chunk.text, {chunk.title, *headings}
    while (lines := text.partition("\n"))[0].strip("# ") in above and lines[2].strip():
        above.remove(lines[0].strip("# "))
        text = lines[2].lstrip()
    if headings[:1] == [chunk.title]:
        del headings[0]
    page = f"page {chunk.page}" if chunk.page is not None else ""
    return ", ".join(filter(None, (HEADING_GAP.join(headings), page))), text
