"""The loops of the GPAC boxes against plain ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arterial.moving.boxes.gpac_kernels import NONE, link, take_in, tell

OBJECTS, ENTRIES = 5, 12


def chains(object_of: list[int], n: list[int]) -> tuple[list[list[int]], list[int], np.ndarray, np.ndarray]:
    first, following = np.full(OBJECTS, NONE), np.full(len(n), NONE)
    standing = np.zeros(OBJECTS, np.int64)
    link(np.array(object_of), np.array(n), first, following, standing)
    found = []
    for at in range(OBJECTS):
        entry, some = first[at], []
        while entry != NONE:
            some.append(int(entry))
            entry = following[entry]
        found.append(some)
    return found, standing.tolist(), first, following


@pytest.mark.parametrize("seed", range(5))
def test_link(seed: int) -> None:
    chance = np.random.default_rng(seed)
    objects, n = chance.integers(0, OBJECTS, ENTRIES).tolist(), chance.integers(-1, 3, ENTRIES).tolist()
    found, standing, _, _ = chains(objects, n)
    assert found == [[e for e in range(ENTRIES) if objects[e] == at] for at in range(OBJECTS)]
    assert standing == [sum(n[e] > 0 for e in some) for some in found]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("signed", [False, True])
def test_instants(seed: int, signed: bool) -> None:
    """Events and changes of membership, instant by instant: what is told is what stands of members."""
    chance = np.random.default_rng(seed)
    object_of = np.arange(ENTRIES) % OBJECTS
    n, told, told_row = np.zeros(ENTRIES, np.int64), np.zeros(ENTRIES, np.int64), np.full(ENTRIES, NONE)
    first, following = np.full(OBJECTS, NONE), np.full(ENTRIES, NONE)
    standing, position, last = np.zeros(OBJECTS, np.int64), np.full(OBJECTS, NONE), np.zeros(OBJECTS, np.int64)
    link(object_of, n, first, following, standing)
    current, member = np.full(OBJECTS, NONE), np.zeros(OBJECTS, np.bool_)
    changed, stamps, object_stamps = np.zeros(ENTRIES, np.bool_), np.full(ENTRIES, NONE), np.full(OBJECTS, NONE)
    entries, objects = np.empty(ENTRIES, np.int64), np.empty(OBJECTS, np.int64)
    signs, rows, copies = np.empty(ENTRIES, np.int8), np.empty(ENTRIES, np.int64), np.empty(ENTRIES, np.int64)
    plain: Counter[int] = Counter()
    followed: Counter[int] = Counter()
    at_row: dict[int, int] = {}
    shown: dict[int, int] = {}
    for t in range(60):
        entry = chance.integers(0, ENTRIES, 3)
        weight = chance.choice([1, 1, -1], 3) if signed else np.array([1, 1, 1])
        if not signed:  # one event an object, the last of them silence
            _, keep = np.unique(object_of[entry], return_index=True)
            entry, weight = entry[keep], weight[keep]
            if t % 3 == 0:
                weight[-1] = 0
        who = object_of[entry]
        event_entry = np.where(weight == 0, NONE, entry)
        row = 100 * t + np.arange(len(entry))
        touched, met = take_in(
            signed, 0, len(entry), t, who, event_entry, weight, row, n, current, standing, position, last, first,
            following, changed, t, stamps, entries, object_stamps, objects,
        )  # fmt: skip
        for e, w, r in zip(entry.tolist(), weight.tolist(), row.tolist(), strict=True):
            at = int(object_of[e])
            if not signed:
                for other in range(at, ENTRIES, OBJECTS):
                    plain[other] = 0
            plain[e] += w
            if w > 0:
                at_row[at] = r
        assert n.tolist() == [plain[e] for e in range(ENTRIES)]
        assert sorted(objects[:met].tolist()) == sorted(set(who.tolist()))
        for at in range(OBJECTS):
            assert (standing[at] > 0) == any(plain[e] > 0 for e in range(at, ENTRIES, OBJECTS))

        joins = np.flatnonzero(chance.random(OBJECTS) < 0.3)
        changes = np.where(member[joins], -1, 1).astype(np.int8)
        count = tell(
            touched, entries, joins, changes, member, first, following, object_of, n, told, told_row, position, changed,
            t, stamps, signs, rows, copies,
        )  # fmt: skip
        assert len(set(entries[:count].tolist())) == count
        for e, sign, r, times in zip(entries[:count], signs[:count], rows[:count], copies[:count], strict=True):
            if times:
                before, followed[e] = followed[e], followed[e] + int(sign) * int(times)
                shown[e] = shown[e] if before else at_row[int(object_of[e])]
                assert r == shown[e]
        wanted = [max(plain[e], 0) if member[object_of[e]] else 0 for e in range(ENTRIES)]
        assert [followed[e] for e in range(ENTRIES)] == wanted == told.tolist()
