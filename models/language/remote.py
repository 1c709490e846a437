"""A language model behind a wire: what every provider's adapter does alike.

A Wire sends one question and brings one reply. Here it is decided how to ask, whether to ask again, whether the reply is the
answer that was wanted, and what it cost.
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
from models.language.request_mode import ModelRequest, RequestMode, first_manner, next_manner
from models.language.schema import unchecked_keyword
from models.language.structured import kept_text, object_in
from models.tokens.catalog import CATALOG, Catalog, TokenSpending
from models.tokens.meters import meter_for
from models.transport.provider import Provider, RetryPolicy

_SCHEMA_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_MANNERS: Final = 256


class StopReason(StrEnum):
    """Why a model stopped."""

    WHOLE = "whole"
    CUT = "cut"
    REFUSED = "refused"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a provider sent back: the answer's text (a tool's input as JSON), and its own word for why it stopped."""

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
        """Return the reply to one question, asked once. Raises a ProviderError."""

    async def close(self) -> None:
        """Give back connections and threads."""


class RemoteModel:
    """A LanguageModel over a wire. Many may ask at once; a caller that gives up takes nothing from the others."""

    def __init__(self, wire: Wire, *, catalog: Catalog = CATALOG, patience: RetryPolicy | None = None) -> None:
        self._wire = wire
        self._catalog = catalog
        self._provider = Provider(wire.name, patience)
        self._manners: OrderedDict[tuple[str, str], RequestMode] = OrderedDict()

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        """Return the answer, whole and of the asked shape. Raises a ProviderError."""
        _check(request)
        place = (request.model_id, request.schema.name if request.schema else "")
        manner = self._manners.get(place) or first_manner(request)
        reply, manner, attempts = await self._asked(request, manner)
        self._remember(place, manner)
        answer, is_exact = _whole(self._answer(request, reply, attempts), reply, request, manner)
        if not is_exact:
            self._remember(place, replace(manner, is_strict=False))
        return answer

    async def close(self) -> None:
        """Give back connections and threads."""
        await self._wire.close()

    async def _asked(self, request: ConverseRequest, manner: RequestMode) -> tuple[Reply, RequestMode, int]:
        """Return the reply, the manner that the server took, and the requests sent."""
        now_s = asyncio.get_running_loop().time
        ends_s = now_s() + request.deadline_s
        cap_tokens = self._catalog.output_cap_tokens(request.model_id, request.max_output_tokens)
        sent = 0
        while True:
            ask = partial(self._wire.ask, ModelRequest(request, manner, cap_tokens))
            try:
                reply, attempts = await self._provider.ask(request.model_id, ask, deadline_s=ends_s - now_s())
            except ProviderError as error:
                sent = error.attempts = error.attempts + sent
                changed = _changed(manner, error)
                if changed is None:
                    raise
                manner = changed
            else:
                return reply, manner, attempts + sent

    def _remember(self, place: tuple[str, str], manner: RequestMode) -> None:
        self._manners[place] = manner
        self._manners.move_to_end(place)
        while len(self._manners) > _MOST_MANNERS:
            self._manners.popitem(last=False)

    def _answer(self, request: ConverseRequest, reply: Reply, attempts: int) -> ConverseAnswer:
        usage = reply.usage or _estimated(request, reply)
        spending = TokenSpending(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return ConverseAnswer(
            model_id=request.model_id,
            text=kept_text(reply.text),
            stop_reason=reply.stop_reason,
            usage=usage,
            cost_usd=self._catalog.cost_usd_of(request.model_id, spending),
            attempts=attempts,
        )


def _check(request: ConverseRequest) -> None:
    """Raise InvalidRequest for what no provider could answer."""
    schema = request.schema
    wrong = ""
    if not request.user.strip():
        wrong = "user is empty"
    elif request.max_output_tokens < 1:
        wrong = "max_output_tokens is below 1"
    elif schema is not None and not _SCHEMA_NAME.fullmatch(schema.name):
        wrong = "schema.name holds more than 1 to 64 of A-Z, a-z, 0-9, _ and -"
    elif schema is not None and (schema.schema.get("type") != "object" or unchecked_keyword(schema.schema)):
        wrong = unchecked_keyword(schema.schema) or "schema: its type is not object"
    if wrong:
        raise InvalidRequest(wrong, attempts=0)


def _changed(manner: RequestMode, error: ProviderError) -> RequestMode | None:
    if not isinstance(error, InvalidRequest) or isinstance(error, PromptTooLong | PromptRefused):
        return None
    return next_manner(manner, error.detail)


def _whole(
    answer: ConverseAnswer, reply: Reply, request: ConverseRequest, manner: RequestMode
) -> tuple[ConverseAnswer, bool]:
    """Return the answer with its object, and whether that fits the schema to the letter.

    Raises OutputTruncated, ModelRefused or MalformedOutput.
    """
    answer = replace(answer, form=manner.form)
    if reply.ending is StopReason.CUT:
        raise OutputTruncated(answer)
    if reply.ending is StopReason.REFUSED:
        raise ModelRefused(answer)
    if reply.ending is StopReason.MALFORMED:
        raise MalformedOutput(answer)
    if request.schema is None:
        if not answer.text.strip():
            raise MalformedOutput(answer, "no text")
        return answer, True
    parsed, reason = object_in(reply.text, request.schema.schema, request.schema.accepted)
    if parsed is None:
        raise MalformedOutput(answer, reason)
    return replace(answer, parsed=parsed), not reason


def _estimated(request: ConverseRequest, reply: Reply) -> TokenUsage:
    meter = meter_for(request.model_id)
    prompt, answer = meter.count([kept_text(request.system + request.user), kept_text(reply.text)])
    return TokenUsage(prompt, answer, is_estimated=True)
