from __future__ import annotations

import polars as pl
import pytest

from arterial.engine.host.failures import SET_ASIDE, BoxFailedError
from arterial.engine.host.inprocess import InProcess
from arterial.network.network import NetworkValue
from tests.engine.tiny import Add, Both, By, Enter, Keep, Leave, Running, arc, chain, numbers, trains

TWICE = chain(
    Enter("in"),
    Keep("keep"),
    By("by"),
    Running("sum"),
    Add("add"),
    By("again", ("value",), again=True),
    Running("more", by="value"),
    Leave("out"),
)
MEETING = NetworkValue(
    "meeting",
    (Enter("in"), By("a"), Running("s"), Keep("few", not_of=2), By("c"), Both("both"), Leave("out"), Leave("raw")),
    (
        arc("in", "a"),
        arc("a", "s"),
        arc("in", "few"),
        arc("few", "c"),
        arc("s", "both.left"),
        arc("c", "both.right"),
        arc("both", "out"),
        arc("few", "raw"),
    ),
)
SEQUENCE = chain(Enter("in"), Keep("keep"), Running("sum"), Add("add"), Leave("out"))


@pytest.mark.thorough
@pytest.mark.parametrize("network", [TWICE, MEETING, SEQUENCE], ids=lambda n: n.boxes[2].name)
def test_shards_and_cuts_do_not_matter(network: NetworkValue) -> None:
    tuples = numbers(400)
    expected = InProcess(network).run(trains(tuples, 1000))
    for shards in (1, 2, 3, 5):
        for seconds in (1, 7, 40):
            got = InProcess(network, shards=shards).run(trains(tuples, seconds))
            assert got.keys() == expected.keys()
            for name, frame in got.items():
                assert frame.sort(frame.columns).equals(expected[name].sort(frame.columns)), (name, shards, seconds)


def test_one_sequence_stays_in_order() -> None:
    tuples = numbers(400)
    expected = InProcess(SEQUENCE).run(trains(tuples, 1000))["out"]
    for shards in (2, 3):
        assert InProcess(SEQUENCE, shards=shards, ordered_sources=["in"]).run(trains(tuples, 7))["out"].equals(expected)


def test_a_source_may_deliver_by_slot() -> None:
    network = chain(Enter("in"), Keep("keep"), By("by"), Running("sum"), Leave("out"))
    tuples = numbers(300)
    expected = InProcess(network).run(trains(tuples, 9))["out"]
    host = InProcess(network, shards=3, split_sources=["in"])
    got = host.run(trains(tuples, 9))["out"]
    assert host.plan.split_sources == {"in"}
    assert got.sort(got.columns).equals(expected.sort(got.columns))


@pytest.mark.parametrize("stateful", [False, True])
def test_a_poisoned_tuple_is_named(stateful: bool) -> None:
    bad = Running("bad", poison=93) if stateful else Add("bad", poison=93)
    network = chain(Enter("in"), bad, Leave("out"), name="road")
    with pytest.raises(
        BoxFailedError, match=r"'road', box 'bad'.*\"time\": 0, \"key\": 6, \"value\": 93.*93 is poison"
    ):
        InProcess(network).run(trains(numbers(20), 2))


@pytest.mark.parametrize("stateful", [False, True])
def test_a_poisoned_tuple_is_set_aside(stateful: bool) -> None:
    bad = Running("bad", poison=93) if stateful else Add("bad", poison=93)
    good = Running("bad") if stateful else Add("bad")
    tuples = numbers(300)
    host = InProcess(chain(Enter("in"), bad, Leave("out")), policy=SET_ASIDE)
    got = host.run(trains(tuples, 11))["out"]
    clean = tuples.filter(pl.col("value") != 93)
    assert got.equals(InProcess(chain(Enter("in"), good, Leave("out"))).run(trains(clean, 300))["out"])
    assert len(host.rejects) == tuples.height - clean.height
    assert {reject.box for reject in host.rejects} == {"bad"}


def test_counts() -> None:
    host = InProcess(SEQUENCE, shards=2)
    host.run(trains(numbers(100), 3))
    assert host.counts["in"].tuples_out == {"out": 100}
    assert host.counts["keep"].tuples_in == {"in": 100}
    assert host.counts["sum"].tuples_in["in"] == host.counts["keep"].tuples_out["out"] < 100
