"""Runs a file of events on Spark: prepares it, starts the network or takes it up again, gathers the figures.

Everything that a run needs to go on after a crash lies in the checkpoint: Spark's own and, in `moving`, the prepared
events, the clock, the journal of the file of updates, and the settings that the run began with.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.connectors.pace import MAX, Pace, show_speed
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.application import SETTINGS_FILE, WARM_UP_STEPS, Application, check_settings, write_json
from arterial.engine.run.checkpoint.finished import start_over
from arterial.engine.run.checkpoint.folder import STATUS_FILE
from arterial.engine.run.figures.status import Status, read_status
from arterial.engine.run.run import Run, Settings
from arterial.engine.run.run import run as run_network
from arterial.engine.run.watch.watchers import NOTHING, Watch
from arterial.errors import DataError, RunError
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.merging import merged
from arterial.moving.application.network import UPDATES, QueryOptions, moving_network
from arterial.moving.application.prepare import OBJECTS, QUERIES, prepare
from arterial.moving.application.update_sink import UpdateSink
from arterial.moving.boxes.moving_queries import UNCERTAINTY
from arterial.moving.files.run import Summary
from arterial.moving.shared.remembering import Uncertainty
from arterial.moving.shared.warm import warm_kernels
from arterial.storage.appended import AppendedFiles
from arterial.storage.damage import read_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER, SUMMARY = "moving", "finished.json"
TRAIN_SIZE = 1_000_000
_ENDS = 1 << 20


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of a run. `speed` is how many times faster than real time, a unit of `t` being a second."""

    events: Path
    out: Path
    checkpoint: Path
    rejects: Path
    queries: QueryOptions
    speed: float = MAX
    train_size: int = TRAIN_SIZE
    shards: int = 1
    """Over so many the queries are spread; every shard gets all objects."""
    durable: bool = False
    watch: Watch = NOTHING
    keep: str | None = None
    """How long reports and updates are kept for ad-hoc queries and the studio; None: not at all."""

    @property
    def spread(self) -> bool:
        """Whether the queries are spread over several shards."""
        return self.shards > 1


@dataclass(frozen=True)
class JobSummary(Summary):
    """What a run on Spark did, interruptions included; `seconds` is the time since this process took it up.

    A delay is from when a time unit was due to when the file had its updates. Without pacing a time unit is due when
    its step was planned.
    """

    steps: int
    resumed: bool
    delay_p50: float
    delay_p99: float
    delay_worst: float


class MovingRun(Application):
    """A run that is started, or taken up again; `wait` until it is over, then `finish` says what it did."""

    def __init__(
        self,
        options: RunOptions,
        *,
        spark: SparkSession | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self.options, self._spark, self._progress, self._begun = options, spark, progress, time.perf_counter()
        folder = _folder(options)
        settings = _settings(options)
        if (options.checkpoint / "spark").exists() and not (folder / SETTINGS_FILE).exists():
            raise RunError(
                f"{options.checkpoint} is the checkpoint of another kind of run. Give a new folder as --checkpoint."
            )
        super().__init__(folder, options.checkpoint, settings, durable=options.durable, **_refusal(options))

    def prepare(self) -> None:
        """Read the events, and compile what the queries need."""
        options = self.options
        self.events = prepare(
            options.events,
            self.folder / "events",
            rejects=options.rejects,
            space=options.queries.space,
            timeout=options.queries.timeout,
            progress=self._progress,
        )
        warm_kernels(options.queries.space)

    def start(self) -> Run:
        """Start the network."""
        instants = self.events.index()[0]
        first = int(instants[0]) if len(instants) else 0
        pace = Pace(first, self.options.speed, self.events.ticks, self.folder / "clock.json")
        files = AppendedFiles({"0": self.options.out.absolute()}, self.folder / "parts", merged)
        self._updates = UpdateSink(files, pace=pace, spread=self.options.spread)
        sinks: dict[str, Sink] = {UPDATES: self._updates}
        if self.options.queries.cache < 100:
            sinks[UNCERTAINTY] = FileSink(self.folder / UNCERTAINTY)
        warm_up = 0 if pace.runs_freely else WARM_UP_STEPS
        return run_network(
            moving_network(self.events, self.options.queries, self.options.keep, spread=self.options.spread),
            {which: EventFeed(self.events, which, pace, warm_up) for which in (OBJECTS, QUERIES)},
            sinks,
            self.checkpoint,
            Settings(
                shards=self.options.shards,
                train_size=2 * self.options.train_size,  # of which each source gets half, and counts all events
                durable=self.options.durable,
                watch=self.options.watch,
            ),
            spark=self._spark,
        )

    @property
    def reports(self) -> int:
        """How many reports this process has read."""
        return self._run.statistics.box(OBJECTS).tuples_out

    @property
    def event_time(self) -> float | None:
        """How far it has come in the time of the events."""
        ticks = self._run.statistics.event_time
        return ticks / self.events.ticks if isinstance(ticks, int) else None

    def finish(self) -> JobSummary:
        """What a run that came to its end did; the checkpoint keeps it."""
        events, updates = self.events, self._updates
        summary = JobSummary(
            lines=events.lines,
            reports=events.reports,
            queries=events.queries,
            rejects=events.rejects,
            time_units=events.time_units,
            updates=updates.updates,
            objects_at_end=events.objects_at_end,
            queries_at_end=events.queries_at_end,
            seconds=time.perf_counter() - self._begun,
            accuracy=self._accuracy(),
            steps=max(self._run.statistics.step, updates.files.step),
            resumed=self.resumed,
            delay_p50=updates.delay(0.5),
            delay_p99=updates.delay(0.99),
            delay_worst=updates.delay(1.0),
        )
        write_json(self.folder / SUMMARY, {**asdict(summary), "bytes": updates.size})
        self.note(self._run.status)
        self.close()
        return summary

    def _accuracy(self) -> float:
        if self.options.queries.cache >= 100:
            return 1.0
        told = self._run[UNCERTAINTY]
        return Uncertainty(*(int(told[name].sum()) for name in ("members", "missing", "extra"))).accuracy


def finished(options: RunOptions) -> JobSummary | None:
    """What this run did, if it came to its end before and left the file of updates as it is."""
    folder = _folder(options)
    if not (folder / SUMMARY).exists():
        return None
    check_settings(folder, _settings(options), **_refusal(options))
    said = read_json(folder / SUMMARY)
    size = said.pop("bytes")
    if not options.out.is_file() or options.out.stat().st_size != size:
        raise RunError(
            f"the run of the checkpoint {options.checkpoint} is finished, but {options.out} is not the file that it "
            "wrote. Give a new folder as --checkpoint to run the events again."
        )
    return JobSummary(**said)


def finished_status(options: RunOptions) -> Status:
    """The status of a run that is finished."""
    status = read_status(options.checkpoint)
    if status is None:
        raise RunError(
            f"{options.checkpoint / STATUS_FILE}: the run is finished, but this file is missing; restore it from a "
            "copy, or use --force to start over"
        )
    return status


def clear(options: RunOptions) -> None:
    """Remove what an earlier run left in its checkpoint, and the files that it wrote."""
    start_over(options.checkpoint, {}, FOLDER)
    for path in (options.out, options.rejects):
        path.unlink(missing_ok=True)


def _folder(options: RunOptions) -> Path:
    return options.checkpoint.absolute() / FOLDER


def _refusal(options: RunOptions) -> dict[str, str]:
    """What the refusal of other settings says."""
    otherwise = "give a new folder as --checkpoint, or use --force, to begin from the start"
    return {"place": f"the checkpoint {options.checkpoint}", "otherwise": otherwise}


def _settings(options: RunOptions) -> dict[str, Any]:
    """What must stay as it is for a run to go on; the events by their content, wherever they lie now."""
    asked = asdict(options.queries) | {"space": options.queries.space.value}
    return {
        "events": _fingerprint(options.events),
        "out": str(options.out.absolute()),
        "rejects": str(options.rejects.absolute()),
        "speed": show_speed(options.speed),
        **({} if options.keep is None else {"keep": options.keep}),
        **({"shards": options.shards} if options.spread else {}),
        **asked,
    }


def _fingerprint(path: Path) -> str:
    """The size of a file, and a digest of its two ends."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file. Name a file of events, one a line.")
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_ENDS))
            file.seek(max(0, size - _ENDS))
            digest.update(file.read(_ENDS))
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}. Name a file of events.") from fault
    return f"{size:,} bytes, {digest.hexdigest()[:12]}"
