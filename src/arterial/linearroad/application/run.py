"""Runs Linear Road on the engine: prepares the input and the history, starts the network, gathers the figures.

Everything that a run needs to go on after a crash lies in `OUT/work`: the checkpoint, the clock, the parts of the
answers that are not yet in the flat file, and the cleaned input.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.connectors.pace import MAX, Pace, show_speed
from arterial.connectors.source import Source
from arterial.connectors.tables.file import FileTable
from arterial.engine.run.application import WARM_UP_STEPS, Application, check_settings, write_json
from arterial.engine.run.checkpoint.lock import lock_checkpoint
from arterial.engine.run.figures.status import RUN_FILE, Status, note_state, read_status
from arterial.engine.run.run import Run, Settings
from arterial.engine.run.run import run as run_network
from arterial.engine.run.states import FINISHED
from arterial.engine.run.watch.watchers import NOTHING, Watch
from arterial.errors import DataError
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.linearroad.application.answer_sink import answer_sinks
from arterial.linearroad.application.figures import response_times
from arterial.linearroad.application.inputs import Input, StoredInput
from arterial.linearroad.application.live.input import LineInput, is_live
from arterial.linearroad.application.live.topic import SCHEME, TopicInput
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.application.thesis_file import THESIS_FILE, write_thesis_file
from arterial.linearroad.data.clean_set import REJECTS_FILE
from arterial.linearroad.formats.dialects import PAPER
from arterial.linearroad.formats.dialects import dialect as dialect_of
from arterial.linearroad.history.lookup import SegmentLookup, TollLookup
from arterial.linearroad.history.travel_time import JourneyRules
from arterial.linearroad.semantics.profiles import THESIS2003, Profile
from arterial.linearroad.semantics.profiles import profile as profile_of
from arterial.network.network import NetworkValue
from arterial.service.utility import total, utilities
from arterial.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORK = "work"
# As fast as possible there is nothing to be in time for, only workers to be started.
FREE_WARM_UP_STEPS = 2
TRAIN_SIZE = 32_000_000
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of a run."""

    data: Path | str
    """A path, or the text `tcp://HOST:PORT` or `-`."""
    out: Path
    tolls: Path | None = None
    segments: Path | None = None
    profile: str = "spec"
    dialect: str = "paper"
    speed: float = 1.0
    begin: int = 0
    until: int | None = None
    replicate: int = 1
    shards: int = 0
    disorder: int = 0
    basetoll: int | None = None
    basecredit: int | None = None
    ftmin: int | None = None
    keep: str | None = None
    """How long reports, notices and alerts are kept for ad-hoc queries; None: not at all."""
    shed: bool = False
    """Whether requests may be left out under overload."""
    durable: bool = False
    watch: Watch = NOTHING
    network: str | None = None
    """Where the network of your own is that answers, for the record; None: ours."""
    start_file: Path | None = None
    """Live input: where its sender says when second 0 was due; None: the first line is due when it comes."""
    warm_up: int | None = None
    """Empty steps before the clock starts, if there is one; None: a few."""

    @property
    def semantics(self) -> Profile:
        """The profile, with the constants that were chosen for it."""
        return profile_of(self.profile, basetoll=self.basetoll, basecredit=self.basecredit, ftmin=self.ftmin)


class LinearRoadRun(Application):
    """A run that was started, or taken up again; `wait` until it is over, then `finish` writes how it went.

    `network` makes the network that answers, where it is not ours, from how far apart the vehicles and the expressways
    of replicas are. It has the sources `reports` and `requests`, may load the relations `tolls` and `segments`, and its
    outputs are those of `ANSWER_SCHEMA`, without `emit`.
    """

    def __init__(
        self,
        options: RunOptions,
        *,
        spark: SparkSession | None = None,
        source: OpenInput | None = None,
        network: MakeNetwork | None = None,
    ) -> None:
        self.options, self._spark, self._source, self._own = options, spark, source or open_input, network
        self.work = options.out / WORK
        self.profile, self.dialect = options.semantics, dialect_of(options.dialect)
        if (status := _finished(options.out)) is not None:
            raise DataError(f"{options.out}: {status.already_finished()}")
        settings = _settings(options, live=source is not None)
        super().__init__(
            self.work,
            self.work / "checkpoint",
            settings,
            place=str(options.out),
            otherwise=_OTHERWISE,
            durable=options.durable,
        )

    def prepare(self) -> None:
        """Clean the input and open the history."""
        self.input = self._source(self.options, self.work)
        self.history = self._history()

    def start(self) -> Run:
        """Start the network; how long that takes counts as part of the run."""
        self._begun = time.time()
        self._warm_up = 0 if self.resumed else self._warm_up_steps()
        pace = Pace(self.options.begin, self.options.speed, path=(self.work / "clock.json").absolute())
        out = self.options.out.absolute()
        self._sinks = answer_sinks(out, self.dialect, out / WORK / "parts", pace)
        network = self._network()
        run = run_network(
            network,
            self.input.feeds(pace, self._warm_up) | self._tables(network),
            self._sinks,
            self.checkpoint,
            Settings(
                shards=self.options.shards,
                train_size=TRAIN_SIZE,
                # A step that takes all that is due grows with the overload; so its length is decided too.
                schedule="trains" if self.options.shed else "off",
                shed=self.options.shed,
                durable=self.options.durable,
                watch=self.options.watch,
            ),
            spark=self._spark,
        )
        self.input.start(run, 0 if self.options.speed == MAX else self._warm_up)
        return run

    def _warm_up_steps(self) -> int:
        if self.options.speed == MAX:
            return FREE_WARM_UP_STEPS
        return WARM_UP_STEPS if self.options.warm_up is None else self.options.warm_up

    def _network(self) -> NetworkValue:
        if self._own is not None:
            return self._own(self.history.vids_apart, self.history.xways_apart)
        at = self.dialect.balance_at
        return linear_road_network(self.profile, self.history, balance_at=at, keep=self.options.keep)

    def _tables(self, network: NetworkValue) -> dict[str, Source]:
        """The history as the relations that a network of your own loads."""
        given = {"tolls": self.options.tolls, "segments": self.options.segments}
        names = set(network.source_names)
        return {
            name: FileTable(path.absolute())
            for name, path in given.items()
            if self._own is not None and path is not None and name in names
        }

    @property
    def notes(self) -> list[str]:
        """What a user should know about this run."""
        told = []
        if self.profile.expenditure == "today":
            told.append("daily expenditures are today's, so that --tolls is not needed")
        elif self.options.tolls is None:
            told.append("no --tolls: daily expenditures are answered as for a vehicle that the history does not know")
        if self.options.segments is None:
            told.append("no --segments: travel times are answered as for an expressway that the history does not know")
        if self.options.replicate > 1:
            told.append(f"expressways are replicated {self.options.replicate} times, with disjoint vehicles and ids")
        if self.resumed:
            told.append("taken up again from its checkpoint")
        return [*told, *self.input.notes, *self._run.notices]

    @property
    def events(self) -> int:
        """How many reports and requests were read; the rows of tables do not count."""
        return sum(self.engine.status.tuples_in[name] for name in ("reports", "requests"))

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is. Raises what ended it or its input, if that was an error."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        while not super().wait(min(LOOK_SECONDS, max(0.0, until - time.monotonic()))):
            if self.input.error is not None:
                self.stop()
                raise self.input.error
            if time.monotonic() >= until:
                return False
        return True

    def note(self, status: Status) -> None:
        """Keep the state in the output folder, where the figures will be too."""
        note_state(self.options.out, status)

    def stop(self) -> None:
        """End it after the train at hand; the same command takes it up again."""
        self.input.stop()
        super().stop()

    def finish(self) -> dict[str, Any]:
        """Write the figures of a run that came to its end."""
        figures = self._figures()
        if self.profile.name == THESIS2003.name and self.dialect is PAPER:
            write_thesis_file(self.options.out)
        write_json(self.options.out / RUN_FILE, {**asdict(self._run.status), **figures})
        self.input.close()
        self.close()
        return figures

    def _streaming_seconds(self) -> float:
        """From the end of the warm-up to that of the last step."""
        ends = list(next(iter(self._sinks.values())).step_ends.values())
        began = ends[self._warm_up - 1] if 0 < self._warm_up <= len(ends) else self._begun
        return round((ends or [began])[-1] - began, 3)

    def _history(self) -> History:
        """The look-ups of the history, made from others' files if they are not ours."""
        history = History(vids_apart=0, xways_apart=0)
        if self.options.replicate > 1:
            apart = self.input.replication
            history = replace(history, vids_apart=apart.vid_step, xways_apart=apart.xway_step)
        if self._own is not None:
            return history
        if self.options.tolls is not None and self.profile.expenditure == "history":
            # Asked once here, so that its kernel is compiled and kept before the clock starts.
            TollLookup.open(self.options.tolls).tolls([0], [1], [0])
            history = replace(history, tolls=self.options.tolls.absolute())
        if self.options.segments is not None:
            rules = JourneyRules.of(self.profile)
            SegmentLookup.open(self.options.segments).travel_times([0], [0], [1], [1], [1], rules=rules)
            history = replace(history, segments=self.options.segments.absolute())
        return history

    def _constants(self) -> dict[str, int | None]:
        """The constants of the thesis' rules that hold in this run."""
        if self.profile.name != THESIS2003.name:
            return {}
        chosen = self.profile
        return {"basetoll": chosen.base_toll, "basecredit": chosen.exit_credit, "ftmin": chosen.discount_from}

    def _figures(self) -> dict[str, Any]:
        seconds = time.time() - self._begun
        said = self._run.statistics.describe()
        reports = said["boxes"]["reports"]["out"]
        return {
            "version": __version__,
            **{name: str(value) if isinstance(value, Path) else value for name, value in asdict(self.options).items()},
            **self._constants(),
            "speed": show_speed(self.options.speed),
            "shards": self._run.plan.shards,
            **self.input.figures(),
            "notes": self.notes,
            "seconds": round(seconds, 3),
            "streaming_seconds": self._streaming_seconds(),
            "reports": reports,
            "requests": said["boxes"]["requests"]["out"],
            "reports_per_second": round(reports / max(self._streaming_seconds(), 1e-3)),
            "steps": said["steps"],
            "responses": response_times(self.options.out, self.dialect),
            "utility": self._utility(),
            "left_out": dict(self._run.status.shed),
            "engine": said,
        }

    def _utility(self) -> dict[str, float]:
        """What the answers of the run were worth by the graphs of the outputs, and in all."""
        network = self._run.plan.network
        found = utilities(Window(math.inf, read_steps(self.work / "checkpoint")), network)
        return {**{name: round(one, 4) for name, one in found.items()}, "total": round(total(network, found), 4)}


_OTHERWISE = "choose another --out, or use --force to begin again"


def finished(options: RunOptions) -> Status | None:
    """The status of a finished run with these options; one with others is refused."""
    status = _finished(options.out)
    if status is not None:
        check_settings(options.out / WORK, _settings(options), place=str(options.out), otherwise=_OTHERWISE)
    return status


def _finished(out: Path) -> Status | None:
    """The status of a run whose figures are written; one that only came to the end of its input is taken up again."""
    status = read_status(out, RUN_FILE)
    if status is not None and not (out / WORK).is_dir():
        raise DataError(f"{out}: a run of another network is there; expected another folder")
    return status if status is not None and status.state == FINISHED else None


def _settings(options: RunOptions, *, live: bool = False) -> dict[str, str]:
    """What must stay as it is for a run to go on; live input comes from whoever sends it."""
    given = {
        name: value
        for name, value in asdict(options).items()
        if name not in ("out", "durable", "watch", "start_file", "warm_up")
    }
    for name in ("keep", "network"):
        if given[name] is None:
            del given[name]
    settings = {name: str(value) for name, value in given.items()}
    return {**settings, "data": "live input"} if live or is_live(options.data) else settings


OpenInput = Callable[[RunOptions, Path], Input]
MakeNetwork = Callable[[int, int], NetworkValue]


def open_input(options: RunOptions, work: Path) -> Input:
    """The input that a user named: files, or a stream."""
    if isinstance(options.data, str) and options.data.startswith(SCHEME):
        return TopicInput(options.data, **input_place(options, work))
    if is_live(options.data):
        return LineInput(options.data, **input_place(options, work))
    return StoredInput(Path(options.data), **input_place(options, work))


def input_place(options: RunOptions, work: Path) -> dict[str, Any]:
    """What every kind of input must know."""
    return {
        "work": work,
        "rejects": options.out / REJECTS_FILE,
        "begin": options.begin,
        "until": options.until,
        "times": options.replicate,
        "disorder": options.disorder,
        "start_file": options.start_file,
    }


def clear(out: Path) -> None:
    """Remove what an earlier run left in an output folder, and nothing else."""
    if (out / WORK).is_dir():
        lock_checkpoint(out / WORK).close()  # refuses while another run is at work there
    shutil.rmtree(out / WORK, ignore_errors=True)
    for name in (RUN_FILE, REJECTS_FILE, THESIS_FILE, *(path.name for path in out.glob("output*.csv"))):
        (out / name).unlink(missing_ok=True)
