"""The predecessor of each report of a second."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.application.kernels.trips import find_predecessors


def test_predecessors() -> None:
    rng = np.random.default_rng(2)
    for size in (0, 1, 5, 300):
        vid, old_vid = (rng.permutation(2 * size)[:size].astype(np.int64) * 1_000_003 for _ in range(2))
        cell, old_cell = (rng.integers(0, 400, size).astype(np.int32) for _ in range(2))
        pos, old_pos, run, speed = (rng.integers(0, n, size).astype(np.uint32) for n in (2, 2, 4, 101))
        lane, old_lane = (rng.integers(0, 2, size).astype(np.uint32) for _ in range(2))
        place, old_place = pos | lane << 20, old_pos | old_lane << 20 | run << 23 | speed << 25
        given = place.copy()
        pred, prev_seg, prev_speed = np.empty(size, np.int32), np.empty(size, np.int8), np.empty(size, np.uint8)
        fresh, gone, stopped = find_predecessors(
            vid, cell, given, old_vid, old_cell, old_place, pred, prev_seg, prev_speed
        )

        where = {(v, c // 100): row for row, (v, c) in enumerate(zip(old_vid.tolist(), old_cell.tolist(), strict=True))}
        found = [where.get((v, c // 100), -1) for v, c in zip(vid.tolist(), cell.tolist(), strict=True)]
        assert pred.tolist() == found
        assert fresh.tolist() == [row for row in range(size) if found[row] < 0]
        assert gone.tolist() == [row for row in range(size) if row not in found]
        assert prev_seg.tolist() == [-1 if at < 0 else int(old_cell[at]) % 100 for at in found]
        assert prev_speed.tolist() == [0 if at < 0 else int(speed[at]) for at in found]
        same = [at >= 0 and (pos[row], lane[row]) == (old_pos[at], old_lane[at]) for row, at in enumerate(found)]
        runs = [min(int(run[at]) + 1, 3) if same[row] else 0 for row, at in enumerate(found)]
        assert (given >> 23 & 3).tolist() == runs
        assert (given & ~np.uint32(3 << 23) == place).all()
        assert stopped.tolist() == [row for row in range(size) if runs[row] == 3]
