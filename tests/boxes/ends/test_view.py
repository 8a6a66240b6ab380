"""View: every tuple passes; the engine keeps it or not."""

from __future__ import annotations

import pytest

from arterial import Delay, Network, NetworkError
from arterial.drawing import StreamHandle
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.view("box", "all", "1 hour", ["k"]).output("o1")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.view(name, "all")


def test_every_tuple_passes() -> None:
    assert len(one(lambda s: s.view("v"), tuples((1, 1), (2, 2)))) == 2


def test_what_it_refuses() -> None:
    stream = Network("n").source("s", {"time": int, "k": int})
    with pytest.raises(NetworkError, match=r"one of none, some, all, got 'al'.*did you mean 'all'"):
        stream.view("v", "al")
    with pytest.raises(NetworkError, match="no column 'kk'"):
        stream.view("v", "all", storage_key=["kk"])
    with pytest.raises(NetworkError, match="expected qos=Delay"):
        stream.view("v", qos=3)  # type: ignore[arg-type]
    assert stream.view("v", qos=Delay(1, 2)).network.value.box("v").delay == ((1.0, 1.0), (2.0, 0.0))  # type: ignore[attr-defined]
