"""Knowledge source on a Bedrock knowledge base, assigned by the configuration to templates, agents or spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from sidecar.backends.bedrock_knowledge import BedrockKnowledge, RetrievedPassage
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.ranking.remote_evidence import coverage
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class BedrockKnowledgeSource:
    """Searches one base for the callers it is assigned to: `template:ID`, `agent:ID` or `space:ID`. Empty means no callers."""

    base: BedrockKnowledge
    assigned_to: frozenset[str]

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` passages, best first. Raises SourceSkipped if the base is not assigned, or a BackendError."""
        caller = {f"template:{query.template_id}", f"agent:{query.agent_id}", f"space:{query.space_id}"}
        if caller.isdisjoint(self.assigned_to):
            raise SourceSkipped(f"{self.base.name}: not assigned to this template, agent or space")
        results = await self.base.retrieve(query.text, limit=limits.top_k)
        items = [_item(self.base.name, passage, rank, query.words) for rank, passage in enumerate(results.passages)]
        notes = [f"{self.base.name}: {count} {kind} results have no text" for kind, count in results.left_out.items()]
        return SourceAnswer(tuple(items), notes=(*notes, *results.unreadable))


def _item(base: str, passage: RetrievedPassage, rank: int, words: Sequence[str]) -> Item:
    # Not every base gives chunk ids; a hash of the text is stable between turns.
    chunk = (
        passage.chunk_id or sha256(f"{passage.document_id}\n{passage.text}".encode(errors="replace")).hexdigest()[:32]
    )
    score = "no score" if passage.score is None else f"score {passage.score:.4f}"
    return Item(
        id=f"{base}:{chunk}",
        source=Source.KNOWLEDGE,
        text=passage.text,
        rank=rank,
        relevance=coverage(words, passage.text),
        header=passage.place or passage.document_id or base,
        provenance=(Ref("document", passage.document_id or base, passage.place), Ref("backend", base, score)),
    )
