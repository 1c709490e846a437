"""Recall in Postgres: hits by words, by vectors and by neighbourhood, within one scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import asyncpg
import numpy as np
import pytest

from sidecar.runtime.embedders import Numbered
from sidecar.worker.embedding_jobs import embed_some
from store.content import documents, embedders, embeddings, memories, threads
from store.content.recalling import MAX_WORDS, Recalled, RecallQuery, literal
from store.content.threads import RecalledTurn
from store.db.postgres import Pools, scoped, tenant_scoped
from store.errors import SchemaOutdated
from store.scope import Scope
from store.wiki import pages
from tests.support.store.embedding_world import (
    OTHER_OWNER,
    OTHER_TENANT,
    SCOPE,
    TopicEmbedder,
    compile_page,
    numbered,
    read_in,
    remember,
    say,
    tenants_made,
    wanted,
)


@pytest.fixture(autouse=True)
async def world(pools: Pools) -> None:
    await tenants_made(pools)


@pytest.fixture
async def topics(pools: Pools) -> Numbered:
    return await numbered(pools, TopicEmbedder())


async def embed_all(pools: Pools, embedder: Numbered) -> None:
    while places := await embeddings.waiting(pools.background, limit=10):
        for place in places:
            await embed_some(pools.background, embedder, place)


class Told(NamedTuple):
    """What the search tells of a text."""

    matched: int
    cosines: Sequence[float]


def told_of(found: Recalled[Any]) -> dict[str, Told]:
    told = map(Told, found.matched, found.cosines)
    return {one.text: of_it for one, of_it in zip(found.texts, told, strict=True)}


async def turns(
    pools: Pools, question: RecallQuery, scope: Scope = SCOPE, thread_id: str = "t"
) -> Recalled[RecalledTurn]:
    async with scoped(pools.turn, scope, read_only=True) as connection:
        return await threads.recall(connection, scope, thread_id, question)


async def facts(pools: Pools, question: RecallQuery, scope: Scope = SCOPE) -> dict[str, Told]:
    async with scoped(pools.turn, scope, read_only=True) as connection:
        found = await memories.recall(connection, scope, question)
    return told_of(found)


async def test_each_text_reports_its_words_and_each_word_its_text_count(pools: Pools) -> None:
    await remember(pools, "the ferry to Bar", "the ferry to Ancona", "a night in Bar", "nothing of this")
    found = await facts(pools, RecallQuery(("ferry", "bar", "nowhere"), 10))
    assert {text: match.matched for text, match in found.items()} == {
        "the ferry to Bar": 0b011,
        "the ferry to Ancona": 0b001,
        "a night in Bar": 0b010,
    }
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        told = await memories.recall(connection, SCOPE, RecallQuery(("ferry", "bar", "nowhere"), 10))
    assert (told.frequencies, told.total) == ((2, 2, 0), 4)
    assert all(match.cosines == () for match in found.values())


async def test_text_without_a_shared_word_is_found_by_meaning(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara sails a sloop", "Mara plays the cello", "Mara grows roses")
    await embed_all(pools, topics)
    found = await facts(pools, await wanted("boat", topics, limit=1))
    assert list(found) == ["Mara sails a sloop"]
    assert found["Mara sails a sloop"].cosines == pytest.approx([1.0], abs=1e-3)
    assert await facts(pools, await wanted("boat")) == {}


async def test_text_without_a_vector_is_found_by_its_words_beside_the_others(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara sails a sloop")
    await embed_all(pools, topics)
    await remember(pools, "the boat is blue")
    found = await facts(pools, await wanted("boat", topics))
    assert {text: len(match.cosines) for text, match in found.items()} == {
        "Mara sails a sloop": 1,
        "the boat is blue": 0,
    }


async def test_vectors_of_another_embedder_are_never_compared(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "Mara sails a sloop", "a boat")
    await embed_all(pools, topics)
    for other in (TopicEmbedder("other"), TopicEmbedder("topics", dimensions=9)):
        found = await facts(pools, await wanted("boat", await numbered(pools, other)))
        assert {text: match.cosines for text, match in found.items()} == {"a boat": ()}


async def test_words_of_the_thread_find_texts_beside_those_that_the_message_finds(pools: Pools) -> None:
    said = [f"the boat is old {number}" for number in range(3)]
    await remember(pools, *said, "Nystrom was an engineer", *(f"pebble {number}" for number in range(20)))
    alone = await facts(pools, RecallQuery(("boat",), 4))
    assert all("boat" in text for text in alone)
    assert len(alone) == 3
    there = await facts(pools, RecallQuery(("boat", "nystrom"), 4, weights=(1.0, 0.3)))
    assert alone.keys() <= there.keys(), "the message's own words lose no place to them"
    assert there["Nystrom was an engineer"].matched == 0b10


async def test_every_part_of_a_question_has_its_own_cosine(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "a sloop", "roses")
    await embed_all(pools, topics)
    boat, garden = (await wanted("boat", topics)).vectors, (await wanted("garden", topics)).vectors
    found = await facts(pools, RecallQuery((), 1, topics.embedder_no, (*boat, *garden)))
    assert len(found) == 2, "each part finds its own nearest"
    assert found["a sloop"].cosines == pytest.approx([1.0, 0.0], abs=1e-3)
    assert found["roses"].cosines == pytest.approx([0.0, 1.0], abs=1e-3)


async def test_probe_is_compared_with_memories_but_finds_none(pools: Pools, topics: Numbered) -> None:
    await remember(pools, "a sloop", "roses")
    await embed_all(pools, topics)
    await remember(pools, "the boat is blue")
    asked = await wanted("boat", topics, limit=1)
    boat, garden = await topics.embedder.embed(["boat", "garden"])
    probe = literal((2 * boat + 9 * garden).tolist())
    for vectors in (asked.vectors, (*asked.vectors, *asked.vectors)):
        question = replace(asked, vectors=vectors, probe=probe)
        async with scoped(pools.turn, SCOPE, read_only=True) as connection:
            found = await memories.recall(connection, SCOPE, question)
        texts = [one.text for one in found.texts]
        assert sorted(texts) == ["a sloop", "the boat is blue"], "nothing is found by the probe"
        near, new = texts.index("a sloop"), texts.index("the boat is blue")
        assert found.cosines[near] == pytest.approx([1.0] * len(vectors), abs=1e-3)
        assert found.probed[near] == pytest.approx(2.0, abs=1e-3)
        assert (found.cosines[new], found.probed[new]) == ((), None), "it has no vector yet"
    by_words = replace(asked, vectors=(), probe=probe)
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        found = await memories.recall(connection, SCOPE, by_words)
    assert set(found.probed) == {None}, "without vectors nothing is compared"


async def test_turns_adjacent_to_the_best_are_included(pools: Pools) -> None:
    await say(pools, "hello", "the boat leaks", "then caulk it", "and else?", "nothing")
    found = await turns(pools, await wanted("boat"))
    assert [turn.text for turn in found.texts] == ["the boat leaks", "hello", "then caulk it"]
    assert found.matched == (1, 0, 0)


async def test_chunks_adjacent_to_the_best_are_included(pools: Pools) -> None:
    base_id = await read_in(pools, "zero", "boats ashore", "two", "three")
    async with tenant_scoped(pools.turn, SCOPE.tenant_id, read_only=True) as connection:
        found = await documents.recall(connection, SCOPE.tenant_id, [base_id], await wanted("boats"))
    assert sorted((chunk.position, chunk.title) for chunk in found.texts) == [(0, "A"), (1, "A"), (2, "A")]
    assert found.total == 4


async def test_sections_and_summaries_are_found_by_meaning_too(pools: Pools, topics: Numbered) -> None:
    await compile_page(pools, "It is a sloop.", "The roses bloom.", summary="On sailing a sloop.")
    await embed_all(pools, topics)
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        sections, summaries = await pages.recall(connection, SCOPE, await wanted("boat", topics, limit=1))
    assert [section.text for section in sections.texts] == ["It is a sloop."]
    assert [summary.text for summary in summaries.texts] == ["On sailing a sloop."]


async def test_passages_of_a_page_have_no_cosines_until_they_have_vectors(pools: Pools, topics: Numbered) -> None:
    page_id = await compile_page(pools, "It is a sloop.", summary="On boats.")
    question = await wanted("boat", topics)
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        before = await pages.passages_of(connection, SCOPE, [page_id], question, each=3)
    await embed_all(pools, topics)
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        after = await pages.passages_of(connection, SCOPE, [page_id], question, each=3)
    assert [passage.text for passage in before.texts] == ["On boats.", "It is a sloop."]
    assert before.cosines == ((), ())
    assert [len(cosines) for cosines in after.cosines] == [1, 1]


async def test_archived_page_is_not_found(pools: Pools, database: str, topics: Numbered) -> None:
    await compile_page(pools, "It is a sloop, a boat.", summary="On boats.")
    await embed_all(pools, topics)
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE wiki_pages SET status = 'archived'")
    await connection.close()
    async with scoped(pools.turn, SCOPE, read_only=True) as scope:
        sections, summaries = await pages.recall(scope, SCOPE, await wanted("boat", topics))
    assert (sections.texts, summaries.texts) == ((), ())


@pytest.mark.parametrize("other", [OTHER_OWNER, OTHER_TENANT])
async def test_rows_of_another_scope_are_not_found(pools: Pools, topics: Numbered, other: Scope) -> None:
    await say(pools, "the boat leaks")
    await remember(pools, "Mara has a boat")
    await embed_all(pools, topics)
    question = await wanted("boat", topics)
    assert await facts(pools, question, other) == {}
    assert (await turns(pools, question, other)).texts == ()
    async with scoped(pools.turn, other, read_only=True) as connection:
        assert (await memories.recall(connection, SCOPE, question)).texts == (), "the arguments are not the scope"


async def test_scopes_that_share_an_index_key_stay_apart(pools: Pools, database: str) -> None:
    """The functions are asked themselves: row security would hide what they find too much."""
    connection = await asyncpg.connect(database)
    await connection.execute(
        "CREATE OR REPLACE FUNCTION scope_key(p_scope text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE"
        " AS $$ SELECT 'sharedby' $$"
    )
    await connection.close()
    await say(pools, "the sloop leaks")
    await remember(pools, "Mara has a sloop")
    await compile_page(pools, "It is a sloop.", summary="On sloops.")
    for scope, count in ((SCOPE, 1), (OTHER_OWNER, 0), (OTHER_TENANT, 0)):
        async with scoped(pools.turn, scope, read_only=True) as on:
            for name, thread, total in (
                ("turns", ", 't'", ""),
                ("memories", "", ""),
                ("sections", "", ""),
                ("pages", "", ", 1"),
            ):
                for word in ("sloop", "slopo"):
                    call = f"SELECT * FROM recall_{name}($1, $2{thread}, ARRAY['{word}'], 1, '{{}}', 10{total})"
                    assert len(await on.fetch(call, scope.tenant_id, scope.owner_id)) == count, (name, word)


async def test_words_beyond_the_bit_mask_are_left_out(pools: Pools) -> None:
    await remember(pools, "the last word is ferry")
    words = tuple(f"w{number}" for number in range(MAX_WORDS))
    assert await facts(pools, RecallQuery((*words, "ferry"), 10)) == {}
    assert (await facts(pools, RecallQuery((*words[1:], "ferry"), 10)))["the last word is ferry"].matched == 1 << (
        MAX_WORDS - 1
    )


async def test_speakers_are_read_from_the_newest_turns(pools: Pools) -> None:
    await say(pools, "one", "two")
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        assert await threads.speakers(connection, SCOPE, "t") == ("Mara",)
        assert await threads.speakers(connection, SCOPE, "nowhere") == ()


async def test_unknown_word_matches_a_word_one_letter_away(pools: Pools) -> None:
    await remember(pools, "the boat winters in Trieste", "the boat is blue", "a night in Bar")
    for written in ("trieste", "triest", "triesste", "trisete", "triesta", "grieste"):
        found = await facts(pools, RecallQuery(("boat", written), 10))
        held = {text: match.matched for text, match in found.items()}
        assert held == {"the boat winters in Trieste": 0b11, "the boat is blue": 0b01}, written
    assert await facts(pools, RecallQuery(("riestet",), 10)) == {}, "two letters are too many"


async def test_only_the_two_longest_unknown_words_match_others(pools: Pools) -> None:
    await remember(pools, "the boats winter in Trieste")
    (found,) = (await facts(pools, RecallQuery(("boast", "wintre", "triesta"), 10))).values()
    assert found.matched == 0b110


async def test_unknown_word_may_be_a_prefix(pools: Pools) -> None:
    await remember(pools, "an appointment at the orthodontist", "nothing of this")
    assert list(await facts(pools, RecallQuery(("orthodont",), 10))) == ["an appointment at the orthodontist"]


async def test_close_word_counts_less_than_the_word_itself(pools: Pools) -> None:
    await remember(pools, "the boat winters in Trieste", *(f"page {number} of the log" for number in range(24)))
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        told = [
            (await memories.recall(connection, SCOPE, RecallQuery((word,), 10))).frequencies
            for word in ("trieste", "triesta", "winter")
        ]
    assert told == [(1,), (5,), (1,)], "the root of one in twenty-five, and stems are the word itself"


async def test_numbers_short_words_and_odd_words_match_only_themselves(pools: Pools) -> None:
    await remember(pools, "the gate code of the boat is 4417", "the plan is 44180")
    for word in ("4418", "44181", "bat", "boa", "b" * 30, "boats|plan:*", "it's", "\\baots", "日本語日本語"):
        assert await facts(pools, RecallQuery((word,), 10)) == {}, word


async def test_known_word_matches_no_other(pools: Pools) -> None:
    await remember(pools, "Marina sails", "Martina sings")
    assert list(await facts(pools, RecallQuery(("marina",), 10))) == ["Marina sails"]


async def test_shortest_texts_with_a_close_word_are_read_wherever_they_are(pools: Pools) -> None:
    long = [f"on day {number} the boat went on past Trieste and farther along the coast" for number in range(150)]
    await remember(pools, *long)
    await remember(pools, "Trieste at last")
    await say(pools, *long, "Trieste at last")
    assert next(iter(await facts(pools, RecallQuery(("triesta",), 5)))) == "Trieste at last"
    assert (await turns(pools, RecallQuery(("triesta",), 5))).texts[0].text == "Trieste at last"


async def test_close_words_are_looked_up_in_the_scope_only(pools: Pools) -> None:
    await remember(pools, "the boat winters in Trieste")
    await say(pools, "the boat winters in Trieste")
    base_id = await read_in(pools, "the boat winters in Trieste")
    await compile_page(pools, "It winters in Trieste.", summary="On Trieste.")
    question = RecallQuery(("triesta",), 10)
    for scope, count in ((SCOPE, 1), (OTHER_OWNER, 0), (OTHER_TENANT, 0)):
        assert len(await facts(pools, question, scope)) == count
        assert len((await turns(pools, question, scope)).texts) == count
        async with scoped(pools.turn, scope, read_only=True) as connection:
            assert [len(told.texts) for told in await pages.recall(connection, scope, question)] == [count, count]
        async with tenant_scoped(pools.turn, scope.tenant_id, read_only=True) as connection:
            told = await documents.recall(connection, scope.tenant_id, [base_id], question)
        assert len(told.texts) == (scope.tenant_id == SCOPE.tenant_id)


async def test_source_without_texts_is_not_searched(pools: Pools, database: str) -> None:
    await remember(pools, "the boat winters in Trieste")
    admin = await asyncpg.connect(database)
    await admin.execute("DROP FUNCTION close_queries")
    await admin.close()
    question = RecallQuery(("triesta",), 10)
    assert await facts(pools, question, OTHER_OWNER) == {}
    assert not (await turns(pools, question)).texts
    async with scoped(pools.turn, SCOPE, read_only=True) as connection:
        assert [len(told.texts) for told in await pages.recall(connection, SCOPE, question)] == [0, 0]
    with pytest.raises(SchemaOutdated):
        await facts(pools, question)


async def test_nearest_vectors_are_the_same_in_a_large_scope(pools: Pools, database: str, topics: Numbered) -> None:
    """So large by its counts: few texts are enough to tell."""
    await say(pools, "a sloop", "roses", "a cello", "nothing of this")
    await remember(pools, "a sloop", "roses", "a cello")
    base_id = await read_in(pools, "a sloop", "roses", "a cello", "nothing of this")
    await embed_all(pools, topics)
    boat, garden = (await wanted("boat", topics)).vectors, (await wanted("garden", topics)).vectors
    question = RecallQuery((), 2, topics.embedder_no, (*boat, *garden))

    async def nearest() -> list[dict[str, Told]]:
        async with tenant_scoped(pools.turn, SCOPE.tenant_id, read_only=True) as connection:
            chunks = await documents.recall(connection, SCOPE.tenant_id, [base_id], question)
        return [
            await facts(pools, question),
            told_of(await turns(pools, question)),
            told_of(chunks),
        ]

    small = await nearest()
    assert small[0].keys() == {"a sloop", "roses"}
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE memory_feeds SET change_seq = 50000; UPDATE documents SET chunk_count = 50000")
    await connection.execute("UPDATE threads SET turn_count = 50000")
    await connection.close()
    assert await nearest() == small


async def test_nearest_by_sign_bits_include_the_nearest_among_many_vectors(pools: Pools, database: str) -> None:
    numbers = np.random.default_rng(4).normal(size=(1500, 128))
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    asked = numbers[700] + 0.5 * numbers[3]
    embedder_no = await embedders.number_of(pools.background, "random", 128)
    assert embedder_no is not None
    names = [f"note {place}" for place in range(len(numbers))]
    await remember(pools, *names, ids=names)
    connection = await asyncpg.connect(database)
    await connection.execute(
        "INSERT INTO memory_vectors (tenant_id, owner_id, embedder_no, vector, memory_id, text_hash)"
        " SELECT $1, $2, $3, v::halfvec, name, '' FROM unnest($4::text[], $5::text[]) AS r (name, v)",
        SCOPE.tenant_id,
        SCOPE.owner_id,
        embedder_no,
        names,
        [literal(row) for row in numbers.tolist()],
    )
    await connection.execute("UPDATE memory_feeds SET change_seq = 50000")
    await connection.close()
    found = await facts(pools, RecallQuery((), 5, embedder_no, (literal(asked.tolist()),)))
    best = np.argsort(-(numbers @ asked))[:5]
    assert list(found) == [f"note {place}" for place in best]


async def test_recall_is_by_words_if_the_database_has_no_vectors(pools: Pools, database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("DROP EXTENSION vector CASCADE; DROP TABLE embedders, turn_vectors, memory_vectors")
    await connection.execute("DROP TABLE chunk_vectors, section_vectors, page_vectors")
    await connection.close()
    await say(pools, "the boat leaks")
    await remember(pools, "Mara has a boat")
    assert await embedders.number_of(pools.background, "topics", 5) is None
    question = RecallQuery(("boat",), 10, 1, ("[1,0,0,0,0]",))
    assert list(await facts(pools, question)) == ["Mara has a boat"]
    assert [turn.text for turn in (await turns(pools, question)).texts] == ["the boat leaks"]
