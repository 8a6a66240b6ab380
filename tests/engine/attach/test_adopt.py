"""A query that becomes part of the network."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from arterial import Network, RunError, attach, collect
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.attach.adopt import adopted, graft
from arterial.engine.plan.compile import compile_network
from arterial.network.network import Port
from arterial.sql.attach import adopted_network
from tests.engine.attach.asked import city, finished, reports, running


def query(name: str = "kept", **columns: object) -> Network:
    net = Network("query")
    stream = net.source(name, columns or {"time": int, "seg": "int16", "speed": int})
    stream.filter("slow", "speed < 50").group_by("seg").tumble("counts", n="count(*)", every=10).output("answer")
    return net


def test_the_answer_is_that_of_the_query_alone() -> None:
    both = adopted(city().value, "kept", query().value, "kept", "busy")
    got = collect(both, reports=reports())
    assert got["alerts"].equals(collect(city(), reports=reports())["alerts"])
    alone = collect(query(), kept=reports().select("time", "seg", "speed"))["answer"]
    assert got["busy"].sort(pl.all()).equals(alone.sort(pl.all()))


def test_boxes_of_the_same_name_and_grouped_streams() -> None:
    net = Network("grouped")
    stream = net.source("reports", {"time": int, "seg": "int16", "speed": int}).group_by("speed")
    stream.connection_point("kept", "1 hour").filter("slow", "speed < 3").output("out")
    both = adopted(net.value, "kept", query().value, "kept", "busy")
    assert {"slow", "slow_2", "kept_ungrouped"} <= {box.name for box in both.boxes}
    tuples = reports().select("time", "seg", "speed")
    assert collect(both, reports=tuples)["busy"].height == collect(query(), kept=tuples)["answer"].height


@pytest.mark.parametrize("history", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_query_that_is_adopted_begins_with_the_history_of_its_point(tmp_path: Path, history: bool) -> None:
    run, source = running(tmp_path / "c", 15, city(other="all"))  # a run with a shuffle, as the query needs one
    while run.status.step < 15:
        assert not run.wait(0.01)
    plain = "SELECT seg, speed FROM kept WHERE speed < 50"
    run.adopt("kept", query(), "busy", MemorySink(), history=history)
    source.may = 20
    while run.status.step < 20:
        assert not run.wait(0.01)
    run.adopt("kept", plain, "slow_ones", MemorySink(), history=history)
    source.all.set()
    assert run.wait(60)
    alone = collect(query(), kept=reports().select("time", "seg", "speed"))["answer"].sort(pl.all())
    slow = reports().filter(pl.col("speed") < 50).select("time", "seg", "speed").sort(pl.all())
    got = run["busy"].sort(pl.all()), run["slow_ones"].select("time", "seg", "speed").sort(pl.all())
    if history:
        assert got[0].equals(alone)
        assert got[1].equals(slow)
    else:
        assert 0 < got[0].height < alone.height
        assert got[1].equals(slow.filter(pl.col("time") >= 60))


@pytest.mark.thorough
def test_a_query_on_a_point_of_a_grouped_stream_begins_with_its_history(tmp_path: Path) -> None:
    net = Network("grouped")
    stream = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int}).group_by("seg")
    counts = stream.tumble("first", every=1, n="count(*)", speed="max(speed)")
    counts.connection_point("kept", "1 hour").output("out")
    counts.group_by("n", name="by_n").tumble("again", every=5, v="max(speed)").output("other")
    run, source = running(tmp_path / "c", 15, net)
    while run.status.step < 15:
        assert not run.wait(0.01)
    run.adopt("kept", "SELECT seg, n, speed FROM kept", "same", MemorySink())
    source.all.set()
    assert run.wait(60)
    got = run["same"].select("seg", "n", "speed").sort(pl.all())
    whole = collect(net, reports=reports())["out"].select("seg", "n", "speed").sort(pl.all())
    assert got.equals(whole)


def test_sql_is_adopted() -> None:
    text = "SELECT seg, speed FROM kept WHERE speed < 50"
    both = adopted_network(city().value, "kept", text, "slow_ones")
    got = collect(both, reports=reports())["slow_ones"].select("time", "seg", "speed")
    expected = reports().filter(pl.col("speed") < 50).select("time", "seg", "speed")
    assert got.sort(pl.all()).equals(expected.sort(pl.all()))
    assert adopted_network(city().value, "kept", query(), "busy").box("busy")
    with pytest.raises(RunError, match="leave out SINCE"):
        adopted_network(city().value, "kept", f"{text} SINCE 3", "slow_ones")
    with pytest.raises(RunError, match="did you mean 'kept'"):
        adopted_network(city().value, "kapt", text, "slow_ones")


@pytest.mark.parametrize(
    ("text", "shuffles"),
    [
        ("SELECT seg, count(*) AS n FROM kept WHERE speed < 50 GROUP BY seg, TUMBLE(time, '10 seconds')", 1),
        ("SELECT seg, max(speed) AS n FROM kept GROUP BY seg, SESSION(time, '10 seconds') HAVING max(speed) > 90", 1),
        ("SELECT seg, count(*) AS n FROM kept GROUP BY seg", 1),
        ("SELECT count(*) AS n FROM kept GROUP BY seg, TUMBLE(time, '10 seconds')", 2),  # its rows do not say the group
        ("SELECT count(*) AS n FROM kept GROUP BY TUMBLE(time, '10 seconds')", 1),
        ("SELECT seg, count(*) AS n FROM kept GROUP BY seg, TUMBLE(time, '9 seconds') ORDER BY n DESC LIMIT 3", 2),
    ],
)
def test_sql_with_groups_needs_no_other_shuffle_than_theirs(text: str, shuffles: int, tmp_path: Path) -> None:
    both = adopted_network(city().value, "kept", text, "asked")
    assert len(compile_network(both, 2).levels) == shuffles
    got = collect(both, reports=reports())["asked"]
    finished(tmp_path)
    alone = attach(tmp_path, "kept", text).collect()["answer"]
    assert alone.height
    assert got.select(alone.columns).sort(pl.all()).equals(alone.sort(pl.all()))


def test_what_cannot_be_adopted() -> None:
    with pytest.raises(RunError, match=r"no connection point or view 'kapt'.*did you mean 'kept'"):
        adopted(city().value, "kapt", query().value, "kept", "busy")
    with pytest.raises(RunError, match="there is a box 'alerts' already"):
        adopted(city().value, "kept", query().value, "kept", "alerts")
    with pytest.raises(RunError, match="expected the column 'speed'"):
        graft(city().value, Port("kept", "out"), query(time=int, seg="int16", speed=float).value, "kept")
    two = query()
    two.source("other", {"time": int}).output("others")
    with pytest.raises(RunError, match="expected one to adopt"):
        adopted(city().value, "kept", two.value, "kept", "busy")
