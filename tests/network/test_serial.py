"""Networks to JSON and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import polars as pl
import pytest

from arterial import Network, function
from arterial.errors import NetworkError
from arterial.network.box import Box, Stream
from arterial.network.serial import from_json, to_json
from arterial.network.state import State
from arterial.network.train import Train


@function(reads=["x"], produces={"y": "int64"})
def doubled(x: pl.Series) -> pl.Series:
    return x * 2


@dataclass(frozen=True)
class Twice(Box):
    """A box of a user's own."""

    factor: int = 2
    kind: ClassVar[str] = "twice"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {"out": Train(pl.concat([trains["in"].tuples] * self.factor), trains["in"].through)}


def network() -> Network:
    net = Network("all of it")
    stream = net.source("s", {"k": int, "time": "timestamp", "x": int, "f": float}, disorder="2 s")
    relation = net.relation(
        "r", {"k": int, "at": "timestamp"}, key="k", rows=[{"k": 1, "at": datetime(2026, 1, 2)}, (2, None)]
    )
    with net.composed("both"):
        fast = stream.filter("fast", "f > 1.5")
        fast.otherwise.drop("some", 0.25, seed=3).output("slow")
    fast.map("m", doubled, z="f / 3").output("mapped")
    fast.box(Twice("mine", 3)).group_by("k").tumble("t", every="1 minute", n="count(*)").output("counts")
    fast.read_relation("read", relation).group_by("k").slide("sl", size=3, last="last(at)").output("slid")
    return net


def test_without_loss() -> None:
    value = network().value
    again = from_json(to_json(value), [__name__])
    assert again == value
    assert again.groups == {"both": ("fast", "some", "slow")}
    assert again.streams == value.streams
    assert Network.from_json(network().to_json(), [__name__]).value == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=99), "expected a network of format 1, got 99"),
        (lambda d: d["boxes"][0].update(kind="sorcery"), "no kind of box 'sorcery'"),
        (lambda d: d["boxes"][1].update({"kind": "twice", "class": f"{__name__}:No"}), "cannot find its class"),
        (lambda d: d["boxes"][1].update({"kind": "twice", "class": "no.such:Box"}), r"modules=\['no.such'\]"),
        (lambda d: d.update(groups=[]), "damaged"),
        (lambda d: d.update(boxes=[3]), "damaged"),
        (lambda d: d.update(arcs=[[1, 2]]), "damaged"),
        (lambda d: d.update(network=[]), "expected a JSON object"),
        (lambda d: d["boxes"][0].update(colour="red"), "no column 'colour'|'colour'"),
        (lambda d: d.pop("arcs"), "damaged"),
        (lambda d: d.pop("network"), "expected a JSON object"),
    ],
)
def test_what_cannot_be_read(change, message: str) -> None:  # type: ignore[no-untyped-def]
    data = json.loads(network().to_json())
    change(data)
    with pytest.raises(NetworkError, match=message):
        from_json(json.dumps(data), [__name__])


@pytest.mark.parametrize("name", ["n" * 100_000, "n m " * 25_000, "n'\n" * 33_000])
def test_a_long_name_is_shortened_in_messages(name: str) -> None:
    for change in ({"kind": name}, {"name": name}, {name: 1}):
        data = json.loads(network().to_json())
        data["boxes"][1].update(change)
        with pytest.raises(NetworkError, match=r"signs\)…") as raised:
            from_json(json.dumps(data), [__name__])
        assert len(str(raised.value)) < 4_100


@pytest.mark.parametrize(
    "place", ["os:system", "antigravity:fly", "arterial.storage.place:remove", "tests.network.no:f"]
)
def test_nothing_is_imported_that_was_not_named(place: str) -> None:
    text = network().to_json()
    assert f"{__name__}:doubled" in text
    with pytest.raises(NetworkError, match="would run the code of that module"):
        from_json(text.replace(f"{__name__}:doubled", place), [__name__])
    assert "antigravity" not in sys.modules


def test_json_that_is_nested_deeply() -> None:
    with pytest.raises(NetworkError, match="as JSON"):
        from_json("[" * 100_000)


def test_no_json() -> None:
    with pytest.raises(NetworkError, match="expected a network as JSON"):
        from_json("{")


def test_a_local_function_cannot_go_to_json() -> None:
    @function(reads=["x"], produces="int64")
    def local(x: pl.Series) -> pl.Series:
        return x

    net = Network("local")
    net.source("s", {"x": int, "time": int}).map("m", y=local).output("out")
    with pytest.raises(NetworkError, match=r"'m'.*local must be at the top level of a module"):
        net.to_json()
