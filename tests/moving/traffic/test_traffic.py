"""The made-up city and its traffic."""

from __future__ import annotations

import numpy as np
import pytest

from arterial.moving.traffic import CLASSES, Traffic, TrafficSettings, make_city
from arterial.moving.traffic.city import ARTERIAL, MOTORWAY, SIDE, SPEEDS, STREET


def test_a_city_hangs_together_and_has_all_classes_of_road() -> None:
    city = make_city(3, kilometres=3, places=20)
    assert {SIDE, STREET, ARTERIAL, MOTORWAY} == set(city.roads.kind.tolist())
    for routes in (city.by_time, city.by_way):
        for place, junction in enumerate(city.places):
            assert (routes[place] >= 0).sum() == len(city.x) - 1
            assert routes[place, junction] == -1


@pytest.mark.thorough
def test_routes_are_the_fastest_there_are() -> None:
    city = make_city(3, kilometres=2, places=3)
    roads, junctions = city.roads, len(city.x)
    seconds = roads.metres / SPEEDS[roads.kind]
    for place, goal in enumerate(city.places):
        best = np.full(junctions, np.inf)
        best[goal] = 0.0
        for _ in range(junctions):  # Bellman and Ford: relax every road until nothing changes
            for junction in range(junctions):
                for road in range(roads.first[junction], roads.first[junction + 1]):
                    best[junction] = min(best[junction], seconds[road] + best[roads.to[road]])
        for junction in range(junctions):
            taken, at = 0.0, junction
            while at != goal:
                road = city.by_time[place, at]
                taken, at = taken + seconds[road], roads.to[road]
            assert taken == pytest.approx(best[junction])


def test_the_same_seed_makes_the_same_traffic() -> None:
    settings = TrafficSettings(objects=50, new=3, kilometres=2, seed=9)
    first, second = Traffic(settings), Traffic(settings)
    for _ in range(20):
        a, b = first.step(), second.step()
        assert all((p == q).all() for p, q in zip((a.id, a.x, a.y, a.kind), (b.id, b.x, b.y, b.kind), strict=True))


def test_objects_keep_to_the_roads_and_to_their_speed() -> None:
    traffic = Traffic(TrafficSettings(objects=300, new=5, kilometres=3, seed=2))
    city, top = traffic.city, np.array([one.speed for one in CLASSES])
    tail = np.repeat(np.arange(len(city.x)), np.diff(city.roads.first))
    ax, ay = city.x[tail], city.y[tail]
    bx, by = city.x[city.roads.to], city.y[city.roads.to]
    last: dict[int, tuple[float, float]] = {}
    for _ in range(60):
        now = traffic.step()
        for who, x, y, kind in zip(now.id.tolist(), now.x, now.y, now.kind, strict=True):
            if who in last:
                assert np.hypot(x - last[who][0], y - last[who][1]) <= top[kind] + 1e-6
            last[who] = (x, y)
        x, y = now.x[0], now.y[0]
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / city.roads.metres**2
        along = np.clip(along, 0, 1)
        assert np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)).min() < 1e-6


def test_objects_appear_and_leave_or_travel_on() -> None:
    leaving = Traffic(TrafficSettings(objects=200, new=2, kilometres=2, leaving=1.0))
    staying = Traffic(TrafficSettings(objects=200, new=0, kilometres=2, leaving=0.0))
    for _ in range(400):
        some, all_ = leaving.step(), staying.step()
    assert len(all_.id) == 200
    assert some.id.max() == 200 + 2 * 399 - 1
    assert len(some.id) < 600


def test_objects_may_report_in_turns() -> None:
    traffic = Traffic(TrafficSettings(objects=20, kilometres=2, every=5, leaving=0.0))
    seen = [set(traffic.step().id.tolist()) for _ in range(5)]
    assert set().union(*seen) == set(range(20))
    assert sum(len(some) for some in seen) == 20
