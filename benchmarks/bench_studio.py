"""What a studio with five open pages costs the run that it shows: CPU time of the run's process, with and without.

The run is a process of its own that does the same work each time; the studio is another one. The run is paused until
all pages get its figures, and what it spends is counted from there. Four runs make a round, without pages, with, with,
without: a machine that gets busier or less busy meanwhile favours neither. A round gives a ratio.
`python -m benchmarks.bench_studio FOLDER` is the run.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urlsplit

import polars as pl
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from arterial import Delay, Network
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import PAUSED
from arterial.network.train import END, Train
from benchmarks.figure import Figure

PAGES, ROUNDS = 5, 3
TRAINS, TUPLES, INTERVAL = 250, 20_000, 0.02
MOST_SLOWER = 1.03
STARTS_WITHIN = 120.0
READY = "ready\n"


def measure() -> list[Figure]:
    """The ratio of CPU seconds, the median of some rounds."""
    ratios, alone = [], []
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        _run(Path(scratch) / "warm-up", pages=False)
        for number in range(ROUNDS):
            order = (False, True, True, False)
            spent = [_run(Path(scratch) / f"{number}-{place}", pages=pages) for place, pages in enumerate(order)]
            ratios.append((spent[1] + spent[2]) / (spent[0] + spent[3]))
            alone += [spent[0], spent[3]]
    spread = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    each = f"{1000 * statistics.median(alone):.1f} ms of CPU a train without"
    remark = f"{TRAINS} trains of {TUPLES:,} tuples, {each}; rounds: {spread}"
    name = f"studio: CPU of a run with {PAGES} pages open, to that without"
    return [Figure(name, statistics.median(ratios), "×", at_most=MOST_SLOWER, remark=remark)]


def _run(folder: Path, *, pages: bool) -> float:
    """Let the run do its work; the CPU seconds of its process for each train."""
    command = [sys.executable, "-m", __name__, str(folder)]
    with ExitStack() as stack:
        run = stack.enter_context(subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True))
        stack.callback(run.kill)  # if anything below fails
        assert run.stdout is not None
        if run.stdout.readline() != READY:
            raise RuntimeError(f"the run in {folder} did not start")
        if pages:
            stack.enter_context(_open_pages(folder))
        said, _ = run.communicate("go on\n", timeout=600)
    return float(json.loads(said)["cpu"])


@contextmanager
def _open_pages(folder: Path) -> Iterator[None]:
    """A studio in a process of its own, and pages that take all that it sends, as the network view does."""
    command = [sys.executable, "-m", "arterial", "studio", str(folder), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=PIPE, text=True) as studio:
        assert studio.stdout is not None
        try:
            address = urlsplit(studio.stdout.readline().split()[4])
            opened = threading.Semaphore(0)
            for _ in range(PAGES):
                place = f"ws://{address.netloc}/api/live"
                threading.Thread(target=_look_on, args=(place, opened), daemon=True).start()
            for _ in range(PAGES):
                if not opened.acquire(timeout=STARTS_WITHIN):
                    raise RuntimeError("the studio's pages got no figures")
            yield
        finally:
            studio.terminate()


def _look_on(address: str, opened: threading.Semaphore) -> None:
    try:
        with connect(address) as page:
            page.send(json.dumps({"open": "figures", "id": 1}))
            page.recv()
            opened.release()
            while True:
                page.recv()
    except (WebSocketException, OSError):
        return  # the studio was ended


def work(folder: Path) -> float:
    """Run a network on tuples made beforehand; the CPU seconds for each train after a word on standard input."""
    net = Network("traffic")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    fast = reports.filter("fast", "speed > 100").group_by("vehicle").tumble("top", every="10 seconds", top="max(speed)")
    fast.output("alerts", qos=Delay(2, 10))
    means = reports.group_by("road", name="by_road").tumble("means", every="10 seconds", mean="avg(speed)")
    means.output("speeds")
    one = pl.DataFrame({"vehicle": range(TUPLES)}).with_columns(
        road=pl.col("vehicle") % 50, speed=40 + pl.col("vehicle") * 29 % 90
    )
    trains = [
        Train(one.select(time=pl.lit(second), vehicle="vehicle", road="road", speed="speed"), second)
        for second in range(TRAINS)
    ]
    trains[-1] = Train(trains[-1].tuples, END)
    sinks = {name: MemorySink() for name in ("alerts", "speeds")}
    run = run_locally(
        net.value, {"reports": MemorySource(trains)}, sinks, folder, Settings(shards=2, interval=INTERVAL)
    )
    run.pause()
    while run.status.state != PAUSED:
        time.sleep(0.02)
    sys.stdout.write(READY)
    sys.stdout.flush()
    sys.stdin.readline()
    begun, before = time.process_time(), run.status.step
    run.resume()
    run.wait()
    return (time.process_time() - begun) / (run.status.step - before)


if __name__ == "__main__":
    print(json.dumps({"cpu": work(Path(sys.argv[1]))}))
