"""The demo's data keep their promises: counts, order, languages, provenance, and answers that stand in their evidence.

Only the files under sidecar/demo/data are read here; how the demo loads them is tested where it does.
"""

import calendar
import json
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.each import each
from tests.support.places import ROOT

Record = dict[str, Any]

DATA = ROOT / "sidecar" / "demo" / "data"
SECTIONS = {
    "entity": ["overview", "notes", "visits", "related"],
    "topic": ["summary", "highlights", "related_entities", "recent"],
    "decision": ["context", "decision", "rationale", "consequences"],
}
PLACE_KEYS = {"name", "city", "country", "address", "types"}
PEOPLE = re.compile(
    "Amparo|Arjun|Baptista|Beatriz|Biscuit|Castellano|Dale|Elena|Gloria|Hank|Jonas|João|Keiko|Lucía|Marcos|Miriam|"
    "Odete|Priya|Renee|Rui|Tomás"
)
WEEKDAYS = list(calendar.day_name)
MONTHS = list(calendar.month_name)


def records(name: str) -> list[Record]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


MEMORIES = records("memories.jsonl")
THREAD = records("thread.jsonl")
PAGES = records("pages.jsonl")
QUESTIONS = records("questions.jsonl")
DOCUMENTS = {path.name: path.read_text(encoding="utf-8") for path in sorted((DATA / "documents").iterdir())}
MEMORY_BY_ID = {memory["id"]: memory for memory in MEMORIES}
PLACED = [memory for memory in MEMORIES if "place" in memory["metadata"]]


def instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def spoken_date(text: str) -> str:
    """'31 March 2026' beside '2026-03-31', so that prose about a memory can name its day."""
    day = instant(text)
    return f"{day.day} {day:%B %Y}"


def memory_text(memory: Record) -> str:
    place = memory["metadata"].get("place", {})
    return " ".join([memory["text"], memory["occurred_at"], spoken_date(memory["occurred_at"]), json.dumps(place)])


def page_text(page: Record) -> str:
    return " ".join([page["title"], page["summary"], *(section["body_md"] for section in page["sections"])])


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,:]\d+)*", text))


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.*")), ids=lambda path: path.name)
def test_every_file_is_composed_utf8_without_control_characters(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert text.endswith("\n")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\ufffd]", text)


@pytest.mark.parametrize("name", ["memories", "thread", "pages", "questions"])
def test_every_line_is_one_object(name: str) -> None:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_memories_are_many_numbered_and_in_order() -> None:
    assert len(MEMORIES) >= 140
    assert [memory["id"] for memory in MEMORIES] == [f"mem-{n:04d}" for n in range(1, len(MEMORIES) + 1)]
    times = [instant(memory["occurred_at"]) for memory in MEMORIES]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert (times[0].date(), times[-1].date()) == (date(2026, 2, 1), date(2026, 9, 6))


@each("memory", MEMORIES)
def test_a_memory_has_the_agreed_shape(memory: Record) -> None:
    assert set(memory) == {"id", "text", "occurred_at", "metadata", "document_id"}
    assert memory["document_id"] == "journal-" + memory["occurred_at"][:10]
    assert 30 <= len(memory["text"]) <= 400
    assert set(memory["metadata"]) <= {"place", "journal_id", "journal_title", "tags", "language"}
    assert all(re.fullmatch(r"[a-z-]+", tag) for tag in memory["metadata"]["tags"])
    assert memory["metadata"]["tags"]


def test_texts_of_memories_never_repeat() -> None:
    assert len({memory["text"] for memory in MEMORIES}) == len(MEMORIES)


def test_place_keeps_one_address_in_every_mention() -> None:
    known: dict[tuple[str, str], Record] = {}
    for memory in PLACED:
        place = memory["metadata"]["place"]
        assert set(place) - {"alternate_names"} == PLACE_KEYS
        assert all(place.values())
        assert known.setdefault((place["name"], place["city"]), place) == place
    assert len(PLACED) >= 90


def test_one_city_is_dense_and_eight_others_recur() -> None:
    cities = Counter(memory["metadata"]["place"]["city"] for memory in PLACED)
    assert cities["Austin"] >= 18
    assert sum(count >= 3 for city, count in cities.items() if city != "Austin") >= 8


def test_austin_has_enough_recurring_places_over_a_long_time_for_a_hub() -> None:
    austin = [memory for memory in PLACED if memory["metadata"]["place"]["city"] == "Austin"]
    places = Counter(memory["metadata"]["place"]["name"] for memory in austin)
    assert sum(count >= 2 for count in places.values()) >= 15
    assert instant(austin[-1]["occurred_at"]) - instant(austin[0]["occurred_at"]) > timedelta(days=30)


def test_journals_do_not_overlap_and_each_has_one_title() -> None:
    trips: dict[str, list[Record]] = defaultdict(list)
    for memory in MEMORIES:
        if "journal_id" in memory["metadata"]:
            trips[memory["metadata"]["journal_id"]].append(memory)
    assert sum(map(len, trips.values())) >= 60
    spans = sorted((trip[0]["occurred_at"], trip[-1]["occurred_at"]) for trip in trips.values())
    assert all(first[1] < second[0] for first, second in pairwise(spans))
    assert all(len({memory["metadata"]["journal_title"] for memory in trip}) == 1 for trip in trips.values())


@pytest.mark.parametrize("name", ["João", "Renee", "Priya", "Tomás", "Keiko", "Jonas", "Lucía", "Beatriz", "Dale"])
def test_a_person_is_named_three_times_within_thirty_days(name: str) -> None:
    seen = [instant(memory["occurred_at"]) for memory in MEMORIES if name in memory["text"]]
    assert any(third - first <= timedelta(days=30) for first, third in zip(seen, seen[2:], strict=False))


def test_the_restaurant_in_porto_goes_by_two_names() -> None:
    full = {memory["document_id"] for memory in MEMORIES if "Taberna dos Mercadores" in memory["text"]}
    short = {memory["document_id"] for memory in MEMORIES if re.search(r"the Taberna\b(?! dos)", memory["text"])}
    assert len(full) >= 2
    assert len(short) >= 4


def test_data_include_four_other_languages() -> None:
    languages = Counter(memory["metadata"].get("language", "en") for memory in MEMORIES)
    assert all(languages[language] >= 4 for language in ("pt", "es", "de", "ja"))
    japanese = [memory["text"] for memory in MEMORIES if re.search(r"[぀-ヿ]{4}", memory["text"])]
    assert len(japanese) == languages["ja"]


def test_a_named_weekday_is_the_weekday_of_its_date() -> None:
    pattern = re.compile(rf"({'|'.join(WEEKDAYS)}) (\d{{1,2}}) ({'|'.join(MONTHS[1:])})")
    texts = [path.read_text(encoding="utf-8") for path in sorted(DATA.rglob("*.*"))]
    found = [match.groups() for text in texts for match in pattern.finditer(text)]
    assert len(found) >= 15
    for weekday, day, month in found:
        assert WEEKDAYS[date(2026, MONTHS.index(month), int(day)).weekday()] == weekday


def test_the_thread_is_forty_messages_over_several_days_in_september() -> None:
    assert [turn["id"] for turn in THREAD] == [f"turn-{n:03d}" for n in range(1, 41)]
    times = [instant(turn["created_at"]) for turn in THREAD]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert {(time.year, time.month) for time in times} == {(2026, 9)}
    assert len({time.date() for time in times}) >= 4
    assert times[0] > instant(MEMORIES[-1]["occurred_at"])


def test_each_tool_call_is_followed_by_its_result_and_an_answer() -> None:
    calls = [(n, call) for n, turn in enumerate(THREAD) for call in turn.get("tool_calls", [])]
    assert len(calls) == 2
    for n, call in calls:
        assert (THREAD[n]["role"], THREAD[n]["content"]) == ("assistant", "")
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
        result, answer = THREAD[n + 1], THREAD[n + 2]
        assert (result["role"], result["tool_call_id"]) == ("tool", call["id"])
        assert isinstance(json.loads(result["content"]), dict)
        assert (answer["role"], "tool_calls" in answer) == ("assistant", False)


def test_apart_from_tools_user_and_assistant_take_turns() -> None:
    spoken = [turn["role"] for turn in THREAD if turn["role"] != "tool" and "tool_calls" not in turn]
    assert spoken == ["user", "assistant"] * (len(spoken) // 2)


@pytest.mark.parametrize("fact", ["4417#", "640 US dollars", "88213", "QX7LMT", "23 September at 01:30", "blue pot"])
def test_some_facts_are_only_in_the_thread(fact: str) -> None:
    assert any(fact in turn["content"] for turn in THREAD)
    elsewhere = [*map(memory_text, MEMORIES), *map(page_text, PAGES), *DOCUMENTS.values()]
    assert not any(fact in text for text in elsewhere)


def test_pages_have_the_sections_of_their_type() -> None:
    assert len(PAGES) == 8
    for page in PAGES:
        assert [section["slug"] for section in page["sections"]] == SECTIONS[page["type"]]
        assert all(section["heading"] and section["body_md"].strip() for section in page["sections"])
    names = {f"{page['type']}/{page['slug']}" for page in PAGES}
    assert {"topic/austin", "entity/taberna-dos-mercadores", "entity/keiko-hayashi"} <= names
    assert "decision/marmot-moves-in-five-waves" in names


def test_a_slug_is_made_from_the_title_and_no_name_belongs_to_two_pages() -> None:
    for page in PAGES:
        ascii_title = unicodedata.normalize("NFKD", page["title"]).encode("ascii", "ignore").decode().lower()
        assert page["slug"] == re.sub(r"[^a-z0-9]+", "-", ascii_title)
    names = [name.casefold() for page in PAGES for name in {page["title"], *page["aliases"]}]
    assert len(names) == len(set(names))


def test_links_between_pages_lead_to_pages() -> None:
    targets = {f"/wiki/{page['type']}/{page['slug']}" for page in PAGES}
    links = re.findall(r"\]\(([^)]+)\)", " ".join(map(page_text, PAGES)))
    assert len(links) >= 8
    assert set(links) <= targets


@each(
    ("page", "section"),
    [(page, section) for page in PAGES for section in page["sections"]],
)
def test_numbers_and_people_of_a_section_are_in_the_memories_it_cites(page: Record, section: Record) -> None:
    cited = " ".join(memory_text(MEMORY_BY_ID[source]) for source in section["source_ids"])
    body = re.sub(r"\]\([^)]+\)", "]", section["body_md"])
    assert section["source_ids"]
    assert len(section["source_ids"]) == len(set(section["source_ids"]))
    assert numbers(body) <= numbers(cited)
    assert set(PEOPLE.findall(body)) <= set(PEOPLE.findall(cited + page["title"]))


def evidence_text(reference: str) -> str:
    kind, _, key = reference.partition(":")
    if kind == "memory":
        return memory_text(MEMORY_BY_ID[key])
    if kind == "thread":
        return next(str(turn["content"]) for turn in THREAD if turn["id"] == key)
    if kind == "wiki":
        return next(page_text(page) for page in PAGES if f"{page['type']}/{page['slug']}" == key)
    return " ".join(DOCUMENTS[key].split())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_each_fact_of_an_answer_is_in_the_evidence_of_its_question(question: Record) -> None:
    kinds = {reference.partition(":")[0] for reference in question["evidence"]}
    assert kinds == set(question["expects_sources"]) <= {"memory", "wiki", "thread", "knowledge"}
    found = "\n".join(map(evidence_text, question["evidence"])).casefold()
    assert question["answer_facts"]
    assert [fact for fact in question["answer_facts"] if fact.casefold() not in found] == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_every_piece_of_evidence_holds_a_fact_of_the_answer(question: Record) -> None:
    for reference in question["evidence"]:
        text = evidence_text(reference).casefold()
        assert any(fact.casefold() in text for fact in question["answer_facts"]), reference


def test_questions_cover_every_source_and_two_other_languages() -> None:
    assert len({question["id"] for question in QUESTIONS}) == 12
    asked = Counter(source for question in QUESTIONS for source in question["expects_sources"])
    assert all(asked[source] >= 3 for source in ("memory", "wiki", "thread", "knowledge"))
    assert {"pt", "ja"} <= {question["language"] for question in QUESTIONS}


def test_three_documents_have_headings_and_a_table() -> None:
    assert len(DOCUMENTS) == 3
    for text in DOCUMENTS.values():
        assert 600 <= len(text.split()) <= 1200
        assert text.startswith("# ")
        assert text.count("\n## ") >= 4
        assert "\n|---|" in text


def test_the_waves_of_the_runbook_hold_all_tables_that_move() -> None:
    rows = re.findall(r"^\| [1-5] \| (\d+) \|", DOCUMENTS["runbook-nightly-warehouse-migration.md"], re.MULTILINE)
    assert (len(rows), sum(map(int, rows))) == (5, 412 - 57)


def test_workspace_is_small_and_its_readme_says_that_it_is_fiction() -> None:
    notes = sorted((DATA / "workspace" / "notes").iterdir())
    assert [note.name for note in notes] == ["packing.md", "todo.md"]
    assert all(len(note.read_text(encoding="utf-8")) < 1000 for note in notes)
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    assert "Fiction" in readme
    assert "Licence" in readme
    assert len(readme.splitlines()) <= 10
