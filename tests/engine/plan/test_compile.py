from __future__ import annotations

from dataclasses import dataclass

import pytest

from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.plan import Merge, Route, Where
from arterial.errors import NetworkError
from arterial.network.network import NetworkValue
from tests.engine.tiny import Add, Both, By, Enter, Keep, Leave, Running, arc, chain


def test_stateless_boxes_need_no_level() -> None:
    plan = compile_network(chain(Enter("in"), Keep("keep"), Add("add"), Leave("out")), 2)
    assert plan.levels == ()
    assert [box.name for box in plan.head.superboxes[0].boxes] == ["in", "keep", "add", "out"]


def test_group_by_is_one_shuffle_split_at_the_source() -> None:
    plan = compile_network(chain(Enter("in"), Keep("keep"), By("by"), Running("sum"), Leave("out")), 2)
    assert len(plan.levels) == 1
    (channel,) = plan.head.departures
    assert (channel.route, channel.columns, channel.merge) == (Route.SPLIT, ("key",), Merge.SEQUENCE)
    (superbox,) = plan.levels[0].superboxes
    assert superbox.where is Where.KEY
    assert superbox.key == ("key",)
    assert [box.name for box in superbox.boxes] == ["by", "sum", "out"]
    assert plan.source_keys == {"in": ("key",)}
    assert plan.split_sources == frozenset()


def test_a_source_that_delivers_by_slot_is_read_where_its_tuples_are_wanted() -> None:
    network = chain(Enter("in"), Keep("keep"), By("by"), Running("sum"), Leave("out"))
    plan = compile_network(network, 2, split_sources=["in"])
    assert plan.split_sources == {"in"}
    assert not plan.head.superboxes
    assert not plan.head.departures
    (superbox,) = plan.levels[0].superboxes
    assert (superbox.where, superbox.key) == (Where.KEY, ("key",))
    assert [box.name for box in superbox.boxes] == ["in", "keep", "by", "sum", "out"]
    computed = chain(Enter("in"), Add("add"), By("by", ("value",)), Running("sum"), Leave("out"))
    assert compile_network(computed, 2, split_sources=["in"]).split_sources == frozenset()


def test_groupers_that_share_a_split_source_share_its_slots() -> None:
    apart = NetworkValue(
        "apart",
        (Enter("in"), By("a"), By("b"), Running("s"), Running("t"), Leave("one"), Leave("two")),
        (arc("in", "a"), arc("in", "b"), arc("a", "s"), arc("b", "t"), arc("s", "one"), arc("t", "two")),
    )
    for network in (apart, _meeting(("key", "value"))):
        plan = compile_network(network, 2, split_sources=["in"])
        assert plan.split_sources == {"in"}
        assert not plan.head.departures
        assert [len(level.superboxes) for level in plan.levels] == [1]


def test_ungrouped_state_is_in_slot_0_and_its_followers_with_it() -> None:
    plan = compile_network(chain(Enter("in"), Running("sum"), Add("add"), Leave("out")), 4)
    (superbox,) = plan.levels[0].superboxes
    assert superbox.where is Where.ONE
    assert [box.name for box in superbox.boxes] == ["sum", "add", "out"]
    assert plan.head.departures[0].route is Route.FIRST


def test_one_level_for_each_change_of_key() -> None:
    plan = compile_network(
        chain(Enter("in"), By("a"), Running("s"), By("b", ("value",)), Running("t"), Leave("out")), 2
    )
    assert [[box.name for box in level.superboxes[0].boxes] for level in plan.levels] == [["a", "s"], ["b", "t", "out"]]
    assert plan.levels[0].departures[0].merge is Merge.TIME


def test_a_key_that_contains_the_shards_key_needs_no_shuffle() -> None:
    plan = compile_network(
        chain(Enter("in"), By("a"), Running("s"), By("b", ("value", "key")), Running("t"), Leave("out")), 2
    )
    assert len(plan.levels) == 1
    assert len(plan.levels[0].superboxes) == 1


def _meeting(right: tuple[str, ...]) -> NetworkValue:
    return NetworkValue(
        "meeting",
        (
            Enter("in"),
            By("a"),
            Running("s"),
            By("b", ("key", "value")),
            By("c", right),
            Both("both"),
            Leave("out"),
        ),
        (
            arc("in", "a"),
            arc("a", "s"),
            arc("s", "b"),
            arc("in", "c"),
            arc("b", "both.left"),
            arc("c", "both.right"),
            arc("both", "out"),
        ),
    )


def test_streams_that_meet_share_their_shards() -> None:
    plan = compile_network(_meeting(("key", "value")), 2)
    assert len(plan.levels) == 1
    split = {(str(c.begin), c.columns) for c in plan.head.departures}
    assert split == {("in.out", ("key",))}


def test_a_stream_waits_for_a_later_level_in_its_slot() -> None:
    network = NetworkValue(
        "later",
        (Enter("in"), By("a"), Add("add"), By("b", ("value",)), Running("s"), By("c"), Both("both"), Leave("out")),
        (
            arc("in", "a"),
            arc("in", "add"),
            arc("add", "b"),
            arc("b", "s"),
            arc("s", "c"),
            arc("a", "both.left"),
            arc("c", "both.right"),
            arc("both", "out"),
        ),
    )
    plan = compile_network(network, 3)
    assert plan.level_of("a") == 0
    assert plan.level_of("both") == 1
    routes = {str(c.begin): c.route for c in plan.levels[1].arrivals}
    assert routes == {"a.out": Route.SAME, "s.out": Route.SPLIT}


def test_a_source_that_orders_is_in_slot_0() -> None:
    plan = compile_network(chain(Enter("in"), Keep("keep"), Leave("out")), 2, in_arrival_order=["in"])
    assert plan.level_of("in") == 0
    assert [channel.route for channel in plan.head.departures] == [Route.FIRST]


def test_refusals() -> None:
    with pytest.raises(NetworkError, match="no source"):
        compile_network(NetworkValue("empty"), 2)
    with pytest.raises(NetworkError, match="no output"):
        compile_network(chain(Enter("in"), Keep("keep")), 2)
    with pytest.raises(NetworkError, match="at least 1"):
        compile_network(chain(Enter("in"), Leave("out")), 0)


@dataclass(frozen=True)
class Attached(Running):
    """Cannot be separated from what feeds it."""

    kind = "tiny.attached"
    inseparable = frozenset({"in"})


@dataclass(frozen=True)
class Misspelt(Running):
    """Names an input that it does not have."""

    kind = "tiny.misspelt"
    inseparable = frozenset({"inn"})


def test_inseparable_boxes_are_in_one_superbox() -> None:
    for boxes in (
        (Enter("in"), By("by"), Running("trips"), Attached("tolls"), Leave("out")),
        (Enter("in"), Running("trips"), Attached("tolls"), Leave("out")),
    ):
        plan = compile_network(chain(*boxes), 2)
        assert plan.superbox_of("trips") is plan.superbox_of("tolls")


@pytest.mark.parametrize("split", [[], ["in"]])
def test_a_plan_that_separates_them_is_refused(split: list[str]) -> None:
    direct = chain(Enter("in"), Attached("tolls"), Leave("out"), name="city")
    expected = (
        "'city': box 'tolls' cannot be separated from box 'in', .* input 'in'; .* in source and 'tolls' in level 0"
    )
    with pytest.raises(NetworkError, match=expected):
        compile_network(direct, 2, split_sources=split)


def test_an_inseparable_input_must_exist() -> None:
    with pytest.raises(NetworkError, match="box 'sum': it says that the input inn is inseparable; it has: in"):
        compile_network(chain(Enter("in"), Misspelt("sum"), Leave("out")), 2)


def test_describe_names_superboxes_and_keys() -> None:
    said = compile_network(chain(Enter("in"), By("by"), Running("sum"), Leave("out")), 2).describe()
    assert said["shuffles"] == 1
    assert said["levels"][1]["superboxes"][0]["state"] == ["sum"]
