"""Runs a file of events on Spark: prepares it, starts the network or takes it up again, gathers the figures.

Everything that a run needs to go on after a crash lies in the checkpoint: Spark's own and, in `moving`, the prepared
events, the clock, the journal of the file of updates, and the settings that the run began with.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from arterial.connectors.file_sink import FileSink
from arterial.connectors.sink import Sink
from arterial.engine.run.lock import lock_checkpoint, note_owner
from arterial.engine.run.run import Run, Settings
from arterial.engine.run.run import run as run_network
from arterial.errors import ArterialError, DataError, MachineError, RunError
from arterial.moving.application.clock import AT_ONCE, EventClock
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.network import UPDATES, QueryOptions, moving_network
from arterial.moving.application.prepare import OBJECTS, QUERIES, Prepared, prepare
from arterial.moving.application.update_sink import UpdateFile, UpdateSink
from arterial.moving.boxes.moving_queries import UNCERTAINTY
from arterial.moving.files.run import Summary
from arterial.moving.shared.remembering import Uncertainty
from arterial.moving.shared.warm import warm_kernels
from arterial.network.network import Port
from arterial.storage.place import put_in_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER, SETTINGS, SUMMARY = "moving", "settings.json", "finished.json"
# In real time, empty steps warm up the Java machine and the Python workers before the clock starts.
WARM_UP_STEPS = 12
# One box has all queries and objects, so there is nothing to spread; more shards would only shuffle more.
SHARDS = 1
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
    speed: float = AT_ONCE
    train_size: int = TRAIN_SIZE


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


class MovingRun:
    """A run that is started, or taken up again; `wait` until it is over, then `finish` says what it did."""

    def __init__(
        self,
        options: RunOptions,
        *,
        spark: SparkSession | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self.options, self._begun = options, time.perf_counter()
        self._folder = options.checkpoint.absolute() / FOLDER
        self._lock = _lock(self._folder)
        try:
            self.resumed = _claim(options, self._folder)
            self.events = self._prepare(progress)
            warm_kernels(options.queries.space)
            instants = self.events.index()[0]
            first = int(instants[0]) if len(instants) else 0
            self._clock = EventClock(self._folder / "clock.json", first, self.events.ticks, options.speed)
            self._file = UpdateFile(options.out.absolute(), self._folder / "parts", self._clock)
            self._uncertainty = FileSink(self._folder / UNCERTAINTY)
            self._run = self._start(spark)
        except BaseException:
            self._lock.close()
            raise

    @property
    def engine(self) -> Run:
        """The engine's run."""
        return self._run

    @property
    def ended(self) -> bool:
        """Whether it came to the end of the events, and was not only stopped."""
        return self._run.ended

    @property
    def reports(self) -> int:
        """How many reports this process has read."""
        return self._run.statistics.box(OBJECTS).tuples_out

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is. Raises what ended it, if that was an error."""
        over = True
        try:
            over = self._run.wait(seconds)
        finally:
            if over:
                self._lock.close()
        return over

    def stop(self) -> None:
        """End it after the train at hand; the same command takes it up again."""
        self._run.stop()
        self._lock.close()

    def finish(self) -> JobSummary:
        """What a run that came to its end did; the checkpoint keeps it."""
        events, file = self.events, self._file
        summary = JobSummary(
            lines=events.lines,
            reports=events.reports,
            queries=events.queries,
            rejects=events.rejects,
            time_units=events.time_units,
            updates=file.updates,
            objects_at_end=events.objects_at_end,
            queries_at_end=events.queries_at_end,
            seconds=time.perf_counter() - self._begun,
            accuracy=self._accuracy(),
            steps=max(self._run.statistics.step, file.step),
            resumed=self.resumed,
            delay_p50=file.delay(0.5),
            delay_p99=file.delay(0.99),
            delay_worst=file.delay(1.0),
        )
        _write(self._folder / SUMMARY, {**asdict(summary), "bytes": file.size})
        return summary

    def _prepare(self, progress: Callable[[int], None]) -> Prepared:
        options, asked = self.options, self.options.queries
        try:
            return prepare(
                options.events,
                self._folder / "events",
                rejects=options.rejects,
                space=asked.space,
                timeout=asked.timeout,
                progress=progress,
            )
        except ArterialError:
            # Nothing has begun, so a corrected command may use the folder.
            (self._folder / SETTINGS).unlink(missing_ok=True)
            raise

    def _start(self, spark: SparkSession | None) -> Run:
        warm_up = 0 if self._clock.runs_freely else WARM_UP_STEPS
        sinks: dict[str, Sink] = {UPDATES: UpdateSink(self._folder / "parts", self.events.ticks)}
        if self.options.queries.cache < 100:
            sinks[UNCERTAINTY] = self._uncertainty
        return run_network(
            moving_network(self.events, self.options.queries),
            {which: EventFeed(self.events, which, self._clock, warm_up) for which in (OBJECTS, QUERIES)},
            sinks,
            self.options.checkpoint,
            Settings(shards=SHARDS, train_size=self.options.train_size),
            spark=spark,
            after_step=self._file.append,
        )

    def _accuracy(self) -> float:
        if self.options.queries.cache >= 100:
            return 1.0
        stream = self._run.plan.network.streams[Port("moving", UNCERTAINTY)]
        told = self._uncertainty.bind(UNCERTAINTY, stream).read()
        return Uncertainty(*(int(told[name].sum()) for name in ("members", "missing", "extra"))).accuracy


def finished(options: RunOptions) -> JobSummary | None:
    """What this run did, if it came to its end before and left the file of updates as it is."""
    folder = options.checkpoint.absolute() / FOLDER
    if not (folder / SUMMARY).exists():
        return None
    _claim(options, folder)
    said = json.loads((folder / SUMMARY).read_text())
    size = said.pop("bytes")
    if not options.out.is_file() or options.out.stat().st_size != size:
        raise RunError(
            f"the run of the checkpoint {options.checkpoint} is finished, but {options.out} is not the file that it "
            "wrote. Give a new folder as --checkpoint to run the events again."
        )
    return JobSummary(**said)


def _lock(folder: Path) -> IO[str]:
    """Keep others off the events, the journal and the file of updates, as the engine keeps them off its own part."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = lock_checkpoint(folder)
        note_owner(lock, None)
    except OSError as fault:
        raise MachineError(f"{fault.filename or folder}: cannot be written: {fault.strerror or fault}.") from fault
    return lock


def _claim(options: RunOptions, folder: Path) -> bool:
    """Take the checkpoint for this run; whether a run is taken up again there."""
    if not options.events.is_file():
        raise DataError(f"{options.events}: there is no such file. Name a file of events, one a line.")
    settings = _settings(options)
    kept = folder / SETTINGS
    if kept.exists():
        before = json.loads(kept.read_text())
        if changed := sorted(name for name in settings if settings[name] != before.get(name)):
            told = ", ".join(f"{name} was {before.get(name)} and is {settings[name]}" for name in changed)
            raise RunError(
                f"the checkpoint {options.checkpoint} is of a run with other settings: {told}. Repeat its command to "
                "go on, or give a new folder as --checkpoint to begin from the start."
            )
        return True
    if (options.checkpoint / "spark").exists():
        raise RunError(
            f"{options.checkpoint} is the checkpoint of another kind of run. Give a new folder as --checkpoint."
        )
    _write(kept, settings)
    return False


def _write(path: Path, said: dict[str, Any]) -> None:
    """Write a small file, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put_in_place(path, json.dumps(said, indent=2))
    except OSError as fault:
        raise MachineError(f"{fault.filename or path}: cannot be written: {fault.strerror or fault}.") from fault


def _settings(options: RunOptions) -> dict[str, Any]:
    """What must stay as it is for a run to go on; the events by their content, wherever they lie now."""
    asked = asdict(options.queries) | {"space": options.queries.space.value}
    speed = "max" if options.speed == AT_ONCE else options.speed
    out, rejects = str(options.out.absolute()), str(options.rejects.absolute())
    return {"events": _fingerprint(options.events), "out": out, "rejects": rejects, "speed": speed, **asked}


def _fingerprint(path: Path) -> str:
    """The size of a file, and a digest of its two ends."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_ENDS))
            file.seek(max(0, size - _ENDS))
            digest.update(file.read(_ENDS))
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}. Name a file of events.") from fault
    return f"{size:,} bytes, {digest.hexdigest()[:12]}"
