"""Asks the real small model through the adapter, says what came of it, and ends with 1 if anything was not as promised."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bench.databases import own_database
from compiler.settings import Costs
from models.errors import ModelsError, ModelTimeout, OutputTruncated
from models.language.language import AnswerSchema, ConverseAnswer, ConverseRequest
from models.language.openai_compatible import openai_model
from models.language.remote import RemoteModel
from models.transport.openai_client import OpenAIConfig
from store.compile import ledger
from store.compile.jobs import JobStatus
from store.compile.ledger import MemoryOutcome
from store.db.postgres import PoolsConfig, open_pools, scoped
from tests.llm.install import NotInstalled, installed
from tests.support.compiler.careful_model import memories
from tests.support.compiler.compiling import SCOPE, all_jobs, worker_on, write_and_request
from tests.support.compiler.model_engines import engine_with
from tests.support.compiler.quality_table import quality_table

ROOT = Path(__file__).parents[2]
# The model's context holds 8,192 tokens, of which a plan's prompt takes most; one thread writes some tens of tokens a second.
SMALL_COSTS = Costs(planner_output_tokens=700, section_output_tokens=200, call_deadline_s=900.0)
SHAPE = AnswerSchema(
    "places",
    {
        "type": "object",
        "properties": {
            "pages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string"},
                        "kind": {"type": "string", "enum": ["entity", "topic"]},
                    },
                    "required": ["title", "kind"],
                    "additionalProperties": False,
                },
                "minItems": 1,
                "maxItems": 3,
            }
        },
        "required": ["pages"],
        "additionalProperties": False,
    },
)


def request(
    user: str, *, schema: AnswerSchema | None = None, cap_tokens: int = 160, deadline_s: float = 300
) -> ConverseRequest:
    """Return a question to the model."""
    return ConverseRequest(
        "smollm2-135m-instruct", "You are a librarian. Be brief.", user, cap_tokens, deadline_s, schema
    )


async def gives_a_text(model: RemoteModel) -> str:
    """Expect a text with the model's own count of its tokens."""
    answer = await model.converse(request("Say hello in five words."))
    assert answer.text.strip(), answer
    assert not answer.usage.is_estimated, answer
    return told(answer)


async def gives_an_object(model: RemoteModel) -> str:
    """Expect an object of the shape, by the server's own structured output."""
    user = "We ate at Nonna's in Lisbon, then walked to Belém. List the places as pages."
    answer = await model.converse(request(user, schema=SHAPE, cap_tokens=400))
    assert answer.parsed, answer
    assert answer.form == "json_schema", answer
    return told(answer)


async def is_cut_at_the_cap(model: RemoteModel) -> str:
    """Expect the failure that has a name of its own."""
    try:
        await model.converse(request("Tell me a long story about a boat.", cap_tokens=8))
    except OutputTruncated as cut:
        return told(cut.answer)
    raise AssertionError("the answer was not cut")


async def is_given_up_in_time(model: RemoteModel) -> str:
    """Expect a deadline to end the request, and the server to be there for the next one."""
    try:
        await model.converse(request("Tell me a long story about a boat.", cap_tokens=1_000, deadline_s=0.2))
    except ModelTimeout:
        return told(await model.converse(request("Say yes.", cap_tokens=40)))
    raise AssertionError("a thousand tokens came within 0.2 s")


async def compiles_memories(model: RemoteModel) -> str:
    """Expect a compile to end with every memory read or quarantined, or to fail with the rest unread; tell its table."""
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        try:
            engine = engine_with(pools, model, costs=SMALL_COSTS)
            small = replace(engine.settings, caps=replace(engine.settings.caps, record_page_size=3))
            await write_and_request(pools, memories())
            await worker_on(pools, replace(engine, settings=small)).drain_scope(SCOPE)
            found = await quality_table(pools, len(memories()))
            jobs = await all_jobs(pools)
            async with scoped(pools.background, SCOPE, read_only=True) as connection:
                read = await ledger.read_all(connection, SCOPE)
        finally:
            await pools.close()
    told = {one.memory_id for one in memories()}
    has_failed = any(job.status is JobStatus.FAILED for job in jobs)
    assert read.keys() == told or (read.keys() < told and has_failed), [job.error for job in jobs]
    outcomes = Counter(one.outcome for one in read.values())
    assert outcomes.keys() <= {MemoryOutcome.APPLIED, MemoryOutcome.QUARANTINED}, outcomes
    assert found["memories cited"] <= outcomes[MemoryOutcome.APPLIED] / len(told), found
    ended = [job.error or job.status.value for job in jobs]
    return f"{', '.join(dict.fromkeys(ended))}; {', '.join(f'{name} {value:g}' for name, value in found.items())}"


CHECKS: tuple[Callable[[RemoteModel], Awaitable[str]], ...] = (
    gives_a_text,
    gives_an_object,
    is_cut_at_the_cap,
    is_given_up_in_time,
    compiles_memories,
)


def told(answer: ConverseAnswer) -> str:
    """Return an answer on one line."""
    return f"{answer.input_tokens} tokens in, {answer.output_tokens} out, {answer.form}: {' '.join(answer.text.split())[:100]}"


@asynccontextmanager
async def served(home: Path, weights: Path) -> AsyncIterator[RemoteModel]:
    """The adapter, at a server with the model."""
    script = Path(__file__).with_name("server.mjs")
    process = await asyncio.create_subprocess_exec("node", script, home, weights, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        port = (await process.stdout.readline()).decode().strip()
        model = openai_model(OpenAIConfig(f"http://127.0.0.1:{port}/v1"))
        yield model
        await model.close()
    finally:
        process.kill()
        await process.wait()


async def main() -> int:
    """Run every check; return the number of those that failed."""
    home = ROOT / ".llm"
    try:
        weights = installed(home)
    except NotInstalled as missing:
        print(f"{missing.__doc__}\n{missing}", file=sys.stderr)
        return 1
    failed = 0
    async with served(home, weights) as model:
        for check in CHECKS:
            try:
                print(f"ok    {check.__name__}: {await check(model)}")
            except (AssertionError, ModelsError) as wrong:
                failed += 1
                print(f"FAIL  {check.__name__}: {wrong}")
    return failed


if __name__ == "__main__":
    sys.exit(min(asyncio.run(main()), 1))
