"""What every request is: a frozen value that says how its answer is read and how much time it gets."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from sidecar.client.decoding import Reading

A_co = TypeVar("A_co", covariant=True)


class Request(Generic[A_co]):
    """A request whose answer is an A: `reads` makes the answer of the response, `deadline_s` is the time it gets."""

    __slots__ = ()
    reads: ClassVar[Reading]
    deadline_s: ClassVar[float] = 3.0
