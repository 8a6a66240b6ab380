"""How long the answers of the five jobs take, live: the same tuples through a topic of Kafka, at the same rate.

The tuples are the first ones of `bench_jobs`, sent one by one at RATE a second of the wall's clock, which is PACE times
as fast as the stream's own: an hour's million tuples. A row's delay is the time from when its last needed tuple was
handed to Kafka's client to when a reader of the topic of answers has it, both on the clock of this process. Needed last
is, for fences and de-duplication, the row's own tuple, and for windows and sessions the first tuple in the stream that
is beyond their end: with no disorder allowed, it is by that one that a system can know that the window is over. The
rows must be those of Polars over the whole stream; those are missing that have not come PATIENCE after the last tuple.

The first EARLY tuples are there from the start; the others come when a system has answered to these. Then a run is WARM
seconds that do not count and SECONDS that do (`ARTERIAL_BENCH_DELAY=60,60`; default 20,20).
`ARTERIAL_BENCH_JOBS` and `ARTERIAL_BENCH_SYSTEMS` say which jobs are done and by which systems (`averages,sessions`,
`Arterial,Bytewax`; default all). Delays are left in build/jobs-delay.json, beside earlier ones; `python -m tools.jobs`
makes the table in docs/peers.md of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.kafka import JARS, Broker, find_java

from benchmarks.bench_jobs import COLUMNS, JOBS, PEERS, PEERS_FOLDER, TUPLES, Job, random_tuples, write_polygons
from benchmarks.bench_jobs import SECONDS as HOUR
from benchmarks.figure import Figure

DELAYS = Path("build/jobs-delay.json")
CONNECTORS = PEERS_FOLDER.parents[1] / "build" / "peers" / "kafka"
RATE = int(os.environ.get("ARTERIAL_BENCH_RATE", "5000"))
PACE = RATE * HOUR / TUPLES
WARM, SECONDS = (int(part) for part in os.environ.get("ARTERIAL_BENCH_DELAY", "20,20").split(","))
PATIENCE, END_SECONDS, ROUND_SECONDS = 15.0, 10.0, 0.002
EARLY, READY_SECONDS = 20_000, 120.0
"""So many tuples are there from the start, 72 s of the stream; the others follow when the first answer to them came."""
AFTER = {"averages": 1, "leaders": 1, "sessions": 31}
"""A row of windows is known by the first tuple so many seconds after the row's time, or later."""
OWN = {"visits": ["time", "object"], "firsts": ["time", "id"]}
"""The columns that a row shares with its own tuple."""


@dataclass(frozen=True)
class System:
    """What is measured, and how it is started."""

    name: str
    words: Sequence[str]
    """JOB, SOURCE, TARGET, POLYGONS and FOLDER are replaced."""


@dataclass(frozen=True)
class Delays:
    """What came of one run; seconds."""

    p50: float
    p99: float
    rows: int
    """In the time that counts."""
    due: int
    """In all the time."""
    missing: int
    """Of those that were due."""
    wrong: int
    rate: int
    warm: int
    seconds: int


def systems_here() -> list[System]:
    ours = [sys.executable, "-m", "arterial", "run", "benchmarks.bench_jobs:_JOB", "--source", "tuples=SOURCE"]
    ours += ["--sink", "answers=TARGET?transactions=off", "--out", "FOLDER"]
    systems = [System("Arterial", [*ours, "--local"]), System("Arterial, on Spark", ours)]
    for peer in PEERS:
        if peer.python.exists() and CONNECTORS.exists():
            words = [str(peer.python), str(PEERS_FOLDER / peer.script), "JOB", "SOURCE", "TARGET", "POLYGONS"]
            systems.append(System(peer.name, words))
    return systems


def measure() -> list[Figure]:
    """The median and the 99th percentile of each job and system."""
    java = find_java()
    if java is None or not JARS.is_dir():
        sys.stderr.write("left out: Kafka's jars are not here (make setup)\n")
        return []
    jobs, names = (os.environ.get(f"ARTERIAL_BENCH_{what}", "") for what in ("JOBS", "SYSTEMS"))
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        write_polygons(folder / "polygons.json")
        broker = Broker(java, folder)
        try:
            for job in JOBS:
                for system in systems_here():
                    if (jobs and job.short not in jobs.split(",")) or (names and system.name not in names.split(",")):
                        continue
                    sys.stderr.write(f"    {job.name}: {system.name}\n")
                    made = run_live(system, job, EARLY + (WARM + SECONDS) * RATE, broker, folder)
                    figures += _figures(job, system, made)
                    _keep(job, system, made)
        finally:
            broker.stop(kill=True)
    return figures


def _figures(job: Job, system: System, made: Delays) -> list[Figure]:
    name, said = f"{job.name}, {system.name}", f"{made.rows:,} rows"
    if made.missing or made.wrong:
        said += f"; of {made.due:,} that were due {made.missing:,} missing, {made.wrong:,} wrong"
    return [
        Figure(f"{name}, p50", made.p50, "s"),
        Figure(f"{name}, p99", made.p99, "s", remark=said),
    ]


def _keep(job: Job, system: System, made: Delays) -> None:
    known: dict[str, dict[str, Any]] = json.loads(DELAYS.read_text()) if DELAYS.exists() else {}
    known.setdefault(job.name, {})[system.name] = asdict(made)
    DELAYS.parent.mkdir(parents=True, exist_ok=True)
    DELAYS.write_text(json.dumps(known, indent=2))


def run_live(system: System, job: Job, count: int, broker: Broker, folder: Path) -> Delays:
    """Feed a system so many tuples, and see when its answers come."""
    tuples = random_tuples(job, TUPLES).head(count)
    source, target = broker.topic(), broker.topic()
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own, (folder / "log").open("w+") as log:
        places = {
            "JOB": job.short, "SOURCE": broker.uri(source), "TARGET": broker.uri(target),
            "POLYGONS": str(folder / "polygons.json"), "FOLDER": own,
        }  # fmt: skip
        words = list(system.words)
        for name, place in places.items():
            words = [word.replace(name, place) for word in words]
        environment = {**os.environ, "STREAM_PACE": str(PACE), "TMPDIR": own}
        process = subprocess.Popen(
            words, env=environment, stdout=log, stderr=log, cwd=PEERS_FOLDER.parents[1], start_new_session=True
        )
        try:
            due = Due(job, tuples)
            reader = _Reader(broker.server, target, due.rows.height)
            sent = _feed(broker.server, source, tuples, reader)
            reader.wait(PATIENCE)
            log.seek(0)
            assert process.poll() is None, (system.name, job.name, log.read()[-3000:])
        finally:
            _end(process)
        return due.judge(reader.rows, sent)


def _feed(server: str, topic: str, tuples: pl.DataFrame, reader: _Reader) -> np.ndarray:
    """Send each tuple when it is due; when each was."""
    from confluent_kafka import Producer

    messages = tuples.write_ndjson().encode().splitlines()
    sent = np.zeros(len(messages))
    producer: Any = Producer({"bootstrap.servers": server, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})
    producer.list_topics(topic, timeout=10)
    for number, message in enumerate(messages[:EARLY]):
        sent[number] = time.time()
        producer.produce(topic, message)
    producer.flush(30)
    reader.wait_for_first(READY_SECONDS)
    starts, done = time.time() - EARLY / RATE, EARLY
    while done < len(messages):
        time.sleep(ROUND_SECONDS)
        until = min(len(messages), int((time.time() - starts) * RATE))
        for number in range(done, until):
            sent[number] = time.time()
            producer.produce(topic, messages[number])
        done = max(done, until)
        producer.poll(0)
    assert producer.flush(30) == 0
    return sent


class _Reader:
    """Reads a topic in a thread: each message, and when it came."""

    def __init__(self, server: str, topic: str, awaited: int) -> None:
        self.rows: list[tuple[bytes, float]] = []
        self._server, self._topic, self._awaited, self._over = server, topic, awaited, threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for_first(self, seconds: float) -> None:
        """Until something came, but no longer than so."""
        until = time.monotonic() + seconds
        while not self.rows and time.monotonic() < until:
            time.sleep(0.01)

    def wait(self, seconds: float) -> None:
        """Until all that is awaited is there, but no longer than so."""
        until = time.monotonic() + seconds
        while len(self.rows) < self._awaited and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.2)
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        settings = {"bootstrap.servers": self._server, "group.id": "reader", "fetch.wait.max.ms": 10}
        with closing(Consumer({**settings, "isolation.level": "read_committed"})) as consumer:
            consumer.assign([TopicPartition(self._topic, 0, 0)])
            while not self._over.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    self.rows.append((message.value() or b"", time.time()))


class Due:
    """The answers of Polars to a stream, each with the number of its last needed tuple."""

    def __init__(self, job: Job, tuples: pl.DataFrame) -> None:
        names = COLUMNS[job.short]
        self.all = job.at_once(tuples.lazy()).collect().select(names)
        if job.short in AFTER:
            last = tuples["time"].search_sorted(self.all["time"] + AFTER[job.short])
            needed = self.all.with_columns(needed=last)
        else:
            own = OWN[job.short]
            first = tuples.with_row_index("needed").group_by(own).agg(pl.col("needed").first())
            needed = self.all.join(first, on=own, how="left")
        # The tuples of the last second could have others of their time behind them.
        whole = tuples["time"].search_sorted(tuples["time"][-1])
        self.rows = needed.filter(pl.col("needed") < (tuples.height if job.short in AFTER else whole))

    def judge(self, came: Sequence[tuple[bytes, float]], sent: np.ndarray) -> Delays:
        """What came, beside what should have: the first time that each row came."""
        text = b"\n".join(message for message, _ in came)
        rows = pl.read_ndjson(text, schema=self.all.schema) if came else self.all.clear()
        firsts = (
            rows.with_columns(at=pl.Series([at for _, at in came], dtype=pl.Float64))
            .group_by(rows.columns)
            .agg(pl.col("at").min())
        )
        found = self.rows.join(firsts, on=rows.columns)
        sent_at = sent[found["needed"].to_numpy()]
        counts = found["needed"].to_numpy() >= EARLY + WARM * RATE
        delays = (found["at"].to_numpy() - sent_at)[counts]
        p50, p99 = np.percentile(delays, [50, 99]) if len(delays) else (np.nan, np.nan)
        wrong = firsts.join(self.all, on=rows.columns, how="anti").height
        missing = self.rows.height - found.height
        return Delays(float(p50), float(p99), len(delays), self.rows.height, missing, wrong, RATE, WARM, SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a system and what it started, and wait until all of them are gone."""
    with suppress(ProcessLookupError):
        for sign in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, sign)
            until = time.monotonic() + END_SECONDS
            while time.monotonic() < until:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.1)
