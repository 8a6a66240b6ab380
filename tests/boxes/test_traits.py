"""Traits: what boxes say of themselves is true of what they do, and the engine relies on nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import arterial
from arterial import Network
from arterial.boxes.tuples.filter import Filter
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import reads
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.state import State
from arterial.network.train import Train
from arterial.reference import interpret
from arterial.testing import compare, run
from tests.conformance.kinds import cases
from tests.conformance.tuples import SCHEMA, arrivals
from tools.box_pages import own_boxes

CASES = cases()
TUPLES = {"s": arrivals(80, 3)}
PREDICATES = ("x > 0", "s = 'a' or b", "n < 3", "f > 0", "k = 1", "1 < 2")


@dataclass(frozen=True)
class Plain(Box):
    """A box of a user's own that says nothing."""

    kind: ClassVar[str] = "test_traits.plain"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {OUT: trains[IN]}


@dataclass(frozen=True)
class Attached(Plain):
    """A box whose input could be thinned if it were not inseparable."""

    kind: ClassVar[str] = "test_traits.attached"
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})
    inseparable: ClassVar[frozenset[str]] = frozenset({IN})


def drawn(kind: str) -> tuple[NetworkValue, list[Box]]:
    """The examples of a kind, and the boxes of that kind in them that have one input."""
    net = Network(kind)
    CASES[kind](net.source("s", SCHEMA, "t", disorder=3))
    boxes = [box for box in net.value.boxes if type(box) is own_boxes()[kind] and len(box.inputs) == 1]
    return net.value, boxes


@pytest.mark.parametrize("kind", CASES)
def test_what_passes_and_what_changes(kind: str) -> None:
    network, boxes = drawn(kind)
    got = interpret(network, TUPLES)
    for box in boxes:
        (begin,) = network.arrivals(box).values()
        came, stream = got[str(begin)], network.streams[begin]
        for port in box.outputs:
            left = got[f"{box.name}.{port}"]
            if box.passes:
                assert counted(left, stream.schema.names) <= counted(came, stream.schema.names)
            if box.stateless:
                for column in set(stream.schema.names) - box.changes(stream):
                    assert counted(left, (column,)).keys() <= counted(came, (column,)).keys()


@pytest.mark.parametrize("kind", CASES)
def test_what_commutes_with_a_filter(kind: str) -> None:
    network, boxes = drawn(kind)
    for box in boxes:
        (begin,) = network.arrivals(box).values()
        stream = network.streams[begin]
        for text in PREDICATES:
            read = frozenset(reads(predicate(text, SCHEMA)))
            if box.apart() is None and read <= set(stream.schema.names) and box.commutes_with(read, stream):
                before = with_filters(network, text, [Arc(begin, Port(box.name, box.inputs[0]))])
                behind = with_filters(network, text, [arc for arc in network.arcs if arc.begin.box == box.name])
                compare(behind, run(before, TUPLES), run(behind, TUPLES), f"{text} before or behind {box.name}")


def test_some_boxes_commute_and_others_do_not() -> None:
    read = frozenset({"x"})
    answers = {
        kind: any(box.commutes_with(read, box.fed_by[box.inputs[0]]) for box in drawn(kind)[1]) for kind in CASES
    }
    assert {kind for kind, answer in answers.items() if answer} == {"filter", "drop", "map", "gpac_in"}


def test_a_box_that_says_nothing_may_not_be_touched() -> None:
    net = Network("n")
    stream = net.source("s", {"time": int, "x": int}).box(Plain("plain"))
    box = net.value.box("plain")
    assert box.changes(stream.type) == box.reads(stream.type) == {"time", "x"}
    assert not box.commutes_with(frozenset({"x"}), stream.type)
    assert not box.may_be_thinned(IN)
    assert (box.keeping, box.apart(), box.stale(), box.movable) == (None, None, frozenset(), False)
    assert Box.kinds["test_traits.plain"] is Plain


def test_what_may_be_thinned() -> None:
    net = Network("n")
    reports = net.source("s", {"k": int, "time": int, "x": int})
    relation = net.relation("r", {"k": int, "total": int}, "k")
    reports.group_by("k", name="by").update_relation("update", relation, total="sum(x)")
    reports.group_by("k").read_relation("read", relation)
    reports.filter("plain", "x > 0").latest("latest", "k").filter("signed", "x > 0")
    reports.box(Attached("attached"))
    allowed = {f"{box.name}.{port}" for box in net.value.boxes for port in box.inputs if box.may_be_thinned(port)}
    assert allowed == {"by.in", "by_k.in", "read.in", "plain.in", "latest.in"}


def test_the_engine_knows_no_kind() -> None:
    root = Path(arterial.__file__).parent
    places = [root / "engine", root / "optimize", root / "connectors", root / "sql", root / "testing.py"]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))]
    by_name = re.compile(r"box\.kind\s*(==|!=|in\b|not in\b)|isinstance\(box, ")
    assert len(files) > 30
    assert [str(file) for file in files if by_name.search(file.read_text())] == []


def counted(tuples: list[dict[str, Any]], names: tuple[str, ...]) -> Counter[str]:
    """How often each combination of values comes; NaN equals NaN."""
    return Counter(repr([values[name] for name in names]) for values in tuples)


def with_filters(network: NetworkValue, text: str, arcs: list[Arc]) -> NetworkValue:
    """The network with a filter on each of these arcs."""
    filters = {arc: Filter(f"filter on {i}", text) for i, arc in enumerate(arcs)}
    around = [
        part
        for arc, box in filters.items()
        for part in (Arc(arc.begin, Port(box.name, IN)), Arc(Port(box.name, OUT), arc.end))
    ]
    others = [arc for arc in network.arcs if arc not in filters]
    return NetworkValue(network.name, (*network.boxes, *filters.values()), (*others, *around))
