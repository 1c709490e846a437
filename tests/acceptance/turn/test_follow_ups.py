"""A message is read in its conversation: "Why does it?" finds the thread's subject, and the receipt says how it was read."""

from __future__ import annotations

import pytest

from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, knowledge_pb2
from tests.support.served.site import Caller, Site
from tests.support.served.turns import asking, assembled, explained, fill, report, said

THREAD = "lighthouse"
TALK = (
    ("Who built the lighthouse of Sorvagen?", "The engineer Halvard Nystrom built the lighthouse of Sorvagen."),
    ("When was that?", "In the summer of 1871."),
)
ANSWER = "Nystrom chose granite because timber rotted in the salt spray of Sorvagen."
FOLLOW_UP = "Why did he do that?"
GUIDE = f"# Towers\n\n{ANSWER}\n".encode()
OTHERS = {
    f"reason-{number}.md": f"# Reason {number}\n\nWhy did they do that? Reason {number} is theirs to do so.\n".encode()
    for number in range(12)
}


@pytest.fixture
async def agent(site: Site) -> Caller:
    agent, admin = await fill(site), site.caller(admin=True)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=said(*TALK)))
    for path, content in {"towers.md": GUIDE, **OTHERS}.items():
        await admin.Ingest(knowledge_pb2.IngestRequest(base="handbook", path=path, content=content))
    return agent


async def test_a_follow_up_finds_its_answer_by_the_words_of_its_thread(agent: Caller) -> None:
    alone = await assembled(agent, asking(FOLLOW_UP, thread_id=""))
    assert ANSWER not in [item.text for item in alone.items]
    assert not alone.reading.thread_words
    there = await assembled(agent, asking(FOLLOW_UP, thread_id=THREAD))
    first = next(item for item in there.items if item.source == items_pb2.SOURCE_KNOWLEDGE and item.rank == 0)
    assert ANSWER in first.text
    assert there.reading.leaning > 0.5
    assert {"nystrom", "sorvagen", "lighthouse"} <= {*there.reading.thread_words}
    assert report(there, items_pb2.SOURCE_KNOWLEDGE).status == items_pb2.SOURCE_STATUS_OK
    receipt = await explained(agent, there.receipt_id)
    assert receipt.reading == there.reading


async def test_self_contained_message_is_read_without_its_thread(agent: Caller) -> None:
    question = "Where does the family's boat Calypso spend the winter months?"
    answer = await assembled(agent, asking(question, thread_id=THREAD))
    assert [*answer.reading.parts] == [question]
    assert (answer.reading.leaning, [*answer.reading.thread_words]) == (0, [])


async def test_the_current_message_is_not_read_as_a_part_of_its_own_thread(agent: Caller) -> None:
    before = await assembled(agent, asking(FOLLOW_UP, thread_id=THREAD, client_turn_id="now"))
    stored = pb.NewTurn(client_turn_id="now", role="user", text=FOLLOW_UP)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=[stored]))
    after = await assembled(agent, asking(FOLLOW_UP, thread_id=THREAD, client_turn_id="now"))
    read = [(one.reading.parts, one.reading.thread_words, one.reading.leaning) for one in (before, after)]
    assert read[0] == read[1]
    assert after.content_sha256 == before.content_sha256
