"""Generated and hostile input for what `tests/unit/compiler/plan/names/test_merge.py` tests by example."""

from __future__ import annotations

from compiler.plan.text.markdown import plain_key
from compiler.planners import gazetteer


def test_real_gazetteer_knows_cities_by_name_region_and_code() -> None:
    cities = gazetteer.load()
    lisbon = cities.city("lisbon")
    assert lisbon
    assert {cities.city("lisboa"), cities.city("lissabon"), cities.city(plain_key("リスボン"))} == {lisbon}
    assert cities.city("paris", "france") == cities.city("paris") != cities.city("paris", "tx")
    assert cities.city("portland", "or") != cities.city("portland", "me")
    assert cities.city("toronto", "ontario") == cities.city("toronto", "canada") == cities.city("toronto")
    assert cities.city("dc") == cities.city(plain_key("Washington, D.C."))
    assert cities.city("washington") == 0
    assert cities.city("nowhere at all") == 0
    assert cities.is_known_city("austin")
    assert not cities.is_known_city("march")
    assert cities.names(0) == cities.names(10**9) == ()
