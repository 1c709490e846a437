"""The built-in sources on Postgres and on disk: their items, scopes and limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.sources.workspace import WorkspaceSource, _Place, _read, _Walk, _when
from sidecar.turn.files import MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, MAX_FOLDER_ENTRIES
from sidecar.turn.items import HistorySummary, Ref
from store.content import documents, memories, threads
from store.content.documents import Assignment, NewChunk, NewDocument
from store.content.memories import NewMemory
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.tenancy.tenants import Workspace
from store.text.texts import query_words
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection

SCOPE = Scope(UUID(int=1), UUID(int=11))
OTHER_OWNER, OTHER_TENANT = Scope(UUID(int=1), UUID(int=12)), Scope(UUID(int=2), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WIDE = SourceLimits(top_k=100, lead_lines=3, window_tokens=1_000_000, window_turns=10_000)
TURN_TOKENS = 10


@pytest.fixture(autouse=True)
async def tenants_of_the_tests(pools: Pools) -> None:
    for scope in (SCOPE, OTHER_TENANT):
        async with scoped(pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)


def asking(text: str, **changes: Any) -> SourceQuery:
    where = {"thread_id": "t", "agent_id": "planner", "template_id": "travel", "space_id": "", "client_turn_id": ""}
    return SourceQuery(text=text, words=tuple(query_words(text)), now=NOW, **where | changes)


def texts(answer: SourceAnswer) -> list[str]:
    return [item.text for item in answer.items]


async def say(pools: Pools, *said: str, scope: Scope = SCOPE, thread_id: str = "t") -> None:
    """Append turns, user and assistant in turn, each of ten tokens; their client turn ids are their texts."""
    new = [
        NewTurn(
            text, ("user", "assistant")[number % 2], text, NOW + timedelta(minutes=number), TURN_TOKENS, TURN_TOKENS
        )
        for number, text in enumerate(said)
    ]
    async with scoped(pools.background, scope) as connection:
        await threads.append(connection, scope, ThreadToOpen(thread_id, "", "key"), new, now=NOW)


class TestThread:
    async def test_newest_turns_are_history_and_older_ones_are_searched(self, pools: Pools) -> None:
        await say(pools, "boat leaks", "caulk it", "rope?", "in the shed", "paint?", "green")
        limits = SourceLimits(top_k=5, lead_lines=3, window_tokens=2 * TURN_TOKENS, window_turns=100)
        recent = await ThreadSource(pools.turn).recent(asking("Does the boat leak?"), SCOPE, limits)
        answer = await ThreadSource(pools.turn).find(asking("Does the boat leak?"), SCOPE, limits)
        assert [turn.text for turn in recent.history] == ["paint?", "green"]
        assert texts(answer) == ["user: boat leaks", "assistant: caulk it"], "and what was said next"
        assert answer.items[0].provenance == (Ref("turn", answer.items[0].id.removeprefix("turn:"), "turn 1"),)
        assert answer.items[0].header == "Earlier in this thread, 2026-03-01"

    async def test_a_turn_that_names_its_speaker_is_not_named_again(self, pools: Pools) -> None:
        await say(pools, "User: the boat leaks", "caulk it", "rope?", "in the shed")
        limits = SourceLimits(top_k=5, lead_lines=3, window_tokens=2 * TURN_TOKENS, window_turns=100)
        answer = await ThreadSource(pools.turn).find(asking("Does the boat leak?"), SCOPE, limits)
        assert texts(answer) == ["User: the boat leaks", "assistant: caulk it"]

    async def test_last_exchange_is_included_in_any_window(self, pools: Pools) -> None:
        await say(pools, "one", "two", "three", "four")
        answer = await ThreadSource(pools.turn).recent(asking(""), SCOPE, SourceLimits(0, 3, 0, 0))
        assert [turn.text for turn in answer.history] == ["three", "four"]

    async def test_current_turn_is_neither_history_nor_found(self, pools: Pools) -> None:
        await say(pools, "boat one", "boat two", "boat three")
        source = ThreadSource(pools.turn)
        current = asking("boat", client_turn_id="boat three")
        recent = await source.recent(current, SCOPE, WIDE)
        assert [turn.text for turn in recent.history] == ["boat one", "boat two"]
        assert "boat three" not in str((await source.find(current, SCOPE, WIDE)).items)
        assert len((await source.recent(asking("boat"), SCOPE, WIDE)).history) == 3
        assert len((await source.find(asking("boat"), SCOPE, WIDE)).items) == 3

    async def test_number_of_items_is_limited_by_top_k(self, pools: Pools) -> None:
        await say(pools, *(f"boat {number}" for number in range(20)))
        answer = await ThreadSource(pools.turn).find(asking("boat"), SCOPE, SourceLimits(3, 3, 100, 10))
        assert [item.rank for item in answer.items] == [0, 1, 2]

    async def test_wide_context_is_searched_deeper(self, pools: Pools) -> None:
        # Between two of the boat stand three that no search finds, one of them beside neither.
        await say(pools, *("rope" if number % 4 else f"boat {number}" for number in range(400)))
        source, found = ThreadSource(pools.turn), []
        for recall_tokens in (1_000, 250 * 80, 250_000):
            limits = SourceLimits(1_000, 3, 1_000, 10, recall_tokens=recall_tokens)
            answer = await source.find(asking("boat"), SCOPE, limits)
            found.append(sum("boat" in item.text for item in answer.items))
        assert found == [60, 80, 100]

    async def test_summary_comes_with_the_turns_it_covers(self, pools: Pools, database: str) -> None:
        await say(pools, "one", "two")
        connection = await asyncpg.connect(database)
        await connection.execute(
            "INSERT INTO thread_summaries"
            " SELECT tenant_id, owner_id, thread_id, 1, 'They said one.', '{turn:a}', now() FROM threads"
        )
        await connection.close()
        answer = await ThreadSource(pools.turn).recent(asking("x"), SCOPE, WIDE)
        assert answer.summary == HistorySummary("They said one.", 1, ("turn:a",))

    @pytest.mark.parametrize("other", [OTHER_OWNER, OTHER_TENANT])
    async def test_thread_of_another_owner_with_the_same_id_is_not_read(self, pools: Pools, other: Scope) -> None:
        await say(pools, "boat", "yes")
        assert await ThreadSource(pools.turn).recent(asking("boat"), other, WIDE) == SourceAnswer()
        assert await ThreadSource(pools.turn).find(asking("boat"), other, WIDE) == SourceAnswer()
        assert await ThreadSource(pools.turn).find(asking("boat", thread_id="u"), SCOPE, WIDE) == SourceAnswer()

    async def test_request_without_a_thread_asks_nothing(self, pools: Pools) -> None:
        await say(pools, "boat", "yes")
        assert await ThreadSource(pools.turn).find(asking("boat", thread_id=""), SCOPE, WIDE) == SourceAnswer()
        assert await ThreadSource(pools.turn).recent(asking("boat", thread_id=""), SCOPE, WIDE) == SourceAnswer()


class TestKnowledge:
    async def put(self, pools: Pools, base: str, *chunks: str, tenant_id: UUID = SCOPE.tenant_id) -> UUID:
        made = tuple(NewChunk(text, "Winter > Ashore", page=4) for text in chunks)
        document = NewDocument(f"{base}.md", f"On {base}", "text/markdown", bytes(32), made)
        prepared = await documents.prepare(document)
        async with tenant_scoped(pools.background, tenant_id) as connection:
            base_id = (await documents.ensure_base(connection, tenant_id, base, now=NOW)).base_id
            await documents.put(connection, tenant_id, base_id, prepared, now=NOW)
        return base_id

    async def assign(self, pools: Pools, base_id: UUID, level: str, ref: str) -> None:
        async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
            await documents.assign(connection, SCOPE.tenant_id, base_id, Assignment(level, ref))

    async def test_agent_without_an_assigned_base_asks_nothing(self, pools: Pools) -> None:
        await self.put(pools, "boats", "boat")
        with pytest.raises(SourceSkipped, match="no knowledge base is assigned"):
            await KnowledgeSource(pools.turn).find(asking("boat"), SCOPE, WIDE)

    @pytest.mark.parametrize(
        ("level", "ref", "changes"),
        [
            ("template", "travel", {"template_id": "other"}),
            ("agent", "planner", {"agent_id": "other"}),
            ("space", "home", {"space_id": ""}),
        ],
    )
    async def test_only_assigned_bases_are_searched(
        self, pools: Pools, level: str, ref: str, changes: dict[str, str]
    ) -> None:
        await self.assign(pools, await self.put(pools, "boats", "boat of the base"), level, ref)
        await self.put(pools, "secrets", "boat of another base")
        source = KnowledgeSource(pools.turn)
        assert texts(await source.find(asking("boat", space_id="home"), SCOPE, WIDE)) == ["boat of the base"]
        with pytest.raises(SourceSkipped):
            await source.find(asking("boat", **{"space_id": "home"} | changes), SCOPE, WIDE)

    async def test_base_assigned_twice_answers_once(self, pools: Pools) -> None:
        base_id = await self.put(pools, "boats", "boat ashore")
        for level, ref in (("template", "travel"), ("agent", "planner"), ("space", "home")):
            await self.assign(pools, base_id, level, ref)
        answer = await KnowledgeSource(pools.turn).find(asking("boat", space_id="home"), SCOPE, WIDE)
        assert texts(answer) == ["boat ashore"]

    async def test_chunk_carries_its_document_section_and_page(self, pools: Pools) -> None:
        await self.assign(pools, await self.put(pools, "boats", "boat ashore", "boat afloat"), "agent", "planner")
        answer = await KnowledgeSource(pools.turn).find(asking("boat afloat"), SCOPE, SourceLimits(1, 3))
        (item,) = answer.items
        assert item.text == "boat afloat"
        assert (item.header, item.section) == ("On boats", "Winter > Ashore, page 4")
        assert [(ref.kind, ref.label) for ref in item.provenance] == [("document", "boats.md"), ("chunk", "1")]

    async def test_base_of_another_tenant_with_the_same_name_is_not_read(self, pools: Pools) -> None:
        await self.assign(pools, await self.put(pools, "boats", "our boat"), "agent", "planner")
        await self.put(pools, "boats", "their boat", tenant_id=OTHER_TENANT.tenant_id)
        assert texts(await KnowledgeSource(pools.turn).find(asking("boat"), SCOPE, WIDE)) == ["our boat"]


class TestMemory:
    async def test_memory_is_found_by_its_words_with_its_day_and_turns(self, pools: Pools) -> None:
        about_tea = NewMemory("Mara likes tea.", "tea", NOW, "journal-7", {"place": "Trieste"}, ("turn-1",))
        async with scoped(pools.background, SCOPE) as connection:
            await memories.retain(connection, SCOPE, [about_tea, NewMemory("Rain in May.", "rain")], now=NOW)
        source = MemorySource(pools.turn)
        for question in ("tea?", "What of Trieste?"):
            (item,) = (await source.find(asking(question), SCOPE, WIDE)).items
            assert (item.id, item.text, item.at) == ("memory:tea", "Mara likes tea.", NOW)
            assert item.header == "Remembered, 2026-03-01"
            assert item.provenance == (Ref("memory", "tea", "journal-7"), Ref("turn", "turn-1"))
            assert item.stands_for == ("turn:turn-1",)
        assert await source.find(asking("tea"), OTHER_OWNER, WIDE) == SourceAnswer()
        assert await source.find(asking("tea"), OTHER_TENANT, WIDE) == SourceAnswer()
        assert await source.find(asking("…"), SCOPE, WIDE) == SourceAnswer()

    async def test_only_a_long_memory_has_a_lead(self, pools: Pools) -> None:
        new = [NewMemory("boat\ntwo\nthree\nfour", "long"), NewMemory("boat", "short")]
        async with scoped(pools.background, SCOPE) as connection:
            await memories.retain(connection, SCOPE, new, now=NOW)
        answer = await MemorySource(pools.turn).find(asking("boat"), SCOPE, SourceLimits(10, 2))
        assert {item.id: item.lead for item in answer.items} == {"memory:long": "boat\ntwo", "memory:short": ""}


class TestWiki:
    PAGE = NewPage(
        type="entity",
        slug="calypso",
        title="Calypso",
        summary="A wooden sloop.",
        sections=(NewSection("winter", "Winter", "Under a cover.", ("m1",)), NewSection("rig", "Rig", "Gaff.")),
        aliases=("the sloop of Mara",),
    )

    @pytest.fixture(autouse=True)
    async def pages_of_the_tests(self, pools: Pools) -> None:
        async with scoped(pools.background, SCOPE) as connection:
            await memories.retain(connection, SCOPE, [NewMemory("Covered in November.", "m1")], now=NOW)
            await pages.put_page(connection, SCOPE, self.PAGE, now=NOW)
            await pages.put_page(connection, SCOPE, NewPage("topic", "tea", "Tea", "Mara drinks it."), now=NOW)

    @pytest.mark.parametrize("question", ["Calypso?", "sloop of Mara", "Who has a wooden sloop under a cover?"])
    async def test_page_is_found_by_title_alias_and_body(self, pools: Pools, question: str) -> None:
        answer = await WikiSource(pools.turn).find(asking(question), SCOPE, WIDE)
        assert "A wooden sloop." in texts(answer)
        assert {item.header for item in answer.items if item.text != "Mara drinks it."} == {"Calypso"}
        assert [item.rank for item in answer.items] == list(range(len(answer.items)))

    async def test_section_covers_the_memories_that_it_cites(self, pools: Pools) -> None:
        answer = await WikiSource(pools.turn).find(asking("cover winter"), SCOPE, WIDE)
        section = next(item for item in answer.items if item.text == "Winter: Under a cover.")
        page_id = pages.page_uuid(SCOPE, "entity", "calypso")
        assert section.id == f"page:{page_id}#winter"
        assert section.stands_for == ("memory:m1",)
        assert section.provenance == (Ref("page", str(page_id), "Calypso"), Ref("memory", "m1"))

    async def test_links_between_pages_are_words_in_a_context(self, pools: Pools) -> None:
        body = "- [**Calypso**](/wiki/entity/calypso) — A wooden sloop."
        async with scoped(pools.background, SCOPE) as connection:
            page = NewPage("topic", "boats", "Boats", "", sections=(NewSection("boats", "Boats", body),))
            await pages.put_page(connection, SCOPE, page, now=NOW)
        answer = await WikiSource(pools.turn).find(asking("boats"), SCOPE, WIDE)
        assert "Boats: - Calypso — A wooden sloop." in texts(answer)

    async def test_best_pages_and_sections_are_taken_together(self, pools: Pools) -> None:
        answer = await WikiSource(pools.turn).find(asking("Calypso winter cover"), SCOPE, SourceLimits(2, 3))
        assert len(answer.items) == 2
        assert answer.items[0].relevance >= answer.items[1].relevance

    async def test_pages_of_another_owner_are_not_read(self, pools: Pools) -> None:
        for other in (OTHER_OWNER, OTHER_TENANT):
            assert await WikiSource(pools.turn).find(asking("Calypso"), other, WIDE) == SourceAnswer()


Write = Callable[[str, str | bytes], Path]


class TestWorkspace:
    @pytest.fixture
    def write(self, tmp_path: Path) -> Write:
        """Write a file below the tenant's folder."""

        def write(path: str, content: str | bytes) -> Path:
            place = tmp_path / str(SCOPE.tenant_id) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
            return place

        return write

    @pytest.fixture(autouse=True)
    async def spaces(self, pools: Pools) -> None:
        async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
            for level, ref in (("agent", "planner"), ("template", "travel"), ("tenant", "")):
                await tenants.put_workspace(connection, SCOPE.tenant_id, Workspace(level, ref, f"of-{level}"))

    @pytest.fixture
    def source(self, pools: Pools, tmp_path: Path) -> WorkspaceSource:
        return WorkspaceSource(pools.turn, tmp_path)

    async def test_file_is_found_by_its_words_and_path(self, source: WorkspaceSource, write: Write) -> None:
        write("of-agent/notes/packing.md", "Two jumpers, Übergrößen.")
        write("of-agent/todo.txt", "Buy rope.")
        for question in ("packing list", "which jumpers", "ubergrossen?"):
            (item,) = (await source.find(asking(question), SCOPE, WIDE)).items
            assert item.id == "file:agent/notes/packing.md"
            assert item.header == "notes/packing.md (agent workspace)"
            assert item.provenance == (Ref("file", f"{SCOPE.tenant_id}/agent/notes/packing.md", "notes/packing.md"),)
        assert await source.find(asking("…"), SCOPE, WIDE) == SourceAnswer()

    async def test_nearer_file_shadows_the_same_path(self, source: WorkspaceSource, write: Write) -> None:
        for level in ("agent", "template", "tenant"):
            write(f"of-{level}/boat.md", f"boat of {level}")
        write("of-template/sail.md", "boat sail of template")
        write("of-tenant/sail.md", "boat sail of tenant")
        write("of-tenant/oar.md", "boat oar of tenant")
        found = texts(await source.find(asking("boat"), SCOPE, WIDE))
        assert sorted(found) == ["boat oar of tenant", "boat of agent", "boat sail of template"]
        others = texts(await source.find(asking("boat", agent_id="other"), SCOPE, WIDE))
        assert "boat of template" in others

    async def test_unreadable_nearer_file_shadows_too(self, source: WorkspaceSource, write: Write) -> None:
        write("of-agent/boat.md", "")
        write("of-template/boat.md", "boat of template")
        assert await source.find(asking("boat"), SCOPE, WIDE) == SourceAnswer()

    async def test_changed_file_is_read_again(self, source: WorkspaceSource, write: Write) -> None:
        place = write("of-agent/a.md", "the boat is blue")
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["the boat is blue"]
        write("of-agent/a.md", "the ship is blue")
        assert await source.find(asking("boat"), SCOPE, WIDE) == SourceAnswer()
        assert texts(await source.find(asking("ship"), SCOPE, WIDE)) == ["the ship is blue"]
        place.unlink()
        assert await source.find(asking("ship"), SCOPE, WIDE) == SourceAnswer()

    @pytest.mark.parametrize(
        ("path", "content"),
        [
            ("of-agent/boat.exe", "boat"),
            ("of-agent/boat", "boat"),
            ("of-agent/.boat.md", "boat"),
            ("of-agent/.git/boat.md", "boat"),
            ("of-agent/boat.md", "boat " * MAX_FILE_BYTES),
            ("of-agent/boat.md", b"boat \xff\xfe"),
            ("of-agent/boat.md", "boat \0"),
            ("of-agent/boat.md", " \n"),
            ("of-agent/" + "d/" * (MAX_DEPTH + 1) + "boat.md", "boat"),
            ("of-agent/" + "x" * 250 + "/" + "y" * 250 + "/boat.md", "boat"),
            ("of-agent/boat\n.md", "boat"),
            ("of-nobody/boat.md", "boat"),
            ("boat.md", "boat"),
        ],
    )
    async def test_other_than_text_files_of_the_workspace_are_left_out(
        self, source: WorkspaceSource, write: Write, path: str, content: str | bytes
    ) -> None:
        write(path, content)
        write("of-agent/good.md", "a good boat")
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["a good boat"]

    async def test_file_name_that_no_text_can_hold_is_left_out(self, source: WorkspaceSource, write: Write) -> None:
        good = write("of-agent/good.md", "a good boat")
        good.with_name(os.fsdecode(b"boat-\xff.md")).write_text("boat")
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["a good boat"]

    async def test_fifo_does_not_block_the_source(self, source: WorkspaceSource, write: Write) -> None:
        os.mkfifo(write("of-agent/good.md", "a good boat").with_name("boat.md"))
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["a good boat"]

    def test_time_that_no_calendar_has_is_none(self) -> None:
        assert [_when(seconds) for seconds in (-1e13, 1e13, 1e300)] == [None] * 3
        assert _when(-1.0) == datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)

    def test_file_that_fails_while_it_is_read_is_left_out(self) -> None:
        assert _read(_Place(Path("/proc/self"), ("mem",))) is None

    async def test_location_that_no_disk_can_have_is_empty(
        self, pools: Pools, source: WorkspaceSource, write: Write
    ) -> None:
        async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
            await tenants.put_workspace(connection, SCOPE.tenant_id, Workspace("agent", "planner", "x" * 300))
        write("of-tenant/good.md", "a good boat")
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["a good boat"]

    async def test_links_are_not_followed(self, source: WorkspaceSource, write: Write, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "boat.md").write_text("secret boat")
        folder = write("of-agent/good.md", "a good boat").parent
        (folder / "boat.md").symlink_to(outside / "boat.md")
        (folder / "dir").symlink_to(outside)
        (folder.parent / "of-tenant").symlink_to(outside)
        assert texts(await source.find(asking("boat"), SCOPE, WIDE)) == ["a good boat"]

    @pytest.mark.parametrize("location", ["..", "../{other}", "a/../../{other}", "/etc", "//", "link", "."])
    async def test_no_location_leaves_the_tenants_folder(
        self, pools: Pools, source: WorkspaceSource, write: Write, tmp_path: Path, location: str
    ) -> None:
        other = tmp_path / str(OTHER_TENANT.tenant_id)
        other.mkdir()
        (other / "boat.md").write_text("secret boat")
        write("of-agent/good.md", "a good boat").parent.with_name("link").symlink_to(other)
        where = Workspace("agent", "planner", location.format(other=OTHER_TENANT.tenant_id))
        async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
            await tenants.put_workspace(connection, SCOPE.tenant_id, where)
        assert "secret" not in str(await source.find(asking("boat root"), SCOPE, WIDE))

    async def test_linked_tenant_folder_is_empty(self, source: WorkspaceSource, tmp_path: Path) -> None:
        (tmp_path / "elsewhere" / "of-agent").mkdir(parents=True)
        (tmp_path / "elsewhere" / "of-agent" / "boat.md").write_text("boat")
        (tmp_path / str(SCOPE.tenant_id)).symlink_to(tmp_path / "elsewhere")
        assert await source.find(asking("boat"), SCOPE, WIDE) == SourceAnswer()

    async def test_number_of_files_read_is_limited(self, source: WorkspaceSource, write: Write) -> None:
        for number in range(MAX_FILES + 1):
            write(f"of-agent/{number:04}.md", "boat" if number >= MAX_FILES - 10 else "")
        answer = await source.find(asking("boat"), SCOPE, WIDE)
        seen = range(MAX_FILES - 10, MAX_FILES)
        assert [item.id for item in answer.items] == [f"file:agent/{number:04}.md" for number in seen]
        few = await source.find(asking("boat"), SCOPE, SourceLimits(3, 3))
        assert few.items == answer.items[:3]

    async def test_folder_with_too_many_other_files_is_cut_and_the_receipt_says_so(
        self, source: WorkspaceSource, write: Write
    ) -> None:
        write("of-agent/images/0.jpg", "")
        write("of-agent/notes/deep/boat.md", "a good boat")
        assert (await source.find(asking("boat"), SCOPE, WIDE)).notes == ()
        first = write("of-agent/images/0.jpg", "")
        for number in range(1, MAX_FOLDER_ENTRIES + 1):
            os.link(first, first.with_name(f"{number}.jpg"))
        answer = await source.find(asking("boat"), SCOPE, WIDE)
        assert texts(answer) == ["a good boat"]
        assert answer.notes == ("agent workspace: it has too many files or folders, and not all were searched",)

    @pytest.mark.parametrize(
        ("most", "found", "is_cut"), [(2, [], True), (4, ["a/x.md"], True), (7, ["a/x.md", "b/y.md"], False)]
    )
    def test_entries_of_all_folders_are_bounded_together(
        self, write: Write, tmp_path: Path, most: int, found: list[str], is_cut: bool
    ) -> None:
        for path in ("a/w.jpg", "a/x.md", "b/y.md", "b/z/v.jpg"):
            write(path, "boat")
        walk = _Walk(_Place(tmp_path, (str(SCOPE.tenant_id),)), most)
        assert [path for path, _ in walk.files()] == found
        assert walk.is_cut == is_cut

    async def test_agent_without_a_workspace_is_skipped(self, source: WorkspaceSource) -> None:
        with pytest.raises(SourceSkipped, match="no workspace is set up"):
            await source.find(asking("boat"), OTHER_TENANT, WIDE)

    async def test_workspace_without_a_folder_is_empty_and_says_so(
        self, source: WorkspaceSource, tmp_path: Path
    ) -> None:
        missing = "the workspace's folder is missing below SIDECAR_WORKSPACE_ROOT"
        assert await source.find(asking("boat"), SCOPE, WIDE) == SourceAnswer(notes=(missing,))
        (tmp_path / str(SCOPE.tenant_id) / "of-agent").mkdir(parents=True)
        assert await source.find(asking("boat"), SCOPE, WIDE) == SourceAnswer()
