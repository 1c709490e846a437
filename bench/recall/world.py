"""A sidecar with the data, written through its API, and the calls that ask questions.

Each conversation is the only thread of an owner, its observations are that owner's memories; the corpora are one knowledge base.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from bench.recall.cases import CORPORA, Conversation
from compiler.job.worker import Worker
from sidecar.process.app import App
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2, decay_pb2, items_pb2, knowledge_pb2, memory_pb2, profile_pb2
from sidecar.v1.context_pb2_grpc import ContextServiceStub
from sidecar.v1.decay_pb2_grpc import DecayServiceStub
from sidecar.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from sidecar.v1.memory_pb2_grpc import MemoryServiceStub
from sidecar.worker import compile_engine
from sidecar.worker.worker_process import worker_settings
from store.compile import background
from store.content import embeddings
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import candidates

TENANT, AGENT, THREAD, BASE, MODEL = "bench", "assistant", "conversation", "corpora", "gpt-4o"
_TOKEN_S = 600
_AT_ONCE = 500
_SUFFIXES = {"wikitexts": ".txt"}  # plain text: it has paragraphs of a hundred thousand characters


@dataclass(frozen=True, slots=True)
class QuestionToAsk:
    """A turn to request: its owner, message, sources, token budget (None for the default), allocation and thread.

    `system_tokens` is the size of the caller's system prompt and tools; `spend` is the knob, empty for the default.
    """

    owner: str
    message: str
    sources: frozenset[str]
    budget_tokens: int | None
    allocation: str = "priority"
    thread: str = THREAD
    system_tokens: int = 0
    spend: str = ""


class World:
    """A served sidecar with the data in it. `degraded` counts the turns in which a source did not answer."""

    def __init__(self, app: App, settings: Settings, channel: grpc.aio.Channel) -> None:
        self.app = app
        self.degraded = 0
        self._settings = settings
        stubs = (
            ContextServiceStub,
            MemoryServiceStub,
            KnowledgeServiceStub,
            DecayServiceStub,
        )  # generated, and without types
        self._call: dict[str, Any] = {name: call for stub in stubs for name, call in vars(stub(channel)).items()}
        self._proofs: dict[str, tuple[float, tuple[tuple[str, str], ...]]] = {}

    async def fill(self, conversations: Sequence[Conversation], data: Path) -> None:
        """Write the conversations and the corpora, and wait for the vectors and the threads' summaries."""
        await self.put_base({f"{name}{_SUFFIXES.get(name, '.md')}": _corpus(data, name) for name in CORPORA})
        await self.fill_conversations(conversations)

    async def fill_conversations(self, conversations: Sequence[Conversation]) -> None:
        """Write the conversations, and wait for the vectors and the threads' summaries."""
        for conversation in conversations:
            await self.put_conversation(conversation)
        await self.until_made([conversation.name for conversation in conversations])

    async def compile(self, conversations: Sequence[Conversation]) -> int:
        """Compile each owner's memories without a model, and return the number of active pages."""
        count = 0
        async with compile_engine.engine(self._settings, self.app.pools.background) as engine:
            worker = Worker(self.app.pools.background, engine, worker_settings(self._settings))
            for conversation in conversations:
                scope = Scope(tenant_uuid(TENANT), owner_uuid(conversation.name))
                await worker.drain_scope(scope)
                async with scoped(self.app.pools.background, scope, read_only=True) as connection:
                    count += await candidates.count_active(connection, scope)
        await self.until_made([conversation.name for conversation in conversations])
        return count

    async def until_made(self, owners: Sequence[str]) -> None:
        """Wait until every text has its vector, and no job of these owners is due."""
        for owner in owners:
            scope = Scope(tenant_uuid(TENANT), owner_uuid(owner))
            while await self._has_jobs(scope):  # noqa: ASYNC110
                await asyncio.sleep(0.5)
        while await embeddings.waiting(self.app.pools.background, limit=1):  # noqa: ASYNC110
            await asyncio.sleep(0.5)  # only the database knows

    async def _has_jobs(self, scope: Scope) -> bool:
        async with scoped(self.app.pools.background, scope, read_only=True) as connection:
            due = await background.next_due(connection, scope)
        return due is not None and due <= datetime.now(UTC)

    async def ask(self, question: QuestionToAsk) -> context_pb2.Assembly:
        """Return the assembly of one turn."""
        request = context_pb2.AssembleContextRequest(
            thread_id=question.thread,
            message=question.message,
            model_id=MODEL,
            overrides=_overrides(question),
            system=context_pb2.Spent(tokens=question.system_tokens),
        )
        call = self._call["AssembleContext"]
        answer: context_pb2.AssembleContextResponse = await call(
            request, metadata=self._proof(question.owner), timeout=30
        )
        self.degraded += answer.assembly.degraded
        return answer.assembly

    async def replay(self, question: QuestionToAsk, receipt_id: str) -> context_pb2.Assembly:
        """Wait until the receipt is written, and return its turn replayed with this question's sources and budget."""
        request = context_pb2.ReplayAssemblyRequest(receipt_id=receipt_id, overrides=_overrides(question))
        while True:
            try:
                answer: context_pb2.ReplayAssemblyResponse = await self._call["ReplayAssembly"](
                    request, metadata=self._proof(question.owner), timeout=30
                )
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise
                await asyncio.sleep(0.05)  # receipts are written after the answer
            else:
                return answer.assembly

    async def put_turns(self, owner: str, thread: str, turns: Sequence[context_pb2.NewTurn]) -> list[str]:
        """Append the turns to a thread and return their ids."""
        ids: list[str] = []
        for start in range(0, len(turns), _AT_ONCE):
            request = context_pb2.AppendTurnsRequest(thread_id=thread, turns=turns[start : start + _AT_ONCE])
            answer = await self._call["AppendTurns"](request, metadata=self._proof(owner), timeout=60)
            ids += answer.turn_ids
        return ids

    async def put_conversation(self, conversation: Conversation) -> None:
        """Write a conversation as its owner's thread, and its observations as memories."""
        turns = [
            context_pb2.NewTurn(
                client_turn_id=turn.id,
                role=_role(conversation, turn.speaker),
                text=turn.text,
                speaker=turn.speaker,
                said_time=_timestamp(turn.at),
            )
            for turn in conversation.turns
        ]
        ids = await self.put_turns(conversation.name, THREAD, turns)
        facts = [
            memory_pb2.NewMemory(
                memory_id=f"fact-{place}",
                text=fact.text,
                occurred_time=_timestamp(fact.at),
                turn_ids=[ids[turn] for turn in fact.turns],
            )
            for place, fact in enumerate(conversation.facts)
        ]
        await self.put_memories(conversation.name, facts)

    async def put_memories(self, owner: str, memories: Sequence[memory_pb2.NewMemory]) -> None:
        """Write the memories."""
        for start in range(0, len(memories), _AT_ONCE):
            batch = memory_pb2.RetainRequest(memories=memories[start : start + _AT_ONCE])
            await self._call["Retain"](batch, metadata=self._proof(owner), timeout=60)

    async def summaries(self, owner: str) -> list[str]:
        """Return the texts of the owner's summaries."""
        request = memory_pb2.ListMemoriesRequest(page_size=1000)
        texts: list[str] = []
        while True:
            answer = await self._call["ListMemories"](request, metadata=self._proof(owner), timeout=60)
            texts += [one.text for one in answer.memories if one.memory_type == "summary"]
            if not answer.next_page_token:
                return texts
            request.page_token = answer.next_page_token

    async def decay(self, owner: str) -> list[decay_pb2.DecayGroup]:
        """Run the shipped policy of decay, wait until it is done, and return the groups that it compresses."""
        proof = self._proof(owner)
        explained = await self._call["ExplainDecay"](decay_pb2.ExplainDecayRequest(), metadata=proof, timeout=60)
        await self._call["ScheduleDecay"](decay_pb2.ScheduleDecayRequest(), metadata=proof, timeout=60)
        await self.until_made([owner])
        return list(explained.groups)

    async def put_base(self, documents: Mapping[str, bytes]) -> None:
        """Write the documents, by path, as the agent's one knowledge base."""
        proof = self._proof("", is_admin=True)
        await self._call["CreateBase"](knowledge_pb2.CreateBaseRequest(name=BASE), metadata=proof)
        for path, content in documents.items():
            request = knowledge_pb2.IngestRequest(base=BASE, path=path, content=content)
            await self._call["Ingest"](request, metadata=proof, timeout=120)
        assigned = knowledge_pb2.AssignBaseRequest(base=BASE, level=knowledge_pb2.ASSIGNEE_LEVEL_AGENT, ref=AGENT)
        await self._call["AssignBase"](assigned, metadata=proof)

    def _proof(self, owner: str, *, is_admin: bool = False) -> tuple[tuple[str, str], ...]:
        made_s, proof = self._proofs.get(owner, (-_TOKEN_S, ()))
        if time.monotonic() - made_s < _TOKEN_S:
            return proof
        grant = Grant(TENANT, role=Role.ADMIN) if is_admin else Grant(TENANT, (owner,), AGENT)
        token = mint(grant, identity_settings(self._settings), now_s=time.time(), token_id=uuid4().hex)
        self._proofs[owner] = (time.monotonic(), (("authorization", f"Bearer {token}"),))
        return self._proofs[owner][1]


def _corpus(data: Path, name: str) -> bytes:
    return (data / "kb" / f"{name}.md").read_bytes()


def _role(conversation: Conversation, speaker: str) -> str:
    return "user" if speaker == conversation.turns[0].speaker else "assistant"


def _timestamp(at: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(at)
    return timestamp


def _overrides(question: QuestionToAsk) -> profile_pb2.Profile:
    names = {"thread", "knowledge", "memory", "wiki"}
    knobs: list[Any] = [
        profile_pb2.SourceKnobs(
            source=items_pb2.Source.Value(f"SOURCE_{name.upper()}"), enabled=name in question.sources
        )
        for name in sorted(names)
    ]
    allocation = profile_pb2.Allocation.Value(f"ALLOCATION_{question.allocation.upper()}")
    spend = profile_pb2.Spend.Value(f"SPEND_{question.spend.upper() or 'UNSPECIFIED'}")
    return profile_pb2.Profile(sources=knobs, allocation=allocation, budget_tokens=question.budget_tokens, spend=spend)
