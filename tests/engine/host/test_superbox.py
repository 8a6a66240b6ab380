"""A level on one slot: the trains that a source gives one after the other are as good as one."""

from __future__ import annotations

import polars as pl
import pytest

from arterial.engine.host.level import Outcome, run_level
from arterial.engine.plan.compile import compile_network
from arterial.network.network import NetworkValue
from arterial.network.state import MemoryState
from arterial.network.train import END, Train, coupled
from tests.engine.tiny import Both, By, Enter, Keep, Leave, Running, arc, chain, numbers, trains

CHAIN = chain(Enter("in"), Keep("keep"), By("by"), Running("sum"), Leave("out"))
TWO_LEVELS = chain(Enter("in"), By("by"), Running("sum"), By("again", ("value",), True), Running("t"), Leave("out"))
MEETING = NetworkValue(
    "meeting",
    (Enter("in"), Enter("other"), By("a"), By("b"), Both("both"), Leave("out")),
    (
        arc("in", "a"),
        arc("other", "b"),
        arc("a", "both.left"),
        arc("b", "both.right"),
        arc("both", "out"),
    ),
)


def level_0(network: NetworkValue, split: list[str], given: dict[str, list[Train]]) -> Outcome:
    states: dict[str, MemoryState] = {}
    plan = compile_network(network, 1, split_sources=split)
    head = run_level(plan, -1, 0, [], states.__getitem__, sources={n: t for n, t in given.items() if n not in split})
    return run_level(
        plan,
        0,
        0,
        head.parcels,
        lambda box: states.setdefault(box, MemoryState()),
        sources={name: iter(given[name]) for name in split},
    )


@pytest.mark.parametrize("network", [CHAIN, TWO_LEVELS])
def test_many_trains_are_as_one(network: NetworkValue) -> None:
    cut = [train["in"] for train in trains(numbers(300), 7)]
    assert len(cut) > 5
    one, many = (level_0(network, ["in"], {"in": given}) for given in ([coupled(cut)], cut))
    assert {name: counts.tuples_out for name, counts in many.counts.items()} == {
        name: counts.tuples_out for name, counts in one.counts.items()
    }
    assert many.counts["sum"].tuples_in["in"] > 0
    assert len(many.parcels) == len(one.parcels)
    for ours, theirs in zip(many.parcels, one.parcels, strict=True):
        assert (ours.receiver, ours.train.through) == (theirs.receiver, END)
        assert ours.train.tuples.equals(theirs.train.tuples)
    assert many.deliveries.keys() == one.deliveries.keys()
    for name, train in many.deliveries.items():
        assert train.through == END
        assert train.tuples.equals(one.deliveries[name].tuples)


@pytest.mark.parametrize("split", [["in"], ["in", "other"]])
def test_a_source_that_meets_another_stream_gives_its_trains_at_once(split: list[str]) -> None:
    cut = [train["in"] for train in trains(numbers(60), 2)]
    whole = numbers(40).with_columns(pl.col("value") + 1000)
    outcome = level_0(MEETING, split, {"in": cut, "other": [Train(whole, END)]})
    wanted = pl.concat([numbers(60), whole]).sort("time", maintain_order=True)
    assert outcome.deliveries["out"].tuples.equals(wanted)


def test_coupled_trains_keep_their_schema_when_they_are_empty() -> None:
    empty = numbers(0)
    assert coupled([Train(empty, 3), Train(empty, 9)]).tuples.schema == empty.schema
    assert coupled([Train(empty, 3), Train(numbers(5), 9), Train(empty, END)]).through == END
