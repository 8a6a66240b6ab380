"""The kernels of the toll history against plain dictionaries and loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from arterial.linearroad.history.toll_kernel import ascending, bucket_shift, bucket_starts


@pytest.mark.parametrize("seed", range(20))
def test_ascending(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = sorted({tuple(int(n) for n in random.integers(0, 4, 3)) for _ in range(6)})
    if seed % 2:
        rows.insert(int(random.integers(0, len(rows))), rows[int(random.integers(0, len(rows)))])
    expected = all(before < after for before, after in pairwise(rows))
    assert ascending(*np.array(rows, dtype=np.int64).T.copy()) is expected


@pytest.mark.parametrize("vids", [[5], [0, 1, 2, 3], [0, 2**62], [7, 8, 9, 2**40, 2**40 + 1, 2**61]])
def test_buckets_hold_each_vehicle_where_its_number_says(vids: list[int]) -> None:
    column = np.array(vids, dtype=np.int64)
    shift = bucket_shift(column)
    starts = bucket_starts(column, shift)
    for place, vid in enumerate(vids):
        bucket = (vid - vids[0]) >> shift
        assert starts[bucket] <= place < starts[bucket + 1]
    assert len(starts) <= 4 * len(vids) + 1
