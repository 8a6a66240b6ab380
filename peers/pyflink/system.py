"""Linear Road on PyFlink: the DataStream API with functions in Python."""

from __future__ import annotations

import argparse
import math
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from accounts import Accounts
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from road import CHARGES, EMIT, Road

FIELDS = 15
EVENT = Types.TUPLE([Types.INT()] * FIELDS)
SETTINGS = {
    "python.execution-mode": "process",
    # Answers wait for the end of their bundle.
    "python.fn-execution.bundle.time": "50",
    "python.fn-execution.bundle.size": "10000",
    # The state of an expressway stays in the worker.
    "python.state.cache-size": "1000000",
    "python.map-state.read-cache-size": "1000000",
    "python.map-state.write-cache-size": "1000000",
    "execution.buffer-timeout.interval": "20 ms",
    "pipeline.auto-watermark-interval": "50 ms",
    "taskmanager.memory.managed.size": "512 mb",
    # All is on one machine, which may be stopped for a while.
    "heartbeat.timeout": "10 min",
}


def main() -> None:
    """Run until the driver has no more."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("output", type=Path, help="the file for the answers")
    options.add_argument("start", type=Path, help="the file with the driver's start")
    options.add_argument("--tolls", type=Path, help="TollHistory: a folder of Parquet files")
    options.add_argument("--vids-apart", type=int, default=0, help="how far apart the vehicles of two replicas are")
    options.add_argument("--xways-apart", type=int, default=0, help="how far apart the expressways of two replicas are")
    options.add_argument("--ready", type=Path, help="a file to make when the lines may come")
    options.add_argument("--parallelism", type=int, default=os.cpu_count(), help="tasks of a keyed operator")
    given = options.parse_args()
    # So that the workers find the functions.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with tempfile.TemporaryDirectory(prefix="pyflink-") as scratch, socket.create_server(("127.0.0.1", 0)) as server:
        opened = Opened(Path(scratch, "opened"))
        write_history(given.tolls, Path(scratch))
        relay = threading.Thread(target=pass_on, args=(server, opened, given), daemon=True)
        relay.start()
        settings = Configuration()
        for name, value in SETTINGS.items():
            settings.set_string(name, value)
        flink = StreamExecutionEnvironment.get_execution_environment(settings)
        flink.set_parallelism(1)
        flink.set_python_executable(sys.executable)
        past = Past(Path(scratch), given.vids_apart, given.xways_apart)
        draw(
            flink,
            server.getsockname()[1],
            given.parallelism,
            opened,
            past,
            Write(opened, given.output.absolute(), given.start.absolute()),
        )
        flink.execute("Linear Road")


def draw(
    flink: StreamExecutionEnvironment, port: int, parallelism: int, opened: Opened, past: Past, write: Write
) -> None:
    """The operators. All but the keyed ones have one task, which keeps the driver's lines in order."""
    # PyFlink has no source for a socket of its own, but Java's can be had.
    lines = DataStream(flink._j_stream_execution_environment.socketTextStream("127.0.0.1", port))
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    events = lines.map(parse, EVENT).assign_timestamps_and_watermarks(times)
    reports = events.filter(lambda event: event[0] == 0).key_by(lambda report: report[4] * 2 + report[6], Types.INT())
    notices = reports.process(Road(), Types.STRING()).set_parallelism(parallelism)
    charges = notices.get_side_output(CHARGES).key_by(lambda charge: charge[0], Types.INT())
    requests = events.filter(lambda event: event[0] == 2).key_by(lambda request: request[2], Types.INT())
    balances = charges.connect(requests).process(Accounts(opened), Types.STRING()).set_parallelism(parallelism)
    history = events.filter(lambda event: event[0] > 2).map(past, Types.STRING())
    notices.union(balances, history).map(write, Types.INT())


def parse(line: str) -> tuple[int, ...]:
    """A line of the driver."""
    return tuple(map(int, line.split(",")))


class Seconds(TimestampAssigner):
    """The driver's lines are in order."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """In milliseconds."""
        return int(value[1]) * 1000


class Opened:
    """A file for each function that is open in its worker, which it is with its first tuple."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def __call__(self, name: str, context: RuntimeContext) -> None:
        (self.folder / f"{name}-{context.get_index_of_this_subtask()}").touch()

    def wait(self, functions: int) -> None:
        """Until so many are open."""
        while len(list(self.folder.iterdir())) < functions:
            time.sleep(0.1)


MADE_UP = 64
"""So many vehicles report and ask before the driver's lines, each on an expressway of its own; none is answered."""


def made_up() -> str:
    """Their lines: a report, a balance and an expenditure of each."""
    layout = "{kind},0,{vid},0,{vid},0,0,0,0,-1,-1,-1,-1,-1,1\n"
    return "".join(layout.format(kind=kind, vid=-number - 1) for number in range(MADE_UP) for kind in (0, 2, 3))


def pass_on(server: socket.socket, opened: Opened, given: argparse.Namespace) -> None:
    """Standard input to the socket that Flink reads, when its functions are open."""
    flink, _ = server.accept()
    with flink:
        flink.sendall(made_up().encode())
        opened.wait(given.parallelism + 1)
        if given.ready:
            given.ready.touch()
        while data := os.read(sys.stdin.fileno(), 1 << 20):
            flink.sendall(data)


class Past(MapFunction):
    """Requests for the past, from TollHistory in two sorted columns. Replicas have the history of the original."""

    def __init__(self, folder: Path, vids_apart: int, xways_apart: int) -> None:
        self.folder, self.vids_apart, self.xways_apart = folder, vids_apart, xways_apart

    def open(self, runtime_context: RuntimeContext) -> None:
        """Map the files into memory."""
        self.keys = np.load(self.folder / "keys.npy", mmap_mode="r")
        self.tolls = np.load(self.folder / "tolls.npy", mmap_mode="r")

    def map(self, value: Any) -> str:
        """The answer."""
        kind, time, vid, _, xway, _, _, _, _, qid, sinit, send, _, _, day = value
        if kind == 4:
            unknown = "0,0" if sinit == send else "-1,-1"
            return f"4,{time},{EMIT},{qid},{unknown}\n"
        return f"3,{time},{EMIT},{qid},{self._paid(vid, xway, day)}\n"

    def _paid(self, vid: int, xway: int, day: int) -> int:
        if self.vids_apart:
            if vid // self.vids_apart != xway // self.xways_apart:
                return 0
            vid, xway = vid % self.vids_apart, xway % self.xways_apart
        key = history_key(vid, day, xway)
        at = int(np.searchsorted(self.keys, key))
        return int(self.tolls[at]) if at < len(self.keys) and self.keys[at] == key else 0


class Write(MapFunction):
    """The file of answers. Emit is the time since the driver's start, rounded up to a millisecond."""

    def __init__(self, opened: Opened, output: Path, start: Path) -> None:
        self.opened, self.output, self.start = opened, output, start

    def open(self, runtime_context: RuntimeContext) -> None:
        """A new file, written line by line."""
        self.file = self.output.open("w", buffering=1)
        self.began: float | None = None
        self.context, self.left_out = runtime_context, 0

    def map(self, value: str) -> int:
        """Write an answer. The first are those to made-up vehicles, and left out."""
        if self.left_out < 2 * MADE_UP:
            self.left_out += 1
            if self.left_out == 2 * MADE_UP:
                self.opened("write", self.context)
            return 0
        if self.began is None:
            self.began = float(self.start.read_text())
        emit = math.ceil((time.time() - self.began) * 1000) / 1000
        return self.file.write(value.replace(EMIT, f"{emit:.3f}"))


def history_key(vid: Any, day: Any, xway: Any) -> Any:
    """One number for a vehicle, a day and an expressway."""
    return (vid * 128 + day) * 65_536 + xway


def write_history(tolls: Path | None, folder: Path) -> None:
    """TollHistory as two columns, sorted by key."""
    keys, values = np.empty(0, np.int64), np.empty(0, np.int64)
    if tolls is not None:
        table = pq.read_table(sorted(tolls.glob("*.parquet")), columns=["vid", "day", "xway", "tolls"])
        vid, day, xway, values = (table[name].to_numpy().astype(np.int64) for name in table.column_names)
        keys = history_key(vid, day, xway)
        order = np.argsort(keys)
        keys, values = keys[order], values[order]
    np.save(folder / "keys.npy", keys)
    np.save(folder / "tolls.npy", values)


if __name__ == "__main__":
    main()
