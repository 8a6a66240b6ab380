"""The interpreter runs whole networks from plain tuples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

import arterial.reference
from arterial import Network
from arterial.boxes.tuples.filter import Filter
from arterial.errors import NetworkError
from arterial.reference import interpret


@dataclass(frozen=True)
class Unheard(Filter):
    """A kind of box that nobody has given a meaning."""

    kind: ClassVar[str] = "unheard"


def test_outputs_and_ports_by_name() -> None:
    net = Network("n")
    net.source("s", {"time": int, "x": float}).filter("f", "x / 2 > 1").output("o")
    got = interpret(net.value, {"s": [{"time": 1, "x": 3}, {"time": 2}, {"time": 0, "x": 9}]})
    assert got["o"] == [{"time": 1, "x": 3.0}]
    assert got["f.otherwise"] == [{"time": 2, "x": None}]
    assert got["s.late"] == [{"time": 0, "x": 9.0}]


def test_timestamps_are_utc() -> None:
    net = Network("n")
    net.source("s", {"time": "timestamp"}).tumble("t", every="1 minute", n="count(*)").output("o")
    got = interpret(net.value, {"s": [{"time": datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)}]})
    assert got["o"] == [{"time": datetime(2026, 1, 1, 12, 0, 59, 999999), "n": 1}]


def test_a_box_without_a_meaning() -> None:
    net = Network("n")
    net.source("s", {"time": int}).box(Unheard("u", "true"))
    with pytest.raises(NetworkError, match="nothing says what a 'unheard' means"):
        interpret(net.value, {})
    assert interpret(net.value, {}, {"unheard": lambda box, inputs: {"out": [], "otherwise": []}})["u.out"] == []


def test_it_is_plain_python() -> None:
    """Only functions of the user's own, which are written for columns, get columns."""
    folder = Path(arterial.reference.__file__).parent
    vectorised = re.compile(r"import (numpy|polars|pyarrow|pandas)")
    found = {path.name for path in folder.glob("*.py") if vectorised.search(path.read_text())}
    assert found <= {"stream.py", "aggregates.py"}
