"""A remote language model: the part shared by every provider's adapter.

A Wire sends one question and returns one reply. This module chooses the request mode, retries, validates the reply and
computes its cost.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final, Protocol

from models.errors import (
    InvalidRequest,
    MalformedOutput,
    ModelRefused,
    OutputTruncated,
    PromptRefused,
    PromptTooLong,
    ProviderError,
)
from models.language.language import ConverseAnswer, ConverseRequest, TokenUsage
from models.language.request_mode import ModelRequest, RequestMode, first_mode, next_mode
from models.language.schema import unchecked_keyword
from models.language.structured import kept_text, object_in, spoken_text
from models.tokens.catalog import CATALOG, Catalog, TokenSpending
from models.tokens.meters import meter_for
from models.transport.provider import Provider, RetryPolicy

_SCHEMA_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_MODES: Final = 256
_MOST_REASON_CHARS: Final = 100


class StopReason(StrEnum):
    """Why a model stopped generating."""

    WHOLE = "whole"
    CUT = "cut"
    REFUSED = "refused"
    MALFORMED = "malformed"


# By the words of Converse and of OpenAI's API, and those that gateways and other servers pass on from their models.
_ENDINGS: Final = {
    "length": StopReason.CUT,
    "max_tokens": StopReason.CUT,
    "model_length": StopReason.CUT,
    "model_context_window_exceeded": StopReason.CUT,
    "content_filter": StopReason.REFUSED,
    "content_filtered": StopReason.REFUSED,
    "guardrail_intervened": StopReason.REFUSED,
    "refusal": StopReason.REFUSED,
    "safety": StopReason.REFUSED,
    "recitation": StopReason.REFUSED,
    "error": StopReason.MALFORMED,
    "abort": StopReason.MALFORMED,
    "insufficient_system_resource": StopReason.MALFORMED,
    "malformed_model_output": StopReason.MALFORMED,
    "malformed_tool_use": StopReason.MALFORMED,
}


def ending_of(reason: str) -> StopReason:
    """Return what a provider's stop reason means; an unknown one ends a whole answer."""
    return _ENDINGS.get(reason.lower(), StopReason.WHOLE)


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's reply: the answer's text (a tool's input as JSON), and the provider's stop reason."""

    text: str
    stop_reason: str
    ending: StopReason
    usage: TokenUsage | None


class Wire(Protocol):
    """One provider's format."""

    @property
    def name(self) -> str:
        """The provider's name, for errors."""

    async def ask(self, question: ModelRequest, timeout_s: float) -> Reply:
        """Return the reply to one question, sent once. Raises a ProviderError."""

    async def close(self) -> None:
        """Release connections and threads."""


class RemoteModel:
    """A LanguageModel over a wire. Calls may run concurrently; a cancelled caller does not affect others."""

    def __init__(self, wire: Wire, *, catalog: Catalog = CATALOG, patience: RetryPolicy | None = None) -> None:
        self._wire = wire
        self._catalog = catalog
        self._provider = Provider(wire.name, patience)
        self._modes: OrderedDict[tuple[str, str], RequestMode] = OrderedDict()

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        """Return a complete answer in the requested shape. Raises a ProviderError."""
        _check(request)
        key = (request.model_id, request.schema.name if request.schema else "")
        mode = self._modes.get(key) or first_mode(request)
        reply, mode, attempts = await self._reply(request, mode)
        self._cache_mode(key, mode)
        answer, is_exact = _validated(self._answer(request, reply, attempts), reply, request, mode)
        if not is_exact:
            self._cache_mode(key, replace(mode, is_strict=False))
        return answer

    async def close(self) -> None:
        """Release connections and threads."""
        await self._wire.close()

    async def _reply(self, request: ConverseRequest, mode: RequestMode) -> tuple[Reply, RequestMode, int]:
        """Return the reply, the request mode that the server accepted, and the number of requests sent."""
        now_s = asyncio.get_running_loop().time
        ends_s = now_s() + request.deadline_s
        cap_tokens = self._catalog.output_cap_tokens(request.model_id, request.max_output_tokens)
        sent = 0
        while True:
            ask = partial(self._wire.ask, ModelRequest(request, mode, cap_tokens))
            try:
                reply, attempts = await self._provider.ask(request.model_id, ask, deadline_s=ends_s - now_s())
            except ProviderError as error:
                sent = error.attempts = error.attempts + sent
                changed = _changed(mode, error)
                if changed is None:
                    raise
                mode = changed
            else:
                return reply, mode, attempts + sent

    def _cache_mode(self, key: tuple[str, str], mode: RequestMode) -> None:
        self._modes[key] = mode
        self._modes.move_to_end(key)
        while len(self._modes) > _MOST_MODES:
            self._modes.popitem(last=False)

    def _answer(self, request: ConverseRequest, reply: Reply, attempts: int) -> ConverseAnswer:
        usage = reply.usage or _estimated(request, reply)
        spending = TokenSpending(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return ConverseAnswer(
            model_id=request.model_id,
            text=kept_text(reply.text),
            stop_reason=kept_text(reply.stop_reason[:_MOST_REASON_CHARS]),
            usage=usage,
            cost_usd=self._catalog.cost_usd_of(request.model_id, spending),
            attempts=attempts,
        )


def _check(request: ConverseRequest) -> None:
    """Raise InvalidRequest for a request that no provider could answer."""
    schema = request.schema
    problem = ""
    if not request.user.strip():
        problem = "user is empty"
    elif request.max_output_tokens < 1:
        problem = "max_output_tokens is below 1"
    elif schema is not None and not _SCHEMA_NAME.fullmatch(schema.name):
        problem = "schema.name is not 1 to 64 of A-Z, a-z, 0-9, _ and -"
    elif schema is not None and (schema.schema.get("type") != "object" or unchecked_keyword(schema.schema)):
        problem = unchecked_keyword(schema.schema) or "schema: its type is not object"
    if problem:
        raise InvalidRequest(problem, attempts=0)


def _changed(mode: RequestMode, error: ProviderError) -> RequestMode | None:
    if not isinstance(error, InvalidRequest) or isinstance(error, PromptTooLong | PromptRefused):
        return None
    return next_mode(mode, error.detail)


def _validated(
    answer: ConverseAnswer, reply: Reply, request: ConverseRequest, mode: RequestMode
) -> tuple[ConverseAnswer, bool]:
    """Return the answer with its parsed object, and whether the object fits the schema exactly.

    Raises OutputTruncated, ModelRefused or MalformedOutput.
    """
    answer = replace(answer, form=mode.form)
    if reply.ending is StopReason.CUT:
        raise OutputTruncated(answer)
    if reply.ending is StopReason.REFUSED:
        raise ModelRefused(answer)
    if reply.ending is StopReason.MALFORMED:
        raise MalformedOutput(answer)
    if request.schema is None:
        text = spoken_text(answer.text)
        if not text.strip():
            raise MalformedOutput(answer, "no text")
        return replace(answer, text=text), True
    parsed, reason = object_in(reply.text, request.schema.schema, request.schema.accepted)
    if parsed is None:
        raise MalformedOutput(answer, reason)
    return replace(answer, parsed=parsed), not reason


def _estimated(request: ConverseRequest, reply: Reply) -> TokenUsage:
    meter = meter_for(request.model_id)
    prompt, answer = meter.count([kept_text(request.system + request.user), kept_text(reply.text)])
    return TokenUsage(prompt, answer, is_estimated=True)
