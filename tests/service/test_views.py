"""Which views are kept, by the headroom."""

from __future__ import annotations

from arterial import Network
from arterial.service.views import Candidate, keeps, without


def test_the_cheapest_first_as_far_as_it_goes() -> None:
    three = [Candidate("a", 0.3, kept=False), Candidate("b", 0.1, kept=False), Candidate("c", 0.2, kept=False)]
    assert keeps(three, 0.35, 60) == {"a": False, "b": True, "c": True}
    assert keeps(three, 0.0, 60) == {"a": False, "b": False, "c": False}
    assert keeps(three, 9.0, 60) == {"a": True, "b": True, "c": True}


def test_what_is_kept_stays_until_there_is_too_little() -> None:
    one = [Candidate("a", 0.3, kept=True)]
    assert keeps(one, 0.0, 60) == {"a": True}
    assert keeps(one, -0.1, 60) == {"a": False}
    # Once dropped, it does not come back at the brink.
    assert keeps([Candidate("a", 0.3, kept=False)], 0.31, 60) == {"a": False}
    assert keeps([Candidate("a", 0.3, kept=False)], 0.34, 60) == {"a": True}


def test_a_short_window_changes_nothing() -> None:
    assert keeps([Candidate("a", 0.3, kept=True), Candidate("b", 0.1, kept=False)], -5.0, 2.0) == {
        "a": True,
        "b": False,
    }


def test_equal_costs_go_by_the_delay_that_is_asked_for() -> None:
    two = [Candidate("a", 0.3, kept=False), Candidate("b", 0.3, kept=False, good=1.0)]
    assert keeps(two, 0.4, 60) == {"a": False, "b": True}


def test_a_network_without_some_of_its_views() -> None:
    net = Network("n")
    stream = net.source("s", {"time": int}).connection_point("p", "1 hour")
    stream.view("a", "some")
    stream.view("b", "some")
    stream.view("c", "none")
    value = without(net.value, ["a", "c"])
    assert [value.box(name).materialise for name in "abc"] == ["none", "some", "none"]  # type: ignore[attr-defined]
    assert without(value, ["a"]) is value
