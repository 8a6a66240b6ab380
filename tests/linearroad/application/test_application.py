"""The stream gives the answers of interpreter and validator, on every city, however it is cut and sharded."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from arterial.linearroad.reference import Expected, answer
from arterial.linearroad.semantics.profiles import Profile, profile
from tests.linearroad.application.stream import check_state, history_in, stream_answers
from tests.linearroad.cases import CASES, Case
from tests.linearroad.cities import City, generate, small, table_of
from tests.linearroad.jams import jam
from tests.linearroad.validate.test_validate_expected import validator_answers

PROFILES = ["spec", "walmart", "thesis2003"]
CITIES = 30
JAMS = 3
CITIES_WITH_HISTORY = 8
MORE_CITIES = 1000


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("balance_at", ["request", "last_notice"])
@pytest.mark.parametrize(
    "cities", [range(CITIES // 2), pytest.param(range(CITIES // 2, CITIES), marks=pytest.mark.slow)]
)
def test_stream_and_interpreter_agree(cities: range, name: str, balance_at: str) -> None:
    for seed in cities:
        city = City(generate(seed).events)
        right = answer(city.table(), (), (), small(name), balance_at=balance_at)  # type: ignore[arg-type]
        rng = random.Random(seed)
        given = stream_answers(city.table(), small(name), shards=rng.choice((1, 2, 3)), cuts=rng, balance_at=balance_at)
        _same(given, right, f"city {seed}")


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_stream_and_interpreter_agree_on_jams(name: str) -> None:
    for seed in range(JAMS):
        events = table_of(jam(seed))
        given = stream_answers(events, profile(name), shards=2, cuts=random.Random(seed))
        _same(given, answer(events, (), (), profile(name)), f"jam {seed}")


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_the_state_does_not_depend_on_what_workers_remember(name: str) -> None:
    for seed in range(6):
        check_state(generate(seed).table(), small(name), shards=1 + seed % 2, cuts=random.Random(seed))
    check_state(table_of(jam(1)), profile(name), shards=2, cuts=random.Random(3))


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_all_three_agree_with_history(name: str, tmp_path: Path) -> None:
    told = [all_three(seed, small(name), tmp_path) for seed in range(CITIES_WITH_HISTORY)]
    assert any(journey[2] > 0 and journey[3] > 0 for one in told for journey in one.travels), "these test something"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_all_three_agree_on_a_thousand_cities(name: str, tmp_path: Path) -> None:
    for seed in range(CITIES, CITIES + MORE_CITIES):
        all_three(seed, small(name), tmp_path)


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, cut: bool, tmp_path: Path) -> None:
    given = stream_answers(
        City(tuple(case.events)).table(),
        case.profile,
        history=history_in(tmp_path, case.tolls, case.segments),
        shards=2,
        cuts=random.Random(0) if cut else None,
        balance_at=case.balance_at,
    )
    for table, rows in case.expected.items():
        assert case.seen(table, getattr(given, table)) == sorted(rows), case.rule


def all_three(seed: int, rules: Profile, folder: Path) -> Expected:
    """Compare the implementations on one city with its history, in random trains."""
    city = generate(seed)
    right = answer(city.events, city.tolls, city.segments, rules)
    _same(validator_answers(city.events, city.tolls, city.segments, rules), right, f"validator, city {seed}")
    rng = random.Random(seed)
    history = history_in(folder / str(seed), city.tolls, city.segments)
    given = stream_answers(city.table(), rules, history=history, shards=rng.choice((1, 2, 3)), cuts=rng)
    _same(given, right, f"stream, city {seed}")
    # The look-up of the segments is 30 MB for the smallest city.
    shutil.rmtree(folder / str(seed))
    return right


def _same(given: Expected, right: Expected, what: str) -> None:
    for table, rows in vars(right).items():
        assert sorted(getattr(given, table)) == sorted(rows), f"{what}: {table}"
