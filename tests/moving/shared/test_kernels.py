"""The kernels of shared execution, each against a loop that is obviously right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arterial.arrays import Array
from arterial.moving.queries.anticipation import circle_margin, rectangle_margin
from arterial.moving.queries.space import inside_metres, unit_vector
from arterial.moving.shared.grid import Grid, Objects, arrange, empty_objects, fitted_grid, place_some
from arterial.moving.shared.scan import scan_cap, scan_circle, scan_metres, scan_rectangle, scan_square
from arterial.moving.shared.search import exchange, keep_nearest, sort_by_rank

COUNT = 500


@pytest.fixture(params=[0, 3], ids=["tight", "spare"])
def world(request: pytest.FixtureRequest) -> tuple[Objects, Grid]:
    chance = np.random.default_rng(7)
    objects = empty_objects(COUNT)
    objects.x[:], objects.y[:] = chance.normal(0, 40, COUNT), chance.normal(0, 20, COUNT)
    objects.live[:] = chance.random(COUNT) < 0.9
    objects.rank[:] = chance.permutation(COUNT)
    for slot in range(COUNT):
        objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(objects.x[slot], objects.y[slot])
    grid = fitted_grid(objects, False)
    arrange(objects, grid, COUNT, True, request.param)
    return objects, grid


def found_buffers() -> tuple[Array, Array]:
    return np.empty(COUNT + 1, np.int32), np.empty(COUNT + 1)


def live(objects: Objects) -> list[int]:
    return [slot for slot in range(COUNT) if objects.live[slot]]


@pytest.mark.parametrize(
    "box", [(-10, -10, 10, 5), (0, 0, 0, 0), (-1e9, -1e9, 1e9, 1e9), (200, 0, 300, 1), (-60, 0, -50, 90)]
)
def test_scan_rectangle(world: tuple[Objects, Grid], box: tuple[float, float, float, float]) -> None:
    objects, grid = world
    found, _ = found_buffers()
    x1, y1, x2, y2 = box
    count = scan_rectangle(grid, 3, x1, y1, x2, y2, found, 0)
    inside = [s for s in live(objects) if s != 3 and x1 <= objects.x[s] <= x2 and y1 <= objects.y[s] <= y2]
    assert sorted(found[:count].tolist()) == inside


@pytest.mark.parametrize("bound", [0.0, 9.0, 400.0, 1e9])
@pytest.mark.parametrize("at", [(0.0, 0.0), (90.0, -50.0), (-300.0, 0.0)])
def test_scan_circle(world: tuple[Objects, Grid], at: tuple[float, float], bound: float) -> None:
    objects, grid = world
    found, distance = found_buffers()
    count = scan_circle(grid, 3, *at, bound, found, distance)
    squared = {s: (objects.x[s] - at[0]) ** 2 + (objects.y[s] - at[1]) ** 2 for s in live(objects)}
    near = {s: d for s, d in squared.items() if s != 3 and d <= bound}
    assert dict(zip(found[:count].tolist(), distance[:count].tolist(), strict=True)) == near


def test_scan_square_grows_to_all(world: tuple[Objects, Grid]) -> None:
    objects, grid = world
    found, distance = found_buffers()
    counts = [scan_square(grid, rings, 3, 0.0, 0.0, found, distance) for rings in (1, 2, 4, 1000)]
    assert counts == sorted(counts)
    assert sorted(found[: counts[-1]].tolist()) == [slot for slot in live(objects) if slot != 3]


@pytest.mark.parametrize("at", [(0.0, 0.0), (100.0, 60.0), (179.0, -80.0)])
@pytest.mark.parametrize("metres", [1e5, 2e6, 3e7])
def test_scans_of_the_sphere(world: tuple[Objects, Grid], at: tuple[float, float], metres: float) -> None:
    objects, grid = world
    found, distance = found_buffers()
    u = unit_vector(*at)
    vectors = {s: (objects.ux[s], objects.uy[s], objects.uz[s]) for s in live(objects) if s != 3}
    bound = (2 * math.sin(min(metres / 6_371_008.8, math.pi) / 2)) ** 2
    count = scan_cap(objects, grid, 3, *at, u, bound, found, distance)
    near = [s for s, v in vectors.items() if sum((p - q) ** 2 for p, q in zip(u, v, strict=True)) <= bound]
    assert sorted(found[:count].tolist()) == near
    count = scan_metres(objects, grid, 3, *at, metres, metres / 2, found)
    inside = [s for s, v in vectors.items() if inside_metres(*at, *v, metres, metres / 2)]
    assert sorted(found[:count].tolist()) == inside


def test_moving_some_is_arranging_anew(world: tuple[Objects, Grid]) -> None:
    objects, grid = world
    chance = np.random.default_rng(2)
    expected = {slot: (objects.x[slot], objects.y[slot]) for slot in live(objects)}
    for unit in range(1, 30):
        slots = chance.choice(COUNT, 40).astype(np.int32)
        x, y = chance.normal(0, 40, 40), chance.normal(0, 20, 40)
        dirty, focals = np.empty(len(grid.held), np.int64), np.empty(40, np.int64)
        place_some(objects, grid, COUNT, False, float(unit), slots, x, y, unit, dirty, focals)
        expected |= dict(zip(slots.tolist(), zip(x, y, strict=True), strict=True))
        found, _ = found_buffers()
        count = scan_rectangle(grid, -1, -np.inf, -np.inf, np.inf, np.inf, found, 0)
        assert sorted(found[:count].tolist()) == sorted(expected)
        for slot, at in expected.items():
            where = objects.where[slot]
            assert (grid.slot[where], grid.x[where], grid.y[where]) == (slot, *at)


@pytest.mark.parametrize("count", [5, 40, 200])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_keep_nearest(count: int, k: int) -> None:
    chance = np.random.default_rng(count)
    distance, ranks = chance.integers(0, 6, count).astype(float), chance.permutation(count)
    found = np.arange(count, dtype=np.int32)
    expected = sorted(range(count), key=lambda slot: (distance[slot], ranks[slot]))[:k]
    farthest = distance[expected[-1]]
    assert keep_nearest(ranks, found, distance, count, k) == farthest
    assert sorted(found[:k].tolist()) == sorted(expected)


@pytest.mark.parametrize("count", [0, 1, 20, 300])
def test_sort_by_rank(count: int) -> None:
    chance = np.random.default_rng(count)
    ranks = chance.permutation(1000)
    slots = chance.choice(1000, count + 2, replace=False).astype(np.int32)
    expected = [slots[0], *sorted(slots[1:-1], key=lambda slot: ranks[slot]), slots[-1]]
    sort_by_rank(ranks, slots, 1, count + 1)
    assert slots.tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_exchange(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ranks, marks = chance.permutation(60), np.zeros(60, np.int32)
    old, new = (chance.choice(60, chance.integers(0, 60), replace=False).astype(np.int32) for _ in range(2))
    pool = np.full(100, -1, np.int32)
    pool[20 : 20 + len(old)] = old
    signs, slots = np.empty(130, np.int8), np.empty(130, np.int32)
    used = exchange(pool, 20, len(old), new.copy(), len(new), marks, 2, ranks, signs, slots, 5)
    leave = sorted(set(old.tolist()) - set(new.tolist()), key=lambda slot: ranks[slot])
    come = sorted(set(new.tolist()) - set(old.tolist()), key=lambda slot: ranks[slot])
    assert slots[5:used].tolist() == leave + come
    assert signs[5:used].tolist() == [-1] * len(leave) + [1] * len(come)
    assert sorted(pool[20 : 20 + len(new)].tolist()) == sorted(new.tolist())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75, 1.0])
def test_a_share_of_the_cache_is_a_share_of_its_area(share: float) -> None:
    length, width, reach = 30.0, 20.0, 7.0
    margin = rectangle_margin(length, width, reach, share)
    whole = (length + 2 * reach) * (width + 2 * reach) - length * width
    assert (length + 2 * margin) * (width + 2 * margin) - length * width == pytest.approx(share * whole)
    margin = circle_margin(length, reach, share)
    assert (length + margin) ** 2 - length**2 == pytest.approx(share * ((length + reach) ** 2 - length**2))
