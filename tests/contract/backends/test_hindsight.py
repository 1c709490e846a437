"""The Hindsight client against the stand-in: the cases that hold of the real one too, and what only a stand-in can do."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.errors import (
    AnswerUnreadable,
    BackendDenied,
    BackendMissing,
    BackendMisused,
    BackendThrottled,
    BackendTimedOut,
    BackendUnavailable,
)
from sidecar.backends.hindsight import Banks, Hindsight, MemoryUnit, NoBank
from sidecar.backends.secrets import Secret
from sidecar.context.ports import BackendError
from sidecar.turn.items import Status
from tests.stand_ins import hindsight as stand_ins
from tests.stand_ins.hindsight import FakeHindsight, Refusal
from tests.support.backends.hindsight_cases import *  # noqa: F403 - the cases are collected here
from tests.support.backends.hindsight_cases import changes
from tests.support.waiting import until

NOW = datetime(2026, 5, 1, tzinfo=UTC)
CANARY = "canary-0a1b2c3d"


@pytest.fixture
def fake() -> Iterator[FakeHindsight]:
    """A Hindsight that stands in."""
    with stand_ins.serving() as one:
        yield one


@pytest.fixture
def server_url(fake: FakeHindsight) -> str:
    """Where it listens."""
    return fake.url


CODES: list[tuple[int, dict[str, str], type[BackendError], Status, int]] = [
    (400, {}, BackendMisused, Status.ERROR, 1),
    (401, {}, BackendDenied, Status.ERROR, 1),
    (403, {}, BackendDenied, Status.ERROR, 1),
    (404, {}, BackendMissing, Status.ERROR, 1),
    (422, {}, BackendMisused, Status.ERROR, 1),
    (429, {"Retry-After": "600"}, BackendThrottled, Status.SHED, 1),
    (429, {"Retry-After": "Wed, 21 Oct 2065 07:28:00 GMT"}, BackendThrottled, Status.SHED, 1),
    (429, {}, BackendThrottled, Status.SHED, 3),
    (499, {}, BackendUnavailable, Status.ERROR, 3),
    (500, {}, BackendUnavailable, Status.ERROR, 3),
    (503, {"Retry-After": "600"}, BackendThrottled, Status.SHED, 1),
    (503, {}, BackendUnavailable, Status.ERROR, 3),
    (504, {}, BackendTimedOut, Status.TIMEOUT, 1),
    (307, {"Location": "http://127.0.0.1:9/"}, BackendMisused, Status.ERROR, 1),
]


@pytest.mark.parametrize(("code", "headers", "kind", "status", "attempts"), CODES)
async def test_each_status_code_becomes_its_status(
    fake: FakeHindsight,
    hindsight: Hindsight,
    owner: UUID,
    code: int,
    headers: dict[str, str],
    kind: type[BackendError],
    status: Status,
    attempts: int,
) -> None:
    fake.refusals = [Refusal(code, f'{{"detail": "{CANARY}"}}'.encode(), headers)] * 3
    with pytest.raises(kind) as caught:
        await hindsight.recall(owner, "boats", now=NOW, limit=5)
    assert caught.value.status is status
    assert CANARY not in str(caught.value)
    assert len(fake.seen) == attempts


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"results": null}', b'{"results": [{"id": 1}]}', b"\xff\xfe", b'{"other": []}'],
)
async def test_malformed_answer_is_an_error(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID, body: bytes
) -> None:
    fake.refusals = [Refusal(200, body)] * 3
    with pytest.raises(AnswerUnreadable):
        await hindsight.recall(owner, "boats", now=NOW, limit=5)


@pytest.mark.parametrize("date", [f"Mon, 01 Jan {'9' * 30} 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2300"])
async def test_time_of_the_server_beyond_the_calendar_is_unknown(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID, date: str
) -> None:
    fake.refusals = [Refusal(200, b'{"items": [], "total": 0}', {"Date": date})]
    assert await hindsight.every(owner) == []


@pytest.mark.parametrize("items", [[], [{"id": "u1", "text": "boats", "type": "world"}]])
async def test_list_that_counts_more_than_it_has_ends_with_an_error(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID, items: list[dict[str, str]]
) -> None:
    endless = json.dumps({"items": items, "total": 10**12}).encode()
    fake.refusals = [Refusal(200, endless)] * 3
    with pytest.raises(BackendUnavailable, match="keeps changing"):
        await hindsight.every(owner)


async def test_compressed_answer_is_neither_asked_for_nor_expanded(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    fake.refusals = [Refusal(200, gzip.compress(b'{"results": []}'), {"Content-Encoding": "gzip"})] * 3
    with pytest.raises(AnswerUnreadable, match="compressed as 'gzip'"):
        await hindsight.recall(owner, "boats", now=NOW, limit=5)
    assert {name.lower(): value for name, value in fake.seen[0][3].items()}["accept-encoding"] == "identity"


async def test_malformed_unit_falls_with_a_reason_and_the_others_are_taken(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    sound = {"id": "u1", "text": "The boat winters ashore.", "type": "world"}
    bad = [{"text": "No id."}, sound | {"id": ""}, sound | {"occurred_start": "soon"}, sound | {"metadata": 3}, "text"]
    fake.refusals = [Refusal(200, json.dumps({"results": [*bad, sound, {"id": "u2"}]}).encode())]
    found = await hindsight.recall(owner, "boats", now=NOW, limit=5)
    assert [(one.unit_id, one.text) for one in found.found] == [("u1", "The boat winters ashore.")]
    assert len(fake.seen) == 1
    told = "; ".join(found.left_out)
    assert f"{hindsight.name}: 1 unreadable, left out (no id)" in told
    assert "left out (no text)" in told
    assert "soon" not in told


async def test_only_as_much_is_read_as_a_turn_can_use(fake: FakeHindsight, hindsight: Hindsight, owner: UUID) -> None:
    units = [{"id": f"u{number}", "text": "boats", "type": "world"} for number in range(5)]
    fake.refusals = [Refusal(200, json.dumps({"results": [*units, "garbage"]}).encode())]
    found = await hindsight.recall(owner, "boats", now=NOW, limit=5)
    assert (len(found.found), found.left_out) == (5, ())
    fake.refusals = [Refusal(200, b" " * (2 << 20) + b'{"results": []}')] * 3
    with pytest.raises(AnswerUnreadable, match="more than 2 MB"):
        await hindsight.recall(owner, "boats", now=NOW, limit=5)


async def test_unstorable_text_spoils_no_other_memory(fake: FakeHindsight, hindsight: Hindsight, owner: UUID) -> None:
    texts = ["boats: half \ud83d a pair", "boats: low \udc00", "boats: a NUL \0", "boats: sound"]
    fake.retain(str(owner), [{"content": text, "document_id": f"d{text}"} for text in texts])
    found = await hindsight.recall(owner, "boats", now=NOW, limit=9)
    assert [one.text for one in found.found] == [
        "boats: half ? a pair",
        "boats: low ?",
        "boats: a NUL \ufffd",
        "boats: sound",
    ]
    assert "\0" not in "".join(one.document_id for one in found.found)


async def test_question_is_sent_in_the_servers_form(fake: FakeHindsight, hindsight: Hindsight, owner: UUID) -> None:
    fake.retain(str(owner), [])
    await hindsight.recall(owner, "x" * 9_000, now=NOW, limit=5)
    (_, path, body, _) = fake.seen[0]
    assert path == f"/v1/default/banks/{owner}/memories/recall"
    assert len(body["query"]) == 1500
    assert body["include"]["entities"] is None
    assert body["query_timestamp"] == "2026-05-01T00:00:00.000000Z"


async def test_server_that_refuses_long_questions_gets_a_shorter_one(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    fake.longest_query = 600
    fake.retain(str(owner), [{"content": "boats boats"}])
    assert (await hindsight.recall(owner, "boats " * 400, now=NOW, limit=5)).found


async def test_older_servers_field_for_results_is_understood(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    fake.is_old = True
    fake.retain(str(owner), [{"content": "boats winter"}])
    assert [one.text for one in (await hindsight.recall(owner, "boats", now=NOW, limit=5)).found] == ["boats winter"]


async def test_server_that_ignores_the_window_is_refused(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    fake.is_old = True
    fake.retain(str(owner), [{"content": "boats winter"}])
    with pytest.raises(BackendMisused, match="end_date"):
        await changes(hindsight, owner)


async def test_bank_is_the_owners_by_configuration_and_quoted(fake: FakeHindsight, owner: UUID) -> None:
    one = Hindsight("memories", Banks(fake.url, bank="acme/{owner}?", owners={owner: "mara #1"}), CallLimits(60))
    with pytest.raises(NoBank):
        await one.recall(owner, "boats", now=NOW, limit=5)
    await one.close()
    assert fake.seen[0][1] == "/v1/default/banks/acme%2Fmara%20%231%3F/memories/recall"


async def test_key_is_sent_in_its_header_and_read_again_each_time(fake: FakeHindsight, owner: UUID) -> None:
    fake.retain(str(owner), [])
    environ = {"KEY": CANARY}
    one = Hindsight("memories", Banks(fake.url, api_key=Secret("env:KEY", environ)), CallLimits(60))
    await one.recall(owner, "boats", now=NOW, limit=5)
    environ["KEY"] = "another"
    await one.recall(owner, "boats", now=NOW, limit=5)
    environ.clear()
    with pytest.raises(BackendDenied, match="env:KEY"):
        await one.recall(owner, "boats", now=NOW, limit=5)
    await one.close()
    assert [seen[3]["authorization" if "authorization" in seen[3] else "Authorization"] for seen in fake.seen] == [
        f"Bearer {CANARY}",
        "Bearer another",
    ]
    assert CANARY not in repr(one.banks)


async def test_cancelled_caller_closes_its_connection(fake: FakeHindsight, hindsight: Hindsight, owner: UUID) -> None:
    over = threading.Event()
    fake.refusals = [Refusal(200, until=over)]
    asking = asyncio.create_task(hindsight.recall(owner, "boats", now=NOW, limit=5))
    await until(lambda: fake.seen)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    over.set()


async def test_hanging_server_is_abandoned_at_the_deadline(fake: FakeHindsight, owner: UUID) -> None:
    over = threading.Event()
    fake.refusals = [Refusal(200, until=over)]
    one = Hindsight("memories", Banks(fake.url), CallLimits(deadline_s=0.3))
    with pytest.raises(BackendTimedOut):
        await one.recall(owner, "boats", now=NOW, limit=5)
    over.set()
    await one.close()


async def test_window_that_moved_while_read_is_read_again(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    fake.retain(str(owner), [{"content": f"plank {number}"} for number in range(201)])
    fake.lists_until_moving = 1  # after the first page
    assert len(await changes(hindsight, owner)) == 202


async def test_unit_rewritten_between_pages_hides_no_other(
    fake: FakeHindsight, hindsight: Hindsight, owner: UUID
) -> None:
    planks = [{"content": f"plank {number}", "document_id": f"log {number}"} for number in range(202)]
    for part in (planks[:2], planks[2:]):  # the first two are the oldest, and so on the second page
        fake.retain(str(owner), part)
    fake.lists_until_moving, fake.moving = 1, planks[:1]
    assert {unit.document_id for unit in await hindsight.every(owner)} == {one["document_id"] for one in planks}


async def test_document_with_new_ids_is_the_same_memory(fake: FakeHindsight, hindsight: Hindsight, owner: UUID) -> None:
    found: list[MemoryUnit] = []
    for _ in range(2):
        fake.retain(str(owner), [{"content": "The mast is oak.", "document_id": "log"}])
        found += (await hindsight.recall(owner, "mast", now=NOW, limit=5)).found
    assert found[0].unit_id != found[1].unit_id
    assert found[0].memory_id == found[1].memory_id


def test_unit_without_a_document_keeps_its_own_id() -> None:
    unit = MemoryUnit("u-1", "text", "observation", "", None)
    assert unit.memory_id == "u-1"
