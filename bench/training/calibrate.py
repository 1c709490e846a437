"""Calibrates relevance and worth: asks the sources real questions, small talk and questions about other people's conversations,
and fits numbers to the candidates. `--write-weights` writes them to `sidecar/turn/fitted/calibration.py`.

Run it again after a change of the ranker's weights. The figures are measured on conversations that were not fitted on: on the
other half of them, and on the other set. The vectors of questions to a set are mapped towards their answers by a map that was
fitted on the other set (`bench answers`), because the shipped map was fitted on both.

The candidates are recorded first, which takes most of the time: a core spends a hundred seconds on embedding at any scale
(`--only` takes fewer conversations), and ninety on the maps. At `--scale 0.4` a run takes about ten minutes on two idle cores.
`--keep DIR` keeps the recording, with which a later run with the same data, scale and sources takes a minute or two. A recording
contains texts of the data, so keep it where the data may be kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import uvloop

from bench.figures import Figure, at_least, at_most, log_progress, plain
from bench.recall import follow_ups, measuring
from bench.recall.cases import (
    SETS,
    Conversation,
    conversations,
    document_questions,
)
from bench.recall.world import THREAD, World
from bench.spend import privacy
from bench.training import answers, breadth, calibration_files, fitting_worth, own_messages, pronouns, recordings, talks
from bench.training.fitting_personal import personal_model
from bench.training.fitting_worth import (
    ASKING,
    CHATS,
    DOCUMENTS,
    KNOWLEDGE,
    LIFE,
    MEMORIES,
    NOT_STORED,
    REWRITTEN,
    STRANGER,
    TALK,
    TALKS,
    WITH_PRONOUNS,
    Row,
)
from bench.training.leaning_words import MORE_FILE, more_messages
from bench.training.own_messages import own_questions
from bench.training.recordings import Recorded, Recordings
from bench.training.source_asker import (
    DOCUMENTS_ASKED,
    THREADS,
    SourceAsker,
    ask_all,
    drawn_follow_ups,
    drawn_questions,
)
from models.embedding.embedder import Vectors
from models.embedding.vector_parts import MINILM
from sidecar.turn.candidates import Candidates
from sidecar.turn.message.personal import FILES, PersonalModel, personal_odds
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.worth import RULES, Spend
from sidecar.v1 import memory_pb2

_TARGET = Path("sidecar/turn/fitted/calibration.py")
_LEANING = 50
_WITHOUT_EVIDENCE = (STRANGER, NOT_STORED)
_MADE_TO_LEAN = frozenset({WITH_PRONOUNS, TALKS, NOT_STORED})
_LEAST_EVIDENCE = 20  # with less evidence, no ratio is given


def run(
    *,
    scale: float,
    data: Path,
    only: int | None = None,
    keep: Path | None = None,
    personal: bool = False,
    write_weights: bool = False,
) -> list[Figure]:
    """Return how well the numbers hold on conversations that they were not fitted on.

    `scale` is the share of the questions asked; `only` the number of conversations of each set, if not all; `keep` the folder of
    recordings, if any. With `personal`, only the model of questions about one's own life is fitted, for which no source is asked.
    """
    if personal:
        return _personal(data, scale, only, write_weights=write_weights)
    shapes = [[field.name for field in fields(one)] for one in (Reading, Candidates)]
    key = recordings.key_of(scale, only, shapes, data=_digest(data).encode(), code=_code())
    recorded = uvloop.run(_recorded(data, scale, only, Recordings(keep, key)))
    breadths = breadth.Breadths(breadth.counted(data, MINILM))
    rows = [recordings.row(one, breadths.of(one.fold, one.vector, one.reading.blind)) for one in recorded]
    if write_weights:
        log_progress(f"fitting {len(rows)} messages")
        only_flag = f" --only {only}" if only else ""
        today = datetime.now(UTC).date()
        provenance = _PROVENANCE.format(date=today, scale=scale, only=only_flag, digest=_digest(data), rows=len(rows))
        calibration_files.write(_TARGET, fitting_worth.fit_all(rows), provenance=provenance)
    log_progress("fitting on parts, to measure the others")
    return _figures(rows)


def _personal(data: Path, scale: float, only: int | None, *, write_weights: bool) -> list[Figure]:
    """Fit the models that recognise questions about one's own life, and return how well they rank questions held back.

    There is one model for each embedder of `breadth.VECTORS_OF`.
    """
    questions = list(_questions_to_read(data, scale, only))
    held_back = [(*one, ()) for one in own_questions("held ")]
    figures = []
    for name, target in FILES.items():
        rows = _read_rows(questions, breadth.VECTORS_OF[name])
        model = personal_model(rows)
        if write_weights:
            provenance = _PERSONAL_PROVENANCE.format(
                date=datetime.now(UTC).date(),
                scale=scale,
                only=f" --only {only}" if only else "",
                digest=_digest(data),
                rows=len(rows),
                name=name,
            )
            calibration_files.write_personal(target, model, provenance=provenance)
        held = _read_rows(held_back, breadth.VECTORS_OF[name])
        own, others = ([_odds(model, row) for row in held if row.group == kind] for kind in (LIFE, KNOWLEDGE))
        above = float((np.array(own)[:, None] > np.array(others)).mean())
        note = f"{len(own)} and {len(others)} questions held back"
        title = f"{name}: a question about one's life stands above one that anybody may ask"
        figures.append(plain(title, above, note=note))
    return figures


def _odds(model: PersonalModel, row: Row) -> float:
    return personal_odds(model, row.form, row.words, row.vector)


def _questions_to_read(data: Path, scale: float, only: int | None) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the data's questions and our own, to be read alone: each one's group, text, and speakers of its thread."""
    documents = document_questions(data)
    for chat in (chat for name in SETS for chat in conversations(data, name)[:only]):
        speakers, chance = sorted({turn.speaker for turn in chat.turns}), random.Random(chat.name)
        group = CHATS[0] if chat.facts else CHATS[1]
        yield from ((group, question.text, speakers) for question in drawn_questions(chance, chat, scale))
        of_documents = chance.sample(documents, round(DOCUMENTS_ASKED * scale))
        yield from ((DOCUMENTS, question.text, speakers) for question in of_documents)
    rewritten = drawn_follow_ups(follow_ups.dialogs(data), scale)
    yield from ((REWRITTEN, question.exchange.rewritten, ()) for question in rewritten)
    yield from ((group, message, ()) for group, message in own_questions())


def _read_rows(
    messages: Sequence[tuple[str, str, Sequence[str]]], vectors_of: Callable[[Sequence[str]], Vectors]
) -> list[Row]:
    """Return rows without candidates for these messages: each one's group, its text, and the speakers of its thread."""
    today = datetime.now(UTC).date()
    readings = [read(message, speakers=speakers, today=today) for _, message, speakers in messages]
    vectors = np.asarray(vectors_of([reading.parts[0].text for reading in readings]), np.float64)
    each = zip(messages, vectors, readings, strict=True)
    return [recordings.row(Recorded(group, one, one, own, own, reading)) for (group, one, _), own, reading in each]


def _code() -> list[Path]:
    """Return the files whose code determines a recording."""
    turn = ("evidence", "message/reading", "message/conversation", "message/leaning", "message/paths")
    files = [Path("sidecar/turn", f"{name}.py") for name in turn]
    return [*files, *Path("sidecar/sources").glob("*.py"), *Path("store/content").glob("*.sql")]


async def _recorded(data: Path, scale: float, only: int | None, kept: Recordings) -> list[Recorded]:
    """Return all messages with their candidates, from the recordings where they exist."""
    recorded: list[Recorded] = []
    for name, record in (("conversations", _conversations), ("leaning", _leaning), ("dialogs", _dialogs)):
        messages = kept.read(name)
        if messages is None:
            messages = await record(data, scale, only, kept)
            kept.write(name, messages)
        else:
            log_progress(f"{len(messages)} messages are recorded: {name}")
        recorded += messages
    return recorded


@asynccontextmanager
async def _asker(
    data: Path, only: int | None, kept: Recordings
) -> AsyncIterator[tuple[World, SourceAsker, list[Conversation]]]:
    """Yield a world with the conversations, their pages and the corpora; an asker of it; and the conversations."""
    maps = kept.read_maps(SETS)
    if maps is None:
        log_progress("fitting maps towards answers")
        maps = await asyncio.to_thread(answers.across, data)
        kept.write_maps(maps)
    async with measuring.served() as world:
        chats = [chat for name in SETS for chat in conversations(data, name)[:only]]
        log_progress(f"writing {len(chats)} conversations and the corpora")
        await world.fill(chats, data)
        log_progress("compiling pages")
        log_progress(f"{await world.compile([chat for chat in chats if chat.facts])} pages")
        asker = await SourceAsker.of(world, {name: answers.towards(one) for name, one in maps.items()})
        yield world, asker, chats
        asker.close()


async def _conversations(data: Path, scale: float, only: int | None, kept: Recordings) -> list[Recorded]:
    async with _asker(data, only, kept) as (world, asker, chats):
        documents = document_questions(data)
        asks = [
            ask
            for place, chat in enumerate(chats)
            for ask in asker.conversation(chat, chats[place - 1], documents, scale)
        ]
        recorded = await ask_all([*asks, *asker.small_talk([(chat.name, THREAD) for chat in chats])])
        recorded += await asker.own_questions()
        recorded += await _own_memories(world, asker)
    return recorded


async def _leaning(data: Path, scale: float, only: int | None, kept: Recordings) -> list[Recorded]:
    """Return messages that lean on a conversation, with their candidates: questions with pronouns, and our own messages that
    nothing stored answers, half of them after such a question.
    """
    recorded: list[Recorded] = []
    async with _asker(data, only, kept) as (world, asker, chats):
        for conversation in chats:
            chance, owner = random.Random(f"leaning {conversation.name}"), conversation.name
            count = round(_LEANING * scale)
            messages = chance.sample(more_messages("fitted"), 2 * count)
            recorded += await ask_all([asker.not_stored(conversation, one) for one in messages[:count]])
            questions = pronouns.drawn(conversation, count, chance)
            for place, (question, message) in enumerate(zip(questions, messages[count:], strict=False)):
                await world.put_turns(owner, THREAD, question.exchange(f"before-{place}"))
                await world.until_made([owner])
                recorded.append(await asker.with_pronouns(conversation, question)())
                recorded.append(await asker.not_stored(conversation, message)())
            log_progress(f"{len(recorded)} messages that lean asked")
        people = talks.people("fitted")
        await talks.fill(world, people)
        recorded += await ask_all([asker.talk(one, place) for one in people for place in range(len(one.talks))])
    return recorded


async def _own_memories(world: World, asker: SourceAsker) -> list[Recorded]:
    """Return our own questions and small talk with their candidates, which are our own memories, one owner a language."""
    cases = [one for half in ("answers", "reworded") for one in privacy.answers(half)]
    languages = sorted({one.language for one in cases})
    for language in languages:
        memories = [memory_pb2.NewMemory(text=one.memory) for one in cases if one.language == language]
        await world.put_memories(language, memories)
    await world.until_made(languages)
    talk = json.loads(own_messages.TALK_FILE.read_text(encoding="utf-8"))["small_talk"]["fitted"]
    messages = [((MEMORIES, one.language), one.question, one.language) for one in cases]
    messages += [((TALK, message), message, language) for language in talk for message in talk[language]]
    return await ask_all([asker.of_owner(*one) for one in messages])


async def _dialogs(data: Path, scale: float, _: int | None, __: Recordings) -> list[Recorded]:
    async with measuring.served() as world:
        dialogs = follow_ups.dialogs(data)
        questions = drawn_follow_ups(dialogs, scale)
        log_progress(f"writing {len(dialogs)} dialogs' texts, and threads of {len(questions)} follow-ups")
        await follow_ups.fill(world, dialogs, questions, THREADS)
        asker = await SourceAsker.of(world)
        places = [(follow_ups.OWNER, one.thread(THREADS[0])) for one in questions]
        recorded = await ask_all([*asker.follow_ups(questions), *asker.small_talk(places)])
        asker.close()
    return recorded


def _figures(rows: Sequence[Row]) -> list[Figure]:
    figures = []
    for group, share in sorted(fitting_worth.passing(rows, RULES[Spend.BALANCED].least_asking).items()):
        name = f"taken to ask for something: {group}"
        figures.append(at_most(name, share, 0.15) if group == TALK else at_least(name, share, 0.99))
    measured = [row for row in rows if row.group not in {TALK, ASKING, LIFE, KNOWLEDGE, MEMORIES}]
    names = sorted({row.fold for row in measured})
    halves = [[row for row in measured if names.index(row.fold) % 2 == half] for half in (0, 1)]
    figures += _ratios(halves, "the other half")
    chats = [row for row in measured if row.group in {*CHATS, DOCUMENTS, STRANGER, WITH_PRONOUNS, NOT_STORED}]
    figures += _ratios([[row for row in chats if row.name == name] for name in SETS], "the other set", kinds=("turn",))
    texts = [row for row in measured if row.group != NOT_STORED]
    of_texts = [[row for row in texts if (row.name != "") == is_base] for is_base in (True, False)]
    figures += _ratios(of_texts, "the other set", kinds=("passage",))
    return figures + list(_spent(chats))


def _ratios(parts: Sequence[Sequence[Row]], name: str, *, kinds: Sequence[str] = ()) -> Iterable[Figure]:
    """Yield the ratios of observed to expected evidence in two parts, each under the scale of the other.

    Messages that were written or changed to lean on their thread are fitted on but not measured: their number is of our choosing.
    """
    scales = [fitting_worth.calibrate(part) for part in parts]
    for kind in kinds or sorted({kind for part in parts for row in part for kind in row.kinds if kind != "page"}):
        tested = [
            (fitting_worth.calibrated(scale, row), row)
            for part, scale in zip(parts, scales[::-1], strict=True)
            for row in part
            if row.group not in _MADE_TO_LEAN and fitting_worth.counts(row, kind)
        ]
        found = fitting_worth.bins([row for _, row in tested], [one for one, _ in tested], kind)
        expected, observed = (sum(one[place] for one in found) for place in (1, 2))
        if observed >= _LEAST_EVIDENCE:
            yield _within(f"{kind}, fitted on {name}: observed ÷ expected", observed / expected, 0.9, 1.1, observed)
        for high, wanted, seen in found:
            if seen >= _LEAST_EVIDENCE:
                title = f"{kind}, fitted on {name}, up to {high:g}: observed ÷ expected"
                yield _within(title, seen / wanted, 0.7, 1.4, seen)


def _spent(chats: Sequence[Row]) -> Iterable[Figure]:
    """Yield the tokens and evidence that `balanced` recalls of each set, with numbers fitted on the other set and on both.

    Headers are not counted, and no budget applies.
    """
    least = RULES[Spend.BALANCED].least_worth
    whole = fitting_worth.calibrate(chats)
    for name, other in (SETS, SETS[::-1]):
        across = fitting_worth.calibrate([row for row in chats if row.name == other])
        for fitted_on, scale in (("the other set", across), ("both sets", whole)):
            for group in (CHATS[0] if name == SETS[0] else CHATS[1], DOCUMENTS, *_WITHOUT_EVIDENCE):
                rows = [row for row in chats if row.name == name and row.group == group]
                if not rows:
                    continue
                tokens, found = fitting_worth.spent(rows, scale, least)
                title = f"{name}, {group}, fitted on {fitted_on}"
                yield plain(f"{title}: tokens recalled", tokens, note=f"of {len(rows)}")
                if group not in _WITHOUT_EVIDENCE:
                    yield plain(f"{title}: evidence of the candidates kept", found)


def _within(name: str, value: float, low: float, high: float, count: float) -> Figure:
    return Figure(name, value, target=f"{low:g} to {high:g}", holds=low <= value <= high, note=f"of {count:.0f}")


def _digest(data: Path) -> str:
    digest = hashlib.sha256(
        own_messages.TALK_FILE.read_bytes()
        + own_messages.PERSONAL_FILE.read_bytes()
        + MORE_FILE.read_bytes()
        + talks.FILE.read_bytes()
    )
    for file in sorted(file for name in (*SETS, "kb", follow_ups.FOLLOW_UPS) for file in (data / name).iterdir()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


_PROVENANCE = """Command: `python -m bench calibrate --data DIR --scale {scale:g}{only} --write-weights`, {rows} messages, {date}.
The SHA-256 of the data begins {digest}. Data: LoCoMo, REALTALK, chunking_evaluation, CANARD (measured on, never shipped), and
`small_talk.json`, `personal.json`, `leaning_messages.json` and `leaning_talks.json` in `bench/training` (own). Relevance is
calibrated by kind, on what recall brings to the default turn. A message asks for something if it is no small talk."""
_PERSONAL_PROVENANCE = """For {name}. Command: `python -m bench calibrate --data DIR --scale {scale:g}{only} --personal
--write-weights`, {rows} messages, {date}. The SHA-256 of the data begins {digest}. Data: as in `calibration`."""
