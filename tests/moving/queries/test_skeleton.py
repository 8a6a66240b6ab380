"""The skeleton and its instances, tuple at a time, as the paper's figures have them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import Event, MovingNearest, MovingRange, Nearest, Range, Register, Report, Sign
from arterial.moving.queries.group_nearest import GpacGroup
from arterial.moving.queries.interpreter import Interpreter, net
from arterial.moving.queries.nearest import GpacKnn
from arterial.moving.queries.range import GpacIn
from arterial.moving.queries.skeleton import Gpac, Located
from tests.moving.feeding import Follower

Said = list[tuple[str, object]]


def say(query: Gpac, who: object, x: float, y: float = 0.0) -> Said:
    return [(sign.value, identity) for sign, identity in query.receive(Located(who, (x, y)))]  # type: ignore[arg-type]


def test_the_four_cases_of_a_tuple() -> None:
    query = GpacIn(Range(0, -1, 10, 1))
    assert say(query, 1, 20.0) == []  # case IV: was not in, is not in
    assert say(query, 1, 5.0) == [("+", 1)]  # case III
    assert say(query, 1, 6.0) == []  # case I
    assert say(query, 1, 11.0) == [("-", 1)]  # case II


def test_a_moving_range_misses_what_it_did_not_cache() -> None:
    """Figure 3: P is outside when it reports, and the query comes to it."""
    without = GpacIn(MovingRange("m", 4.0, 4.0), cache_share=0.0, longest_step=2.0)
    conservative = GpacIn(MovingRange("m", 4.0, 4.0), cache_share=1.0, longest_step=2.0)
    for query, found in ((without, []), (conservative, [("+", "p")])):
        assert say(query, "m", 0.0) == []
        assert say(query, "p", 3.0) == []
        assert say(query, "m", 2.0) == found


def test_a_nearest_query_extends_its_region_to_one_that_goes_away() -> None:
    """Figure 4: without a cache P2, which was not kept, is missed when P1 goes far."""
    without = GpacKnn(Nearest(2, 0.0, 0.0), cache_share=0.0, longest_step=5.0)
    conservative = GpacKnn(Nearest(2, 0.0, 0.0), cache_share=1.0, longest_step=5.0)
    for query, answer in ((without, {"p1", "p3"}), (conservative, {"p2", "p3"})):
        for who, x in (("p1", 1.0), ("p3", 2.0), ("p2", 3.0)):
            say(query, who, x)
        assert set(query.answer) == {"p1", "p3"}
        say(query, "p1", 6.0)
        assert set(query.answer) == answer


def test_equal_distances_go_to_the_smaller_id() -> None:
    query = GpacKnn(Nearest(1, 0.0, 0.0))
    assert say(query, 10, 1.0) == [("+", 10)]
    assert say(query, 9, -1.0) == [("+", 9), ("-", 10)]
    assert say(query, "a", 0.0, 1.0) == []


def test_a_focal_object_is_not_in_its_own_answer_and_takes_the_query_along() -> None:
    query = GpacKnn(MovingNearest(1, 1), longest_step=1.0)
    assert say(query, 2, 0.0) == []  # no area yet
    assert say(query, 1, 0.0) == []
    assert say(query, 2, 1.0) == [("+", 2)]
    assert list(query.disconnect(1)) == [(Sign.NEGATIVE, 2)]
    assert say(query, 2, 1.0) == []


def test_an_instance_of_ones_own_runs_among_the_others() -> None:
    places = [(0.0, 0.0), (4.0, 0.0), (2.0, 3.0)]
    interpreter = Interpreter(longest_step=1.0)
    interpreter.add("group", GpacGroup(places, k=3, longest_step=1.0))
    positions: dict[object, tuple[float, float]] = {}
    for t, events in drifting_world(seed=1, period=1, queries=False):
        list(interpreter.take(t, events))
        positions |= {event.object: (event.x, event.y) for event in events if isinstance(event, Report)}
        if t >= 2:
            nearest = sorted(positions, key=lambda who: sum(math.dist(positions[who], place) for place in places))
            assert interpreter.answers()["group"] == set(nearest[:3])


@pytest.mark.parametrize("period", [1, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_conservative_cache_is_exact_after_warm_up(seed: int, period: int) -> None:
    interpreter, definition, follower = Interpreter(longest_step=1.0), BruteForce(), Follower()
    for t, events in drifting_world(seed=seed, period=period):
        follower.follow(net(interpreter.take(t, events)))
        definition.take(t, events)
        if t >= 2 * period:
            assert interpreter.answers() == definition.answers()
            assert follower.holds(definition.answers())


def test_a_smaller_cache_is_less_exact() -> None:
    wrong = {}
    for cache in (100.0, 25.0, 0.0):
        interpreter, definition = Interpreter(longest_step=1.0, cache=cache), BruteForce()
        wrong[cache] = 0
        for t, events in drifting_world(seed=0, period=5):
            list(interpreter.take(t, events))
            definition.take(t, events)
            if t >= 10:
                said, truth = interpreter.answers(), definition.answers()
                wrong[cache] += sum(len(said[name] ^ truth[name]) for name in truth)
    assert wrong[100.0] == 0 < wrong[25.0] < wrong[0.0]


def drifting_world(
    *, seed: int, period: int, units: int = 40, queries: bool = True
) -> Iterator[tuple[float, list[Event]]]:
    """Objects that each report every `period` units and go at most 1 in between."""
    chance = random.Random(seed)
    at = {i: (chance.uniform(-10, 10), chance.uniform(-10, 10)) for i in range(40)}
    phase = {i: chance.randrange(period) for i in at}
    for t in range(units):
        events: list[Event] = []
        if t == 0 and queries:
            for q in range(4):
                events += [
                    Register(0.0, f"around {q}", MovingRange(q, 6.0, 4.0)),
                    Register(0.0, f"nearest to {q}", MovingNearest(q + 1, q + 4)),
                    Register(0.0, f"near {q}", Nearest(3, float(q), 0.0)),
                    Register(0.0, f"in {q}", Range(-3.0, -3.0, 2.0 + q, 3.0)),
                ]
        for i in at:
            if (t + phase[i]) % period == 0:
                direction, way = chance.uniform(0, 2 * math.pi), chance.uniform(0, 1)
                at[i] = (at[i][0] + way * math.cos(direction), at[i][1] + way * math.sin(direction))
                events.append(Report(float(t), i, *at[i]))
        yield float(t), events
