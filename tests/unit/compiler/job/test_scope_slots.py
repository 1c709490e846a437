"""A worker's places: fair across tenants, and at most half of them for compiles that wait for a server."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from compiler.job.scope_slots import ScopeSlot, ScopeSlots
from store.compile.ready import Hint
from store.scope import Scope

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def scope(tenant: int, owner: int = 0) -> Scope:
    return Scope(UUID(int=tenant), UUID(int=owner))


def taking(places: ScopeSlots, *scopes: Scope, is_compile: bool = True) -> list[ScopeSlot]:
    """Give each scope a place, one after another."""
    made = [ScopeSlot(one, is_compile, began_at=float(at)) for at, one in enumerate(scopes)]
    places.taken.update({one.scope: one for one in made})
    return made


async def test_compiles_without_an_answer_get_at_most_half_of_the_places() -> None:
    places = ScopeSlots(4, stall_s=1e9)
    first, _ = taking(places, scope(1), scope(2))
    assert not places.may_compile()
    assert first.move()
    assert not first.move()
    assert places.may_compile(), "the server answers"


async def test_other_jobs_do_not_count_as_waiting() -> None:
    places = ScopeSlots(4, stall_s=0.0)
    taking(places, scope(1), scope(2), scope(3), is_compile=False)
    assert places.may_compile()
    assert places.to_release() == []


async def test_the_newest_of_those_held_up_beyond_half_are_released_once() -> None:
    places = ScopeSlots(4, stall_s=0.0)
    made = taking(places, scope(1), scope(2), scope(3), scope(4))
    for one in made:
        one.move()
    assert places.is_full
    assert places.to_release() == made[2:]
    made[2].is_released = True
    assert places.to_release() == made[3:]


async def test_a_single_place_may_wait() -> None:
    places = ScopeSlots(1, stall_s=0.0)
    assert places.may_compile()
    taking(places, scope(1))
    assert places.to_release() == []


async def test_tenants_with_fewer_places_come_first() -> None:
    places = ScopeSlots(4, stall_s=1e9)
    taking(places, scope(1, 1), scope(1, 2), scope(2, 1))
    hints = [Hint(scope(*one), NOW) for one in ((1, 3), (1, 2), (2, 2), (3, 1), (1, 4))]
    assert [hint.scope for hint in places.in_turn(hints)] == [scope(3, 1), scope(2, 2), scope(1, 3), scope(1, 4)]
