"""Taps: who looks on, for how long, and what they are shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl

from arterial.engine.steering.taps import LEASE, close_tap, fresh_taps, open_tap, renew_tap, take_tapped, write_tapped
from arterial.figures.steering import Tap


def test_a_tap_lives_while_it_is_renewed(tmp_path: Path) -> None:
    assert fresh_taps(tmp_path) == {}
    tap = Tap("a.out → b.in", "x > 1", 5)
    own = open_tap(tmp_path, tap)
    assert fresh_taps(tmp_path) == {own.name: tap}
    os.utime(own / "tap.json", (0, time.time() - LEASE - 1))
    renew_tap(own)
    assert fresh_taps(tmp_path) == {own.name: tap}
    assert fresh_taps(tmp_path, time.time() + LEASE + 1) == {}
    assert not own.exists()
    renew_tap(own)
    assert fresh_taps(tmp_path) == {}


def test_what_passes_is_taken_once(tmp_path: Path) -> None:
    own, other = (open_tap(tmp_path, Tap("a.out → b.in")) for _ in range(2))
    frames = [pl.DataFrame({"x": [n]}) for n in range(2)]
    seen: set[str] = set()
    write_tapped(tmp_path, 1, 0, 0, {own.name: frames, other.name: [], "gone": frames})
    assert [frame["x"].to_list() for frame in take_tapped(own, seen)] == [[0, 1]]
    assert take_tapped(own, seen) == take_tapped(other, set()) == []
    write_tapped(tmp_path, 1, 0, 0, {own.name: frames})  # the step is run again
    write_tapped(tmp_path, 2, 0, 0, {own.name: frames[:1]})
    assert [frame["x"].to_list() for frame in take_tapped(own, seen)] == [[0]]
    close_tap(own)
    assert list(fresh_taps(tmp_path)) == [other.name]


def test_a_damaged_tap_is_removed(tmp_path: Path) -> None:
    own = open_tap(tmp_path, Tap("a"))
    (own / "tap.json").write_text("{")
    assert fresh_taps(tmp_path) == {}
    assert not own.exists()
