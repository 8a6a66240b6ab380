"""Runs that are steered while they run, here in this process: commands, queues, controllers, and what they leave."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.outcome_files import overflow_folder
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.checkpoint.folder import STATUS_FILE
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.figures.status import read_status
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.engine.steering import control
from arterial.engine.steering.decisions import Decision, read_decision, write_decision
from arterial.engine.steering.taps import open_tap, take_tapped
from arterial.errors import RunError
from arterial.figures.steering import Drop, Steering, Tap
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train

SCHEMA = {"time": pl.Int64, "k": pl.Int64, "x": pl.Int64}
STEPS = 40
INTO = "by_k.out → t.in"


def _network() -> NetworkValue:
    net = art.Network("small")
    fast = net.source("s", {"time": int, "k": int, "x": int}).filter("f", "x > 1")
    fast.group_by("k").tumble("t", every=5, n="count(*)").output("o")
    fast.output("raw")
    return net.value


def _source() -> MemorySource:
    trains = [
        Train(pl.DataFrame({"time": [n] * 10, "k": range(10), "x": [(n + i) % 9 for i in range(10)]}, SCHEMA), n)
        for n in range(STEPS)
    ]
    return MemorySource([*trains, Train(pl.DataFrame(schema=SCHEMA), END)])


def _run(folder: Path, *, paused: bool = True, **settings: object) -> LocalRun:
    sinks = {"o": MemorySink(), "raw": MemorySink()}
    chosen = Settings(shards=2, train_size=10, **settings)  # type: ignore[arg-type]
    run = LocalRun(_network(), {"s": _source()}, sinks, folder, chosen)
    if paused:
        run.pause()
    from threading import Thread

    Thread(target=run.work, daemon=True).start()
    return run


def _until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + 30
    while not condition() and time.monotonic() < patience:
        time.sleep(0.005)
    assert condition()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, ...]]]:
    run = _run(tmp_path_factory.mktemp("plain"), paused=False)
    assert run.wait(60)
    return {name: sorted(frame.rows()) for name, frame in run.outputs.items()}


def test_a_queue_is_let_through_before_the_run_ends(tmp_path: Path, expected: dict[str, object]) -> None:
    run = _run(tmp_path)
    run.hold("t")
    run.resume()
    assert run.wait(60)
    assert {name: sorted(frame.rows()) for name, frame in run.outputs.items()} == expected
    steps = list(read_steps(tmp_path))
    assert max(step.held.get(INTO, 0) for step in steps) > 200
    assert not steps[-1].held
    late = max(step.outputs["o"].delay for step in steps)
    assert late > 3 * max(step.outputs["raw"].delay for step in steps[-2:])


def test_a_hold_that_is_lifted_lets_its_tuples_go_on_while_nothing_comes(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.hold("t", 0)
    run.step(10)
    _until(lambda: run.status.step == 10)
    assert run.status.window["held"][INTO] == sum(run.status.boxes["f"][1:2])
    run.hold("t", None)
    run.step(20)
    _until(lambda: not run.status.window["held"])
    assert run.status.step < 30
    run.stop()


@pytest.mark.thorough
def test_shedding_by_command_is_counted_and_kept(tmp_path: Path, expected: dict[str, list[tuple[int, ...]]]) -> None:
    run = _run(tmp_path)
    run.shed("raw", 0.5, keep="x > 3", overflow=True)
    run.step(STEPS)
    _until(lambda: run.status.step == STEPS)
    arc = "f.out → raw.in"
    parts = sorted(overflow_folder(tmp_path / "arterial", 1, arc).glob("part-*.parquet"))
    kept = pl.concat([pl.read_parquet(part) for part in parts])
    run.resume()
    assert run.wait(60)
    left = run["raw"]
    assert left["x"].min() == 4
    assert run.status.shed[arc] == len(expected["raw"]) - left.height
    assert sorted(pl.concat([left, kept]).rows()) == expected["raw"]
    assert sorted(run["o"].rows()) == expected["o"]
    assert sorted(run.settled("raw").rows()) == sorted(kept.rows())


@pytest.mark.thorough
def test_the_figures_of_a_run_add_up(tmp_path: Path) -> None:
    run = _run(tmp_path, paused=False)
    assert run.wait(60)
    steps = list(read_steps(tmp_path))
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    status = read_status(tmp_path)
    assert status is not None
    assert status.step == len(steps)
    assert sum(step.sources["s"].tuples for step in steps) == status.tuples_in["s"] == 10 * STEPS
    assert sum(step.outputs["o"].tuples for step in steps) == status.tuples_out["o"] == run["o"].height
    for box in ("f", "t"):
        assert sum(sum(step.boxes[box].tuples_in.values()) for step in steps) == status.boxes[box][0]
    said = json.loads((tmp_path / STATUS_FILE).read_text())
    assert said["window"]["sources"]["s"]["event_time"] is None or said["window"]["sources"]["s"]["event_time"] < STEPS
    assert said["window"]["bottlenecks"]


@pytest.mark.thorough
def test_a_tap_of_another_process(tmp_path: Path) -> None:
    run = _run(tmp_path)
    own = open_tap(tmp_path / "arterial", Tap("f.out → raw.in", "x = 5"))
    run.resume()
    assert run.wait(60)
    tapped = pl.concat(take_tapped(own, set()))
    assert tapped.equals(run["raw"].filter(pl.col("x") == 5))


def test_commands_that_do_not_fit_change_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path)
    before = control.read_control(tmp_path / "arterial")
    for ask, message in (
        (lambda: run.shed("nowhere", 0.5), "has no arc 'nowhere'"),
        (lambda: run.shed("raw", 2.0), "from 0 to 1"),
        (lambda: run.shed("raw", keep="speed > 1"), "its columns are"),
        (lambda: run.hold("f"), "cannot be held"),
        (lambda: run.hold("t", -1), "from 0 on"),
    ):
        with pytest.raises(RunError, match=message):
            ask()
    assert control.read_control(tmp_path / "arterial") == before
    run.stop()


def test_commands_about_an_arc_that_another_version_does_not_have(tmp_path: Path) -> None:
    """They are not in force then, hold up nothing, and can be taken back."""
    run = _run(tmp_path)
    less = art.Network("small")
    less.source("s", {"time": int, "k": int, "x": int}).output("raw")
    run.shed("t", 0.5)
    run.shed("o", 0.5)
    run.hold("t", 0)
    run.replace(less.value, {"raw": MemorySink()})
    run.step(2)
    _until(lambda: run.status.step == 2)
    assert run.status.steering["shed"] == run.status.steering["hold"] == {}
    assert "nothing to change" in run._optimise_as_asked().said
    with pytest.raises(RunError, match="no arc 't'"):
        run.shed("t", 0.5)
    run.shed("t")
    run.hold("t", None)
    words = ["control", str(tmp_path), "shed", "t.out → o.in", "--off"]
    assert CliRunner().invoke(app, words).exit_code == 0
    left = control.read_control(tmp_path / "arterial")
    assert (left.shed, left.hold) == ({}, {})
    run.stop()


@pytest.mark.thorough
def test_a_controller_decides_by_figures(tmp_path: Path, expected: dict[str, list[tuple[int, ...]]]) -> None:
    seen: list[tuple[int, Steering]] = []

    def controller(window: Window, network: NetworkValue, before: Steering) -> Steering:
        last = window.steps[-1]
        seen.append((last.step, before))
        shed = {"f.out → raw.in": Drop(1.0)} if 3 <= last.step < 6 else {}
        return Steering(shed=shed, admit={"s": 10}, hold={INTO: 0} if last.step < 5 else {})

    def broken(window: Window, network: NetworkValue, before: Steering) -> Steering:
        return Steering(shed={"nowhere": Drop(1.0)})

    run = _run(tmp_path, paused=False, controllers=(controller, broken))
    assert run.wait(60)
    steps = {step.step: step for step in read_steps(tmp_path)}
    assert [n for n, step in steps.items() if step.shed] == [4, 5, 6]
    assert steps[5].held
    assert not steps[8].held
    assert seen[3][1].shed == {"f.out → raw.in": Drop(1.0)}
    assert sorted(run["o"].rows()) == expected["o"]
    assert len(expected["raw"]) - run["raw"].height == sum(
        step.shed["f.out → raw.in"] for step in steps.values() if step.shed
    )


@pytest.mark.thorough
def test_a_local_run_forgets_the_one_before(tmp_path: Path) -> None:
    first = _run(tmp_path)
    first.shed("raw", 1.0)
    first.resume()
    assert first.wait(60)
    second = run_locally(_network(), {"s": _source()}, {"raw": MemorySink()}, tmp_path)
    assert second.wait(60)
    assert second["raw"].height > 0
    assert second.status.restarts == 0


def test_what_was_decided_goes_with_who_decided_it(tmp_path: Path) -> None:
    decided = Decision(4, {INTO: 7}, Steering(shed={"f.out → raw.in": Drop(0.5)}))
    write_decision(tmp_path, decided)
    plan = compile_network(_network(), 1)
    RunFigures(plan, tmp_path, (lambda window, network, before: before,), temporary=True)
    assert read_decision(tmp_path) == decided
    RunFigures(plan, tmp_path, (), temporary=True)
    assert read_decision(tmp_path) == Decision(4, {INTO: 7})


def test_another_version_must_find_the_queues(tmp_path: Path) -> None:
    write_decision(tmp_path, Decision(4, {INTO: 7}))
    figures = RunFigures(compile_network(_network(), 2), tmp_path, (), temporary=True)
    figures.check_queues(compile_network(_network(), 2))
    net = art.Network("other")
    net.source("s", {"time": int, "k": int, "x": int}).output("o")
    with pytest.raises(RunError, match=r"7 tuples wait on the arc by_k.out → t.in.*let them through first"):
        figures.check_queues(compile_network(net.value, 2))
