"""The five jobs on Bytewax: `with_bytewax.py JOB INPUT.parquet OUTPUT.csv [POLYGONS.json]`.

Windows are by event time. The clock's own time stands still where the input is a file: else what is read fast would
be late. Input and output may also be topics, `kafka://SERVER/TOPIC`; then the clock is the stream's own, by which
windows are closed without another tuple of their key. When that is to be looked at, the wall's clock says, by
how much slower it is (`STREAM_PACE`).
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import polars as pl
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators.windowing import EventClock, SessionWindower, SlidingWindower, TumblingWindower
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main
from live import FIELDS, stream_pace, topic_of
from places import Polygons, events

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 2_000
LIVE_BATCH = 100
WAIT = timedelta(seconds=2)
"""What a batch of a topic may span, so that no tuple is behind its watermark."""
MARGIN = timedelta(milliseconds=20)


class _Live:
    """The time of a live stream: what the last batch has reached, and about when it will be at another."""

    def __init__(self) -> None:
        self.now, self.pace = EPOCH, stream_pace()

    def reach(self, rows: list[Any]) -> list[Any]:
        """Look at a batch as it comes."""
        if rows:
            self.now = max(self.now, _moment(rows[-1]))
        return rows

    def wake_at(self, moment: datetime) -> datetime:
        """When to look whether a window that ends then can be closed; again a little later if not."""
        return datetime.now(UTC) + max(moment + WAIT - self.now, timedelta(0)) / self.pace + MARGIN


def _moment(row: Any) -> datetime:
    return EPOCH + timedelta(seconds=row[0])


LIVE = _Live() if topic_of(sys.argv[2]) else None
CLOCK: Any = (
    EventClock(_moment, WAIT, now_getter=lambda: LIVE.now, to_system_utc=LIVE.wake_at)
    if LIVE
    # Times of the file are no times to be woken at, which else all keys are in every round.
    else EventClock(_moment, timedelta(0), now_getter=lambda: EPOCH, to_system_utc=lambda moment: None)
)


class Rows(DynamicSource[Any]):
    """The rows of a Parquet file, in batches."""

    def __init__(self, file: str) -> None:
        self.file = file

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSourcePartition[Any]:
        """One worker reads."""
        return _Part(self.file if worker_index == 0 else None)


class _Part(StatelessSourcePartition[Any]):
    def __init__(self, file: str | None) -> None:
        frame = pl.read_parquet(file) if file else pl.DataFrame()
        self.batches = frame.iter_slices(BATCH)

    def next_batch(self) -> list[Any]:
        """Some rows."""
        for piece in self.batches:
            return piece.rows()
        raise StopIteration


class File(DynamicSink[Any]):
    """A CSV file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[Any]:
        """One worker writes."""
        return _Lines(self.file)


class _Lines(StatelessSinkPartition[Any]):
    def __init__(self, file: str) -> None:
        self.file = Path(file).open("w", newline="")  # noqa: SIM115
        self.lines = csv.writer(self.file)

    def write_batch(self, items: list[Any]) -> None:
        """Some rows."""
        self.lines.writerows(items)

    def close(self) -> None:
        """The end."""
        self.file.close()


def averages(rows: Any) -> Any:
    """sensor, time, mean."""
    by = op.key_on("by", rows, lambda row: str(row[1]))
    windows = SlidingWindower(timedelta(minutes=5), timedelta(minutes=1), EPOCH)
    add = lambda total, row: (total[0] + row[2], total[1] + 1)  # noqa: E731
    merge = lambda one, two: (one[0] + two[0], one[1] + two[1])  # noqa: E731
    sums = win.fold_window("sums", by, CLOCK, windows, lambda: (0, 0), add, merge, ordered=False).down

    def high(item: Any) -> Any:
        key, (window, (total, n)) = item
        sensor, mean = int(key), total / n
        return (sensor, window * 60 + 299, mean) if mean > sensor % 100 else None

    return op.filter_map("high", sums, high)


def sessions(rows: Any) -> Any:
    """user, time, n, spent, since."""
    by = op.key_on("by", rows, lambda row: str(row[1]))

    def add(visit: Any, row: Any) -> Any:
        return (min(visit[0], row[0]), max(visit[1], row[0]), visit[2] + 1, visit[3] + row[2])

    def merge(one: Any, two: Any) -> Any:
        return (min(one[0], two[0]), max(one[1], two[1]), one[2] + two[2], one[3] + two[3])

    begin = lambda: (1 << 60, -1, 0, 0)  # noqa: E731
    visits = win.fold_window(
        "visits", by, CLOCK, SessionWindower(timedelta(seconds=30)), begin, add, merge, ordered=False
    ).down

    def told(item: Any) -> Any:
        user, (_, (since, last, n, spent)) = item
        return int(user), last, n, spent, since

    return op.map("told", visits, told)


def visits(rows: Any) -> Any:
    """time, object, fence, event."""
    polygons = Polygons(sys.argv[4])
    by = op.key_on("by", rows, lambda row: str(row[1]))

    def moved(before: Any, row: Any) -> Any:
        now = polygons.around(row[2], row[3])
        return now, [(row[0], row[1], *event) for event in events(before or frozenset(), now)]

    return op.flat_map("each", op.stateful_map("moved", by, moved), lambda item: item[1])


def leaders(rows: Any) -> Any:
    """time, page, hits, rank."""
    by = op.key_on("by", rows, lambda row: "all")

    def add(counts: Any, row: Any) -> Any:
        counts[row[1]] += 1
        return counts

    windows = TumblingWindower(timedelta(minutes=1), EPOCH)
    counts = win.fold_window("counts", by, CLOCK, windows, Counter, add, lambda one, two: one + two, ordered=False).down

    def best(item: Any) -> Any:
        _, (window, hits) = item
        ranked = sorted(hits.items(), key=lambda one: (-one[1], one[0]))[:10]
        return [(window * 60 + 59, page, n, rank) for rank, (page, n) in enumerate(ranked, 1)]

    return op.flat_map("best", counts, best)


def firsts(rows: Any) -> Any:
    """time, id, value."""
    by = op.key_on("by", rows, lambda row: str(row[1]))

    def seen(last: Any, row: Any) -> Any:
        return (last, None) if last is not None and row[0] - last <= 86_400 else (row[0], row)

    return op.filter_map("first", op.stateful_map("seen", by, seen), lambda item: item[1])


JOBS = {job.__name__: job for job in (averages, sessions, visits, leaders, firsts)}

ANSWERS = {
    "averages": ("sensor", "time", "mean"),
    "sessions": ("user", "time", "n", "spent", "since"),
    "visits": ("time", "object", "fence", "event"),
    "leaders": ("time", "page", "hits", "rank"),
    "firsts": ("time", "id", "value"),
}


def from_topic(job: str, flow: Dataflow, place: tuple[str, str]) -> Any:
    """The tuples of a topic, in small batches."""
    server, topic = place
    source: Any = KafkaSource([server], [topic], add_config={"fetch.wait.max.ms": "10"}, batch_size=LIVE_BATCH)

    def rows(messages: list[Any]) -> list[Any]:
        assert LIVE is not None
        values = [json.loads(message.value) for message in messages]
        return LIVE.reach([tuple(value[name] for name in FIELDS[job]) for value in values])

    return op.flat_map_batch("rows", op.input("tuples", flow, source), rows)


def to_topic(job: str, answers: Any, place: tuple[str, str]) -> None:
    """Answers as JSON, sent at once."""
    server, topic = place

    def message(row: Any) -> Any:
        return KafkaSinkMessage(None, json.dumps(dict(zip(ANSWERS[job], row, strict=True))).encode())

    sink: Any = KafkaSink([server], topic, add_config={"linger.ms": "0"})
    op.output("answers", op.map("messages", answers, message), sink)


def main() -> None:
    """One job from its file or topic to its answers."""
    job, source, target = sys.argv[1:4]
    flow = Dataflow(job)
    come, go = topic_of(source), topic_of(target)
    answers = JOBS[job](from_topic(job, flow, come) if come else op.input("tuples", flow, Rows(source)))
    to_topic(job, answers, go) if go else op.output("answers", answers, File(target))
    run_main(flow)


if __name__ == "__main__":
    main()
