"""Stopped vehicles that meet."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from arterial.linearroad.application.kernels.accidents import NO_STOPS, STOP_NAMES, meet


def test_meetings_in_any_cut() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        size = int(rng.integers(1, 40))
        time = np.sort(rng.integers(0, 200, size)).astype(np.int32)
        vid = rng.integers(0, 4, size).astype(np.int64)
        road, lane, pos = (rng.integers(0, n, size).astype(np.int64) for n in (2, 5, 2))
        pos *= 5280
        place = road << 23 | lane << 20 | pos

        stopped = defaultdict(set)
        for t, v, r, at, p in zip(*(c.tolist() for c in (time, vid, road, lane, pos)), strict=True):
            for second in range(t, t + 30 if at in (1, 2, 3) else t):
                stopped[r, at, p, second].add(v)
        expected = {(t // 60 + 1, r * 100 + p // 5280) for (r, _, p, t), who in stopped.items() if len(who) > 1}

        known, found = [NO_STOPS[name] for name in STOP_NAMES], set()
        for rows in np.split(np.arange(size), np.sort(rng.integers(0, size, 3))):
            if rows.size:
                *known, minute, cell = meet(time[rows], vid[rows], place[rows], *known)
                found |= set(zip(minute.tolist(), cell.tolist(), strict=True))
        assert found == expected
        assert len(set(known[0].tolist())) == known[0].size <= 12
