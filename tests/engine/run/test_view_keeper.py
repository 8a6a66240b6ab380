"""Views of `some`: kept while there is headroom for them, computed by whoever connects when there is none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from arterial import Delay, Network, NetworkValue, attach
from arterial.cli.main import app
from arterial.connectors.memory_source import MemorySource
from arterial.engine.plan.views import with_views, without_views
from arterial.engine.run.control.view_keeper import ViewKeeper
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.errors import RunError
from arterial.figures.steering import Steering
from arterial.figures.window import Window
from arterial.network.train import END, Train
from arterial.service.scheduling import Scheduler
from arterial.service.simulation import SimulatedRun
from arterial.service.views import without
from tests.engine.attach.asked import city, finished, running

COST = {"s": 1e-6, "alert": 20e-6, "cheap_map": 10e-6, "dear_map": 70e-6}
SATURATION = 2 / sum(COST.values())


def _network(*, point: bool = True) -> NetworkValue:
    net = Network("views")
    stream = net.source("s", {"time": "int64"})
    stream = stream.connection_point("kept", "1 hour") if point else stream
    stream.map("alert", x="1").output("alerts", qos=Delay(2, 10))
    stream.map("cheap_map", x="1").view("cheap", "some")
    stream.map("dear_map", x="1").view("dear", "some")
    return net.value


def _decided(load: float, network: NetworkValue) -> NetworkValue | None:
    """What is decided first in half a minute of such a load."""
    keeper, found = ViewKeeper(2, 0.8, network, network), list[NetworkValue]()

    def look(window: Window, network: NetworkValue, steering: Steering) -> Steering:
        if not found and (fewer := keeper.next_network(1, window, network)) is not None:
            found.append(fewer)
        return steering

    rate = {"s": lambda t: SATURATION * load}
    SimulatedRun(network, COST, rate, fixed=0.1, cores=2, controllers=[Scheduler(2), look]).run(30)
    return found[0] if found else None


def _kept(network: NetworkValue) -> dict[str, str]:
    return {box.name: box.materialise for box in network.boxes if box.kind == "view"}  # type: ignore[attr-defined]


def _all_of(checkpoint: Path) -> pl.DataFrame:
    (answer,) = attach(checkpoint, "busy").collect().values()
    return answer.sort("time", "seg")


def test_the_dearest_go_as_far_as_it_takes() -> None:
    assert _decided(0.5, _network()) is None
    fewer = _decided(1.2, _network())
    assert fewer is not None
    assert _kept(fewer) == {"cheap": "some", "dear": "none"}
    fewer = _decided(6.0, _network())
    assert fewer is not None
    assert _kept(fewer) == {"cheap": "none", "dear": "none"}


def test_a_view_that_nobody_could_compute_stays() -> None:
    assert _decided(4.0, _network(point=False)) is None


@pytest.mark.thorough
def test_a_view_that_goes_while_it_runs_answers_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _all_of(finished(tmp_path / "whole", city(busy="some")).checkpoint)
    run, source = running(tmp_path / "c", 3, city(busy="some"))

    def once(version: int, window: Window, network: NetworkValue) -> NetworkValue | None:
        return without(network, ["busy"]) if version == 1 and len(window.steps) > 4 else None

    monkeypatch.setattr(run._views, "next_network", once)
    reader = iter(attach(run.checkpoint, "busy"))
    next(reader)
    source.all.set()
    assert run.wait(60)
    assert run.version == 2
    with pytest.raises(RunError, match="no longer keeps this view; attach again, and it is computed"):
        list(reader)
    assert "busy_counts" not in {box.name for box in run.plan.network.boxes}
    assert _all_of(run.checkpoint).equals(expected)
    said = CliRunner().invoke(app, ["status", str(run.checkpoint)]).output
    assert "views that are not kept, but computed by whoever connects: busy" in said


def test_a_view_comes_back_when_there_has_been_room_for_it_long_enough() -> None:
    whole = _network()
    keeper, versions = ViewKeeper(2, 0.8, whole, whole), list[tuple[float, NetworkValue]]()

    def look(window: Window, network: NetworkValue, steering: Steering) -> Steering:
        now = versions[-1][1] if versions else network
        found = keeper.next_network(1 + len(versions), window, without_views(now))
        if found is not None:
            versions.append((window.steps[-1].born, without_views(found)))
        return steering

    def rate(t: float) -> float:
        return SATURATION * (1.2 if t < 40 or 100 < t < 130 else 0.3)

    SimulatedRun(whole, COST, {"s": rate}, fixed=0.1, cores=2, controllers=[Scheduler(2), look]).run(240)
    kept = [("dear" in {box.name for box in network.boxes}, at) for at, network in versions]
    assert [one for one, _ in kept] == [False, True, False, True]
    (_, _), (_, back), (_, gone), (_, again) = kept
    assert back - 40 >= 30 - 1, "there was room for it for so long"
    assert again - 130 >= 60 - 1, "twice as long the second time"
    assert gone > 100
    assert {box.name for box in versions[1][1].boxes} == {box.name for box in whole.boxes}


def test_a_view_that_went_before_a_restart_comes_back_under_a_low_load() -> None:
    whole = _network()
    fewer = without_views(without(whole, ["dear"]))
    for load, comes in ((0.1, True), (2.0, False)):
        keeper, found = ViewKeeper(2, 0.8, whole, fewer), list[NetworkValue]()

        def look(window: Window, network: NetworkValue, steering: Steering) -> Steering:
            more = None if found else keeper.next_network(1, window, network)  # noqa: B023
            found.extend([more] if more else [])  # noqa: B023
            return steering

        rate = {"s": lambda t: SATURATION * load}  # noqa: B023
        SimulatedRun(fewer, COST, rate, fixed=0.1, cores=2, controllers=[Scheduler(2), look]).run(60)
        assert bool(found) == comes


def test_a_view_that_comes_back_has_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _all_of(finished(tmp_path / "whole", city(busy="some")).checkpoint)
    run, source = running(tmp_path / "c", 3, city(busy="some"))
    whole = run.plan.network

    def twice(version: int, window: Window, network: NetworkValue) -> NetworkValue | None:
        if version == 1 and len(window.steps) > 4:
            return without(network, ["busy"])
        return with_views(network, whole, ["busy"]) if version == 2 and len(window.steps) > 12 else None

    monkeypatch.setattr(run._views, "next_network", twice)
    reader = attach(run.checkpoint, "busy")
    first = next(iter(reader))
    source.all.set()
    assert run.wait(60)
    assert run.version == 3
    assert not (run.checkpoint / "points" / "busy" / "view.json").exists()
    assert _all_of(run.checkpoint).equals(expected)
    rest = [answer.frame for answer in reader]
    assert pl.concat([first.frame, *rest]).sort("time", "seg").equals(expected), "who was connected goes on"


def test_boxes_that_a_view_shares_are_copied_when_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shared() -> Network:
        net = city()
        slow = net.stream("slow").group_by("seg", name="busy_by_seg")
        slow.tumble("busy_counts", n="count(*)", every=10).view("busy", "some")
        return net

    expected = _all_of(finished(tmp_path / "whole", shared()).checkpoint)
    run, source = running(tmp_path / "c", 3, shared())
    whole = run.plan.network

    def twice(version: int, window: Window, network: NetworkValue) -> NetworkValue | None:
        if version == 1 and len(window.steps) > 4:
            return without(network, ["busy"])
        return with_views(network, whole, ["busy"]) if version == 2 and len(window.steps) > 12 else None

    monkeypatch.setattr(run._views, "next_network", twice)
    source.all.set()
    assert run.wait(60)
    assert run.version == 3
    assert "slow_for_busy" in {box.name for box in run.plan.network.boxes}
    assert _all_of(run.checkpoint).equals(expected)
    assert with_views(Network("other").value, whole, ["busy"]) is None


def test_a_replace_that_cannot_be_leaves_views_as_they_are(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", 3, city(busy="none"))
    other = city(busy="all")
    other.source("more", {"time": int}).output("more_out")
    with pytest.raises(RunError, match="must have the same sources"):
        run.replace(other.value)
    assert (run.checkpoint / "points" / "busy" / "view.json").exists()
    source.all.set()
    assert run.wait(60)
    assert _all_of(run.checkpoint).height


def test_a_view_that_is_kept_answers_from_a_tenth_of_the_bytes(tmp_path: Path) -> None:
    net = Network("rooms")
    stream = net.source("reports", {"time": int, "room": int, "heat": float}).connection_point("kept", "1 hour")
    for name, materialise in (("at_once", "all"), ("computed", "none")):
        stream.tumble(f"{name}_means", every=60, heat="avg(heat)").view(name, materialise)
    stream.filter("hot", "heat > 144").output("alerts")
    rows = pl.int_range(40_000, eager=True)
    tuples = pl.DataFrame({"time": rows // 200, "room": rows % 97, "heat": (rows * 7919 % 1013) / 7})
    source = MemorySource([Train(tuples.slice(0, 20_000), 99), Train(tuples.slice(20_000), END)])
    run = run_locally(net.value, {"reports": source}, {}, tmp_path, Settings(shards=1))
    assert run.wait(60)
    read, answers = {}, {}
    for name in ("at_once", "computed"):
        attachment = attach(tmp_path, name)
        (answers[name],) = attachment.collect().values()
        read[name] = attachment.reading.bytes
    assert answers["at_once"].equals(answers["computed"])
    assert answers["at_once"].height == 4
    assert 0 < 10 * read["at_once"] <= read["computed"]
