"""Linear Road at 1.5, 2 and 4 times what the machine can do, on a simulated machine with the costs of a real run."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from arterial import Settings, State
from arterial.connectors.pace import Pace
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.local import run_locally
from arterial.engine.steering.arcs import arcs_of
from arterial.figures.steering import Drop, Steering
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.linearroad.application.boxes.tolls import Tolls
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA, ROAD_KEY
from arterial.linearroad.application.inputs import StoredInput
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.formats.line_writer import event_lines
from arterial.linearroad.semantics.profiles import PROFILES
from arterial.network.keys.left_out import LeftOut
from arterial.network.network import NetworkValue, Port
from arterial.network.train import END, Train
from arterial.service.holding.branches import branches_of
from arterial.service.holding.holder import Holder
from arterial.service.load import Load
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.greedy import Choices
from arterial.service.shedding.optimum import uniform
from arterial.service.shedding.overload import late
from arterial.service.shedding.shedder import Shedder
from arterial.service.simulation import SimulatedRun
from arterial.service.utility import total, utilities
from tests.linearroad.cities import generate, report, table_of

NETWORK = linear_road_network(PROFILES["spec"], History())
REQUESTS = 0.012
"""Requests for each report."""
COST = {
    "reports": 0.6e-6,
    "requests": 20e-6,
    "trips": 0.4e-6,
    "stopped_vehicles": 0.3e-6,
    "segment_statistics": 0.1e-6,
    "tolls": 0.8e-6,
    "balance_requests": 1e-6,
    "accounts": 5e-6,
    "expenditure_requests": 1e-6,
    "daily_expenditure": 20e-6,
    "travel_requests": 1e-6,
    "travel_time": 50e-6,
}
"""Seconds of a core for a tuple, as a run of this network in one process showed them, rounded."""
SELECTIVITY = {
    "trips.uneven": 0.0,
    "stopped_vehicles.out": 0.001,
    "stopped_vehicles.otherwise": 0.999,
    "segment_statistics.out": 0.002,
    "tolls.notices": 0.45,
    "tolls.alerts": 0.001,
    "tolls.charges": 0.02,
    "balance_requests.out": 0.5,
    "expenditure_requests.out": 0.1,
    "travel_requests.out": 0.4,
    "balance_requests.otherwise": 0.5,
    "expenditure_requests.otherwise": 0.9,
    "travel_requests.otherwise": 0.6,
    "accounts.out": 0.25,
}
FIXED, CORES, HEADROOM = 0.4, 2, 0.8
"""A step of Spark has about 0.4 s that depend on no tuple."""


def load(rate: float) -> Load:
    rates: dict[Port, float] = {Port("reports", "out"): rate, Port("requests", "out"): REQUESTS * rate}
    for box in NETWORK.order:
        comes = sum(rates[begin] for begin in NETWORK.arrivals(box).values())
        for port in (Port(box.name, name) for name in box.outputs if box.inputs):
            rates[port] = comes * SELECTIVITY.get(str(port), 1.0)
    return Load(NETWORK, COST, rates, FIXED, 1 / CORES, unread={"reports": "reports.out → by_xway_dir.in"})


SATURATION = CORES / load(1.0).work()


def overloaded(times: float, *, begin: float = 10, end: float = 40) -> SimulatedRun:
    def rate(t: float) -> float:
        return SATURATION * (times if begin <= t < end else 0.4)

    return SimulatedRun(
        NETWORK,
        COST,
        {"reports": rate, "requests": lambda t: REQUESTS * rate(t)},
        SELECTIVITY,
        unread=frozenset({"reports"}),
        fixed=FIXED,
        cores=CORES,
        train_size=32_000_000,
        controllers=[Shedder(CORES, HEADROOM), Scheduler(CORES, 32_000_000)],
    )


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.5, 2, 4])
def test_answers_are_in_time_again_within_ten_seconds(times: float) -> None:
    simulated = overloaded(times).run(70)
    lates = [step.born + step.seconds for step in simulated.steps if late(NETWORK, step)]
    assert not [at for at in lates if at < 10 or at > 20]
    shed = [(s.born, r.shed) for s, r in zip(simulated.steps, simulated.records, strict=True) if r.shed]
    assert shed
    assert max(born for born, _ in shed) < 50
    for born, drops in shed:  # what may be asked again goes before what tolls depend on
        if "reports.out → by_xway_dir.in" in drops and born < 40:
            assert drops["requests.out → travel_requests.in"].share > 0.85


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.5, 2, 4])
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_a_machine_that_is_not_always_as_fast_is_borne_too(times: float, seed: int) -> None:
    uneven = np.random.default_rng(seed).choice([0.8, 1.0, 1.1, 1.3], size=500)
    simulated = overloaded(times)
    simulated.dearness = lambda step: float(uneven[step])
    simulated.run(70)
    lates = [step.born + step.seconds for step in simulated.steps if late(NETWORK, step)]
    assert not [at for at in lates if at < 10 or at > 20]


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.5, 2, 4])
def test_the_utility_is_above_that_of_dropping_by_chance(times: float) -> None:
    simulated = overloaded(times, end=60).run(60)
    steady = Window(math.inf, [step for step in simulated.steps if step.born > 25])
    reached = total(NETWORK, utilities(steady, NETWORK))
    choices = Choices.of(load(times * SATURATION))
    work = choices.load.work({arc: 1 - drop.share for arc, drop in simulated.steering.shed.items()})
    assert reached > choices.utility(uniform(choices, work))
    nothing = overloaded(times, end=60)
    nothing.controllers = []
    nothing.run(60)
    left_alone = Window(math.inf, [step for step in nothing.steps if step.born > 25])
    assert reached > total(NETWORK, utilities(left_alone, NETWORK)) + 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["spec", "walmart"])
def test_the_answers_about_other_roads_are_exactly_right(name: str) -> None:
    events = several(pl.DataFrame(pl.from_arrow(generate(5).table())), 6)
    network = linear_road_network(PROFILES[name], History())
    drop = Drop(0.5, seed=2, by=ROAD_KEY)
    answers = []
    for shed in ({}, {"reports.out → by_xway_dir.in": drop}):
        host = InProcess(network, shards=2, ordered_sources=("requests",), split_sources=("reports",))
        reports = events.filter(pl.col("type") == 0).select(REPORT_SCHEMA.names)
        train = {"reports": Train(reports, END), "requests": Train(REQUEST_SCHEMA.empty(), END)}
        answers.append(host.step(train, Steering(shed=shed))["notices"].tuples)
    whole, thinned = (frame.sort(frame.columns) for frame in answers)
    stays = LeftOut(drop.by, drop.share, drop.seed).stays(whole)
    assert 0 < stays.sum() < whole.height
    assert thinned.equals(whole.filter(pl.Series(stays)))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["spec", "walmart"])
def test_holding_a_branch_changes_no_answer(name: str) -> None:
    events = several(pl.DataFrame(pl.from_arrow(generate(5).table())), 2)
    network = linear_road_network(PROFILES[name], History())
    plain, most = held_at_random(network, events, ())
    assert not most
    for branch in branches_of(network, HOLDABLE[name]):
        answers, most = held_at_random(network, events, branch.names)
        assert most > 0 or branch.outputs[0].name == "alerts", branch
        for output, frame in answers.items():
            assert frame.sort(frame.columns).equals(plain[output].sort(frame.columns)), (branch.names, output)


def held_at_random(
    network: NetworkValue, events: pl.DataFrame, arcs: Sequence[str]
) -> tuple[dict[str, pl.DataFrame], int]:
    """The answers while arcs are held, with a take at random; and how many tuples waited at most."""
    host = InProcess(network, shards=2, ordered_sources=("requests",), split_sources=("reports",))
    reports = events.filter(pl.col("type") == 0).select(REPORT_SCHEMA.names)
    requests = events.filter(pl.col("type") != 0).select(REQUEST_SCHEMA.names)
    chance, answers, waited = np.random.default_rng(1), dict[str, list[pl.DataFrame]](), [0]

    def step(begin: int, until: int, through: int, hold: Mapping[str, int]) -> int:
        during = pl.col("time").is_between(begin, until, closed="left")
        frames = {"reports": reports.filter(during), "requests": requests.filter(during)}
        trains = {source: Train(frame, through) for source, frame in frames.items()}
        for output, train in host.step(trains, Steering(hold=hold)).items():
            answers.setdefault(output, []).append(train.tuples)
        return sum(number for passed in host.passed for number in passed.held.values())

    end = int(events["time"].to_list()[-1]) + 1
    for begin in range(0, end, 60):
        until = min(end, begin + 60)
        takes = {arc: int(take) for arc, take in zip(arcs, chance.choice([0, 0, 9], len(arcs)), strict=True)}
        waited.append(step(begin, until, until - 1, takes))
    while step(end, end, end - 1, dict.fromkeys(arcs, 50)):
        pass
    step(end, end, END, {})
    return {output: pl.concat(frames) for output, frames in answers.items()}, max(waited)


def holdable_of(network: NetworkValue) -> frozenset[str]:
    host = InProcess(network, shards=2, ordered_sources=("requests",), split_sources=("reports",))
    return frozenset(name for name, arc in arcs_of(host.plan).items() if arc.no_hold is None)


HOLDABLE = {name: holdable_of(linear_road_network(PROFILES[name], History())) for name in ("spec", "walmart")}


def test_what_shares_its_rows_is_held_together() -> None:
    """Tolls gets accidents and reports of the same span of time, so nothing on the way to accidents may wait alone."""
    assert "by_xway_dir.out → trips.in" in HOLDABLE["spec"]
    assert "trips.out → stopped_vehicles.in" not in HOLDABLE["spec"]


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.2, 1.5, 2])
def test_with_overflow_requests_are_settled_and_roads_wait(times: float) -> None:
    """Reading cannot be put off. What can: requests about the past, which are settled, and all that follows from
    reports, in the queue before the roads. Nothing else is left out, and every answer comes."""
    simulated = overloaded(times, end=25)
    simulated.controllers = [
        Shedder(CORES, HEADROOM, overflow=True, holdable=HOLDABLE["spec"]),
        Scheduler(CORES, 32_000_000, overflow=True),
        Holder(CORES, None, HOLDABLE["spec"], overflow=True, headroom=HEADROOM),
    ]
    simulated.run(120)
    for record in simulated.records:
        assert all(drop.overflow and "requests.out" in arc for arc, drop in record.shed.items())
    assert {arc for record in simulated.records for arc in record.hold} >= {"reports.out → by_xway_dir.in"}
    about_roads = {"notices", "alerts", "balances"}
    assert not [s.born for s in simulated.steps if set(late(NETWORK, s)) - about_roads and not 10 <= s.born < 20]
    assert simulated.held == 0
    assert not simulated.steering.hold
    read = sum(step.sources["reports"].tuples for step in simulated.steps)
    assert sum(step.outputs["notices"].tuples for step in simulated.steps) == pytest.approx(0.45 * read, rel=0.01)


def several(events: pl.DataFrame, count: int) -> pl.DataFrame:
    """The same city several times, on expressways and with vehicles of its own."""
    apart = max(events["vid"].to_list()) + 1
    copies = [
        events.with_columns(
            (pl.col("xway") + 10 * number).cast(events["xway"].dtype),
            (pl.col("vid") + apart * number).cast(events["vid"].dtype),
        )
        for number in range(count)
    ]
    return pl.concat(copies).sort("time", maintain_order=True)


SLOWED = 100e-6
"""Seconds that Tolls takes for a report in the test of a real run: so a small city is too much for one process."""


@pytest.mark.slow
def test_a_real_run_in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All seconds come 1.5 times as fast as they can be answered, by the real clock."""
    seconds, vehicles, replicas = 200, 1500, 32
    events = [
        report(30 * turn + vid % 30, vid, 10 + vid % 60, direction=vid % 2)
        for turn in range(seconds // 30 + 1)
        for vid in range(vehicles)
        if 30 * turn + vid % 30 < seconds
    ]
    (tmp_path / "city.csv").write_bytes(b"".join(event_lines(table_of(events))))
    process = Tolls.process

    def slowly(box: Tolls, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        time.sleep(SLOWED * len(trains["in"]))
        return process(box, trains, state)

    monkeypatch.setattr(Tolls, "process", slowly)
    given = StoredInput(
        tmp_path / "city.csv",
        work=tmp_path,
        rejects=tmp_path / "rejects.csv",
        begin=0,
        until=seconds,
        times=replicas,
        disorder=0,
    )
    speed = 1.5 / SLOWED / (vehicles / 30 * replicas)
    settings = Settings(shards=1, train_size=32_000_000, schedule="trains", shed=True)
    feeds = given.feeds(Pace(0, speed, path=tmp_path / "clock.json"), 3)
    running = run_locally(NETWORK, feeds, {}, tmp_path / "c", settings)
    assert running.wait(120)
    steps = [step for step in read_steps(running.checkpoint) if step.sources["reports"].tuples]
    begun = steps[0].born
    assert not [step for step in steps if step.born - begun > 10 and late(NETWORK, step)]
    roads = sum(step.shed.get("reports.out → by_xway_dir.in", 0) for step in steps)
    assert 0.2 < roads / sum(step.sources["reports"].tuples for step in steps) < 0.9
