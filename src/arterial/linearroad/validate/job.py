"""The Spark batch job: expressways side by side, then vehicles, then query ids.

Only packed tables cross Spark, one row each. What a task holds is one direction of one expressway, or one bucket.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from arterial.errors import DataError, MachineError
from arterial.linearroad.formats.answers import TRAVEL_TIME
from arterial.linearroad.formats.dialects import KEPT_FAULTS, PAPER, Dialect, chunks_of, left_aside, output_files
from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.semantics.city import EAST, WEST
from arterial.linearroad.semantics.profiles import SPEC, Profile
from arterial.linearroad.validate.causes.alternatives import alternatives_of
from arterial.linearroad.validate.causes.attribution import causes_of
from arterial.linearroad.validate.causes.evidence import Evidence
from arterial.linearroad.validate.expected.expected import REQUEST_COLUMNS, requests_of
from arterial.linearroad.validate.expected.history import history_files, is_parquet
from arterial.linearroad.validate.gather import gather
from arterial.linearroad.validate.parcels import Parcel
from arterial.linearroad.validate.plan import Asked, JourneysOf, LinesOf, Plan, RequestsOf, Task, TollsOf, TrafficOf
from arterial.linearroad.validate.replicas import replicas_of
from arterial.linearroad.validate.right import Terms
from arterial.linearroad.validate.stages import judge_requests, judge_vehicles
from arterial.linearroad.validate.tallies import tally_from
from arterial.linearroad.validate.verdict import Causes, Tally, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arterial.linearroad.data.dataset import Data

# The bytes of an output file that a task reads: more of a large one, as each task sends something to every bucket.
LINES_CHUNK, LONGEST_CHUNK, CHUNKS = 32 << 20, 128 << 20, 128
# The files of TollHistory that a task reads.
TOLL_FILES = 8
EXPENDITURES_OF_TODAY = "Daily expenditures are today's: no toll history is needed."
_PARCEL_SCHEMA = pa.schema([("bucket", pa.int32()), ("kind", pa.string()), ("payload", pa.binary())])

Progress = Callable[[float], None]


def validate(
    data: Data,
    output: Path,
    *,
    tolls: Path | None = None,
    segments: Path | None = None,
    profile: Profile = SPEC,
    dialect: Dialect = PAPER,
    first: int | None = None,
    until: int | None = None,
    timed: bool = True,
    replicate: int = 1,
    early: float = 0.0,
    causes: bool = True,
    spark: SparkSession | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Judge an output against its input; with a Spark session distributed, else in this process.

    Answers of the seconds [first, until) are judged; input before counts for the state. `timed` is False for outputs
    of a run that was not paced by the clock: response times are then not judged. `progress` gets the share done.
    By `early` seconds Emit may lie before its time. `replicate` is the run's: the data so many times, each with numbers
    of its own. `causes` has the rules looked for that explain the differences, if there are any, in a second pass.
    """
    started = time.monotonic()
    end = data.last_second + 1
    terms = Terms(
        profile,
        0 if first is None else first,
        end if until is None else until,
        timed,
        "xway" in dialect.columns.get(1, ()),
        early,
        dialect.balance_at == "last_notice",
        opens=first is not None and first > 0,
        closes=until is not None and until < end,
    )
    if terms.until <= terms.first:
        raise DataError(f"The window [{terms.first}, {terms.until}) is empty: --from must be before --until.")
    plan = Plan(terms, dialect, replicas_of(data, replicate, together=spark is None))
    asked = _asked(data, plan)
    tasks = _tasks(data, output, segments, plan, asked)
    history = _toll_tasks(tolls, asked)
    tasks += [] if plan.today else history
    work = partial(_on_spark, spark) if spark else _here
    ends = work(tasks, plan, asked, progress)
    tallies = _tallies(ends, plan)
    found: dict[int, Causes] = {}
    differing = tuple(t for t, tally in tallies.items() if tally.differences)
    if causes and differing:
        trying = replace(plan, alternatives=alternatives_of(profile, differing), differing=differing)
        tasks += history if plan.today else []
        found = _causes(work(tasks, trying, asked, progress), trying)
    lines, faults, fault_counts = _pieces(ends, {str(file.absolute()): str(file) for file in output_files(output)})
    cleaning = data.cleaning
    return Verdict(
        profile=profile.name,
        dialect=dialect.name,
        data=str(data.path),
        output=str(output),
        tallies=tallies,
        causes=found,
        limits=dict(profile.response_limit),
        lines=lines,
        faults=faults,
        fault_counts=fault_counts,
        events=data.events * replicate,
        xways=len(data.xways) * replicate,
        rejected=len(data.rejects) if cleaning is not None else 0,
        window=(terms.first, terms.until) if (first, until) != (None, None) else None,
        timed=timed,
        notes=[*_notes(tolls, segments, plan, asked), *_notes_of_files(output)],
        seconds=time.monotonic() - started,
    )


def _asked(data: Data, plan: Plan) -> Asked:
    """The requests in the window: one event in a hundred, read here because every task needs some of them."""
    kinds = (BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST)
    inside = (pl.col("time") >= plan.terms.first) & (pl.col("time") < plan.terms.until)
    events = pl.scan_parquet(list(data.parquet_files.values()))
    rows = events.filter(pl.col("type").is_in(kinds) & inside).select("type", *REQUEST_COLUMNS).collect()
    return Asked(*(requests_of(rows, kind) for kind in kinds))


def _toll_tasks(tolls: Path | None, asked: Asked) -> list[Task]:
    found = [file.absolute() for file in history_files(tolls, "tolls")] if tolls is not None else []
    if not asked.expenditures.height:
        return []
    return [TollsOf(tuple(found[i : i + TOLL_FILES]), i) for i in range(0, len(found), TOLL_FILES)]


def _tasks(data: Data, output: Path, segments: Path | None, plan: Plan, asked: Asked) -> list[Task]:
    """What the first stage does but for TollHistory, the longest tasks first.

    Paths are whole: Spark's workers stay in the folder in which it was started.
    """
    tasks: list[Task] = [RequestsOf()]
    found = history_files(segments, "segments") if segments is not None else ()
    if TRAVEL_TIME in plan.dialect.types and asked.travels.height:
        xways = tuple(asked.travels["xway"].unique().sort().to_list())
        files = tuple(file.absolute() for file in found)
        if files and not all(is_parquet(file) for file in files):
            tasks.append(JourneysOf(files, xways))
        else:
            tasks += [JourneysOf(files, (xway,)) for xway in xways]
    tasks += [
        TrafficOf(file, xway, direction) for xway, file in data.parquet_files.items() for direction in (EAST, WEST)
    ]
    for file in output_files(output):
        size = min(max(LINES_CHUNK, file.stat().st_size // CHUNKS), LONGEST_CHUNK)
        tasks += [LinesOf(file.absolute(), place, *span) for place, span in enumerate(chunks_of(file, size))]
    return tasks


def _here(tasks: list[Task], plan: Plan, asked: Asked, progress: Progress | None) -> list[Parcel]:
    gathered: list[Parcel] = []
    for done, task in enumerate(tasks, start=1):
        gathered += gather(task, plan, asked)
        if progress:
            progress(done / (len(tasks) + 1))
    for stage in (judge_vehicles, judge_requests):
        gathered = [
            parcel
            for bucket in range(plan.replicas.buckets)
            for parcel in stage([one for one in gathered if one.bucket == bucket], bucket, plan)
        ]
    if progress:
        progress(1.0)
    return _checked(gathered)


def _on_spark(
    spark: SparkSession, tasks: list[Task], plan: Plan, asked: Asked, progress: Progress | None
) -> list[Parcel]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    def first_stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(gather(tasks[number], plan, asked))

    def later_stage(stage: Callable[[Iterable[Parcel], int, Plan], Iterator[Parcel]]) -> Any:
        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            yield from _batches(stage(_parcels(batches), context.partitionId(), plan))

        return run

    schema = "bucket int, kind string, payload binary"
    numbers = spark.range(0, len(tasks), 1, numPartitions=len(tasks))
    frame = numbers.mapInArrow(first_stage, schema)
    for stage in (judge_vehicles, judge_requests):
        frame = frame.repartitionById(plan.replicas.buckets, frame.bucket).mapInArrow(later_stage(stage), schema)
    total = len(tasks) + 2 * plan.replicas.buckets
    try:
        with _Watch(spark, total, progress):
            rows = _collect(frame)
    except (Py4JError, PySparkException) as fault:
        raise MachineError(f"Spark failed while validating: {_reason(fault)}") from fault
    return _checked(rows)


def _collect(frame: DataFrame) -> list[Parcel]:
    return list(_parcels(frame.toArrow().to_batches()))


def _batches(parcels: Iterable[Parcel]) -> Iterator[pa.RecordBatch]:
    for parcel in parcels:
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], kind) for value, kind in zip(parcel, _PARCEL_SCHEMA.types, strict=True)],
            schema=_PARCEL_SCHEMA,
        )


def _parcels(batches: Iterable[pa.RecordBatch]) -> Iterator[Parcel]:
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Parcel(*row)


def _checked(parcels: list[Parcel]) -> list[Parcel]:
    for parcel in parcels:
        if parcel.kind == "error":
            raise DataError(parcel.payload.decode())
    return parcels


def _tallies(parcels: list[Parcel], plan: Plan) -> dict[int, Tally]:
    tallies = {answer_type: Tally(answer_type) for answer_type in plan.dialect.types}
    for parcel in parcels:
        if parcel.kind == "tally":
            part = tally_from(parcel.payload)
            tallies[part.answer_type].join(part)
    return tallies


def _causes(parcels: list[Parcel], plan: Plan) -> dict[int, Causes]:
    evidence = {answer_type: Evidence(answer_type) for answer_type in plan.dialect.types}
    for parcel in parcels:
        if parcel.kind == "evidence":
            part = Evidence.from_bytes(parcel.payload)
            evidence[part.answer_type].join(part)
    return causes_of(evidence, plan.alternatives)


def _pieces(parcels: list[Parcel], names: dict[str, str]) -> tuple[int, list[dict[str, Any]], dict[str, int]]:
    """The lines of the output, the first that are no answers, and how many there are by reason.

    `names` are those of the files as the user gave them.
    """
    pieces = [json.loads(parcel.payload) for parcel in parcels if parcel.kind == "piece"]
    lines: dict[str, int] = {}
    faults: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for piece in sorted(pieces, key=lambda one: (one["file"], one["place"])):
        before = lines.get(piece["file"], 0)
        file = names.get(piece["file"], piece["file"])
        faults += [{**fault, "file": file, "line": before + fault["line"]} for fault in piece["faults"]]
        lines[piece["file"]] = before + piece["lines"]
        for reason, count in piece["counts"].items():
            counts[reason] = counts.get(reason, 0) + count
    return sum(lines.values()), faults[:KEPT_FAULTS], counts


def _notes(tolls: Path | None, segments: Path | None, plan: Plan, asked: Asked) -> list[str]:
    notes = []
    if plan.replicas.times > 1:
        notes.append(f"The data was run {plan.replicas.times} times over, with disjoint vehicles and ids.")
    if not plan.terms.timed:
        notes.append("Response times are not judged (--untimed).")
    if plan.terms.early:
        notes.append(f"Emit may be up to {plan.terms.early:.3f} s before its time (--early).")
    if plan.today:
        notes.append(EXPENDITURES_OF_TODAY)
    elif tolls is None and asked.expenditures.height:
        unknown = plan.terms.profile.unknown_expenditure
        what = "no answer" if unknown is None else str(unknown)
        notes.append(f"No --tolls: daily expenditures are expected as for an unknown key ({what}).")
    if TRAVEL_TIME not in plan.dialect.types:
        if asked.travels.height:
            notes.append(f"Dialect {plan.dialect.name} has no travel times: those requests are not judged.")
    elif segments is None and asked.travels.height:
        notes.append("No --segments: travel times are expected as without history (-1, -1).")
    return notes


def _notes_of_files(output: Path) -> list[str]:
    """What a reader should know about the files of an output."""
    notes = [f"{file}: no lines in it." for file in output_files(output) if not file.stat().st_size]
    if names := left_aside(output):
        notes.append(f"{output}: not read as answers: {names}.")
    return notes


def _reason(fault: BaseException) -> str:
    """The informative line of a Spark error, which is often the last of a Python traceback in it."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line and not line.startswith(("at ", "File "))]
    return (errors or lines or [type(fault).__name__])[-1][:500]


class _Watch:
    """Reports the progress of the one job that runs, from Spark's own count of finished tasks."""

    def __init__(self, spark: SparkSession, total: int, progress: Progress | None) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._total, self._progress = total, progress
        self._done: dict[int, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        if self._progress:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._progress:
            self._thread.join()
            self._progress(1.0)

    def _look(self) -> None:
        assert self._progress is not None
        while not self._stop.wait(0.5):
            for stage in self._tracker.getActiveStageIds():
                told = self._tracker.getStageInfo(stage)
                if told is not None:
                    self._done[stage] = told.numCompletedTasks
            self._progress(min(1.0, sum(self._done.values()) / self._total))
