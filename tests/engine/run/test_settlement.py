"""Overflow and settlement: what was left out is answered later, and all answers together are those without load."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import ClassVar

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.settlement import settling_network
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.control import settlement
from arterial.engine.run.control.controllers import controllers_for
from arterial.engine.run.control.settlement import Settlement, count_overflow, overflow_of
from arterial.engine.run.local import LocalRun
from arterial.engine.run.settings import Settings
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train

SCHEMA = {"time": pl.Int64, "k": pl.Int64, "x": pl.Int64}
STEPS = 12
ARCS = ("f → m", "m → both.in0", "f → both.in1", "by_k → wide", "wide → w", "both → b", "f → by_k")
OUTPUTS = ("b", "w", "o")


def _network() -> NetworkValue:
    net = art.Network("small")
    fast = net.source("s", {"time": int, "k": int, "x": int}).filter("f", "x > 1")
    fast.map("m", time="time", k="k", x="x * 10").union("both", fast).output("b")
    fast.group_by("k").map("wide", time="time", k="k", y="x + 1").output("w")
    fast.group_by("k", name="again").tumble("t", every=5, n="count(*)").output("o")
    return net.value


def _source() -> MemorySource:
    trains = [
        Train(pl.DataFrame({"time": [n] * 10, "k": range(10), "x": [(n + i) % 9 for i in range(10)]}, SCHEMA), n)
        for n in range(STEPS)
    ]
    return MemorySource([*trains, Train(pl.DataFrame(schema=SCHEMA), END)])


def _run(folder: Path, **more: object) -> LocalRun:
    sinks = {name: MemorySink() for name in OUTPUTS}
    chosen = Settings(shards=2, train_size=10, **more)  # type: ignore[arg-type]
    run = LocalRun(_network(), {"s": _source()}, sinks, folder, chosen)
    run.pause()
    Thread(target=run.work, daemon=True).start()
    return run


def _union(run: LocalRun) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted([*run[name].rows(), *run.settled(name).rows()]) for name in OUTPUTS}


def _until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + 30
    while not condition() and time.monotonic() < patience:
        time.sleep(0.005)
    assert condition()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    run = _run(tmp_path_factory.mktemp("plain"))
    run.resume()
    assert run.wait(60)
    return _union(run)


changes = st.lists(st.tuples(st.sampled_from(ARCS), st.floats(0.1, 1.0), st.integers(1, 4)), min_size=1, max_size=4)


@pytest.mark.thorough
@given(changes)
@settings(max_examples=5)
def test_the_union_of_answers_is_that_of_a_run_without_load(
    expected: dict[str, list[tuple[object, ...]]],
    tmp_path_factory: pytest.TempPathFactory,
    changed: list[tuple[str, float, int]],
) -> None:
    run = _run(tmp_path_factory.mktemp("shed"))
    steps = 0
    for arc, share, more in changed:
        run.shed(arc, share, overflow=True)
        steps = min(STEPS, steps + more)
        run.step(more)
        _until(lambda: run.status.step >= steps)  # noqa: B023
    run.resume()
    assert run.wait(60)
    assert _union(run) == expected
    assert sum(run.status.shed.values()) > 0
    assert not overflow_of(run.checkpoint / FOLDER)


def test_it_is_settled_while_the_run_goes_on_once_nothing_is_shed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "CALM_SECONDS", 0.05)
    run = _run(tmp_path)
    run.shed("f → m", 0.5, overflow=True)
    run.step(4)
    _until(lambda: run.status.step == 4)
    time.sleep(0.2)
    waiting, late = count_overflow(tmp_path)
    assert waiting == sum(run.status.shed.values()) > 0
    assert late == {}
    run.shed("f → m", 0)
    _until(lambda: count_overflow(tmp_path)[0] == 0)
    assert run.active
    assert count_overflow(tmp_path)[1] == {"b": waiting} == {"b": run.settled("b").height}
    run.stop()


def test_on_demand_from_another_process(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.shed("f → m", 1.0, overflow=True)
    run.step(3)
    _until(lambda: run.status.step == 3)
    number = sum(run.status.shed.values())
    said = CliRunner().invoke(app, ["status", str(tmp_path)]).output
    assert f"overflow: {number} tuples wait to be settled; late answers: none" in said
    said = CliRunner().invoke(app, ["control", str(tmp_path), "settle"]).output
    assert f"settled {number} tuples" in said
    assert run.settled("b").height == number
    assert run.settle() == 0
    said = CliRunner().invoke(app, ["status", str(tmp_path)]).output
    assert f"overflow: 0 tuples wait to be settled; late answers: b {number}" in said
    run.stop()


def test_what_is_settled_again_after_a_kill_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(tmp_path)
    run.shed("f → m", 0.7, overflow=True)
    run.step(3)
    _until(lambda: run.status.step == 3)
    own = Settlement(tmp_path / FOLDER, lambda _: _network(), "fail")
    monkeypatch.setattr(settlement, "remove", lambda _: None)  # as if it were killed before each part is removed
    number = own.settle()
    first = run.settled("b")
    assert own.settle() == number > 0
    monkeypatch.undo()
    assert run.settle() == number
    assert run.settled("b").equals(first)
    run.stop()


def test_overflow_that_is_damaged_is_named(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.shed("f → m", 0.7, overflow=True)
    run.step(3)
    _until(lambda: run.status.step == 3)
    own = Settlement(tmp_path / FOLDER, lambda _: _network(), "fail")
    path = overflow_of(tmp_path / FOLDER)[0].path
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], bytes(len(whole)), whole[:-30] + b"x" * 30):
        path.write_bytes(content)
        with pytest.raises(RunError, match=rf"{re.escape(str(path))}: is damaged .* restore it from a copy"):
            own.settle()
    path.write_bytes(whole)
    assert own.settle() > 0
    run.stop()


def test_only_what_can_be_settled_is_shed_with_overflow(tmp_path: Path) -> None:
    run = _run(tmp_path)
    for arc in ("again → t", "s → f"):
        with pytest.raises(RunError, match=r"could not be settled later: box 't' \(tumble\) does not take each tuple"):
            run.shed(arc, 0.5, overflow=True)
    run.shed("again → t", 0.5)
    with pytest.raises(RunError, match="no output 'x'; it has: b, w, o"):
        run.settled("x")
    run.stop()
    network = _network()
    into_t = next(arc for arc in network.arcs if arc.end.box == "t")
    with pytest.raises(RunError, match="cannot be settled: box 't'"):
        settling_network(network, into_t)
    with pytest.raises(RunError, match="overflow is about what is shed"):
        Settings(overflow=True)


@dataclass(frozen=True)
class Whole(art.Box):
    """Looks at tuples one by one, and needs all of them."""

    kind: ClassVar[str] = "test_settlement.whole"
    stateless: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, art.Stream]) -> Mapping[str, art.Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: art.State) -> Mapping[str, Train]:
        return {"out": trains["in"]}


def test_overflow_is_refused_where_nothing_could_be_left_out_or_held(tmp_path: Path) -> None:
    net = art.Network("whole")
    net.source("s", {"time": int, "k": int, "x": int}).box(Whole("w")).output("o")
    settings = Settings(shed=True, overflow=True)
    said = (
        r"with overflow no work could be put off. On the arc s.out → w.in nothing can be left out .*is needed whole.*, "
        r"and nothing can wait \(box 'w' runs where the source is read"
    )
    with pytest.raises(RunError, match=said):
        LocalRun(net.value, {"s": _source()}, {}, tmp_path, settings)
    net = art.Network("windows")
    net.source("s", {"time": int, "k": int, "x": int}).tumble("t", every=5, n="count(*)").output("o")
    assert controllers_for(settings, compile_network(net.value, 2)), "what waits before the window is answered later"


def test_a_tuple_that_a_box_fails_on_is_set_aside(tmp_path: Path) -> None:
    net = art.Network("fails")
    net.source("s", {"time": int, "x": int}).filter("f", "x >= 0").map("m", y="10 / x").output("o")
    frame = pl.DataFrame({"time": [0, 0, 0], "x": [0, 1, 2]})
    trains = [Train(frame, 0), Train(frame.clear(), END)]
    chosen = Settings(shards=1, policy=SET_ASIDE)
    run = LocalRun(net.value, {"s": MemorySource(trains)}, {"o": MemorySink()}, tmp_path, chosen)
    run.shed("f → m", 1.0, overflow=True)
    run.work()
    assert run.wait(10)
    assert run["o"].height == 0
    settled = run.settled("o").height
    aside = list((tmp_path / FOLDER / "rejects" / "settled").glob("*.jsonl"))
    assert settled + sum(len(path.read_text().splitlines()) for path in aside) == 3
