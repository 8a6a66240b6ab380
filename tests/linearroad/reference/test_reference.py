"""The interpreter gives the answers that were written by hand."""

from __future__ import annotations

import pytest

from arterial.linearroad.reference import answer
from tests.linearroad.cases import CASES, Case
from tests.linearroad.cities import City, generate, small


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    given = answer(case.events, case.tolls, case.segments, case.profile, balance_at=case.balance_at)  # type: ignore[arg-type]
    for table, rows in case.expected.items():
        assert case.seen(table, getattr(given, table)) == sorted(rows), case.rule


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["spec", "thesis2003"])
def test_the_order_within_a_second_does_not_matter(name: str) -> None:
    for seed in range(30):
        city = generate(seed)
        turned = City(city.events[::-1], city.tolls, city.segments)
        one, other = (answer(c.events, c.tolls, c.segments, small(name)) for c in (city, turned))
        for table in vars(one):
            assert sorted(getattr(one, table)) == sorted(getattr(other, table)), (seed, table)


@pytest.mark.thorough
def test_generated_cities_are_eventful() -> None:
    given = [answer(c.events, c.tolls, c.segments, small("spec")) for c in map(generate, range(50))]
    assert sum(toll > 0 for one in given for *_, toll in one.notices) > 100
    assert sum(len(one.alerts) for one in given) > 100
    assert sum(row[-1] > 0 for one in given for row in one.balances) > 10
    assert sum(row[2] > 0 for one in given for row in one.travels) > 10
