"""Measures the tokens that a turn recalls with default settings, and the evidence it finds: for real questions, questions about
other people, messages that nothing stored answers, and small talk.

Two services are asked, one after the other. The first holds conversations, with their observations as memories and the pages
compiled from them, and a base of documents. The second holds dialogs about texts, and people with memories and talks
(`bench.training.talks`, the half held back). Each real question is also asked with `spend` full, whose pool is the model's window
of 128,000 tokens; evidence is given as a share of the evidence found there. `--remote` adds a stand-in of a remote memory
service, over HTTP, in which each person has another person's memories: they answer nothing, so they must cost next to nothing.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean

import uvloop

from bench.figures import Figure, at_least, at_most, log_progress, plain, quantile
from bench.recall import cases, follow_ups
from bench.recall.asking import context_of
from bench.recall.cases import (
    ADVERSARIAL,
    SETS,
    Conversation,
    DocumentQuestion,
    Question,
    conversations,
    document_questions,
    squash,
)
from bench.recall.follow_ups import FollowUp
from bench.recall.measuring import served
from bench.recall.world import TENANT, THREAD, QuestionToAsk, World
from bench.training import talks
from bench.training.leaning_words import more_messages
from bench.training.own_messages import talk_messages
from sidecar.context.query_embedding import LATE
from sidecar.v1 import context_pb2
from sidecar.v1.items_pb2 import SOURCE_KNOWLEDGE, SOURCE_MEMORY
from store.scope import owner_uuid
from tests.stand_ins import hindsight

SMALL_TALK, STRANGERS, IN_LANGUAGES = "small talk", "about another person", "real questions in eight languages"
NOT_STORED, TALKS = "leaning on a thread, not stored", "follow-ups to memories"
_HALVES = ("fitted", "held")
_PER_CONVERSATION, _DOCUMENTS, _STRANGERS, _FOLLOW_UPS, _LEANING = 40, 8, 40, 160, 400
_THREADS = (follow_ups.VARIANTS[0], follow_ups.VARIANTS[2])
_SOURCES = frozenset({"thread", "memory", "knowledge", "wiki"})
_AT_ONCE, _PROGRESS_EVERY, _SMALL_TALK_FACTOR = 2, 100, 4
_BACKEND = """
[[hindsight]]
name = "memories"
tenant = "{tenant}"
url = "{url}"
"""

_Evidence = Callable[[context_pb2.Assembly], float]
"""How much of its evidence a context holds, in turns, characters or answers."""


@dataclass(slots=True)
class Spent:
    """The results of a group of messages: tokens in all and recalled, by message; how many recalled nothing; how many had no
    vector in time; the evidence found, and that found with `spend` full.
    """

    tokens: list[int] = field(default_factory=list)
    recalled: list[int] = field(default_factory=list)
    nothing: int = 0
    late: int = 0
    found: float = 0.0
    found_by_full: float = 0.0


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: the groups it counts in, its owner and thread, and the measure of its evidence if it is a real question."""

    groups: tuple[str, ...]
    owner: str
    text: str
    thread: str = THREAD
    evidence: _Evidence | None = None


def run(
    *, scale: float, data: Path, spend: str = "balanced", only: int | None = None, remote: bool = False
) -> list[Figure]:
    """Return the figures. `scale` is the share of the questions that are asked; of small talk, four times that share.

    `only` is the number of conversations of each set, if not all. `remote` adds a remote backend.
    """
    chats = [chat for name in SETS for chat in conversations(data, name)[:only]]
    if not remote:
        return figures(uvloop.run(_measured(chats, scale, data, spend)))
    with _remote_memories(chats) as backends:
        return figures(uvloop.run(_measured(chats, scale, data, spend, backends)))


def figures(spent: dict[str, Spent]) -> list[Figure]:
    """Return the figures of the groups."""
    results = []
    for name, one in spent.items():
        note, count = f"of {len(one.tokens)}, {one.late} by words alone", len(one.tokens)
        if name.startswith(SMALL_TALK):
            results.append(at_least(f"{name}: nothing recalled", one.nothing / count, 0.85, note=note))
            results.append(at_most(f"{name}: tokens recalled", fmean(one.recalled), 400))
        elif name in {STRANGERS, NOT_STORED}:
            results.append(at_most(f"{name}: tokens recalled", fmean(one.recalled), 1_500, note=note))
        elif name.startswith(IN_LANGUAGES):
            results.append(plain(f"{name}: nothing recalled", one.nothing / count, note=note))
        else:
            results.append(at_most(f"{name}: tokens in all", fmean(one.tokens), 5_000, note=note))
            results.append(plain(f"{name}: tokens in all, p95", quantile([*map(float, one.tokens)], 0.95)))
            results.append(plain(f"{name}: of them recalled", fmean(one.recalled)))
            results.append(at_least(f"{name}: evidence ÷ that of full", one.found / max(1e-9, one.found_by_full), 0.97))
            results.append(at_most(f"{name}: left with nothing", one.nothing / count, 0.01))
    return results


@contextmanager
def _remote_memories(chats: Sequence[Conversation]) -> Iterator[Path]:
    """Yield the backends file of a remote memory service in which each owner has the observations of another conversation."""
    facts = [chat.facts for chat in chats if chat.facts]
    owners = [chat.name for chat in chats] + [follow_ups.OWNER]
    with hindsight.serving() as fake, tempfile.TemporaryDirectory() as folder:
        for number, owner in enumerate(owners, start=1):
            fake.retain(str(owner_uuid(owner)), [{"content": fact.text} for fact in facts[number % len(facts)]])
        file = Path(folder, "backends.toml")
        file.write_text(_BACKEND.format(tenant=TENANT, url=fake.url))
        yield file


async def _measured(
    chats: Sequence[Conversation], scale: float, data: Path, spend: str, backends: Path | None = None
) -> dict[str, Spent]:
    spent: dict[str, Spent] = defaultdict(Spent)
    async with served(backends=backends) as world:
        log_progress(f"writing {len(chats)} conversations and the corpora")
        await world.fill(chats, data)
        log_progress(f"{await world.compile([chat for chat in chats if chat.facts])} pages")
        messages = list(_of_conversations(chats, document_questions(data), scale))
        messages += _small_talk([(chat.name, THREAD) for chat in chats], scale)
        messages += _not_stored([chat.name for chat in chats], scale)
        await _all(world, messages, spend, spent)
    async with served(backends=backends) as world:
        dialogs = follow_ups.dialogs(data)
        questions = random.Random(5).sample(follow_ups.questions(dialogs), round(_FOLLOW_UPS * min(1.0, scale)))
        log_progress(f"writing {len(dialogs)} texts, and threads of {len(questions)} follow-ups")
        await follow_ups.fill(world, dialogs, questions, _THREADS)
        messages = list(_of_dialogs(questions))
        messages += _small_talk([(follow_ups.OWNER, one.thread(_THREADS[0])) for one in questions], scale)
        people = talks.people("held")
        await talks.fill(world, people)
        messages += _of_talks(people)
        await _all(world, messages, spend, spent)
    return spent


def _of_conversations(
    chats: Sequence[Conversation], documents: Sequence[DocumentQuestion], scale: float
) -> Iterable[_Message]:
    """Yield for each conversation some of its own questions, of those to documents, and of another conversation's."""
    for place, conversation in enumerate(chats):
        chance = random.Random(f"spend {conversation.name}")
        group = SETS[0] if conversation.facts else SETS[1]
        own, others = (
            [q for q in one.questions if q.category != ADVERSARIAL] for one in (conversation, chats[place - 1])
        )
        for question in chance.sample(own, min(len(own), round(_PER_CONVERSATION * scale))):
            evidence = partial(_turns_found, conversation, question)
            yield _Message(("real questions", group), conversation.name, question.text, evidence=evidence)
        for document_question in chance.sample(documents, round(_DOCUMENTS * scale)):
            evidence = partial(_sentences_found, document_question)
            groups = ("real questions", "documents")
            yield _Message(groups, conversation.name, document_question.text, evidence=evidence)
        for question in chance.sample(others, round(_STRANGERS * scale)):
            yield _Message((STRANGERS,), conversation.name, question.text)


def _of_dialogs(questions: Iterable[FollowUp]) -> Iterable[_Message]:
    for question in questions:
        for variant in _THREADS:
            evidence = partial(_answer_found, squash(question.exchange.answer))
            groups = ("real questions", variant)
            yield _Message(groups, follow_ups.OWNER, question.exchange.typed, question.thread(variant), evidence)


def _of_talks(people: Iterable[talks.Person]) -> Iterable[_Message]:
    """Yield the messages of talks, in groups by whether a memory answers them."""
    for person in people:
        for place, talk in enumerate(person.talks):
            thread = f"talk-{place}"
            if talk.answers:
                evidence = partial(_memory_found, [person.memories[answer] for answer in talk.answers])
                yield _Message((TALKS, f"{TALKS}, {person.language}"), person.name, talk.message, thread, evidence)
            else:
                yield _Message((NOT_STORED,), person.name, talk.message, thread)


def _not_stored(owners: Sequence[str], scale: float) -> Iterable[_Message]:
    """Yield messages that lean on a thread, each in the conversation of one of these owners, which is about something else."""
    texts = more_messages("held")
    for place, message in enumerate(random.Random(6).sample(texts, round(_LEANING * min(1.0, scale)))):
        yield _Message((NOT_STORED,), owners[place % len(owners)], message)


def _small_talk(threads: Sequence[tuple[str, str]], scale: float) -> Iterable[_Message]:
    """Yield small talk, and real questions in eight languages, each in one of these owners' threads."""
    for half in _HALVES:
        for name, kind in ((SMALL_TALK, "small_talk"), (IN_LANGUAGES, "asking")):
            texts = talk_messages(kind, half)
            count = round(len(texts) * min(1.0, _SMALL_TALK_FACTOR * scale))
            drawn = sorted(random.Random(f"{half} {kind}").sample(range(len(texts)), count))
            for number, place in enumerate(drawn):
                owner, thread = threads[number % len(threads)]
                yield _Message((f"{name}, {half}",), owner, texts[place], thread)


async def _all(world: World, messages: Sequence[_Message], spend: str, spent: dict[str, Spent]) -> None:
    gate, done = asyncio.Semaphore(_AT_ONCE), 0

    async def one(message: _Message) -> None:
        nonlocal done
        async with gate:
            await _one(world, message, spend, [spent[group] for group in message.groups])
        done += 1
        if done % _PROGRESS_EVERY == 0 or done == len(messages):
            log_progress(f"{done} of {len(messages)} messages asked")

    async with asyncio.TaskGroup() as tasks:
        for message in messages:
            tasks.create_task(one(message))


async def _one(world: World, message: _Message, spend: str, groups: Sequence[Spent]) -> None:
    async def ask(knob: str) -> context_pb2.Assembly:
        return await world.ask(
            QuestionToAsk(message.owner, message.text, _SOURCES, None, thread=message.thread, spend=knob)
        )

    assembly = await ask(spend)
    found = found_by_full = 0.0
    if message.evidence is not None:
        found_by_full = message.evidence(await ask("full"))
        found = message.evidence(assembly)
    is_late = any(LATE in source.reason for source in assembly.sources)
    if is_late or (message.evidence and found < found_by_full):
        log_progress(
            f"{'late' if is_late else 'lost'}, {found:g} of {found_by_full:g}: {message.groups[-1]}: {message.text}"
        )
    for one in groups:
        one.tokens.append(assembly.budget.used_tokens)
        one.recalled.append(assembly.budget.used_tokens - assembly.stable_prefix_tokens)
        one.nothing += assembly.nothing_found
        one.late += is_late
        one.found += found
        one.found_by_full += found_by_full


def _turns_found(conversation: Conversation, question: Question, assembly: context_pb2.Assembly) -> float:
    """Return how many of the question's gold turns are in the context, verbatim or by an observation (a memory or on a page)."""
    context, gold = context_of(assembly), {*question.gold}
    verbatim, plain_text = squash(context), cases.plain(context)
    kept = {item.id.removeprefix("memory:fact-") for item in assembly.items if item.source == SOURCE_MEMORY}
    facts = (fact for n, fact in enumerate(conversation.facts) if str(n) in kept or squash(fact.text) in plain_text)
    covered = {turn for fact in facts for turn in fact.turns}
    covered |= {place for place in gold if squash(conversation.turns[place].text) in verbatim}
    return float(len(covered & gold))


def _sentences_found(question: DocumentQuestion, assembly: context_pb2.Assembly) -> float:
    """Return the share of the answer that is in the context, by characters of whole sentences."""
    context, wanted = squash(context_of(assembly)), sum(map(len, question.sentences))
    return sum(len(one) for one in question.sentences if one in context) / max(1, wanted)


def _memory_found(answers: Sequence[str], assembly: context_pb2.Assembly) -> float:
    """Return 1 if one of these memories is in the context, as a memory or on a page, else 0."""
    text = cases.plain(" ".join(item.text for item in assembly.items))
    return float(any(squash(one) in text for one in answers))


def _answer_found(answer: str, assembly: context_pb2.Assembly) -> float:
    text = squash(" ".join(item.text for item in assembly.items if item.source == SOURCE_KNOWLEDGE))
    return float(answer in text)
