"""A box is registered by being defined: JSON and interpreter find it, and its kind is its own."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from arterial import Network
from arterial.boxes.tuples.filter import Filter
from arterial.errors import NetworkError
from arterial.moving import gpac_in
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.serial import from_json, to_json
from arterial.network.state import State
from arterial.network.train import Train
from arterial.reference import interpret


def halves(box: Half, inputs: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """What Half means."""
    return {OUT: inputs[IN][::2]}


@dataclass(frozen=True)
class Half(Box):
    """A box of a user's own that says where its meaning is."""

    kind: ClassVar[str] = "test_box.half"
    meaning: ClassVar[str] = "tests.network.test_box:halves"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {OUT: trains[IN]}


def test_a_class_is_registered_by_its_kind() -> None:
    assert Box.kinds["test_box.half"] is Half
    assert Box.kinds["filter"] is Filter


def test_a_kind_of_ours_cannot_be_taken() -> None:
    with pytest.raises(
        NetworkError, match=r"'filter' of the class tests\.network\.test_box.*arterial\.boxes\.tuples\.filter"
    ):

        class Mine(Half):
            kind: ClassVar[str] = "filter"

    assert Box.kinds["filter"] is Filter


def test_the_interpreter_finds_the_meaning_that_the_class_names() -> None:
    net = Network("n")
    net.source("s", {"time": int}).box(Half("half")).output("o")
    tuples = [{"time": time} for time in range(4)]
    assert interpret(net.value, {"s": tuples})["o"] == tuples[::2]


def test_a_meaning_that_is_not_there() -> None:
    class Lost(Half):
        kind: ClassVar[str] = "test_box.lost"
        meaning: ClassVar[str] = "tests.network.test_box:lost"

    net = Network("n")
    net.source("s", {"time": int}).box(Lost("lost"))
    with pytest.raises(NetworkError, match=r"what a 'test_box.lost' means, tests\.network\.test_box:lost"):
        interpret(net.value, {})


def test_boxes_of_every_room_go_to_json_and_back() -> None:
    net = Network("n")
    reports = net.source("s", {"time": int, "object": int, "x": int, "y": int}).box(Half("half"))
    gpac_in(reports, "near", region=(0, 0, 5, 5)).output("o")
    assert from_json(to_json(net.value), [__name__]) == net.value


def test_all_ports_stays_all_ports() -> None:
    assert "any" in ALL_PORTS
    assert "any" in pickle.loads(pickle.dumps(ALL_PORTS))
