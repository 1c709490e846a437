"""Thousands of hostile texts, in every field that holds texts, fail no turn.

A case counts only if the turn's receipt names what holds the text. The whole campaign runs with `--soak`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict

from sidecar.v1 import admin_pb2, backends_pb2, items_pb2, knowledge_pb2, memory_pb2, profile_pb2
from sidecar.v1 import context_pb2 as pb
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection
from tests.stand_ins import hindsight as hindsight_stand_in
from tests.stand_ins.hindsight import FakeHindsight
from tests.support.databases import database_clone
from tests.support.hostile_texts import KINDS, hostile, storable
from tests.support.served.backed import SOURCE_DEADLINE_S, tool_server
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import asking, assembled, recount, statuses

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHOLE_CASES, SAMPLE_BATCHES = 20_000, 1
TENANT, OWNER, BANK = "acme", "ada", "ada-2024"
BACKENDS = """
[[hindsight]]
name = "remote"
tenant = "acme"
url = "{hindsight}"
bank = "{{owner}}"
owners = {{ ada = "ada-2024" }}
deadline_s = {patience}

[[tools]]
name = "harbour"
tenant = "acme"
url = "{tools}"
question_argument = "query"
deadline_s = {patience}
"""
HOMES = (
    "turn",
    "tool result",
    "memory",
    "memory metadata",
    "document",
    "document heading",
    "document path",
    "wiki body",
    "wiki title",
    "workspace file",
    "workspace path",
    "remote item",
    "message and tool answer",
    "thread title",
    "profile",
)


@dataclass(frozen=True, slots=True)
class Grounds:
    """The service, and the parts of it that texts are put into from outside."""

    site: Site
    hindsight: FakeHindsight
    workspaces: Path

    @property
    def agent(self) -> Caller:
        return self.site.caller(TENANT, OWNER, spaces=("*",))

    @property
    def admin(self) -> Caller:
        return self.site.caller(TENANT, admin=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="grounds")
async def _grounds(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Grounds]:
    home = tmp_path_factory.mktemp("hostile")
    with hindsight_stand_in.serving() as remote, tool_server() as tools:
        text = BACKENDS.format(hindsight=remote.url, tools=tools, patience=SOURCE_DEADLINE_S)
        (home / "backends.toml").write_text(text)
        folder = home / "workspaces" / str(tenant_uuid(TENANT))
        folder.mkdir(parents=True)
        async with database_clone(migrated_template) as dsn:
            settings = await ready(dsn, home, workspace_root=home / "workspaces", backends=home / "backends.toml")
            async with served(replace(settings, turn_pool_size=8)) as site:
                grounds = Grounds(site, remote, folder)
                await grounds.admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="shelf"))
                approved = backends_pb2.ApproveToolRequest(backend="harbour", tool="search")
                await grounds.admin.ApproveTool(approved, timeout=60)
                yield grounds


@dataclass(slots=True)
class Batch:
    """Texts on their way into one turn: what stands for each in a receipt, by home and kind."""

    number: int
    per_kind: int
    expected: dict[str, tuple[str, str]] = field(default_factory=dict)
    seeds: Iterator[int] = field(default_factory=count)

    @property
    def word(self) -> str:
        """The word that only this batch's texts hold."""
        return f"boat{self.number}"

    def texts(self, *, most_chars: int = 40_000) -> Iterator[tuple[str, str]]:
        """Yield hostile texts with their kinds' names, so many of each."""
        for kind in KINDS:
            for _ in range(self.per_kind):
                seed = self.number * 100_000 + next(self.seeds)
                yield kind.__name__, hostile(kind, seed, self.word, most_chars=most_chars)

    def storable(self, *, most_chars: int = 40_000) -> Iterator[tuple[str, str]]:
        """Yield them as every write takes them."""
        return ((kind, storable(text)) for kind, text in self.texts(most_chars=most_chars))


def _name(text: str) -> str:
    """Return as much of the text as a file's name or an id may be."""
    printable = "".join(sign for sign in text if sign.isprintable() and sign not in "/\\")
    return printable.encode()[:180].decode(errors="ignore").strip(". ")


async def _turns(batch: Batch, grounds: Grounds) -> None:
    """Turns and tool results; the thread's title with them."""
    kind, title = next(batch.storable(most_chars=400))
    said, homes = [], []
    for number, (of_kind, text) in enumerate(batch.storable()):
        said.append(
            pb.NewTurn(client_turn_id=f"t{number}", role="user", text=text, speaker=text.replace(batch.word, "")[:100])
        )
        homes.append(("turn", of_kind))
    for number, (of_kind, text) in enumerate(batch.storable(most_chars=1_000)):
        call = items_pb2.MessagePart(tool_call=items_pb2.ToolCall(id=f"c{number}", name="look"))
        call.tool_call.arguments.update({text[:50]: [text]})
        told = items_pb2.MessagePart(tool_result=items_pb2.ToolResult(call_id=f"c{number}", content=text))
        said += [
            pb.NewTurn(client_turn_id=f"c{number}", role="assistant", parts=[call]),
            pb.NewTurn(client_turn_id=f"r{number}", role="tool", parts=[told]),
        ]
        homes += [("", ""), ("tool result", of_kind)]
    said.append(pb.NewTurn(client_turn_id="last", role="user", text="Well?"))
    thread = pb.AppendTurnsRequest(thread_id=batch.word, turns=said, title=title)
    ids = (await grounds.agent.AppendTurns(thread)).turn_ids
    batch.expected |= {f"turn:{one}": home for one, home in zip(ids, homes, strict=False) if home[0]}
    batch.expected[f"thread {batch.word}"] = ("thread title", kind)


async def _memories(batch: Batch, grounds: Grounds) -> None:
    memories = []
    for number, (kind, text) in enumerate(batch.storable(most_chars=15_000)):
        memories.append(memory_pb2.NewMemory(memory_id=f"{batch.word}-{number}", text=text))
        batch.expected[f"memory:{batch.word}-{number}"] = ("memory", kind)
    for number, (kind, text) in enumerate(batch.storable(most_chars=1_000)):
        memory = memory_pb2.NewMemory(memory_id=f"{batch.word}+{number}", text=f"The {batch.word} number {number}")
        memory.metadata.update({text[:60]: {"deep": [text]}})
        memory.document_id = _name(text)
        memories.append(memory)
        batch.expected[f"memory:{batch.word}+{number}"] = ("memory metadata", kind)
    await grounds.agent.Retain(memory_pb2.RetainRequest(memories=memories))


async def _documents(batch: Batch, grounds: Grounds) -> None:
    base = f"base-{batch.word}"
    await grounds.admin.CreateBase(knowledge_pb2.CreateBaseRequest(name=base))
    space = knowledge_pb2.ASSIGNEE_LEVEL_SPACE
    await grounds.admin.AssignBase(knowledge_pb2.AssignBaseRequest(base=base, level=space, ref=batch.word))

    async def ingest(home: str, kind: str, path: str, content: str) -> None:
        request = knowledge_pb2.IngestRequest(base=base, path=path, content=content.encode())
        document = (await grounds.admin.Ingest(request)).document
        batch.expected[f"document {document.path}"] = (home, kind)

    for number, (kind, text) in enumerate(batch.storable(most_chars=2_000)):
        await ingest("document", kind, f"{number}.md", text)
    for number, (kind, text) in enumerate(batch.storable(most_chars=300)):
        heading = " ".join(text.split())
        await ingest(
            "document heading", kind, f"h{number}.md", f"# {heading}\n\n## {heading}\n\nThe {batch.word} {number}."
        )
    for number, (kind, text) in enumerate(batch.storable(most_chars=150)):
        name = _name(text)
        await ingest("document path", kind, f"{name} {number}.md", f"The {batch.word} number {number} of paths.")


async def _wiki(batch: Batch, grounds: Grounds) -> None:
    bodies = [
        (kind, NewSection(f"s{number}", storable(text[:60]), text))
        for number, (kind, text) in enumerate(batch.storable(most_chars=15_000))
    ]
    scope = Scope(tenant_uuid(TENANT), owner_uuid(OWNER))
    now = datetime(2026, 5, 1, tzinfo=UTC)
    async with scoped(grounds.site.app.pools.background, scope) as connection:
        body = NewPage("topic", f"bodies-{batch.number}", "Bodies", "Of no matter.", tuple(one for _, one in bodies))
        page_id = await pages.put_page(connection, scope, body, now=now)
        batch.expected |= {f"page:{page_id}#{section.slug}": ("wiki body", kind) for kind, section in bodies}
        for number, (kind, text) in enumerate(batch.storable(most_chars=150)):
            slug = f"titled-{batch.number}-{number}"
            titled = NewPage("entity", slug, text, f"What {batch.word} {number} is.", (), aliases=(text[:90],))
            batch.expected[f"page:{await pages.put_page(connection, scope, titled, now=now)}"] = ("wiki title", kind)


async def _files(batch: Batch, grounds: Grounds) -> None:
    folder = grounds.workspaces / batch.word
    folder.mkdir()
    for number, (kind, text) in enumerate(batch.storable(most_chars=10_000)):
        (folder / f"{number}.md").write_text(text, newline="")
        batch.expected[f"file:agent/{number}.md"] = ("workspace file", kind)
    for number, (kind, text) in enumerate(batch.storable(most_chars=100)):
        name = f"{_name(text)} {number}.md"
        (folder / name).write_text(f"The {batch.word} number {number} of names.")
        batch.expected[f"file:agent/{name}"] = ("workspace path", kind)
    agent = admin_pb2.WORKSPACE_LEVEL_AGENT
    await grounds.admin.PutWorkspace(admin_pb2.PutWorkspaceRequest(level=agent, ref="assistant", location=batch.word))


async def _remote(batch: Batch, grounds: Grounds) -> None:
    grounds.hindsight.units.clear()
    texts = list(batch.texts(most_chars=3_000))
    grounds.hindsight.retain(BANK, [{"content": text, "document_id": text[:99]} for _, text in texts])
    for unit, (kind, _) in zip(grounds.hindsight.units[BANK], texts, strict=True):
        batch.expected[f"unit {unit['id']}"] = ("remote item", kind)


FILLS: tuple[Callable[[Batch, Grounds], Any], ...] = (_turns, _memories, _documents, _wiki, _files, _remote)
KNOBS = {items_pb2.SOURCE_THREAD: 1_000, items_pb2.SOURCE_KNOWLEDGE: 1_000, items_pb2.SOURCE_MEMORY: 1_000}
KNOBS |= {items_pb2.SOURCE_WIKI: 1_000, items_pb2.SOURCE_WORKSPACE: 1_000, items_pb2.SOURCE_TOOLS: 1_000}


def _question(batch: Batch, message: str, **fields: Any) -> pb.AssembleContextRequest:
    sources = [
        profile_pb2.SourceKnobs(source=source, top_k=most, deadline_ms=SOURCE_DEADLINE_S * 1000)
        for source, most in KNOBS.items()
    ]
    overrides = profile_pb2.Profile(sources=sources, history_turns=150, budget_tokens=60_000)
    chosen = {"thread_id": batch.word, "space_id": batch.word, "overrides": overrides} | fields
    return asking(message, **chosen)


async def _asked(grounds: Grounds, request: pb.AssembleContextRequest) -> tuple[pb.Assembly, dict[str, Any]]:
    """Return a turn that every source answered and that is within its pool, and its receipt."""
    answer = await assembled(grounds.agent, request, timeout=SOURCE_DEADLINE_S)
    told = [(one.status, one.reason) for one in answer.sources]
    assert set(statuses(answer).values()) <= {"OK", "EMPTY", "SKIPPED"}, told
    assert not [one for one in answer.decisions if one.decision == items_pb2.DECISION_UNUSABLE]
    assert recount(answer) <= answer.budget.used_tokens <= answer.budget.pool_tokens
    explained = await grounds.agent.ExplainAssembly(pb.ExplainAssemblyRequest(receipt_id=answer.receipt_id))
    assert explained.receipt.message == request.message
    return answer, MessageToDict(explained.receipt.details)


def _named(details: dict[str, Any]) -> set[str]:
    """Return all names under which a receipt has what was offered."""
    items = [item for source in details["sources"] for item in source["items"]]
    refs = [ref for item in items for ref in item["provenance"]]
    names = {item["id"] for item in items} | {turn["id"] for turn in details["history"]["turns"]}
    names |= {f"document {label}" for kind, _, label in refs if kind == "document"}
    names |= {f"unit {ref}" for kind, ref, _ in refs if kind == "memory"}
    return names | {f"thread {details['asked']['thread_id']}"}


async def _batch(grounds: Grounds, number: int, per_kind: int) -> Counter[tuple[str, str]]:
    """Put a batch of texts into every home, ask for them, and count those that were offered, by home and kind."""
    batch = Batch(number, per_kind)
    for fill in FILLS:
        await fill(batch, grounds)
    _, details = await _asked(grounds, _question(batch, f"Where is the {batch.word}?"))
    named = _named(details)
    found = Counter(home for name, home in batch.expected.items() if name in named)
    for kind, text in batch.storable(most_chars=3_000):
        _, details = await _asked(grounds, _question(batch, text, thread_id=""))
        tools = next(source for source in details["sources"] if source["source"] == "tools")
        found["message and tool answer", kind] += len(tools["items"]) > 1
    for kind, text in batch.storable(most_chars=120):
        space = _name(text)
        knobs = profile_pb2.Profile(lead_lines=4)
        request = profile_pb2.SetProfileRequest(level=profile_pb2.PROFILE_LEVEL_SPACE, ref=space, profile=knobs)
        await grounds.admin.SetProfile(request)
        _, details = await _asked(grounds, _question(batch, "Where?", space_id=space))
        found["profile", kind] += (
            details["asked"]["space_id"] == space and details["profile"]["knobs"]["lead_lines"] == 4
        )
    return found


async def test_no_hostile_text_fails_a_turn_in_any_field(grounds: Grounds, is_soak: bool) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for number in count():
        found += await _batch(grounds, number, per_kind=2 if is_soak else 1)
        if sum(found.values()) >= WHOLE_CASES or (not is_soak and number + 1 >= SAMPLE_BATCHES):
            break
    homes = {home for home, _ in found}
    assert homes == set(HOMES)
    missing = {(home, kind.__name__) for home in HOMES if home != "thread title" for kind in KINDS} - found.keys()
    assert not missing
