"""The base of all requests: a frozen value that defines how its answer is read and its deadline."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from sidecar.client.decoding import Reading

A_co = TypeVar("A_co", covariant=True)


class Request(Generic[A_co]):
    """A request whose answer is an A: `reads` converts the response, `deadline_s` is the default deadline."""

    __slots__ = ()
    reads: ClassVar[Reading]
    deadline_s: ClassVar[float] = 3.0
