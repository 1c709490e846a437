"""The requests and the scripted behaviour of a model server, common to every format."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, as a format read it. `form` is the means of structured output used; `texts` are those to embed."""

    api: str
    model_id: str
    system: str = ""
    user: str = ""
    form: str = "text"
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None
    max_output_tokens: int = 0
    temperature: float | None = None
    texts: tuple[str, ...] = ()
    dimensions: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer: an object is given as the asked form wants it, a text as it is. Tokens not given are made from lengths."""

    value: str | Mapping[str, Any]
    thoughts: str = ""
    cached_tokens: int = 0
    has_usage: bool = True


@dataclass(frozen=True, slots=True)
class Cut:
    """An answer that stops at the output limit."""

    text: str


@dataclass(frozen=True, slots=True)
class Decline:
    """An answer that a filter held back."""

    text: str = "I cannot help with that."


@dataclass(frozen=True, slots=True)
class Garble:
    """An answer that the provider itself calls malformed, where its format has a word for it."""

    text: str = '{"a":'


@dataclass(frozen=True, slots=True)
class Throttle:
    """Too many calls; `retry_after` is the header's text."""

    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A failure of the server's own."""

    status: int = 503


@dataclass(frozen=True, slots=True)
class Refuse:
    """A refusal: a status, the provider's code and message."""

    status: int = 400
    code: str = "ValidationException"
    message: str = "no"


@dataclass(frozen=True, slots=True)
class Vectors:
    """These vectors, whatever was asked."""

    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes as the body."""

    body: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class HangUp:
    """A connection closed when half of the body was sent; or, with nothing said at all, before the head."""

    is_silent: bool = False


class Gate:
    """What a late answer waits for. `arrived` is set when the request is there, `gone` when its caller has hung up."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.opened = threading.Event()
        self.gone = threading.Event()

    def open(self) -> None:
        """Let the answer go."""
        self.opened.set()


@dataclass(frozen=True, slots=True)
class Late:
    """An answer behind a gate."""

    gate: Gate
    then: Behaviour


@dataclass(frozen=True, slots=True)
class Drip:
    """An answer of which half the body is sent, and the rest when the gate opens."""

    gate: Gate
    then: Behaviour


@dataclass(frozen=True, slots=True)
class Trickle:
    """A body that does not end: a byte every few milliseconds until the gate opens or the caller hangs up."""

    gate: Gate


Behaviour: TypeAlias = (
    Say | Cut | Decline | Garble | Throttle | Break | Refuse | Vectors | Raw | HangUp | Late | Drip | Trickle
)

EXPIRED = Refuse(403, "ExpiredTokenException", "The security token included in the request is expired")
DENIED = Refuse(403, "AccessDeniedException", "You don't have access to the model with the specified model ID.")
TOO_LONG = Refuse(400, "ValidationException", "Input is too long for requested model.")
UNKNOWN_MODEL = Refuse(404, "ResourceNotFoundException", "Could not resolve the foundation model")
