"""Sizing: what a made-up run on known costs says of other rates and machines."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.engine.run.local import run_locally
from arterial.errors import RunError
from arterial.figures.step import BoxFigures, OutputFigures, SlotFigures, SourceFigures, StepFigures
from arterial.service.prediction.sizing import size
from tests.engine.run.watch.watched import SCHEMA, in_file, speeding

FIXED, COST, STRETCH = 0.1, 10e-6, 0.6
"""A step of a run on two cores takes 0.1 s and 0.6 s for each second of work; a tuple is 10 µs of work."""


def run_on_two_cores(state: int = 1000) -> list[list[StepFigures]]:
    steps, at = [], 0.0
    for number in range(1, 21):
        tuples = 10_000 if number % 2 else 40_000
        work = tuples * COST
        seconds = FIXED + STRETCH * work
        steps.append(
            StepFigures(
                number,
                1,
                at,
                seconds,
                {
                    "reports": BoxFigures({}, {"out": tuples}, 0.0),
                    "fast": BoxFigures({"in": tuples}, {"out": tuples // 2}, work),
                    "alerts": BoxFigures({"in": tuples // 2}, {}, 0.0),
                },
                (SlotFigures(0, 0, seconds, {"fast": work}, 0, tuples * 8, state),),
                {"reports": SourceFigures(tuples)},
                {"alerts": OutputFigures(tuples // 2, 0.2)},
            )
        )
        at += seconds
    return [steps]


def test_cores_grow_with_the_rate() -> None:
    network = speeding().value
    found = size(run_on_two_cores(), network, {"reports": 800_000.0}, 2, ())
    assert found is not None
    assert found.work == pytest.approx(8.0, rel=0.01)
    assert found.overhead == pytest.approx(1.2, rel=0.01)
    assert found.cores == math.ceil(8 * 1.2 / 0.8 - 1e-6) == 12
    assert found.executors == 3
    assert found.written == pytest.approx(6_400_000, rel=0.01)
    assert found.enough
    assert (found.limit, found.limit_name) == ("cores", "")
    assert found.limit_at == pytest.approx(1.0, rel=0.05)
    assert found.step == pytest.approx(FIXED / (1 - 0.8), rel=0.1)
    few = size(run_on_two_cores(), network, {"reports": 800_000.0}, 2, (), cores=6)
    assert few is not None
    assert not few.enough
    assert math.isinf(few.delay)
    twice = size(run_on_two_cores(), network, {"reports": 1_600_000.0}, 2, ())
    assert twice is not None
    assert twice.cores == 24
    assert twice.state == pytest.approx(2 * found.state, rel=0.01)


def test_a_box_in_one_slot_gives_way_first() -> None:
    found = size(run_on_two_cores(), speeding().value, {"reports": 160_000.0}, 2, ("fast",))
    assert found is not None
    assert (found.limit, found.limit_name) == ("serial box", "fast")
    assert found.limit_at == pytest.approx(0.5, rel=0.01)
    assert not found.enough


def test_a_delay_gives_way_first() -> None:
    net = art.Network("speeding")
    fast = net.source("reports", SCHEMA).filter("fast", "speed > 30")
    fast.output("alerts", qos=art.QoS(delay=[(0.3, 1), (1, 0)]))
    found = size(run_on_two_cores(), net.value, {"reports": 80_000.0}, 2, (), cores=4)
    assert found is not None
    assert (found.limit, found.limit_name) == ("delay", "alerts")
    free = size(run_on_two_cores(), net.value, {"reports": 800_000.0}, 2, ())
    assert free is not None
    assert free.cores > 12, "more than the headroom needs, so that it is in time"
    assert free.enough
    assert free.delay <= 0.3


def test_nothing_was_read() -> None:
    assert size([[]], speeding().value, {"reports": 1.0}, 2, ()) is None


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from tests.engine.run.watch.watched import speeding\nnet = speeding()\n",
    )
    sources = {"reports": art.FileSource(in_file(tmp_path, 2000))}
    sinks = {"alerts": art.MemorySink()}
    run_locally(speeding().value, sources, sinks, tmp_path / "run", art.Settings(train_size=100)).wait()
    words = ["plan", f"{tmp_path}/net.py:net", "--figures", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*words, "--rate", "reports=1000", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["cores"] >= 1
    assert "read at most 100 tuples, too few to tell what a tuple costs" in done.stderr
    assert said["enough"]
    shown = CliRunner().invoke(app, [*words, "--rate", "reports=1000000000", "--cores", "1"])
    assert shown.exit_code == 1
    assert "NOT enough" in shown.output
    assert "first to give way: cores" in shown.output
    for more, fault in (
        ((), "give --rate reports=TUPLES"),
        (("--rate", "reports=1", "--headroom", "2"), "expected a share"),
        (("--rate", "reports=1", "--cores", "-1"), "expected a number of cores"),
    ):
        with pytest.raises(RunError, match=fault):
            CliRunner().invoke(app, [*words, *more], catch_exceptions=False)
    with pytest.raises(RunError, match="run of another network"):
        CliRunner().invoke(
            app, ["linear-road", "plan", "--xways", "2", "--figures", str(tmp_path / "run")], catch_exceptions=False
        )


def run_in_real_time(rate: int, steps: int = 20) -> list[StepFigures]:
    """A step a second, in which the box needs 40 ms whatever comes; state is 500 bytes for each tuple a second."""
    box, found = 0.04 + COST * rate, []
    for number in range(1, steps + 1):
        seconds = FIXED + STRETCH * box
        boxes = {"fast": BoxFigures({"in": rate}, {"out": rate}, box)}
        slots = (SlotFigures(0, 0, seconds, {"fast": box}, 0, 20 * rate, 500 * rate),)
        delays = {"alerts": OutputFigures(rate, 1.25 * seconds)}
        found.append(
            StepFigures(number, 1, float(number), seconds, boxes, slots, {"reports": SourceFigures(rate)}, delays)
        )
    return found


@pytest.mark.parametrize("rate", [500, 2_000, 8_000])
def test_a_run_in_real_time_and_a_free_one_say_what_others_take(rate: int) -> None:
    runs = [run_in_real_time(1_000), *run_on_two_cores()]
    found = size(runs, speeding().value, {"reports": float(rate)}, 2, (), cores=2)
    assert found is not None
    right = run_in_real_time(rate)[0]
    assert found.work == pytest.approx(right.boxes["fast"].seconds, rel=0.1)
    assert found.step == pytest.approx(right.seconds, rel=0.1)
    assert found.delay == pytest.approx(1.25 * right.seconds, rel=0.1)
    assert found.state == pytest.approx(500 * rate, rel=0.01)
    assert found.written == pytest.approx(20 * rate, rel=0.01)


def test_one_run_alone_says_what_it_shows() -> None:
    found = size([run_in_real_time(1_000)], speeding().value, {"reports": 1_000.0}, 2, (), cores=2)
    assert found is not None
    assert found.step == pytest.approx(run_in_real_time(1_000)[0].seconds, rel=0.01)
    assert found.work == pytest.approx(0.05, rel=0.01)
