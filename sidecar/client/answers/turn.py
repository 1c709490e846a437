"""The service's answers to an agent's calls, as frozen values. `decoding` makes them from messages.

Fields have the names of the contract. A field with a default may be absent from an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from sidecar.client.encoding import NewTurn
from sidecar.client.knobs import Knobs
from sidecar.client.shapes import Conversation, Message, SystemBlock, providers

V = TypeVar("V")

_ROLES_OF_A_ROUND = ("assistant", "tool", "user")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of an item: its kind, its id, and a display name."""

    kind: str
    ref: str
    label: str


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of context in the assembly. `text` is empty unless the request's `detail` asks for items or decisions."""

    source: str
    id: str
    text: str
    tokens: int
    form: str
    score: float
    rank: int
    provenance: tuple[Provenance, ...]
    mark: str
    freshness_time: datetime | None = None
    confidence: float | None = None
    authority: str = ""


@dataclass(frozen=True, slots=True)
class CandidateDecision:
    """One candidate with the decision on it, and the reason."""

    source: str
    item_id: str
    decision: str
    reason: str
    form: str
    tokens: int
    score: float
    rank: int
    into_item_id: str
    confidence: float | None = None
    authority: str = ""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The report of one source in an assembly."""

    source: str
    status: str
    reason: str
    latency_ms: float
    attempt_count: int
    offered_count: int
    included_count: int
    shortened_count: int
    dropped_count: int
    included_tokens: int
    offered_tokens: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The computation of the pool, in the model's tokens."""

    window_tokens: int
    system_tokens: int
    tool_tokens: int
    response_reserve_tokens: int
    message_tokens: int
    headroom_tokens: int
    pool_tokens: int
    used_tokens: int
    tokenizer: str
    is_exact: bool


@dataclass(frozen=True, slots=True)
class MessageReading:
    """The reading of the message: its parts, the words of its thread searched beside its own, and its leaning on the thread.

    `leaning` is from 0 to 1: the weight that the message in its thread has in every relevance. `asks` is the probability that the
    message asks for recalled content, `holds` that an answer is among the candidates. `days` are those that the message names.
    `days_searched` is set if it asks for hardly more, so that the turns and memories of these days were searched too.
    """

    parts: tuple[str, ...]
    thread_words: tuple[str, ...] = ()
    leaning: float = 0.0
    asks: float = 1.0
    holds: float = 1.0
    days: tuple[str, ...] = ()
    days_searched: bool = False


@dataclass(frozen=True, slots=True)
class Assembly:
    """The context for the model, with the decisions behind it; one call turns it into a provider's request.

    The four `to_` methods take the user's message and the caller's own system prompt, which precedes the blocks.
    Set `has_tools` to False if the request will define no tools. They raise shapes.EmptyMessage.

    The recalled text is before the message in the user's last message. Store only the message, because the next assembly recalls
    again. After a tool call within the turn, use the same assembly with the calls and results so far as `tool_turns`, each a
    Message or the NewTurn that records it: nothing is recalled again, and the provider can cache everything before them.

    `decisions` are empty unless the request's `detail` asks for them; `explain_assembly` has them in any case.

    `conversation_missing` means that the thread's recent turns could not be read, and the profile allows that; the requests
    tell the model so. `nothing_found` means that no item was worth its tokens; a replay with `spend` full shows the omitted
    items.
    """

    receipt_id: str
    items: tuple[Item, ...]
    system_blocks: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    budget: Budget
    sources: tuple[SourceReport, ...]
    decisions: tuple[CandidateDecision, ...]
    degraded: bool
    profile_version: str
    content_sha256: str
    stable_prefix_tokens: int
    last_exchange_cut: bool
    conversation_missing: bool = False
    reading: MessageReading | None = None
    nothing_found: bool = False

    def to_bedrock_converse(
        self,
        user_message: str,
        *,
        system: str = "",
        has_tools: bool = True,
        max_cache_points: int = 4,
        tool_turns: Sequence[Message | NewTurn] = (),
    ) -> dict[str, Any]:
        """Return the keyword arguments `system` and `messages` of a Bedrock Converse call.

        Set `max_cache_points` to 0 for a model without a prompt cache, which would refuse cache points.
        """
        return providers.to_bedrock_converse(
            self._conversation(user_message, system, has_tools, tool_turns, max_cache_points)
        )

    def to_anthropic(
        self,
        user_message: str,
        *,
        system: str = "",
        has_tools: bool = True,
        max_cache_points: int = 4,
        tool_turns: Sequence[Message | NewTurn] = (),
    ) -> dict[str, Any]:
        """Return the keyword arguments `system` and `messages` of an Anthropic Messages call.

        Reduce `max_cache_points` by the cache points set elsewhere in the request: four are allowed in total.
        """
        return providers.to_anthropic(self._conversation(user_message, system, has_tools, tool_turns, max_cache_points))

    def to_openai(
        self,
        user_message: str,
        *,
        system: str = "",
        has_tools: bool = True,
        tool_turns: Sequence[Message | NewTurn] = (),
    ) -> dict[str, Any]:
        """Return the keyword argument `messages` of an OpenAI Chat Completions call."""
        return providers.to_openai(self._conversation(user_message, system, has_tools, tool_turns))

    def to_openai_responses(
        self,
        user_message: str,
        *,
        system: str = "",
        has_tools: bool = True,
        tool_turns: Sequence[Message | NewTurn] = (),
    ) -> dict[str, Any]:
        """Return the keyword arguments `input` and `instructions` of an OpenAI Responses call.

        The input has the whole conversation: do not send `previous_response_id` or `conversation` beside it.
        """
        return providers.to_openai_responses(self._conversation(user_message, system, has_tools, tool_turns))

    def _conversation(
        self,
        message: str,
        system: str,
        has_tools: bool,
        tool_turns: Sequence[Message | NewTurn],
        max_cache_points: int = 0,
    ) -> Conversation:
        return Conversation(
            message,
            self.messages,
            self.system_blocks,
            system,
            has_tools,
            max_cache_points,
            is_history_missing=self.conversation_missing,
            tool_turns=[_message(turn) for turn in tool_turns],
        )


def _message(turn: Message | NewTurn) -> Message:
    """Return a tool turn as the message to send.

    Raises TypeError for another value, such as a provider's own message, and ValueError for a role that would lose its content.
    """
    if not isinstance(turn, Message | NewTurn):
        raise TypeError(f"tool_turns: has a value of type {type(turn).__name__}; pass each as a Message or a NewTurn.")
    if turn.role not in _ROLES_OF_A_ROUND:
        raise ValueError(f"tool_turns: has the role {turn.role!r}; send one of {', '.join(_ROLES_OF_A_ROUND)}.")
    return turn if isinstance(turn, Message) else Message(turn.role, turn.text, tuple(turn.parts))


@dataclass(frozen=True, slots=True)
class UsageEffect:
    """The effect of a usage report: the expected input tokens, and the model's ratio of counted to expected tokens."""

    expected_input_tokens: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Appended:
    """The written turns: all ids in the order sent, and the number of new ones."""

    turn_ids: tuple[str, ...]
    appended_count: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The usage a caller reported for an assembly."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    used_item_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A stored assembly: the request, the candidates, and the decisions with their reasons."""

    receipt_id: str
    agent_id: str
    thread_id: str
    model_id: str
    message: str
    profile_version: str
    profile: Knobs
    budget: Budget
    sources: tuple[SourceReport, ...]
    decisions: tuple[CandidateDecision, ...]
    degraded: bool
    content_sha256: str
    duration_ms: float
    create_time: datetime | None = None
    usage: UsageReport | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reading: MessageReading | None = None


@dataclass(frozen=True, slots=True)
class Retained:
    """The written memories: their ids in the order sent, and the numbers of new ones and of those with a changed text.

    `compile_outcome` is the result of the request to compile them: enqueued, deduped, skipped_flag_off or failed.
    """

    memory_ids: tuple[str, ...]
    created_count: int
    updated_count: int
    compile_outcome: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[V]):
    """One page of a list; `next_page_token` is empty at the end."""

    values: tuple[V, ...]
    next_page_token: str
