"""Moving queries beside systems that are asked again every second, and the load of geofencing.

100,000 objects in a city of 12 km report every second. Half of the queries are ranges around an object, half the
nearest to one. Measured is what a second of data takes by the clock, client included, as the median of some; so many
updates of places a second are held. Arterial is its box in a network on the in-process engine, from trains to trains
with its state written; a fresh index is scipy's, built every second, with all queries asked at once. All answers of the
last second are compared with brute force. The peers in peers/moving are left out where they are not installed.

The load of geofencing: 500,000 objects, 100,000 fences (polygons and circles), 10,000 and 100,000 updates a second in
trains of a second; what a second of data takes, from trains to events with the state written.

The figures are left in build/moving.json; `python -m tools.moving_peers` makes the tables in docs/peers.md of them.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.drawing import Network
from arterial.engine.host.inprocess import InProcess
from arterial.moving import fences
from arterial.moving.traffic import Positions, Traffic, TrafficSettings
from arterial.network.train import Train
from benchmarks.bench_moving import OBJECTS, SIDE, FreshIndex, InANetwork, K, focals
from benchmarks.figure import Figure

FIGURES = Path("build/moving.json")
QUERIES = (100, 1_000, 10_000, 100_000)
ROUNDS, WARM_UP = 6, 2
CHECKED = 500
"""Of so many ranges, and so many nearest, the answers are compared with brute force."""
ARTERIAL, FRESH = "Arterial", "a fresh index"
PEERS_FOLDER = Path(__file__).parents[1] / "peers" / "moving"
_REDIS_PYTHON = Path(__file__).parents[1] / "build" / "peers" / "python" / "redis" / "bin" / "python"

FENCED, FENCES, CITY = 500_000, 100_000, 50_000.0
UPDATES = (10_000, 100_000)
FENCE_SECONDS = 20

Answers = dict[int, set[int]]


def measure() -> list[Figure]:
    """All figures."""
    peers = installed()
    held: dict[str, dict[str, float]] = {}
    figures = []
    traffic = Traffic(TrafficSettings(objects=OBJECTS, leaving=0.0))
    rounds = [traffic.step() for _ in range(ROUNDS)]
    for queries in QUERIES:
        rates = held[f"{queries}"] = {name: OBJECTS / took for name, took in compare(queries, rounds, peers).items()}
        best = max(rate for name, rate in rates.items() if name != ARTERIAL)
        remark = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
        name = f"moving beside the best that is polled, {queries:,} queries"
        figures.append(Figure(name, rates[ARTERIAL] / best, "×", at_least=1, remark=f"updates a second: {remark}"))
    fenced = {f"{updates}": geofencing(updates) for updates in UPDATES}
    for updates, seconds in fenced.items():
        name = f"fences: {FENCED:,} objects, {FENCES:,} fences, {int(updates):,} updates a second"
        figures.append(Figure(name, seconds, "s for a second of data", at_most=1))
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"held": held, "fences": fenced}, indent=2))
    return figures


def installed() -> dict[str, list[str]]:
    """The commands of the peers that are here."""
    found = {}
    if list(Path("/usr/share/postgresql").glob("*/extension/postgis.control")):
        found["PostGIS"] = [sys.executable, str(PEERS_FOLDER / "with_postgis.py")]
    if shutil.which("redis-server") and _REDIS_PYTHON.exists():
        found["Redis"] = [str(_REDIS_PYTHON), str(PEERS_FOLDER / "with_redis.py")]
    return found


def compare(queries: int, rounds: list[Positions], peers: dict[str, list[str]]) -> dict[str, float]:
    """What a second of data takes each of them; their answers must be right."""
    half = queries // 2
    around, near = focals(half)
    box, fresh = InANetwork(half), FreshIndex(half)
    taken: dict[str, list[float]] = {ARTERIAL: [], FRESH: []}
    answers: Answers = {}
    for t, reports in enumerate(rounds):
        began = time.perf_counter()
        updates = box.take(t, reports)
        taken[ARTERIAL].append(time.perf_counter() - began)
        follow(answers, updates)
        began = time.perf_counter()
        fresh.take(t, reports)
        taken[FRESH].append(time.perf_counter() - began)
    right = brute_force(rounds[-1], around, near)
    check(ARTERIAL, answers, right, exact=True)
    check(FRESH, dict(enumerate(fresh.last)), right, exact=True)
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        files = [str(Path(scratch) / name) for name in ("reports.parquet", "queries.parquet", "answers.parquet")]
        write_load(rounds, around, near, files)
        for name, command in peers.items():
            done = subprocess.run([*command, *files], capture_output=True, text=True)
            assert done.returncode == 0, (name, done.stderr[-3000:])
            taken[name] = json.loads(done.stdout)
            came = pl.read_parquet(files[2]).group_by("query").agg("object")
            check(name, {query: set(some) for query, some in came.iter_rows()}, right, exact=name != "Redis")
    return {name: statistics.median(some[WARM_UP:]) for name, some in taken.items()}


def write_load(rounds: list[Positions], around: Array, near: Array, files: list[str]) -> None:
    """The reports and the queries for a peer."""
    reports = [pl.DataFrame({"id": some.id, "x": some.x, "y": some.y}) for some in rounds]
    pl.concat(some.with_columns(second=pl.lit(t)) for t, some in enumerate(reports)).write_parquet(files[0])
    half = len(around)
    nearest = np.arange(2 * half) >= half
    columns = {"query": np.arange(2 * half), "nearest": nearest, "focal": np.append(around, near)}
    pl.DataFrame({**columns, "size": np.where(nearest, float(K), SIDE)}).write_parquet(files[1])


def follow(answers: Answers, updates: pl.DataFrame) -> None:
    """Bring answers up to date by the updates of a second."""
    for query, sign, one in updates.select(pl.col("query").cast(pl.Int64), "sign", "object").iter_rows():
        if sign < 0:
            answers[query].discard(one)
        else:
            answers.setdefault(query, set()).add(one)


def brute_force(reports: Positions, around: Array, near: Array) -> dict[int, tuple[set[int], set[int]]]:
    """Who must be in the answers of some of the queries, and who may, by looking at every object.

    They differ where several are as far away as the last of the nearest: any of them will do.
    """
    place = {int(one): at for at, one in enumerate(reports.id)}
    right = {}
    for query, focal in enumerate(around[:CHECKED].tolist()):
        at = place[focal]
        inside = (abs(reports.x - reports.x[at]) <= SIDE / 2) & (abs(reports.y - reports.y[at]) <= SIDE / 2)
        members = set(reports.id[inside].tolist()) - {focal}
        right[query] = members, members
    for query, focal in enumerate(near[:CHECKED].tolist()):
        at = place[focal]
        far = np.hypot(reports.x - reports.x[at], reports.y - reports.y[at])
        far[at] = np.inf
        last = np.partition(far, K - 1)[K - 1]
        nearer, as_near = far < last * (1 - 1e-12), far <= last * (1 + 1e-12)
        right[len(around) + query] = set(reports.id[nearer].tolist()), set(reports.id[as_near].tolist())
    return right


def check(name: str, answers: Answers, right: dict[int, tuple[set[int], set[int]]], *, exact: bool) -> None:
    """That answers are those of brute force; of a system that rounds places, nearly."""
    wrong = members = 0
    for query, (must, may) in right.items():
        got = answers.get(query, set())
        size = len(got) if must == may else K
        wrong += len(must - got) + len(got - may) + abs(size - len(got))
        members += len(may)
    assert wrong <= (0 if exact else 0.03 * members), (name, wrong, members)
    if wrong:
        print(f"{name}: {100 * wrong / members:.2f} % of the members differ from brute force", file=sys.stderr)


def geofencing(updates: int) -> float:
    """What a second of data takes the box of fences, the median; so many objects report in it, in turns."""
    chance = np.random.default_rng(1)
    x, y = chance.uniform(0, CITY, FENCED), chance.uniform(0, CITY, FENCED)
    network = Network("fleet")
    cars = network.source("cars", {"time": "int64", "object": "int64", "x": "float64", "y": "float64"}, time="time")
    fences(cars.group_by("object"), "zones", dict(made_fences(chance))).output("events")
    host = InProcess(network.value, ordered_sources=["cars"])
    order, begin, taken, events = chance.permutation(FENCED), 0, [], 0
    for t in range(-FENCED // UPDATES[-1], FENCE_SECONDS):  # everybody reports once before it counts
        size = UPDATES[-1] if t < 0 else updates
        who = np.take(order, np.arange(begin, begin + size), mode="wrap")
        begin += size
        x[who] += chance.normal(0, 100.0, size)
        y[who] += chance.normal(0, 100.0, size)
        train = Train(pl.DataFrame({"time": np.full(size, t), "object": who, "x": x[who], "y": y[who]}), t)
        began = time.perf_counter()
        made = host.step({"cars": train})
        taken.append(time.perf_counter() - began)
        events += made["events"].tuples.height
    assert events > FENCED, events
    return statistics.median(taken[-FENCE_SECONDS:])


def made_fences(chance: np.random.Generator) -> list[tuple[str, str]]:
    """Circles and hexagons of 20 to 300 m, by name; three of four are polygons."""
    angles = np.arange(6) * np.pi / 3
    made: list[tuple[str, str]] = []
    rows = np.column_stack([chance.uniform(0, CITY, (FENCES, 2)), chance.uniform(20, 300, FENCES)])
    for number, (x, y, reach) in enumerate(rows.tolist()):
        if number % 4 == 0:
            made.append((f"fence {number}", f"circle({x!r} {y!r}, {reach!r})"))
            continue
        corners = zip((x + reach * np.cos(angles)).tolist(), (y + reach * np.sin(angles)).tolist(), strict=True)
        made.append((f"fence {number}", f"polygon(({', '.join(f'{a!r} {b!r}' for a, b in corners)}))"))
    return made
