"""Generated and hostile input for what `tests/unit/rpc/transport/test_admission.py` tests by example."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.waiting import settle
from tests.unit.rpc.transport.test_admission import A, B, C, House

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.sampled_from([A, B, C]), st.sampled_from("xy")),
        st.tuples(
            st.sampled_from(["go", "cancel", "go and cancel", "cancel while going"]),
            st.integers(0, 99),
            st.integers(0, 99),
        ),
        st.tuples(st.just("wind"), st.sampled_from([0.4, 1.0]), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, in_flight=st.integers(1, 3), waiting=st.integers(0, 4), per_tenant=st.integers(1, 3))
async def test_no_sequence_of_calls_exceeds_a_limit_or_loses_a_slot(
    steps: list[tuple[object, ...]], in_flight: int, waiting: int, per_tenant: int
) -> None:
    house = House(in_flight=in_flight, waiting=waiting, per_tenant=per_tenant)
    for step in steps:
        await take(house, step)
        inside = [visit for visit in house.visits if visit.is_inside]
        queued = [visit for visit in house.visits if not visit.task.done() and not visit.is_inside]
        by_tenant = {letter: sum(visit.name.startswith(letter) for visit in inside) for letter in "ABC"}
        assert house.admission.in_flight_count == len(inside) <= in_flight
        assert house.admission.waiting_count == len(queued) <= waiting
        assert max(by_tenant.values()) <= per_tenant
        if len(inside) < in_flight:
            assert all(by_tenant[visit.name[0]] == per_tenant for visit in queued)
    await house.let_all_go()


async def take(house: House, step: tuple[object, ...]) -> None:
    match step:
        case ("come", UUID() as tenant_id, str() as caller):
            await house.visit(tenant_id, caller)
        case ("wind", float() as by_s, _):
            house.clock.wind(by_s)
        case (str() as deed, int() as one, int() as other) if house.visits:
            first, second = (house.visits[index % len(house.visits)] for index in (one, other))
            if deed == "cancel while going":
                first.on_leaving = second.task.cancel
            if deed != "cancel":
                first.may_leave.set()
            if deed in {"cancel", "go and cancel"}:
                second.task.cancel()
    await settle()
