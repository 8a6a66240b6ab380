"""Requests: how many, of which type, with which fields."""

from __future__ import annotations

from collections import Counter

import numpy as np

from arterial.linearroad.formats.events import FIELDS_OF_TYPE
from arterial.linearroad.simulate.requests import has_request, make_request, requests_a_second


def test_one_in_a_hundred() -> None:
    asked = sum(has_request(11, report) for report in range(200_000))
    assert abs(asked - 2000) < 5 * np.sqrt(2000)


def test_half_ten_forty() -> None:
    kinds = Counter(make_request(11, report, 3).type for report in range(20_000))
    assert set(kinds) == {2, 3, 4}
    for kind, share in ((2, 0.5), (3, 0.1), (4, 0.4)):
        assert abs(kinds[kind] / 20_000 - share) < 0.02


def test_fields_are_in_range_and_only_those_of_the_type() -> None:
    ranges = {"xway": (0, 2), "sinit": (0, 99), "send": (0, 99), "dow": (1, 7), "tod": (1, 1440), "day": (1, 69)}
    seen: dict[str, set[int]] = {name: set() for name in ranges}
    for report in range(50_000):
        request = make_request(3, report, 3)
        for name, (low, high) in ranges.items():
            value = getattr(request, name)
            if name in FIELDS_OF_TYPE[request.type]:
                assert low <= value <= high
                seen[name].add(value)
            else:
                assert value == -1
        assert request.type != 4 or request.sinit != request.send
    for name, (low, high) in ranges.items():
        assert {low, high} <= seen[name]


def test_requests_a_second_counts_them() -> None:
    until = np.array([10, 10, 900, 5000])
    counted = requests_a_second(4, until)
    starts = [0, 10, 10, 900]
    for second in range(4):
        assert counted[second] == sum(has_request(4, report) for report in range(starts[second], until[second]))
