"""How fast events are cleaned, converted and described; the lines are made up, every hundredth is faulty."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arterial.linearroad.data.cleaning import Cleaner
from arterial.linearroad.data.convert import convert
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.describe.description import describe
from arterial.linearroad.formats.line_writer import MAX_FIELD_BYTES, write_lines
from benchmarks.figure import Figure

LINES = 3_000_000
VEHICLES = 50_000
PIECE_BYTES = 8 << 20
# An expressway's three hours, 12 million lines, in ten seconds.
LINES_A_SECOND = 1_200_000


def measure() -> list[Figure]:
    """Lines or events a second."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as folder:
        place = Path(folder)
        _write_lines(place / "lines.csv")
        _small_run(place)
        size = (place / "lines.csv").stat().st_size
        cleaning = _timed(lambda: _clean(place / "lines.csv"))
        to_parquet = _timed(lambda: convert(place / "lines.csv", place / "parquet"))
        to_csv = _timed(lambda: convert(place / "parquet", place / "csv", form="csv"))
        data = open_data(place / "parquet")
        describing = _timed(lambda: describe(data))
        reading = _timed(lambda: [data.read(second, second + 1) for second in range(data.last_second + 1)])
    return [
        Figure("clean lines, memory only", LINES / cleaning, "lines/s", remark=f"{size / cleaning / 1e6:.0f} MB/s"),
        Figure("convert CSV to Parquet", LINES / to_parquet, "lines/s", at_least=LINES_A_SECOND),
        Figure("convert Parquet to CSV", LINES / to_csv, "lines/s", at_least=LINES_A_SECOND),
        Figure("read second by second", LINES / reading, "events/s"),
        Figure("describe", LINES / describing, "events/s", remark="one expressway, one core"),
    ]


def _write_lines(path: Path) -> None:
    rng = np.random.default_rng(1)
    second = np.arange(LINES) // (LINES // 1800)
    values = np.full((LINES, 15), -1, np.int64)
    values[:, 0] = 0
    values[:, 1] = second
    values[:, 2] = np.arange(LINES) % VEHICLES
    values[:, 3] = rng.integers(0, 100, LINES)
    values[:, 4] = 0
    values[:, 5] = rng.integers(0, 5, LINES)
    values[:, 6] = rng.integers(0, 2, LINES)
    values[:, 8] = rng.integers(0, 528_000, LINES)
    values[:, 7] = values[:, 8] // 5280
    values[::100, 3] = -1
    text = np.empty(values.size * MAX_FIELD_BYTES, np.uint8)
    path.write_bytes(text[: write_lines(values, text)].data)


def _clean(path: Path) -> None:
    cleaner = Cleaner()
    with path.open("rb") as file:
        while data := file.read(PIECE_BYTES):
            cleaner.feed(data)
    cleaner.finish()


def _small_run(place: Path) -> None:
    """Everything once, so that no kernel is compiled while the clock runs."""
    with (place / "lines.csv").open("rb") as lines:
        (place / "few.csv").write_bytes(lines.read(100_000).rpartition(b"\n")[0])
    convert(place / "few.csv", place / "few")
    convert(place / "few", place / "fewer", form="csv")
    describe(open_data(place / "few"))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
