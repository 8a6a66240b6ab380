"""Jobs that a user would write, in one process beside Polars, which has the whole file at once, and beside peers.

Each job reads one file and gives the same tuples in all, which is checked. Measured is the time of the processor, all
threads together, as the best of some interleaved runs: a busy machine then disturbs it least. Polars streams nothing
and keeps no state; half of its speed is the target. The peers in peers/jobs run as programs of their own, if they are
there; what they take for a tenth of the file is left out, and with it their start. `ARTERIAL_BENCH_PEER_TUPLES` says
how many tuples they get (default 1,000,000: fewer drown in the cost of a start; 0 leaves them out),
`ARTERIAL_BENCH_JOBS` which jobs are done (`averages,sessions`; default all). The rates are left in build/jobs.json,
beside those of other jobs from before; `python -m tools.jobs` makes the table in docs/peers.md of them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import arterial as art
from arterial.moving import fences
from benchmarks.figure import Figure

TUPLES, SECONDS, REPEATS = 1_000_000, 3_600, 3
SENSORS, USERS, PAGES, IDS = 2_000, 20_000, 5_000, 600_000
OBJECTS, POLYGONS, CORNERS, SIDE, CELL = 2_000, 1_000, 6, 1_000.0, 10.0


@dataclass(frozen=True)
class Job:
    """A network with the source `tuples` and the output `answers`, and the same for Polars."""

    short: str
    """What the peers call it."""
    name: str
    columns: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    """So many random tuples, but for their times."""
    network: Callable[[], art.Network]
    at_once: Callable[[pl.LazyFrame], pl.LazyFrame]


@dataclass(frozen=True)
class Peer:
    """A system that streams, and its Python."""

    name: str
    python: Path
    script: str


RATES = Path("build/jobs.json")
ARTERIAL, AT_ONCE = "Arterial", "Polars, at once"
PEERS_FOLDER = Path(__file__).parents[1] / "peers" / "jobs"
_BUILD = Path(__file__).parents[1] / "build" / "peers" / "python"
PEER_TUPLES = int(os.environ.get("ARTERIAL_BENCH_PEER_TUPLES", "1000000"))
PEERS = (
    Peer("Bytewax", _BUILD / "bytewax" / "bin" / "python", "with_bytewax.py"),
    Peer("Structured Streaming", Path(sys.executable), "with_spark.py"),
    Peer("Flink SQL", _BUILD / "pyflink" / "bin" / "python", "with_flink.py"),
)
COLUMNS = {
    "averages": ["sensor", "time", "mean"],
    "sessions": ["user", "time", "n", "spent", "since"],
    "visits": ["time", "object", "fence", "event"],
    "leaders": ["time", "page", "hits", "rank"],
    "firsts": ["time", "id", "value"],
}


def measure() -> list[Figure]:
    """Tuples a second of the processor, and the share of Polars' speed."""
    figures: list[Figure] = []
    known = json.loads(RATES.read_text()) if RATES.exists() else {"rates": {}, "peer_tuples": {}}
    rates: dict[str, dict[str, float]] = known["rates"]
    peer_tuples: dict[str, int] = known["peer_tuples"]
    wanted = os.environ.get("ARTERIAL_BENCH_JOBS", "")
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        write_polygons(folder / "polygons.json")
        for job in JOBS:
            if wanted and job.short not in wanted.split(","):
                continue
            ours, theirs = _compare(job, folder / f"{job.short}.parquet")
            peer_tuples[job.name] = PEER_TUPLES
            rates[job.name] = {ARTERIAL: TUPLES / ours, AT_ONCE: TUPLES / theirs}
            rate = f"Polars {TUPLES / theirs / 1e6:.1f}"
            figures.append(
                Figure(job.name, TUPLES / ours / 1e6, "million tuples a second of the processor", remark=rate)
            )
            figures.append(Figure(f"{job.name}, share of Polars", theirs / ours, "ratio", at_least=0.5))
            for peer in PEERS:
                if peer.python.exists() and PEER_TUPLES:
                    cost = _peer(peer, job, folder) * TUPLES
                    rates[job.name][peer.name] = TUPLES / cost
                    rate = f"{peer.name} {TUPLES / cost / 1e6:.3f} million tuples a second"
                    figures.append(
                        Figure(f"{job.name}, beside {peer.name}", cost / ours, "ratio", at_least=1, remark=rate)
                    )
            RATES.parent.mkdir(parents=True, exist_ok=True)
            RATES.write_text(json.dumps({"tuples": TUPLES, "peer_tuples": peer_tuples, "rates": rates}, indent=2))
    return figures


def _peer(peer: Peer, job: Job, folder: Path) -> float:
    """What a tuple costs a peer, in seconds of the processor. Its answers must be right."""
    tuples = pl.read_parquet(folder / f"{job.short}.parquet").head(PEER_TUPLES)
    few = tuples.head(PEER_TUPLES // 10)
    return (run_peer(peer, job, tuples, folder) - run_peer(peer, job, few, folder)) / (tuples.height - few.height)


def run_peer(peer: Peer, job: Job, tuples: pl.DataFrame, folder: Path) -> float:
    """Have a peer do a job, and check its answers: the seconds of the processor. The folder has the polygons."""
    source, target = folder / "peer.parquet", folder / "answers.csv"
    tuples.write_parquet(source)
    words = [peer.python, PEERS_FOLDER / peer.script, job.short, source, target, folder / "polygons.json"]
    command = [sys.executable, "-m", "benchmarks.with_descendants", *map(str, words)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, cwd=PEERS_FOLDER.parents[1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, (peer.name, job.name, done.stderr[-3000:])
    names = COLUMNS[job.short]
    right = job.at_once(tuples.lazy()).collect().select(names)
    came = pl.read_csv(target, has_header=False, new_columns=names, schema_overrides=list(right.schema.values()))
    assert came.sort(names).equals(right.sort(names)), (peer.name, job.name)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def random_tuples(job: Job, tuples: int) -> pl.DataFrame:
    """So many tuples of an hour, in order."""
    chance = np.random.default_rng(1)
    times = np.sort(chance.integers(0, SECONDS, tuples))
    return pl.DataFrame({"time": times, **job.columns(chance, tuples)})


def _compare(job: Job, file: Path) -> tuple[float, float]:
    random_tuples(job, TUPLES).write_parquet(file)
    ours, theirs = [], []
    for repeat in range(REPEATS):
        started = time.process_time()
        streamed = art.collect(job.network(), tuples=str(file))["answers"]
        ours.append(time.process_time() - started)
        started = time.process_time()
        whole = job.at_once(pl.scan_parquet(file)).collect()
        theirs.append(time.process_time() - started)
        if not repeat:
            assert whole.height, job.name
            names = sorted(whole.columns)
            assert streamed.select(names).sort(names).equals(whole.select(names).sort(names)), job.name
    return min(ours), min(theirs)


def _averages() -> art.Network:
    """The mean of each sensor over five minutes, where it is above the sensor's limit, which a table has."""
    net = art.Network("averages")
    limits = net.relation("limits", {"sensor": int, "limit": int}, "sensor", _limits().rows())
    readings = net.source("tuples", {"time": int, "sensor": int, "value": int}).group_by("sensor")
    means = readings.slide("means", over="5 minutes", every="1 minute", mean="avg(value)")
    means.read_relation("with_limit", limits).filter("high", 'mean > "limit"').output("answers")
    return net


def _averages_at_once(readings: pl.LazyFrame) -> pl.LazyFrame:
    minute = (pl.col("time") // 60).alias("minute")
    minutes = readings.group_by("sensor", minute).agg(total=pl.col("value").sum(), n=pl.len())
    ends = pl.concat([minutes.with_columns(time=(pl.col("minute") + later) * 60 + 59) for later in range(5)])
    windows = ends.group_by("sensor", "time").agg(pl.col("total").sum(), pl.col("n").sum())
    means = windows.select("sensor", "time", mean=pl.col("total") / pl.col("n"))
    return means.join(_limits().lazy(), on="sensor").filter(pl.col("mean") > pl.col("limit"))


def _limits() -> pl.DataFrame:
    return pl.DataFrame({"sensor": np.arange(SENSORS), "limit": np.arange(SENSORS) % 100})


def _sessions() -> art.Network:
    net = art.Network("sessions")
    clicks = net.source("tuples", {"time": int, "user": int, "spent": int}).group_by("user")
    clicks.session("visits", gap="30 s", n="count(*)", spent="sum(spent)", since="window_start()").output("answers")
    return net


def _sessions_at_once(clicks: pl.LazyFrame) -> pl.LazyFrame:
    begins = (pl.col("time").diff() > 30).fill_null(True).cum_sum().over("user")
    visits = clicks.with_columns(visit=begins).group_by("user", "visit")
    made = visits.agg(
        time=pl.col("time").max(), n=pl.len().cast(pl.Int64), spent=pl.col("spent").sum(), since=pl.col("time").min()
    )
    return made.drop("visit")


def _leaders() -> art.Network:
    net = art.Network("leaders")
    hits = net.source("tuples", {"time": int, "page": int}).group_by("page")
    counts = hits.tumble("counts", every="1 minute", hits="count(*)").group_by(name="all_pages")
    counts.top("leaders", k=10, by="hits", every="1 minute").output("answers")
    return net


def _leaders_at_once(hits: pl.LazyFrame) -> pl.LazyFrame:
    counts = hits.group_by(time=pl.col("time") // 60 * 60 + 59, page="page").agg(hits=pl.len().cast(pl.Int64))
    ordered = counts.sort("time", "hits", "page", descending=[False, True, False])
    ranked = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("time"))
    return ranked.filter(pl.col("rank") <= 10)


def _firsts() -> art.Network:
    net = art.Network("firsts")
    events = net.source("tuples", {"time": int, "id": int, "value": int})
    events.deduplicate("firsts", "id", within="1 day").output("answers")
    return net


def _firsts_at_once(events: pl.LazyFrame) -> pl.LazyFrame:
    return events.unique("id", keep="first", maintain_order=True)


def _moves(chance: np.random.Generator, tuples: int) -> dict[str, np.ndarray]:
    """Objects that drive straight on and turn back at the edges of a square; each in turn reports."""
    turn, number = np.divmod(np.arange(tuples), OBJECTS)
    places = {}
    for axis in ("x", "y"):
        start, speed = chance.uniform(0, SIDE, OBJECTS), chance.uniform(-3, 3, OBJECTS)
        along = np.mod(start[number] + turn * speed[number], 2 * SIDE)
        places[axis] = np.where(along > SIDE, 2 * SIDE - along, along)
    return {"object": number, **places}


def write_polygons(file: Path) -> None:
    """The polygons, for peers."""
    file.write_text(json.dumps(_polygons().tolist()))


def _polygons() -> np.ndarray:
    """The corners of convex polygons: polygon, corner, x and y."""
    chance = np.random.default_rng(2)
    middle = chance.uniform(0, SIDE, (POLYGONS, 1, 2))
    angle = (np.arange(CORNERS) + chance.uniform(0, 0.9, (POLYGONS, CORNERS))) * 2 * np.pi / CORNERS
    radius = chance.uniform(8, 25, (POLYGONS, 1, 1))
    return np.asarray(middle + radius * np.stack([np.cos(angle), np.sin(angle)], axis=2))


def _visits() -> art.Network:
    net = art.Network("visits")
    moves = net.source("tuples", {"time": int, "object": int, "x": float, "y": float}).group_by("object")
    shapes = {
        str(number): "polygon((" + ", ".join(f"{x} {y}" for x, y in corners.tolist()) + "))"
        for number, corners in enumerate(_polygons())
    }
    fences(moves, "visits", shapes).map(
        "visits_named", time="time", object="object", fence="fence", event="event"
    ).output("answers")
    return net


def _visits_at_once(moves: pl.LazyFrame) -> pl.LazyFrame:
    """A grid of cells with the polygons that may reach into them, then a look at every side."""
    corners = _polygons()
    low, high = (np.floor(side / CELL).astype(np.int64) for side in (corners.min(axis=1), corners.max(axis=1)))
    near = [
        (column, row, number)
        for number in range(POLYGONS)
        for column in range(low[number, 0], high[number, 0] + 1)
        for row in range(low[number, 1], high[number, 1] + 1)
    ]
    cells = pl.DataFrame(near, {"column": pl.Int64, "row": pl.Int64, "polygon": pl.Int64}, orient="row")
    sides = {f"{axis}{i}": corners[:, i, k] for i in range(CORNERS) for k, axis in enumerate("xy")}
    shapes = pl.DataFrame({"polygon": np.arange(POLYGONS), **sides})
    inside = pl.all_horizontal(
        (pl.col(f"x{j}") - pl.col(f"x{i}")) * (pl.col("y") - pl.col(f"y{i}"))
        >= (pl.col(f"y{j}") - pl.col(f"y{i}")) * (pl.col("x") - pl.col(f"x{i}"))
        for i, j in zip(range(CORNERS), [*range(1, CORNERS), 0], strict=True)
    )
    numbered = moves.with_columns(
        turn=pl.int_range(pl.len()).over("object"),
        column=(pl.col("x") / CELL).floor().cast(pl.Int64),
        row=(pl.col("y") / CELL).floor().cast(pl.Int64),
    )
    found = numbered.join(cells.lazy(), on=["column", "row"]).join(shapes.lazy(), on="polygon").filter(inside)
    there = found.select("object", "turn", "time", "polygon")
    key = ["object", "turn", "polygon"]
    after = there.with_columns(turn=pl.col("turn") + 1)
    enters = there.join(after, on=key, how="anti").with_columns(event=pl.lit("enter"))
    left = after.drop("time").join(there, on=key, how="anti")
    exits = left.join(numbered.select("object", "turn", "time"), on=["object", "turn"]).with_columns(
        event=pl.lit("exit")
    )
    columns = ["time", "object", pl.col("polygon").cast(pl.String).alias("fence"), "event"]
    return pl.concat([enters.select(columns), exits.select(columns)])


JOBS = (
    Job(
        "averages",
        "sliding average and a table",
        lambda chance, tuples: {
            "sensor": chance.integers(0, SENSORS, tuples),
            "value": chance.integers(0, 100, tuples),
        },
        _averages,
        _averages_at_once,
    ),
    Job(
        "sessions",
        "sessions",
        lambda chance, tuples: {"user": chance.integers(0, USERS, tuples), "spent": chance.integers(0, 9, tuples)},
        _sessions,
        _sessions_at_once,
    ),
    Job("visits", "enter and exit of 1,000 polygons", _moves, _visits, _visits_at_once),
    Job(
        "leaders",
        "top 10 a minute",
        lambda chance, tuples: {"page": (PAGES * chance.random(tuples) ** 3).astype(np.int64)},
        _leaders,
        _leaders_at_once,
    ),
    Job(
        "firsts",
        "de-duplication with a day's memory",
        lambda chance, tuples: {"id": chance.integers(0, IDS, tuples), "value": chance.integers(0, 9, tuples)},
        _firsts,
        _firsts_at_once,
    ),
)
