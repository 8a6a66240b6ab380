"""Which versions of a network can follow each other, and which state their boxes find."""

from __future__ import annotations

import pytest

from arterial.engine.host.inprocess import InProcess
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.successor import born_in, check_successor, owners
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from tests.engine.tiny import SCHEMA, Add, By, Enter, Keep, Leave, Running, arc, chain, numbers, trains

SUM = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))


def check(old: NetworkValue, new: NetworkValue, shards: int = 2) -> None:
    one, other = (compile_network(network, shards) for network in (old, new))
    check_successor(one, other, len(one.levels))


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (chain(Enter("other"), By("by"), Running("sum"), Leave("out")), "the same sources, in; it has other"),
        (
            chain(Enter("in", SCHEMA.of({"time": "int64", "key": "int32"})), By("by"), Leave("out")),
            "source 'in': .*is changed",
        ),
        (
            chain(Enter("in"), By("by"), Running("sum", by="value"), Leave("out")),
            "'sum': it keeps state and is",
        ),
        (chain(Enter("in"), By("by", ("value",)), Running("sum"), Leave("out")), "columns or groups of its input are"),
        (chain(Enter("in"), Running("sum"), Leave("out")), "columns or groups of its input are changed"),
        (
            chain(Enter("in"), By("by"), Running("sum"), By("b", ("value",)), Running("s"), Leave("out")),
            "needs 2 shuffles",
        ),
    ],
)
def test_what_cannot_follow(new: NetworkValue, said: str) -> None:
    with pytest.raises(RunError, match=said):
        check(SUM, new)


def test_what_can_follow() -> None:
    check(SUM, SUM)
    check(SUM, chain(Enter("in"), Keep("k"), By("by"), Running("sum"), Add("more"), Leave("out")))
    check(SUM, chain(Enter("in"), Leave("out")))


def test_what_waits_behind_a_shuffle_is_not_lost() -> None:
    """Between two keys slots may be differently far, and tuples wait at the end of the way that a change takes away."""
    boxes = (By("by"), Running("sum"), By("b", ("value",)), Running("s", by="value"), Leave("out"))
    old = chain(Enter("in"), *boxes)
    with pytest.raises(RunError, match=r"'b': tuples may wait on their way to it from sum\.out"):
        check(old, chain(Enter("in"), *boxes[:2], Keep("k"), *boxes[2:]))
    check(old, chain(Enter("in"), *boxes[:2], Leave("end")))
    check(old, chain(Enter("in"), Keep("k"), *boxes))


def test_a_box_that_comes_again_is_another_one() -> None:
    without = chain(Enter("in"), By("by"), Leave("out"))
    born = born_in(2, SUM, without, {})
    assert born == {}
    again = born_in(3, without, SUM, born)
    assert again == {"sum": 3}
    names = owners(compile_network(SUM, 2), again)
    assert names["sum"] == "sum/3"
    assert owners(compile_network(SUM, 2), {})["sum"] == "sum"
    assert born_in(4, SUM, SUM, again) == again


def test_a_box_that_comes_again_begins_empty() -> None:
    without = chain(Enter("in"), By("by"), Leave("out"))
    steps = trains(numbers(90), 3)
    host = InProcess(SUM, shards=2)
    host.run(steps[:2])
    host.replace(without)
    host.replace(SUM)  # without a step in between
    got = host.run(steps[2:])["out"]
    fresh = InProcess(SUM, shards=2).run(steps[2:])["out"]
    assert got.sort(got.columns).equals(fresh.sort(fresh.columns))


def test_a_box_that_stays_goes_on() -> None:
    more = NetworkValue(
        "chain", (*SUM.boxes, Keep("keep"), Leave("few")), (*SUM.arcs, arc("sum", "keep"), arc("keep", "few"))
    )
    steps = trains(numbers(90), 3)
    host = InProcess(SUM, shards=2)
    first = host.run(steps[:2])["out"]
    host.replace(more)
    host.restart()
    second = host.run(steps[2:])["out"]
    whole = InProcess(SUM).run(steps)["out"]
    got = first.vstack(second)
    assert got.sort(got.columns).equals(whole.sort(whole.columns))
