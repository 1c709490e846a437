"""A language model that fails, is late or cannot be reached: what is asked again, what is not, and what is said."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys

import pytest

from models.errors import (
    AccessDenied,
    CredentialsMissing,
    InvalidRequest,
    ModelNotFound,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    ProviderError,
    Throttled,
)
from models.language.bedrock import bedrock_model
from models.language.openai_compatible import openai_model
from models.language.remote import RemoteModel, Reply, StopReason
from models.language.request_mode import ModelRequest
from models.transport.bedrock_runtime import BedrockConfig
from models.transport.openai_client import OpenAIClient, OpenAIConfig
from models.transport.provider import RetryPolicy
from tests.stand_ins import hindsight
from tests.stand_ins.hindsight import FakeHindsight, Refusal
from tests.stand_ins.model_script import (
    DENIED,
    EXPIRED,
    TOO_LONG,
    UNKNOWN_MODEL,
    Behaviour,
    Break,
    Drip,
    Gate,
    HangUp,
    Late,
    Raw,
    Refuse,
    Say,
    Throttle,
    Trickle,
)
from tests.stand_ins.model_server import ModelServer
from tests.support.models.questions import DEADLINE_S, HASTY, KEY, LISBON, question, shaped
from tests.support.places import ROOT

HOLD_S = 60.0


async def arrived(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.arrived.wait, HOLD_S)


@pytest.mark.parametrize(
    "fault",
    [Throttle(), Throttle("0"), Break(500), Break(503), Break(529), HangUp(), HangUp(is_silent=True)],
    ids=["throttle", "with a delay", "500", "503", "529", "half an answer", "silence"],
)
async def test_throttles_and_server_failures_are_retried(
    model: RemoteModel, site: ModelServer, fault: Behaviour
) -> None:
    site.then(fault, fault, Say(LISBON))
    answer = await model.converse(shaped())
    assert (answer.parsed, answer.attempts, len(site.asks)) == (LISBON, 3, 3)


async def test_retries_end(model: RemoteModel, site: ModelServer) -> None:
    site.by_request = lambda _: Throttle()
    with pytest.raises(Throttled) as failed:
        await model.converse(question())
    assert failed.value.attempts == len(site.asks) == HASTY.max_attempts


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (EXPIRED, AccessDenied),
        (DENIED, AccessDenied),
        (TOO_LONG, PromptTooLong),
        (UNKNOWN_MODEL, ModelNotFound),
        (Refuse(408, "ModelTimeoutException", "too slow"), ModelTimeout),
        (Refuse(400, "ValidationException", "stop sequences"), InvalidRequest),
    ],
    ids=["expired", "denied", "too long", "unknown", "timed out", "invalid"],
)
async def test_refusal_is_named_and_not_retried(
    model: RemoteModel, site: ModelServer, refusal: Refuse, kind: type[ProviderError]
) -> None:
    site.then(refusal)
    with pytest.raises(kind) as failed:
        await model.converse(question())
    assert type(failed.value) is kind
    assert failed.value.attempts == len(site.asks) == 1


async def test_delay_beyond_the_deadline_is_returned_to_the_caller(model: RemoteModel, site: ModelServer) -> None:
    site.then(Throttle("7200"))
    with pytest.raises(Throttled) as failed:
        await model.converse(question())
    assert (failed.value.retry_after_s, failed.value.attempts) == (7200.0, 1)


async def test_too_long_a_prompt_is_not_tried_in_other_modes(model: RemoteModel, site: ModelServer) -> None:
    site.then(TOO_LONG)
    with pytest.raises(PromptTooLong):
        await model.converse(shaped())
    assert len(site.asks) == 1


async def test_model_that_keeps_failing_is_no_longer_asked_and_another_still_is(
    model: RemoteModel, site: ModelServer
) -> None:
    site.by_request = lambda ask: Break() if ask.model_id == "sick.one" else Say("ok")
    errors = [await failure(model) for _ in range(3)]
    assert len(site.asks) < 3 * HASTY.max_attempts
    assert errors[-1].attempts == 0
    assert errors[-1].retry_after_s
    assert (await model.converse(question(model_id="well.one"))).text == "ok"


async def failure(model: RemoteModel) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as failed:
        await model.converse(question(model_id="sick.one"))
    return failed.value


async def test_late_answer_is_abandoned_at_the_deadline(model: RemoteModel, site: ModelServer) -> None:
    gate = Gate()
    site.then(Late(gate, Say("too late")))
    with pytest.raises(ModelTimeout) as late:
        await model.converse(question(deadline_s=0.5))
    assert late.value.attempts == 1
    gate.open()


async def test_body_in_several_parts_is_awaited(model: RemoteModel, site: ModelServer) -> None:
    gate = Gate()
    site.then(Drip(gate, Say(LISBON)))
    asking = asyncio.create_task(model.converse(shaped()))
    await arrived(gate)
    gate.open()
    assert (await asking).parsed == LISBON


async def test_body_that_stops_halfway_is_abandoned_at_the_deadline(model: RemoteModel, site: ModelServer) -> None:
    gate = Gate()
    site.then(Drip(gate, Say(LISBON)))
    with pytest.raises(ModelTimeout):
        await model.converse(shaped(deadline_s=0.5))
    gate.open()


async def test_cancelled_caller_does_not_disturb_the_others(model: RemoteModel, site: ModelServer) -> None:
    first, second = Gate(), Gate()
    site.by_request = lambda ask: Late(first if ask.user == "one" else second, Say(ask.user))
    one = asyncio.create_task(model.converse(question(user="one")))
    two = asyncio.create_task(model.converse(question(user="two")))
    await arrived(first)
    await arrived(second)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    second.open()
    assert (await two).text == "two"
    first.open()


async def test_cancelling_closes_the_socket(compatible: RemoteModel, site: ModelServer) -> None:
    gate = Gate()
    site.then(Late(gate, Say("nobody listens")))
    asking = asyncio.create_task(compatible.converse(question()))
    await arrived(gate)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(gate.gone.wait, HOLD_S)


async def test_concurrent_bedrock_calls_are_limited(site: ModelServer, aws_keys: None) -> None:
    model = bedrock_model(BedrockConfig("eu-west-1", site.url, max_calls=2), patience=HASTY)
    gates = [Gate() for _ in range(4)]
    site.by_request = lambda ask: Late(gates[int(ask.user)], Say(ask.user))
    asking = [asyncio.create_task(model.converse(question(user=str(n)))) for n in range(4)]
    await arrived(gates[0])
    await arrived(gates[1])
    assert len(site.asks) == 2
    for gate in gates:
        gate.open()
    assert [answer.text for answer in await asyncio.gather(*asking)] == ["0", "1", "2", "3"]
    await model.close()


async def test_abandoned_call_holds_its_slot_only_while_it_runs(site: ModelServer, aws_keys: None) -> None:
    model = bedrock_model(BedrockConfig("eu-west-1", site.url, max_calls=1), patience=HASTY)
    gate = Gate()
    site.then(Late(gate, Say("given up")))
    first = asyncio.create_task(model.converse(question()))
    await arrived(gate)
    first.cancel()
    second = asyncio.create_task(model.converse(question(user="next")))
    gate.open()
    assert (await second).text == "ok"
    await model.close()


async def test_answer_that_trickles_without_end_gives_its_slot_back(site: ModelServer, aws_keys: None) -> None:
    config = BedrockConfig("eu-west-1", site.url, max_calls=1, read_timeout_s=0.5)
    model = bedrock_model(config, patience=RetryPolicy(max_attempts=1, fair_wait_s=600.0))
    gate = Gate()
    site.then(Trickle(gate))
    with pytest.raises(ModelTimeout):
        await model.converse(question(deadline_s=0.2))
    assert (await model.converse(question(user="next"))).text == "ok"
    assert not gate.opened.is_set()
    gate.open()
    await model.close()


async def test_answer_of_a_server_that_sends_too_much_is_not_kept(model: RemoteModel, site: ModelServer) -> None:
    said = b'{"output": {"message": {"content": [{"text": "ok"}]}}, "choices": [{"message": {"content": "ok"}}]}'
    site.then(Raw(said), *[Raw(said + b" " * 2**25)] * 4)
    assert (await model.converse(question())).text == "ok"
    with pytest.raises(ModelUnavailable):
        await model.converse(question())


SCRIPT = """
import asyncio, sys
from models.language.bedrock import bedrock_model
from models.transport.bedrock_runtime import BedrockConfig
from models.errors import ModelTimeout
from models.language.language import ConverseRequest

async def main():
    model = bedrock_model(BedrockConfig("eu-west-1", sys.argv[1]))
    try:
        await model.converse(ConverseRequest("some.model", "", "hello", 10, 1.0))
    except ModelTimeout:
        print("late")

asyncio.run(main())
"""


def test_abandoned_call_does_not_keep_the_process_alive(site: ModelServer, aws_keys: None) -> None:
    site.by_request = lambda _: Late(Gate(), Say("never"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, site.url], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("late\n", 0), done.stderr


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
async def test_bedrock_without_credentials_fails_until_they_appear(
    site: ModelServer, aws_keys: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(name)
    model = bedrock_model(BedrockConfig("eu-west-1", site.url), patience=HASTY)
    with pytest.raises(CredentialsMissing):
        await model.converse(question())
    assert not site.asks
    monkeypatch.setenv(name, KEY)
    assert (await model.converse(question())).text == "ok"
    await model.close()


@pytest.mark.parametrize("key", ["", "schlüssel", "two\nlines"])
async def test_reference_to_no_usable_key_is_reported(site: ModelServer, key: str) -> None:
    model = openai_model(OpenAIConfig(f"{site.url}/v1", lambda: key), patience=HASTY)
    with pytest.raises(CredentialsMissing) as failed:
        await model.converse(question())
    assert not site.asks
    assert not key or key not in str(failed.value)
    await model.close()


async def test_renewed_key_is_used_at_the_next_call(site: ModelServer) -> None:
    keys = iter(["sk-old", KEY])
    config = OpenAIConfig(f"{site.url}/v1", lambda: next(keys))
    model = openai_model(config, patience=HASTY)
    with pytest.raises(AccessDenied) as failed:
        await model.converse(question())
    assert "sk-old" not in f"{failed.value!s} {failed.value!r} {config!r}"
    assert (await model.converse(question())).text == "ok"
    await model.close()


async def test_address_without_a_listener_is_unavailable(aws_keys: None) -> None:
    nobody = "http://127.0.0.1:1"
    for model in (
        bedrock_model(BedrockConfig("eu-west-1", nobody), patience=HASTY),
        openai_model(OpenAIConfig(nobody), patience=HASTY),
    ):
        with pytest.raises(ModelUnavailable) as failed:
            await model.converse(question())
        assert failed.value.attempts == HASTY.max_attempts
        await model.close()


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://a/b", "http://me:secret@a/v1", "http://", "http://[::1"])
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as failed:
        openai_model(OpenAIConfig(url))
    assert "secret" not in str(failed.value)


def test_bedrock_without_a_region_is_refused(aws_keys: None) -> None:
    with pytest.raises(InvalidRequest, match="region"):
        bedrock_model(BedrockConfig())
    with pytest.raises(InvalidRequest, match="URL"):
        bedrock_model(BedrockConfig("eu-west-1", "no url"))


class Slow:
    """A wire that refuses all but text, and notes the time it was given."""

    name = "slow"

    def __init__(self) -> None:
        self.timeouts_s: list[float] = []

    async def ask(self, question: ModelRequest, timeout_s: float) -> Reply:
        self.timeouts_s.append(timeout_s)
        if question.schema is not None:
            raise InvalidRequest("not in this form")
        return Reply('{"city": "Lisboa", "visits": 3}', "stop", StopReason.WHOLE, None)

    async def close(self) -> None:
        pass


async def test_every_mode_is_tried_within_one_deadline() -> None:
    wire = Slow()
    assert (await RemoteModel(wire).converse(shaped())).attempts == 3
    assert DEADLINE_S >= wire.timeouts_s[0] > wire.timeouts_s[1] > wire.timeouts_s[2]


async def test_model_may_be_named_by_its_arn(bedrock: RemoteModel, site: ModelServer) -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
    answer = await bedrock.converse(question(model_id=arn))
    assert site.asks[0].model_id == arn
    assert answer.cost_usd


async def test_unusable_bedrock_model_id_is_invalid(bedrock: RemoteModel, site: ModelServer) -> None:
    with pytest.raises(InvalidRequest):
        await bedrock.converse(question(model_id=""))
    assert not site.asks


def test_key_is_in_nothing_that_is_printed() -> None:
    assert KEY not in repr(OpenAIConfig("http://a/v1", KEY.strip))
    assert not [name for name, value in os.environ.items() if value == KEY]


async def test_compressed_answer_of_a_server_is_not_expanded() -> None:
    bomb = Refusal(200, gzip.compress(b'{"choices": []}'), {"Content-Encoding": "gzip"})
    with hindsight.serving(FakeHindsight(refusals=[bomb])) as site:
        client = OpenAIClient(OpenAIConfig(f"{site.url}/v1"))
        with pytest.raises(ModelUnavailable, match="compressed as 'gzip'"):
            await client.post("/chat/completions", {})
        await client.close()
