"""The validator's expectation gives the answers written by hand, and agrees with the interpreter on many cities."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from arterial.linearroad.reference import Event, Expected, SegmentRow, TollRow, answer
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.causes.alternatives import alternatives_of
from arterial.linearroad.validate.expected.expected import Expectation, expected
from tests.linearroad.cases import CASES, Case
from tests.linearroad.cities import generate, small, table_of

FEW_CITIES = 20
CITIES = 60
MORE_CITIES = 3000


def rows_of(found: Expectation) -> Expected:
    """The expectation in the form of the interpreter's answers."""
    return Expected(
        notices=found.notices.select("vid", "time", "lav", "toll").rows(),
        alerts=found.alerts.select("time", "vid", "xway", "nearest", "dir").rows(),
        balances=found.balances.select("time", "result_time", "qid", "balance").rows(),
        expenditures=found.expenditures.select("time", "qid", "balance").rows(),
        travels=found.travels.select("time", "qid", "travel_time", "toll").rows(),
    )


def validator_answers(
    events: Sequence[Event],
    tolls: Sequence[TollRow],
    segments: Sequence[SegmentRow],
    profile: Profile,
    balance_at: str = "request",
) -> Expected:
    """The validator's own answers to a small city."""
    history = pa.Table.from_pylist([row._asdict() for row in tolls]) if tolls else None
    speeds = pa.Table.from_pylist([row._asdict() for row in segments]) if segments else None
    return rows_of(expected(table_of(events), history, speeds, profile, balance_at=balance_at))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    given = validator_answers(case.events, case.tolls, case.segments, case.profile, case.balance_at)
    for table, rows in case.expected.items():
        assert case.seen(table, getattr(given, table)) == sorted(rows), case.rule


@pytest.mark.thorough
@pytest.mark.parametrize("balance_at", ["request", "last_notice"])
@pytest.mark.parametrize("name", ["spec", "walmart", "thesis2003"])
def test_agrees_with_the_interpreter(name: str, balance_at: str) -> None:
    _agree(range(FEW_CITIES), name, balance_at)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["spec", "walmart", "thesis2003"])
def test_agrees_with_the_interpreter_on_many_cities(name: str) -> None:
    _agree(range(FEW_CITIES, CITIES), name, "request")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["spec", *(pytest.param(one, marks=pytest.mark.slow) for one in ("walmart", "thesis2003"))]
)
@pytest.mark.parametrize("cities", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_agrees_with_the_interpreter_on_profiles_put_together(name: str, cities: int) -> None:
    """Every profile that the validator tries on an output that differs."""
    for tried in alternatives_of(small(name)):
        for seed in range(tried.number, tried.number + cities):
            city = generate(seed)
            ours = validator_answers(city.events, city.tolls, city.segments, tried.profile)
            theirs = answer(city.events, city.tolls, city.segments, tried.profile)
            for table in vars(theirs):
                assert sorted(getattr(ours, table)) == sorted(getattr(theirs, table)), (
                    tried.label,
                    tried.of,
                    seed,
                    table,
                )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spec", "walmart", "thesis2003"])
def test_agrees_with_the_interpreter_on_thousands_of_cities(name: str) -> None:
    _agree(range(CITIES, CITIES + MORE_CITIES), name, "request")


def _agree(seeds: range, name: str, balance_at: str) -> None:
    for seed in seeds:
        city = generate(seed)
        ours = validator_answers(city.events, city.tolls, city.segments, small(name), balance_at)
        theirs = answer(city.events, city.tolls, city.segments, small(name), balance_at=balance_at)  # type: ignore[arg-type]
        for table in vars(theirs):
            assert sorted(getattr(ours, table)) == sorted(getattr(theirs, table)), (seed, table)
