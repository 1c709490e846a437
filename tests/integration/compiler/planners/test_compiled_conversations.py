"""Conversations compiled without a model: a page for each person and place, only said facts, no wrong link."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta

from compiler.operations import lint
from compiler.plan.contract import Page
from compiler.plan.text.markdown import unescape
from compiler.state import row_mapping
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import candidates
from tests.support.compiler.compiling import NOW, SCOPE, all_jobs, engine_on, write_and_compile

SAID = (
    ("Rosalind", "Hey Theo! Guess what, I finally took my nephew Anselm to Lake Orta last Saturday."),
    ("Theodore", "Wow, Roz! Did Anselm like it? We went to Lake Orta with Dr. Pavlenko in the spring."),
    ("Rosalind", "He loved it. Dr. Pavlenko told me that the ferry at Lake Orta costs 4 euros [sic] *each way*."),
    ("Theodore", "Thanks, Roz! I booked a table at Trattoria Bellini for Friday; their risotto is a dream."),
    ("Rosalind", "Trattoria Bellini is where Anselm spilled the soup. He was so proud of his drawing of Lake Orta!"),
    ("Theodore", "Ha! I met Mrs. Okonkwo at Trattoria Bellini, and she says hello. She moved to São Bento in May."),
    ("Rosalind", "Mrs. Okonkwo taught me the violin in São Bento when I was nine. I still own her old metronome."),
    (
        "Theodore",
        "You never told me! Roz, bring the metronome to Trattoria Bellini, and I bring the photos of São Bento.",
    ),
)
ROUNDS = 6


def conversation() -> list[NewMemory]:
    """Return what was said, several times over with other dates and sums."""
    return [
        NewMemory(
            f"{speaker}: {text} That was on day {day} of {day * 7 + place} for me.",
            f"t{day}-{place}",
            NOW - timedelta(days=90 - day, seconds=-place),
        )
        for day in range(ROUNDS)
        for place, (speaker, text) in enumerate(SAID)
    ]


async def pages_of(pools: Pools) -> list[Page]:
    async with scoped(pools.background, SCOPE) as connection:
        standing = await row_mapping.load(connection, SCOPE, await candidates.all_ids(connection, SCOPE))
    return [page for page in standing.pages.values() if page.is_active]


async def test_conversation_becomes_pages_of_its_own_words(pools: Pools) -> None:
    told = conversation()
    await write_and_compile(pools, told, engine_on(pools))
    assert sum(job.metrics["records_read"] for job in await all_jobs(pools)) == len(told)
    pages, texts = await pages_of(pools), {one.memory_id: one.text for one in told}
    titles = {page.title for page in pages}
    assert {"Lake Orta", "Trattoria Bellini", "São Bento", "Anselm", "Rosalind", "Theodore"} <= titles
    assert not titles & {"Orta", "Bellini", "Theo", "Lake", "Trattoria"}, "a short name is no page of its own"
    names = Counter((page.key.type, alias.key) for page in pages for alias in page.aliases)
    assert not [name for name, count in names.items() if count > 1]
    for page in pages:
        for section in page.sections:
            cited = [texts[source.memory_id or ""] for source in section.sources]
            assert cited, f"{page.title}#{section.slug} rests on nothing"
            for line in section.body_md.split("\n") if section.aggregation is None else ():
                sentence = re.sub(r"^\d{4}-\d\d-\d\d: ", "", unescape(line.removeprefix("- ")))  # the day it was said
                speaker, _, said = sentence.partition(": ")  # stands before a sentence in the first person
                by = [text for text in cited if text.startswith(f"{speaker}: ")]
                is_said = any(sentence in text for text in cited) or any(said in text for text in by)
                assert is_said, f"{page.title}#{section.slug}: {sentence}"


async def test_conversation_leaves_no_broken_link(pools: Pools) -> None:
    await write_and_compile(pools, conversation(), engine_on(pools))
    async with scoped(pools.background, SCOPE) as connection:
        report = await lint.look(connection, SCOPE, now=NOW)
        assert await candidates.duplicate_titles(connection, SCOPE) == 0
    assert not {kind for kind in report.counts if kind.startswith(("broken", "duplicate"))}
