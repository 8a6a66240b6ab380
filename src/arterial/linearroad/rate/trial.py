"""One trial of a rating: run a system on L expressways, validate what it answered, report how it went."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.errors import ArterialError, DataError, RunError
from arterial.linearroad.application.live.topic import TOPIC_FOLDER
from arterial.linearroad.application.run import WORK
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.event_files import PARQUET_FOLDER
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.formats.answers import TABLE_OF_TYPE
from arterial.linearroad.formats.dialects import FLAT_FILE, chunks_of, output_files
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.rate.meter import Meter
from arterial.linearroad.rate.systems import TOLLS_FOLDER, their_command, write_tolls

LOG_LINES = 15
PARTITIONS = 4
"""Of the topic of a trial."""
PIPE_SECONDS = 0.05
"""A line may lie in the pipe for so long before a system reads it."""
PATIENCE_SECONDS = 60.0
"""A system may go on for as long as the data lasts, and so much more, after the driver's last line."""
STALL_SECONDS = 60.0
"""A system may hold the driver up for as long as the data lasts, and so much more."""
READY_SECONDS = 600.0
"""A system may take so long to start, until it makes the file `{ready}`."""
GRACE_SECONDS = 10.0
"""Between asking a system to end and ending it."""


@dataclass(frozen=True)
class Plan:
    """What all trials of a rating have in common."""

    data: Path
    """One expressway, or any whole number of them."""
    half: Path
    """One direction of it, for the L that are not whole."""
    xways: float
    """How many expressways `data` has."""
    tolls: Path | None
    segments: Path | None
    out: Path
    begin: int
    until: int
    profile: str = "spec"
    dialect: str = "paper"
    system: str | None = None
    """A command that reads the driver's feed and writes the answers; None is Arterial itself."""
    name: str = "arterial"
    """What the system is called in the rating."""
    through: str | None = None
    """Where the driver delivers, `kafka://HOST:PORT/TOPIC`, each trial to a topic of its own; None: to the system."""
    speed: float = 1.0
    """How much faster than real time the clock runs; responses are in seconds of the wall clock all the same."""

    def input_of(self, expressways: float) -> tuple[Path, int]:
        """The data set of which a trial takes replicas, and how many."""
        replicas = expressways / self.xways
        if replicas == int(replicas) and replicas >= 1:
            return self.data, int(replicas)
        return self.half, round(2 * expressways)


def run_trial(plan: Plan, expressways: float) -> dict[str, Any]:
    """Run and validate; the outcome says whether it passed, and everything that the report shows."""
    folder = plan.out / f"trial-{expressways:g}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data, replicas = plan.input_of(expressways)
    history = [
        word for name in ("tolls", "segments") if (path := getattr(plan, name)) for word in (f"--{name}", str(path))
    ]
    window = ["--from", str(plan.begin), "--until", str(plan.until)]
    run = _our_run if plan.system is None else _their_run
    try:
        usage = run(plan, folder, data, replicas, history, window)
    except RunError as fault:
        # A system that breaks down at this L does not pass it.
        return {
            "expressways": expressways,
            "passed": False,
            "made_of": _made_of(plan, data, replicas),
            "broke_down": str(fault),
            "responses": {},
        }
    judged = _arterial(
        folder / "validate.log",
        *("validate", "--data", str(data), "--output", str(folder / "answers"), "--replicate", str(replicas)),
        *("--profile", plan.profile, "--dialect", plan.dialect, "--json", *history, *window),
        # Why answers differ is a question for one L, and takes longer than the judgement.
        *("--early", str(usage.get("early", 0.0)), "--no-causes"),
        may_fail=True,
    )
    verdict = json.loads(judged)
    outcome = {
        "expressways": expressways,
        "passed": verdict["passes"],
        "made_of": _made_of(plan, data, replicas),
        "reports_per_second": _reports_per_second(plan, data, replicas),
        "responses": _responses(verdict),
        "verdict": verdict,
        **usage,
    }
    # The answers of a large L fill the disk; the verdict is what counts.
    shutil.rmtree(folder / "answers", ignore_errors=True)
    return outcome


def _made_of(plan: Plan, data: Path, replicas: int) -> str:
    """How L was made up, as a reader of the rating must know it."""
    part = "half an expressway" if data == plan.half else f"{plan.xways:g} expressway(s)"
    return f"{part}, simulated" if replicas == 1 else f"{part}, simulated, replicated {replicas} times"


def _our_run(
    plan: Plan, folder: Path, data: Path, replicas: int, history: list[str], window: list[str]
) -> dict[str, Any]:
    words = ["run", "--out", str(folder / "answers"), "--profile", plan.profile, "--dialect", plan.dialect, "--json"]
    used: dict[str, Any] = {}
    if plan.through is None:
        words += ["--data", str(data), "--replicate", str(replicas), "--speed", f"{plan.speed:g}"]
        words += [*history, *window]
        _arterial(folder / "run.log", *words, usage=used)
        return used
    topic, start = topic_of(plan.through, folder.name), folder / "start"
    feed = [*_us(), "drive", "--data", str(data), "--to", made(topic), "--replicate", str(replicas), *window]
    # The run opens the topic when it is warm.
    feed += ["--start-file", str(start), "--start-on", str(folder / "answers" / WORK / TOPIC_FOLDER)]
    with (folder / "drive.log").open("w") as log:
        driver = subprocess.Popen(feed, stdout=log, stderr=log)
        try:
            _arterial(folder / "run.log", *words, "--data", topic, "--start-file", str(start), *history, usage=used)
        finally:
            driver.terminate()  # it has nothing more to do
            driver.wait()
    return used


def _their_run(
    plan: Plan, folder: Path, data: Path, replicas: int, history: list[str], window: list[str]
) -> dict[str, Any]:
    """Feed another system through a pipe, or a topic: the driver's lines on its standard input, or in `{topic}`.

    Emit is counted by the driver's clock: a system reads its start from the file `{start}`. One that does not ask for
    it counts from its first line, and may be early by as much as that line was late. One that asks for `{ready}` makes
    that file when it has started, and the driver starts then. One that is not told `{output}` answers on its standard
    output.
    """
    assert plan.system is not None
    answers = folder / "answers"
    answers.mkdir()
    start, record, ready = folder / "start", folder / "record.csv", folder / "ready"
    tolls = (plan.out / TOLLS_FOLDER).absolute()
    if "{tolls}" in plan.system:
        write_tolls(plan.tolls, tolls)
    apart = Replication.of(open_data(data), replicas)
    topic = "-" if plan.through is None else topic_of(plan.through, folder.name)
    output = answers / FLAT_FILE
    command = their_command(plan.system, output, start, apart, tolls, ready, topic)
    feed = [*_us(), "drive", "--data", str(data), "--replicate", str(replicas), *window]
    feed += ["--to", "-", "--no-end-marker"] if plan.through is None else ["--to", made(topic)]
    feed += ["--start-file", str(start), "--record", str(record)]
    waits = "{ready}" in plan.system
    feed += ["--start-on", str(ready)] if waits else []
    lasts = plan.until - plan.begin
    patience = lasts + PATIENCE_SECONDS
    why_stopped = ""
    with (
        (folder / "run.log").open("w") as log,
        nullcontext(log) if "{output}" in plan.system else output.open("w") as said,
        subprocess.Popen(feed, stdout=subprocess.PIPE, stderr=log) as driver,
    ):
        try:
            # A group of its own, so that what it starts ends with it.
            theirs = started(shlex.split(command), stdin=driver.stdout, stdout=said, stderr=log, process_group=0)
            assert driver.stdout
            driver.stdout.close()
            meter = Meter(theirs.pid)
            try:
                why_stopped = held_up(theirs, driver, start, lasts) or (
                    ""
                    if ended_within(theirs, patience)
                    else f"it had not ended {patience:g} s after the driver's last line"
                )
            finally:
                usage = meter.stop()
                end_group(theirs)
            code = theirs.returncode
            not_ready = not start.exists() if why_stopped else waits and not ready.exists()
            if (code and not why_stopped) or not_ready:
                # Nobody takes what the driver has; or it would wait for a system that ended before it was ready.
                driver.terminate()
        except BaseException:
            driver.terminate()
            raise
    if code and not why_stopped:
        raise RunError(f"the system ended {_ending(code)}: {command}; {_tail(folder)}")
    if not start.exists():
        ended = "the system ended before it made the file {ready}" if waits else "the driver did not begin"
        what = f"the system was stopped: {why_stopped}" if why_stopped else ended
        raise RunError(f"{what}: {command}; {_tail(folder)}")
    if not any(answers.iterdir()):
        raise RunError(
            f"the system wrote no answers: expected them in {output}, which stands for {{output}} in its command; "
            f"{_tail(folder)}"
        )
    try:
        for file in output_files(answers):
            next(chunks_of(file), None)
    except DataError as fault:
        raise RunError(f"the answers cannot be read: {fault}") from None
    early = 0.0 if "{start}" in plan.system else first_delay(record) + PIPE_SECONDS
    used: dict[str, Any] = {"cores": round(usage.cores, 2), "memory": usage.memory, "early": round(early, 3)}
    if why_stopped:
        used["stopped"] = f"the system was stopped: {why_stopped}"
    elif driver.returncode:
        used["stopped"] = "the system ended, or closed its input, before it had taken all lines"
    return used


def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """The process of a command; raises if it cannot be started."""
    try:
        return subprocess.Popen(command, **options)
    except OSError as fault:
        raise ArterialError(f"--system: {command[0]} cannot be started: {fault.strerror}") from fault


def held_up(theirs: subprocess.Popen[bytes], driver: subprocess.Popen[bytes], start: Path, lasts: float) -> str:
    """Wait until the driver has delivered all, or the system has ended; why not, if that takes too long."""
    begun = time.monotonic()
    delivering: float | None = None
    while theirs.poll() is None and driver.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            theirs.wait(0.2)
        now = time.monotonic()
        if delivering is None and start.exists():
            delivering = now
        if delivering is None and now - begun > READY_SECONDS:
            return f"it was not ready after {READY_SECONDS:g} s"
        if delivering is not None and now - delivering > 2 * lasts + STALL_SECONDS:
            return f"it had not taken all lines {2 * lasts + STALL_SECONDS:g} s after the driver's start"
    return ""


def ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a process ends by itself within some seconds."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is not None


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that goes on, and all that it started; what does not end when asked to is ended."""
    if process.poll() is not None:
        return
    for by, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, by)
        if process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)


def topic_of(through: str, trial: str) -> str:
    """A new topic for a trial: what an earlier one left must not be read.

    >>> topic_of("kafka://broker:9092/events?client_id=me", "trial-2")  # doctest: +ELLIPSIS
    'kafka://broker:9092/events-trial-2-...?client_id=me'
    """
    place, sign, options = through.partition("?")
    return f"{place}-{trial}-{uuid.uuid4().hex[:8]}{sign}{options}"


def made(topic: str) -> str:
    """The topic for the driver, which makes it.

    >>> made("kafka://broker:9092/events?client_id=me")
    'kafka://broker:9092/events?client_id=me&create=4'
    """
    return f"{topic}{'&' if '?' in topic else '?'}create={PARTITIONS}"


def first_delay(record: Path) -> float:
    """How late the first second was, by the driver's record; 0 if it delivered none."""
    lines = record.read_text().splitlines()[1:2]
    return max(0.0, float(lines[0].split(",")[2]) - float(lines[0].split(",")[1])) if lines else 0.0


def _ending(code: int) -> str:
    """How a process ended.

    >>> _ending(3), _ending(-9)
    ('with exit code 3', 'by signal 9 (SIGKILL)')
    """
    if code >= 0:
        return f"with exit code {code}"
    names = {one.value: one.name for one in signal.Signals}
    return f"by signal {-code} ({names.get(-code, 'unknown')})"


def _tail(folder: Path) -> str:
    """Where its log is, and how it ends."""
    log = folder / "run.log"
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return f"{log} ends with:\n" + "\n".join(lines) if lines else f"nothing is in {log}"


def _reports_per_second(plan: Plan, data: Path, replicas: int) -> int:
    """The position reports of the window in a second of the wall clock, all replicas together."""
    events = pl.scan_parquet(data / PARQUET_FOLDER / "*.parquet")
    within = pl.col("time").is_between(plan.begin, plan.until - 1) & (pl.col("type") == POSITION_REPORT)
    reports = events.filter(within).select(pl.len()).collect().item()
    return round(int(reports) * replicas * plan.speed / max(1, plan.until - plan.begin))


def _responses(verdict: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What the validator says of the response times, by kind of answer."""
    found = {}
    for kind, judged in verdict["types"].items():
        times = judged["response_seconds"] or {}
        found[TABLE_OF_TYPE[int(kind)]] = {
            "answers": judged["got"],
            "p99": round(times.get("p99") or 0.0, 3),
            "worst": round(times.get("max") or 0.0, 3),
        }
    return found


def _us() -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road"]


def _arterial(log: Path, *words: str, may_fail: bool = False, usage: dict[str, Any] | None = None) -> str:
    """Run one of our own commands in a process of its own, so that what it uses can be measured."""
    with log.open("w") as errors:
        process = subprocess.Popen([*_us(), *words], stdout=subprocess.PIPE, stderr=errors, text=True)
        meter = Meter(process.pid)
        try:
            said, _ = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            used = meter.stop()
    if usage is not None:
        usage.update(cores=round(used.cores, 2), memory=used.memory)
    if process.returncode and not (may_fail and said.strip()):
        tail = "\n".join(log.read_text().splitlines()[-LOG_LINES:])
        raise RunError(f"`arterial linear-road {shlex.join(words)}` ended with exit code {process.returncode}:\n{tail}")
    return said
